"""Makes the spiking neurons of a network that exists run on this library.

A node of SpikingJelly is known by what it has, not by where it comes from: the name of its class, and the attributes
that SpikingJelly documents. Its module, parameters, state and everything around it stay as they are; only `forward` of
the instance is replaced. SpikingJelly itself is not imported.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import itertools
import types
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch

from .._errors import refuse
from . import _passes
from ._passes import Neurons

_numbers = itertools.count(1 << 40)

# The model of each class, and its parameters by the names of the attributes.
_NODES: Dict[str, Tuple[str, Dict[str, str]]] = {
    "IFNode": ("if", {}),
    "LIFNode": ("lif", {"tau": "tau"}),
    "ParametricLIFNode": ("plif", {}),
    "QIFNode": ("qif", {"tau": "tau", "v_c": "v_c", "a0": "a0", "v_rest": "v_rest"}),
    "EIFNode": ("eif", {"tau": "tau", "delta_T": "delta_T", "theta_rh": "theta_rh", "v_rest": "v_rest"}),
    "IzhikevichNode": ("izhikevich", {"tau": "tau", "v_c": "v_c", "a0": "a0", "v_rest": "v_rest", "tau_w": "tau_w",
                                      "a": "a", "b": "b"}),
}
_SURROGATES: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "Sigmoid": ("sigmoid", ("alpha",)), "ATan": ("atan", ("alpha",)),
    "PiecewiseQuadratic": ("piecewise_quadratic", ("alpha",)), "PiecewiseExp": ("piecewise_exp", ("alpha",)),
    "SoftSign": ("soft_sign", ("alpha",)), "SuperSpike": ("super_spike", ("alpha",)), "Erf": ("erf", ("alpha",)),
    "PiecewiseLeakyReLU": ("piecewise_leaky_relu", ("w", "c")), "S2NN": ("s2nn", ("alpha", "beta")),
    "QPseudoSpike": ("q_pseudo_spike", ("alpha",)), "LeakyKReLU": ("leaky_k_relu", ("leak", "k")),
    "FakeNumericalGradient": ("fake_numerical_gradient", ("alpha",)),
    "LogTailedReLU": ("log_tailed_relu", ("alpha",)),
    "NonzeroSignLogAbs": ("nonzero_sign_log_abs", ("alpha",)),
    "SquarewaveFourierSeries": ("squarewave_fourier_series", ("n", "T_period")), "Rect": ("rect", ("alpha",)),
}


class Report(NamedTuple):
    """The names of the modules that accelerate() changed, and why it left others alone."""

    accelerated: List[str]
    left_alone: Dict[str, str]

    def __str__(self) -> str:
        lines = [f"{len(self.accelerated)} modules run on Synfire"]
        lines += [f"left alone: {name or 'the network itself'}: {why}" for name, why in self.left_alone.items()]
        return "\n".join(lines)


def _looks_like_a_node(module: torch.nn.Module) -> bool:
    return all(hasattr(module, name) for name in ("v_threshold", "v_reset", "surrogate_function", "step_mode"))


def _number(value: Any) -> float:
    return float(value.detach()) if isinstance(value, torch.Tensor) else float(value)


def _problem_of(module: torch.nn.Module) -> str:
    """Why a node is left alone; empty where it is not."""
    kind = type(module).__name__
    if kind not in _NODES:
        return f"its class is {kind}; known are {', '.join(_NODES)}"
    needed = (*_NODES[kind][1], *(("decay_input",) if kind in ("LIFNode", "ParametricLIFNode") else ()),
              *(("w",) if kind == "ParametricLIFNode" else ()))
    missing = [name for name in needed if not hasattr(module, name)]
    if missing:
        return f"it has no {', '.join(missing)}"
    surrogate = module.surrogate_function
    name = type(surrogate).__name__
    if name not in _SURROGATES:
        return f"its surrogate is {name}; known are {', '.join(_SURROGATES)}"
    if not getattr(surrogate, "spiking", True):
        return "its surrogate has spiking=False: it gives the smooth function itself, and no spikes"
    missing = [one for one in _SURROGATES[name][1] if not hasattr(surrogate, one)]
    if missing:
        return f"its surrogate has no {', '.join(missing)}"
    if any(isinstance(getattr(module, one), torch.nn.Parameter) for one in (*_NODES[kind][1], "v_threshold")):
        return "a parameter that is fixed in this class is a torch.nn.Parameter"
    if kind == "ParametricLIFNode" and module.w.numel() != 1:
        return "its w has more than one element"
    return ""


class _Node:
    """How a node runs: its neurons, of the attributes that it has now."""

    def __init__(self, kind: str):
        self.kind, self.number = kind, next(_numbers)
        self.key: Any = None
        self.text, self.neurons = "", Neurons()

    def __deepcopy__(self, memo: Any) -> "_Node":
        return _Node(self.kind)

    def update(self, module: Any) -> None:
        """Attributes may change at any time: compared with those of the last call."""
        model, names = _NODES[self.kind]
        surrogate = module.surrogate_function
        of_surrogate = _SURROGATES[type(surrogate).__name__]
        key = (module.v_threshold, module.v_reset, module.detach_reset, type(surrogate),
               getattr(module, "decay_input", True), tuple(getattr(module, name) for name in names),
               tuple(getattr(surrogate, name) for name in of_surrogate[1]))
        if key == self.key:
            return
        parameters = {name: _number(getattr(module, name)) for name in names}
        parameters["v_threshold"] = _number(module.v_threshold)
        if module.v_reset is not None:
            parameters["v_reset"] = _number(module.v_reset)
            if model in ("lif", "plif"):
                parameters["v_rest"] = parameters["v_reset"]  # SpikingJelly leaks towards v_reset
        for name in of_surrogate[1]:
            parameters[name] = _number(getattr(surrogate, name))
        learned = (("reciprocal_tau", "sigmoid"),) if model == "plif" else ()
        self.neurons = Neurons(model, of_surrogate[0], "soft" if module.v_reset is None else "hard",
                               bool(module.detach_reset), not getattr(module, "decay_input", True),
                               tuple(sorted(parameters.items())), learned, self.number if learned else 0)
        self.text, self.key = self.neurons.text, key


def _state(value: Any, x: torch.Tensor, name: str) -> Any:
    """A state as SpikingJelly keeps it: a number until the first call, then a tensor."""
    if isinstance(value, torch.Tensor):
        if value.dim() == 0:
            value = float(value)
        else:
            if value.numel() != x[0].numel():
                refuse("PYTHON-SHAPE", f"{name} has the shape {tuple(value.shape)}, and a step of the input has "
                       f"{tuple(x.shape[1:])}; reset_net starts again")
            return value
    return float(value)


def _forward(self: Any, x: torch.Tensor) -> torch.Tensor:
    node = self._synfire
    node.update(self)
    single = self.step_mode == "s"
    if single:
        x = x.unsqueeze(0)
    _passes.check_input(x)
    two = node.neurons.n_others == 1
    with_v_seq = bool(getattr(self, "store_v_seq", False)) and not single
    spikes, v, w, v_seq = _passes.neuron(x, _state(self.v, x, "v"), _state(self.w, x, "w") if two else None,
                                         [self.w] if node.neurons.learned else [], node.text, with_v_seq)
    self.v = v
    if two:
        self.w = w
    if with_v_seq:
        self.v_seq = v_seq
    return spikes.squeeze(0) if single else spikes


_forward.__name__ = "forward"  # what pickle looks for: a copy from a file runs as the class does


def accelerate(network: torch.nn.Module, *, report: Optional[Callable[[Report], None]] = None) -> Report:
    """Makes the spiking neurons of a SpikingJelly network run on this library, in place, and says what it left alone.

    Parameters, state_dict, step modes, functional.reset_net and hooks keep working. `restore` undoes it.
    report: called with what was done, such as print.
    """
    done: List[str] = []
    left: Dict[str, str] = {}
    for name, module in network.named_modules():
        if not _looks_like_a_node(module):
            continue
        problem = _problem_of(module)
        if problem:
            left[name] = problem
            continue
        module.__dict__["_synfire"] = _Node(type(module).__name__)
        module.__dict__["forward"] = types.MethodType(_forward, module)
        done.append(name)
    result = Report(done, left)
    if report is not None:
        report(result)
    return result


def restore(network: torch.nn.Module) -> int:
    """Undoes accelerate() and returns how many modules it was."""
    count = 0
    for module in network.modules():
        if module.__dict__.pop("_synfire", None) is not None:
            module.__dict__.pop("forward", None)
            count += 1
    return count
