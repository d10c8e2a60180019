"""Thousands of ranks: plans, Slurm, Ray, MPI, stores that are read by ranges. What 4096 ranks cost is measured by bench/fleet."""
import concurrent.futures
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import rankscope as rs
from rankscope import fleet, sources
from test_executors import QUERIES, everything

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
SOME = {"summary": {}, "breakdown": {}, "kernels": {"by": "name", "top": 20}, "collectives": {}}


@pytest.fixture(scope="module")
def alone(synthesised):
    return everything(rs.summarize(synthesised, analyses=SOME))


# ---- plans ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [None, 1, 3, 100])
def test_plan(synthesised, alone, parts, tmp_path):
    plan = fleet.plan(synthesised, analyses=SOME, parts=parts)
    files = [name for part in range(len(plan)) for name in plan.files(part)]
    assert len(files) == 4 and len(plan) == {None: 4, 1: 1, 3: 3, 100: 4}[parts]
    assert "%d parts" % len(plan) in repr(plan)
    plan = pickle.loads(pickle.dumps(plan))
    assert everything(plan.merge([plan.run(part) for part in range(len(plan))])) == alone
    for part in range(len(plan)):
        fleet.plan(synthesised, analyses=SOME, parts=parts).write(part, tmp_path / "results")  # as another process would
    assert everything(plan.merge(tmp_path / "results")) == alone
    assert not [name for name in os.listdir(tmp_path / "results") if name.endswith(".tmp")]


def test_every_analysis_that_travels(synthesised, tmp_path):
    plan = fleet.plan(synthesised, analyses=QUERIES, parts=2)
    for part in 0, 1:
        plan.write(part, tmp_path)
    assert everything(plan.merge(tmp_path)) == everything(rs.summarize(synthesised, analyses=QUERIES))


def test_a_plan_goes_on(synthesised, tmp_path, monkeypatch):
    """What is there is not done again; what is of other files, questions or settings is not taken."""
    folder = tmp_path / "traces"
    shutil.copytree(synthesised, folder)
    plan = fleet.plan(folder, analyses="breakdown", parts=2)
    plan.write(0, tmp_path)
    assert plan.missing(tmp_path) == [1]
    with pytest.raises(rs.InputOSError, match="1 of 2 parts are missing, the first is part 1"):
        plan.merge(tmp_path)
    plan.write(1, tmp_path)
    monkeypatch.setattr(fleet, "_map", None)  # would fail
    assert plan.write(0, str(tmp_path)) == plan.path(0, tmp_path)
    monkeypatch.undo()
    assert len(plan.merge(str(tmp_path))["breakdown"]) == 4
    for other in (fleet.plan(folder, analyses="overlap", parts=2), fleet.plan(folder, analyses="breakdown", parts=2, steps=10),
                  fleet.plan(folder, analyses="breakdown", parts=2, compat="hta"), fleet.plan(folder, analyses="breakdown", parts=3)):
        assert other.missing(tmp_path) == list(range(len(other)))
    os.utime(folder / "rank3.json", ns=(1, 1))
    assert fleet.plan(folder, analyses="breakdown", parts=2).missing(tmp_path) == [0, 1]


def test_plan_is_judged(synthesised, tmp_path):
    plan = fleet.plan(synthesised, parts=2)
    for part in 2, -1, True, "0":
        with pytest.raises(rs.UsageError, match="parts 0 to 1"):
            plan.run(part)
    with pytest.raises(rs.UsageError, match="the plan has 2 parts, not 1"):
        plan.merge([plan.run(0)])
    with pytest.raises(rs.UsageError, match="parts takes a number"):
        fleet.plan(synthesised, parts=0)
    with pytest.raises(rs.UsageError, match="diff is no analysis of one job"):
        fleet.plan(synthesised, analyses="diff")
    path = plan.write(0, tmp_path)
    plan.write(1, tmp_path)
    data = pathlib.Path(path).read_bytes()
    pathlib.Path(path).write_bytes(data[:-3])
    with pytest.raises(rs.InputError):
        plan.merge(tmp_path)


def test_bytes_make_a_plan(small):
    data = {rank: path.read_bytes() for rank, path in enumerate(sorted(small.glob("*.json*")))}
    one, two = (fleet.plan(dict(data, **{}), analyses="breakdown", parts=2) for _ in range(2))
    assert one.path(0, "x") == two.path(0, "x")
    data[0] += b" "
    assert fleet.plan(data, analyses="breakdown", parts=2).path(0, "x") != one.path(0, "x")


# ---- those who do the work ------------------------------------------------------------------------------------------


def test_slurm(synthesised, alone, tmp_path):
    """The example as Slurm would start it, but with plain processes."""
    def start(step, **more):
        words = [sys.executable, str(EXAMPLES / "fleet_slurm.py"), step, str(synthesised), str(tmp_path / "results")]
        return subprocess.Popen(words, env=dict(os.environ, RANKSCOPE_PARTS="3", **more), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    tasks = [start("map", SLURM_PROCID=str(task), SLURM_NTASKS="2") for task in range(2)]
    for task in tasks:
        assert task.communicate() == (b"", b"") and task.returncode == 0
    merge = start("merge")
    out, err = merge.communicate()
    assert merge.returncode == 0, err
    assert out.strip()
    for name in SOME:
        table = rs.summarize(synthesised, analyses={name: SOME[name]})[name]
        assert (tmp_path / "results" / (name + ".csv")).read_text() == table.csv()


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    paths = os.pathsep.join([str(pathlib.Path(rs.__file__).parent.parent), str(pathlib.Path(__file__).parent)])
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", object_store_memory=100 << 20, _temp_dir=None,
             runtime_env={"env_vars": {"PYTHONPATH": paths}})
    yield ray
    ray.shutdown()


def test_ray(ray, synthesised, alone):
    with fleet.RayExecutor() as executor:
        assert everything(rs.summarize(synthesised, analyses=SOME, executor=executor)) == alone
        assert executor.submit(divmod, 7, 3).result() == (2, 1)
        with pytest.raises(ZeroDivisionError):
            executor.submit(divmod, 7, 0).result()
        with pytest.raises(rs.InputOSError):
            rs.summarize(["/no/such/file.json"], executor=executor)
    with pytest.raises(RuntimeError):
        executor.submit(divmod, 7, 3)


def test_ray_cancels(ray):
    with fleet.RayExecutor(num_cpus=2) as executor:
        first, second = executor.submit(time.sleep, 1), executor.submit(time.sleep, 60)
        second.cancel()
        assert second.cancelled() and first.result() is None


def test_mpi(synthesised, tmp_path):
    pytest.importorskip("mpi4py")
    if not shutil.which("mpiexec"):
        pytest.skip("no mpiexec")
    script = tmp_path / "answer.py"
    script.write_text("""
import sys
import rankscope as rs
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        print(rs.summarize(sys.argv[1], analyses="breakdown", executor=pool, chunk=1).csv(), end="")
""")
    words = ["mpiexec", "-n", "3", "--oversubscribe", "--allow-run-as-root", sys.executable, "-m", "mpi4py.futures", script, synthesised]
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == rs.summarize(synthesised, analyses="breakdown").csv()


# ---- stores by ranges -----------------------------------------------------------------------------------------------


@pytest.fixture
def store(monkeypatch):
    """A store that counts what is asked of it, and small ranges."""
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    monkeypatch.setattr(sources, "RANGE", 100000)
    asked, lock = [], threading.Lock()
    whole = type(memory).cat_file

    def cat_file(self, path, start=None, end=None, **more):
        data = whole(self, path, start, end, **more)
        with lock:
            asked.append((path, start, len(data)))
        return data

    monkeypatch.setattr(type(memory), "cat_file", cat_file)
    memory.asked = asked
    yield memory
    memory.store.clear()


@pytest.mark.parametrize("packed", [False, True])
def test_ranges(synthesised, alone, store, packed):
    import gzip
    sizes = {}
    for path in sorted(synthesised.glob("rank*.json")):
        data = gzip.compress(path.read_bytes(), 1) if packed else path.read_bytes()
        store.pipe("/run/" + path.name, data)
        sizes["/run/" + path.name] = len(data)
    assert min(sizes.values()) > 2 * sources.RANGE or packed
    job = rs.open("memory://run")
    assert not store.asked or packed  # nothing is read yet, but what is small
    found = {name: job.run(name, **options).table for name, options in SOME.items()}
    for name, table in found.items():
        assert table.csv() == rs.summarize(synthesised, analyses={name: SOME[name]})[name].csv()
    assert max(n for _, _, n in store.asked) <= sources.RANGE
    for path, size in sizes.items():
        assert sum(n for one, _, n in store.asked if one == path) == size  # once each
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        tables = rs.summarize("memory://run", analyses=SOME, executor=pool)
    assert {name: t.csv() for name, t in tables.items()} == {name: t.csv() for name, t in found.items()}


def test_ranges_hold_little(synthesised, store):
    """No more than some ranges of a file are held, however long it is."""
    path = max(synthesised.glob("rank*.json"), key=os.path.getsize)
    store.pipe("/run/rank0.json", path.read_bytes())
    ranges = sources.Ranges(store, "/run/rank0.json", path.stat().st_size)
    text, most = b"", 0
    while True:
        block = ranges(len(text), 30000)
        if not block:
            break
        text += block
        most = max(most, len(ranges._kept))
    assert text == path.read_bytes() and most <= 6 < path.stat().st_size // sources.RANGE
    assert ranges(0, 10) == text[:10] and ranges(len(text) - 3, 10) == text[-3:] and ranges(len(text), 1) == b""


STUCK = """
import time
import fsspec
import rankscope as rs
from rankscope import sources
store = fsspec.filesystem("memory")
store.pipe("/run/rank0.json", b"x" * 300000)
sources.RANGE = 100000
whole = type(store).cat_file
type(store).cat_file = lambda self, path, start=None, end=None: time.sleep(1000) if start else whole(self, path, start, end)
job = rs.open("memory://run/rank0.json")
print("go", flush=True)
try:
    job.breakdown()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_interrupt_of_a_store(store):
    """A store that does not answer keeps neither the caller nor the interpreter's end."""
    child = subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"go\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=300)[0] == b"interrupted\n"
    assert child.returncode == 0


SLOW = """
import time
from concurrent.futures import ThreadPoolExecutor
import rankscope as rs
from rankscope import executors
executors._map = lambda *_: time.sleep(0.5)
with ThreadPoolExecutor(1) as pool:
    print("go", flush=True)
    try:
        rs.summarize([b"x"] * 1000, analyses="breakdown", executor=pool, chunk=1)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_interrupt_of_an_executor():
    """What has not begun is cancelled: a thousand tasks of half a second end with the one that runs."""
    child = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"go\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=300)[0] == b"interrupted\n"
    assert child.returncode == 0


def test_a_range_fails(synthesised, store, monkeypatch):
    path = synthesised / "rank0.json"
    store.pipe("/run/rank0.json", path.read_bytes())
    job = rs.open("memory://run/rank0.json")
    store.store["/run/rank0.json"] = type(store.store["/run/rank0.json"])(store, "/run/rank0.json", path.read_bytes()[:150000])
    with pytest.raises(rs.InputOSError, match="memory:///?run/rank0.json.*cannot be fetched: 50000 bytes came for the 100000 from byte 100000"):
        job.breakdown()
    with pytest.raises(rs.InputOSError, match="there is no such file"):
        rs.open("memory://run/rank7.json")


def test_databases_by_ranges(tmp_path, store):
    """A database is read here and there: it is fetched whole, by ranges."""
    import sqlite3
    with sqlite3.connect(tmp_path / "run.sqlite") as base:
        base.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        base.execute("INSERT INTO StringIds VALUES (1, 'gemm')")
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,"
                     " correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER)")
        base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, 16777216, 1, 1)",
                         [(i * 100, i * 100 + 50, i) for i in range(8000)])
    data = (tmp_path / "run.sqlite").read_bytes()
    assert len(data) > 2 * sources.RANGE
    store.pipe("/run/run.sqlite", data)
    assert rs.open("memory://run/run.sqlite").breakdown().csv() == rs.open(data).breakdown().csv()
    assert len(store.asked) > 2


def test_refused_ranges():
    from rankscope import _engine
    job = _engine.Job([], None, "", {})
    with pytest.raises(TypeError, match="a size and a function"):
        job.add("x", (3, None))
    with pytest.raises(TypeError):
        job.add("x", (3,))
    for answer, wanted in ((b"123456", "no more than it was asked for"), ("text", "no more than it was asked for")):
        job = _engine.Job([], None, "", {})
        job.add("x", (3, lambda offset, n, answer=answer: answer * n))
        with pytest.raises(rs.InputOSError, match=wanted):
            job.map([("breakdown", {}, None)]) and _engine.merge([job.map([("breakdown", {}, None)])], [("breakdown", {}, None)])
