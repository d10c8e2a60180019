"""How much of a job's GPU time is idle: an example of a function over tables, see docs/adding.md."""
import rankscope as rs


def idle_share(job):
    """The share of the ranks' GPU time in which nothing ran, 0 to 1; None without GPU work."""
    rows = job.breakdown().to_dicts()
    span = sum(row["span_us"] for row in rows)
    return sum(row["idle_us"] for row in rows) / span if span else None


if __name__ == "__main__":
    import sys

    with rs.open(sys.argv[1:]) as job:
        print(idle_share(job))
