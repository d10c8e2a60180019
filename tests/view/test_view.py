#!/usr/bin/env python3
"""rankscope view as a client of it sees it: routes, token, who may read what, signals, the trace itself.

usage: test_view.py RANKSCOPE RANKSCOPE-SYNTH

Python's standard library only. Each check prints a line when it fails; the last line counts them.
"""
import collections
import contextlib
import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

BIN, SYNTH = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
UI = "https://ui.perfetto.dev"
PATIENCE = 60
# A shell starts what it runs in the background with SIGINT ignored, and the program leaves ignored what its caller
# ignores. A handler of our own is reset to the default in a child.
signal.signal(signal.SIGINT, signal.default_int_handler)
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


def environment(**more):
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    env.update(more)
    return env


def signals_as_usual():
    """Whoever runs the tests in the background may have these ignored, and a program leaves them so."""
    for number in signal.SIGINT, signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)


class Server:
    """A running `rankscope view`."""

    def __init__(self, *words, port="0", **env):
        self.process = subprocess.Popen([BIN, "view", "--perfetto", "--port", port, *words], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=environment(**env), preexec_fn=signals_as_usual)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise SystemExit("view did not start: " + self.process.communicate()[1])
        parts = urllib.parse.urlsplit(self.address)
        self.port, self.path = parts.port, parts.path

    def ask(self, path, method="GET", **headers):
        """status, headers, body"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers, body

    def raw(self, text):
        """What comes back for these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as link:
            link.sendall(text)
            link.shutdown(socket.SHUT_WR)
            parts = []
            with contextlib.suppress(ConnectionResetError):
                while part := link.recv(65536):
                    parts.append(part)
            return b"".join(parts)

    def end(self, number=signal.SIGINT):
        """exit code and standard error"""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors


@contextlib.contextmanager
def serving(*words, **options):
    server = Server(*words, **options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


def view(*words, **env):
    """Runs it where it should not start: exit code, standard error."""
    done = subprocess.run([BIN, "view", "--perfetto", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE, env=environment(**env))
    return done.returncode, done.stderr


def trace_of(server):
    status, headers, body = server.ask(server.path + "trace.json.gz")
    same(status, 200, "the trace")
    same(headers["Content-Type"], "application/gzip", "its type")
    same(headers["Content-Encoding"], None, "its encoding")
    return json.loads(gzip.decompress(body))


def kinds(trace):
    return collections.Counter(event.get("cat") for event in trace["traceEvents"] if event["ph"] != "M")


# ---- routes -------------------------------------------------------------------------------------------------


def check_routes(job):
    with serving(job) as s:
        check(re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{32}/", s.address), "address " + s.address)
        status, headers, page = s.ask(s.path)
        same((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"), "entry page")
        same(headers["X-Content-Type-Options"], "nosniff", "no sniffing")
        same(headers["Referrer-Policy"], "no-referrer", "the token stays out of referrers")
        same(headers["Cache-Control"], "no-store", "nothing is cached")
        same(headers["Cross-Origin-Opener-Policy"], None, "the page may speak to the window that it opens")
        check("default-src 'none'" in headers["Content-Security-Policy"], "policy of the page")
        check("unsafe" not in headers["Content-Security-Policy"], "policy of the page")
        check(b"@" not in page, "everything in the page is filled in")
        for name in re.findall(rb'(?:src|href)="([a-z.]+)"', page):
            status, _, body = s.ask(s.path + name.decode())
            check(status == 200 and body, "the page's %s: %d" % (name.decode(), status))
        if b'href="report.html"' in page:
            status, headers, body = s.ask(s.path + "report.html")
            same((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"), "the report")
            check("default-src 'none'" in headers["Content-Security-Policy"], "policy of the report")
            check(b'"./"' in body, "the report leads back to the trace")
            same(s.ask(s.path + "report.html", Origin=UI)[0], 403, "the UI may not read the report")
        else:
            same(s.ask(s.path + "report.html")[0], 404, "no report in this build")
        for path in ("/", "/status", "/favicon.ico", s.path[:-1], s.path + "page.html", s.path + "../", s.path + "..%2f",
                     s.path + "trace.json.gz/", s.path + "%2e%2e/etc/passwd", s.path + "view.css%00", "/" + "0" * 32 + "/",
                     s.path.upper() if s.path.upper() != s.path else "/x", "//" + s.path, s.path[:-2] + "/"):
            same(s.ask(path)[0], 404, "GET " + path)
        for name in "", "trace.json.gz", "view.js":
            status, headers, body = s.ask(s.path + name, method="HEAD")
            same((status, body), (200, b""), "HEAD " + name)
            same(int(headers["Content-Length"]), len(s.ask(s.path + name)[2]), "length by HEAD of " + name)
        for method in "POST", "PUT", "DELETE", "OPTIONS", "PATCH":
            status, headers, _ = s.ask(s.path, method=method)
            same((status, headers["Allow"]), (405, "GET, HEAD"), method)
        same(s.ask(s.path + "?x=/../")[0], 200, "a query changes nothing")


def check_who_may(job):
    with serving(job) as s:
        trace = s.path + "trace.json.gz"
        for host in "evil.example", "evil.example:%d" % s.port, "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil:%d" % s.port, \
                "localhost.:%d" % s.port, "[::1]:%d" % s.port, "":
            same(s.ask(trace, Host=host)[0], 403, "Host: " + host)
        same(s.ask(trace, Host="LocalHost:%d" % s.port)[0], 200, "localhost")
        check(b" 403 " in s.raw(b"GET %s HTTP/1.0\r\n\r\n" % trace.encode())[:20], "no Host at all")
        status, headers, _ = s.ask(trace)
        same((status, headers["Access-Control-Allow-Origin"]), (200, None), "without Origin")
        status, headers, _ = s.ask(trace, Origin=UI)
        same((status, headers["Access-Control-Allow-Origin"]), (200, UI), "the UI's origin")
        same(headers["Vary"], "Origin, Accept, Accept-Encoding", "caches tell origins apart")
        for origin in "https://evil.example", "null", UI + ".evil.example", "http://ui.perfetto.dev", UI + "/", \
                "http://127.0.0.1:1":
            status, headers, body = s.ask(trace, Origin=origin)
            same((status, headers["Access-Control-Allow-Origin"]), (403, None), "Origin: " + origin)
        same(s.ask(s.path, Origin=UI)[0], 403, "the UI may read the trace only")
        same(s.ask(s.path + "view.js", Origin="http://127.0.0.1:%d" % s.port)[0], 200, "our own origin")
    with serving("--ui", "http://LOCALHOST:8080/perfetto/?x=1&y", job) as s:
        trace = s.path + "trace.json.gz"
        same(s.ask(trace, Origin="http://localhost:8080")[1]["Access-Control-Allow-Origin"], "http://localhost:8080", "--ui")
        same(s.ask(trace, Origin=UI)[0], 403, "only that UI")
        check(b'data-viewer="http://LOCALHOST:8080/perfetto/?x=1&amp;y"' in s.ask(s.path)[2], "--ui in the page")
    tokens = set()
    for _ in range(2):
        with serving(job) as s:
            tokens.add(s.path)
    same(len(tokens), 2, "a new token each time")


def check_bad_requests(job):
    """Nonsense and idle clients do not hinder the others."""
    with serving(job) as s:
        idle = [socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE) for _ in range(8)]
        for text in b"\r\n\r\n", b"GET\r\n\r\n", b"\0" * 100 + b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", \
                b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 100000), \
                b"GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n" % (b"b" * 100000), \
                b"POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 99999999999\r\n\r\nx" % (s.path.encode(), s.port):
            with contextlib.suppress(OSError):
                answer = s.raw(text)
                check(b" 200 " not in answer[:20], "an answer to %r" % text[:40])
            same(s.ask(s.path)[0], 200, "after %r" % text[:40])
        for link in idle:
            link.close()
        # only the loopback listens: other addresses of this machine refuse
        addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
        for address in sorted(address for address in addresses if not address.startswith("127.")):
            with contextlib.suppress(OSError):
                socket.create_connection((address, s.port), timeout=2).close()
                check(False, "it listens on " + address)


# ---- the trace ----------------------------------------------------------------------------------------------


def check_trace(job, folder):
    with serving(job, "--max-events", "0", "--no-report") as s:
        same(s.ask(s.path + "report.html")[0], 404, "--no-report")
        everything = trace_of(s)
        page = s.ask(s.path)[2].decode()
    written = folder / "fused.json"
    subprocess.run([BIN, "fuse", "-q", "-o", written, job], check=True)
    check(everything == json.loads(written.read_text()), "--max-events 0 is what fuse writes")
    all_kinds = kinds(everything)
    check("4 ranks" in page, "ranks in the page")
    limit = 15000
    with serving(job, "--max-events", str(limit)) as s:
        reduced = trace_of(s)
        page = s.ask(s.path)[2].decode()
        _, errors = s.end()
    same({e["args"]["rank"] for e in reduced["traceEvents"]}, {0, 1, 2, 3}, "ranks of the reduced trace")
    few = kinds(reduced)
    check(sum(few.values()) <= limit, "%d events, at most %d" % (sum(few.values()), limit))
    check(sum(few.values()) > limit * 0.9, "%d events of %d" % (sum(few.values()), limit))
    for kind in "kernel", "gpu_memcpy", "gpu_memset":
        same(few[kind], all_kinds[kind], "all events of category " + kind)
    work = {e["args"]["correlation"] for e in everything["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")}
    arrows = collections.Counter(e["id"] for e in reduced["traceEvents"] if e.get("cat") == "ac2g")
    same({id for id in arrows if arrows[id] == 2} & work, work, "both ends of the arrow from every launch to its work")
    check(0 < few["cpu_op"] < all_kinds["cpu_op"], "some operators")

    def operators(trace):
        return [e["dur"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]

    shortest = min(operators(reduced))
    same(len([d for d in operators(everything) if d >= shortest]), few["cpu_op"], "the longest operators of all ranks")
    launches = {(e["pid"], e["args"]["correlation"]) for e in reduced["traceEvents"] if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    correlations = {c for _, c in launches}
    check(all(e["args"]["correlation"] in correlations for e in reduced["traceEvents"] if e.get("cat") == "kernel"),
          "every kernel has its launch")
    steps = [e for e in reduced["traceEvents"] if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep")]
    same(len(steps), len([e for e in everything["traceEvents"] if e.get("cat") == "user_annotation" and
                          e["name"].startswith("ProfilerStep")]), "all steps")
    told = re.search(r"left out: host events shorter than [\d.]+ us", errors)
    check(told, "stderr says what is left out: " + errors)
    check(told and told.group(0) in page, "so does the page")
    with serving(job, "--steps", "11", "--max-events", "0", "--ranks", "1,3") as s:
        one = trace_of(s)
    names = {e["name"] for e in one["traceEvents"] if e.get("cat") == "user_annotation" and e["name"].startswith("Prof")}
    same(names, {"ProfilerStep#11"}, "--steps")
    same({e["args"]["rank"] for e in one["traceEvents"]}, {1, 3}, "--ranks")


def check_native(job, folder):
    """--native: the bytes that fuse writes into a .pftrace, by the name of that form everywhere."""
    for words in (), ("--max-events", "40"), ("--ranks", "1"):
        whole = folder / "native.pftrace"
        most = words if "--max-events" in words else ("--max-events", "200000", *words)
        subprocess.run([BIN, "fuse", "--quiet", "-o", str(whole), *most, job], check=True, env=environment())
        with serving("--native", "--no-report", *words, job) as s:
            status, headers, body = s.ask(s.path + "trace.pftrace.gz")
            same((status, headers["Content-Type"]), (200, "application/gzip"), "the native trace")
            same(gzip.decompress(body), whole.read_bytes(), "the bytes of fuse")
            same(s.ask(s.path + "trace.json.gz")[0], 404, "no JSON beside it")
            page = s.ask(s.path)[2].decode()
            check('data-file="trace.pftrace.gz"' in page and 'href="trace.pftrace.gz"' in page and "json" not in page, "the page names it")
            same(s.end()[0], 0, "exit code")


def check_hostile_names(folder):
    name = 'a<b>"&\'@TITLE@.json'
    path = folder / name
    path.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "</script><script>alert(1)</script>", "pid": 0, "tid": 7, "ts": 1, "dur": 2}]}))
    with serving("--no-report", str(path)) as s:
        page = s.ask(s.path)[2].decode()
        check("<h1>a&lt;b&gt;&quot;&amp;&#39;@TITLE@.json</h1>" in page, "names are text: " + page)
        same(page.count("<script"), 1, "one script in the page")
        same(trace_of(s)["traceEvents"][0]["name"], "</script><script>alert(1)</script>", "names in the trace")


def check_damaged(folder):
    path = folder / "cut.json"
    events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": i, "dur": 1} for i in range(100)]
    text = json.dumps({"traceEvents": events})
    path.write_text(text[:len(text) // 2])
    with serving("--no-report", str(path)) as s:
        check(10 < len(trace_of(s)["traceEvents"]) < 100, "what could be read")
        page = s.ask(s.path)[2].decode()
        check("cut.json: " in page, "the page tells the damage")
        same(s.end()[0], 4, "exit code when part of the input was lost")


# ---- starting and ending ------------------------------------------------------------------------------------


def check_start(job, folder):
    with serving(job) as s:
        code, errors = view("--port", str(s.port), job)
        same(code, 3, "a taken port")
        check("port %d of 127.0.0.1 is taken" % s.port in errors and "--port" in errors, "it names the port: " + errors)
        same(errors.count("\n"), 1, "in one line")
        port = s.port
        same(s.end()[0], 0, "SIGINT")
    with serving(job, port=str(port)) as s:  # free again at once, whatever connections are in TIME_WAIT
        same(s.port, port, "--port")
        check("url=http" not in s.ask(s.path)[2].decode(), "no direct link from other ports than the UI may use")
        same(s.end(signal.SIGTERM)[0], 0, "SIGTERM")
    with serving(job) as s:
        with socket.create_connection(("127.0.0.1", s.port)) as link:
            link.sendall(b"GET ")  # a client that never ends its request
            same(s.end(signal.SIGHUP)[0], 0, "SIGHUP")
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 9001))
        probe.close()
        with serving(job, port="9001") as s:
            link = "https://ui.perfetto.dev#!/?url=http%3A%2F%2F127.0.0.1%3A9001%2F" + s.path[1:-1] + "%2Ftrace.json.gz"
            check(link in s.ask(s.path)[2].decode(), "the direct link on port 9001")
    code, errors = view("--port", "0", str(folder / "nothing.json"))
    same(code, 3, "no such file")
    check("nothing.json" in errors, errors)


def check_slow_clients(job):
    """Clients that never finish their requests delay no other client; no token is needed to connect."""
    with serving(job) as s, contextlib.ExitStack() as slow:
        for i in range(80):  # more than it keeps, fewer than the system's queue of connections takes besides
            link = slow.enter_context(socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE))
            link.sendall(b"GET /" + b"a" * i)
        begin = time.monotonic()
        for _ in range(3):
            same(s.ask(s.path)[0], 200, "the page beside slow clients")
        # the server closes idle connections after 30 s
        check(time.monotonic() - begin < 20, "the page waits until the slow clients' time is up: %.1f s" % (time.monotonic() - begin))
        same(s.end()[0], 0, "exit code")


def check_gone_clients(job):
    """Clients that have gone, before a request, within one, within an answer, leave no descriptor behind."""
    with serving(job, "--no-report") as s:
        s.ask(s.path)
        folder = "/proc/%d/fd" % s.process.pid
        before = len(os.listdir(folder))
        request = b"GET %strace.json.gz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (s.path.encode(), s.port)
        for i in range(90):
            with socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE) as link:
                link.sendall((b"", b"GET /", request * 50)[i % 3])
                if i % 3 == 2:
                    link.recv(1)
        end = time.monotonic() + PATIENCE
        while len(os.listdir(folder)) > before and time.monotonic() < end:
            time.sleep(0.05)
        check(len(os.listdir(folder)) <= before, "descriptors of clients that have gone: %d, not %d" % (len(os.listdir(folder)), before))
        check(s.raw(request).startswith(b"HTTP/1.1 200"), "an answer to one who says no more")
        same(s.end()[0], 0, "exit code")


def check_browser(job, folder):
    """xdg-open gets a page as its one argument, which only its owner reads and which leads to the address: arguments can be read by
    every user of the machine. The page goes when the server ends."""
    tools, seen, run = folder / "tools", folder / "seen", folder / "run"
    tools.mkdir()
    run.mkdir()
    program = tools / "xdg-open"
    program.write_text('#!/bin/sh\necho "$#" "$1" > "%s.new"\nmv "%s.new" "%s"\n' % (seen, seen, seen))
    program.chmod(0o755)
    path = "%s:%s" % (tools, os.environ["PATH"])
    with serving(job, PATH=path, DISPLAY=":9", XDG_RUNTIME_DIR=str(run)) as s:
        end = time.monotonic() + PATIENCE
        while not seen.exists() and time.monotonic() < end:
            time.sleep(0.02)
        count, _, page = (seen.read_text() if seen.exists() else "").strip().partition(" ")
        same(count, "1", "how many arguments xdg-open got")
        token = s.path.strip("/")
        check(token not in page, "the token is an argument: " + page)
        page = pathlib.Path(page)
        same(page.parent, run, "where the page is")
        same(page.stat().st_mode & 0o777 if page.exists() else None, 0o600, "who may read the page")
        check(page.exists() and 'content="0;url=%s"' % s.address in page.read_text(), "the page leads to the address")
        seen.unlink()
        same(s.end()[0], 0, "exit code")
        check(not page.exists(), "the page is gone")
    for words, env in (["--no-open"], {"DISPLAY": ":9"}), ([], {}):
        with serving(*words, job, PATH=path, **env) as s:
            same(s.ask(s.path)[0], 200, "the page")
            code, errors = s.end()
            check("open this address" in errors, "it says what to do: " + errors)
        check(not seen.exists(), "no browser with %r %r" % (words, env))
    with serving(job, PATH=str(folder / "empty"), DISPLAY=":9") as s:
        code, errors = s.end()
        same(code, 0, "exit code without xdg-open")
        check("xdg-open: No such file" in errors, "it says so: " + errors)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        job = str(folder / "job")
        subprocess.run([SYNTH, "--out", job, "--dp", "2", "--tp", "2", "--no-truth"], check=True, stdout=subprocess.DEVNULL)
        code, errors = view("--port", "0", "--no-such")
        same(code, 2, "an unknown option")
        if "libevent" in view("--port", "0", str(folder / "nothing.json"))[1]:
            print("0 passed, 0 failed, 1 skipped")
            return
        check_routes(job)
        check_who_may(job)
        check_bad_requests(job)
        check_trace(job, folder)
        check_native(job, folder)
        check_hostile_names(folder)
        check_damaged(folder)
        check_start(job, folder)
        check_browser(job, folder)
        check_slow_clients(job)
        check_gone_clients(job)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)


main()
