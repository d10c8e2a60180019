"""What the tests share: the small sample, the program, a synthesised job."""
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

import rankscope as rs

# A shell starts what it runs in the background with SIGINT ignored; a child inherits that, but not a handler.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SMALL = ROOT / "tests" / "data" / "small"


@pytest.fixture(scope="session")
def small():
    """A directory of two ranks."""
    return SMALL


@pytest.fixture(scope="session")
def program():
    """The program that was installed with the package."""
    try:
        import _rankscope_program
        return _rankscope_program.path()
    except ImportError:  # the package is tried from a build folder
        return os.environ.get("RANKSCOPE_PROGRAM") or shutil.which("rankscope") or str(ROOT / "build" / "rankscope")


@pytest.fixture(scope="session")
def synthesised(tmp_path_factory):
    """A job of four ranks with parallel groups."""
    maker = os.environ.get("RANKSCOPE_SYNTH", str(ROOT / "build" / "rankscope-synth"))
    if not os.path.exists(maker):
        pytest.skip("no trace synthesiser: build the target rankscope_synth")
    folder = tmp_path_factory.mktemp("job")
    subprocess.run([maker, "--out", folder, "--dp", "2", "--tp", "2", "--no-truth"], check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
def job(small):
    with rs.open(small) as opened:
        yield opened
