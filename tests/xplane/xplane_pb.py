"""The messages of xplane.proto through protobuf's own Python library: another writer than the reader under test."""
import pathlib
import subprocess
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def messages():
    here = pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "set")
        subprocess.run(["protoc", f"-I{here}", f"--descriptor_set_out={out}", "xplane.proto"], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"rs.xplane.{name}"))
            for name in ("Space", "Plane", "Line", "Event", "Stat")}
