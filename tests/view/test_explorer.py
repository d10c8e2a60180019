#!/usr/bin/env python3
"""The explorer's endpoints against the commands: every number equal, to the nanosecond.

usage: test_explorer.py RANKSCOPE RANKSCOPE-SYNTH

Python's standard library only. Each check prints a line when it fails; the last line counts them.
"""
import contextlib
import decimal
import gzip
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

BIN, SYNTH = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATIENCE = 60
passed = failed = 0


def check(ok, what):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print("FAILED:", what, flush=True)


def same(got, wanted, what):
    check(got == wanted, "%s: %r, not %r" % (what, got, wanted))


def command(*words):
    done = subprocess.run([BIN, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    return done.stdout


def tables(*words):
    return json.loads(command(*words, "--format", "json", "--no-verdict"), parse_float=decimal.Decimal)["tables"]


def ns(us):
    return int(us * 1000)


class Server:
    def __init__(self, *words):
        env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        self.process = subprocess.Popen([BIN, "view", "--port", "0", *map(str, words)], stdin=subprocess.DEVNULL, env=env,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise SystemExit("view did not start: " + self.process.communicate()[1])
        parts = urllib.parse.urlsplit(self.address)
        self.port, self.path = parts.port, parts.path

    def ask(self, path, method="GET", body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, self.path + path, body=body, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, answer.headers, content

    def get(self, path, **values):
        status, _, body = self.ask("api/%s?%s" % (path, urllib.parse.urlencode(values)), Accept="application/json")
        check(status == 200, "%s %r: %d %s" % (path, values, status, body[:300]))
        return json.loads(body, parse_float=decimal.Decimal) if status == 200 else None

    def post(self, path, body):
        status, _, answer = self.ask("api/" + path, "POST", body)
        return status, json.loads(answer, parse_float=decimal.Decimal) if status == 200 else answer.decode()


@contextlib.contextmanager
def serving(*words):
    server = Server(*words)
    try:
        yield server
    finally:
        # some leave in the middle of a question, and the program ends in the middle of others
        for i in range(3):
            link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            link.request("GET", server.path + "api/select?table=summary")
            if i == 0:
                link.close()
        server.process.send_signal(signal.SIGTERM)
        _, errors = server.process.communicate(timeout=PATIENCE)
        same(server.process.returncode, 0, "it ends: " + errors[-2000:])


# ---- sums ---------------------------------------------------------------------------------------------------

GPU = {"compute": "compute_us", "exposed_comm": "exposed_comm_us", "exposed_copy": "exposed_copy_us"}
HOST = {"operators": "operators_us", "exposed_comm": "exposed_comm_us", "exposed_sync": "exposed_sync_us",
        "loading": "exposed_loading_us", "other": "other_us"}


def sums(answer):
    """{rank: {class: ns}} of a map in columns."""
    return {row["rank"]: {name: sum(column[k] for column in row["columns"]) for k, name in enumerate(answer["classes"])}
            for row in answer["ranks"]}


def compare_with_breakdown(got, found, what):
    """found: tables of breakdown."""
    for row in found["breakdown"]:
        mine = got[row["rank"]]
        for name, column in GPU.items():
            same(mine[name], ns(row[column]), "%s: %s of rank %d" % (what, name, row["rank"]))
        same(mine["idle"] + mine["loading"], ns(row["idle_us"]), "%s: idle of rank %d" % (what, row["rank"]))
    for row in found["host"]:
        for name, column in HOST.items():
            same(got[row["rank"]][name], ns(row[column]), "%s: %s of rank %d" % (what, name, row["rank"]))
    check(found["breakdown"] or found["host"], what + ": breakdown has rows")


def check_sums(server, job, windows=4):
    ends = server.get("job")
    last = ends["last_ns"]
    for width in 1, 777:
        compare_with_breakdown(sums(server.get("map", width=width)), tables("breakdown", job), "whole job, %d columns" % width)
    chance = random.Random(7)
    ranks = [rank["rank"] for rank in ends["ranks"]]
    for i in range(windows):
        a, b = sorted(chance.sample(range(last), 2))
        some = sorted(chance.sample(ranks, max(1, len(ranks) - 1)))
        text = ",".join(map(str, some))
        window = "own:%d.%06d-%d.%06d" % (*divmod(a, 10**6), *divmod(b, 10**6))
        found = tables("breakdown", "--cut", "--window", window, "--ranks", text, job)
        for width in 1, min(500, b - a):
            got = sums(server.get("map", **{"from": a, "to": b, "ranks": text, "width": width}))
            same(sorted(got), some, "ranks of the map")
            compare_with_breakdown(got, found, "window %s" % window)


def check_binary(server):
    values = {"from": 1000, "to": 50_001_003, "width": 313}
    wanted = server.get("map", **values)
    status, headers, body = server.ask("api/map?" + urllib.parse.urlencode(values))
    same((status, headers["Content-Type"]), (200, "application/octet-stream"), "binary map")
    n, = struct.unpack_from("<I", body)
    head = json.loads(body[4:4 + n])
    flat = [value for row in wanted["ranks"] for column in row["columns"] for value in column]
    same(head["ranks"], [row["rank"] for row in wanted["ranks"]], "ranks of the binary map")
    same(list(struct.unpack_from("<%dI" % len(flat), body, 4 + n)), flat, "numbers of the binary map")
    same(len(body), 4 + n + 4 * len(flat), "its length")
    _, _, body = server.ask("api/map?shares=1&" + urllib.parse.urlencode(values))
    n, = struct.unpack_from("<I", body)
    head = json.loads(body[4:4 + n])
    same(head["classes"], ["compute", "exposed_comm", "exposed_copy", "loading", "idle"], "the classes that occur")
    at = [wanted["classes"].index(name) for name in head["classes"]]
    column = -(-(values["to"] - values["from"]) // values["width"])
    same(list(body[4 + n:]), [c[k] * 255 // column for row in wanted["ranks"] for c in row["columns"] for k in at], "shares")
    # zoomed out, columns are found by sums, zoomed in by walking: both divide the same time
    wide, narrow = (sums(server.get("map", **{**values, "width": width})) for width in (1, 5000))
    same(wide, narrow, "few and many columns")
    pooled = server.get("map", width=5, rows=2)
    same((len(pooled["ranks"]), pooled["pooled"]), (2, 2), "pooled rows")
    check(3 in [row["rank"] for row in pooled["ranks"]], "the rank that differs most is shown for its group")


# ---- the rest -------------------------------------------------------------------------------------------------


def check_order(server, job):
    found = {row["rank"]: row for row in tables("breakdown", job)["breakdown"]}
    for order, column in ("own", "compute_us"), ("communication", "exposed_comm_us"), ("rank", None):
        got = [row["rank"] for row in server.get("map", order=order)["ranks"]]
        same(got, sorted(found, key=lambda rank: -found[rank][column] if column else rank), "rows ordered by " + order)
    same(server.ask("api/map?order=name")[0], 400, "no such order")


def check_job(server, job):
    got = server.get("job")
    same([r["rank"] for r in got["ranks"]], [0, 1, 2, 3], "ranks")
    steps = {(s["rank"], s["step"]): s for s in got["steps"]}
    for row in tables("steps", job)["steps"]:
        s = steps[row["rank"], row["step"]]
        same((s["from_ns"], s["to_ns"] - s["from_ns"]), (ns(row["start_us"]), ns(row["length_us"])), "a step")
    findings = server.get("findings")["findings"]
    wanted = tables("diagnose", job)["diagnose"]
    same([f["sentence"] for f in findings], [w["finding"] for w in wanted], "the judge's sentences, in order")
    same([f["gain_pct"] for f in findings], [w["gain_pct"] for w in wanted], "gains")
    stall = next(f for f in findings if f["id"] == "loader")
    same((stall["ranks"], stall["from_ns"]), ("1", steps[1, 11]["from_ns"]), "the place of a step's fault")


def check_lanes(server, job):
    events = {}
    for row in tables("events", job)["events"]:
        if row["rank"] == 2 and row["phase"] == "X" and row["category"] not in ("Trace", "cuda_sync"):
            events[row["position"]] = row
    whole = server.get("lanes", rank=2, width=8192, depth=99)
    same(sum(lane["events"] for lane in whole["lanes"]), len(events), "events of all lanes")
    same(sum(item["count"] for item in whole["items"]), len(events), "events of all items")
    near = server.get("lanes", **{"rank": 2, "from": 60_000_000, "to": 60_100_000, "width": 4000, "depth": 99})
    single = [item for item in near["items"] if item["count"] == 1]
    inside = [e for e in events.values() if ns(e["ts_us"]) < 60_100_000 and ns(e["ts_us"] + e["dur_us"]) >= 60_000_000]
    same(sum(item["count"] for item in near["items"]), len(inside), "events of a window")
    check(len(single) > 5, "events one by one")
    for item in single:
        e = events[item["id"]]
        same((item["name"], item["from"], item["to"]), (e["name"], ns(e["ts_us"]), ns(e["ts_us"] + e["dur_us"])), "an event")
    kernel = next(e for e in events.values() if e["category"] == "kernel")
    got = server.get("event", rank=2, id=kernel["position"])
    arguments = {a["name"]: a for a in got["arguments"]}
    same(arguments["correlation"]["number"], kernel["correlation"], "an argument")
    same(got["event"][0]["step"], kernel["step"], "the event's step")
    launch = events[got["launch"][0]["id"]]
    same((launch["correlation"], launch["category"]), (kernel["correlation"], "cuda_runtime"), "its launch")
    back = server.get("event", rank=2, id=launch["position"])
    check(kernel["position"] in [e["id"] for e in back["launch"]], "the launch's work")
    check(all(e["from"] <= got["launch"][0]["from"] for e in got["inside"]), "what holds it began before it")


def check_select(server, job):
    window, ranks = "10.000000-70.000000", "0-1"
    part = {"from": 10_000_000, "to": 70_000_000, "ranks": ranks}
    for name in "kernels", "ops", "collectives", "idle", "breakdown":
        _, _, body = server.ask("api/select?" + urllib.parse.urlencode({**part, "table": name}))
        same(body, command(name, "--window", window, "--ranks", ranks, "--format", "json", job), "select " + name)
    _, _, body = server.ask("api/select?" + urllib.parse.urlencode({**part, "table": "kernels", "own": 1}))
    same(body, command("kernels", "--window", "own:" + window, "--ranks", ranks, "--format", "json", job), "by own times")
    starts = [row["ts_us"] for row in tables("events", "--window", "own:" + window, "--where", "cat = kernel", job)["events"]]
    check(starts and min(starts) >= 10_000 and max(starts) < 70_000, "own: selects work by its own start")
    for bad in "report", "compare", "nothing", "":
        same(server.ask("api/select?table=" + bad)[0], 400, "no table " + bad)


def check_why(server, job):
    at = 65_000_000
    waits = server.get("why", rank=0, at=at)["waits"]
    chain = tables("blame", "--of", "0", "--method", "chain", "--at", "65000", job)["chain"]
    kinds = [w["wait"]["kind"] for w in waits]
    same(kinds, list(dict.fromkeys(row["wait"] for row in chain)), "kinds of waits")
    for w in waits:
        rows = [row for row in chain if row["wait"] == w["wait"]["kind"]]
        same([h["ns"] for h in w["hops"]], [ns(row["duration_us"]) for row in rows], "hops are blame's")
        same(sum(h["ns"] for h in w["hops"]), w["wait"]["to"] - w["wait"]["from"], "hops add up to the wait")
        same(w["sum"], w["wait"]["to"] - w["wait"]["from"], "the sum")
        check(w["wait"]["from"] <= at < w["wait"]["to"], "the wait is under way then")
        check(all(a["from"] == b["to"] for a, b in zip(w["hops"], w["hops"][1:])), "hops follow each other")
    loader = sum(h["ns"] for h in waits[0]["hops"] if (h["rank"], h["part"]) == (1, "loader"))
    check(loader > waits[0]["sum"] // 2, "rank 0 waits for rank 1's loader, as the synthesiser made it")
    kernel = next(e for e in tables("events", "--where", "cat = kernel and name ~ AllReduce", job)["events"]
                  if e["rank"] == 0 and ns(e["ts_us"]) <= at < ns(e["ts_us"] + e["dur_us"]))
    of_event = server.get("why", rank=0, id=kernel["position"], wait="communication")["waits"]
    same(of_event, waits[:1], "the wait of an event")
    same(server.ask("api/why?rank=0")[0], 400, "why without a place")
    same(server.ask("api/why?rank=99&at=5")[0], 400, "why of no rank")


def check_path(server, job):
    steps = {}
    for row in tables("steps", job)["steps"]:
        steps.setdefault(row["step"], []).append(row)
    total = 0
    for step in sorted(steps):
        path = server.get("path", step=step)["path"]
        links = tables("blame", "--path", step, job)["chain"]
        hops = path["hops"]
        same(path["sum"], sum(h["ns"] for h in hops), "hops of step %d add up" % step)
        same(path["sum"], sum(ns(row["duration_us"]) for row in links), "... to blame's path")
        same(path["wait"]["to"] - path["wait"]["from"], path["sum"], "... and to the step")
        check(all(a["from"] == b["to"] for a, b in zip(hops, hops[1:])), "hops of a path follow each other")
        check(all((a["rank"], a["part"]) != (b["rank"], b["part"]) for a, b in zip(hops, hops[1:])), "neighbours that are one are merged")
        check(len(hops) <= len(links), "a path has no more hops than links")
        total += path["sum"]
        on_3 = sum(h["ns"] for h in hops if (h["rank"], h["part"]) == (3, "computation"))
        # rank 3 computes 1.35 times as long as the others; in step 11 rank 1 loads for 20 ms
        check(on_3 > path["sum"] * 0.8 if step != 11 else on_3 < path["sum"] * 0.2, "whom the path of step %d runs along" % step)
        if step == 11:
            check(sum(h["ns"] for h in hops if (h["rank"], h["part"]) == (1, "loader")) > 15_000_000, "the stall is on the path")
    before = next(row for row in tables("replay", "--what-if", "network*1", job)["what_if"] if row["rank"] is None)
    check(abs(total - len(steps) * before["before_us"] * 1000) < 10, "the paths of all steps are the steps of replay")
    same(server.get("path")["path"], server.get("path", step="all")["path"], "the path of the recording")
    for bad in "99", "x", "1e400", "":
        same(server.ask("api/path?step=" + bad)[0], 400, "no path of step %r" % bad)


def check_waits(server, job):
    """What is called waiting: the map's exposed communication in which a wait of `collectives` is under way."""
    values = {"from": 1_000_000, "to": 181_000_000, "width": 600}
    same(server.ask("api/map?waits=1")[0], 400, "waits that were not asked for")
    plain = sums(server.get("map", **values))
    found = tables("collectives", job)
    told = {row["rank"]: row for row in server.get("waits")["waits"]}
    divided = sums(server.get("map", waits=1, **values))
    whole = sums(server.get("map", waits=1, width=3))
    exposed = {}
    for row in tables("map", job)["map"]:
        if row["class"] == "exposed_comm":
            exposed.setdefault(row["rank"], []).append((ns(row["from_us"]), ns(row["from_us"]) + ns(row["time_us"])))
    for late in found["lateness"]:
        rank = late["rank"]
        same(told[rank]["wait_ns"], ns(late["wait_us"]), "waits of rank %d" % rank)
        same(sum(ns(w["wait_us"]) for w in found["waits"] if w["rank"] == rank), ns(late["wait_us"]), "... by whom they were for")
        same(sum(ns(w["wait_us"]) for w in found["waits"] if w["last_rank"] == rank), ns(late["others_waited_us"]), "... and for rank %d" % rank)
        marks = []
        for a in found["arrivals"]:
            if a["rank"] == rank:
                start = ns(a["own_start_us"])
                marks.append((start, start + ns(min(a["wait_us"], a["duration_us"]))))
        edges = sorted({edge for part in marks + exposed[rank] for edge in part})
        wanted = clipped = 0
        for a, b in zip(edges, edges[1:]):
            if any(x <= a and b <= y for x, y in marks) and any(x <= a and b <= y for x, y in exposed[rank]):
                wanted += b - a
                clipped += max(0, min(b, values["to"]) - max(a, values["from"]))
        same(told[rank]["exposed_wait_ns"], wanted, "exposed waits of rank %d" % rank)
        same(whole[rank]["exposed_wait"], wanted, "... on the map")
        same(divided[rank]["exposed_wait"], clipped, "... in a window")
        same(divided[rank]["exposed_wait"] + divided[rank]["exposed_comm"], plain[rank]["exposed_comm"], "waiting and transfer are communication")
        same({**divided[rank], "exposed_wait": 0, "exposed_comm": 0}, {**plain[rank], "exposed_comm": 0}, "the rest stays")
    one = max((a for a in found["arrivals"] if a["rank"] == 0), key=lambda a: a["wait_us"])
    start = ns(one["own_start_us"])
    near = server.get("lanes", **{"rank": 0, "from": start - 1000, "to": start + 1000, "depth": 99})
    item = next(i for i in near["items"] if i["id"] == one["uid"])
    same((item["from"], item["wait"]), (start, ns(one["wait_us"])), "a lane's event knows its wait")


def check_across(server, job):
    """Paths of all ranks are what the trees of the ranks add up to."""
    wanted = {}

    def walk(rows, path):
        for row in rows:
            here = path + ((row["kind"], row["name"]),) if row["depth"] else ()
            if here:
                sums = wanted.setdefault(here, [0, 0, 0, 0])
                for i, value in enumerate((1, row["count"], ns(row["gpu_us"]), ns(row["host_us"] or 0))):
                    sums[i] += value
            walk(row["children"], here)
    walk(tables("tree", job)["tree"], ())
    rows = server.get("select", table="tree", across=1)["tables"]["across"]
    by = {row["node"]: row for row in rows}

    def path_of(row):
        return (path_of(by[row["parent"]]) if row["parent"] is not None else ()) + ((row["kind"], row["name"]),)
    got = {path_of(row): [row["paths"], row["count"], ns(row["gpu_us"]), ns(row["host_us"])] for row in rows}
    same(len(got), len(wanted), "paths of all ranks")
    same([path for path in wanted if got.get(path) != wanted[path]], [], "their sums")
    check(all(row["parent"] is None or row["parent"] < row["node"] for row in rows), "a path comes after what it hangs on")


def check_what_if(server, job):
    edit = "scale class=computation&rank=3=0.7408"
    status, answer = server.post("whatif", edit)
    same(status, 200, "a what-if")
    row, = answer["whatif"]
    wanted = next(r for r in tables("replay", "--what-if", edit, job)["what_if"] if r["rank"] is None)
    for name in "before_us", "after_us", "trusted", "assumption":
        same(row[name], wanted[name], "what-if: " + name)
    check(abs(row["after_low_us"] - (wanted["before_us"] - wanted["gain_high_us"])) < decimal.Decimal("1e-6"), "its interval")
    mended = sums(server.get("map", whatif=row["id"], to=10**12))
    recorded = sums(server.get("map"))
    shrinks = mended[3]["compute"] / recorded[3]["compute"]
    check(abs(shrinks - 0.7408) < 0.001, "computation of rank 3 shrinks: %r" % shrinks)
    same(mended[0]["compute"], recorded[0]["compute"], "computation of rank 0 does not")
    check(sum(m["exposed_comm"] for m in mended.values()) < sum(r["exposed_comm"] for r in recorded.values()), "others wait less")
    same(server.post("whatif", edit)[1], answer, "asked again")
    status, text = server.post("whatif", "make it fast")
    check(status == 400 and 'no what-if "make"' in text, "no edit: %d %s" % (status, text))
    # nothing that changes anything: the map of the replay is the map of the recording
    _, answer = server.post("whatif", "scale class=computation&rank=3=1.0")
    again = sums(server.get("map", whatif=answer["whatif"][0]["id"]))
    for rank, mine in recorded.items():
        for name in GPU:
            same(again[rank][name], mine[name], "replayed as recorded: %s of rank %d" % (name, rank))


def check_search_and_sql(server, job):
    hits = server.get("search", q='AllReduce', n=3)["hits"]
    same([(h["rank"], h["position"]) for h in hits],
         [(r["rank"], r["position"]) for r in tables("events", "--where", "phase = X and name ~ AllReduce", "--limit", "3", job)["events"]], "hits")
    same(server.get("search", q='" or name ~ "', n=3)["hits"], [], "quotes stay quotes")
    check(server.get("search", q="^aten::.*mm$", regex=1, n=2)["hits"], "a pattern")
    query = "SELECT rank, count(*) AS n FROM events GROUP BY rank"
    same(server.post("sql", query)[1]["tables"]["rows"], json.loads(command("sql", "--format", "json", query, job))["tables"]["rows"], "SQL")
    same(server.post("sql", "DROP TABLE events")[0], 400, "SQL reads only")


def check_rules(server):
    for path in "api/job", "api/map", "api/findings":
        for origin in "https://evil.example", "https://ui.perfetto.dev", "null":
            same(server.ask(path, Origin=origin)[0], 403, "%s from %s" % (path, origin))
        same(server.ask(path, Host="evil.example")[0], 403, path + " under another name")
        same(server.ask(path, Origin="http://127.0.0.1:%d" % server.port)[0], 200, path + " from the page")
        same(server.ask(path, "POST", "x")[0], 404, "POST " + path)
    same(server.ask("api/whatif")[0], 404, "GET of a POST")
    same(server.ask("api/whatif", "POST", "x", Origin="https://evil.example")[0], 403, "POST of another origin")
    same(server.ask("../api/job")[0], 404, "no token")
    for path in "api/", "api/none", "api/../job", "api/job/..", "api/select/../../../etc/passwd":
        same(server.ask(path)[0], 404, path)
    check(server.ask("api/sql", "POST", "x" * (1 << 17))[0] in (400, 413), "a body that is too long")
    for query in "width=0", "width=99999999", "from=5&to=5", "from=9&to=1", "ranks=x", "from=-9223372036854775808&to=9223372036854775807", \
            "whatif=7", "from=0&to=10&width=100", "ranks=%zz", "from=x", "width=1e3", "from=-5":
        check(server.ask("api/map?" + query)[0] == 400, "map?" + query)
    for query in "rank=99", "rank=-1", "rank=0&width=0", "rank=0&from=7&to=7":
        check(server.ask("api/lanes?" + query)[0] == 400, "lanes?" + query)
    check(server.ask("api/event?rank=0&id=99999999")[0] == 400, "no such event")
    # many at once, some of whom leave at once
    def one(i):
        with contextlib.suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            connection.request("GET", server.path + ("api/lanes?rank=%d" % (i % 4)))
            if i % 3:
                connection.getresponse().read()
            connection.close()
    threads = [threading.Thread(target=one, args=(i,)) for i in range(24)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same(server.ask("api/job")[0], 200, "it still answers")


def check_fold(server):
    """Folded rows are the sums of their ranks."""
    each = {r["rank"]: r["columns"] for r in server.get("map", width=13)["ranks"]}
    for fold, rows in ("2", [[0, 1], [2, 3]]), ("3", [[0, 1, 2], [3]]), ("1,2", [[0, 2], [1, 3]]), ("8", [[0, 1, 2, 3]]):
        got = [(r["rank"], r["members"], r["columns"]) for r in server.get("map", width=13, fold=fold)["ranks"]]
        same(got, [(m[0], len(m), [[sum(each[r][c][k] for r in m) for k in range(len(each[0][0]))] for c in range(13)]) for m in rows], "fold " + fold)
    for fold in "0", "-1", "x", "2,", "2,-1", "2,2,2", "99999999999", "":
        same(server.ask("api/map?width=5&fold=" + fold)[0], 400, "fold=" + fold)
    status, _, body = server.ask("api/map?width=13&fold=4&shares=1")
    head = struct.unpack_from("<I", body)[0]
    classes, data = json.loads(body[4:4 + head])["classes"], body[4 + head:]
    same(len(data), 13 * len(classes), "one row of shares")
    check(all(200 < sum(data[c * len(classes):(c + 1) * len(classes)]) <= 255 for c in range(12)), "that are of all its ranks")


def check_roles(job):
    """Rows by role: those of ROLE=PATH, in the order of their first ranks."""
    with serving(*["%s=%s/rank%d.json" % (role, job, rank) for rank, role in enumerate(["rollout", "update", "rollout", "reward"])]) as server:
        # roles that number apart: three of them in the order of the files
        roles = {r["rank"]: r["role"] for r in server.get("job")["ranks"]}
        same(sorted(roles.values()), ["reward", "rollout", "rollout", "update"], "roles of the job")
        each = {r["rank"]: r["columns"] for r in server.get("map", width=7)["ranks"]}
        order = sorted(roles, key=lambda rank: (min(r for r in roles if roles[r] == roles[rank]), rank))
        check(order != sorted(roles), "an order of its own: %r" % roles)
        same([r["rank"] for r in server.get("map", width=7, order="role")["ranks"]], order, "rows by role")
        got = {roles[r["rank"]]: (r["members"], r["columns"]) for r in server.get("map", width=7, fold="role")["ranks"]}
        for role in "rollout", "update", "reward":
            members = [rank for rank in roles if roles[rank] == role]
            same(got[role], (len(members), [[sum(each[m][c][k] for m in members) for k in range(len(each[0][0]))] for c in range(7)]), "the row of " + role)


def check_counters(server, job):
    """Of each column the greatest value of the command's series."""
    wanted = {}
    for row in tables("queue", "--series", "--ranks", "1", "--absolute", job)["series"]:
        wanted.setdefault("Queue of device %d stream %d" % (row["device"], row["stream"]), []).append((row["ts_us"], row["queue_length"]))
    for row in tables("bandwidth", "--series", "--ranks", "1", "--absolute", job)["series"]:
        wanted.setdefault("Bandwidth: " + row["name"], []).append((row["ts_us"], row["memory_bw_gbps"]))
    origin, last = (server.get("job")[k] for k in ("origin_ns", "last_ns"))
    for start, end, width in (0, last, 64), (last // 3, last // 3 + 1 << 20, 100), (last // 5, last // 2, 1000):
        answer = server.get("counters", rank=1, **{"from": start, "to": end}, width=width)
        same({c["name"]: c["most"] for c in answer["counters"]}, {n: max(v for _, v in rows) for n, rows in wanted.items()}, "counters")
        for c in answer["counters"]:
            steps, at, got = {r["column"]: r["value"] for r in answer["values"] if r["counter"] == c["counter"]}, 0, []
            for k in range(width):
                at = steps.get(k, at)
                got.append(at)
            rows = [(ns(t) - origin, v) for t, v in wanted[c["name"]]]
            edges = [start + int((end - start) * (k / width)) for k in range(width)] + [end]
            expected = [max([([0] + [v for t, v in rows if t <= a])[-1]] + [v for t, v in rows if a < t < b]) for a, b in zip(edges, edges[1:])]
            check(sum(g != e for g, e in zip(got, expected)) <= 1, "%s in %d columns" % (c["name"], width))  # an edge may round
    for query in "rank=99", "rank=0&width=0", "rank=0&from=7&to=7":
        same(server.ask("api/counters?" + query)[0], 400, "counters?" + query)


def check_transport(server):
    """What a client has already is not sent again, and long texts are packed."""
    for path in "map?width=50", "lanes?rank=1&width=50", "select?table=kernels":
        status, headers, _ = server.ask("api/" + path)
        tag = headers["ETag"]
        check(status == 200 and tag, path + " has a tag")
        for method in "GET", "HEAD":
            status, headers, body = server.ask("api/" + path, method, **{"If-None-Match": tag})
            same((status, body, headers["ETag"]), (304, b"", tag), path + ": " + method + " again")
        same(server.ask("api/" + path, **{"If-None-Match": '"another"'})[0], 200, path + ": another tag")
    check(server.ask("api/lanes?rank=99")[1]["ETag"] is None, "a refusal has no tag")
    plain = server.ask("api/select?table=tree")
    packed = server.ask("api/select?table=tree", **{"Accept-Encoding": "gzip, br"})
    check(plain[1]["Content-Encoding"] is None and len(plain[2]) > 1 << 16, "plain: %d bytes" % len(plain[2]))
    same((packed[1]["Content-Encoding"], int(packed[1]["Content-Length"])), ("gzip", len(packed[2])), "packed")
    check(len(packed[2]) < len(plain[2]) / 3 and gzip.decompress(packed[2]) == plain[2], "packed is the same")
    check(server.ask("api/job", **{"Accept-Encoding": "gzip"})[1]["Content-Encoding"] is None, "what is short is not packed")


def check_memory(job, work):
    """Snapshots with the traces: the tables of the command."""
    folder = pathlib.Path(work) / "snapshots"
    folder.mkdir()
    for rank in 0, 1:
        subprocess.run([sys.executable, str(ROOT / "bench" / "make_snapshot.py"), str(folder / ("rank%d.pickle" % rank)), "--events",
                        str(300 + 500 * rank), "--layers", str(rank + 2)], check=True)
    with serving("--memory", folder, job) as server:
        same(server.get("job")["snapshots"], [{"path": str(folder)}], "where the snapshots are")
        found = tables("memory", folder)
        same(server.get("memory"), {t: found[t] for t in ("ranks", "findings")}, "memory of all ranks")
        layers = server.get("memory", rank=1, by="category", layers=9, top=0, tables="layers")["layers"]
        same(layers, tables("memory", "--ranks", "1", "--by", "category", "--layers", "9", "--top", "0", folder)["layers"], "layers")
        at = layers[len(layers) // 2]["time_us"]
        wanted = tables("memory", "--ranks", "1", "--at", int(at), "--layout", "--top", "0", folder)
        same(server.get("memory", rank=1, at=int(at), layout=1, top=0, tables="layout,peak"), {t: wanted[t] for t in ("layout", "peak")}, "a moment")
        same(server.get("memory", rank=0, by="stack", top=3), {"sites": tables("memory", "--ranks", "0", "--by", "stack", "--top", "3", folder)["sites"]},
             "sites by stack")
        same(server.get("memory"), {t: found[t] for t in ("ranks", "findings")}, "of all ranks again")
        for query in "rank=9", "rank=x", "rank=0&by=nothing", "rank=0&at=noon", "rank=0&layers=0", "rank=0&tables=none", "rank=0&top=x":
            same(server.ask("api/memory?" + query)[0], 400, "memory?" + query)
        same(server.ask("api/memory?rank=0&base=/etc/passwd")[0], 200, "no path is taken from a request")


def wait_for(server, what):
    for _ in range(600):
        progress = server.get("progress")
        if progress[what]:
            return progress
        time.sleep(0.1)
    check(False, "it never is " + what)
    return progress


def check_early(work):
    """A large job answers for some of its ranks while it is read. One file is a pipe, so it is not read before this says so."""
    job = os.path.join(work, "early")
    subprocess.run([SYNTH, "--out", job, "--dp", "64", "--layers", "1", "--micro-batches", "1", "--steps", "2", "--no-truth"], check=True,
                   stdout=subprocess.DEVNULL)
    late = pathlib.Path(job) / "rank34.json"
    text = late.read_text()
    late.unlink()
    os.mkfifo(late)
    files = sorted(str(path) for path in pathlib.Path(job).iterdir())
    server = Server("--no-open", "--no-store", "--early", "1", *files)
    same(wait_for(server, "usable")["complete"], False, "the pipe holds the job up")
    ranks = [r["rank"] for r in server.get("job")["ranks"]]
    same(len(ranks), 16, "ranks of the preview")
    check({0, 63} <= set(ranks), "the first and the last: %r" % ranks)
    whole = server.get("map", width=8)
    same([r["rank"] for r in whole["ranks"]], ranks, "its map")
    same(sorted(row["rank"] for row in server.get("select", table="breakdown")["tables"]["breakdown"]), ranks, "its tables")
    tag = server.ask("api/map?width=8")[1]["ETag"]
    same(server.ask("api/progress", "POST", "x")[0], 404, "progress is only asked")
    check("ETag" not in server.ask("api/progress")[1], "how far it is is never the same")
    with open(late, "w") as pipe:
        late.unlink()
        late.write_text(text)  # later questions find a file
        pipe.write(" " * 8 + text)
    progress = wait_for(server, "complete")
    check(progress["done"] > 0 and progress["total"] > 0, "bytes: %r" % progress)
    same([r["rank"] for r in server.get("job")["ranks"]], list(range(64)), "then all are there")
    same(server.ask("api/map?width=8", **{"If-None-Match": tag})[0], 200, "what was known of some is not what is known of all")
    server.process.send_signal(signal.SIGTERM)
    server.process.communicate(timeout=PATIENCE)
    check(server.process.returncode in (0, 4), "it ends: %d" % server.process.returncode)
    late.unlink()
    empty = pathlib.Path(work) / "no-trace.json"
    empty.write_text("no trace")
    broken = subprocess.run([BIN, "view", "--no-open", "--early", "1", empty], capture_output=True, text=True, timeout=PATIENCE)
    same(broken.returncode, 3, "what is no trace ends it, though it serves already: " + broken.stderr)
    check(broken.stdout.startswith("http://127.0.0.1:"), "and the address was there: " + broken.stdout)
    small = Server("--no-open", job)
    same(small.get("progress")["complete"], True, "of a small job the address comes when all is there")
    same(len(small.get("job")["ranks"]), 63, "its ranks")
    small.process.send_signal(signal.SIGTERM)
    small.process.communicate(timeout=PATIENCE)
    same(small.process.returncode, 0, "it ends")


def main():
    with tempfile.TemporaryDirectory(prefix="rankscope-explorer-") as work:
        job = os.path.join(work, "job")
        subprocess.run([SYNTH, "--out", job, "--dp", "2", "--tp", "2", "--steps", "4", "--straggler", "3:1.35", "--stall", "1:11:20",
                        "--no-truth"], check=True, stdout=subprocess.DEVNULL)
        with serving(job) as server:
            check_sums(server, job)
            check_binary(server)
            check_order(server, job)
            check_job(server, job)
            check_lanes(server, job)
            check_select(server, job)
            check_why(server, job)
            check_waits(server, job)
            check_path(server, job)
            check_across(server, job)
            check_what_if(server, job)
            check_search_and_sql(server, job)
            check_rules(server)
            check_transport(server)
            check_counters(server, job)
            check_fold(server)
            same(server.ask("api/memory")[0], 400, "there are no snapshots")
        check_memory(job, work)
        check_roles(job)
        check_early(work)
        missing = os.path.join(work, "missing")
        shutil.copytree(job, missing)
        os.remove(os.path.join(missing, "rank2.json"))
        with serving(missing) as server:
            same([r["rank"] for r in server.get("job")["ranks"]], [0, 1, 3], "a rank is missing")
            check_sums(server, missing, 1)
        with serving(ROOT / "tests" / "data" / "small") as server:
            check_sums(server, ROOT / "tests" / "data" / "small", 2)
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


sys.exit(main())
