"""The two passes of neurons over PyTorch's memory, and the operators that autograd, torch.compile and torch.export see.

The passes run on PyTorch's current stream and in its CUDA graphs, over the addresses of the tensors. The tape is a
tensor, so as many forwards as the caller likes may wait for their backwards. A layer of the library serves all calls
with the same neurons: how many batch rows and steps it has grows with the calls.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import collections
import ctypes
import functools
import json
import os
import threading
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from .. import _api
from .._call import described
from .._errors import StaleTapeError, check, fail, refuse
from .._library import library
from .._objects import SILENT, Context, Layer

_DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16"}
CHECKPOINT_INTERVAL = 32
# Neurons of a batch row of the layer, where no parameter is one number per neuron: any other row is as many.
_ROW = 128
# Models with a second variable.
TWO_VARIABLES = ("izhikevich", "cuba_lif", "cuba_li", "cuba_lif_exact", "cuba_li_exact", "alif")


class Neurons(NamedTuple):
    """The description of neurons, apart from their shape. The operators take it as a text."""

    model: str = "lif"
    surrogate: str = "sigmoid"
    reset: str = "hard"
    detach_reset: bool = False
    undecayed_input: bool = False
    parameters: Tuple[Tuple[str, float], ...] = ()
    # Parameters that are tensors: the name in the library, and what is done to the tensor: "" or "sigmoid".
    learned: Tuple[Tuple[str, str], ...] = ()
    # Neurons with learned parameters have a layer of their own: a number for each of them.
    number: int = 0
    strict_threshold: bool = False
    refractory_steps: int = 0

    @property
    def text(self) -> str:
        return json.dumps(self)

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def of(text: str) -> "Neurons":
        values = json.loads(text)
        values[5], values[6] = (tuple(tuple(pair) for pair in one) for one in values[5:7])
        return Neurons(*values)

    @property
    def n_others(self) -> int:
        """The state variables beside V: that of the model, and the countdown of a delayed reset or refractory steps."""
        counts = self.fires and (self.reset == "soft_delayed" or self.refractory_steps > 0)
        return (self.model in TWO_VARIABLES) + counts

    @property
    def fires(self) -> bool:
        return self.model not in SILENT

    @property
    def initial_v(self) -> float:
        return dict(self.parameters).get("v_reset", _DEFAULT_V_RESET.get(self.model, 0.0)) \
            if self.reset == "hard" and self.fires else 0.0


_DEFAULT_V_RESET = {"qif": -0.1, "eif": -0.1}


# ---- Layers ----------------------------------------------------------------------------------------------------------

class _Served:
    """A layer, and what a call needs of it."""

    def __init__(self, layer: Layer):
        self.layer, self.lock, self.known = layer, threading.Lock(), {}


_contexts: Dict[Tuple[str, int], Context] = {}
_layers: "collections.OrderedDict[Any, _Served]" = collections.OrderedDict()
_by_handle: Dict[int, _Served] = {}
# Layers that became too small, or were too many: forwards may still wait for their backwards. The forward of one that is
# forgotten here runs again.
_retired: "collections.OrderedDict[int, _Served]" = collections.OrderedDict()
_MOST_LAYERS, _MOST_RETIRED = 1024, 16
_initial: Dict[Any, List[torch.Tensor]] = {}
_plans: Dict[Any, "_Plan"] = {}
_MOST_PLANS = 1024
_lock = threading.RLock()


def _after_fork() -> None:
    # A child has none of the parent's threads, and no GPU: it makes a context of its own.
    global _lock
    _lock = threading.RLock()
    for one in (_contexts, _layers, _by_handle, _retired, _initial, _plans):
        one.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def context_of(device: torch.device) -> Context:
    """The context that serves a device of PyTorch."""
    if device.type not in ("cpu", "cuda"):
        refuse("PYTHON-DEVICE", f"the tensor is on {device}; allowed are the CPU and CUDA")
    where = (device.type, device.index or 0)
    found = _contexts.get(where)
    if found is None:
        with _lock:
            found = _contexts.get(where)
            if found is None:
                found = _contexts[where] = Context("cuda", device=where[1]) if device.type == "cuda" \
                    else Context("host", threads=torch.get_num_threads())
    return found


def _layer_for(neurons: Neurons, x: torch.Tensor, steps: int, row: int, n: int) -> _Served:
    """The layer for these steps and neurons, `n` of them in a batch row."""
    key = (neurons, x.device, x.dtype, n)
    found = _layers.get(key)
    if found is not None and found.layer.steps >= steps and found.layer.batch * n >= row:
        return found
    with _lock:
        found = _layers.get(key)
        most_steps, batch = steps, row // n
        if found is not None:
            if found.layer.steps >= steps and found.layer.batch * n >= row:
                return found
            most_steps, batch = max(steps, found.layer.steps), max(batch, found.layer.batch)
        values = dict(neurons.parameters)
        made = _Served(Layer(context_of(x.device), steps=most_steps, neurons=n, batch=batch, model=neurons.model,
                             dtype=_DTYPES[x.dtype], reset=neurons.reset if neurons.fires else "hard",
                             surrogate=neurons.surrogate if neurons.fires else "default",
                             detach_reset=neurons.detach_reset and neurons.fires,
                             undecayed_input=neurons.undecayed_input,
                             strict_threshold=neurons.strict_threshold and neurons.fires,
                             refractory_steps=neurons.refractory_steps if neurons.fires else 0, **values))
        if found is not None:
            _retire(found)
        _layers[key] = _by_handle[made.layer.handle] = made
        if len(_layers) > _MOST_LAYERS:
            _, oldest = _layers.popitem(last=False)
            _retire(oldest)
        while len(_retired) > _MOST_RETIRED:
            handle, _ = _retired.popitem(last=False)
            del _by_handle[handle]
        return made


def _retire(served: _Served) -> None:
    _retired[served.layer.handle] = served
    for key, plan in list(_plans.items()):
        if plan.served is served:
            _plans.pop(key, None)


def initial_state(x: torch.Tensor, row: int, value: float) -> Tuple[torch.Tensor, bool]:
    """Memory of at least `row` elements with this value, and whether later calls may use it, on any stream."""
    dtype = _state_dtype(x)
    key = (x.device, dtype, value)
    found = _initial.get(key)
    if found and found[-1].numel() >= row:
        return found[-1], True
    on_gpu = x.device.type == "cuda"
    if on_gpu and torch.cuda.is_current_stream_capturing():
        return torch.full((row,), value, dtype=dtype, device=x.device), False  # it is memory of that graph
    with _lock:
        # Smaller ones stay: a CUDA graph may read them.
        kept = _initial.setdefault(key, [])
        made = torch.full((max(row, 2 * kept[-1].numel() if kept else 0),), value, dtype=dtype, device=x.device)
        if on_gpu:
            torch.cuda.current_stream(x.device).synchronize()
        kept.append(made)
    return made, True


# ---- The passes ------------------------------------------------------------------------------------------------------

def tape_bytes(neurons: Neurons, x: torch.Tensor, steps: Any, row: Any) -> Any:
    """The size that synfire_layer_get_run_memory() gives for a tape that recomputes."""
    unit = 8 if x.dtype == torch.float64 else 4
    return ((steps + CHECKPOINT_INTERVAL - 1) // CHECKPOINT_INTERVAL * (1 + neurons.n_others) * row * unit + 255) // 256 * 256


def _raw_stream(index: int) -> int:
    return torch.cuda.current_stream(index).cuda_stream


# Without an object for the stream, where PyTorch has such a function.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _raw_stream)


def _row_of(neurons: Neurons, row: int, parameters: Sequence[torch.Tensor]) -> int:
    for one in parameters:
        if one.numel() == 0 or not one.is_floating_point():
            refuse("PYTHON-DTYPE", f"a parameter has the type {one.dtype} and {one.numel()} values; at least one, of a "
                   "floating-point type, is needed")
    n = max((one.numel() for one in parameters), default=1)
    if n > 1:
        if row % n:
            refuse("PYTHON-SHAPE", f"a parameter has {n} values, and a step has {row} neurons")
        return n
    return _ROW if row % _ROW == 0 else row


def _set_parameters(served: _Served, neurons: Neurons, parameters: Sequence[torch.Tensor]) -> None:
    """Gives the layer the values of learned parameters that have changed. On a GPU this waits for them."""
    for (name, transform), tensor in zip(neurons.learned, parameters):
        # A tensor has not changed if, on a GPU, its count of changes is the same, or elsewhere its only value is.
        if tensor.is_cuda:
            version: Any = (tensor.data_ptr(), tensor._version)
        else:
            if tensor.is_meta:
                refuse("PYTHON-DEVICE", f"the parameter {name} is on {tensor.device}, and has no value")
            version = tensor.item() if tensor.numel() == 1 else None
        known = served.known.get(name)
        if known is not None and version is not None and known[0] == version:
            continue
        values = tensor.detach()
        values = (values.sigmoid() if transform == "sigmoid" else values).double().reshape(-1).tolist()
        if known is None or known[1] != values:
            served.layer[name] = values if len(values) > 1 else values[0]
        served.known[name] = (version, values)


def _as_dense(x: torch.Tensor) -> torch.Tensor:
    """The tensor, or a copy of it where steps do not follow one another without gaps. The order of neurons is free."""
    if x.is_contiguous():
        return x
    if x.dim() == 5 and x.stride(0) * x.shape[0] == x.numel() and \
            x.flatten(0, 1).is_contiguous(memory_format=torch.channels_last):
        return x
    return x.contiguous()


def _state_dtype(x: torch.Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _empty_state(x: torch.Tensor) -> torch.Tensor:
    """Memory for a state, in the order of a step of x."""
    if x.is_contiguous():
        return torch.empty(x.shape[1:], dtype=_state_dtype(x), device=x.device)
    return torch.empty_like(x[0], dtype=_state_dtype(x))


def _empty_others(x: torch.Tensor, n: int) -> torch.Tensor:
    """Memory for the other variables: one is as V, and several lie one after another."""
    one = _empty_state(x)
    return one if n == 1 else torch.empty_strided((n, *one.shape), (one.numel(), *one.stride()), dtype=one.dtype,
                                                  device=one.device)


def set_attributes(module: torch.nn.Module, **values: Any) -> None:
    """Sets attributes of a module that are not parameters, without what a module looks up for each of them."""
    if _is_compiling():
        for name, value in values.items():
            setattr(module, name, value)
    else:
        module.__dict__.update(values)


_is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


def refuse_layout(x: Any, what: str) -> None:
    """Refuses what is not a tensor, and tensors whose elements are not side by side: sparse ones have no strides."""
    if not isinstance(x, torch.Tensor):
        refuse("PYTHON-ARRAY", f"{what} is {type(x).__name__}; a tensor of PyTorch is needed")
    refuse("PYTHON-CONTIGUOUS", f"{what} has the layout {x.layout}; torch.strided is needed: to_dense()")


def check_input(x: torch.Tensor) -> None:
    if x.dtype not in _DTYPES:
        refuse("PYTHON-DTYPE", f"x has the type {x.dtype}; allowed are " + ", ".join(str(one) for one in _DTYPES))
    if x.dim() < 2 or x.numel() == 0:
        refuse("PYTHON-SHAPE", f"x has the shape {tuple(x.shape)}; [T, ...] with at least one neuron is needed")


_Desc = _api.synfire_pointers_desc
_WORD = ctypes.sizeof(ctypes.c_size_t)
# Where the addresses are in a descriptor, in words.
(_X, _SPIKES, _V_INIT, _V_FINAL, _V_SEQ, _W_INIT, _W_FINAL, _TAPE, _STAMP, _GRAD_SPIKES, _GRAD_V_SEQ, _GRAD_V_FINAL,
 _GRAD_W_FINAL, _GRAD_X, _GRAD_V_INIT, _GRAD_W_INIT, _SCRATCH) = (
     getattr(_Desc, name).offset // _WORD for name in (
         "x", "spikes", "v_init", "v_final", "v_seq", "w_init", "w_final", "tape_memory", "stamp", "grad_spike_seq",
         "grad_v_seq", "grad_v_final", "grad_w_final", "grad_x_seq", "grad_v_init", "grad_w_init", "scratch"))
State = Union[None, float, torch.Tensor]


class _Plan:
    """All that calls with the same neurons, shape, type, device and kinds of arguments share. A call allocates its
    results, stores addresses in a descriptor, and calls the library. Calls on one layer take turns.
    """

    def __init__(self, neurons: Neurons, x: torch.Tensor, v: State, w: State, parameters: Sequence[torch.Tensor],
                 taped: bool, with_v_seq: bool, served: Optional[_Served] = None):
        self.neurons, self.text = neurons, neurons.text
        self.steps, self.row = x.shape[0], x.numel() // x.shape[0]
        self.device, self.dtype, self.state_dtype = x.device, x.dtype, _state_dtype(x)
        self.is_contiguous, self.shape, self.strides = x.is_contiguous(), x.shape, x.stride()
        self.step_shape, self.step_strides = x.shape[1:], x.stride()[1:]
        self.index = x.device.index or 0 if x.device.type == "cuda" else -1
        self.fires, self.n_others, self.has_v_seq = neurons.fires, neurons.n_others, with_v_seq or not neurons.fires
        self.taped, self.tape_bytes = taped, tape_bytes(neurons, x, self.steps, self.row) if taped else 0
        self.lengths = [one.numel() for one in parameters]
        row = _row_of(neurons, self.row, parameters)
        self.served = served = served or _layer_for(neurons, x, self.steps, self.row, row)
        self.lock, self.handle = served.lock, served.layer.handle
        # The results of a forward, each with its place among them.
        self.outputs = tuple(name for name, wanted in (("spikes", self.fires), ("v", True), ("w", self.n_others),
                                                       ("v_seq", self.has_v_seq)) if wanted)
        self.is_plain = self.outputs == ("spikes", "v")
        self._constants(x, v, w)
        self._describe(parameters)
        functions = library().handle
        self.run_forward, self.run_backward = (functions[f"synfire_layer_run_{one}"] for one in ("forward", "backward"))
        for function in (self.run_forward, self.run_backward):
            function.restype, function.argtypes = ctypes.c_int32, (ctypes.c_void_p,) * 3

    def _constants(self, x: torch.Tensor, v: State, w: State) -> None:
        """Initial states that are the same in every call."""
        self.v_init = self.w_init = None
        self.is_lasting = True
        if not isinstance(v, torch.Tensor):
            self.v_init, self.is_lasting = initial_state(x, self.row, self.neurons.initial_v if v is None else v)
        if self.n_others and not isinstance(w, torch.Tensor):
            self.w_init, is_lasting = initial_state(x, self.n_others * self.row, w or 0.0)
            self.is_lasting = self.is_lasting and is_lasting
        self.has_states = isinstance(v, torch.Tensor) or isinstance(w, torch.Tensor)
        self.v_address = 0 if self.v_init is None else self.v_init.data_ptr()
        self.w_address = 0 if self.w_init is None else self.w_init.data_ptr()

    def _describe(self, parameters: Sequence[torch.Tensor]) -> None:
        """The descriptors, with all that is not an address of a call."""
        self.descs = tuple(described("synfire_pointers_desc", n_steps=self.steps,
                                     batch=self.row // self.served.layer.neurons,
                                     tape=0 if self.taped else _api.SYNFIRE_TAPE_NONE, tape_bytes=self.tape_bytes)
                           for _ in range(2))
        words = ctypes.c_size_t * (ctypes.sizeof(_Desc) // _WORD)
        self.forward_words, self.backward_words = (words.from_buffer(one) for one in self.descs)
        self.forward_address, self.backward_address = (ctypes.addressof(one) for one in self.descs)
        self.scratch_bytes = 0
        if parameters and self.taped:
            self.entries = (_api.synfire_gradient_pointer * len(parameters))()
            for entry, (name, _), length in zip(self.entries, self.neurons.learned, self.lengths):
                entry.name, entry.length = name.encode(), length
            desc = self.descs[1]
            desc.gradient_pointers, desc.n_gradient_pointers = self.entries, len(self.entries)
            _, self.scratch_bytes = self.served.layer.run_memory("recompute", desc.n_steps, desc.batch, len(self.entries))
            desc.scratch_bytes = self.scratch_bytes

    def empty_state(self) -> torch.Tensor:
        """Memory for a state, in the order of a step of x."""
        return torch.empty_strided(self.step_shape, self.step_strides, dtype=self.state_dtype, device=self.device)

    def empty_others(self) -> torch.Tensor:
        """Memory for the other variables, which lie one after another."""
        if self.n_others == 1:
            return self.empty_state()
        return torch.empty_strided((self.n_others, *self.step_shape), (self.row, *self.step_strides),
                                   dtype=self.state_dtype, device=self.device)

    def stream(self) -> Optional[int]:
        # 0 is CUDA's legacy stream, which the library calls 1.
        return None if self.index < 0 else _raw_stream(self.index) or 1

    def _state(self, state: torch.Tensor, n: int = 1) -> torch.Tensor:
        """A state that a caller gave, as the library reads it: V, or n other variables."""
        if state.layout is not torch.strided:
            refuse_layout(state, "a state")
        if state.numel() != n * self.row:
            refuse("PYTHON-SHAPE", f"a state has {state.numel()} elements, and a step has {self.row} neurons"
                   + (f" with {n} such variables each" if n > 1 else ""))
        if state.device != self.device:
            refuse("PYTHON-DEVICE", f"a state is on {state.device}, and x is on {self.device}")
        if state.dtype is not self.state_dtype:
            state = state.to(self.state_dtype)
        if n > 1:
            return self._same_others(state.view(n, *self.step_shape) if state.dim() == 1 else state)
        if state.is_contiguous() if self.is_contiguous else state.dim() == 1 or state.stride() == self.step_strides:
            return state
        return self.empty_state().copy_(state.view(self.step_shape) if state.dim() == 1 else state)

    def forward(self, x: torch.Tensor, v: State, w: State, parameters: Sequence[torch.Tensor]) -> Tuple[Any, ...]:
        """Runs a forward: its results, the tape and its stamp."""
        v_address = self.v_address or (v := self._state(v)).data_ptr()
        v_final = self.empty_state()
        tape = stamp = None
        if self.taped:
            tape = torch.empty(self.tape_bytes, dtype=torch.uint8, device=self.device)
            stamp = torch.empty(8, dtype=torch.int64, device="cpu")
        if self.is_plain:
            spikes = torch.empty_like(x)
            results = (spikes, v_final)
        else:
            spikes = torch.empty_like(x) if self.fires else None
            w_address = self.n_others and (self.w_address or (w := self._state(w, self.n_others)).data_ptr())
            w_final = self.empty_others() if self.n_others else None
            v_seq = torch.empty_like(x) if self.has_v_seq else None
            results = tuple(one for one in (spikes, v_final, w_final, v_seq) if one is not None)
        words = self.forward_words
        with self.lock:
            if parameters:
                _set_parameters(self.served, self.neurons, parameters)
            words[_X], words[_V_INIT], words[_V_FINAL] = x.data_ptr(), v_address, v_final.data_ptr()
            if spikes is not None:
                words[_SPIKES] = spikes.data_ptr()
            if tape is not None:
                words[_TAPE], words[_STAMP] = tape.data_ptr(), stamp.data_ptr()
            if not self.is_plain:
                if self.n_others:
                    words[_W_INIT], words[_W_FINAL] = w_address, w_final.data_ptr()
                if v_seq is not None:
                    words[_V_SEQ] = v_seq.data_ptr()
            status = self.run_forward(self.handle, self.forward_address, self.stream())
            if status < 0:
                fail(status)
        return results, tape, stamp

    def _same(self, x: torch.Tensor) -> torch.Tensor:
        """A tensor [T, ...] with the strides and the type of x."""
        if x.dtype is self.dtype and (x.is_contiguous() if self.is_contiguous else x.stride() == self.strides):
            return x
        return torch.empty_strided(self.shape, self.strides, dtype=self.dtype, device=self.device).copy_(x)

    def _same_state(self, state: torch.Tensor) -> torch.Tensor:
        if state.dtype is self.state_dtype and \
                (state.is_contiguous() if self.is_contiguous else state.stride() == self.step_strides):
            return state
        return self.empty_state().copy_(state)

    def _same_others(self, state: torch.Tensor) -> torch.Tensor:
        if self.n_others == 1:
            return self._same_state(state)
        strides = (self.row, *self.step_strides)
        if state.dtype is self.state_dtype and \
                (state.is_contiguous() if self.is_contiguous else state.stride() == strides):
            return state
        return self.empty_others().copy_(state)

    def backward(self, x: torch.Tensor, tape: torch.Tensor, stamp: torch.Tensor, parameters: Sequence[torch.Tensor],
                 gs: Optional[torch.Tensor], gv: Optional[torch.Tensor], gw: Optional[torch.Tensor],
                 gv_seq: Optional[torch.Tensor], of_states: bool) -> Tuple[Any, ...]:
        """Runs the backward of a forward: dL/dX, dL/dV and dL/dW before the first step, and of each parameter."""
        x = self._same(x)
        gs = None if gs is None or not self.fires else self._same(gs)
        gv = None if gv is None else self._same_state(gv)
        gw = None if gw is None or not self.n_others else self._same_others(gw)
        gv_seq = None if gv_seq is None else self._same(gv_seq)
        grad_x = torch.empty_like(x)
        grad_v = self.empty_state() if of_states else None
        grad_w = self.empty_others() if of_states and self.n_others else None
        gradients: List[torch.Tensor] = []
        values: Sequence[Any] = ()
        words = self.backward_words
        with self.lock:
            words[_X], words[_TAPE], words[_STAMP] = x.data_ptr(), tape.data_ptr(), stamp.data_ptr()
            words[_GRAD_X] = grad_x.data_ptr()
            words[_GRAD_SPIKES] = 0 if gs is None else gs.data_ptr()
            words[_GRAD_V_SEQ] = 0 if gv_seq is None else gv_seq.data_ptr()
            words[_GRAD_V_FINAL] = 0 if gv is None else gv.data_ptr()
            words[_GRAD_W_FINAL] = 0 if gw is None else gw.data_ptr()
            words[_GRAD_V_INIT] = 0 if grad_v is None else grad_v.data_ptr()
            words[_GRAD_W_INIT] = 0 if grad_w is None else grad_w.data_ptr()
            if parameters:
                gradients = [torch.empty(length, dtype=self.state_dtype, device=self.device) for length in self.lengths]
                for entry, gradient in zip(self.entries, gradients):
                    entry.gradient = gradient.data_ptr()
                scratch = torch.empty(self.scratch_bytes, dtype=torch.uint8, device=self.device)
                words[_SCRATCH] = scratch.data_ptr()
            status = self.run_backward(self.handle, self.backward_address, self.stream())
            if status < 0:
                self._backward_again(x, tape, parameters, status)
            if parameters:
                values = [self.served.known[name][1] for name, _ in self.neurons.learned]
        for i, (value, (_, transform)) in enumerate(zip(values, self.neurons.learned)):
            if transform == "sigmoid":
                known = torch.tensor(value, dtype=self.state_dtype, device=self.device) if len(value) > 1 else value[0]
                gradients[i].mul_(known * (1 - known))
            gradients[i] = gradients[i].view(parameters[i].shape).to(parameters[i].dtype)
        return grad_x, grad_v, grad_w, gradients

    def _backward_again(self, x: torch.Tensor, tape: torch.Tensor, parameters: Sequence[torch.Tensor],
                        status: int) -> None:
        """After a backward that was refused: runs the forward again, from the state that its tape begins with, if the
        layer had other values in between, or another layer left the tape, or tensors were moved: by hooks, or by a
        compiler that computes X again. Autograd has made sure that the tensors have the values of the forward.
        """
        try:
            fail(status)
        except StaleTapeError as problem:
            if problem.rule not in ("SYN-TAPE-PARAMETERS", "SYN-TAPE-STAMP"):
                raise
        _set_parameters(self.served, self.neurons, parameters)
        desc = described("synfire_pointers_desc", n_steps=self.steps, batch=self.descs[1].batch, x=x.data_ptr(),
                         v_init=tape.data_ptr(), tape_bytes=self.tape_bytes)
        if self.n_others:
            desc.w_init = tape.data_ptr() + self.row * (8 if self.state_dtype == torch.float64 else 4)
        fresh, stamp = torch.empty_like(tape), torch.empty(8, dtype=torch.int64, device="cpu")
        desc.tape_memory = self.backward_words[_TAPE] = fresh.data_ptr()
        desc.stamp = ctypes.cast(stamp.data_ptr(), ctypes.POINTER(_api.synfire_tape_stamp))
        self.backward_words[_STAMP] = stamp.data_ptr()
        check(self.run_forward(self.handle, ctypes.addressof(desc), self.stream()))
        check(self.run_backward(self.handle, self.backward_address, self.stream()))


_GIVEN = "given"  # in the place of a state that is a tensor, in the key of a plan


def _plan_for(x: torch.Tensor, v: State, w: State, parameters: Sequence[torch.Tensor], text: str, taped: bool,
              with_v_seq: bool) -> _Plan:
    """The plan for a call, whose x is dense."""
    key = (text, x.shape, x.dtype, x.device, taped, with_v_seq, _GIVEN if isinstance(v, torch.Tensor) else v,
           _GIVEN if isinstance(w, torch.Tensor) else w, None if x.is_contiguous() else x.stride(),
           tuple([one.numel() for one in parameters]) if parameters else None)
    found = _plans.get(key)
    if found is None:
        found = _Plan(Neurons.of(text), x, v, w, parameters, taped, with_v_seq)
        if found.is_lasting:
            if len(_plans) >= _MOST_PLANS:
                _plans.clear()
            _plans[key] = found
    return found


def _dense_for(x: torch.Tensor, parameters: Sequence[torch.Tensor]) -> torch.Tensor:
    if x.is_contiguous():
        return x
    return x.contiguous() if any(one.numel() > 1 for one in parameters) else _as_dense(x)


def forward_now(x: torch.Tensor, v: Optional[torch.Tensor], w: Optional[torch.Tensor],
                parameters: Sequence[torch.Tensor], text: str, taped: bool, with_v_seq: bool) -> Tuple[Any, ...]:
    """The operator of a forward: spikes, V and W after the last step, V of every step, the tape and its stamp. What is
    not wanted has no elements.
    """
    check_input(x)
    x = _dense_for(x, parameters)
    plan = _plan_for(x, v, w, parameters, text, taped, with_v_seq)
    results, tape, stamp = plan.forward(x, v, w, parameters)
    named = dict(zip(plan.outputs, results))
    return (*(named[one] if one in named else x.new_empty(0) for one in ("spikes", "v", "w", "v_seq")),
            torch.empty(0, dtype=torch.uint8, device=x.device) if tape is None else tape,
            torch.empty(0, dtype=torch.int64, device="cpu") if stamp is None else stamp)


def backward_now(x: torch.Tensor, tape: torch.Tensor, stamp: torch.Tensor, parameters: Sequence[torch.Tensor],
                 text: str, grad_spikes: Optional[torch.Tensor], grad_v_final: Optional[torch.Tensor],
                 grad_w_final: Optional[torch.Tensor], grad_v_seq: Optional[torch.Tensor],
                 of_states: bool) -> Tuple[Any, ...]:
    """The operator of a backward: dL/dX, dL/dV and dL/dW before the first step, and of each parameter."""
    x = _dense_for(x, parameters)
    plan = _plan_for(x, None, None, parameters, text, True, False)
    served = _by_handle.get(ctypes.c_uint64.from_address(stamp.data_ptr()).value)
    if served is not None and served is not plan.served:  # the layer grew after the forward
        plan = _Plan(plan.neurons, x, None, None, parameters, True, False, served)
    grad_v_seq = None if grad_v_seq is None or grad_v_seq.numel() == 0 else grad_v_seq
    grad_x, grad_v, grad_w, gradients = plan.backward(x, tape, stamp, parameters, grad_spikes, grad_v_final,
                                                      grad_w_final, grad_v_seq, of_states)
    return (grad_x, x.new_empty(0) if grad_v is None else grad_v, x.new_empty(0) if grad_w is None else grad_w,
            gradients)


# ---- Operators -------------------------------------------------------------------------------------------------------

class SynfireNeuron(torch.autograd.Function):
    """Both passes as autograd sees them in eager calls: with less between them and the library than an operator has."""

    @staticmethod
    def forward(ctx: Any, plan: _Plan, x: Any, v: Any, w: Any, *parameters: Any) -> Any:
        results, tape, stamp = plan.forward(x, v, w, parameters)
        ctx.save_for_backward(x, tape, stamp, *parameters)
        ctx.plan = plan
        if plan.has_states:
            ctx.states = [(one.shape, one.dtype) if isinstance(one, torch.Tensor) else None for one in (v, w)]
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, tape, stamp, *parameters = ctx.saved_tensors
        if torch.is_grad_enabled() or _is_watched(x):
            return _backward_watched(ctx, *grads)
        return _backward(ctx, ctx.plan.backward, x, tape, stamp, parameters, grads)


def _backward(ctx: Any, run: Any, x: Any, tape: Any, stamp: Any, parameters: Any, grads: Any) -> Any:
    plan = ctx.plan
    if plan.is_plain:
        gs, gv = grads
        gw = gv_seq = None
    else:
        named = dict(zip(plan.outputs, grads))
        gs, gv, gw, gv_seq = (named.get(one) for one in ("spikes", "v", "w", "v_seq"))
    if gs is None and gv is None and gw is None and gv_seq is None:
        return (None,) * (4 + len(parameters))
    needed = ctx.needs_input_grad
    of_states = plan.has_states and (needed[2] or needed[3])
    grad_x, grad_v, grad_w, gradients = run(x, tape, stamp, parameters, gs, gv, gw, gv_seq, of_states)
    if of_states:
        grad_v, grad_w = (grad.reshape(of[0]).to(of[1]) if need and of is not None else None
                          for grad, of, need in zip((grad_v, grad_w), ctx.states, needed[2:4]))
    else:
        grad_v = grad_w = None
    return (None, grad_x, grad_v, grad_w, *gradients)


def _backward_watched(ctx: Any, *grads: Any) -> Any:
    """The backward where a gradient of the gradient is wanted, which is refused, or where a compiler or a mode of
    PyTorch looks on.
    """
    if not _has_operators:
        return _backward_once(ctx, *grads)
    x, tape, stamp, *parameters = ctx.saved_tensors

    def run(x: Any, tape: Any, stamp: Any, parameters: Any, *others: Any) -> Any:
        return torch.ops.synfire.neuron_backward(x, tape, stamp, parameters, ctx.plan.text, *others)
    return _backward(ctx, run, x, tape, stamp, parameters, grads)


@torch.autograd.function.once_differentiable
def _backward_once(ctx: Any, *grads: Any) -> Any:
    x, tape, stamp, *parameters = ctx.saved_tensors
    return _backward(ctx, ctx.plan.backward, x, tape, stamp, parameters, grads)


_has_operators = hasattr(torch, "library") and hasattr(torch.library, "register_autograd") and \
    hasattr(torch.library, "register_fake")
_library: Any = None


def _register() -> None:
    global _library
    _library = torch.library.Library("synfire", "DEF")
    _library.define("neuron(Tensor x, Tensor? v, Tensor? w, Tensor[] parameters, str text, bool taped, "
                    "bool with_v_seq) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)")
    _library.define("neuron_backward(Tensor x, Tensor tape, Tensor stamp, Tensor[] parameters, str text, "
                    "Tensor? grad_spikes, Tensor? grad_v_final, Tensor? grad_w_final, Tensor? grad_v_seq, "
                    "bool of_states) -> (Tensor, Tensor, Tensor, Tensor[])")

    for key in ("CPU", "CUDA"):
        _library.impl("neuron", forward_now, key)
        _library.impl("neuron_backward", backward_now, key)

    @torch.library.register_fake("synfire::neuron", lib=_library)
    def _(x, v, w, parameters, text, taped, with_v_seq):
        neurons = Neurons.of(text)
        empty = x.new_empty(0)
        size = tape_bytes(neurons, x, x.shape[0], x.numel() // x.shape[0]) if taped else 0
        return (torch.empty_like(x) if neurons.fires else empty, _empty_state(x),
                _empty_others(x, neurons.n_others) if neurons.n_others else empty.clone(),
                torch.empty_like(x) if with_v_seq or not neurons.fires else empty.clone(),
                torch.empty(size, dtype=torch.uint8, device=x.device),
                torch.empty(8 if taped else 0, dtype=torch.int64, device="cpu"))

    @torch.library.register_fake("synfire::neuron_backward", lib=_library)
    def _(x, tape, stamp, parameters, text, grad_spikes, grad_v_final, grad_w_final, grad_v_seq, of_states):
        neurons = Neurons.of(text)
        return (torch.empty_like(x), _empty_state(x) if of_states else x.new_empty(0),
                _empty_others(x, neurons.n_others) if of_states and neurons.n_others else x.new_empty(0),
                [torch.empty_like(one) for one in parameters])

    def setup_context(ctx, inputs, output):
        x, v, w, parameters, text, _, _ = inputs
        ctx.save_for_backward(x, output[4], output[5], *parameters)
        ctx.text, ctx.n = text, len(parameters)
        ctx.shapes = (None if v is None else v.shape, None if w is None else w.shape)
        ctx.types = (None if v is None else v.dtype, None if w is None else w.dtype)
        ctx.of_states = v is not None and v.requires_grad or w is not None and w.requires_grad
        ctx.set_materialize_grads(False)

    def backward(ctx, gs, gv, gw, gv_seq, *_):
        x, tape, stamp, *parameters = ctx.saved_tensors
        if gs is None and gv is None and gw is None and gv_seq is None:
            return None, None, None, [None] * ctx.n, None, None, None
        grad_x, grad_v, grad_w, gradients = torch.ops.synfire.neuron_backward(
            x, tape, stamp, parameters, ctx.text, gs, gv, gw, gv_seq, ctx.of_states)
        grads = [None if shape is None or not ctx.of_states else one.reshape(shape).to(dtype)
                 for one, shape, dtype in zip((grad_v, grad_w), ctx.shapes, ctx.types)]
        return (grad_x, *grads, gradients, None, None, None)

    def second_backward(ctx, *_):
        refuse("PYTHON-SECOND-GRADIENT", "a gradient of a gradient of neurons is not computed")

    torch.library.register_autograd("synfire::neuron", backward, setup_context=setup_context, lib=_library)
    torch.library.register_autograd("synfire::neuron_backward", second_backward, lib=_library)


if _has_operators:
    _register()


_apply = SynfireNeuron.apply
_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
_n_modes, _has_transforms, _is_tracing = (getattr(torch._C, name, None) for name in (
    "_len_torch_dispatch_stack", "_are_functorch_transforms_active", "_is_tracing"))
_can_tell = None not in (_n_modes, _has_transforms, _is_tracing)


def _is_watched(x: torch.Tensor) -> bool:
    """True if anything but autograd is to see the operator: a compiler, a mode, a transform, or a class of tensors."""
    if not _has_operators:
        return False
    return _is_compiling() or not _can_tell or type(x) not in _PLAIN or _n_modes() > 0 or _has_transforms() or \
        _is_tracing()


def neuron(x: torch.Tensor, v: State, w: State, parameters: List[torch.Tensor], text: str,
           with_v_seq: bool = False) -> Tuple[Any, ...]:
    """A forward that autograd knows: spikes, V and W after the last step, and V of every step, each None or empty where
    the neurons have none. An initial state is a tensor, the value of all neurons, or None: that of the model.
    """
    if getattr(x, "layout", None) is not torch.strided:
        refuse_layout(x, "x")
    if _is_watched(x) or x.device.type not in ("cpu", "cuda"):
        return _by_operator(x, v, w, parameters, text, with_v_seq)
    if x.dtype not in _DTYPES or x.dim() < 2 or x.numel() == 0:
        check_input(x)
    if x.is_neg():
        x = x.resolve_neg()
    # The backward reads X again: that which the forward reads, and not one of which both make a copy.
    x = _dense_for(x, parameters)
    taped = torch.is_grad_enabled() and (
        x.requires_grad or isinstance(v, torch.Tensor) and v.requires_grad or
        isinstance(w, torch.Tensor) and w.requires_grad or any([one.requires_grad for one in parameters]))
    plan = _plan_for(x, v, w, parameters, text, taped, with_v_seq)
    results = _apply(plan, x, v, w, *parameters) if taped else plan.forward(x, v, w, parameters)[0]
    if plan.is_plain:
        return (*results, None, None)
    named = dict(zip(plan.outputs, results))
    return named.get("spikes"), named["v"], named.get("w"), named.get("v_seq")


def _by_operator(x: torch.Tensor, v: State, w: State, parameters: List[torch.Tensor], text: str,
                 with_v_seq: bool) -> Tuple[Any, ...]:
    check_input(x)
    if not _has_operators:
        context_of(x.device)  # refuses it
    x = _dense_for(x, parameters)
    if not (v is None or isinstance(v, torch.Tensor)):
        v = torch.full((x.numel() // x.shape[0],), v, dtype=_state_dtype(x), device=x.device)
    if not (w is None or isinstance(w, torch.Tensor)):
        w = torch.full((Neurons.of(text).n_others * (x.numel() // x.shape[0]),), w, dtype=_state_dtype(x), device=x.device)
    taped = torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in (x, v, w, *parameters))
    return torch.ops.synfire.neuron(x, v, w, parameters, text, taped, with_v_seq)[:4]
