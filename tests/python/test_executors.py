"""summarize: the same bytes as one process, whoever does the work."""
import concurrent.futures
import gzip
import multiprocessing
import pathlib
import shutil
import threading
import warnings

import pytest

import rankscope as rs
from rankscope import _engine

MAPPED = sorted(row["name"] for row in _engine.analyses() if row["input"] == "traces" and _engine.can_map(row["name"]))
# what cannot run without an option
OPTIONS = {"sequences": {"op": "aten::mm"}}
QUERIES = {name: OPTIONS.get(name, {}) for name in MAPPED}


def everything(tables):
    """All that an answer says."""
    return {name: ({n: (t.csv(), t.schema) for n, t in table.tables.items()}, table.problems, table.notes, table.found)
            for name, table in tables.items()}


@pytest.fixture(scope="module")
def folder(synthesised, tmp_path_factory):
    """Four ranks, two packed, and a file that is no trace."""
    place = tmp_path_factory.mktemp("ranks")
    for path in sorted(pathlib.Path(synthesised).glob("rank*.json")):
        if path.name in ("rank1.json", "rank2.json"):
            with gzip.open(place / (path.name + ".gz"), "wb", compresslevel=1) as packed:
                packed.write(path.read_bytes())
        else:
            shutil.copy(path, place)
    (place / "notes.txt").write_text("no trace")
    assert len(list(place.iterdir())) == 5
    return place


@pytest.fixture(scope="module")
def alone(folder):
    """What analyses of their own say, one by one."""
    with rs.open(folder, progress=False) as job:
        return everything({name: job.run(name, **options).table for name, options in QUERIES.items()})


def test_most_travel():
    assert {"summary", "breakdown", "kernels", "overlap", "timeline", "collectives", "info"} <= set(MAPPED)


def test_here(folder, alone):
    assert everything(rs.summarize(folder, analyses=QUERIES)) == alone
    assert everything(rs.summarize(folder, analyses=QUERIES, jobs=1)) == alone


@pytest.mark.parametrize("chunk", [None, 1, 2, 100])
def test_threads(folder, alone, chunk):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert everything(rs.summarize(folder, analyses=QUERIES, executor=pool, chunk=chunk)) == alone


def test_processes(folder, alone):
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert everything(rs.summarize(folder, analyses=QUERIES, executor=pool)) == alone
        # bytes travel too, and options
        data = {rank: path.read_bytes() for rank, path in enumerate(sorted(folder.glob("rank*")))}
        with rs.open(data) as job:
            wanted = job.kernels(by="name", top=3).csv()
        found = rs.summarize(data, analyses={"kernels": {"by": "name", "top": 3}}, executor=pool, chunk=1)
        assert found["kernels"].csv() == wanted


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dask(folder, alone):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster, \
            distributed.Client(cluster) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        with client.get_executor() as executor:
            assert everything(rs.summarize(folder, analyses=QUERIES, executor=executor)) == alone
            assert rs.summarize(folder, analyses="breakdown", executor=executor, ranks="1-2")["rank"] == [1, 2]


def test_urls(folder, alone):
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.store.clear()
    try:
        store.pipe({"/traces/" + path.name: path.read_bytes() for path in folder.iterdir()})
        with rs.open("memory://traces") as job:
            wanted = everything({name: job.run(name, **options).table for name, options in QUERIES.items()})
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            assert everything(rs.summarize("memory://traces", analyses=QUERIES, executor=pool)) == wanted
        assert everything(rs.summarize("memory://traces", analyses=QUERIES)) == wanted  # in parts, one after the other
        assert wanted["breakdown"][0] == alone["breakdown"][0]
    finally:
        store.store.clear()


@pytest.mark.parametrize("settings", [{"ranks": [0, 3]}, {"steps": "10"}, {"renumber": True}, {"absolute": True}])
def test_settings(folder, settings):
    with rs.open(folder, **settings) as job:
        wanted = everything({"breakdown": job.breakdown(), "steps": job.steps(), "info": job.info()})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert everything(rs.summarize(folder, analyses=("breakdown", "steps", "info"), executor=pool, chunk=1, **settings)) == wanted


@pytest.mark.parametrize("compat", ["hta", "hta-exact"])
def test_compat(folder, compat):
    """HTA's rules look at all ranks before they trim one: that holds across workers too."""
    with rs.open(folder) as job:
        wanted = everything({name: job.run(name, compat=compat).table for name in ("breakdown", "overlap")})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert everything(rs.summarize(folder, analyses=("breakdown", "overlap"), compat=compat, executor=pool, chunk=1)) == wanted


def test_ranks_by_order():
    """Files that do not know their rank are numbered over all of them, not within a task."""
    trace = b'{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"stream":7,"device":0}}]}'
    files = [trace % (n, n + 1) for n in range(12)]
    wanted = rs.open(files).breakdown().csv()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        table = rs.summarize(files, analyses="breakdown", executor=pool, chunk=5)
    assert table["rank"] == list(range(12))
    assert table.csv() == wanted


def test_one_name_gives_one_table(folder):
    assert isinstance(rs.summarize(folder, analyses="breakdown"), rs.Table)
    assert list(rs.summarize(folder)) == ["summary"]
    assert list(rs.summarize(folder, analyses=["critical_path"])) == ["critical-path"]


def test_unusable_rank(folder, tmp_path):
    """One damaged file costs its rank, in either way of doing it, and is told."""
    place = tmp_path / "ranks"
    shutil.copytree(folder, place)
    (place / "rank1.json.gz").write_bytes(b"\x1f\x8b\x08 no gzip")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.InputWarning)
        paths = sorted(str(p) for p in place.glob("rank*"))
        wanted = everything({"breakdown": rs.open(paths).breakdown()})
        assert wanted["breakdown"][1], "nothing was told"
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            assert everything(rs.summarize(paths, analyses=["breakdown"], executor=pool, chunk=1)) == wanted
    with concurrent.futures.ThreadPoolExecutor(2) as pool, pytest.warns(rs.InputWarning, match="rank1.json.gz"):
        rs.summarize(paths, analyses=["breakdown"], executor=pool)
    with concurrent.futures.ThreadPoolExecutor(2) as pool, pytest.raises(rs.InputError):
        rs.summarize([str(place / "rank1.json.gz")], executor=pool)


def test_two_files_of_one_rank(folder):
    with concurrent.futures.ThreadPoolExecutor(2) as pool, pytest.raises(rs.AmbiguousError, match="both are rank 0"):
        rs.summarize([folder / "rank0.json", b"".join([(folder / "rank0.json").read_bytes()])], executor=pool, chunk=1)


def test_a_worker_fails(folder):
    class Refusing(concurrent.futures.ThreadPoolExecutor):
        n = 0

        def submit(self, function, *args):
            Refusing.n += 1
            return super().submit(function if Refusing.n != 2 else self.fail, *args)

        def fail(self, *_):
            raise OSError("the worker died")

    with Refusing(1) as pool, pytest.raises(OSError, match="the worker died"):
        rs.summarize(folder, executor=pool, chunk=1)


def test_bounded(folder):
    """No more tasks are under way than keep the workers busy."""
    under_way, most, lock = [0], [0], threading.Lock()

    class Counting(concurrent.futures.ThreadPoolExecutor):
        def submit(self, function, *args):
            with lock:
                under_way[0] += 1
                most[0] = max(most[0], under_way[0])
            future = super().submit(function, *args)
            future.add_done_callback(self.ended)
            return future

        def ended(self, future):
            with lock:
                under_way[0] -= 1

    trace = b'{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"stream":7,"device":0}}]}'
    with Counting(2) as pool:
        rs.summarize([trace] * 40, analyses="breakdown", executor=pool, chunk=1)
    assert 2 <= most[0] <= 8


def test_progress(folder):
    seen = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        rs.summarize(folder, analyses="breakdown", executor=pool, chunk=2, progress=lambda done, total: seen.append((done, total)))
        # Chunks may end in any order while the caller does not look: two of two ranks and one of one.
        steps = [done - before for (before, _), (done, _) in zip([(0, 5)] + seen, seen)]
        assert sorted(steps) == [1, 2, 2] and {total for _, total in seen} == {5}
        with pytest.raises(rs.Cancelled, match="stopped by the progress function"):
            rs.summarize(folder, analyses="breakdown", executor=pool, chunk=2, progress=lambda done, total: False)


def test_refused(folder):
    pool = concurrent.futures.ThreadPoolExecutor(1)
    with pool:
        with pytest.raises(rs.UsageError, match="there is no analysis \"brakdown\"; did you mean breakdown"):
            rs.summarize(folder, analyses="brakdown")
        with pytest.raises(rs.UsageError, match="diff is no analysis of one job"):
            rs.summarize(folder, analyses="diff")
        with pytest.raises(rs.UsageError, match="no analysis is named"):
            rs.summarize(folder, analyses=[])
        with pytest.raises(rs.UsageError, match="named twice"):
            rs.summarize(folder, analyses=["info", "info"])
        with pytest.raises(TypeError, match="'tpo'.*did you mean top"):
            rs.summarize(folder, analyses={"kernels": {"tpo": 1}})
        with pytest.raises(TypeError, match="unexpected keyword argument 'rank'"):
            rs.summarize(folder, rank=1)
        with pytest.raises(TypeError, match="executor takes a concurrent.futures.Executor, not 'int'"):
            rs.summarize(folder, executor=4)
        with pytest.raises(rs.UsageError, match="chunk takes a number of files"):
            rs.summarize(folder, executor=pool, chunk=0)
        for name in sorted(row["name"] for row in _engine.analyses() if row["input"] == "traces" and not _engine.can_map(row["name"])):
            with pytest.raises(rs.UsageError, match="cannot be spread over workers"):
                rs.summarize(folder, analyses=name, executor=pool)
            break


def test_packed_bytes_are_checked(folder):
    query = [("breakdown", {}, None)]
    settings = {"options": {"jobs": "1"}}
    job = _engine.Job([str(folder / "rank0.json")], None, "", settings)
    packed = job.map(query)
    assert _engine.merge([packed], query)[0].tables
    with pytest.raises(rs.InputError):
        _engine.merge([packed[:-1]], query)
    with pytest.raises(rs.InputError):
        _engine.merge([b"not packed"], query)
    with pytest.raises(rs.UsageError):
        _engine.merge([packed], [("overlap", {}, None)])
    with pytest.raises(TypeError):
        _engine.merge([bytearray(packed)], query)
    with pytest.raises(TypeError):
        _engine.merge([packed], ["breakdown"])
    job.close()
    with pytest.raises(rs.UsageError, match="the job is closed"):
        job.map(query)


def test_runs_of_several_files(tmp_path):
    """The CSV files of one profiler run stay together, and what is read in another form stays passed over."""
    for run in "1", "2":
        (tmp_path / (run + "_kernel_trace.csv")).write_text(
            "Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n"
            "KERNEL_DISPATCH,\"Agent 5\",1,7,1,\"gemm\",11,100,150\nKERNEL_DISPATCH,\"Agent 5\",1,7,2,\"gemm\",12,200,250\n")
        (tmp_path / (run + "_hip_api_trace.csv")).write_text(
            "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
            "HIP_RUNTIME_API,hipLaunchKernel,77,7,11,90,95\nHIP_RUNTIME_API,hipLaunchKernel,77,7,12,96,99\n")
    (tmp_path / "2_kernel_trace.csv.gz").write_bytes(gzip.compress((tmp_path / "2_kernel_trace.csv").read_bytes()))
    names = ("launches", "breakdown", "info")
    with rs.open(tmp_path, progress=False) as job:
        wanted = everything({name: job.run(name).table for name in names})
        assert sum(row["launches"] for row in job.launches()) == 4
    assert everything(rs.summarize(tmp_path, analyses=names)) == wanted
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert everything(rs.summarize(tmp_path, analyses=names, executor=pool, chunk=1)) == wanted
