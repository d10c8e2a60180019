"""A server for agents, over the Model Context Protocol: `rankscope mcp`. It needs `pip install 'rankscope[mcp]'`.

A tool is a command of the program: what it answers is the program's own JSON within a number of bytes, and ids by which the
rest, and the evidence of a finding, can be asked for. The program runs as a process of its own for every question, so a trace
that it cannot hold or an answer that takes too long ends the question and not the server."""
from __future__ import annotations

import argparse
import collections
import contextlib
import contextvars
import hashlib
import json
import os
import shlex
import subprocess
import sys
import threading
from typing import Any, Dict, List, Optional

LEAST, USUAL, MOST = 600, 6000, 200000  # bytes of an answer
KEPT = 4096  # ids that can be asked back

INSTRUCTIONS = """Why a multi-GPU training or serving job is slow, stuck or different, from the traces it wrote.
Begin with summary and diagnose; flight for a job that hangs (flight-recorder dumps); compare for two runs or more; sql for what
no tool answers (`SELECT * FROM tables`). Times are microseconds where a name ends in _us. An answer keeps to `budget` bytes;
`left_out` lists what did not fit. An `id` in an answer is asked back with evidence: the rest of a table, or what shows a finding."""


# The processes of the question that this thread answers, so that a question that nobody waits for any more ends.
_processes: "contextvars.ContextVar[List[subprocess.Popen]]" = contextvars.ContextVar("processes")


class Refusal(Exception):
    """What the caller gets instead of an answer."""


def compact(value):
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def size_of(value):
    """The bytes of its JSON."""
    return len(compact(value).encode("utf-8", "replace"))


class Questions:
    """Runs the program and remembers what ids mean. Nothing of it knows the protocol."""

    def __init__(self, program: str, roots: List[str], timeout: float, query_timeout: float = 30) -> None:
        self.program, self.timeout, self.query_timeout = program, timeout, query_timeout
        self.roots = [os.path.realpath(root) for root in roots]
        self._ids: "collections.OrderedDict[str, Dict[str, Any]]" = collections.OrderedDict()

    # ---- what is asked ----------------------------------------------------------------------------------------------

    def paths(self, given: List[str]) -> List[str]:
        """Paths below the server's folders, absolute: so none is taken for an option, a rank or standard input."""
        if not given:
            raise Refusal("which traces? paths is empty")
        found = [os.path.realpath(os.path.join(self.roots[0], path)) for path in given]
        for path, name in zip(found, given):
            if not any(os.path.commonpath([root, path]) == root for root in self.roots):
                raise Refusal("%s is not below %s: start the server with --root DIR to let it read there" % (name, ", ".join(self.roots)))
            if not os.path.exists(path):
                raise Refusal("%s: there is no such file or folder" % name)
        return found

    @staticmethod
    def budget(bytes_wanted: int) -> int:
        if not LEAST <= bytes_wanted <= MOST:
            raise Refusal("budget takes %d to %d bytes, not %d" % (LEAST, MOST, bytes_wanted))
        return bytes_wanted

    def remember(self, **what: Any) -> str:
        """An id for it: the same for the same."""
        name = "e" + hashlib.sha256(compact(what).encode("utf-8", "surrogateescape")).hexdigest()[:10]
        self._ids[name] = what
        self._ids.move_to_end(name)
        while len(self._ids) > KEPT:
            self._ids.popitem(last=False)
        return name

    # ---- the program ------------------------------------------------------------------------------------------------

    def command(self, words: List[str], paths: List[str], *output: str) -> List[str]:
        return [self.program, *words, "--no-progress", "--color", "never", *output, "--", *paths]

    def start(self, command: List[str], stderr: int) -> subprocess.Popen:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        _processes.get([]).append(process)
        return process

    def late(self) -> Refusal:
        return Refusal("no answer within %g s: ask for less (ranks, steps), or start the server with --timeout S" % self.timeout)

    def run(self, command: List[str], query: str) -> "tuple[int, bytes]":
        """The exit code and what the program printed. A query goes to its standard input: no path can pass as one."""
        with self.start(command, subprocess.PIPE) as process:
            try:
                printed, said = process.communicate(query.encode("utf-8", "replace"), timeout=self.timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise self.late() from None
        if process.returncode not in (0, 1, 4):
            raise Refusal(said.decode("utf-8", "replace").strip()[-2000:] or "the program ended with %d" % process.returncode)
        return process.returncode, printed

    # ---- answers ----------------------------------------------------------------------------------------------------

    def ask(self, words: List[str], paths: List[str], budget: int, query: str = "") -> str:
        """The program's answer within budget bytes, with ids."""
        self.budget(budget)
        room = budget
        for _ in range(4):
            try:
                code, printed = self.run(self.command(words, paths, "--format", "json", "--budget", str(room)), query)
            except Refusal as refusal:
                if "is too little" in str(refusal) and room < budget:
                    break
                if "compares jobs and is no table of one" in str(refusal):
                    raise Refusal("%s (here: apart true, and a path for each job)" % refusal) from None
                raise
            text = printed.decode("utf-8")
            found, end = json.JSONDecoder().raw_decode(text)
            if text[end:].strip():
                raise Refusal("the query holds several statements: ask them one at a time")
            answer = self.with_ids(found, words, paths, query)
            if code == 4:
                answer["incomplete"] = "part of the input was lost: see problems"
            text = compact(answer)
            over = len(text.encode("utf-8")) - budget
            if over <= 0:
                return text
            room -= over + 16  # ids took more than the blanks that went
            if room < LEAST // 2:
                break
        raise Refusal("budget %d is too little for this answer with its ids: try %d" % (budget, 2 * budget))

    def sql(self, query: str, paths: List[str], budget: int, apart: bool) -> str:
        if not query.lstrip():
            raise Refusal("query is empty; SELECT * FROM tables says what there is")
        return self.ask(["sql", "--query-timeout=%.9g" % self.query_timeout] + ["--apart"] * apart, paths, budget, query)

    def with_ids(self, answer: Dict[str, Any], words: List[str], paths: List[str], query: str) -> Dict[str, Any]:
        for left in answer.get("left_out", ()):
            if "table" in left:
                left["id"] = self.remember(words=words, paths=paths, query=query, table=left["table"])
        answer.pop("rest", None)
        for row in answer.get("tables", {}).get("diagnose", ()):
            question = question_of(row.get("evidence"))
            if question is not None:
                row["id"] = self.remember(words=question + selection_of(words), paths=paths)
        verdict = answer.get("verdict")
        if isinstance(verdict, dict) and verdict["evidence"]:  # that of flight is a word
            first = verdict["evidence"][0]
            options = ["--" + name if value is True else "--%s=%s" % (name, value) for name, value in first["options"].items()]
            verdict["evidence"] = self.remember(words=[first["command"]] + options + selection_of(words), paths=paths)
        if words[0] == "flight":
            tables = ("roots", "entries", "stacks", "lateness", "collectives", "dumps")
            answer["ids"] = {table: self.remember(words=words, paths=paths, table=table) for table in tables}
        return answer

    def evidence(self, name: str, first_row: int, budget: int) -> str:
        """What an id means."""
        what = self._ids.get(name)
        if what is None:
            raise Refusal("there is no id %s: ids are those of this server's answers; ask the question again" % name[:40])
        if "table" not in what:
            return self.ask(what["words"], what["paths"], budget)
        return self.rows(name, what, first_row, self.budget(budget))

    def rows(self, name: str, what: Dict[str, Any], first_row: int, budget: int) -> str:
        """Rows of a table from a number on, as many as fit. The program's lines are read one by one: a table may be large."""
        if first_row < 0:
            raise Refusal("first_row counts from 0")
        words = what["words"] if what["words"][0] == "sql" else what["words"] + ["--table", what["table"]]
        answer: Dict[str, Any] = {"id": name, "table": what["table"], "first_row": first_row, "next_row": 10 ** 12, "rows": []}
        command = self.command(words, what["paths"], "--format", "jsonl", "--quiet")
        left, row, more = budget - size_of(answer), 0, False
        with self.start(command, subprocess.DEVNULL) as process:
            timer = threading.Timer(self.timeout, process.kill)
            timer.start()
            with contextlib.suppress(BrokenPipeError):  # it has ended already, and will say why
                process.stdin.write(what.get("query", "").encode("utf-8", "replace"))  # type: ignore[union-attr]
                process.stdin.close()  # type: ignore[union-attr]
            for line in process.stdout:  # type: ignore[union-attr]
                if row >= first_row:
                    value = json.loads(line)
                    left -= size_of(value) + 1
                    if left < 0:
                        more = True
                        process.kill()
                        break
                    answer["rows"].append(value)
                row += 1
            late = not timer.is_alive()
            timer.cancel()
        if late and not more:
            raise self.late()
        if not more and process.returncode not in (0, 1, 4):
            self.run(command, what.get("query", ""))  # which says why
        if more and not answer["rows"]:
            raise Refusal("row %d alone takes more than %d bytes: ask with a larger budget" % (first_row, budget))
        answer["next_row"] = row if more else None
        return compact(answer)


def question_of(evidence: Optional[str]) -> Optional[List[str]]:
    """A diagnosis' evidence, a command for a shell, as words of this program without its paths: whatever a kernel is called."""
    words = shlex.split(evidence or "")
    if len(words) != 5 or words[:3] != ["rankscope", "replay", "--what-if"] or words[4] != "PATH...":
        return None
    return ["replay", "--what-if=" + words[3]]


def selection_of(words: List[str]) -> List[str]:
    """The part of a question that selects."""
    return [word for word in words if word.startswith(("--ranks=", "--steps=", "--window="))]


def selecting(ranks: Optional[str], steps: Optional[str], window: Optional[str] = None) -> List[str]:
    given = (("--ranks", ranks), ("--steps", steps), ("--window", window))
    return ["%s=%s" % (option, value) for option, value in given if value]


def make_server(questions: Questions) -> Any:
    """The server of the official SDK."""
    import anyio.to_thread
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    from . import __version__

    server = MCPServer("rankscope", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")

    async def answer(function: Any, *given: Any) -> str:
        running: List[subprocess.Popen] = []
        _processes.set(running)  # the thread has a copy of this task's context
        try:
            return await anyio.to_thread.run_sync(function, *given, abandon_on_cancel=True)
        except Refusal as refusal:
            raise ToolError(str(refusal)) from None
        finally:
            for process in running:
                if process.poll() is None:
                    process.kill()

    async def summary(paths: List[str], budget: int = USUAL, ranks: Optional[str] = None, steps: Optional[str] = None) -> str:
        """Where each rank's time goes: computation, exposed communication, copies, idle; top kernels and operators; first the verdict.
        paths: trace files or folders, the ranks of one job. ranks, steps: numbers and ranges such as 0,3,8-15. budget: bytes of
        the answer."""
        return await answer(lambda: questions.ask(["summary", *selecting(ranks, steps)], questions.paths(paths), budget))

    async def diagnose(paths: List[str], budget: int = USUAL, ranks: Optional[str] = None, steps: Optional[str] = None) -> str:
        """What is wrong, and what fixing it gains: findings with the step before and after, evidence and remedy, the most certain
        gain first. A row's id asks evidence for the replay that shows its numbers. Arguments as of summary."""
        return await answer(lambda: questions.ask(["diagnose", *selecting(ranks, steps)], questions.paths(paths), budget))

    async def flight(paths: List[str], logs: Optional[List[str]] = None, budget: int = USUAL) -> str:
        """Why a job hangs: the verdict of flight-recorder dumps, the ranks at fault, the cause, who merely waits. paths: the dumps
        or their folder; logs: log files of the job. ids: tables that evidence shows row by row."""
        def ask() -> str:
            words = ["flight"] + ["--log=" + path for path in (questions.paths(logs) if logs else [])]
            return questions.ask(words, questions.paths(paths), budget)
        return await answer(ask)

    async def memory(paths: List[str], by: str = "line", fit: Optional[str] = None, budget: int = USUAL) -> str:
        """Who holds the GPU's memory, why it ran out and what helps, by snapshots of PyTorch's allocator: findings (the verdict
        first), ranks, sites, categories, fragmentation, failed allocations, growth. paths: the snapshots of a job, or their folder.
        by: what a site is (line, function, file, stack, category, annotation). fit: would it fit into a device of that size (80G)?"""
        words = ["memory", "--top=10", "--by=" + by] + (["--fit=" + fit] if fit else [])
        return await answer(lambda: questions.ask(words, questions.paths(paths), budget))

    async def compare(paths: List[str], by: str = "args", per: str = "total", budget: int = USUAL) -> str:
        """Two runs or more against the first: which operators or kernels make the difference, in parts that add up to it. paths:
        one path a run. by: args, op, category, kernel or tree. per: total or step."""
        return await answer(lambda: questions.ask(["compare", "--by=" + by, "--per=" + per], questions.paths(paths), budget))

    async def sql(query: str, paths: List[str], budget: int = USUAL, apart: bool = False) -> str:
        """SQL (SQLite's dialect, read only) over events, arguments, ranks, streams and every analysis of a job:
        SELECT name, count(*), sum(dur_us) FROM events WHERE category = 'kernel' GROUP BY name ORDER BY 3 DESC;
        SELECT * FROM kernels('--by name --top 5'). SELECT * FROM tables lists what there is, SELECT * FROM columns its columns.
        apart: each path is a job of its own, numbered from 1: SELECT * FROM diff('1', '2'), compare('1', '2,3'), regress('1', '2');
        SELECT * FROM breakdown('', '2') is of the second. Else all paths are ranks of one job."""
        def ask() -> str:
            return questions.sql(query, questions.paths(paths), budget, apart)
        return await answer(ask)

    async def evidence(id: str, first_row: int = 0, budget: int = USUAL) -> str:
        """What an id of an earlier answer means: the rows of a table from first_row on (next_row of the answer is where to go
        on; null at the end), or the replay that shows a diagnosis' numbers."""
        return await answer(questions.evidence, id, first_row, budget)

    for tool in (summary, diagnose, flight, memory, compare, sql, evidence):
        server.add_tool(tool, structured_output=False)
    return server


def main(words: Optional[List[str]] = None) -> None:
    """The command `rankscope mcp`."""
    parser = argparse.ArgumentParser(prog="rankscope mcp", description="Serves summary, diagnose, flight, compare and sql to an agent, over "
                                     "the Model Context Protocol on standard input and output.")
    parser.add_argument("--root", action="append", metavar="DIR", help="let the agent read below DIR; may be given again (default: the "
                        "working directory). Relative paths count from the first")
    parser.add_argument("--timeout", type=float, default=300, metavar="S", help="end a question after S seconds (default %(default)s)")
    parser.add_argument("--query-timeout", type=float, default=30, metavar="S", help="end a query of sql that computes for S seconds, reading "
                        "traces and running analyses left out (default %(default)s)")
    given = parser.parse_args(words)
    if given.timeout <= 0 or given.query_timeout <= 0:
        parser.error("--timeout and --query-timeout take more than 0 seconds")
    for root in given.root or ():
        if not os.path.isdir(root):
            parser.error("--root %s: there is no such folder" % root)
    program = os.environ.get("RANKSCOPE_PROGRAM")
    if not program:
        import _rankscope_program
        program = _rankscope_program.path()
    questions = Questions(program, given.root or [os.getcwd()], given.timeout, given.query_timeout)
    try:
        server = make_server(questions)
    except ImportError as error:
        sys.exit("rankscope: mcp: needs the MCP SDK, version 2 or newer: pip install 'rankscope[mcp]' (%s)" % error)
    server.run("stdio")


if __name__ == "__main__":
    main()
