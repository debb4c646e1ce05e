"""How a method of an object becomes a call of the C library: arguments are converted, statuses become exceptions.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Sequence, Tuple

from . import _api
from ._errors import check, constant, constant_name, refuse
from ._library import library


class Answer:
    """The answer of a call: its numbers and texts as attributes."""

    def __init__(self, name: str, values: Dict[str, Any]):
        self.__dict__.update(values)
        self._name = name

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{self._name}({values})"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Answer) and vars(self) == vars(other)


# Fields that are constants: structure and field, or the field alone.
_CONSTANTS = {"backend": "backend", "fallback_reason": "fallback", "dtype": "dtype", "memory": "memory",
              "reset": "reset", "input_kind": "input"}


def answer_of(struct: ctypes.Structure) -> Answer:
    values: Dict[str, Any] = {}
    for name, kind in struct._fields_:
        if name in ("struct_size", "reserved"):
            continue
        value = getattr(struct, name)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif isinstance(value, ctypes.Array):
            value = tuple(value)
        elif name in _CONSTANTS and isinstance(value, int):
            value = constant_name(_CONSTANTS[name], value)
        values[name] = value
    from . import _operations
    name = "".join(part.capitalize() for part in type(struct).__name__[len("synfire_"):].split("_"))
    return getattr(_operations, name, Answer)(name, values)


def described(desc: str, /, **fields: Any) -> ctypes.Structure:
    """A descriptor with these fields; all others are 0."""
    struct = getattr(_api, desc)(**fields)
    if struct._fields_[0][0] == "struct_size":
        struct.struct_size = ctypes.sizeof(struct)
    return struct


def whole(what: str, value: Any) -> int:
    """An integer as C takes it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        refuse("PYTHON-INTEGER", f"{what} is {value!r}; an integer is needed")
    number = value.__index__()
    if not -2**63 <= number < 2**64:
        refuse("PYTHON-INTEGER", f"{what} is {number}; it does not fit 64 bits")
    return number


def real(what: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        refuse("PYTHON-NUMBER", f"{what} is {value!r}; a number is needed")
    except OverflowError:
        refuse("PYTHON-NUMBER", f"{what} has more digits than a float64 takes")


def text(what: str, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        refuse("PYTHON-TEXT", f"{what} is {value!r}; a text is needed")
    if "\0" in value:
        refuse("PYTHON-TEXT", f"{what} has a null character")
    return value.encode("utf-8")


def flag(what: str, value: Any) -> int:
    if value is True or value is False:
        return int(value)
    if hasattr(value, "__index__") and value.__index__() in (0, 1):
        return value.__index__()
    refuse("PYTHON-FLAG", f"{what} is {value!r}; allowed are True and False")


def stream_number(stream: Any) -> Any:
    """The address of a CUDA stream: of a number, or of an object of PyTorch, CuPy or Numba."""
    if stream is None:
        return None
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    return whole("stream", stream)


class Caller:
    """Has a handle and a context, and calls the library with them."""

    _handle: Any = None

    @property
    def handle(self) -> int:
        """The handle of the C library."""
        raise NotImplementedError

    @property
    def context(self) -> Any:
        raise NotImplementedError

    # ---- Arguments ---------------------------------------------------------------------------------------------------

    def _buffer(self, what: str, value: Any, access: str, words: str, made: List[Any]) -> int:
        """The handle of a buffer, or of one over an array, which is destroyed after the call."""
        from ._objects import Buffer
        if isinstance(value, Buffer):
            return value.handle
        buffer = Buffer.of(self.context, value, dtype=words if words == "bits" else None, what=what,
                           writes=access == "write")
        made.append(buffer)
        return buffer.handle

    def _object(self, what: str, kind: str, value: Any) -> int:
        if type(value).__name__.lower() != kind or not isinstance(value, Caller):
            refuse("PYTHON-OBJECT", f"{what} is {type(value).__name__}; a {kind.capitalize()} is needed")
        return value.handle

    def _fill(self, desc: str, table: Sequence[Tuple[Any, ...]], given: Dict[str, Any]) -> Tuple[Any, List[Any]]:
        """A descriptor with the arguments of a call, and what must live until the call is over."""
        struct = described(desc)
        made: List[Any] = []
        for name, field, kind, *more in table:
            value = given[name]
            if kind == "buffer":
                if value is not None:
                    setattr(struct, field, self._buffer(name, value, more[0], more[1], made))
            elif kind == "object":
                if value is not None:
                    setattr(struct, field, self._object(name, more[0], value))
            elif kind == "text":
                if value is not None:
                    setattr(struct, field, text(name, value))
            elif kind == "choice":
                setattr(struct, field, constant(name, more[0], value))
            elif kind == "flag":
                setattr(struct, field, flag(name, value))
            elif kind == "int":
                setattr(struct, field, whole(name, value))
            elif kind == "float":
                setattr(struct, field, real(name, value))
            elif kind == "bound":
                if value is not None:
                    setattr(struct, field, real(name, value))
                    struct.bounds |= _api.NAMES["bound"][name]
            elif kind == "stream":
                setattr(struct, field, stream_number(value))
            elif kind == "sum":
                setattr(struct, field, sum(constant(name, more[0], one) for one in value))
            elif kind == "fixed":
                values = [whole(name, one) for one in value]
                if len(values) > more[0]:
                    refuse("PYTHON-LENGTH", f"{name} has {len(values)} numbers; at most {more[0]} are allowed")
                getattr(struct, field)[:len(values)] = values
            else:
                self._fill_list(struct, name, field, kind, more, value, made)
        return struct, made

    def _fill_list(self, struct: Any, name: str, field: str, kind: str, more: List[Any], value: Any,
                   made: List[Any]) -> None:
        if value is None or len(value) == 0:
            return
        if kind == "named":
            element = getattr(_api, more[1])
            target = element._fields_[1][0]
            entries = (element * len(value))()
            for entry, (key, array) in zip(entries, dict(value).items()):
                entry.name = text(f"a name of {name}", key)
                setattr(entry, target, self._buffer(f'{name}["{key}"]', array, "write", "u32", made))
        elif kind == "buffers":
            entries = (ctypes.c_void_p * len(value))(*(self._buffer(f"{name}[{i}]", one, more[1], more[2], made)
                                                       for i, one in enumerate(value)))
        else:
            entries = (getattr(ctypes, more[1]) * len(value))(*value)
        made.append(entries)
        pointer = ctypes.cast(entries, dict(struct._fields_)[field])
        setattr(struct, field, pointer)
        setattr(struct, more[0], len(value))

    # ---- Calls -------------------------------------------------------------------------------------------------------

    @staticmethod
    def _close(made: List[Any]) -> None:
        for one in made:
            if isinstance(one, Caller):
                one.close()  # type: ignore[attr-defined]

    def _run(self, function: str, stream: Any, desc: str, table: Sequence[Tuple[Any, ...]],
             given: Dict[str, Any]) -> None:
        """Runs an operation now."""
        handle = self.handle
        struct, made = self._fill(desc, table, given)
        try:
            check(getattr(library(), function)(handle, ctypes.byref(struct), stream_number(stream)))
        finally:
            self._close(made)

    def _record(self, function: str, of: Any, desc: str, table: Sequence[Tuple[Any, ...]],
                given: Dict[str, Any]) -> int:
        """Records an operation and returns its number in the graph."""
        handles = [self.handle]
        if of is not None:
            if not isinstance(of, Caller):
                refuse("PYTHON-OBJECT", f"{of!r} is not an object that {function} records")
            handles.append(of.handle)
        struct, made = self._fill(desc, table, given)
        number = ctypes.c_int32()
        try:
            check(getattr(library(), function)(*handles, ctypes.byref(struct)))
            check(library().synfire_graph_get_last_operation(handles[0], ctypes.byref(number)))
        finally:
            self._close(made)
        return number.value

    @classmethod
    def _made(cls, function: str, context: Any, desc: str, table: Sequence[Tuple[Any, ...]],
              given: Dict[str, Any]) -> Any:
        """An object of a context, from a descriptor of numbers."""
        if not isinstance(context, Caller):
            refuse("PYTHON-OBJECT", f"the context is {type(context).__name__}; a Context is needed")
        struct, _ = context._fill(desc, table, given)
        handle = ctypes.c_void_p()
        check(getattr(library(), function)(context.handle, ctypes.byref(struct), ctypes.byref(handle)))
        return cls._adopted(context, handle.value)  # type: ignore[attr-defined]

    @classmethod
    def _asked(cls, function: str, answer: str, desc: str, table: Sequence[Tuple[Any, ...]],
               given: Dict[str, Any]) -> Any:
        """The answer to a descriptor of numbers, for which no object is needed."""
        struct, _ = cls.__new__(cls)._fill(desc, table, given)
        memory = described(answer)
        check(getattr(library(), function)(ctypes.byref(struct), ctypes.byref(memory)))
        return answer_of(memory)

    def _call(self, function: str, *parts: Tuple[Any, ...]) -> Any:
        """Calls a function of this object; each part says how an argument is passed, or what the call gives."""
        from . import _objects
        arguments: List[Any] = [self.handle]
        made: List[Any] = []
        results: List[Any] = []
        keep: List[Any] = []
        try:
            for part in parts:
                kind = part[0]
                if kind == "result":
                    number = getattr(ctypes, part[1])()
                    results.append(lambda number=number: number.value)
                    arguments.append(ctypes.byref(number))
                elif kind == "answer":
                    struct = described(part[1])
                    results.append(lambda struct=struct: answer_of(struct))
                    arguments.append(ctypes.byref(struct))
                elif kind == "part":
                    handle = ctypes.c_void_p()
                    results.append(lambda handle=handle, name=part[1]: getattr(_objects, name)._adopted(
                        self.context, handle.value))
                    arguments.append(ctypes.byref(handle))
                elif kind == "values":
                    values = (getattr(ctypes, part[1]) * len(part[3]))(*part[3])
                    keep.append(values)
                    arguments.append(ctypes.cast(values, ctypes.c_void_p))
                elif kind == "length":
                    arguments.append(len(keep[-1]))
                else:
                    arguments.append(self._converted(kind, part[1:], made))
            check(getattr(library(), function)(*arguments))
        finally:
            self._close(made)
        if len(results) > 1:
            return tuple(one() for one in results)
        return results[0]() if results else None

    def _converted(self, kind: str, part: Tuple[Any, ...], made: List[Any]) -> Any:
        name, value = part[-2:]
        if kind == "buffer":
            return None if value is None else self._buffer(name, value, part[0], part[1], made)
        if kind == "object":
            return self._object(name, part[0], value)
        if kind == "choice":
            return constant(name, part[0], value)
        convert = {"text": text, "int": whole, "float": real, "flag": flag}
        if kind in convert:
            return convert[kind](name, value)
        return stream_number(value)
