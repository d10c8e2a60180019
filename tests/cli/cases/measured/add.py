"""Adds samples to two traces: rank 1, which computes 1.4 times as slowly, has a clock of 1400 MHz where rank 0 has 1960. DRAM is
read at 30 % and written at 12.5 %, PCIe receives 5 %; the SM clock of rank 0 is in Hz, as nsys has it. With a limit as second argument:
power alone, and that limit for rank 1."""
import gzip
import json
import sys

for rank in range(2):
    job = json.load(gzip.open("%s/rank%d.json.gz" % (sys.argv[1], rank)))
    work = [e for e in job["traceEvents"] if e.get("cat") == "kernel"]
    device, times = work[0]["args"]["device"], [e["ts"] for e in work]
    at = min(times)
    while at < max(times):
        alone = (("Power (mW)", 640000 - 200000 * rank), ("Power Limit (W)", float(sys.argv[2]) if rank else 700)) if sys.argv[2:] else ()
        for name, value in alone or (("GPC Clock Frequency", 1960e6) if rank == 0 else ("SM Clock (MHz)", 1400), ("Power (mW)", 640000 - 200000 * rank),
                            ("DRAM Read Bandwidth [Throughput %]", 30), ("DRAM Write Bandwidth [Throughput %]", 12.5),
                            ("PCIe RX Throughput", 5), ("Power Limit (W)", 700), ("sm__cycles_active.sum", 12345)):
            job["traceEvents"].append({"ph": "C", "name": name, "pid": "GPU %d Counters" % device, "tid": 0, "ts": at, "args": {"value": value}})
        at += 250
    json.dump(job, open("rank%d.json" % rank, "w"))
