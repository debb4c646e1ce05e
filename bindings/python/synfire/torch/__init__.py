"""Synfire for PyTorch: modules of spiking neurons, and one line for a SpikingJelly network that exists.

    import synfire.torch

    synfire.torch.accelerate(net)                        # the spiking neurons of a SpikingJelly network, in place
    neurons = synfire.torch.Neuron("lif", tau=2.0)       # or neurons of this library's own

Tensors of the CPU run on the library's host backend, those of a GPU on its CUDA backend, on PyTorch's current stream
and in its CUDA graphs. PyTorch 1.13 and newer; from 2.4 on, neurons are operators that torch.compile and torch.export
see.

SPDX-License-Identifier: MIT
"""
from ._accelerate import Report, accelerate, restore
from ._modules import Neuron

__all__ = ["Neuron", "Report", "accelerate", "restore"]
