"""The whole process: the memory that the library holds, and who hears its messages.

Functions for memory of the program's own (`synfire_memory_set_functions` of C, with `allocate` and `release`) are not offered:
the library may give memory back when the interpreter is gone.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import atexit
import ctypes
import threading
from typing import Any, Callable, Optional, Union

from . import _api
from ._call import Answer, answer_of, described
from ._errors import check, constant, constant_name
from ._library import library

# Who hears messages, as C calls it: kept as long as it may be called.
_listener: Any = None
_listener_lock = threading.Lock()


def memory_use() -> Answer:
    """The memory that the library holds in this process, in bytes, by kinds of memory and of objects."""
    use = described("synfire_memory_use")
    check(library().synfire_memory_get_use(ctypes.byref(use)))
    return answer_of(use)


def set_log(function: Optional[Callable[[str, str], None]], level: Union[str, int] = "choice") -> None:
    """Lets `function(level, text)` hear the library's messages in this process: warnings, and what was chosen. None: nobody.

    level: the most detailed one that is heard, "warning" or "choice". It is called on the thread that calls the library, never
    in a launch or a wait. It must not use the library; what it raises is reported and ignored.
    """
    global _listener
    desc = described("synfire_log_desc", level=constant("level", "log", level))
    heard = None
    if function is not None:
        def hear(_: Any, number: int, text: bytes) -> None:
            function(constant_name("log", number), text.decode("utf-8", "replace"))
        heard = _api.synfire_log_callback(hear)
        desc.log = heard
    with _listener_lock:  # the one that the library has is the one that is kept
        check(library().synfire_log_set_function(ctypes.byref(desc)))  # the one before is not called after this
        _listener = heard


@atexit.register
def _be_silent() -> None:
    if _listener is not None:
        set_log(None)


__all__ = ["memory_use", "set_log"]
