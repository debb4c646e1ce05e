"""The objects of the library: contexts, buffers, layers, synapses, graphs, optimisers, networks, and loaded texts.

An object is closed by close(), by the end of a `with` block, or by the garbage collector; in any order, on any thread.
What is done often, or needs no words from C, is written here; all else is in _operations.py.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _api, _arrays
from ._call import Answer, Caller, answer_of, described, flag, real, stream_number, text, whole
from ._errors import (InvalidHandleError, SynfireError, check, constant, constant_name, fail, refuse, suggestion)
from ._library import library
from ._operations import (BufferMethods, ContextMethods, GraphMethods, LayerMethods, NetworkMethods, NetworkResult,
                          OptimizerMethods, SynapseMethods)

Array = Any
Stream = Any
# Models that never fire: V of every step is what they give.
SILENT = ("li", "li_exact", "cuba_li", "cuba_li_exact", "integrator")


def _own_text(call: Callable[[Any, Any], int]) -> bytes:
    """The bytes that a function gives in memory of the caller's, whose size it says."""
    size = ctypes.c_uint64(0)
    check(call(None, ctypes.byref(size)))
    while True:
        memory = ctypes.create_string_buffer(max(size.value, 1))
        given = len(memory)
        size.value = given
        check(call(memory, ctypes.byref(size)))
        if size.value <= given:
            return memory.raw[:size.value]


class Handle(Caller):
    """An object of the library."""

    _destroy = ""
    _owner: Optional["Context"] = None

    def _adopt(self, owner: Optional["Context"], handle: Optional[int]) -> None:
        self._owner, self._handle = owner, handle

    @classmethod
    def _adopted(cls, owner: "Context", handle: Optional[int]) -> Any:
        """An object over a handle that another object gave."""
        made = cls.__new__(cls)
        made._adopt(owner, handle)
        made._describe()
        return made

    def _describe(self) -> None:
        """Asks the library what an adopted handle is."""

    @property
    def handle(self) -> int:
        """The handle of the C library."""
        if self._handle is None:
            raise InvalidHandleError("PYTHON-CLOSED", f"this {type(self).__name__} is closed")
        return self._handle

    @property
    def context(self) -> "Context":
        """The context that this belongs to."""
        assert self._owner is not None
        return self._owner

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """Gives the object back. Closing twice is fine. What still needs it keeps what it needs."""
        handle, self._handle = self._handle, None
        if handle is not None:
            getattr(library(), self._destroy)(handle)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the interpreter is going away
            pass

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} belongs to this process and cannot be pickled")

    def _closed_text(self) -> str:
        return " (closed)" if self.closed else ""


class SignedBuffer:
    """A buffer whose integers are given as those with a sign. See Buffer.signed."""

    def __init__(self, buffer: "Buffer"):
        self._buffer = buffer

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._buffer.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        return self._buffer._give(stream, max_version, dl_device, copy, True)


def _handle_of(context: Any) -> int:
    """The handle of the context that an object is made in."""
    if not isinstance(context, Context):
        refuse("PYTHON-OBJECT", f"the context is {type(context).__name__}; a Context is needed")
    return context.handle


def _content(what: str, data: Any) -> bytes:
    """Bytes as C takes them."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        refuse("PYTHON-TEXT", f"{what} is {type(data).__name__}; bytes are needed")
    return bytes(data)


# ---- Contexts --------------------------------------------------------------------------------------------------------

class Context(ContextMethods, Handle):
    """One device, a GPU or the host, and everything created on it.

    backend: "auto" (a GPU if one is usable, else the host), "host" or "cuda".
    device: the number of the GPU. threads: of the host backend; 0: as many as the machine has. A job system of the
    program's own (`enqueue_task`, `finish_task` and `job_system` of C) is not offered: its tasks would wait for
    Python's lock.
    """

    _destroy = "synfire_context_destroy"

    def __init__(self, backend: Union[str, int] = "auto", *, device: int = 0, threads: int = 0,
                 stream_priority: int = 0):
        desc = described("synfire_context_desc", backend=constant("backend", "backend", backend),
                         device=whole("device", device), n_threads=whole("threads", threads),
                         stream_priority=whole("stream_priority", stream_priority))
        handle = ctypes.c_void_p()
        check(library().synfire_context_create(ctypes.byref(desc), ctypes.byref(handle)))
        self._adopt(None, handle.value)
        self._properties = self.properties()

    @property
    def context(self) -> "Context":
        return self

    @property
    def on_gpu(self) -> bool:
        """True if the context runs on a GPU."""
        return self._properties.backend == "cuda"

    @property
    def device(self) -> int:
        """The number of the GPU; 0 on the host."""
        return self._properties.device

    def __repr__(self) -> str:
        return f"<Context on {self._properties.backend}, {self._properties.name}{self._closed_text()}>"


# ---- Buffers ---------------------------------------------------------------------------------------------------------

class Buffer(BufferMethods, Handle):
    """Typed memory of a context: its own, zero-filled, or lent by an array (Buffer.of).

    shape: the lengths, slowest first, such as (steps, batch, neurons); a number for one length.
    dtype: "f32", "f64", "f16", "bf16", "u8", "u32", "u64", or packed spikes as "bits" or "time_bits".
    memory: "device", "pinned" (the host reads and writes it too), "host" or "transient".
    """

    _destroy = "synfire_buffer_destroy"

    def __init__(self, context: Context, shape: Union[int, Sequence[int]], dtype: Union[str, int] = "f32", *,
                 memory: Union[str, int] = "device", row_pitch: int = 0):
        _handle_of(context)
        lengths = (shape,) if hasattr(shape, "__index__") else tuple(shape)  # type: ignore[arg-type, union-attr]
        lengths = tuple(whole("shape", one) for one in lengths)
        if not lengths or any(one < 1 for one in lengths):
            refuse("PYTHON-SHAPE", f"shape is {shape}; it has at least one length, and each is at least 1")
        self._create(context, lengths, constant("dtype", "dtype", dtype), constant("memory", "memory", memory),
                     whole("row_pitch", row_pitch), None, None)

    def _create(self, context: Context, shape: Tuple[int, ...], dtype: int, memory: int, row_pitch: int,
                data: Optional[int], release_flag: Any) -> None:
        desc = described("synfire_buffer_desc", memory=memory, dtype=dtype, row_pitch=row_pitch)
        lengths = _arrays.lengths_of(shape, "")
        if lengths:
            desc.shape[:len(lengths)] = lengths
        else:
            desc.n_elements = _product(shape)
        if data is not None:
            desc.data = data
            desc.release_flag = ctypes.addressof(release_flag)
        handle = ctypes.c_void_p()
        check(library().synfire_buffer_create(_handle_of(context), ctypes.byref(desc), ctypes.byref(handle)))
        self._adopt(context, handle.value)
        self._shape, self._dtype, self._memory = shape, _arrays.dtype_of_number(dtype), memory
        self._row_pitch = row_pitch

    @classmethod
    def of(cls, context: Context, array: Array, *, dtype: Optional[str] = None, what: str = "the array",
           writes: bool = True) -> "Buffer":
        """A buffer over the memory of an array, which is not copied, and kept for as long as the library needs it: no
        function is called then (`release` and `release_user` of C), because that may happen on any thread.

        dtype: what the numbers are where the array's type does not say it: "bits" or "time_bits" of uint32, "bf16" of
            16 bits. writes: whether the library will write it.
        """
        _handle_of(context)
        lent = _arrays.memory_of(array, what)
        kind = lent.dtype
        if dtype is not None and dtype != kind:
            if _arrays.ELEMENT_BYTES[dtype] == _arrays.ELEMENT_BYTES[kind] and kind in ("u32", "f16", "u16"):
                kind = dtype
            elif dtype not in ("bits", "time_bits"):
                refuse("PYTHON-DTYPE", f"{what} has the type {kind}; {dtype} is needed")
        if lent.on_gpu and not context.on_gpu:
            refuse("PYTHON-DEVICE", f"{what} is on a GPU, and the context is on the host")
        if writes and lent.is_readonly:
            refuse("PYTHON-READONLY", f"{what} can only be read, and this call writes it")
        memory = "device" if lent.on_gpu or not context.on_gpu else "host"
        if _product(lent.shape) == 0:
            refuse("PYTHON-SHAPE", f"{what} has the shape {lent.shape}, without elements")
        made = cls.__new__(cls)
        used = _arrays.lend(lent.owner)
        try:
            made._create(context, lent.shape or (1,), _arrays.dtype_number(kind), constant("memory", "memory", memory),
                         0, lent.address, used)
        except BaseException:
            _arrays.take_back(used)
            raise
        return made

    @classmethod
    def from_dlpack(cls, context: Context, array: Array, *, dtype: Optional[str] = None, stream: Any = None,
                    what: str = "the array") -> "Buffer":
        """A buffer over the memory of an array of another library by DLPack, which is not copied and kept for as long as
        the library needs it. Its steps may lie apart (a row pitch), and memory that is read-only stays so: what would write
        it is refused.

        dtype: what integers of 32 bits are: "u32", "bits" or "time_bits". stream: on a GPU, the stream on which the array
        is ready (`tensor` and `unversioned` of C follow from the array); by default CUDA's default stream. The context's
        own stream waits for it.
        """
        _handle_of(context)
        if not hasattr(array, "__dlpack__"):
            refuse("PYTHON-ARRAY", f"{what} is {type(array).__name__}, which has no DLPack")
        number = None
        if _arrays.device_of(array, what) == _arrays.DL_CUDA:
            number = 1 if stream is None else stream_number(stream)
        capsule = _arrays.capsule_from(array, what, number)
        tensor, name = _arrays.tensor_in(capsule, what)
        desc = described("synfire_from_dlpack_desc", unversioned=int(name == b"dltensor"), tensor=tensor,
                         stream=number if context.on_gpu else None,
                         words=0 if dtype is None else constant("dtype", "dtype", dtype))
        handle = ctypes.c_void_p()
        check(library().synfire_buffer_from_dlpack(_handle_of(context), ctypes.byref(desc), ctypes.byref(handle)))
        _arrays.taken(capsule, name)
        return cls._adopted(context, handle.value)

    def _describe(self) -> None:
        desc = self.describe()
        self._shape = tuple(one for one in desc.shape if one) or (desc.n_elements,)
        self._dtype, self._memory = desc.dtype, constant("memory", "memory", desc.memory)
        self._row_pitch = desc.row_pitch

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> str:
        return self._dtype

    @property
    def memory(self) -> str:
        """ "device", "pinned", "host" or "transient"."""
        return constant_name("memory", self._memory)

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self._data()[1]

    @property
    def address(self) -> int:
        """Where the memory is: on the device, for device memory."""
        return self._data()[0]

    def _data(self) -> Tuple[int, int]:
        data, size = ctypes.c_void_p(), ctypes.c_uint64()
        check(library().synfire_buffer_get_data(self.handle, ctypes.byref(data), ctypes.byref(size)))
        return data.value or 0, size.value

    @property
    def _is_of_host(self) -> bool:
        return self._memory in (_api.SYNFIRE_MEMORY_PINNED, _api.SYNFIRE_MEMORY_HOST) or \
            self._memory == _api.SYNFIRE_MEMORY_DEVICE and not self.context.on_gpu

    def numpy(self) -> Any:
        """A NumPy array over the same memory, which must be of the host: pinned or host memory or, on a host context,
        any but transient. Packed spikes are words, and bf16 the upper halves of f32.
        """
        if not self._is_of_host:
            refuse("PYTHON-DEVICE", f"this buffer is of {self.memory} memory of a GPU; download() copies it, and "
                   "PyTorch or CuPy take it by DLPack")
        strides = None
        if self._row_pitch:
            unit, inner = _arrays.ELEMENT_BYTES[self._dtype], 1
            lengths = []
            for length in reversed(self._shape[1:]):
                lengths.append(inner * unit)
                inner *= length
            strides = (self._row_pitch * unit, *reversed(lengths))
        return _arrays.numpy_over(self, self.address, self._dtype, self._shape, strides)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.numpy() if self._is_of_host else self.download()
        return array if dtype is None else array.astype(dtype)

    def __dlpack_device__(self) -> Tuple[int, int]:
        if self._is_of_host:
            return (_arrays.DL_PINNED if self.context.on_gpu and self.memory == "pinned" else _arrays.DL_CPU, 0)
        return (_arrays.DL_CUDA, self.context.device)

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        """The memory for other libraries. On a GPU, the stream that they name, by default CUDA's default stream, waits for
        what was enqueued on the context's own; with -1, none does.
        """
        return self._give(stream, max_version, dl_device, copy, False)

    def _give(self, stream: Any, max_version: Optional[Tuple[int, int]], dl_device: Optional[Tuple[int, int]],
              copy: Optional[bool], with_sign: bool) -> Any:
        if copy:
            raise BufferError("this buffer gives its own memory, and makes no copy")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"this buffer is on device {self.__dlpack_device__()} of DLPack, not on {tuple(dl_device)}")
        number = None
        if not self._is_of_host and stream != -1:
            if stream == 0:
                refuse("PYTHON-STREAM", "stream is 0, which DLPack does not allow for CUDA: 1 is the default stream")
            number = 1 if stream is None else stream_number(stream)
        versioned = max_version is not None and max_version[0] >= 1
        desc = described("synfire_to_dlpack_desc", unversioned=int(not versioned), stream=number, with_sign=int(with_sign))
        tensor = ctypes.c_void_p()
        check(library().synfire_buffer_to_dlpack(self.handle, ctypes.byref(desc), ctypes.byref(tensor)))
        return _arrays.capsule_of(tensor.value or 0, versioned)

    @property
    def signed(self) -> "SignedBuffer":
        """The same memory for libraries without unsigned integers of 32 and 64 bits: `torch.from_dlpack(spikes.signed)`."""
        return SignedBuffer(self)

    def upload(self, array: Array, offset: int = 0) -> None:
        """Copies an array into the buffer, from byte `offset` on."""
        lent = _arrays.memory_of(array, "the array")
        if lent.on_gpu:
            refuse("PYTHON-DEVICE", "the array is on a GPU; upload() copies from the host")
        if _arrays.ELEMENT_BYTES[lent.dtype] != _arrays.ELEMENT_BYTES[self._dtype]:
            refuse("PYTHON-DTYPE", f"the array has the type {lent.dtype}; {self._dtype} is needed")
        check(library().synfire_buffer_upload(self.handle, whole("offset", offset), lent.address,
                                              _product(lent.shape) * _arrays.ELEMENT_BYTES[lent.dtype]))

    def download(self, array: Optional[Array] = None, offset: int = 0) -> Any:
        """Copies the buffer, from byte `offset` on, into an array; without one, into a new array of NumPy."""
        if array is None:
            array = _arrays.numpy().empty(self._shape, _arrays.NUMPY_TYPES[self._dtype])
        lent = _arrays.memory_of(array, "the array")
        if lent.on_gpu:
            refuse("PYTHON-DEVICE", "the array is on a GPU; download() copies to the host")
        if lent.is_readonly:
            refuse("PYTHON-READONLY", "the array can only be read, and this call writes it")
        check(library().synfire_buffer_download(self.handle, whole("offset", offset), lent.address,
                                                _product(lent.shape) * _arrays.ELEMENT_BYTES[lent.dtype]))
        return array

    def __repr__(self) -> str:
        return f"<Buffer {list(self._shape)} of {self._dtype}, {self.memory}{self._closed_text()}>"


def _product(lengths: Sequence[int]) -> int:
    product = 1
    for length in lengths:
        product *= length
    return product


def _lengths(what: str, value: Union[int, Sequence[int]]) -> Tuple[int, ...]:
    """A number, or the shape of one step."""
    if hasattr(value, "__index__"):
        return (whole(what, value),)
    return tuple(whole(what, one) for one in value)  # type: ignore[union-attr]


# ---- Layers ----------------------------------------------------------------------------------------------------------

class Parameter(NamedTuple):
    """One parameter of a layer: how many values it has, 1 or one per neuron, and what is allowed."""

    name: str
    length: int
    default: float
    minimum: float
    maximum: float
    is_open: bool


def _numbers(name: str, values: Any) -> Any:
    """A number, or a sequence or an array of them, as memory of C."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    numbers = [real(name, one) for one in values] if hasattr(values, "__len__") else [real(name, values)]
    return (ctypes.c_double * len(numbers))(*numbers)


def _id(value: Any, group: str, function: str) -> int:
    """The number of a model or a surrogate: a constant, a loaded text, or the name of one that was added."""
    if isinstance(value, (LoadedModel, LoadedSurrogate)):
        return value.id
    if isinstance(value, str) and value not in _api.NAMES[group]:
        number = ctypes.c_int32()
        check(getattr(library(), function)(text(group, value), ctypes.byref(number)))
        return number.value
    return constant(group, group, value)


class Layer(LayerMethods, Handle):
    """A neuron model with a fixed shape, its parameters, its state and its tape.

    steps: T of one forward. neurons: N, or the shape of one step, whose product is N. batch: rows that share the
    parameters. model: "lif" and others, a name that was added to the library, or a LoadedModel. surrogate: "sigmoid"
    and others, or a LoadedSurrogate. reset: "hard", "soft" or "soft_delayed". strict_threshold: fires above the
    threshold, not at it. refractory_steps: steps after a spike in which V stays as the reset left it, and nothing
    fires. history_steps: steps of its own spikes that the layer keeps as a part of its state, for a recurrent
    synapse. Every other keyword is a parameter: a number, or one per neuron. Parameters are read and set by name at any time: layer["tau"] = 20.0.
    """

    _destroy = "synfire_layer_destroy"
    OPTIONS = ("steps", "neurons", "batch", "model", "dtype", "reset", "surrogate", "detach_reset", "undecayed_input",
               "strict_threshold", "refractory_steps", "history_steps", "threads_per_block")

    def __init__(self, context: Context, *, steps: int, neurons: Union[int, Sequence[int]], batch: int = 1,
                 model: Any = "lif", dtype: Union[str, int] = "f32", reset: Union[str, int] = "hard",
                 surrogate: Any = "default", detach_reset: bool = False, undecayed_input: bool = False,
                 strict_threshold: bool = False, refractory_steps: int = 0, history_steps: int = 0,
                 threads_per_block: int = 0, **parameters: Any):
        desc = self._desc(steps, neurons, batch, model, dtype, reset, surrogate, detach_reset, undecayed_input,
                          strict_threshold, refractory_steps, history_steps, threads_per_block)
        handle = ctypes.c_void_p()
        check(library().synfire_layer_create(_handle_of(context), ctypes.byref(desc), ctypes.byref(handle)))
        self._adopt(context, handle.value)
        self._describe()
        self._step_shape = _lengths("neurons", neurons)
        try:
            self._set_keywords(parameters)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _desc(steps: Any, neurons: Any, batch: Any, model: Any, dtype: Any, reset: Any, surrogate: Any,
              detach_reset: Any, undecayed_input: Any, strict_threshold: Any, refractory_steps: Any,
              history_steps: Any, threads_per_block: Any) -> Any:
        return described("synfire_layer_desc", model=_id(model, "model", "synfire_model_id"),
                         n_steps=whole("steps", steps), n_neurons=_product(_lengths("neurons", neurons)),
                         batch=whole("batch", batch), dtype=constant("dtype", "dtype", dtype),
                         reset=constant("reset", "reset", reset),
                         surrogate=_id(surrogate, "surrogate", "synfire_surrogate_id"),
                         detach_reset=flag("detach_reset", detach_reset),
                         undecayed_input=flag("undecayed_input", undecayed_input),
                         strict_threshold=flag("strict_threshold", strict_threshold),
                         refractory_steps=whole("refractory_steps", refractory_steps),
                         history_steps=whole("history_steps", history_steps),
                         threads_per_block=whole("threads_per_block", threads_per_block))

    def _describe(self) -> None:
        desc = described("synfire_layer_desc")
        check(library().synfire_layer_get_desc(self.handle, ctypes.byref(desc)))
        self._n_steps, self._n_neurons, self._batch = desc.n_steps, desc.n_neurons, desc.batch
        self._dtype, self._model = _arrays.dtype_of_number(desc.dtype), constant_name("model", desc.model)
        self._step_shape = (self._n_neurons,)

    def _set_keywords(self, parameters: Mapping[str, Any]) -> None:
        for name, values in parameters.items():
            try:
                self[name] = values
            except SynfireError as problem:
                if problem.rule != "SYN-PARAMETER-NAME":
                    raise
                known = (*self.OPTIONS, *self)
                refuse("PYTHON-KEYWORD", f'Layer has no "{name}"{suggestion(name, known)}; allowed are '
                       + ", ".join(known))
        if parameters:
            self.reset_state()  # a v_reset that is given is where V starts

    steps = property(lambda self: self._n_steps, doc="Steps T of one forward.")
    neurons = property(lambda self: self._n_neurons, doc="Neurons N of one batch row.")
    batch = property(lambda self: self._batch, doc="Batch rows B.")
    model = property(lambda self: self._model, doc="The name of the neuron model.")
    dtype = property(lambda self: self._dtype, doc="The storage type of sequences.")

    @classmethod
    def query_memory(cls, *, steps: int, neurons: Union[int, Sequence[int]], batch: int = 1, model: Any = "lif",
                     dtype: Union[str, int] = "f32", reset: Union[str, int] = "hard", surrogate: Any = "default",
                     detach_reset: bool = False, undecayed_input: bool = False, strict_threshold: bool = False,
                     refractory_steps: int = 0, history_steps: int = 0, threads_per_block: int = 0) -> Answer:
        """How much memory a layer with these arguments would take, before anything is allocated."""
        desc = cls._desc(steps, neurons, batch, model, dtype, reset, surrogate, detach_reset, undecayed_input,
                         strict_threshold, refractory_steps, history_steps, threads_per_block)
        memory = described("synfire_layer_memory")
        check(library().synfire_layer_query_memory(ctypes.byref(desc), ctypes.byref(memory)))
        return answer_of(memory)

    # ---- Parameters and state ----------------------------------------------------------------------------------------

    def __setitem__(self, name: str, values: Any) -> None:
        numbers = _numbers(name, values)
        check(library().synfire_layer_set_parameter(self.handle, text("the name", name), numbers, len(numbers)))

    def __getitem__(self, name: str) -> Union[float, List[float]]:
        one = ctypes.c_double()
        if library().synfire_layer_get_parameter(self.handle, text("the name", name), ctypes.byref(one), 1) >= 0:
            return one.value
        # A second name of a parameter, as tau of PLIF, is not listed.
        length = next((info.length for info in self.parameters() if info.name == name), self._n_neurons)
        many = (ctypes.c_double * length)()
        check(library().synfire_layer_get_parameter(self.handle, text("the name", name), many, len(many)))
        return list(many)

    def set_parameters(self, **values: Any) -> None:
        """Sets several parameters, all or none; they take effect together."""
        entries, kept = (_api.synfire_parameter_values * max(len(values), 1))(), []
        for entry, (name, given) in zip(entries, values.items()):
            kept.append(_numbers(name, given))
            entry.name, entry.values, entry.count = text("a name", name), ctypes.addressof(kept[-1]), len(kept[-1])
        check(library().synfire_layer_set_parameters(self.handle, entries, len(values)))

    def __iter__(self) -> Iterator[str]:
        return (one.name for one in self.parameters())

    def parameters(self) -> List[Parameter]:
        """The parameters in the model's documented order, those of the surrogate last."""
        found: List[Parameter] = []
        info = described("synfire_parameter_info")
        while library().synfire_layer_get_parameter_info(self.handle, len(found), ctypes.byref(info)) >= 0:
            found.append(Parameter(info.name.decode(), info.length, info.default_value, info.minimum, info.maximum,
                                   bool(info.open_range)))
        return found

    def _state_type(self) -> str:
        return "f64" if self._dtype == "f64" else "f32"

    def _state_shape(self) -> Tuple[int, ...]:
        return (self._batch, *self._step_shape) if self._batch > 1 else self._step_shape

    def state(self, name: str = "v") -> Any:
        """A copy of a state variable as an array of NumPy."""
        array = _arrays.numpy().empty(self._state_shape(), _arrays.NUMPY_TYPES[self._state_type()])
        check(library().synfire_layer_read_state(self.handle, text("the name", name), array.ctypes.data, array.nbytes))
        return array

    def set_state(self, name: str, values: Array) -> None:
        """Writes a state variable."""
        lent = _arrays.memory_of(values, "the state")
        if lent.dtype != self._state_type():
            refuse("PYTHON-DTYPE", f"the state has the type {lent.dtype}; {self._state_type()} is needed")
        check(library().synfire_layer_write_state(self.handle, text("the name", name), lent.address,
                                                  _product(lent.shape) * _arrays.ELEMENT_BYTES[lent.dtype]))

    def snapshot(self, *, first_row: int = 0, rows: int = 0) -> bytes:
        """The state of rows of the batch, by default of all, as bytes that restore() takes."""
        desc = described("synfire_state_desc", first_row=whole("first_row", first_row), n_rows=whole("rows", rows))
        return _own_text(lambda memory, size: library().synfire_layer_snapshot(self.handle, ctypes.byref(desc), memory,
                                                                               size))

    def restore(self, data: bytes, *, first_row: int = 0, rows: int = 0) -> None:
        """Sets the state of rows of the batch from a snapshot."""
        data = _content("the snapshot", data)
        desc = described("synfire_state_desc", first_row=whole("first_row", first_row), n_rows=whole("rows", rows))
        check(library().synfire_layer_restore(self.handle, ctypes.byref(desc), ctypes.c_char_p(data), len(data)))

    def source(self) -> str:
        """The source of the layer's kernels for this device."""
        return _own_text(lambda memory, size: library().synfire_layer_source(self.handle, memory, size)) \
            .rstrip(b"\0").decode()

    # ---- Passes ------------------------------------------------------------------------------------------------------

    def run_forward(self, desc: Any, stream: Stream = None) -> None:
        """Runs a forward over addresses: `desc` is a synfire_pointers_desc, whose memory is not checked. Its
        `spike_dtype` says the format of the spikes.
        """
        check(library().synfire_layer_run_forward(self.handle, ctypes.byref(desc), stream_number(stream)))

    def run_backward(self, desc: Any, stream: Stream = None) -> None:
        """Runs the backward of a forward over addresses: `desc` is a synfire_pointers_desc."""
        check(library().synfire_layer_run_backward(self.handle, ctypes.byref(desc), stream_number(stream)))

    def __call__(self, x: Array, stream: Stream = None) -> Any:
        """Runs a forward from the layer's state and returns the spikes, of the type and shape of `x` in NumPy. Of models
        that never fire, V of every step.
        """
        array = _arrays.numpy().asarray(x)
        spikes = _arrays.numpy().empty_like(array, order="C")
        self.forward(x=array, stream=stream, **{"v_seq" if self._model in SILENT else "spikes": spikes})
        self.context.synchronize()
        return spikes

    def sequence_buffer(self, memory: Union[str, int] = "device", dtype: Union[str, int, None] = None) -> Buffer:
        """A buffer that fits a sequence of the layer: X, V, H, their gradients."""
        return Buffer(self.context, self._sequence_shape(), self._dtype if dtype is None else dtype, memory=memory)

    def state_buffer(self, memory: Union[str, int] = "device") -> Buffer:
        """A buffer that fits a state of the layer."""
        return Buffer(self.context, self._state_shape(), self._state_type(), memory=memory)

    def spike_buffer(self, memory: Union[str, int] = "device", dtype: Union[str, int] = "bits") -> Buffer:
        """A buffer that fits the spikes of the layer: as "bits", words of 32 neurons (T, B, ceil(N/32)); as
        "time_bits", words of 32 steps (ceil(T/32), B, N); else as long as X.
        """
        name = constant_name("dtype", constant("dtype", "dtype", dtype))
        rows = (self._batch,) if self._batch > 1 else ()
        shape = self._sequence_shape()
        if name == "bits":
            shape = (self._n_steps, *rows, (self._n_neurons + 31) // 32)
        elif name == "time_bits":
            shape = ((self._n_steps + 31) // 32, *rows, self._n_neurons)
        return Buffer(self.context, shape, dtype, memory=memory)

    def _sequence_shape(self) -> Tuple[int, ...]:
        rows = (self._batch,) if self._batch > 1 else ()
        return (self._n_steps, *rows, self._n_neurons)

    def __repr__(self) -> str:
        rows = f", batch of {self._batch}" if self._batch > 1 else ""
        return f"<Layer {self._model}, {self._n_neurons} neurons, {self._n_steps} steps{rows}{self._closed_text()}>"


# ---- Synapses --------------------------------------------------------------------------------------------------------

class Synapse(SynapseMethods, Handle):
    """Weights between layers. Synapse(...) is dense; Synapse.one_to_one, Synapse.conv2d and
    Synapse.population are the others.

    no_self_connections: no connection from input i to output i, as with a mask whose diagonal is 0.

    Arrays are read and written by name, as arrays of NumPy: synapse["weights"].
    """

    _destroy = "synfire_synapse_destroy"

    def __init__(self, context: Context, *, inputs: int, outputs: int, input_kind: Union[str, int] = "spikes",
                 dtype: Union[str, int] = "f32", bias: bool = False, frozen: bool = False, gradient_bits: int = 0,
                 initialization: Union[str, int] = "uniform", gain: float = 0, seed: int = 0,
                 mask: Optional[Sequence[int]] = None, weight_bits: int = 0, count_scale: float = 0,
                 no_self_connections: bool = False):
        desc = described("synfire_synapse_desc", weight_bits=whole("weight_bits", weight_bits),
                         no_self_connections=flag("no_self_connections", no_self_connections),
                         count_scale=real("count_scale", count_scale), n_inputs=whole("inputs", inputs),
                         n_outputs=whole("outputs", outputs), input_kind=constant("input_kind", "input", input_kind),
                         dtype=constant("dtype", "dtype", dtype), bias=flag("bias", bias),
                         frozen=flag("frozen", frozen), gradient_bits=whole("gradient_bits", gradient_bits),
                         initialization=constant("initialization", "initialization", initialization),
                         gain=real("gain", gain), seed=whole("seed", seed))
        if mask is not None:
            entries = (ctypes.c_uint8 * len(mask))(*mask)
            desc.mask, desc.mask_length = ctypes.addressof(entries), len(mask)
        self._make(context, "synfire_synapse_create", desc)

    def _make(self, context: Context, function: str, desc: Any) -> None:
        handle = ctypes.c_void_p()
        check(getattr(library(), function)(_handle_of(context), ctypes.byref(desc), ctypes.byref(handle)))
        self._adopt(context, handle.value)

    @classmethod
    def query_memory(cls, *, inputs: int, outputs: int, input_kind: Union[str, int] = "spikes",
                     dtype: Union[str, int] = "f32", bias: bool = False, frozen: bool = False, gradient_bits: int = 0,
                     mask: bool = False, no_self_connections: bool = False) -> Answer:
        """How much memory a dense synapse would take, before anything is allocated."""
        desc = described("synfire_synapse_desc",
                         no_self_connections=flag("no_self_connections", no_self_connections),
                         n_inputs=whole("inputs", inputs), n_outputs=whole("outputs", outputs),
                         input_kind=constant("input_kind", "input", input_kind),
                         dtype=constant("dtype", "dtype", dtype), bias=flag("bias", bias),
                         frozen=flag("frozen", frozen), gradient_bits=whole("gradient_bits", gradient_bits))
        if flag("mask", mask):
            entries = (ctypes.c_uint8 * (desc.n_inputs * desc.n_outputs))()
            desc.mask, desc.mask_length = ctypes.addressof(entries), len(entries)
        memory = described("synfire_synapse_memory")
        check(library().synfire_synapse_query_memory(ctypes.byref(desc), ctypes.byref(memory)))
        return answer_of(memory)

    def arrays(self) -> List[Answer]:
        """The arrays of the synapse: names, types and shapes."""
        return [self.array_info(i) for i in range(self.info().n_arrays)]

    def _array(self, name: str) -> Any:
        known = self.arrays()
        for one in known:
            if one.name == name:
                return _arrays.numpy().empty(one.shape[:one.n_dimensions], _arrays.NUMPY_TYPES[one.dtype])
        names = [one.name for one in known]
        refuse("PYTHON-NAME", f'the synapse has no array "{name}"{suggestion(name, names)}; it has '
               + ", ".join(f'"{one}"' for one in names))

    def __getitem__(self, name: str) -> Any:
        array = self._array(name)
        check(library().synfire_synapse_read(self.handle, text("the name", name), array.ctypes.data, array.nbytes))
        return array

    def __setitem__(self, name: str, values: Array) -> None:
        held = self._array(name)
        array = _arrays.numpy().ascontiguousarray(values, held.dtype)
        if array.size != held.size:
            refuse("PYTHON-SHAPE", f'"{name}" has the shape {held.shape}; {array.shape} is given')
        check(library().synfire_synapse_write(self.handle, text("the name", name), array.ctypes.data, array.nbytes))

    def read_integers(self, name: str, count: int) -> Any:
        """The integers that products add, for a device that computes them itself: "weight", "exponent" or "bias", of
        which there are `count`.
        """
        array = _arrays.numpy().empty(whole("count", count), "<i4")
        check(library().synfire_synapse_read_integers(self.handle, text("the name", name), array.ctypes.data, count))
        return array

    def __repr__(self) -> str:
        if self.closed:
            return "<Synapse (closed)>"
        info = self.info()
        sides = [height * width * channels for height, width, channels in (
            (info.input_height, info.input_width, info.input_channels),
            (info.output_height, info.output_width, info.output_channels))]
        return f"<Synapse {info.kind}, {sides[0]} to {sides[1]}>"


# ---- Graphs ----------------------------------------------------------------------------------------------------------

# Waiting in slices lets Python see a keyboard interrupt.
_SLICE_NS = 50_000_000


class Graph(GraphMethods, Handle):
    """Operations that are recorded once and replayed as one. Each recording method returns the operation's number."""

    _destroy = "synfire_graph_destroy"

    def __init__(self, context: Context, *, slots: int = 0):
        desc = described("synfire_graph_desc", n_slots=whole("slots", slots))
        handle = ctypes.c_void_p()
        check(library().synfire_graph_create(_handle_of(context), ctypes.byref(desc), ctypes.byref(handle)))
        self._adopt(context, handle.value)

    def _adopt(self, owner: Optional[Context], handle: Optional[int]) -> None:
        super()._adopt(owner, handle)
        self._callbacks: List[Any] = []
        self._failure: Optional[BaseException] = None

    def _checked(self, status: int) -> int:
        if status < 0:
            failure, self._failure = self._failure, None
            if failure is not None and status == _api.SYNFIRE_ERROR_CALLBACK:
                raise failure
            fail(status)
        return status

    def launch(self, stream: Stream = None) -> int:
        """Replays the graph once and returns the ticket of this replay."""
        ticket = ctypes.c_uint64()
        self._checked(library().synfire_graph_launch(self.handle, stream_number(stream), ctypes.byref(ticket)))
        return ticket.value

    def wait(self, ticket: int, timeout: float = float("inf"), policy: Union[str, int] = "spin") -> bool:
        """Waits for a replay, `timeout` seconds at most. Returns True when it is done, and all that it wrote is there.
        """
        how = constant("policy", "wait", policy)
        seconds = real("timeout", timeout)
        if seconds != seconds:
            refuse("PYTHON-NUMBER", "timeout is NaN; seconds are needed")
        left = 2**62 if seconds >= 4e9 else max(int(seconds * 1e9), 0)
        while True:
            now = min(left, _SLICE_NS)
            status = self._checked(library().synfire_graph_wait(self.handle, ticket, how, now))
            if status != _api.SYNFIRE_PENDING:
                return True
            left -= now
            if left <= 0:
                return False

    def is_done(self, ticket: int) -> bool:
        """True if a replay is done. Never blocks."""
        return self._checked(library().synfire_graph_poll(self.handle, ticket)) != _api.SYNFIRE_PENDING

    def replay(self, stream: Stream = None) -> None:
        """Launches the graph and waits for the replay."""
        self.wait(self.launch(stream))

    def slot(self, ticket: int, buffer: Buffer) -> Tuple[int, int]:
        """The address and size of a buffer's slot for a replay."""
        data, size = ctypes.c_void_p(), ctypes.c_uint64()
        check(library().synfire_graph_get_slot(self.handle, ticket, buffer.handle, ctypes.byref(data),
                                               ctypes.byref(size)))
        return data.value or 0, size.value

    def native(self, callback: Callable[[Answer], None], *, reads: Sequence[Buffer] = (),
               writes: Sequence[Buffer] = (), name: Optional[str] = None) -> int:
        """Records a call of a Python function, with the memory of buffers that it reads and writes. Exceptions come out
        of the launch or the wait. `user` of C is not needed: functions of Python have their own variables.
        """
        if not callable(callback):
            refuse("PYTHON-OBJECT", f"callback is {type(callback).__name__}; a function is needed")
        for one in (*reads, *writes):
            if not isinstance(one, Buffer):
                refuse("PYTHON-OBJECT", f"a native call is given {type(one).__name__}; a Buffer is needed")

        def called(_: Any, call: Any) -> int:
            try:
                given = call.contents
                callback(Answer("NativeCall", {
                    "slot": given.slot, "stream": given.stream,
                    "reads": [(given.reads[i].data, given.reads[i].bytes) for i in range(given.n_reads)],
                    "writes": [(given.writes[i].data, given.writes[i].bytes) for i in range(given.n_writes)]}))
                return _api.SYNFIRE_OK
            except BaseException as problem:  # an exception may not leave through C
                self._failure = problem
                return _api.SYNFIRE_ERROR_CALLBACK
        function = _api.synfire_native_callback(called)
        desc = described("synfire_native_desc", callback=function, n_reads=len(reads), n_writes=len(writes))
        kept = [(ctypes.c_void_p * max(len(some), 1))(*(one.handle for one in some)) for some in (reads, writes)]
        desc.reads, desc.writes = (ctypes.cast(one, ctypes.c_void_p) for one in kept)
        if name is not None:
            desc.name = text("name", name)
        check(library().synfire_graph_record_native(self.handle, ctypes.byref(desc)))
        self._callbacks.append(function)
        return self.last_operation()

    def dot(self) -> str:
        """The graph as a text for Graphviz."""
        return _own_text(lambda memory, size: library().synfire_graph_write_dot(self.handle, memory, size)) \
            .rstrip(b"\0").decode()

    def close(self) -> None:
        super().close()
        # The library may call a function until the graph is gone.
        if self._callbacks:
            library().synfire_context_reclaim(None, None)

    def __repr__(self) -> str:
        return f"<Graph{self._closed_text()}>"


# ---- Optimisers ------------------------------------------------------------------------------------------------------

class Optimizer(OptimizerMethods, Handle):
    """Steps of "sgd", "adam" or "adamw" over synapses and parameters of layers."""

    _destroy = "synfire_optimizer_destroy"

    def __init__(self, context: Context, kind: Union[str, int] = "sgd", *, nesterov: bool = False,
                 learning_rate: float = 0, weight_decay: float = 0, momentum: float = 0, beta1: float = 0,
                 beta2: float = 0, epsilon: float = 0, clip_norm: float = 0):
        desc = described("synfire_optimizer_desc", kind=constant("kind", "optimizer_kind", kind),
                         nesterov=flag("nesterov", nesterov), learning_rate=real("learning_rate", learning_rate),
                         weight_decay=real("weight_decay", weight_decay), momentum=real("momentum", momentum),
                         beta1=real("beta1", beta1), beta2=real("beta2", beta2), epsilon=real("epsilon", epsilon),
                         clip_norm=real("clip_norm", clip_norm))
        handle = ctypes.c_void_p()
        check(library().synfire_optimizer_create(_handle_of(context), ctypes.byref(desc), ctypes.byref(handle)))
        self._adopt(context, handle.value)

    def read(self, member: int, name: str, array: Array) -> Any:
        """Copies a moment, or another array of a member, into an array of the right size."""
        lent = _arrays.memory_of(array, "the array")
        check(library().synfire_optimizer_read(self.handle, whole("member", member), text("name", name), lent.address,
                                               _product(lent.shape) * _arrays.ELEMENT_BYTES[lent.dtype]))
        return array

    def write(self, member: int, name: str, array: Array) -> None:
        """Sets a moment, or another array of a member."""
        lent = _arrays.memory_of(array, "the array")
        check(library().synfire_optimizer_write(self.handle, whole("member", member), text("name", name), lent.address,
                                                _product(lent.shape) * _arrays.ELEMENT_BYTES[lent.dtype]))

    def __repr__(self) -> str:
        return f"<Optimizer{self._closed_text()}>"


# ---- Ranks -----------------------------------------------------------------------------------------------------------

class Communicator(Handle):
    """One rank of a group that trains a network together: `communicator` of a Network. Returns when all ranks are there.

    transport: "mpi", the default, or "loopback", for ranks of one process, each on its own thread. rank, size: by default
    those of the environment. group: the name of a group of "loopback". timeout: in seconds; by default 60, and a negative
    one waits for ever.
    """

    _destroy = "synfire_communicator_destroy"

    def __init__(self, context: Context, transport: Union[str, int] = "auto", *, rank: int = 0, size: int = 0,
                 group: Optional[str] = None, timeout: float = 0):
        desc = described("synfire_communicator_desc", transport=constant("transport", "transport", transport),
                         rank=whole("rank", rank), size=whole("size", size),
                         id=text("group", group) if group is not None else None,
                         timeout_ns=whole("timeout", int(real("timeout", timeout) * 1e9)))
        handle = ctypes.c_void_p()
        check(library().synfire_communicator_create(_handle_of(context), ctypes.byref(desc), ctypes.byref(handle)))
        self._adopt(context, handle.value)

    def _properties(self) -> Any:
        properties = described("synfire_communicator_properties")
        check(library().synfire_communicator_get_properties(self.handle, ctypes.byref(properties)))
        return properties

    @property
    def rank(self) -> int:
        """This rank."""
        return self._properties().rank

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._properties().size

    def barrier(self) -> None:
        """Waits until every rank has made this call."""
        check(library().synfire_communicator_barrier(self.handle))

    def abort(self) -> None:
        """Gives up the group: calls of all ranks that wait for each other fail."""
        check(library().synfire_communicator_abort(self.handle))

    def __repr__(self) -> str:
        return f"<Communicator{self._closed_text()}>"


# ---- Networks --------------------------------------------------------------------------------------------------------

class Result(NetworkResult):
    """The result of a training or an evaluation, with the accuracy."""

    @property
    def accuracy(self) -> float:
        """The fraction of predictions that are correct."""
        return self.n_correct / self.n_counted if self.n_counted else float("nan")


def _result_of(struct: Any) -> Result:
    answer = answer_of(struct)
    return Result("Result", {name: value for name, value in vars(answer).items() if not name.startswith("_")})


class Network(NetworkMethods, Handle):
    """A network of stages, with everything between them made, recorded and run.

    Stages are added by stage(kind, ...) or by the methods add_...; then build(), set_data() and train().
    """

    _destroy = "synfire_network_destroy"

    def __init__(self, context: Context, *, steps: int, batch: int = 1, dtype: Union[str, int] = "f32", seed: int = 0,
                 drop_last: bool = False, slots: int = 0, transient_arrays: bool = False,
                 own_loss: Union[str, int] = "none", communicator: Optional[Communicator] = None):
        desc = described("synfire_network_desc", n_steps=whole("steps", steps), batch=whole("batch", batch),
                         dtype=constant("dtype", "dtype", dtype), seed=whole("seed", seed),
                         drop_last=flag("drop_last", drop_last), n_slots=whole("slots", slots),
                         transient_arrays=flag("transient_arrays", transient_arrays),
                         own_loss=constant("own_loss", "own_loss", own_loss),
                         communicator=communicator.handle if communicator is not None else None)
        handle = ctypes.c_void_p()
        check(library().synfire_network_create(_handle_of(context), ctypes.byref(desc), ctypes.byref(handle)))
        self._adopt(context, handle.value)

    @classmethod
    def load_from(cls, context: Context, source: Union[str, os.PathLike, bytes], *, inference: bool = False,
                  steps: int = 0, batch: int = 0, slots: int = 0, replace_nonfinite: bool = False,
                  keep: str = "", continues: bool = False) -> "Network":
        """A network from a file, or from the bytes of one.

        keep: names of arrays to keep, as `keep()` takes them. continues: readouts continue from replay to replay.
        """
        names = text("keep", keep) if keep else None
        desc = described("synfire_network_file_desc", inference=flag("inference", inference),
                         n_steps=whole("steps", steps), batch=whole("batch", batch), n_slots=whole("slots", slots),
                         replace_nonfinite=flag("replace_nonfinite", replace_nonfinite), keep=names,
                         continues=flag("continues", continues))
        handle = ctypes.c_void_p()
        if isinstance(source, (bytes, bytearray, memoryview)):
            source = bytes(source)
            check(library().synfire_network_create_from_memory(_handle_of(context), ctypes.c_char_p(source), len(source),
                                                               ctypes.byref(desc), ctypes.byref(handle)))
        else:
            check(library().synfire_network_create_from_file(_handle_of(context), os.fsencode(source), ctypes.byref(desc),
                                                             ctypes.byref(handle)))
        return cls._adopted(context, handle.value)

    # ---- Stages ------------------------------------------------------------------------------------------------------

    def stage(self, stage: str, /, name: Optional[str] = None, inputs: Any = None, **values: Any) -> str:
        """Adds a stage of a kind: `network.stage("synapse", name="first", outputs=53)`. Returns its name.

        name: by default the kind. inputs: the stage that it reads, or a sequence of those, each a name, or a tuple of a
        name, a port and a delay; by default the stage before. Values are numbers, booleans or texts. A value that the
        library calls n_outputs is `outputs` here.
        """
        entries: List[Any] = []
        for value in values.items():
            entries.append(value)
        named = (_api.synfire_stage_value * max(len(entries), 1))()
        for entry, (key, value) in zip(named, entries):
            entry.name = text("a name", _c_name(key))
            if isinstance(value, str):
                entry.text = text(key, value)
            else:
                entry.number = real(key, value)
        sources = [] if inputs is None else [inputs] if isinstance(inputs, str) else list(inputs)
        read = (_api.synfire_stage_input * max(len(sources), 1))()
        for entry, source in zip(read, sources):
            parts = (source,) if isinstance(source, str) else tuple(source)
            entry.stage = text("an input", parts[0])
            if len(parts) > 1 and parts[1] is not None:
                entry.port = text("a port", parts[1])
            entry.delay = whole("a delay", parts[2]) if len(parts) > 2 else 0
        called = stage if name is None else name
        desc = described("synfire_stage_desc", kind=text("stage", stage), name=text("name", called),
                         n_inputs=len(sources), n_values=len(entries))
        desc.inputs = read
        desc.values = named
        check(library().synfire_network_add_stage(self.handle, ctypes.byref(desc)))
        return called

    def set_value(self, stage: str, name: str, value: Union[float, str]) -> None:
        """Sets a value of a stage: a number, a boolean, or the name of a constant."""
        if isinstance(value, str):
            for group in (name, "loss", "optimizer_kind", "readout", "model"):
                if value in _api.NAMES.get(group, {}):
                    value = _api.NAMES[group][value]
                    break
            else:
                refuse("PYTHON-CONSTANT", f'value is "{value}", which is not the name of a constant of "{name}"')
        super().set_value(stage, name, value)

    # ---- Data --------------------------------------------------------------------------------------------------------

    def set_data(self, set: Union[str, int], inputs: Array, labels: Optional[Array] = None, *,  # noqa: A002
                 targets: Optional[Array] = None, lengths: Optional[Array] = None,
                 sample_weights: Optional[Array] = None) -> None:
        """Sets the "training" or "evaluation" data: rows come first in each array. The library copies them."""
        module = _arrays.numpy()
        arrays = {"inputs": inputs, "labels": labels, "targets": targets, "lengths": lengths,
                  "sample_weights": sample_weights}
        rows = _rows_of(inputs, "inputs")
        made: List[Buffer] = []
        handles: Dict[str, Optional[int]] = {}
        try:
            for name, array in arrays.items():
                handles[name] = None
                if array is None:
                    continue
                if isinstance(array, Buffer):
                    handles[name] = array.handle
                    continue
                if name in ("labels", "lengths"):
                    array = self._whole_numbers(module, array, name)
                if _rows_of(array, name) != rows:
                    refuse("PYTHON-SHAPE", f"{name} has {_rows_of(array, name)} rows, and inputs have {rows}")
                made.append(Buffer.of(self.context, array, dtype="bits" if name == "inputs" else None, what=name,
                                      writes=False))
                handles[name] = made[-1].handle
            check(library().synfire_network_set_data(self.handle, constant("set", "data", set), rows,
                                                     *(handles[name] for name in arrays)))
        finally:
            for one in made:
                one.close()

    @staticmethod
    def _whole_numbers(module: Any, array: Any, name: str) -> Any:
        """Labels as the library takes them; anything but integers from 0 on is refused."""
        found = module.asarray(array)
        if found.dtype.kind not in "iub":
            refuse("PYTHON-DTYPE", f"{name} have the type {found.dtype}; integers are needed")
        if found.size and (int(found.min()) < 0 or int(found.max()) >= 2**32):
            refuse("PYTHON-RANGE", f"{name} go from {found.min()} to {found.max()}; 32 bits without a sign are needed")
        return module.ascontiguousarray(found, module.uint32)

    def set_arrays(self, set: Union[str, int], rows: int,  # noqa: A002
                   arrays: Mapping[Tuple[str, str], Array]) -> None:
        """Sets data of networks with several inputs or losses: {("stage", "inputs"): array, ...}."""
        entries, made = self._arrays_of(arrays)
        try:
            check(library().synfire_network_set_arrays(self.handle, constant("set", "data", set), whole("rows", rows),
                                                       entries, len(arrays)))
        finally:
            for one in made:
                one.close()

    def open_data(self, set: Union[str, int], files: Mapping[Any, Any], *,  # noqa: A002
                  n_readers: int = 0, block_rows: int = 0, window_blocks: int = 0) -> None:
        """Sets data that stay in files, and that may be larger than memory: {"inputs": "rows.npy", "labels":
        ("rows.safetensors", "labels")}. An array is a path, of an array of NumPy, or a path and the name of a tensor of a
        safetensors file or of the index of its shards; or a list of these, whose rows follow each other. In place of
        "inputs", ("stage", "inputs") names the stage.

        A block is `block_rows` rows that follow each other; the training rows of an epoch are permuted in windows of
        `window_blocks` blocks. `n_readers` threads read ahead. 0 is the default of each.
        """
        named = []
        for key, given in files.items():
            stage, role = key if isinstance(key, tuple) else (None, key)
            for one in given if isinstance(given, list) else [given]:
                path, tensor = one if isinstance(one, tuple) else (one, None)
                named.append((os.fsencode(path), None if tensor is None else text("a tensor", tensor),
                              None if stage is None else text("a stage", stage), constant("a role", "array", role)))
        entries = (_api.synfire_data_file * max(len(named), 1))()
        for entry, (path, tensor, stage, role) in zip(entries, named):
            entry.path, entry.tensor, entry.stage, entry.role = path, tensor, stage, role
        desc = described("synfire_network_data_desc", n_readers=whole("n_readers", n_readers),
                         block_rows=whole("block_rows", block_rows), window_blocks=whole("window_blocks", window_blocks))
        check(library().synfire_network_open_data(self.handle, constant("set", "data", set), entries, len(named),
                                                  ctypes.byref(desc)))

    def infer_arrays(self, rows: int, arrays: Mapping[Tuple[str, str], Array]) -> None:
        """Runs the network over rows of several inputs, into arrays of outputs: {("stage", "outputs"): array, ...}."""
        entries, made = self._arrays_of(arrays)
        try:
            check(library().synfire_network_infer_arrays(self.handle, whole("rows", rows), entries, len(arrays)))
        finally:
            for one in made:
                one.close()

    def _arrays_of(self, arrays: Mapping[Tuple[str, str], Array]) -> Tuple[Any, List[Buffer]]:
        module = _arrays.numpy()
        entries = (_api.synfire_network_array * max(len(arrays), 1))()
        made: List[Any] = []
        for entry, ((stage, role), array) in zip(entries, arrays.items()):
            if role in ("labels", "lengths") and not isinstance(array, Buffer):
                array = self._whole_numbers(module, array, role)
            entry.stage, entry.role = text("a stage", stage), constant("a role", "array", role)
            entry.buffer = self._buffer(f'the {role} of "{stage}"', array, "write" if role == "outputs" else "read",
                                        "bits" if role in ("inputs", "outputs") else "u32", made)
        return entries, made

    # ---- Running -----------------------------------------------------------------------------------------------------

    def train(self, batches: int = 0) -> Result:
        """Trains for a number of batches, by default for those that are left of the epoch. Each epoch draws the rows in
        an order of its own.
        """
        result = described("synfire_network_result")
        check(library().synfire_network_train(self.handle, whole("batches", batches), ctypes.byref(result)))
        return _result_of(result)

    def evaluate(self) -> Result:
        """Runs the network over the evaluation data."""
        result = described("synfire_network_result")
        check(library().synfire_network_evaluate(self.handle, ctypes.byref(result)))
        return _result_of(result)

    def fit(self, epochs: int, *, progress: bool = True) -> List[Result]:
        """Trains for a number of epochs and returns the result of each. Shows a bar if tqdm is installed."""
        bar: Any = range(whole("epochs", epochs))
        if progress:
            try:
                from tqdm.auto import tqdm
                bar = tqdm(bar, unit="epoch")
            except ImportError:
                pass
        results = []
        for _ in bar:
            results.append(self.train(0))  # what is left of the epoch
            if hasattr(bar, "set_postfix"):
                bar.set_postfix(loss=f"{results[-1].loss:.4f}")
        return results

    def train_stages(self, batches: int, losses: Sequence[str]) -> Tuple[Result, List[Answer]]:
        """As train(), with the results of single losses, by their names, beside that of the whole."""
        return self._by_stage("synfire_network_train_stages", (whole("batches", batches),), losses)

    def evaluate_stages(self, losses: Sequence[str]) -> Tuple[Result, List[Answer]]:
        """As evaluate(), with the results of single losses, by their names, beside that of the whole."""
        return self._by_stage("synfire_network_evaluate_stages", (), losses)

    def _by_stage(self, function: str, first: Tuple[int, ...], losses: Sequence[str]) -> Tuple[Result, List[Answer]]:
        entries = (_api.synfire_stage_result * max(len(losses), 1))()
        for entry, name in zip(entries, losses):
            entry.stage = text("a loss", name)
        result = described("synfire_network_result")
        check(getattr(library(), function)(self.handle, *first, entries, len(losses), ctypes.byref(result)))
        return _result_of(result), [answer_of(entries[i]) for i in range(len(losses))]

    # ---- Texts and files ---------------------------------------------------------------------------------------------

    def summary(self) -> str:
        """The stages as a table."""
        return _own_text(lambda memory, size: library().synfire_network_write_summary(self.handle, memory, size)) \
            .rstrip(b"\0").decode()

    def dot(self) -> str:
        """The network as a text for Graphviz."""
        return _own_text(lambda memory, size: library().synfire_network_write_dot(self.handle, memory, size)) \
            .rstrip(b"\0").decode()

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the network, its weights and its optimiser to a file."""
        check(library().synfire_network_save(self.handle, os.fsencode(path)))

    def load(self, path: Union[str, os.PathLike]) -> None:
        """Reads weights and the rest from a file of such a network."""
        check(library().synfire_network_load(self.handle, os.fsencode(path)))

    def save_to_memory(self) -> bytes:
        """The bytes that save() writes."""
        return _own_text(lambda memory, size: library().synfire_network_save_to_memory(self.handle, memory, size))

    def load_from_memory(self, data: bytes) -> None:
        """As load(), from bytes."""
        data = _content("the file", data)
        check(library().synfire_network_load_from_memory(self.handle, ctypes.c_char_p(data), len(data)))

    def load_arrays(self, file: Union[str, os.PathLike, bytes], sources: Union[Mapping[str, Any], Sequence[Any]], *,
                    leave_out: bool = False) -> List[str]:
        """Loads arrays of any safetensors file, or of its bytes, by their names: {"theirs": "ours"}; with a layout of
        PyTorch, {"theirs": ("ours", "oihw")}; or a list of names that both have, ("theirs", "ours") and
        ("theirs", "ours", "oihw"). All others stay as they are, and everything is checked before anything changes.

        With `leave_out`, tensors that the file does not have, or has in another shape, are left out. Returns the names of
        the arrays of the network that they were for.
        """
        named = _array_sources(sources)
        entries = (_api.synfire_array_source * max(len(named), 1))()
        for entry, (theirs, ours, layout) in zip(entries, named):
            entry.theirs, entry.ours = text("a name of the file", theirs), text("a name of the network", ours)
            entry.layout = None if layout is None else text("a layout", layout)
        if isinstance(file, (bytes, bytearray, memoryview)):
            file = bytes(file)
            check(library().synfire_network_load_arrays_from_memory(self.handle, ctypes.c_char_p(file), len(file), entries,
                                                                    len(named), int(leave_out)))
        else:
            check(library().synfire_network_load_arrays(self.handle, os.fsencode(file), entries, len(named),
                                                        int(leave_out)))
        return [ours for entry, (_, ours, _) in zip(entries, named) if entry.is_loaded == 0]

    def __repr__(self) -> str:
        return f"<Network{self._closed_text()}>"


def _array_sources(sources: Any) -> List[Tuple[Any, Any, Any]]:
    """The name in the file, that in the network and the layout of each of the sources of load_arrays()."""
    if isinstance(sources, (str, bytes)) or not isinstance(sources, Iterable):
        refuse("PYTHON-SOURCES", f"sources is {sources!r}; a dictionary or a list is needed")
    if isinstance(sources, Mapping):
        sources = [(theirs, *(ours if isinstance(ours, (tuple, list)) else (ours,))) for theirs, ours in sources.items()]
    named = []
    for source in sources:
        names = source if isinstance(source, (tuple, list)) else (source, source)
        if len(names) not in (2, 3):
            refuse("PYTHON-SOURCES", f"one of the sources is {source!r}; a name, two names, or two names and a layout "
                                     "are needed")
        named.append((*names, None)[:3])
    return named


def _rows_of(array: Any, name: str) -> int:
    """How many rows an array has: its first length."""
    shape = getattr(array, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else refuse("PYTHON-SHAPE", f"{name} has no rows: its shape is ()")
    return len(array) if hasattr(array, "__len__") else \
        refuse("PYTHON-ARRAY", f"{name} is {type(array).__name__}, which is not an array")


def _c_name(key: str) -> str:
    """The library's name of a value of a stage."""
    return f"n_{key}" if key in _COUNTS else key


# Values of stages that count something, which have no n_ here.
_COUNTS = {"outputs", "features", "steps"}


# ---- Texts -----------------------------------------------------------------------------------------------------------

class _Loaded(Handle):
    """A neuron model or a surrogate that was given as a text at run time."""

    _load = _get_info = _check = ""

    def __init__(self, context: Context, source: Optional[str] = None, *,
                 path: Union[str, os.PathLike, None] = None, name: Optional[str] = None, timeout: float = 0,
                 cache: Union[str, os.PathLike, None] = None, cache_bytes: int = 0, use_cache: bool = True,
                 progress: Optional[Callable[[str, float], Optional[bool]]] = None):
        desc = described("synfire_load_desc", no_cache=int(not use_cache))
        if source is not None:
            content = text("source", source)
            desc.text, desc.text_bytes = content, len(content)
        if path is not None:
            desc.file = os.fsencode(path)
        if name is not None:
            desc.name = text("name", name)
        if cache is not None:
            desc.cache = os.fsencode(cache)
        desc.cache_bytes = whole("cache_bytes", cache_bytes)
        desc.time_out = int(real("timeout", timeout) * 1e9)
        failure: List[BaseException] = []
        if progress is not None:
            def heard(_: Any, stage: int, nanoseconds: int) -> int:
                try:
                    return int(bool(progress(constant_name("load", stage), nanoseconds * 1e-9)))
                except BaseException as problem:  # an exception may not leave through C
                    failure.append(problem)
                    return 1
            desc.progress = _api.synfire_load_progress(heard)
        handle = ctypes.c_void_p()
        status = getattr(library(), self._load)(_handle_of(context), ctypes.byref(desc),
                                                                  ctypes.byref(handle))
        if failure:
            raise failure[0]
        check(status)
        self._adopt(context, handle.value)
        self.id = self.info().id

    def info(self) -> Answer:
        """Says what was loaded."""
        info = described("synfire_load_info")
        check(getattr(library(), self._get_info)(self.handle, ctypes.byref(info)))
        return answer_of(info)

    def check_derivatives(self, seed: int = 0, samples: int = 10000) -> Answer:
        """Compares the derivatives with numerical ones."""
        report = described("synfire_check_report")
        check(getattr(library(), self._check)(self.handle, whole("seed", seed),
                                                                whole("samples", samples), ctypes.byref(report)))
        return answer_of(report)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{'' if self.closed else ' ' + self.info().name}{self._closed_text()}>"


class LoadedModel(_Loaded):
    """A neuron model from a text. Loading compiles it and runs its author's code in this process.

    source: the text; or path, a file. name: which model, if the text has several. timeout: seconds of the compiler.
    cache: a folder, of at most cache_bytes; use_cache=False: none. progress(stage, seconds) hears how it goes on; True
    from it ends the loading.
    """

    _destroy, _load = "synfire_model_destroy", "synfire_model_load"
    _get_info, _check = "synfire_model_get_info", "synfire_model_check"


class LoadedSurrogate(_Loaded):
    """A surrogate derivative from a text. See LoadedModel."""

    _destroy, _load = "synfire_surrogate_destroy", "synfire_surrogate_load"
    _get_info, _check = "synfire_surrogate_get_info", "synfire_surrogate_check"


def model_id(name: str) -> int:
    """The number of a neuron model by its name in the library."""
    number = ctypes.c_int32()
    check(library().synfire_model_id(text("name", name), ctypes.byref(number)))
    return number.value


def surrogate_id(name: str) -> int:
    """The number of a surrogate by its name in the library."""
    number = ctypes.c_int32()
    check(library().synfire_surrogate_id(text("name", name), ctypes.byref(number)))
    return number.value


def reclaim() -> int:
    """Frees what can be freed, of the whole process, and returns how many objects are still in use."""
    left = ctypes.c_uint64()
    check(library().synfire_context_reclaim(None, ctypes.byref(left)))
    return left.value


__all__ = ["Buffer", "Context", "Graph", "Handle", "Layer", "LoadedModel", "LoadedSurrogate", "Network", "Optimizer",
           "Parameter", "Result", "Synapse", "model_id", "reclaim", "surrogate_id"]
