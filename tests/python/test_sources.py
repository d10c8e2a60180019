"""What rankscope.open takes: paths, patterns, bytes, buffers, file objects, URLs; mixed, and refused."""
import array
import functools
import gzip
import http.server
import io
import mmap
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading
import time
import zipfile

import pytest

import rankscope as rs
from rankscope import sources

COLUMNS = ["rank", "span_us", "compute_us", "gpu_events"]


def rows(job):
    table = job.breakdown()
    return [tuple(table[name][i] for name in COLUMNS) for i in range(len(table))]


@pytest.fixture
def wanted(small):
    return rows(rs.open(small))


@pytest.fixture
def packed(small):
    """The bytes of the two ranks."""
    return [(small / ("rank%d.json.gz" % rank)).read_bytes() for rank in (0, 1)]


def test_bytes_are_not_copied(packed, wanted):
    def holders():
        return sys.getrefcount(packed[0])

    before = holders()
    job = rs.open(packed[0])
    held = holders()
    assert held > before  # so it is read where it lies
    assert rows(job) == wanted[:1]
    job.close()
    for _ in range(200):  # the run's thread lets go when it has ended, just after the answer
        if holders() == before:
            break
        time.sleep(0.01)
    held = holders()
    assert held == before


@pytest.mark.parametrize("kind", [bytearray, memoryview, lambda b: memoryview(b"x" + b)[1:], lambda b: array.array("B", b)])
def test_buffers(packed, wanted, kind):
    buffer = kind(packed[0])
    job = rs.open(buffer)
    if isinstance(buffer, bytearray):
        buffer[:] = bytes(len(buffer))  # a copy was taken: what happens to the original is nobody's business
    assert rows(job) == wanted[:1]


def test_mmap(small, wanted):
    with open(small / "rank1.json.gz", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert rows(rs.open(mapped)) == wanted[1:]


def test_numpy(packed, wanted):
    numpy = pytest.importorskip("numpy")
    data = numpy.frombuffer(packed[0], dtype="u1")
    assert rows(rs.open(data)) == wanted[:1]
    assert rows(rs.open(numpy.repeat(data, 2)[::2])) == wanted[:1]  # with gaps


def test_file_objects(small, packed, wanted):
    with open(small / "rank0.json.gz", "rb") as packed_file, gzip.open(small / "rank1.json.gz") as plain, \
            gzip.open(small / "rank1.json.gz", "rt") as text:
        assert rows(rs.open([packed_file, plain])) == wanted
        assert rows(rs.open(text)) == wanted[1:]
    assert rows(rs.open(io.BytesIO(packed[0]))) == wanted[:1]


def test_names_tell_ranks(tmp_path):
    """A trace that does not know its rank is numbered by its name, wherever it comes from."""
    trace = b'{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"stream":7,"device":0}}]}'
    (tmp_path / "a").write_bytes(trace)
    (tmp_path / "b").write_bytes(trace)

    class Named(io.BytesIO):
        pass

    files = []
    for name in ("a/rank_12.json", "rank3"):
        files.append(Named(trace))
        files[-1].name = name
    assert rs.open(files).ranks == [3, 12]
    assert rs.open({7: trace, 5: io.BytesIO(trace)}).ranks == [5, 7]
    assert rs.open([trace, trace, trace]).ranks == [0, 1, 2]
    with pytest.raises(TypeError):
        rs.open({4: [trace, trace]})
    with pytest.raises(rs.AmbiguousError, match="both are rank 4.*{rank: path}"):
        rs.open(["4=" + str(tmp_path / "a"), "4=" + str(tmp_path / "b")]).breakdown()


def test_dict_of_mixed(small, packed, wanted):
    job = rs.open({8: packed[0], 2: small / "rank1.json.gz", 5: io.BytesIO(packed[1])})
    assert [row[0] for row in rows(job)] == [2, 5, 8]
    assert rows(job)[2][1:] == wanted[0][1:] and rows(job)[0][1:] == rows(job)[1][1:] == wanted[1][1:]


def test_patterns(small, wanted, tmp_path, monkeypatch):
    assert rows(rs.open(str(small / "rank*.json.gz"))) == wanted
    assert rows(rs.open([str(small / "*0*")])) == wanted[:1]
    odd = tmp_path / "rank[1].json.gz"  # a file of that very name is meant before a pattern
    shutil.copy(small / "rank1.json.gz", odd)
    assert rows(rs.open(str(odd))) == wanted[1:]
    with pytest.raises(rs.InputOSError, match="nothing.*: no file has such a name"):
        rs.open(str(tmp_path / "nothing*"))


def test_zip_members(small, wanted, tmp_path):
    with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive:
        for rank in (0, 1):
            archive.write(small / ("rank%d.json.gz" % rank), "traces/rank%d.json.gz" % rank)
        archive.writestr("traces/notes.txt", "no trace")
        archive.writestr("traces/deeper/rank0.json", "no trace")
    with zipfile.ZipFile(tmp_path / "job.zip") as archive:
        job = rs.open(zipfile.Path(archive, "traces/"))
        assert rows(job) == wanted
        assert any("notes.txt" in note for note in job.breakdown().notes)


@pytest.mark.parametrize("source", [None, 3, 3.5, [[3]], object()])
def test_no_source(source):
    with pytest.raises(TypeError, match="open takes paths, URLs, bytes, file objects"):
        rs.open(source)


def test_bad_ranks(packed):
    for key in (-1, "x", True, 1.5e400):
        with pytest.raises((rs.UsageError, OverflowError), match="takes ranks from 0 on|infinity"):
            rs.open({key: packed[0]})
    with pytest.raises(rs.UsageError, match="a dict within a dict"):
        rs.open({1: {2: packed[0]}})


def test_empty(small):
    with pytest.raises(rs.InputError, match="no input files"):
        rs.open([]).breakdown()
    with pytest.raises(rs.InputError, match="<bytes>"):
        rs.open(b"").breakdown()


# ---- URLs -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def memory(packed):
    """A store in memory with two ranks, something that is no trace, and a folder below."""
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.store.clear()
    store.pipe({"/bucket/job/rank0.json.gz": packed[0], "/bucket/job/rank1.json.gz": packed[1],
                "/bucket/job/_SUCCESS": b"done", "/bucket/job/.hidden": b"", "/bucket/job/more/rank7.json.gz": packed[1]})
    yield fsspec
    store.store.clear()


def test_urls(memory, wanted):
    first = "memory://bucket/job/rank0.json.gz"
    assert rows(rs.open(first)) == wanted[:1]
    assert rows(rs.open([first, "memory://bucket/job/rank1.json.gz"])) == wanted
    assert [row[0] for row in rows(rs.open({6: first}))] == [6]
    assert [row[0] for row in rows(rs.open("6=" + first))] == [6]
    assert rows(rs.open("memory://bucket/job/rank*.json.gz")) == wanted
    with memory.open(first) as opened:
        assert rows(rs.open(opened)) == wanted[:1]
    assert rows(rs.open(memory.open(first))) == wanted[:1]


def test_folder_of_a_store(memory, wanted):
    job = rs.open("memory://bucket/job")
    table = job.breakdown()
    assert rows(job) == wanted
    assert [note for note in table.notes if "_SUCCESS" in note] and not table.problems
    with pytest.raises(rs.InputOSError, match="memory://bucket/none: there is no such file"):
        rs.open("memory://bucket/none")
    with pytest.raises(rs.AmbiguousError, match="memory://bucket/job/.*rank. and memory|both are rank 1"):
        rs.open("memory://bucket/job", recursive=True).breakdown()
    assert len(rows(rs.open("memory://bucket/job", recursive=True, renumber=True))) == 3


def test_mixed_with_paths(memory, small, packed, wanted):
    job = rs.open([str(small / "rank0.json.gz"), "memory://bucket/job/rank1.json.gz"])
    assert rows(job) == wanted


def test_local_urls(memory, small, wanted, tmp_path):
    folder = tmp_path / "a folder"
    shutil.copytree(small, folder)
    assert rows(rs.open(folder.as_uri())) == wanted
    assert rows(rs.open("file://%s/rank*.gz" % small)) == wanted
    # through a cache of fsspec's
    chained = "simplecache::memory://bucket/job/rank0.json.gz"
    assert rows(rs.open(chained)) == wanted[:1]


def test_archives_of_a_store(memory, packed, wanted):
    """Members of one name in two archives are two files."""
    store = memory.filesystem("memory")
    for rank in (0, 1):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as out:
            out.writestr("trace.json.gz", packed[rank])
        store.pipe("/bucket/%d.zip" % rank, archive.getvalue())
    assert rows(rs.open(["zip://trace.json.gz::memory://bucket/%d.zip" % rank for rank in (0, 1)])) == wanted


def test_missing_url(memory):
    with pytest.raises(rs.InputOSError, match="memory://bucket/job/rank9.json: there is no such file") as caught:
        rs.open(["memory://bucket/job/rank0.json.gz", "memory://bucket/job/rank9.json"])
    assert caught.value.causes[0]["file"] == "memory://bucket/job/rank9.json"
    with pytest.raises(rs.InputError, match="no file has such a name"):
        rs.open("memory://bucket/job/x*")


def test_unknown_protocol(memory):
    with pytest.raises(rs.UsageError, match="nonsense://x/y: fsspec does not know it"):
        rs.open("nonsense://x/y")


def test_package_of_a_protocol(memory, monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(rs.UsageError, match=r"s3://bucket/rank0.json: fsspec needs another package for s3:// \(pip install s3fs\)"):
        rs.open("s3://bucket/rank0.json")


def test_without_fsspec(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(rs.UsageError, match="gs://bucket/x: URLs are read through fsspec, which is not installed: pip install fsspec gcsfs"):
        rs.open("gs://bucket/x")


def test_fsspec_is_not_needed(small):
    code = "import sys; sys.modules['fsspec'] = None; import rankscope as rs; assert rs.open(%r).ranks == [0, 1]" % str(small)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_web(small, wanted):
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(small))
    handler.func.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        base = "http://127.0.0.1:%d/" % server.server_port
        urls = [base + "rank%d.json.gz" % rank for rank in (0, 1)]
        assert rows(rs.open([urls[0] + "?signature=rank77", urls[1]])) == wanted
        with pytest.raises(rs.InputOSError, match="there is no such file") as caught:
            rs.open(base + "rank5.json?signature=secret")
        assert "secret" not in str(caught.value)
    finally:
        server.shutdown()
        server.server_close()


def test_files_travel(memory):
    """A URL is fetched by who reads it: what is sent to another process is its name."""
    _, (file,) = sources.resolve("memory://bucket/job/rank0.json.gz", storage_options={})
    again = pickle.loads(pickle.dumps(file))
    assert (again.url, again.data, again.rank) == ("memory://bucket/job/rank0.json.gz", None, -1)
    sources.fetch([again])
    assert again.data[:2] == b"\x1f\x8b"


def test_what_is_a_url():
    for text in ("https://h/x", "3=https://h/x", "https://h/x?a=b"):
        paths, (file,) = sources.resolve(text)
        assert (paths, file.name, file.rank) == ([], "https://h/x", 3 if text[0] == "3" else -1)
    for text in ("C:/x", "rank0.json", "3=rank0.json", "a::b", "", "a b://c", pathlib.Path("https://h/x")):
        assert sources.resolve(text) == ([str(text)], [])
