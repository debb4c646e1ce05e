"""Arrays of NumPy, PyTorch and others as memory that the library uses, and buffers as their arrays. Nothing is copied.

An array is anything that says where its memory is: `__array_interface__`, `__cuda_array_interface__`, DLPack, or the
buffer protocol. NumPy itself is imported only by what makes a NumPy array.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _api
from ._errors import constant_name, refuse

ELEMENT_BYTES = {"f32": 4, "f64": 8, "bits": 4, "f16": 2, "bf16": 2, "u8": 1, "time_bits": 4, "u32": 4, "u64": 8}
# The types of NumPy; it has none for bf16, whose bits are given.
NUMPY_TYPES = {"f32": "<f4", "f64": "<f8", "bits": "<u4", "f16": "<f2", "bf16": "<u2", "u8": "|u1", "time_bits": "<u4",
               "u32": "<u4", "u64": "<u8"}
_FROM_NUMPY = {"f4": "f32", "f8": "f64", "f2": "f16", "u2": "bf16", "u1": "u8", "b1": "u8", "u4": "u32", "u8": "u64"}
_ALLOWED = "float32, float64, float16, bfloat16 (in NumPy, its bits as uint16), uint8, bool, uint32 and uint64"


class Memory(NamedTuple):
    """Where an array lies."""

    address: int
    dtype: str
    shape: Tuple[int, ...]
    on_gpu: bool
    is_readonly: bool
    owner: Any  # keeps the memory alive


# ---- DLPack ----------------------------------------------------------------------------------------------------------

class DLTensor(ctypes.Structure):
    """The standard's description of an array."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLManagedTensor(ctypes.Structure):
    """The structure in a capsule."""

    _fields_ = [("tensor", DLTensor), ("manager", ctypes.c_void_p), ("deleter", DELETER)]


class DLManagedTensorVersioned(ctypes.Structure):
    """The same since version 1 of the standard."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p), ("deleter", DELETER),
                ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


DL_CPU, DL_CUDA, DL_PINNED = 1, 2, 3
_DL_TYPES = {(2, 32): "f32", (2, 64): "f64", (2, 16): "f16", (4, 16): "bf16", (1, 8): "u8", (6, 8): "u8",
             (1, 32): "u32", (1, 64): "u64"}

_python = ctypes.pythonapi
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _python))
_has_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _python))
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _python))
# The destructor of a capsule gets an object that is being destroyed, which no reference may be made to.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _python))
# The names of a capsule, which C keeps, and what it is called when its tensor was taken.
_NAME, _VERSIONED = b"dltensor", b"dltensor_versioned"
_USED = {_NAME: b"used_dltensor", _VERSIONED: b"used_dltensor_versioned"}
_STRUCTURES = {_NAME: DLManagedTensor, _VERSIONED: DLManagedTensorVersioned}


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop_capsule(capsule):
    for name, structure in _STRUCTURES.items():
        if _is_valid(capsule, name):  # nobody took it
            where = _pointer_of(capsule, name)
            structure.from_address(where).deleter(where)


def capsule_of(tensor: int, versioned: bool) -> Any:
    """A capsule with a tensor that the library gives."""
    return _new_capsule(tensor, _VERSIONED if versioned else _NAME, ctypes.cast(_drop_capsule, ctypes.c_void_p))


def tensor_in(capsule: Any, what: str) -> Tuple[int, bytes]:
    """Where the tensor of a capsule is, and the capsule's name."""
    for name in _STRUCTURES:
        if _has_name(capsule, name):
            return _get_pointer(capsule, name), name
    return refuse("PYTHON-ARRAY", f"{what} gives no capsule of DLPack, or one that was used before")


def taken(capsule: Any, name: bytes) -> None:
    """The tensor belongs to the library now."""
    _set_name(capsule, _USED[name])


def capsule_from(array: Any, what: str, stream: Optional[int]) -> Any:
    """The capsule of an array, versioned if it can be. On a GPU, its data is ready on the stream."""
    if getattr(array, "requires_grad", False):
        array = array.detach()
    words = {} if stream is None else {"stream": stream}
    try:
        try:
            return array.__dlpack__(max_version=(1, 0), **words)
        except TypeError:  # it knows no versions
            return array.__dlpack__(**words)
    except (TypeError, RuntimeError, BufferError, ValueError) as problem:
        return refuse("PYTHON-ARRAY", f"{what} does not give its memory: {problem}")


def _is_contiguous(shape: Tuple[int, ...], strides: Tuple[int, ...], unit: int) -> bool:
    expected = unit
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def device_of(array: Any, what: str) -> int:
    """The type of the device that an array is on, as DLPack numbers them."""
    try:
        return array.__dlpack_device__()[0]
    except (TypeError, RuntimeError, BufferError, ValueError) as problem:
        return refuse("PYTHON-DEVICE", f"{what} is on no device that DLPack knows: {problem}")


def _from_dlpack(array: Any, what: str) -> Memory:
    device = device_of(array, what)
    try:
        # The caller names the stream on which the library works: no other one is to be waited for.
        capsule = array.__dlpack__(stream=-1) if device == DL_CUDA else array.__dlpack__()
    except (TypeError, RuntimeError, BufferError, ValueError) as problem:
        refuse("PYTHON-ARRAY", f"{what} does not give its memory: {problem}")
    if not _has_name(capsule, _NAME):
        refuse("PYTHON-ARRAY", f"{what} gives no capsule of DLPack, or one that was used before")
    tensor = DLManagedTensor.from_address(_get_pointer(capsule, _NAME)).tensor
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    dtype = _DL_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        refuse("PYTHON-DTYPE", f"{what} has the type code {tensor.code} of {tensor.bits} bits; allowed are {_ALLOWED}")
    if tensor.strides and not _is_contiguous(shape, tuple(tensor.strides[i] for i in range(tensor.ndim)), 1):
        _refuse_strides(what)
    if tensor.device_type not in (DL_CPU, DL_CUDA, DL_PINNED):
        refuse("PYTHON-DEVICE", f"{what} is on a device of type {tensor.device_type}; allowed are the CPU and CUDA")
    return Memory((tensor.data or 0) + tensor.byte_offset, dtype, shape, tensor.device_type == DL_CUDA, False, capsule)


def _refuse_strides(what: str):
    refuse("PYTHON-CONTIGUOUS", f"{what} is not contiguous; a copy is (numpy.ascontiguousarray, tensor.contiguous)")


# ---- All arrays ------------------------------------------------------------------------------------------------------

def _from_interface(array: Any, interface: Dict[str, Any], what: str, on_gpu: bool) -> Memory:
    try:
        text, shape, (address, is_readonly) = interface["typestr"], tuple(interface["shape"]), interface["data"]
    except (KeyError, TypeError, ValueError):
        refuse("PYTHON-ARRAY", f"{what} is {type(array).__name__}, whose array interface does not say its type, its "
               "shape and its address")
    dtype = _FROM_NUMPY.get(text[1:])
    if dtype is None or text[0] == ">":
        refuse("PYTHON-DTYPE", f"{what} has the type \"{text}\"; allowed are {_ALLOWED}")
    strides = interface.get("strides")
    if strides is not None and not _is_contiguous(shape, tuple(strides), ELEMENT_BYTES[dtype]):
        _refuse_strides(what)
    return Memory(address, dtype, shape, on_gpu, is_readonly, array)


def memory_of(array: Any, what: str) -> Memory:
    """Where the memory of an array is. Raises InvalidArgumentError for what is none."""
    interface = getattr(array, "__array_interface__", None)
    if interface is not None and type(array).__module__.split(".")[0] != "torch":
        return _from_interface(array, interface, what, False)
    if hasattr(array, "__dlpack__"):
        if getattr(array, "requires_grad", False):
            array = array.detach()
        return _from_dlpack(array, what)
    try:
        interface = array.__cuda_array_interface__
    except AttributeError:
        interface = None
    if interface is not None:
        return _from_interface(array, interface, what, True)
    try:
        view = memoryview(array)
    except TypeError:
        refuse("PYTHON-ARRAY", f"{what} is {type(array).__name__}, which is not an array: it has no DLPack, no "
               "__array_interface__ and no buffer")
    dtype = {"f": "f32", "d": "f64", "B": "u8", "?": "u8", "I": "u32", "Q": "u64", "L": "u64", "e": "f16"}.get(
        view.format.lstrip("@=<"))
    if dtype is None or ELEMENT_BYTES[dtype] != view.itemsize:
        refuse("PYTHON-DTYPE", f"{what} has the type \"{view.format}\"; allowed are {_ALLOWED}")
    if not view.c_contiguous:
        _refuse_strides(what)
    if view.readonly:
        refuse("PYTHON-READONLY", f"{what} is {type(array).__name__}, whose memory can only be read; a NumPy array "
               "or a bytearray is needed")
    pin = (ctypes.c_char * view.nbytes).from_buffer(view)
    return Memory(ctypes.addressof(pin), dtype, tuple(view.shape), False, False, (array, pin))


class _Interface:
    """NumPy reads it to make an array over a buffer's memory, and keeps it alive."""

    def __init__(self, owner: Any, address: int, dtype: str, shape: Tuple[int, ...], strides=None):
        self.owner = owner
        self.__array_interface__ = {"version": 3, "typestr": NUMPY_TYPES[dtype], "shape": shape, "strides": strides,
                                    "data": (address, False)}


def numpy():
    """The module; says what to do where it is missing."""
    try:
        import numpy as module
    except ImportError as problem:
        raise ImportError("this needs NumPy, which is not installed: pip install numpy") from problem
    return module


def numpy_over(owner: Any, address: int, dtype: str, shape: Tuple[int, ...], strides=None):
    """A NumPy array over memory of `owner`."""
    return numpy().asarray(_Interface(owner, address, dtype, shape, strides))


# ---- Lent memory -----------------------------------------------------------------------------------------------------

# Arrays whose memory the library uses, each with the flag that the library sets when it no longer needs it. Any thread
# of the library may set a flag; only threads of Python look at them.
_lent: List[Tuple[ctypes.c_uint32, Any]] = []
_lent_lock = threading.Lock()


def _after_fork() -> None:
    # Another thread of the parent may have held it, and the child does not have that thread.
    global _lent_lock
    _lent_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def lend(owner: Any) -> ctypes.c_uint32:
    """Keeps `owner` until the library has set the flag."""
    flag = ctypes.c_uint32(0)
    with _lent_lock:
        _lent[:] = [pair for pair in _lent if pair[0].value == 0]
        _lent.append((flag, owner))
    return flag


def take_back(flag: ctypes.c_uint32) -> None:
    """Ends what lend() began, for a buffer that could not be made."""
    flag.value = 1


def n_lent() -> int:
    """How many arrays the library uses now."""
    with _lent_lock:
        _lent[:] = [pair for pair in _lent if pair[0].value == 0]
        return len(_lent)


def dtype_number(dtype: str) -> int:
    return _api.NAMES["dtype"][dtype]


def dtype_of_number(number: int) -> str:
    return constant_name("dtype", number)


def lengths_of(shape: Optional[Tuple[int, ...]], dtype: str) -> Tuple[int, ...]:
    """A shape as the library checks it, which has at most four lengths; () where it has more."""
    return tuple(shape) if shape is not None and 0 < len(shape) <= 4 else ()
