"""s3:// on a store that runs here (moto). Left out where moto and s3fs are not installed: pip install 'moto[server]' s3fs."""
import json
import threading
import time

import pytest

import rankscope as rs
from rankscope import sources

pytest.importorskip("s3fs")
moto_server = pytest.importorskip("moto.server")
serving = pytest.importorskip("werkzeug.serving")


@pytest.fixture(scope="module")
def s3():
    """(storage_options, requests): a bucket; requests are (method, path, range) as they came."""
    requests = []
    app = moto_server.DomainDispatcherApplication(moto_server.create_backend_app)

    def noting(environ, start_response):
        requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("HTTP_RANGE")))
        return app(environ, start_response)

    server = serving.make_server("127.0.0.1", 0, noting, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = {"key": "k", "secret": "s", "client_kwargs": {"endpoint_url": "http://127.0.0.1:%d" % server.server_port, "region_name": "eu-west-1"}}
    yield options, requests
    server.shutdown()


def big_trace(rank, n):
    """A rank of more than one range."""
    events = [{"ph": "X", "cat": "kernel", "name": "kernel_%d" % (i % 7), "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5 + i % 3,
               "args": {"stream": 7, "correlation": i, "note": "x" * 120}} for i in range(n)]
    return json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": events}).encode()


def test_a_bucket(s3, small, tmp_path):
    import s3fs
    options, requests = s3
    fs = s3fs.S3FileSystem(**options)
    fs.mkdir("run")
    for path in small.iterdir():
        fs.put_file(str(path), "run/small/" + path.name)
    size = 0
    for rank in range(2):
        data = big_trace(rank, 80000)
        size = len(data)
        (tmp_path / ("rank%d.json" % rank)).write_bytes(data)
        fs.pipe_file("run/big/rank%d.json" % rank, data)
    assert size > 2 * sources.RANGE
    del requests[:]

    begin, cpu = time.monotonic(), time.process_time()
    with rs.open("s3://run/small/", storage_options=options) as job:
        assert job.kernels().csv() == rs.open(small).kernels().csv()
    assert [one for one in requests if one[0] == "GET" and one[2]] == []  # small files are read whole, each once
    del requests[:]
    with rs.open("s3://run/big/", storage_options=options) as job:
        assert job.breakdown().csv() == rs.open(tmp_path).breakdown().csv()
        ranges = [one for one in requests if one[0] == "GET" and one[1].endswith(".json")]
        assert all(one[2] for one in ranges), ranges  # no file comes whole
        spans = [tuple(map(int, one[2].replace("bytes=", "").split("-"))) for one in ranges]
        assert max(last - first for first, last in spans) < sources.RANGE
        assert sum(last - first + 1 for first, last in spans) <= 2 * size + 2 * sources.RANGE  # hardly a byte twice
        print("2 x %.1f MB: %d ranges, %.2f s, %.2f s of processor time" % (
            size / 1e6, len(ranges), time.monotonic() - begin, time.process_time() - cpu))
        n = len(requests)
        job.kernels()
        assert len(requests) == n  # what is loaded stays
        assert job.frames()[1].num_rows == 80000
    with pytest.raises(rs.InputOSError, match="s3://run/none"):
        rs.open("s3://run/none.json", storage_options=options).info()
    tables = rs.summarize("s3://run/big/", storage_options=options)
    assert tables["summary"].csv() == rs.summarize(tmp_path)["summary"].csv()
