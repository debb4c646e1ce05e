"""A classifier of two layers: defined, trained, evaluated, saved and loaded.

It prints what docs/examples/network.c prints.

SPDX-License-Identifier: MIT
"""
import numpy as np

import synfire

INPUTS, CLASSES, ROWS = 41, 3, 99


def rates(seed):
    """Spikes per step. Every third input is more active; which ones depends on the class of the row."""
    i = np.arange(ROWS * INPUTS, dtype=np.uint32)
    base = np.where(i % INPUTS % CLASSES == i // INPUTS % CLASSES, 20, 12)
    return ((base + (np.uint32(seed) * i >> 28)) / 128).astype(np.float32).reshape(ROWS, INPUTS)


def report(what, result):
    print(f"{what}: loss {result.loss:.9f}, accuracy {result.accuracy:.4f}")


with synfire.Context() as context:  # a GPU if there is one, else the host
    network = synfire.Network(context, steps=20, batch=30)
    network.add_input("rates", "rates", INPUTS)
    network.add_synapse("first", 53)
    network.add_neurons("hidden", "lif")
    network.add_synapse("second", CLASSES)
    network.add_neurons("potentials", "li")
    network.add_readout("scores", "mean")
    network.add_loss("loss", "cross_entropy")
    network.add_optimizer("adam", "adam", 0.01)
    network.build()
    labels = np.arange(ROWS) % CLASSES
    network.set_data("training", rates(0x9E3779B1), labels)
    network.set_data("evaluation", rates(0x85EBCA77), labels)
    for _ in range(5):
        report("5 epochs", network.train(20))
    report("other rows", network.evaluate())
    network.save("network.safetensors")
    loaded = synfire.Network.load_from(context, "network.safetensors")
    loaded.set_data("evaluation", rates(0x85EBCA77), labels)
    report("loaded", loaded.evaluate())
