#!/usr/bin/env python3
"""What the call tree, collectives and fuse say of whole jobs, against the synthesiser's truth and against single ranks.

usage: test_ranks.py RANKSCOPE RANKSCOPE-SYNTH

Python's standard library only. Each check prints a line when it fails; the exit code is 1 then.
"""
import copy
import csv
import decimal
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile

BIN, SYNTH = sys.argv[1:3]
failures = 0


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", what)


def run(*args, code=0):
    done = subprocess.run([BIN, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != code:
        check(False, "%s: exit %d: %s" % (" ".join(args), done.returncode, done.stderr.decode()[-300:]))
    return done.stdout.decode()


def table(*args):
    return list(csv.DictReader(io.StringIO(run(*args, "--format", "csv"))))


def ns(us):
    whole, _, part = us.partition(".")
    sign = -1 if whole.startswith("-") else 1
    return int(whole) * 1000 + sign * int((part + "000")[:3])


def job(folder, *options):
    subprocess.run([SYNTH, "--out", folder, *options], check=True, stdout=subprocess.DEVNULL)
    truth = json.load(open(os.path.join(folder, "truth.json")))
    return truth, sorted((os.path.join(folder, f) for f in os.listdir(folder) if f.startswith("rank")),
                         key=lambda p: int("".join(c for c in os.path.basename(p) if c.isdigit())))


# ---- collectives against the truth ------------------------------------------------------------------------------

def check_collectives(name, truth, paths):
    arrivals = {}
    for a in table("collectives", "--table", "arrivals", *paths):
        arrivals.setdefault(a["index"], {})[int(a["rank"])] = a
    found = {}
    for c in table("collectives", *paths):
        members = arrivals[c["index"]]
        found[tuple(sorted((r, int(a["uid"])) for r, a in members.items()))] = (c, members)
    check(len(found) == len(truth["collectives"]), "%s: %d collectives of %d" % (name, len(found), len(truth["collectives"])))
    for c in truth["collectives"]:
        key = tuple(sorted((m["rank"], m["position"]) for m in c["members"]))
        if key not in found:
            check(False, "%s: no collective %s" % (name, key))
            continue
        got, members = found[key]
        check(ns(got["transfer_us"]) == c["transfer"], "%s: transfer of %s" % (name, key))
        check(int(got["last_rank"]) == c["last_rank"], "%s: last rank of %s" % (name, key))
        check(ns(got["end_spread_us"]) == 0, "%s: ends of %s" % (name, key))
        size = 2 * c["elements"]
        check(int(got["message_bytes"]) == size, "%s: bytes of %s" % (name, key))
        check(abs(float(got["algorithm_gbps"]) - size / c["transfer"]) < 1e-9 * size, "%s: bandwidth of %s" % (name, key))
        n = len(c["members"])
        factor = 1 if c["kind"] == "point_to_point" else 2 * (n - 1) / n
        check(abs(float(got["bus_gbps"]) - factor * float(got["algorithm_gbps"])) < 1e-6, "%s: bus bandwidth of %s" % (name, key))
        for m in c["members"]:
            check(ns(members[m["rank"]]["wait_us"]) == m["wait"], "%s: wait of rank %d in %s" % (name, m["rank"], key))
    late = table("collectives", "--table", "lateness", *paths)
    by_rank = {int(r["rank"]): r for r in late}
    for l in truth["lateness"]:
        got = by_rank[l["rank"]]
        check((int(got["collectives"]), int(got["times_last"]), ns(got["lateness_us"]), ns(got["wait_us"])) ==
              (l["collectives"], l["times_last"], l["lateness"], l["wait"]), "%s: lateness of rank %d" % (name, l["rank"]))
    check(int(late[0]["rank"]) == truth["late_rank"], "%s: late rank" % name)


def check_clocks(name, paths, offsets):
    clocks = {int(c["rank"]): c for c in table("collectives", "--table", "clocks", *paths)}
    for rank, offset in offsets.items():
        check(ns(clocks[rank]["offset_us"]) == offset, "%s: clock of rank %d: %s" % (name, rank, clocks[rank]))
        check(ns(clocks[rank]["residual_us"]) == 0, "%s: residual of rank %d" % (name, rank))


# ---- collectives and stragglers give one answer ------------------------------------------------------------------

def check_one_answer(name, *paths):
    """The same clocks, matches, waits and transfer from both commands, with and without correction."""
    for clocks in ("ends", "file"):
        own = ["--clocks", clocks, *paths]
        where = "%s, clocks %s" % (name, clocks)
        a = {r["rank"]: r["offset_us"] for r in table("collectives", "--table", "clocks", *own)}
        b = {r["rank"]: r["offset_us"] for r in table("stragglers", "--by", "clock", *own)}
        check(not b or a == b, "%s: clocks %s, %s" % (where, a, b))
        late = sorted((r["rank"], r["collectives"], r["times_last"], r["lateness_us"], r["wait_us"])
                      for r in table("collectives", "--table", "lateness", *own))
        ranks = sorted((r["rank"], r["collectives"], r["times_last"], r["late_us"], r["waited_us"])
                       for r in table("stragglers", *own))
        check(ranks == late or (not ranks and all(r[1] == "0" for r in late)), "%s: waits %s, %s" % (where, late, ranks))
        keys = ("ranks", "start_us", "first_rank", "last_rank", "transfer_us")
        ones = [r for r in table("collectives", *own)
                if int(r["ranks"]) > 1 and r["collective"] not in ("send_recv", "mixed")]
        others = table("stragglers", "--by", "collective", *own)
        check([tuple(r[k] for k in keys) + (r["max_wait_us"], r["sum_wait_us"]) for r in ones] ==
              [tuple(r[k] for k in keys) + (r["late_us"], r["waited_us"]) for r in others], "%s: matches" % where)
    return others


def forget(folder, *keys):
    """A copy of the job's files whose events lack these arguments."""
    to = folder + "-less"
    os.mkdir(to)
    for name in os.listdir(folder):
        if not name.startswith("rank"):
            continue
        trace = json.load(open(os.path.join(folder, name)), parse_float=decimal.Decimal)
        for e in trace["traceEvents"]:
            for key in keys:
                e.get("args", {}).pop(key, None)
        json.dump(trace, open(os.path.join(to, name), "w"), default=float)
    return to


def lose(folder, share):
    """A copy of the job's files that lacks some communication kernels, others on each rank."""
    to = folder + "-lost"
    os.mkdir(to)
    lost = 0
    for rank, name in enumerate(sorted(n for n in os.listdir(folder) if n.startswith("rank"))):
        trace = json.load(open(os.path.join(folder, name)), parse_float=decimal.Decimal)
        kept, n = [], 0
        for e in trace["traceEvents"]:
            if e.get("cat") == "kernel" and e["name"].startswith("nccl"):
                n += 1
                if (n * 7 + rank * 3) % share == 0:
                    lost += 1
                    continue
            kept.append(e)
        trace["traceEvents"] = kept
        json.dump(trace, open(os.path.join(to, name), "w"), default=float)
    return to, lost


def check_lost_kernels(top):
    """Without numbers and groups, some kernels lost: what is matched belongs together, the rest stays alone."""
    folder = os.path.join(top, "lossy")
    truth, _ = job(folder, "--dp", "4", "--straggler", "1:1.2", "--layers", "6", "--steps", "4")
    where = {}
    for i, c in enumerate(truth["collectives"]):
        for m in c["members"]:
            where[(m["rank"], correlation(folder, m["rank"], m["position"]))] = i
    less = forget(folder, "Seq", "Collective name", "Process Group Name", "Process Group Description",
                  "Process Group Ranks", "Group size")
    lossy, lost = lose(less, 5)
    check(lost > 8, "kernels to lose")
    check_one_answer("lost kernels", lossy)
    index, matched = {}, 0
    for a in table("collectives", "--table", "arrivals", lossy):
        index.setdefault(a["index"], []).append(a)
    for members in index.values():
        which = {where.get((int(a["rank"]), correlation(lossy, a["rank"], a["uid"]))) for a in members}
        check(len(which) == 1 and None not in which, "lost kernels: %s are not one collective" % members)
        matched += len(members) > 1
    check(4 * matched >= 3 * len(truth["collectives"]), "lost kernels: only %d are matched" % matched)


traces = {}


def correlation(folder, rank, row):
    path = os.path.join(folder, "rank%s.json" % rank)
    if path not in traces:
        traces[path] = json.load(open(path))["traceEvents"]
    return traces[path][int(row)]["args"]["correlation"]


# ---- the tree against the truth ----------------------------------------------------------------------------------

def check_tree(name, truth, paths, graph=False):
    for rank, path in zip(truth["ranks"], paths):
        stats = table("tree", "--stats", path)[0]
        works = sum(k["count"] for k in rank["kernels"])
        check(int(stats["linked_gpu_events"]) + int(stats["unlinked_gpu_events"]) == works, "%s: GPU events" % name)
        check(int(stats["unlinked_gpu_events"]) == rank["unlinked"]["count"], "%s: unlinked" % name)
        kernels, host = {}, {}
        for row in table("tree", "--each", path):
            if row["kind"] not in ("cpu_op", "user_annotation") or row["name"].startswith("ProfilerStep"):
                continue
            kernels[row["name"]] = kernels.get(row["name"], 0) + int(row["kernels"])
            host.setdefault(row["name"], []).append(ns(row["host_us"]))
        for op in rank["operators"]:
            times = host.get(op["name"], [])
            check(sum(times) == op["host_time"], "%s: host time of %s" % (name, op["name"]))
            check(kernels.get(op["name"], 0) == op["gpu_count"], "%s: kernels below %s" % (name, op["name"]))
        direct = {}
        for row in table("launchers", path):
            count, time = direct.get(row["name"], (0, 0))
            direct[row["name"]] = (count + int(row["kernel_count"]), time + ns(row["direct_kernel_time_us"]))
        check(len(direct) > (0 if graph else 5), "%s: launchers" % name)
        for op in rank["operators"]:
            if op["name"] in direct and not graph:
                check(direct[op["name"]] == (op["direct_gpu_count"], op["direct_gpu_time"]),
                      "%s: launched by %s itself" % (name, op["name"]))


# ---- ranks in one file --------------------------------------------------------------------------------------------

PLACES = ("uid", "ex_uid", "forward_uid", "start_us", "file")


def answers(paths):
    """What every rank says, without what depends on its place in a file or on its clock."""
    rows = []
    for args in (("tree", "--stats"), ("launchers",), ("ops", "--by", "op"), ("ops", "--by", "args"),
                 ("timeline",), ("breakdown",), ("overlap",)):
        for row in table(*args, *paths):
            rows.append(tuple((k, v) for k, v in row.items() if k not in PLACES))
    return rows


def merge(paths, mode):
    """All ranks' events one after another, as programs that know nothing of each other write them."""
    events = []
    for rank, path in enumerate(paths):
        for e in json.load(open(path))["traceEvents"]:
            if e.get("cat") == "Trace" or e.get("ph") == "i":
                continue
            e = copy.deepcopy(e)
            if mode == "samepid":
                e.setdefault("args", {})["rank"] = rank
            if mode != "pids" and isinstance(e.get("pid"), int):
                e["pid"] = 1 if e["pid"] > 1000 else 0
                if isinstance(e.get("tid"), int) and e["tid"] > 1000:
                    e["tid"] = 1 + e["tid"] % 100
            events.append(e)
    return {"traceEvents": events}


def difference(a, b):
    for x, y in zip(a, b):
        if x != y:
            return "%s instead of %s" % (y, x)
    return "%d rows instead of %d" % (len(b), len(a))


def check_merged(name, folder, paths):
    want = answers(paths)
    check(len(want) > 100, "%s: answers" % name)
    for mode in ("pids", "samepid"):
        path = os.path.join(folder, "merged_%s.json" % mode)
        json.dump(merge(paths, mode), open(path, "w"))
        got = answers([path])
        check(got == want, "%s: merged, %s: %s" % (name, mode, difference(want, got)))
    single = subprocess.run([BIN, "tree", "--single-rank", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(single.returncode == 3 and b"single-rank" in single.stderr, "%s: --single-rank" % name)


def check_fused(name, truth, folder, paths):
    want = answers(paths)
    texts = []
    for end in ("json", "json.gz", "json.zst"):
        path = os.path.join(folder, "fused." + end)
        report = table("fuse", "-o", path, *paths)
        check([int(r["rank"]) for r in report] == list(range(len(paths))), "%s: report" % name)
        got = answers([path])
        check(got == want, "%s: fused, %s: %s" % (name, end, difference(want, got)))
        if end != "json.zst":
            data = open(path, "rb").read()
            texts.append(gzip.decompress(data) if end.endswith("gz") else data)
    check(texts[0] == texts[1], "%s: packed and plain differ" % name)
    trace = json.loads(texts[0], parse_float=decimal.Decimal)
    kinds = {"pid": {}, "flow": {}, "correlation": {}, "External id": {}, "Sequence number": {}}
    for e in trace["traceEvents"]:
        rank = e["args"]["rank"]
        ids = [("pid", e.get("pid"))] + [(k, e["args"].get(k)) for k in ("correlation", "External id", "Sequence number")]
        if e["ph"] in "sf":
            ids.append(("flow", e["id"]))
        for kind, value in ids:
            if value is not None and (kind != "External id" or value > 0):
                check(kinds[kind].setdefault(value, rank) == rank, "%s: %s %s is of two ranks" % (name, kind, value))
    names = [e for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "process_name"]
    order = {e["pid"]: e["args"]["sort_index"] for e in trace["traceEvents"]
             if e["ph"] == "M" and e["name"] == "process_sort_index"}
    check(all(e["args"]["name"].startswith("rank %d: " % e["args"]["rank"]) for e in names), "%s: process names" % name)
    check([e["args"]["rank"] for e in sorted(names, key=lambda e: order[e["pid"]])] ==
          sorted(e["args"]["rank"] for e in names), "%s: order of processes" % name)
    check(set(trace["rankscope"]["files"]) == set(paths), "%s: headers of all files" % name)
    ends = {}
    for c, instance in enumerate(truth["collectives"]):
        for m in instance["members"]:
            e = json.load(open(paths[m["rank"]]))["traceEvents"][m["position"]] if c < 3 else None
            if e:
                ends.setdefault((c, instance["kind"]), []).append((m["rank"], e))
    by_key = {(e["args"]["rank"], e["name"], e["args"].get("correlation")): e
              for e in trace["traceEvents"] if e.get("cat") == "kernel"}
    step = trace["rankscope"]["id_steps"]["correlation"]
    for key, members in ends.items():
        fused = [by_key[(rank, e["name"], e["args"]["correlation"] + rank * step)] for rank, e in members]
        check(len({e["ts"] + e["dur"] for e in fused}) == 1, "%s: ends of %s are one moment" % (name, key))
    only = os.path.join(folder, "only.json")
    run("fuse", "-o", only, "--categories", "kernel", "-q", *paths)
    left = {e.get("cat") for e in json.load(open(only))["traceEvents"] if e["ph"] != "M"}
    check(left == {"kernel"}, "%s: category filter leaves %s" % (name, left))


def main():
    with tempfile.TemporaryDirectory() as top:
        a = os.path.join(top, "a")
        truth, paths = job(a, "--dp", "2", "--tp", "2", "--pp", "2", "--straggler", "5:1.5", "--clock-offset-us", "3:250.5")
        check_collectives("dp2 tp2 pp2", truth, paths)
        check_clocks("dp2 tp2 pp2", paths, {0: 0, 3: 250500, 5: 0})
        check_tree("dp2 tp2 pp2", truth, paths)
        check_merged("dp2 tp2 pp2", a, paths)
        check_fused("dp2 tp2 pp2", truth, a, paths)
        b = os.path.join(top, "b")
        truth, paths = job(b, "--dp", "4", "--tp", "2", "--pp", "2", "--straggler", "6:1.3", "--stall", "2:11:5",
                           "--clock-offset-us", "3:-12250.5", "--clock-offset-us", "9:800000", "--clock-offset-us", "14:1.25")
        check_collectives("far clocks", truth, paths)
        check_clocks("far clocks", paths, {0: 0, 3: -12250500, 9: 800000000, 14: 1250})
        c = os.path.join(top, "c")
        truth, paths = job(c, "--dp", "4", "--rocm", "--cuda-graph", "--unlinked", "3", "--python-stacks")
        check_collectives("rocm graph", truth, paths)
        check_tree("rocm graph", truth, paths, graph=True)
        check_fused("rocm graph", truth, c, paths)
        for name, folder in (("dp2 tp2 pp2", a), ("far clocks", b), ("rocm graph", c)):
            os.remove(os.path.join(folder, "truth.json"))
            for left in os.listdir(folder):
                if not left.startswith("rank"):
                    os.remove(os.path.join(folder, left))
            check_one_answer(name, folder)
            check_one_answer(name + ", one rank", os.path.join(folder, "rank0.json"))
        check_one_answer("nothing named", forget(a, "Seq", "Process Group Name", "Process Group Description",
                                                 "Process Group Ranks", "Group size"))
        d = os.path.join(top, "d")
        job(d, "--dp", "2", "--pp", "2", "--clock-offset-us", "1:250", "--clock-offset-us", "2:-480.5", "--clock-offset-us", "3:90")
        os.remove(os.path.join(d, "truth.json"))
        check_one_answer("stages tied by send and receive", d)
        offsets = [ns(r["offset_us"]) for r in table("stragglers", "--by", "clock", d)]
        check(offsets == [0, 250000, -480500, 90000], "clocks of stages: %s" % offsets)
        check_lost_kernels(top)
    print("%d failures" % failures if failures else "ok")
    sys.exit(1 if failures else 0)


main()
