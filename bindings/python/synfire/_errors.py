"""The C library's errors as exceptions, and names of constants as strings.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import ctypes
import difflib
import re
from typing import Iterable, NoReturn, Union

from . import _api
from ._library import library


class SynfireError(Exception):
    """An error that a call of the library returned, or that this package found before it made the call.

    status: the `SYNFIRE_ERROR_*` number; status_name names it.
    rule: the stable id of the rule that was broken, such as "SYN-LAYER-STEPS"; "PYTHON-..." for rules of this package.
    text: what was received, and what is allowed.
    cuda_error: the `cudaError_t` that caused it, or 0.
    """

    status = _api.SYNFIRE_ERROR_INTERNAL

    def __init__(self, rule: str, text: str, status: int = 0, cuda_error: int = 0):
        self.status = status or type(self).status
        self.rule, self.text, self.cuda_error = rule, text, cuda_error
        super().__init__((f"[{rule}] " if rule else "") + text + (f" (CUDA error {cuda_error})" if cuda_error else ""))

    @property
    def status_name(self) -> str:
        """The name of the status, such as "SYNFIRE_ERROR_STALE_TAPE"."""
        return library().synfire_status_name(self.status).decode()

    def __reduce__(self):
        return type(self), (self.rule, self.text, self.status, self.cuda_error)


class InvalidArgumentError(SynfireError, ValueError):
    """An argument that the call does not take."""

    status = _api.SYNFIRE_ERROR_INVALID_ARGUMENT


class InvalidHandleError(SynfireError, ValueError):
    """An object that is closed, or belongs to another context."""

    status = _api.SYNFIRE_ERROR_INVALID_HANDLE


class OutOfMemoryError(SynfireError, MemoryError):
    """Memory that the device or the machine does not have."""

    status = _api.SYNFIRE_ERROR_OUT_OF_MEMORY


class StaleTapeError(SynfireError, RuntimeError):
    """A backward whose forward is not the one that left the tape, or whose inputs have changed since."""

    status = _api.SYNFIRE_ERROR_STALE_TAPE


class UnsupportedError(SynfireError, NotImplementedError):
    """A feature that this library, this device or this object does not have."""

    status = _api.SYNFIRE_ERROR_UNSUPPORTED


class WrongOrderError(SynfireError, RuntimeError):
    """Calls in an order that makes no sense, such as a launch of a graph that is not instantiated."""

    status = _api.SYNFIRE_ERROR_WRONG_ORDER


_CLASSES = {one.status: one for one in (InvalidArgumentError, InvalidHandleError, OutOfMemoryError, StaleTapeError,
                                        UnsupportedError, WrongOrderError)}


def fail(status: int) -> NoReturn:
    """Raises the last error of this thread."""
    text, cuda_error = ctypes.create_string_buffer(4096), ctypes.c_int32()
    library().synfire_last_error(text, len(text), ctypes.byref(cuda_error))
    message = text.value.decode("utf-8", "replace")
    found = re.match(r"\[([^\]]+)\] (.*)", message, re.S)
    rule, message = found.groups() if found else ("", message)
    raise _CLASSES.get(status, SynfireError)(rule, message, status, cuda_error.value)


def check(status: int) -> int:
    """Raises an exception for an error, else hands the status back: 0, or a note."""
    if status < 0:
        fail(status)
    return status


def refuse(rule: str, text: str) -> NoReturn:
    """Raises the error of a rule of this package."""
    raise InvalidArgumentError(rule, text)


def suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f' (did you mean "{close[0]}"?)' if close else ""


def constant(what: str, group: str, value: Union[str, int]) -> int:
    """The number of a constant: by its name, or as it is, so that a newer library's constants can be used."""
    if isinstance(value, str):
        known = _api.NAMES[group]
        if value in known:
            return known[value]
        refuse("PYTHON-CONSTANT", f'{what} is "{value}"{suggestion(value, known)}; allowed are '
               + ", ".join(f'"{name}"' for name in known))
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        refuse("PYTHON-CONSTANT", f"{what} is {value!r}; a name is needed, one of {', '.join(_api.NAMES[group])}")
    return value.__index__()


def constant_name(group: str, value: int) -> str:
    """The name of a number; the number itself where this package does not know it."""
    return next((name for name, number in _api.NAMES[group].items() if number == value), str(value))
