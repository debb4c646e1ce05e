"""A network that one watches while it learns.

It shows how far it is on the error stream, and prints what docs/examples/watch.c prints.

SPDX-License-Identifier: MIT
"""
import sys
import time

import numpy as np

import synfire

INPUTS, CLASSES, ROWS, BATCH, ROUNDS, BATCHES = 41, 3, 99, 33, 10, 9


def rates(seed):
    """Spikes per step. Every third input is more active; which ones depends on the class of the row."""
    i = np.arange(ROWS * INPUTS, dtype=np.uint32)
    base = np.where(i % INPUTS % CLASSES == i // INPUTS % CLASSES, 24, 12)
    return ((base + (np.uint32(seed) * i >> 28)) / 128).astype(np.float32).reshape(ROWS, INPUTS)


with synfire.Context() as context:  # a GPU if there is one, else the host
    network = synfire.Network(context, steps=20, batch=BATCH)
    network.add_input("rates", "rates", INPUTS)
    network.add_synapse("first", 53)
    network.add_neurons("hidden", "lif")
    network.add_synapse("second", CLASSES)
    network.add_neurons("potentials", "li")
    network.add_readout("scores", "mean")
    network.add_loss("loss", "cross_entropy")
    network.add_optimizer("adam", "adam", 0.005)
    network.keep("hidden.monitor first.monitor")
    network.build()
    labels = np.arange(ROWS) % CLASSES
    network.set_data("training", rates(0x9E3779B1), labels)
    network.set_data("evaluation", rates(0x85EBCA77), labels)
    start = time.monotonic()
    # [watch]
    for number in range(1, ROUNDS + 1):
        learnt = network.train(BATCHES)
        hidden, first = network.monitor("hidden"), network.monitor("first")  # of this call
        tested = network.evaluate()
        each = (time.monotonic() - start) / number
        print(f"\r{number} of {ROUNDS}, loss {learnt.loss:.4f}, accuracy {tested.accuracy:.4f}, rate {hidden.rate:.4f}, "
              f"{BATCHES * BATCH / each:.0f} rows/s, {each * (ROUNDS - number):.1f} s left ", end="", file=sys.stderr,
              flush=True)
    print(file=sys.stderr)
    # [watch]
    print(f"loss {learnt.loss:.9f}, other rows {tested.loss:.9f}, accuracy {tested.accuracy:.4f}, rate {hidden.rate:.9f}, "
          f"silent {hidden.silent:.4f}, weights {first.weight_norm:.9f}, gradients {first.gradient_norm:.9f}")
