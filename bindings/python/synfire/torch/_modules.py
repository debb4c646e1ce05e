"""Modules of neurons.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import itertools
import math
from typing import Any, Iterable, List, Optional

import torch

from .. import _api
from .._errors import refuse, suggestion
from . import _passes
from ._passes import Neurons

_numbers = itertools.count(1)
MODELS = ("if", "lif", "plif", "qif", "eif", "izhikevich", "li", "lif_exact", "li_exact", "cuba_lif", "cuba_li",
          "cuba_lif_exact", "cuba_li_exact", "integrator", "alif")


class Neuron(torch.nn.Module):
    """Spiking neurons over all steps of an input [T, ...], such as [T, B, N] or [T, B, C, H, W]; returns their spikes.

    model: "lif", "if", "plif", "qif", "eif", "izhikevich", "lif_exact", "cuba_lif", "cuba_lif_exact", "alif"; or
    "li", "li_exact", "cuba_li", "cuba_li_exact", "integrator", which never fire and return V of every step.
    surrogate: "sigmoid", "atan" and others; its numbers, such as alpha, are keywords too. reset: "hard", "soft" or
    "soft_delayed". strict_threshold: fires above the threshold, not at it. refractory_steps: steps after a spike in
    which V stays as the reset left it, and nothing fires. step_mode: "m", all steps in one call, or "s", one step a call,
    without the dimension of steps. learn: names of parameters of the neurons that become parameters of the module.
    v_reset, tau and others: as the library has them. store_v_seq: whether V of every step is kept, as v_seq.

    V and the other state variables continue from call to call: v and w, None at the start. w is the model's second
    variable, such as the current of "cuba_lif"; or the countdown that a delayed reset and refractory steps have; or
    both, [2, ...], the countdown last. reset() starts again, and detach() keeps gradients from flowing into the calls
    before.

    x may be float32, float64, float16 or bfloat16; spikes have the type of x, and state and arithmetic are float32
    (float64 beside float64). Autocast changes nothing: x is taken in the type that it has.
    """

    def __init__(self, model: str = "lif", *, surrogate: str = "sigmoid", reset: str = "hard",
                 detach_reset: bool = False, undecayed_input: bool = False, step_mode: str = "m",
                 learn: Iterable[str] = (), store_v_seq: bool = False, strict_threshold: bool = False,
                 refractory_steps: int = 0, **parameters: float):
        super().__init__()
        for what, value, allowed in (("model", model, MODELS), ("reset", reset, tuple(_api.NAMES["reset"])),
                                     ("step_mode", step_mode, ("m", "s")),
                                     ("surrogate", surrogate, tuple(_api.NAMES["surrogate"]))):
            if value not in allowed:
                refuse("PYTHON-CONSTANT", f"{what} is {value!r}{suggestion(str(value), allowed)}; allowed are "
                       + ", ".join(f'"{one}"' for one in allowed))
        if isinstance(refractory_steps, bool) or not isinstance(refractory_steps, int) or \
                not 0 <= refractory_steps <= 1000000:
            refuse("PYTHON-RANGE", f"refractory_steps is {refractory_steps!r}; an integer from 0 to 1,000,000 is needed")
        learned = tuple(learn)
        known = parameters_of(model, surrogate)
        for name in (*parameters, *learned):
            if name not in known:
                refuse("PYTHON-KEYWORD", f'Neuron has no "{name}"{suggestion(name, known)}; "{model}" with '
                       f'"{surrogate}" has ' + ", ".join(known))
        self.step_mode, self.store_v_seq = step_mode, store_v_seq
        self.v: Optional[torch.Tensor] = None
        self.w: Optional[torch.Tensor] = None
        self.v_seq: Optional[torch.Tensor] = None
        self._learned = learned
        for name in learned:
            self.register_parameter(f"{name}_", torch.nn.Parameter(torch.tensor(float(parameters.get(name,
                                                                                                     known[name])))))
        self._neurons = Neurons(model, surrogate, reset, bool(detach_reset), bool(undecayed_input),
                                tuple(sorted((name, float(value)) for name, value in parameters.items()
                                             if name not in learned)),
                                tuple((name, "") for name in learned), next(_numbers) if learned else 0,
                                bool(strict_threshold), refractory_steps)
        self._text = self._neurons.text
        self._fires, self._n_others = self._neurons.fires, self._neurons.n_others

    def reset(self) -> None:
        """The next call starts from the initial state."""
        _passes.set_attributes(self, v=None, w=None, v_seq=None)

    def detach(self) -> None:
        """Gradients of later calls end at the state of now."""
        self.v, self.w = (None if one is None else one.detach() for one in (self.v, self.w))

    def _tensors(self) -> List[torch.Tensor]:
        return [getattr(self, f"{name}_") for name in self._learned]

    def _check_states(self, x: torch.Tensor) -> None:
        _passes.check_input(x)
        for name, state, n in (("v", self.v, 1), ("w", self.w, self._n_others)):
            if state is not None and state.shape != (x.shape[1:] if n < 2 else (n, *x.shape[1:])):
                refuse("PYTHON-SHAPE", f"{name} has the shape {tuple(state.shape)} of an earlier call, and a step of x "
                       f"has {tuple(x.shape[1:])}; reset() starts again")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.step_mode == "s":
            x = x.unsqueeze(0)
        v, w = self.v, self.w
        if v is not None or w is not None:
            self._check_states(x)
        spikes, v, w, v_seq = _passes.neuron(x, v, w, self._tensors() if self._learned else [], self._text,
                                             self.store_v_seq)
        _passes.set_attributes(self, v=v, w=w if self._n_others else None, v_seq=v_seq if self.store_v_seq else None)
        result = spikes if self._fires else v_seq
        return result.squeeze(0) if self.step_mode == "s" else result

    def __deepcopy__(self, memo: Any) -> "Neuron":
        import copy
        made = self.__class__.__new__(self.__class__)
        memo[id(self)] = made
        for name, value in self.__dict__.items():
            made.__dict__[name] = None if name in ("v", "w", "v_seq") else copy.deepcopy(value, memo)
        if made._learned:  # its parameters are its own
            made._neurons = made._neurons._replace(number=next(_numbers))
            made._text = made._neurons.text
        return made

    def __getstate__(self) -> Any:
        state = dict(self.__dict__)
        state["v"] = state["w"] = state["v_seq"] = None
        return state

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        if self._learned:
            self._neurons = self._neurons._replace(number=next(_numbers))
            self._text = self._neurons.text

    def extra_repr(self) -> str:
        neurons = self._neurons
        parts = [f'"{neurons.model}"', f'surrogate="{neurons.surrogate}"', f'reset="{neurons.reset}"',
                 f'step_mode="{self.step_mode}"', *(f"{name}={value:g}" for name, value in neurons.parameters)]
        if neurons.refractory_steps:
            parts.append(f"refractory_steps={neurons.refractory_steps}")
        if self._learned:
            parts.append(f"learn={self._learned}")
        return ", ".join(parts)


def parameters_of(model: str, surrogate: str) -> Any:
    """The parameters of a model and a surrogate, with their defaults."""
    key = (model, surrogate)
    if key not in _parameters:
        from .._objects import Layer
        layer = Layer(_passes.context_of(torch.device("cpu")), steps=1, neurons=1, model=model,
                      surrogate="default" if model in _passes.SILENT else surrogate)
        found = {one.name: one.default for one in layer.parameters()}
        if model == "plif":
            found["tau"] = 1 / found["reciprocal_tau"]
        layer.close()
        _parameters[key] = found
    return _parameters[key]


_parameters: Any = {}


def sigmoid_inverse(tau: float) -> float:
    """w with 1/tau = sigmoid(w)."""
    return -math.log(tau - 1)
