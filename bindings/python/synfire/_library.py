"""Finds and loads the C library.

The environment variable SYNFIRE_LIBRARY names a file or a folder, and nothing else is tried then. Without it, the
library that lies in the package is taken, else the one that the system's loader finds.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import ctypes
import os
import pathlib
import sys
import threading
from typing import List, Optional

from . import _api


class LibraryError(ImportError):
    """The C library is missing, or is not one that this package can use. The text says what was tried."""


class Library:
    """The functions of the C library, each as an attribute."""

    def __init__(self, handle: ctypes.CDLL, path: str):
        self.handle, self.path = handle, path
        for name, (returns, arguments) in _api.FUNCTIONS.items():
            function = getattr(handle, name)
            function.restype, function.argtypes = returns, arguments
            setattr(self, name, function)


_loaded: Optional[Library] = None
_lock = threading.Lock()


def _after_fork() -> None:
    # Another thread of the parent may have held it, and the child does not have that thread.
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def library_names() -> List[str]:
    """The names that a library of this ABI's major version may have, the exact one first."""
    base = f"synfire{_api.ABI_MAJOR}"
    if sys.platform == "win32":
        return [f"{base}.dll"]
    if sys.platform == "darwin":
        return [f"lib{base}.{_api.ABI_MAJOR}.dylib", f"lib{base}.dylib"]
    return [f"lib{base}.so.{_api.ABI_MAJOR}", f"lib{base}.so"]


def _candidates() -> List[str]:
    wanted = os.environ.get("SYNFIRE_LIBRARY", "")
    if wanted:
        return [os.path.join(wanted, name) for name in library_names()] if os.path.isdir(wanted) else [wanted]
    folder = pathlib.Path(__file__).resolve().parent / "lib"
    inside = [str(folder / name) for name in library_names() if (folder / name).exists()]
    return inside or library_names()


def _version_text(version: int) -> str:
    return f"{version >> 16}.{version & 0xFFFF}"


def _problem_of(handle: ctypes.CDLL, path: str) -> str:
    """Says what is wrong with a library; empty where nothing is."""
    if not hasattr(handle, "synfire_abi_version"):
        return f"{path} is not a Synfire library: it has no synfire_abi_version"
    handle.synfire_abi_version.restype = ctypes.c_uint32
    version = handle.synfire_abi_version()
    if version >> 16 != _api.ABI_MAJOR or version < (_api.ABI_MAJOR << 16 | _api.ABI_MINOR):
        return (f"{path} has ABI {_version_text(version)}; this package needs {_api.ABI_MAJOR}.x with x at least "
                f"{_api.ABI_MINOR}")
    missing = next((name for name in _api.FUNCTIONS if not hasattr(handle, name)), "")
    return f"{path} says ABI {_version_text(version)}, but has no {missing}" if missing else ""


def _load() -> Library:
    problems = []
    for path in _candidates():
        try:
            handle = ctypes.CDLL(path)
        except OSError as problem:
            problems.append(f"  {path}: {problem}")
            continue
        problem = _problem_of(handle, path)
        if not problem:
            return Library(handle, path)
        problems.append(f"  {path}: {problem}")
    where = ("SYNFIRE_LIBRARY is set, so nothing else was tried." if os.environ.get("SYNFIRE_LIBRARY") else
             "SYNFIRE_LIBRARY is not set; set it to the library or to its folder.")
    raise LibraryError("Synfire's C library could not be loaded. Tried:\n" + "\n".join(problems) + "\n" + where)


def library() -> Library:
    """The C library, loaded by the first call. Raises LibraryError."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def library_path() -> str:
    """The file that the C library was loaded from."""
    return library().path


def version_string() -> str:
    """Version and build facts of the loaded library."""
    return library().synfire_version_string().decode()


def abi_version() -> str:
    """The version of the C ABI that the loaded library has, such as "0.3"."""
    return _version_text(library().synfire_abi_version())
