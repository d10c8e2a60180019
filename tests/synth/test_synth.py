#!/usr/bin/env python3
"""Checks the synthesiser against itself: the files are valid, they say what truth.json says, and what truth.json
says is recomputed here from the files alone. usage: test_synth.py PATH/rankscope-synth"""
import filecmp
import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal

GPU = {"kernel": None, "gpu_memcpy": "memory", "gpu_memset": "memory"}
LAUNCHES = ("LaunchKernel", "Memcpy", "Memset", "GraphLaunch")
HOST = ("cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver")
NAMES = ("computation", "communication", "memory")


def ns(value):
    exact = Decimal(value) * 1000
    assert exact == int(exact), value
    return int(exact)


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))


def load(path):
    with open(path) as file:
        text = file.read()
    trace = json.loads(text, parse_float=Decimal)
    for event in trace["traceEvents"]:
        event["start"] = ns(event["ts"])
        event["end"] = event["start"] + ns(event.get("dur", 0))
    return trace


def kind(event):
    return GPU[event["cat"]] or ("communication" if event["name"].startswith("nccl") else "computation")


def union(pairs):
    total, reached = 0, None
    for start, end in sorted(pairs):
        if reached is None or start > reached:
            total, reached = total + end - start, end
        elif end > reached:
            total, reached = total + end - reached, end
    return total


def check_links(events, truth):
    """Identifiers, launches before their work, streams in order, flows in pairs."""
    calls, work, externals, flows = {}, [], set(), {}
    for event in events:
        cat, args = event.get("cat"), event.get("args", {})
        if cat in ("cuda_runtime", "cuda_driver"):
            check(args["correlation"] not in calls, "correlation twice", event)
            calls[args["correlation"]] = event
        elif cat in GPU:
            work.append(event)
            check(event["pid"] == args["device"] and event["tid"] == args["stream"], "place", event)
        elif cat in ("cpu_op", "user_annotation"):
            check(args["External id"] not in externals, "External id twice", event)
            externals.add(args["External id"])
        elif cat in ("ac2g", "fwdbwd"):
            flows.setdefault((cat, event["id"]), []).append(event)
    unlinked = 0
    streams = {}
    for event in work:
        call = calls.get(event["args"]["correlation"])
        unlinked += call is None
        if call:
            check(any(name in call["name"] for name in LAUNCHES), "not a launch", call["name"])
            blocks = "HtoD (Pageable" in event["name"]  # its call returns when it has ended
            check(event["end"] < call["end"] if blocks else event["start"] >= call["end"], "starts before its launch ends", event)
            check(event["args"]["External id"] == call["args"]["External id"], "operator", event)
            ends = flows["ac2g", event["args"]["correlation"]]
            check(sum(f["ph"] == "s" and f["start"] == call["start"] for f in ends) == 1, "flow start", event)
            check(any(f["ph"] == "f" and f["start"] == event["start"] for f in ends), "flow end", event)
        streams.setdefault(event["tid"], []).append(event)
    for name, on_stream in streams.items():
        on_stream.sort(key=lambda e: e["start"])
        for before, after in zip(on_stream, on_stream[1:]):
            check(before["end"] <= after["start"], "overlap on stream", name, before, after)
    for (cat, number), ends in flows.items():
        if cat == "fwdbwd":
            check(sorted(f["ph"] for f in ends) == ["f", "s"], "forward-backward flow", number)
            check(ends[0]["tid"] != ends[1]["tid"], "flow within a thread", number)
    check(unlinked == truth["unlinked"]["count"], "unlinked", unlinked)
    return calls, work, streams


def check_nesting(events):
    threads = {}
    for event in events:
        if event.get("cat") in HOST:
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
    for thread, held in threads.items():
        stack = []
        for event in sorted(held, key=lambda e: (e["start"], -e["end"])):
            while stack and stack[-1] <= event["start"]:
                stack.pop()
            check(not stack or event["end"] <= stack[-1], "crosses its parent", thread, event)
            stack.append(event["end"])


def check_busy(work, answer):
    by_class = {name: [(e["start"], e["end"]) for e in work if kind(e) == name] for name in NAMES}
    everything = sum(by_class.values(), [])
    first, last = min(s for s, _ in everything), max(e for _, e in everything)
    busy, compute = union(everything), union(by_class["computation"])
    both = union(by_class["computation"] + by_class["communication"])
    found = {"span": last - first, "busy": busy, "idle": last - first - busy, "computation": compute,
             "communication": union(by_class["communication"]), "memory": union(by_class["memory"]),
             "exposed_communication": both - compute, "exposed_memory": busy - both,
             "overlap": compute + union(by_class["communication"]) - both}
    for name, value in found.items():
        check(answer[name] == value, name, answer[name], value)


def check_combinations(work, answer):
    borders = sorted({t for e in work for t in (e["start"], e["end"])})
    starts, ends = {}, {}
    for event in work:
        starts.setdefault(event["start"], []).append(kind(event))
        ends.setdefault(event["end"], []).append(kind(event))
    active, sums = dict.fromkeys(NAMES, 0), {}
    for at, following in zip(borders, borders[1:]):
        for name in ends.get(at, []):
            active[name] -= 1
        for name in starts.get(at, []):
            active[name] += 1
        label = "+".join(name for name in NAMES if active[name])
        sums[label] = sums.get(label, 0) + following - at
    for label, value in answer.items():
        check(sums.get(label, 0) == value, "combination", label, value)


def check_streams(streams, calls, answers):
    check(sorted(streams) == sorted(a["stream"] for a in answers), "streams")
    for answer in answers:
        held, waits, borders = streams[answer["stream"]], [0, 0, 0], []
        for event in held:
            call = calls.get(event["args"]["correlation"])
            if call:
                borders += [(call["start"], 1), (event["start"], -1)]
        for before, event in zip(held, held[1:]):
            call = calls.get(event["args"]["correlation"])
            gap = event["start"] - before["end"]
            what = 0 if call and call["start"] > before["end"] else 1 if gap < 30000 else 2
            waits[what] += gap
        depth = deepest = 0
        for _, change in sorted(borders):
            depth += change
            deepest = max(deepest, depth)
        check(depth == 0 and deepest == answer["max_queue_depth"], "queue depth", deepest, answer)
        check(waits == [answer["host_wait"], answer["kernel_wait"], answer["other"]], "idle", waits, answer)


def check_kernels(work, answers):
    found = {}
    for event in work:
        found.setdefault(event["name"], []).append(event["end"] - event["start"])
    check(sorted(found) == [a["name"] for a in answers], "kernel names")
    for answer in answers:
        times = found[answer["name"]]
        check([len(times), sum(times), min(times), max(times)] ==
              [answer["count"], answer["sum"], answer["min"], answer["max"]], "kernel", answer)


def check_operators(events, work, calls, answers):
    """Host nesting per thread by interval, then kernels by their launch."""
    mine, threads = {}, {}
    for event in work:
        mine.setdefault(event["args"]["correlation"], []).append(event["end"] - event["start"])
    for event in events:
        if event.get("cat") in ("cpu_op", "user_annotation") or event.get("args", {}).get("correlation") in mine \
                and event.get("cat") in ("cuda_runtime", "cuda_driver"):
            threads.setdefault(event["tid"], []).append(event)
    found = {}
    for held in threads.values():
        stack = []
        for event in sorted(held, key=lambda e: (e["start"], -e["end"])):
            while stack and stack[-1]["end"] <= event["start"]:
                stack.pop()
            if event["cat"] in ("cpu_op", "user_annotation"):
                stack.append(event)
                sums = found.setdefault((event["cat"], event["name"]), [0] * 6)
                sums[0] += 1
                sums[1] += event["end"] - event["start"]
                continue
            times = mine[event["args"]["correlation"]]
            direct = True
            for parent in reversed(stack):
                sums = found[parent["cat"], parent["name"]]
                sums[2] += len(times)
                sums[3] += sum(times)
                if direct and parent["cat"] == "cpu_op":
                    sums[4] += len(times)
                    sums[5] += sum(times)
                    direct = False
    found = {key: value for key, value in found.items() if not key[1].startswith("ProfilerStep#")}
    check(sorted(found) == [(a["category"], a["name"]) for a in answers], "operators", sorted(found))
    for answer in answers:
        sums = found[answer["category"], answer["name"]]
        check(sums == [answer[key] for key in ("count", "host_time", "gpu_count", "gpu_time", "direct_gpu_count",
                                               "direct_gpu_time")], "operator", sums, answer)


def check_steps(events, work, calls, truth, job):
    for answer in truth["steps"]:
        if job["step_annotations"]:
            event = events[answer["position"]]
            check(event["name"] == f"ProfilerStep#{answer['step']}" and event["cat"] == "user_annotation", event)
            check((event["start"], event["end"]) == (answer["start"], answer["end"]), "step", answer)
        else:
            check(answer["position"] is None, "a step that is not recorded has a position")
        mine = [e for e in work if e["args"]["correlation"] in calls and
                answer["start"] <= calls[e["args"]["correlation"]]["start"] < answer["end"]]
        check(len(mine) == answer["gpu_events"], "events of step", answer["step"])
        check_busy(mine, answer)
        path = answer["critical_path"]
        parts = ("host", "launch", "gap", "computation", "communication", "memory")
        end = max([answer["end"]] + [e["end"] for e in mine])
        check(path["total"] == sum(path[p] for p in parts) == end - answer["start"], "path", path)
        at = 0
        sums = dict.fromkeys(NAMES, 0)
        for position in path["gpu_positions"]:
            event = events[position]
            check(event["start"] >= at, "the path runs backwards", event)
            at = event["end"]
            sums[kind(event)] += at - max(event["start"], answer["start"])
        check(all(sums[name] == path[name] for name in NAMES), "work on the path", sums, path)


def check_edges(events, calls, truth, job):
    kinds = {"stream_wait_event": "Stream Wait Event", "event_sync": "Event Sync", "stream_sync": "Stream Sync",
             "context_sync": "Context Sync"}
    streams_of = {}
    for edge in truth["sync_edges"]:
        source, target = events[edge["source"]], events[edge["target"]]
        check(source["cat"] in GPU and source["end"] == edge["source_end"], "edge source", edge)
        if edge["kind"] == "stream_wait_event":
            check(target["cat"] in GPU and target["start"] == edge["target_time"], "edge target", edge)
            check(source["tid"] != target["tid"], "edge within a stream", edge)
        else:
            frees = target["name"] in ("cudaFree", "hipFree")
            check(("Synchronize" in target["name"] or frees) and target["end"] == edge["target_time"], "edge target", edge)
        check(source["end"] <= edge["target_time"], "synchronized too early", edge)
        check((edge["sync"] is not None) == (job["sync_events"] and target["name"] != "cudaFree"), "sync event", edge)
        if edge["sync"] is None:
            continue
        sync = events[edge["sync"]]
        check(sync["cat"] == "cuda_sync" and sync["name"] == kinds[edge["kind"]], "sync event", edge, sync)
        if edge["kind"] in ("stream_wait_event", "event_sync"):
            check(sync["args"]["wait_on_stream"] == source["tid"], "sync stream", edge)
            record = calls[sync["args"]["wait_on_cuda_event_record_corr_id"]]
            check("EventRecord" in record["name"], "sync record", edge)
            streams_of.setdefault("launched before", []).append(
                calls[source["args"]["correlation"]]["start"] < record["start"])
        if edge["kind"] == "stream_sync":
            check(sync["args"]["stream"] == source["tid"], "sync stream", edge)
        if edge["kind"] != "stream_wait_event":
            check(sync["args"]["correlation"] == target["args"]["correlation"], "sync call", edge)
    check(all(streams_of.get("launched before", [])), "an event was recorded before its work was launched")


def check_work(events, work, calls, truth, job):
    """Step, phase and cause of every piece of work, from the threads and annotations around its launch."""
    mine = truth["work"]
    check(sorted(mine["position"]) == sorted(i for i, e in enumerate(events) if e.get("cat") in GPU), "positions of work")
    backward = {e["tid"] for e in events if e.get("cat") == "cpu_op" and e["name"].startswith("autograd::engine")}
    rows = [dict(zip(mine, row)) for row in zip(*mine.values())]
    last = {}
    for row in rows:
        event = events[row["position"]]
        before = last.get(event["tid"])
        last[event["tid"]] = event
        call = calls.get(event["args"]["correlation"])
        check((row["step"] is None) == (call is None), "step of work", row)
        if call is None:
            continue
        inside = [s["step"] for s in truth["steps"] if s["start"] <= call["start"] < s["end"]]
        check(inside == [row["step"]], "step of work", row, inside)
        if not job["cuda_graph"]:
            exchanges = "SendRecv" in event["name"]
            check(exchanges or (call["tid"] in backward) == (row["phase"] == "backward"), "phase", row)
        check("multi_tensor_apply" not in event["name"] or row["phase"] == "optimizer", "phase", row)
        check("flash_" not in event["name"] or row["phase"] == ("backward" if "bwd" in event["name"] else "forward"), "phase", row)
        check("flash_" not in event["name"] or (0 <= row["micro_batch"] < job["micro_batches"] and 0 <= row["layer"] < job["layers"]),
              "layer", row)
        cause = events[row["cause"]] if row["cause"] is not None else None
        check((cause is None) == (row["bound"] in ("none", "launch")), "cause", row)
        check(cause is None or cause["end"] <= event["start"], "a cause that is later", row)
        check(row["bound"] != "stream" or cause is before, "not the work before", row)
    for source, target in truth["graph_edges"]:
        check(events[source]["end"] <= events[target]["start"] and events[source]["tid"] != events[target]["tid"], "graph edge", source, target)
    check(bool(truth["graph_edges"]) <= job["cuda_graph"], "edges of a graph that is none")


def check_rank(events, truth, job):
    check(len(events) == truth["trace_events"], "event count", len(events))
    counts = {}
    for event in events:
        cat = event.get("cat", {"M": "metadata", "i": "instant"}.get(event["ph"]))
        counts[cat] = counts.get(cat, 0) + 1
    check(all(counts.get(c, 0) == n for c, n in truth["events"].items()), "categories", counts, truth["events"])
    check(sum(truth["events"].values()) == len(events), "categories do not add up")
    timed = [e for e in events if e["ph"] == "X" and e["cat"] != "Trace"]
    check(min(e["start"] for e in timed) == truth["first_start"], "first start")
    check(max(e["end"] for e in timed) == truth["last_end"], "last end")
    calls, work, streams = check_links(events, truth)
    check_nesting(events)
    check(truth["gpu"]["events"] == len(work), "GPU events")
    check_busy(work, truth["gpu"])
    check_combinations(work, truth["combinations"])
    check_streams(streams, calls, truth["streams"])
    check_kernels(work, truth["kernels"])
    check_operators(events, work, calls, truth["operators"])
    check_steps(events, work, calls, truth, job)
    check_edges(events, calls, truth, job)
    check_work(events, work, calls, truth, job)
    delays = [max(0, e["start"] - calls[e["args"]["correlation"]]["end"])
              for e in work if e["args"]["correlation"] in calls]
    answer = truth["launch_delay"]
    check([len(delays), sum(delays), max(delays)] == [answer["linked"], answer["sum"], answer["max"]], "delays")


def check_collectives(truth, traces, offsets):
    seen = {}
    for item in truth["collectives"]:
        ready = max(m["start"] for m in item["members"])
        check(ready == item["ready"] and item["end"] == ready + item["transfer"], "collective", item)
        check(item["transfer"] > 0, "transfer", item)
        for member in item["members"]:
            check(member["wait"] == ready - member["start"], "wait", member)
            if member["position"] is None:
                continue
            rank = member["rank"]
            event = traces[rank]["traceEvents"][member["position"]]
            check(event["start"] - offsets[rank] == member["start"], "arrival", member)
            check(event["end"] - offsets[rank] == item["end"], "common end", member)
            check(event["args"]["Seq"] == member["seq"], "Seq", member)
            if item["kind"] != "point_to_point":
                check(event["args"]["Process Group Name"] == str(item["group"]), "group", member)
                check(member["seq"] == item["index"], "sequence", member)
                check(json.loads(event["args"]["Process Group Ranks"]) == [m["rank"] for m in item["members"]],
                      "members", member)
            seen[rank, member["position"]] = True
    for rank, trace in traces.items():
        kernels = [i for i, e in enumerate(trace["traceEvents"]) if e.get("cat") == "kernel" and kind(e) == "communication"]
        check(all((rank, i) in seen for i in kernels), "a collective of rank", rank, "is in no truth")


class Suite:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.number = binary, folder, 0

    def make(self, *options):
        self.number += 1
        out = os.path.join(self.folder, str(self.number))
        subprocess.run([self.binary, "--out", out, *map(str, options)], check=True)
        return out

    def job(self, *options):
        """One job, wholly checked; returns its truth and traces."""
        out = self.make(*options)
        with open(os.path.join(out, "truth.json")) as file:
            truth = json.load(file)
        offsets = {r["rank"]: r["clock_offset"] for r in truth["ranks"]}
        traces = {r["rank"]: load(os.path.join(out, r["file"])) for r in truth["ranks"]}
        for rank in truth["ranks"]:
            trace = traces[rank["rank"]]
            check(trace["distributedInfo"]["rank"] == rank["rank"], "rank in the file")
            check(trace["distributedInfo"]["world_size"] == truth["job"]["ranks"], "world size")
            try:
                check_rank(trace["traceEvents"], rank, truth["job"])
            except AssertionError as error:
                raise AssertionError(f"{options}, rank {rank['rank']}: {error}") from None
        check_collectives(truth, traces, offsets)
        return truth, traces, out


def test_faults(suite, small):
    def steps(truth):
        return {r["rank"]: [s["end"] - s["start"] for s in r["steps"]] for r in truth["ranks"]}

    plain, _, _ = suite.job("--dp", 2, "--pp", 2, *small)
    check(plain["faults"] == [], "a sound job has faults")
    truth, _, _ = suite.job("--dp", 2, "--pp", 2, *small, "--pause", "1:11:5", "--link", "0:1:8", "--stage-cost", "1:1.5",
                            "--straggler", "2:1.2", "--stall", "3:10:2.5", "--scale-host", "0:2")
    check([(f["id"], f["rank"], f["key"], f["step"], f["factor_thousandths"], f["time"]) for f in truth["faults"]] == [
        ("slow_host", 0, "host", None, 2000, 0), ("straggler", 2, "computation", None, 1200, 0),
        ("loader", 3, "loader", 10, 0, 2500000), ("host_pause", 1, "host", 11, 0, 5000000),
        ("slow_group", None, "0-1", None, 8000, 0), ("pipeline_imbalance", None, "stage 1", None, 1500, 0)], "faults", truth["faults"])
    paused, _, _ = suite.job("--dp", 2, "--pp", 2, *small, "--pause", "1:11:500")
    was, now = steps(plain), steps(paused)
    check(all(0.9 < (now[r][1] - was[r][1]) / 5e8 < 1.001 for r in was), "the pause is not in its step", was, now)
    check(all(now[r][0] == was[r][0] for r in was), "the pause is in another step")

    linked, _, _ = suite.job("--dp", 2, "--pp", 2, *small, "--link", "0:1:3")
    for a, b in zip(plain["collectives"], linked["collectives"]):
        on_link = {m["rank"] for m in a["members"]} >= {0, 1}
        check(b["transfer"] > 1.5 * a["transfer"] if on_link else a["transfer"] == b["transfer"], "--link", a, b)

    for flavour in ([], ["--rocm"]):
        truth, traces, _ = suite.job("--dp", 2, *small, *flavour, "--alloc-every", "2", "--pageable")
        name = "hipFree" if flavour else "cudaFree"
        check([(f["id"], f["key"]) for f in truth["faults"]] == [("allocation", name), ("pageable_copy",
              "hipMemcpyWithStream" if flavour else "cudaMemcpyAsync")], "faults", truth["faults"])
        frees = [e for e in traces[0]["traceEvents"] if e["name"] == name]
        check(len(frees) == 4, "each second layer of two micro batches in two steps", len(frees))
        for free in frees:  # nothing that was launched before is under way when it returns
            calls = {e["args"]["correlation"]: e["start"] for e in traces[0]["traceEvents"] if e.get("cat") in ("cuda_runtime", "cuda_driver")}
            check(all(e["end"] <= free["end"] for e in traces[0]["traceEvents"] if e.get("cat") in GPU and
                      calls[e["args"]["correlation"]] < free["start"]), "memory is freed while the device works")


def test_shapes(suite, small):
    """What stands in a step, and what is told of it."""
    plain, traces, _ = suite.job("--dp", 2, "--tp", 2, "--pp", 2, *small)
    check([(a["axis"], a["size"], a["stride"], len(a["groups"])) for a in plain["mesh"]] ==
          [("tp", 2, 1, 4), ("dp", 2, 2, 4), ("pp", 2, 4, 4)], "mesh", plain["mesh"])
    bare, others, _ = suite.job("--dp", 2, "--tp", 2, "--pp", 2, *small, "--no-annotations", "--rename-groups")
    for rank, trace in traces.items():
        kept = [(e["name"], e["start"], e["end"]) for e in trace["traceEvents"] if e["ph"] == "X" and "annotation" not in e["cat"]]
        check(kept == [(e["name"], e["start"], e["end"]) for e in others[rank]["traceEvents"] if e["ph"] == "X"], "--no-annotations")
        groups = {g["pg_name"]: g for g in others[rank]["distributedInfo"]["pg_config"]}
        check(all(g["pg_desc"] in ("default_pg", "undefined") for g in groups.values()), "--rename-groups")
        renamed = {name: sorted(a["groups"]) for a in bare["mesh"] for name in [a["axis"]]}
        check(set(groups) - {"0"} == {str(n) for names in renamed.values() for n in names} & set(groups), "names of groups")
        used = {e["args"]["Process Group Name"] for e in others[rank]["traceEvents"] if "Process Group Name" in e.get("args", {})}
        check(used and used <= set(groups), "names of groups", used)

    graph, _, _ = suite.job("--dp", 2, "--tp", 2, *small, "--cuda-graph")
    check(all(len(r["graph_edges"]) > 20 for r in graph["ranks"]), "no edges inside graphs")

    truth, traces, _ = suite.job("--dp", 1, "--pp", 3, "--layers", 3, "--micro-batches", 5, "--steps", 2, "--interleave")
    orders = []
    for rank in truth["ranks"]:
        mine, order = rank["work"], []
        for position, step, phase, micro in zip(mine["position"], mine["step"], mine["phase"], mine["micro_batch"]):
            if step == 10 and "flash_" in traces[rank["rank"]]["traceEvents"][position]["name"]:
                order.append(phase[0] + str(micro))
        orders.append(" ".join(order))
    check(orders == ["f0 f1 f2 b0 f3 b1 f4 b2 b3 b4", "f0 f1 b0 f2 b1 f3 b2 f4 b3 b4", "f0 b0 f1 b1 f2 b2 f3 b3 f4 b4"], "1F1B", orders)
    suite.job("--dp", 2, "--pp", 2, *small, "--micro-batches", 1, "--interleave", "--eval-every", 2)

    truth, traces, _ = suite.job("--dp", 2, "--pp", 2, "--layers", 2, "--steps", 4, "--eval-every", 2)
    for rank in truth["ranks"]:
        found = {}
        for step, phase in zip(rank["work"]["step"], rank["work"]["phase"]):
            found.setdefault(step, set()).add(phase)
        check(found == {10 + s: {"other", "forward"} if s % 2 else {"other", "forward", "backward", "optimizer"} for s in range(4)}, found)
    check([s["evaluates"] for s in truth["run"]["steps"]] == [False, True, False, True], "evaluates")

    def reductions(truth):
        return [c["elements"] for c in truth["collectives"] if c["kind"] == "DATA_PARALLEL_GROUP" and c["step"] == 10]

    base = ["--dp", 2, "--layers", 5, "--steps", 2, "--hidden", 1024]
    each = reductions(suite.job(*base)[0])
    check(len(each) == 5 and reductions(suite.job(*base, "--bucket", 4 * each[0])[0]) == [2 * each[0], 2 * each[0], each[0]], "--bucket")
    truth, _, _ = suite.job(*base, "--overlap", "off")
    for rank in truth["ranks"]:
        works = {p: s for p, s in zip(rank["work"]["position"], rank["work"]["phase"])}
        waits = [e for e in rank["sync_edges"] if e["kind"] == "stream_wait_event" and works[e["target"]] == "backward"]
        check(len(waits) >= 2 * 5, "--overlap off", len(waits))
    truth, traces, _ = suite.job(*base, "--item-every", "2")
    items = [e for e in traces[0]["traceEvents"] if e["name"] == "aten::item"]
    check(len(items) == 2 * (1 + 2 * 5 // 2) and truth["faults"][0]["id"] == "sync", "--item-every", len(items))
    truth, traces, _ = suite.job(*base, "--late-launch", "3000")
    waits = [e for e in traces[0]["traceEvents"] if e["name"] == "cudaStreamSynchronize"]
    calls = sorted(e["ts"] for e in traces[0]["traceEvents"] if e["name"].startswith(("cudaLaunch", "cuLaunch", "cudaMemset")))
    behind = [min((c for c in calls if c > e["ts"]), default=None) for e in waits]
    check(truth["faults"][0]["id"] == "late_launch" and all(c is None or c > e["ts"] + e["dur"] + 2000 for c, e in zip(behind, waits)), "--late-launch", behind)
    for fused, kernels in ((), 2), (("--fused",), 1):
        truth, traces, _ = suite.job(*base, "--elementwise", "3", *fused)
        more = [e for e in traces[0]["traceEvents"] if e.get("cat") == "kernel" and ("MulFunctor" in e["name"] or "unrolled" in e["name"] or "to_copy_mul" in e["name"])]
        check(len(more) == 2 * 2 * 5 * 3 * kernels and bool(truth["faults"]) != bool(fused), "--elementwise", len(more), truth["faults"])


def test_pace(suite, small):
    """Noise makes each step so many times as long as it would be without, to what rounding costs."""
    def job(*options):
        with open(os.path.join(suite.make("--dp", 2, *small, "--steps", 40, "--seed", 3, *options), "truth.json")) as file:
            return json.load(file)

    def steps(truth):
        return [s["end"] - s["start"] for s in truth["ranks"][0]["steps"]]

    plain = job("--run", 7)
    check(all(s["pace_ppm"] == 1000000 and s["settled"] for s in plain["run"]["steps"]), "a pace without noise")
    uniform = job("--run", 7, "--run-noise", "2")
    pace = uniform["run"]["steps"][0]["pace_ppm"]
    check(pace != 1000000 and all(s["pace_ppm"] == pace for s in uniform["run"]["steps"]), "--run-noise", pace)
    for a, b in zip(steps(plain), steps(uniform)):
        check(abs(b / a / pace * 1e6 - 1) < 1e-5, "the pace is not the step's", a, b, pace)
    noisy = job("--run", 7, "--run-noise", "2", "--step-noise", "1:0.5", "--warm-up", "3:1.5", "--outlier", "12:2")
    paces = [s["pace_ppm"] / pace for s in noisy["run"]["steps"]]
    outliers = [i for i, p in enumerate(paces) if p > 1.8]
    check(0 < len(outliers) < 12, "--outlier", outliers)
    check([s["settled"] for s in noisy["run"]["steps"]] == [i > 2 and i not in outliers for i in range(40)], "settled")
    check(all(1.4 < paces[i] < 1.6 for i in range(3) if i not in outliers), "--warm-up", paces[:3])
    for a, b, p in zip(steps(plain), steps(noisy), paces):
        # what a step leaves on the GPU is done at the pace at which it was launched
        check(abs(b / a / p / pace * 1e6 - 1) < 0.02, "the pace is not the step's", a, b, p)
    drawn = [job("--run", k, "--run-noise", "1", "--step-noise", "1:0.9", "--dp", 1, "--layers", 1, "--hidden", 256,
                 "--steps", 200)["run"]["steps"] for k in range(12)]
    means = [sum(s["pace_ppm"] for s in run) / 2e8 - 1 for run in drawn]
    check(0.003 < (sum(m * m for m in means) / 12) ** 0.5 < 0.03, "spread of runs", means)
    noise = [[s["pace_ppm"] for s in run] for run in drawn]
    near = far = 0
    for run in noise:
        mean = sum(run) / len(run)
        near += sum((a - mean) * (b - mean) for a, b in zip(run, run[1:]))
        far += sum((a - mean) ** 2 for a in run)
    check(0.7 < near / far < 0.95, "memory of the steps' noise", near / far)


def main():
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(sys.argv[1], folder)
        small = ("--layers", 2, "--steps", 2)

        truth, plain, out = suite.job("--dp", 2, "--tp", 2, "--pp", 2, *small, "--straggler", "5:1.5")
        check(truth["late_rank"] == 5, "the straggler is not the late rank", truth["late_rank"])
        kinds = {e["kind"] for r in truth["ranks"] for e in r["sync_edges"]}
        check(len(kinds) == 4, "not every kind of sync edge occurs", kinds)
        check({c["kind"] for c in truth["collectives"]} ==
              {"TENSOR_MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP", "point_to_point"}, "kinds of collectives")
        again = suite.make("--dp", 2, "--tp", 2, "--pp", 2, *small, "--straggler", "5:1.5")
        for name in os.listdir(out):
            check(filecmp.cmp(os.path.join(out, name), os.path.join(again, name), False), name, "differs when repeated")

        _, shifted, _ = suite.job("--dp", 2, "--tp", 2, "--pp", 2, *small, "--straggler", "5:1.5",
                                  "--clock-offset-us", "3:-123456.789", "--clock-offset-us", "0:5")
        for rank, offset in ((3, -123456789), (0, 5000), (1, 0)):
            for a, b in zip(plain[rank]["traceEvents"], shifted[rank]["traceEvents"]):
                check(b["start"] - a["start"] == offset and b["end"] - a["end"] == offset, "clock offset", a, b)

        truth, _, _ = suite.job("--dp", 2, *small, "--stall", "1:11:40", "--unlinked", 3)
        steps = {r["rank"]: [s["end"] - s["start"] for s in r["steps"]] for r in truth["ranks"]}
        check(steps[1][1] - steps[1][0] > 30000000, "the stall does not show", steps)
        check(truth["late_rank"] == 1, "the stalled rank is not the late rank")

        suite.job("--dp", 2, "--tp", 2, *small, "--rocm", "--python-stacks")
        truth, _, _ = suite.job("--dp", 2, "--pp", 2, *small, "--cuda-graph", "--unlinked", 2)
        check(all(r["launch_delay"]["of_graphs"] > 20 for r in truth["ranks"]), "no graph owns kernels")
        suite.job("--dp", 2, *small, "--rocm", "--cuda-graph")
        suite.job("--dp", 2, *small, "--no-sync-events", "--no-steps", "--no-shapes", "--seed", 9)
        truth, _, _ = suite.job("--dp", 2, "--tp", 2, *small, "--only-rank", 2, "--python-stacks", "--first-step", 99)
        check([r["rank"] for r in truth["ranks"]] == [2], "--only-rank writes others")
        truth, _, _ = suite.job("--dp", 1, "--layers", 2, "--hidden", 256, "--tokens", 128, "--steps", 3)
        check(not truth["collectives"] and truth["late_rank"] is None, "one rank has no peers")
        share = truth["ranks"][0]["gpu"]
        check(share["idle"] > share["busy"], "small kernels do not leave the GPU idle", share)
        truth, _, _ = suite.job("--dp", 1, "--layers", 40, "--hidden", 8192, "--steps", 1)
        deepest = max(s["max_queue_depth"] for s in truth["ranks"][0]["streams"])
        check(deepest in (1022, 1023), "the launch queue never fills", deepest)

        out = suite.make("--dp", 1, "--size", "3M", "--no-truth")
        size = os.path.getsize(os.path.join(out, "rank0.json"))
        check(3 << 20 <= size < 4 << 20, "--size", size)
        check(not os.path.exists(os.path.join(out, "truth.json")), "--no-truth writes truth")
        load(os.path.join(out, "rank0.json"))

        # twins: an option that changes one thing leaves every other draw alone
        def durations(*options):
            events = load(os.path.join(suite.make("--dp", 2, *small, "--steps", 3, "--seed", 5, *options), "rank1.json"))["traceEvents"]
            return [(e["name"], round(1000 * (e["end"] - e["start"])) // 1000) for e in events
                    if e.get("ph") == "X" and e.get("cat") == "kernel" and kind(e) == "computation"]
        plain = durations()
        for twin in (["--scale-host", "0:2"], ["--network", "3"], ["--no-loader"], ["--launch-cost", "5000"], ["--queue", "64"],
                     ["--stall", "0:1:3"], ["--straggler", "0:2"], ["--contention", "1"], ["--scale-kernel", "no such:9"],
                     ["--network", "dp:3"], ["--link", "0:1:3"], ["--pause", "1:11:3"], ["--pageable"], ["--alloc-every", "2"],
                     ["--cuda-graph"], ["--no-steps"], ["--python-stacks"], ["--warm-up", "0:2"], ["--outlier", "0:3"],
                     ["--item-every", "1"], ["--late-launch", "500"], ["--bucket", "1G"], ["--overlap", "off"], ["--no-annotations"], ["--rename-groups"], ["--pause", "0:10:1"]):
            check(durations(*twin) == plain, "a twin draws other numbers", twin)
        halved = durations("--scale-kernel", "gemm:0.5")
        check([n for n, _ in halved] == [n for n, _ in plain], "--scale-kernel changes what runs")
        check(all(abs(a - b / 2) <= 1 if "gemm" in n else a == b for (n, a), (_, b) in zip(halved, plain)), "--scale-kernel")
        check(sum(d for _, d in durations("--contention", "2")) > sum(d for _, d in plain), "--contention")
        check(durations("--unlinked", "3")[3:] == plain, "--unlinked draws numbers of the job's")
        check(durations("--run", "1") != plain and durations("--run", "0") == plain, "--run")
        check(all(abs(b - 2 * a) <= 2 for (_, a), (_, b) in zip(plain, durations("--stage-cost", "0:2"))), "--stage-cost")
        test_faults(suite, small)
        test_pace(suite, small)
        test_shapes(suite, small)

        for wrong in (["--dp", "0"], ["--straggler", "9:2"], ["--stall", "0:1"], ["--layers", "1", "--pp", "2"],
                      ["--hidden", "100"], ["--clock-offset-us", "0:1.2345"], ["--size", "x"],
                      ["--network", "pp:2"], ["--link", "0:0:2"], ["--link", "0:9:2"], ["--pause", "0:1"], ["--stage-cost", "1:2"], ["--warm-up", "3"],
                      ["--step-noise", "1:0.99"], ["--outlier", "60:2"], ["--cuda-graph", "--alloc-every", "2"],
                      ["--overlap", "on"], ["--bucket", "0"], ["--cuda-graph", "--item-every", "1"], ["extra"], ["--wrong"]):
            done = subprocess.run([suite.binary, "--out", out, *wrong], capture_output=True, text=True, check=False)
            check(done.returncode == 2 and done.stderr, wrong, "is not refused", done)
        text = subprocess.run([suite.binary, "--help"], capture_output=True, text=True, check=True).stdout
        check("--straggler RANK:FACTOR" in text, "--help")
    print("synth: all checks hold")


if __name__ == "__main__":
    main()
