"""Two MPI ranks in one file, as rankscope-otf2 writes them: rank 0 sends 3 x 1000 bytes, rank 1 answers with 10; a broadcast."""
import json

events = []


def add(name, rank, at, us, category="user_annotation", **args):
    events.append({"ph": "X", "cat": category, "name": name, "pid": rank, "tid": rank, "ts": at, "dur": us,
                   "args": dict(args, rank=rank, **{"Process Group Name": "MPI_COMM_WORLD", "Group size": 2, "dtype": "Byte"})})


def message(source, target, at, us, n):
    ends = {"Src Rank": source, "Dst Rank": target, "In msg nelems": n, "Out msg nelems": n}
    add("MPI_Send", source, at, us, **ends, **{"Collective name": "send"})
    add("MPI_Recv", target, at - 5, us + 5, **ends, **{"Collective name": "recv"})


for i in range(3):
    message(0, 1, 100 + 100 * i, 20, 1000)
message(1, 0, 500, 7, 10)
for rank in range(2):
    add("main", rank, 0, 900, "cpu_op")
    add("MPI_Bcast", rank, 600 + 30 * rank, 100 - 30 * rank, **{"Collective name": "bcast", "In msg nelems": 64, "Out msg nelems": 64})
    add("MPI_Wait", rank, 800, 10)
print(json.dumps({"schemaVersion": 1, "traceEvents": events}))
