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
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from .. import _api
from .._call import described
from .._errors import StaleTapeError, check, refuse
from .._library import library
from .._objects import Context, Layer

_DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16"}
CHECKPOINT_INTERVAL = 32
# Neurons of a batch row of the layer, where no parameter is one number per neuron: any other row is as many.
_ROW = 128


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
    def n_states(self) -> int:
        return 2 if self.model == "izhikevich" else 1

    @property
    def fires(self) -> bool:
        return self.model != "li"

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
        self.desc = described("synfire_pointers_desc")


_contexts: Dict[Tuple[str, int], Context] = {}
_layers: Dict[Any, _Served] = {}
_by_handle: "collections.OrderedDict[int, _Served]" = collections.OrderedDict()
_initial: "collections.OrderedDict[Any, torch.Tensor]" = collections.OrderedDict()
_lock = threading.RLock()


def _after_fork() -> None:
    # A child has none of the parent's threads, and no GPU: it makes a context of its own.
    global _lock
    _lock = threading.RLock()
    for one in (_contexts, _layers, _by_handle, _initial):
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
                             undecayed_input=neurons.undecayed_input, **values))
        _layers[key] = made
        _by_handle[made.layer.handle] = made
        while len(_by_handle) > 1024:  # layers that grew, and whose forwards nobody waits for
            _by_handle.popitem(last=False)
        return made


def initial_state(x: torch.Tensor, row: int, value: float) -> torch.Tensor:
    """A constant state, which calls on one stream share."""
    dtype = _state_dtype(x)
    key = (x.device, dtype, row, value, _stream_of(x))
    found = _initial.get(key)
    if found is None:
        found = torch.full((row,), value, dtype=dtype, device=x.device)
        if x.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return found  # it is memory of that graph
        _initial[key] = found
        while len(_initial) > 64:
            _initial.popitem(last=False)
    return found


# ---- The passes ------------------------------------------------------------------------------------------------------

def tape_bytes(neurons: Neurons, x: torch.Tensor, steps: Any, row: Any) -> Any:
    """The size that synfire_layer_get_run_memory() gives for a tape that recomputes."""
    unit = 8 if x.dtype == torch.float64 else 4
    return ((steps + CHECKPOINT_INTERVAL - 1) // CHECKPOINT_INTERVAL * neurons.n_states * row * unit + 255) // 256 * 256


def _stream_of(x: torch.Tensor) -> Optional[int]:
    if x.device.type != "cuda":
        return None
    # 0 is CUDA's legacy stream, which the library calls 1.
    return torch.cuda.current_stream(x.device).cuda_stream or 1


def _row_of(neurons: Neurons, row: int, parameters: Sequence[torch.Tensor]) -> int:
    n = max((one.numel() for one in parameters), default=1)
    if n > 1:
        if row % n:
            refuse("PYTHON-SHAPE", f"a parameter has {n} values, and a step has {row} neurons")
        return n
    return _ROW if row % _ROW == 0 else row


def _set_parameters(served: _Served, neurons: Neurons, parameters: Sequence[torch.Tensor]) -> None:
    """Gives the layer the values of learned parameters that have changed. On a GPU this waits for them."""
    for (name, transform), tensor in zip(neurons.learned, parameters):
        version = (tensor.data_ptr(), tensor._version) if tensor.device.type == "cuda" else None
        if version is not None and served.known.get(name, (None,))[0] == version:
            continue
        values = tensor.detach()
        values = (values.sigmoid() if transform == "sigmoid" else values).double().reshape(-1).tolist()
        if served.known.get(name, (None, None))[1] != values:
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


def _like(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """`other` with the strides and the type of `x`."""
    if other.dtype == x.dtype and other.stride() == x.stride():
        return other
    return torch.empty_like(x).copy_(other)


def _states(state: Optional[torch.Tensor], x: torch.Tensor, row: int) -> Optional[torch.Tensor]:
    if state is None:
        return None
    dtype = _state_dtype(x)
    if state.numel() != row:
        refuse("PYTHON-SHAPE", f"a state has {state.numel()} elements, and a step has {row} neurons")
    if state.device != x.device:
        refuse("PYTHON-DEVICE", f"a state is on {state.device}, and x is on {x.device}")
    if state.dtype != dtype:
        state = state.to(dtype)
    if state.dim() > 1 and state.stride() != x[0].stride():
        state = torch.empty_like(x[0], dtype=dtype).copy_(state.view(x.shape[1:]))
    return state


def set_attributes(module: torch.nn.Module, **values: Any) -> None:
    """Sets attributes of a module that are not parameters, without what a module looks up for each of them."""
    if _is_compiling():
        for name, value in values.items():
            setattr(module, name, value)
    else:
        module.__dict__.update(values)


_is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


def check_input(x: torch.Tensor) -> None:
    if x.dtype not in _DTYPES:
        refuse("PYTHON-DTYPE", f"x has the type {x.dtype}; allowed are " + ", ".join(str(one) for one in _DTYPES))
    if x.dim() < 2 or x.numel() == 0:
        refuse("PYTHON-SHAPE", f"x has the shape {tuple(x.shape)}; [T, ...] with at least one neuron is needed")


def _fill_common(desc: Any, served: _Served, x: torch.Tensor, steps: int, row: int) -> None:
    ctypes.memset(ctypes.addressof(desc) + 8, 0, ctypes.sizeof(desc) - 8)
    desc.tape, desc.n_steps, desc.batch, desc.x = 0, steps, row // served.layer.neurons, x.data_ptr()


def forward_now(x: torch.Tensor, v: Optional[torch.Tensor], w: Optional[torch.Tensor],
                parameters: Sequence[torch.Tensor], text: str, taped: bool, with_v_seq: bool) -> Tuple[Any, ...]:
    """Runs a forward: spikes, V and W after the last step, V of every step, the tape and its stamp. What is not wanted
    has no elements.
    """
    neurons = Neurons.of(text)
    check_input(x)
    if parameters and any(one.numel() > 1 for one in parameters):
        x = x.contiguous()
    x = _as_dense(x)
    steps, row = x.shape[0], x.numel() // x.shape[0]
    v0, w0 = _states(v, x, row), _states(w, x, row)
    if v0 is None:
        v0 = initial_state(x, row, neurons.initial_v)
    if w0 is None and neurons.n_states == 2:
        w0 = initial_state(x, row, 0.0)
    spikes = torch.empty_like(x) if neurons.fires else x.new_empty(0)
    v_final = _empty_state(x)
    w_final = _empty_state(x) if neurons.n_states == 2 else x.new_empty(0)
    has_v_seq = with_v_seq or not neurons.fires
    v_seq = torch.empty_like(x) if has_v_seq else x.new_empty(0)
    size = tape_bytes(neurons, x, steps, row) if taped else 0
    tape = torch.empty(size, dtype=torch.uint8, device=x.device)
    stamp = torch.empty(8 if taped else 0, dtype=torch.int64)
    served = _layer_for(neurons, x, steps, row, _row_of(neurons, row, parameters))
    with served.lock:
        if parameters:
            _set_parameters(served, neurons, parameters)
        desc = served.desc
        _fill_common(desc, served, x, steps, row)
        desc.v_init, desc.v_final = v0.data_ptr(), v_final.data_ptr()
        if neurons.fires:
            desc.spikes = spikes.data_ptr()
        if w0 is not None:
            desc.w_init, desc.w_final = w0.data_ptr(), w_final.data_ptr()
        if has_v_seq:
            desc.v_seq = v_seq.data_ptr()
        if taped:
            desc.tape_memory, desc.tape_bytes = tape.data_ptr(), size
            desc.stamp = ctypes.cast(stamp.data_ptr(), ctypes.POINTER(_api.synfire_tape_stamp))
        else:
            desc.tape = _api.SYNFIRE_TAPE_NONE
        check(library().synfire_layer_run_forward(served.layer.handle, ctypes.byref(desc), _stream_of(x)))
    return spikes, v_final, w_final, v_seq, tape, stamp


def _forward_again(served: _Served, neurons: Neurons, parameters: Sequence[torch.Tensor], x: torch.Tensor,
                   tape: torch.Tensor, steps: int, row: int) -> Any:
    """Runs a forward again from the state that its tape begins with, into a new tape, for the descriptor of a backward.
    """
    _set_parameters(served, neurons, parameters)
    desc, fresh, stamp = served.desc, torch.empty_like(tape), torch.empty(8, dtype=torch.int64)
    desc.v_init = tape.data_ptr()
    if neurons.n_states == 2:
        desc.w_init = tape.data_ptr() + row * (8 if x.dtype == torch.float64 else 4)
    desc.tape_memory, desc.tape_bytes = fresh.data_ptr(), fresh.numel()
    desc.stamp = ctypes.cast(stamp.data_ptr(), ctypes.POINTER(_api.synfire_tape_stamp))
    check(library().synfire_layer_run_forward(served.layer.handle, ctypes.byref(desc), _stream_of(x)))
    return fresh, stamp


def backward_now(x: torch.Tensor, tape: torch.Tensor, stamp: torch.Tensor, parameters: Sequence[torch.Tensor],
                 text: str, grad_spikes: Optional[torch.Tensor], grad_v_final: Optional[torch.Tensor],
                 grad_w_final: Optional[torch.Tensor], grad_v_seq: Optional[torch.Tensor],
                 of_states: bool) -> Tuple[Any, ...]:
    """Runs the backward of a forward: dL/dX, dL/dV and dL/dW before the first step, and of each parameter."""
    neurons = Neurons.of(text)
    if parameters and any(one.numel() > 1 for one in parameters):
        x = x.contiguous()
    x = _as_dense(x)
    steps, row = x.shape[0], x.numel() // x.shape[0]
    served = _by_handle.get(ctypes.c_uint64.from_address(stamp.data_ptr()).value)
    if served is None:
        # Nothing has the layer any more: the library says so itself.
        served = _layer_for(neurons, x, steps, row, _row_of(neurons, row, parameters))
    gs = None if grad_spikes is None or not neurons.fires else _like(x, grad_spikes)
    gs_seq = None if grad_v_seq is None or grad_v_seq.numel() == 0 else _like(x, grad_v_seq)
    gv = None if grad_v_final is None else _like(_empty_state(x), grad_v_final)
    gw = None if grad_w_final is None or neurons.n_states == 1 else _like(_empty_state(x), grad_w_final)
    grad_x = torch.empty_like(x)
    grad_v = _empty_state(x) if of_states else x.new_empty(0)
    grad_w = _empty_state(x) if of_states and neurons.n_states == 2 else x.new_empty(0)
    dtype = _state_dtype(x)
    gradients = [torch.empty(one.numel(), dtype=dtype, device=x.device) for one in parameters]
    scratch = None
    with served.lock:
        desc = served.desc
        _fill_common(desc, served, x, steps, row)
        desc.tape_memory, desc.tape_bytes = tape.data_ptr(), tape.numel()
        desc.stamp = ctypes.cast(stamp.data_ptr(), ctypes.POINTER(_api.synfire_tape_stamp))
        for name, tensor in (("grad_spike_seq", gs), ("grad_v_seq", gs_seq), ("grad_v_final", gv),
                             ("grad_w_final", gw), ("grad_x_seq", grad_x)):
            if tensor is not None:
                setattr(desc, name, tensor.data_ptr())
        if of_states:
            desc.grad_v_init = grad_v.data_ptr()
            if neurons.n_states == 2:
                desc.grad_w_init = grad_w.data_ptr()
        if parameters:
            entries = (_api.synfire_gradient_pointer * len(parameters))()
            for entry, (name, _), gradient in zip(entries, neurons.learned, gradients):
                entry.name, entry.gradient, entry.length = name.encode(), gradient.data_ptr(), gradient.numel()
            desc.gradient_pointers, desc.n_gradient_pointers = entries, len(entries)
            _, size = served.layer.run_memory("recompute", steps, row // served.layer.neurons, len(entries))
            scratch = torch.empty(size, dtype=torch.uint8, device=x.device)
            desc.scratch, desc.scratch_bytes = scratch.data_ptr(), size
        try:
            check(library().synfire_layer_run_backward(served.layer.handle, ctypes.byref(desc), _stream_of(x)))
        except StaleTapeError as problem:
            if problem.rule not in ("SYN-TAPE-PARAMETERS", "SYN-TAPE-STAMP"):
                raise
            # The layer had other values in between, or tensors were moved: by hooks, or by a compiler that computes X
            # again. Autograd has made sure that the tensors have the values of the forward.
            again = _forward_again(served, neurons, parameters, x, tape, steps, row)
            check(library().synfire_layer_run_backward(served.layer.handle, ctypes.byref(desc), _stream_of(x)))
            del again
        values = [served.known[name][1] for name, _ in neurons.learned]
    for i, (_, transform) in enumerate(neurons.learned):
        if transform == "sigmoid":
            known = torch.tensor(values[i], dtype=dtype, device=x.device) if len(values[i]) > 1 \
                else values[i][0]
            gradients[i].mul_(known * (1 - known))
        gradients[i] = gradients[i].view(parameters[i].shape).to(parameters[i].dtype)
    return (grad_x, grad_v, grad_w, *gradients)


# ---- Operators -------------------------------------------------------------------------------------------------------

class _Pass(torch.autograd.Function):
    """The operator where PyTorch has no torch.library with fake kernels and autograd formulas (before 2.4)."""

    @staticmethod
    def forward(ctx: Any, x: Any, v: Any, w: Any, text: str, taped: bool, with_v_seq: bool, *parameters: Any) -> Any:
        outputs = forward_now(x, v, w, parameters, text, taped, with_v_seq)
        ctx.save_for_backward(x, outputs[4], outputs[5], *parameters)
        ctx.text, ctx.shapes = text, (None if v is None else v.shape, None if w is None else w.shape)
        ctx.types = (None if v is None else v.dtype, None if w is None else w.dtype)
        ctx.of_states = v is not None and v.requires_grad or w is not None and w.requires_grad
        ctx.mark_non_differentiable(outputs[4], outputs[5])
        ctx.set_materialize_grads(False)
        return outputs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gs: Any, gv: Any, gw: Any, gv_seq: Any, *_: Any) -> Any:
        x, tape, stamp, *parameters = ctx.saved_tensors
        if gs is None and gv is None and gw is None and gv_seq is None:
            return (None,) * (6 + len(parameters))
        grad_x, grad_v, grad_w, *gradients = backward_now(x, tape, stamp, parameters, ctx.text, gs, gv, gw, gv_seq,
                                                          ctx.of_states)
        grads = [None if shape is None or one.numel() == 0 else one.reshape(shape).to(dtype)
                 for one, shape, dtype in zip((grad_v, grad_w), ctx.shapes, ctx.types)]
        return (grad_x, *grads, None, None, None, *gradients)


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

    def backward_kernel(*arguments: Any) -> Any:
        grad_x, grad_v, grad_w, *gradients = backward_now(*arguments)
        return grad_x, grad_v, grad_w, gradients

    for key in ("CPU", "CUDA"):
        _library.impl("neuron", forward_now, key)
        _library.impl("neuron_backward", backward_kernel, key)

    @torch.library.register_fake("synfire::neuron", lib=_library)
    def _(x, v, w, parameters, text, taped, with_v_seq):
        neurons = Neurons.of(text)
        empty = x.new_empty(0)
        size = tape_bytes(neurons, x, x.shape[0], x.numel() // x.shape[0]) if taped else 0
        return (torch.empty_like(x) if neurons.fires else empty, _empty_state(x),
                _empty_state(x) if neurons.n_states == 2 else empty.clone(),
                torch.empty_like(x) if with_v_seq or not neurons.fires else empty.clone(),
                torch.empty(size, dtype=torch.uint8, device=x.device),
                torch.empty(8 if taped else 0, dtype=torch.int64, device="cpu"))

    @torch.library.register_fake("synfire::neuron_backward", lib=_library)
    def _(x, tape, stamp, parameters, text, grad_spikes, grad_v_final, grad_w_final, grad_v_seq, of_states):
        neurons = Neurons.of(text)
        return (torch.empty_like(x), _empty_state(x) if of_states else x.new_empty(0),
                _empty_state(x) if of_states and neurons.n_states == 2 else x.new_empty(0),
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


def neuron(x: torch.Tensor, v: Optional[torch.Tensor], w: Optional[torch.Tensor], parameters: List[torch.Tensor],
           text: str, with_v_seq: bool = False) -> Tuple[Any, ...]:
    """A forward that autograd knows: spikes, V and W after the last step, and V of every step."""
    # The backward reads X again: that which the forward reads, and not one of which both make a copy.
    x = x.contiguous() if any(one.numel() > 1 for one in parameters) else _as_dense(x)
    taped = torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in (x, v, w, *parameters))
    if _has_operators:
        return torch.ops.synfire.neuron(x, v, w, parameters, text, taped, with_v_seq)[:4]
    if not taped:
        return forward_now(x, v, w, parameters, text, False, with_v_seq)[:4]
    return _Pass.apply(x, v, w, text, taped, with_v_seq, *parameters)[:4]
