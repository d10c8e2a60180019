"""A job whose every time is chosen, so that answers about it are sums by hand."""
import json


def write_job(folder, events):
    """A file a rank, with the events of each; the folder."""
    for r, of in enumerate(events):
        (folder / ("rank%d.json" % r)).write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "x"}], "distributedInfo": {
            "rank": r, "world_size": len(events)}, "traceEvents": of}))
    return folder


def known_job(folder, a, b, host, shadow, rest, send, steps=12, ranks=2, pauses={}, teams=None, team=0, slow_team=None, loads=None):
    """A step: the host prepares for `host` us and launches a, another kernel on a stream of its own, b and an all-reduce; a and b follow each other, when
    all ranks are there the all-reduce takes `send`; the host waits for all and goes on for `rest`. a, b and
    host: of all ranks, or of each; pauses: what the host of (rank, step) takes more. teams: lists of ranks that first meet in an all-reduce of their own, of
    `team` us, or of slow_team's us (index, us), before a. loads: what each rank's data loader takes before its host prepares. All times are us, and so is what is known of the job: a step takes as long on each rank."""
    folder.mkdir()
    a, b, host = ([x] * ranks if not isinstance(x, (list, tuple)) else x for x in (a, b, host))
    of_team = {r: k for k, members in enumerate(teams or ()) for r in members}
    begin, events = [1000.0] * ranks, [[] for _ in range(ranks)]

    def add(rank, category, name, start, length, tid=7, pid=7, **args):
        events[rank].append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": length, "args": args})

    for step in range(steps):
        last = []
        for r in range(ranks):
            prepares = host[r] + pauses.get((r, step), 0)
            now, ends = begin[r] + 1 + prepares, {7: 0, 8: 0}
            if loads:
                add(r, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin[r] + 1, loads[r])
                now += loads[r]
            add(r, "cpu_op", "aten::prep", now - prepares, prepares)
            if r in of_team:
                k, members = of_team[r], teams[of_team[r]]
                add(r, "cuda_runtime", "cudaLaunchKernel", now, 4, correlation=50000 + step)
                # all are there at once where their hosts take as long
                length = slow_team[1] if slow_team and k == slow_team[0] else team
                ends[7] = now + 6 + length
                add(r, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", now + 6, length, 7, 0, device=0, stream=7, correlation=50000 + step, **{"Collective name": "allreduce", "In msg nelems": 500000, "Out msg nelems": 500000, "Group size": len(members), "dtype": "Float",
                    "Process Group Name": str(1 + k), "Process Group Description": "team", "Process Group Ranks": str(members), "Seq": step})
                now += 5
            for k, (name, stream, length) in enumerate((("a", 7, a[r]), ("shadow", 8, shadow), ("b", 7, b[r]), (None, 20, 0))):
                add(r, "cuda_runtime", "cudaLaunchKernel", now, 4, correlation=10 * step + k + 1)
                start = max(now + 6, ends[stream] + 1) if name else max(now + 6, ends[7] + 2)
                if name:
                    add(r, "kernel", name, start, length, stream, 0, device=0, stream=stream, correlation=10 * step + k + 1)
                    ends[stream] = start + length
                now += 5
            last.append((start, now, max(ends.values())))
        over = max(start for start, _, _ in last) + send
        for r, (start, now, end) in enumerate(last):
            add(r, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", start, over - start, 20, 0, device=0, stream=20, correlation=10 * step + 4,
                **{"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": ranks, "dtype": "Float",
                   "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": str(list(range(ranks))), "Seq": step})
            wait = max(over, end) + 3
            add(r, "cuda_runtime", "cudaDeviceSynchronize", now, wait - now, correlation=100000 + step)
            add(r, "user_annotation", "ProfilerStep#%d" % step, begin[r], wait + rest - begin[r])
            begin[r] = wait + rest + 1
    return write_job(folder, events)


def experts_job(folder, loads, dispatch, combine, host=100, steps=6):
    """A step: the host prepares for `host` us and launches on one stream a dispatch, a rank's experts and a combine; both exchanges begin together and take `dispatch`
    and `combine` us; the host waits for all. loads: what the experts of each rank take, us."""
    folder.mkdir()
    ranks, begin = len(loads), 1000.0
    events = [[] for _ in loads]
    for step in range(steps):
        start = begin + 1 + host + 6
        met = start + dispatch
        over = met + 1 + max(loads) + 1 + combine
        for r, load in enumerate(loads):
            def add(category, name, at, length, tid, pid, **args):
                events[r].append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": at, "dur": length, "args": args})

            exchange = {"Collective name": "all_to_allv", "In msg nelems": 500000, "Out msg nelems": 500000, "Group size": ranks, "dtype": "Float",
                        "Process Group Name": "7", "Process Group Description": "EXPERTS", "Process Group Ranks": str(list(range(ranks)))}
            add("cpu_op", "aten::prep", begin + 1, host, 7, 7)
            work = (("ncclDevKernel_SendRecv(x)", start, met, dict(exchange, Seq=2 * step)), ("experts", met + 1, met + 1 + load, {}),
                    ("ncclDevKernel_SendRecv(x)", met + 2 + load, over, dict(exchange, Seq=2 * step + 1)))
            for k, (name, at, end, args) in enumerate(work):
                add("cuda_runtime", "cudaLaunchKernel", begin + 1 + host + 5 * k, 4, 7, 7, correlation=10 * step + k + 1)
                add("kernel", name, at, end - at, 20, 0, device=0, stream=20, correlation=10 * step + k + 1, **args)
            wait = begin + 1 + host + 15
            add("cuda_runtime", "cudaDeviceSynchronize", wait, over + 3 - wait, 7, 7, correlation=100000 + step)
            add("user_annotation", "ProfilerStep#%d" % step, begin, over + 13 - begin, 7, 7)
        begin = over + 14
    return write_job(folder, events)


def pipeline_job(folder, times, batches, send, loss=0, reduce=40, steps=6, host=50):
    """A step: on one stream each rank receives a micro-batch, runs its layer and sends it on, `batches` times; the last stage runs its loss after each layer. A message takes
    `send` us when both are there, and so does `reduce` among all at the end; the host launches all of it, and waits. times: by line and stage, what its layer takes, us; ranks are numbered line by line.
    Without a folder nothing is written. Returns how long a step is."""
    n_stages = len(times[0])
    ranks, events = len(times) * n_stages, []
    begin, length = 1000.0, None
    programs = [[what for m in range(batches) for what in ([("recv", m)] * (k > 0) + [("layer", m)] + [("loss", m)] * (k == n_stages - 1 and loss > 0) +
                                                           [("send", m)] * (k < n_stages - 1))] for k in range(n_stages)]
    for step in range(steps):
        ends, spans = [], []
        for line in times:
            at, done, own = [begin + host + 6.0] * n_stages, [0] * n_stages, [[] for _ in line]
            while any(done[k] < len(programs[k]) for k in range(n_stages)):
                for k in range(n_stages):
                    if done[k] == len(programs[k]):
                        continue
                    what, m = programs[k][done[k]]
                    start = max(at[k], begin + host + 6 + 5 * done[k])
                    if what in ("layer", "loss"):
                        at[k] = start + (line[k] if what == "layer" else loss) + 1
                        own[k].append((what, start, at[k] - 1))
                    elif what == "send" and done[k + 1] < len(programs[k + 1]) and programs[k + 1][done[k + 1]] == ("recv", m):
                        other = max(at[k + 1], begin + host + 6 + 5 * done[k + 1])
                        over = max(start, other) + send
                        own[k].append((what, start, over))
                        own[k + 1].append(("recv", other, over))
                        at[k] = at[k + 1] = over + 1
                        done[k + 1] += 1
                    else:
                        continue
                    done[k] += 1
            spans += own
            ends += at
        over = max(ends) + reduce
        for r, own in enumerate(spans):
            own.append(("reduce", ends[r], over))
            events.append([]) if len(events) <= r else None

            def add(category, name, start, end, tid, pid, **args):
                events[r].append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": end - start, "args": args})

            k, counts = r % n_stages, {"send": 0, "recv": 0}
            for i, (what, start, end) in enumerate(own):
                add("cuda_runtime", "cudaLaunchKernel", begin + host + 5 * i, begin + host + 5 * i + 4, 7, 7, correlation=1000 * step + i + 1)
                args = dict(device=0, stream=7, correlation=1000 * step + i + 1)
                if what in counts:
                    pair = (r, r + 1) if what == "send" else (r - 1, r)
                    line = list(range(r - k, r - k + n_stages))
                    args.update({"Collective name": what, "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": n_stages, "dtype": "Float", "Process Group Name": str(1 + r // n_stages),
                                 "Process Group Description": "PIPELINE_MODEL_PARALLEL_GROUP", "Process Group Ranks": str(line), "Src Rank": pair[0], "Dst Rank": pair[1]})
                elif what == "reduce":
                    args.update({"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": ranks, "dtype": "Float", "Process Group Name": "0",
                                 "Process Group Description": "default_pg", "Process Group Ranks": str(list(range(ranks))), "Seq": step})
                add("kernel", {"reduce": "ncclDevKernel_AllReduce_Sum_f32_RING_LL"}.get(what, "ncclDevKernel_SendRecv" if what in counts else what), start, end, 7, 0, **args)
            add("cuda_runtime", "cudaDeviceSynchronize", begin + host + 5 * len(own), over + 3, 7, 7, correlation=100000 + step)
            add("user_annotation", "ProfilerStep#%d" % step, begin, over + 23, 7, 7)
        length = over + 24 - begin
        begin = over + 24
    if folder:
        folder.mkdir()
        write_job(folder, events)
    return length


def buckets_job(folder, n, elements, work=30, send=200, steps=6, ranks=2, host=20):
    """A step: n times a kernel of `work` us and, on a stream of its own, an all-reduce of so many floats over all ranks that takes `send` us; the host launches
    all of it, and waits."""
    folder.mkdir()
    begin, events = 1000.0, []
    for step in range(steps):
        at = net = begin + host + 6.0

        def add(category, name, start, end, tid, pid, **args):
            events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": end - start, "args": args})

        for k in range(n):
            at = max(at, begin + host + 10 * k + 6)
            net = max(net, at + work + 1, begin + host + 10 * k + 11)
            for i, (name, start, length, stream) in enumerate((("layer", at, work, 7), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", net, send, 20))):
                args = {"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "Group size": ranks, "dtype": "Float", "Process Group Name": "3",
                        "Process Group Description": "DATA", "Process Group Ranks": str(list(range(ranks))), "Seq": step * n + k} if i else {}
                add("cuda_runtime", "cudaLaunchKernel", begin + host + 10 * k + 5 * i, begin + host + 10 * k + 5 * i + 4, 7, 7, correlation=1000 * step + 2 * k + i + 1)
                add("kernel", name, start, start + length, stream, 0, device=0, stream=stream, correlation=1000 * step + 2 * k + i + 1, **args)
            at, net = at + work + 1, net + send + 1
        add("cuda_runtime", "cudaDeviceSynchronize", begin + host + 10 * n, net + 3, 7, 7, correlation=100000 + step)
        add("user_annotation", "ProfilerStep#%d" % step, begin, net + 13, 7, 7)
        begin = net + 14
    return write_job(folder, [events] * ranks)
