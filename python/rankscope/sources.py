"""What rankscope.open takes, as files of a job: paths, bytes, buffers, file objects and URLs, mixed as they come.

Bytes are not copied. Other buffers are copied once, since no other code may change them while they are read. URLs need
fsspec and the package of their protocol. Small files are read at once; of a larger one some ranges are held at a time.
"""
from __future__ import annotations

import os
import re
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from .errors import InputError, InputOSError, UsageError

if TYPE_CHECKING:
    from concurrent.futures import Future

_URL = re.compile(r"(?:(\d+)=)?([A-Za-z][A-Za-z0-9+.-]*(?:::\S*?)?://.+)", re.DOTALL)
_MAGIC = re.compile("[*?[]")  # of a pattern of names
_WEB = ("http://", "https://")
# What fsspec itself does not bring along.
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "http": "aiohttp", "https": "aiohttp",
             "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs", "sftp": "paramiko", "ssh": "paramiko", "hdfs": "pyarrow",
             "hf": "huggingface_hub", "smb": "smbprotocol", "oci": "ocifs"}


# What a file's contents are to the engine: bytes, or the size and a function that fetches a range.
Data = Union[bytes, Tuple[int, Callable[[int, int], bytes]]]

RANGE = 8 << 20  # bytes that are fetched at a time; what is no longer is read whole
_AHEAD = 3       # ranges that are under way while one is read


class File:
    """One file of a job. Pickles, so that other processes can read it: a URL is fetched by whoever reads it first."""

    __slots__ = ("name", "data", "rank", "optional", "url", "options", "parts", "instead")

    def __init__(self, name: str, data: Optional[Data] = None, rank: int = -1, optional: bool = False, url: Optional[str] = None,
                 options: Optional[Dict[str, Any]] = None, parts: Sequence[str] = (), instead: Optional[str] = None) -> None:
        self.name = name  # in messages, and where a name tells the rank
        self.data = data  # bytes; None: a path, or a URL that is not fetched yet
        self.rank = rank  # -1: the file tells
        self.optional = optional  # found in a folder
        self.url, self.options = url, options
        self.parts = parts  # the files of one profiler run, read as one
        self.instead = instead  # the file that holds the same work and is read in its place

    def __getstate__(self) -> List[Any]:
        return [getattr(self, name) for name in self.__slots__]

    def __setstate__(self, state: List[Any]) -> None:
        for name, value in zip(self.__slots__, state):
            setattr(self, name, value)


def resolve(source: Any, *, recursive: bool = False,
            storage_options: Optional[Dict[str, Any]] = None) -> Tuple[List[str], List[File]]:
    """(paths, files): paths for the engine to resolve, and a list of File. Nothing is fetched yet."""
    paths: List[str] = []
    files: List[File] = []
    _add(source, -1, recursive, storage_options, paths, files)
    return paths, files


class Ranges:
    """The contents of a file in a store, by ranges: called with an offset and a number of bytes, gives these or fewer, none
    at the end. While a reader goes from front to back, the next ranges are under way. Any thread may call."""

    def __init__(self, fs: Any, path: str, size: int) -> None:
        self._fs, self._path, self.size = fs, path, size
        self._lock = threading.Lock()
        self._kept: Dict[int, "Future[bytes]"] = {}  # the first and the last few, by number
        self.fetched = 0  # bytes that came, for who measures

    def __call__(self, offset: int, n: int) -> bytes:
        if offset >= self.size:
            return b""
        at = offset // RANGE
        with self._lock:
            follows = at > 0 and at - 1 in self._kept
            for one in range(at, min(at + _AHEAD, (self.size - 1) // RANGE) + 1 if follows else at + 1):
                if one not in self._kept:
                    self._kept[one] = self._begin(one)
            for one in [one for one in self._kept if 0 < one < at - 1]:
                del self._kept[one]
            wanted = self._kept[at]
        try:
            block = wanted.result()
        except BaseException:
            with self._lock:
                self._kept.pop(at, None)  # so that a second try asks again
            raise
        begin = offset - at * RANGE
        return block[begin:begin + n]

    def _fetch(self, at: int) -> bytes:
        begin, end = at * RANGE, min((at + 1) * RANGE, self.size)
        data = bytes(self._fs.cat_file(self._path, start=begin, end=end))
        if len(data) != end - begin:
            raise OSError("%d bytes came for the %d from byte %d on: the file changed, or its store knows no ranges"
                          % (len(data), end - begin, begin))
        with self._lock:
            self.fetched += len(data)
        return data

    def _begin(self, at: int) -> "Future[bytes]":
        from concurrent.futures import Future
        future: Future[bytes] = Future()

        def work() -> None:
            try:
                future.set_result(self._fetch(at))
            except BaseException as error:
                future.set_exception(error)

        # The interpreter's end waits for no daemon: a store that does not answer must not keep it.
        threading.Thread(target=work, name="rankscope-range", daemon=True).start()
        return future


def _size_of(fs: Any, path: str, url: str) -> int:
    """Bytes of a file that can be had by ranges, else 0: it is read whole."""
    try:
        info = fs.info(path)
    except FileNotFoundError as error:
        raise _refuse(url, "there is no such file", error) from error
    except Exception:  # reading it tells what is wrong
        return 0
    size = info.get("size")
    if url.lower().startswith(_WEB) and not info.get("partial"):
        return 0  # the server does not say that it knows ranges
    return size if isinstance(size, int) else 0


def fetch(files: Sequence[File], *, whole: bool = False) -> None:
    """Gives the files that are URLs their contents: small ones (or all: whole) are read, those of one store together, as fast as it
    allows."""
    stores: List[Tuple[Any, List[Tuple[File, str]]]] = []  # file systems, and what each has to bring
    for file in files:
        if file.url is None or file.data is not None:
            continue
        fs, path = _open(file.url, file.options)
        for store, wanted in stores:
            if store is fs or store == fs:  # an archive is a file system of its own
                wanted.append((file, path))
                break
        else:
            stores.append((fs, [(file, path)]))
    for fs, wanted in stores:
        small = []
        for file, path in wanted:
            size = 0 if whole else _size_of(fs, path, str(file.url))
            if size > RANGE:
                file.data = (size, Ranges(fs, path, size))
            else:
                small.append((file, path))
        wanted = small
        try:
            together = fs.cat([path for _, path in wanted], on_error="return") if len(wanted) > 1 else {}
        except Exception:  # a store that cannot read several at once
            together = {}
        for file, path in wanted:
            data = together.get(path)
            file.data = bytes(data if isinstance(data, bytes) else _read(fs, path, str(file.url)))


# ---- one source -----------------------------------------------------------------------------------------------------


def _add(source: Any, rank: int, recursive: bool, options: Optional[Dict[str, Any]], paths: List[str], files: List[File],
         depth: int = 0) -> None:
    if isinstance(source, bytes):
        files.append(File("<bytes>", source, rank))
    elif isinstance(source, File):
        files.append(source)
    elif isinstance(source, str):
        _add_text(source, rank, recursive, options, paths, files)
    elif isinstance(source, os.PathLike):
        paths.append(_path(os.fsdecode(source), rank))
    elif isinstance(source, dict):
        if rank >= 0:
            raise UsageError("rank %d: a dict within a dict names no rank" % rank)
        for key, value in source.items():
            _add(value, _rank(key), recursive, options, paths, files, depth + 1)
    elif hasattr(source, "read"):
        files.append(File(_name(source, "<file object>"), _contents(source), rank))
    elif hasattr(source, "fs") and hasattr(source, "path"):  # what fsspec.open returns
        with source as opened:
            files.append(File(_name(opened, str(source.path)), _contents(opened), rank))
    elif hasattr(source, "read_bytes") and hasattr(source, "is_dir"):  # a path of another kind: zipfile's, UPath, ...
        _add_traversable(source, rank, recursive, files)
    else:
        buffer = _buffer(source)
        if buffer is not None:
            files.append(File("<%s>" % type(source).__name__, buffer, rank))
            return
        try:
            parts = iter(source)
        except TypeError:
            parts = None
        if parts is None or depth:
            raise TypeError("open takes paths, URLs, bytes, file objects, or several of them, not %r" % type(source).__name__)
        for part in parts:
            _add(part, rank, recursive, options, paths, files, depth + 1)


def _rank(key: Any) -> int:
    try:
        rank = int(key)
    except (TypeError, ValueError):
        rank = -1
    if rank < 0 or isinstance(key, bool):
        raise UsageError("{rank: source} takes ranks from 0 on, not %r" % (key,))
    return rank


def _path(path: str, rank: int) -> str:
    return path if rank < 0 else "%d=%s" % (rank, path)


def _buffer(source: Any) -> Optional[bytes]:
    """A copy of anything that shows its memory; None when it shows none."""
    try:
        return memoryview(source).tobytes()
    except TypeError:
        return None


def _name(source: Any, otherwise: str) -> str:
    for attribute in ("full_name", "name", "path"):
        name = getattr(source, attribute, None)
        if isinstance(name, str) and name:
            return name
    return otherwise


def _contents(source: Any) -> bytes:
    data = source.read()
    if isinstance(data, str):
        return data.encode("utf-8")
    if data is None:
        raise InputOSError("%s: has nothing to read now; open it for blocking reads" % _name(source, "file object"))
    return bytes(data)


def _add_text(text: str, rank: int, recursive: bool, options: Optional[Dict[str, Any]], paths: List[str],
              files: List[File]) -> None:
    match = None if os.path.exists(text) else _URL.fullmatch(text)
    if match:
        given = int(match.group(1)) if match.group(1) else rank
        url = match.group(2)
        if not url.lower().startswith("file://"):
            _add_url(url, given, recursive, options, files)
            return
        from urllib.parse import unquote, urlsplit
        text, rank = unquote(urlsplit(url).path), given
    if _MAGIC.search(text) and not os.path.exists(text):
        from glob import glob
        found = sorted(glob(text, recursive=True))
        if not found:
            raise InputOSError("%s: no file has such a name" % text, [{"message": "no match", "file": text, "offset": None}])
        paths.extend(_path(path, rank) for path in found)
    else:
        paths.append(_path(text, rank))


def _add_traversable(source: Any, rank: int, recursive: bool, files: List[File], optional: bool = False) -> None:
    if source.is_dir():
        for part in sorted(source.iterdir(), key=str):
            if not part.name.startswith(".") and (recursive or not part.is_dir()):
                _add_traversable(part, rank, recursive, files, True)
    else:
        files.append(File(str(source), bytes(source.read_bytes()), rank, optional))


# ---- URLs -----------------------------------------------------------------------------------------------------------


def _refuse(url: str, what: str, error: Optional[BaseException] = None) -> InputOSError:
    message = "%s: %s" % (_shown(url), what)
    return InputOSError(message, [{"message": what if error is None else "%s (%s)" % (what, error), "file": _shown(url), "offset": None}])


def _shown(url: str) -> str:
    """Without what follows a question mark: signatures are secrets, and no part of the name."""
    return url.split("?", 1)[0] if url.lower().startswith(_WEB) else url


def _open(url: str, options: Optional[Dict[str, Any]]) -> Tuple[Any, str]:
    """(file system, path)"""
    protocol = url.split("://", 1)[0].split("::", 1)[0].lower()
    try:
        url_to_fs = import_module("fsspec.core").url_to_fs
    except ImportError:
        packages = " ".join(["fsspec"] + _PACKAGES.get(protocol, "").split())
        raise UsageError("%s: URLs are read through fsspec, which is not installed: pip install %s" % (_shown(url), packages)) from None
    try:
        fs, path = url_to_fs(url, **(options or {}))
        return fs, path
    except ImportError as error:
        package = _PACKAGES.get(protocol)
        remedy = "pip install %s" % package if package else str(error)
        raise UsageError("%s: fsspec needs another package for %s:// (%s)" % (_shown(url), protocol, remedy)) from error
    except ValueError as error:
        raise UsageError("%s: fsspec does not know it (%s)" % (_shown(url), error)) from error
    except Exception as error:
        raise _refuse(url, "could not be opened: %s" % error, error) from error


def _read(fs: Any, path: str, url: str) -> Any:
    try:
        return fs.cat_file(path)
    except FileNotFoundError as error:
        raise _refuse(url, "there is no such file", error) from error
    except Exception as error:
        raise _refuse(url, "could not be read: %s" % (str(error) or type(error).__name__), error) from error


def _add_url(url: str, rank: int, recursive: bool, options: Optional[Dict[str, Any]], files: List[File]) -> None:
    web = url.lower().startswith(_WEB)
    pattern = "*" in url or "[" in url if web else _MAGIC.search(url) is not None
    if web and not pattern and not url.endswith("/"):  # asking a server for a listing is asking for the file
        files.append(File(_shown(url), None, rank, False, url, options))
        return
    fs, path = _open(url, options)
    try:
        if pattern:
            found, optional = sorted(fs.glob(path)), False
        elif fs.isdir(path):
            found, optional = sorted(fs.find(path, maxdepth=None if recursive else 1)), True
        else:
            found, optional = [path], False
    except Exception as error:
        raise _refuse(url, "could not be listed: %s" % (str(error) or type(error).__name__), error) from error
    found = [name for name in found if not (optional and name.rsplit("/", 1)[-1].startswith("."))]
    if not found:
        raise InputError("%s: %s" % (_shown(url), "no file has such a name" if pattern else
                                     "holds no files%s" % ("" if recursive else "; recursive=True looks into its folders")))
    for name in found:
        full = url if found == [path] else fs.unstrip_protocol(name)
        files.append(File(_shown(full), None, rank, optional, full, options))
