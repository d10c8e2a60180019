"""A job of thousands of ranks on Slurm: every task reads its share of the traces, the last command merges what they found.

    sbatch examples/fleet.sbatch /shared/traces /shared/results

Tasks meet nowhere but in the folder of results, so it works as well with job arrays, with any other batch system, or by hand
(SLURM_PROCID=0 SLURM_NTASKS=2 python fleet_slurm.py map ...). A task that was killed is started again and goes on.
"""
import os
import sys

from rankscope import fleet

ANALYSES = {"summary": {}, "breakdown": {}, "kernels": {"by": "name", "top": 20}, "collectives": {}}
PARTS = int(os.environ.get("RANKSCOPE_PARTS", "256"))  # some for each task: a task that is done early has no other to take


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("map", "merge"):
        sys.exit("use: fleet_slurm.py map|merge TRACES RESULTS")
    step, traces, results = sys.argv[1:]
    plan = fleet.plan(traces, analyses=ANALYSES, parts=PARTS)
    if step == "map":
        first, every = int(os.environ.get("SLURM_PROCID", "0")), int(os.environ.get("SLURM_NTASKS", "1"))
        for part in range(first, len(plan), every):
            plan.write(part, results)
        return
    tables = plan.merge(results)
    for name, table in tables.items():
        with open(os.path.join(results, name + ".csv"), "w", encoding="utf-8") as file:
            file.write(table.csv())
    print(tables["summary"].result["findings"].text())


if __name__ == "__main__":
    main()
