"""Spiking-neuron layers whose forward and backward passes through time are recorded once and replayed as one graph.

    import synfire

    context = synfire.Context()                                          # a GPU if one is usable, else the host
    lif = synfire.Layer(context, steps=16, neurons=128, tau=20.0)
    x = lif.sequence_buffer(memory="pinned")                             # float32 (16, 128)
    spikes = lif.spike_buffer(memory="pinned")                           # uint32 (16, 4), 32 neurons a word
    step = synfire.Graph(context)
    step.forward(lif, x=x, spikes=spikes)
    step.instantiate()

    x.numpy()[:] = 2.0
    ticket = step.launch()
    if step.wait(ticket, timeout=1e-3):
        print(spikes.numpy())

The C library is looked for by the first call: SYNFIRE_LIBRARY names it, else the one inside the package is taken.
`import synfire.torch` has modules for PyTorch.

SPDX-License-Identifier: MIT
"""
from ._call import Answer
from ._errors import (InvalidArgumentError, InvalidHandleError, OutOfMemoryError, StaleTapeError, SynfireError,
                      UnsupportedError, WrongOrderError)
from ._library import LibraryError, abi_version, library_path, version_string
from ._objects import (Buffer, Communicator, Context, Graph, Handle, Layer, LoadedModel, LoadedSurrogate, Network,
                       Optimizer, Parameter, Result, Synapse, model_id, reclaim, surrogate_id)
from ._process import memory_use, set_log

__all__ = ["Answer", "Buffer", "Communicator", "Context", "Graph", "Handle", "InvalidArgumentError", "InvalidHandleError",
           "Layer", "LibraryError", "LoadedModel", "LoadedSurrogate", "Network", "Optimizer", "OutOfMemoryError", "Parameter",
           "Result", "StaleTapeError", "Synapse", "SynfireError", "UnsupportedError", "WrongOrderError", "abi_version",
           "library_path", "memory_use", "model_id", "reclaim", "set_log", "surrogate_id", "version_string"]
