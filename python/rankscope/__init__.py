"""Why a multi-GPU training job is slow, stuck or different.

    import rankscope as rs
    job = rs.open("traces/")
    job.breakdown()                 # one method for every analysis; help(job.breakdown) explains it
    job.kernels(by="name", top=5).to_pandas()
"""
from . import _engine, _settings, errors, sources as _sources
from ._job import REGISTRY as _REGISTRY
from ._job import Job, choose as _choose, document as _document, finish as _finish, make_options as _make_options, \
    make_signature as _make_signature
from ._progress import progress as _progress
from ._table import Result, Table
from .errors import AmbiguousError, Cancelled, Error, InputError, InputOSError, InputWarning, LimitError, UsageError
from .executors import summarize

__all__ = ["AmbiguousError", "Cancelled", "Error", "InputError", "InputOSError", "InputWarning", "Job", "LimitError",
           "Result", "Table", "UsageError", "diff", "errors", "memory", "open", "summarize"]
__version__ = _engine.version()


def open(source, *, ranks=None, steps=None, recursive=False, renumber=False, single_rank=False, jobs=0,
         max_memory=None, absolute=False, keep=True, include_last_step=False, storage_options=None, progress="auto"):
    """Opens the traces of one training run; no path is read before the first analysis.

    source: a path (a file, a directory, a pattern like "traces/*.gz"), a URL (s3://, gs://, https://, ..., through
        fsspec; read at once), the bytes of a file (not copied), any other buffer (copied once), a file object (read
        whole), several of these, or a dict {rank: one of these}
    ranks, steps: only these: a number, several, a range or a text like "0,3,8-15"
    recursive: look into the folders of a directory
    renumber: number ranks by file name, whatever the files say
    single_rank: a file that holds several ranks is an error
    jobs: worker threads; 0: one for each core
    max_memory: bytes that loaded ranks may take, or a size like "4G"
    absolute: times as the files have them, not from the job's first event
    keep: keep what was loaded for the next analysis: True (up to half of the memory), False, or a size like "8G"
    include_last_step: under compat="hta", also the last step
    storage_options: what fsspec needs for URLs, such as {"anon": True}
    progress: "auto" (a line on a terminal or in a notebook when reading takes long), True, False, or a function of
        (bytes done, bytes in all) that may return False to stop
    """
    paths, files = _sources.resolve(source, recursive=recursive, storage_options=storage_options)
    _sources.fetch(files)
    settings = _settings.of_job(ranks=ranks, steps=steps, recursive=recursive, renumber=renumber, single_rank=single_rank,
                                jobs=jobs, max_memory=max_memory, absolute=absolute, keep=keep,
                                include_last_step=include_last_step)
    return Job(paths, files, settings, progress)


def diff(a, b, *, compat=None, table=None, progress=None, **options):
    """Compares two jobs, or two sources that open takes: a is what is compared with, b what is judged."""
    first = a if isinstance(a, Job) else open(a, keep=False)
    second = b if isinstance(b, Job) else open(b, keep=False)
    try:
        return _choose(first._run("diff", compat, progress, options, 2, second), table)
    finally:
        for job, given in ((first, a), (second, b)):
            if job is not given:
                job.close()


def memory(source, *, compat=None, table=None, progress=None, **options):
    """PyTorch's memory timeline."""
    with open(source, keep=False) as job:
        return _choose(job._run("memory", compat, progress, options, 2), table)


def _document_functions():
    for function, first in ((diff, ["a", "b"]), (memory, ["source"])):
        row = _REGISTRY[function.__name__]
        function.__doc__ = function.__doc__ + "\n\n" + _document(row)
        function.__signature__ = _make_signature(row, first)


_document_functions()
