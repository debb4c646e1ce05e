"""Learns spoken digits from the spikes of an ear: digits.py FILE [EPOCHS]

FILE is the digits.spikes that docs/examples/digits makes with espeak-ng, or its tests/few.spikes.gz. Every fifth
utterance is kept for the evaluation.

SPDX-License-Identifier: MIT
"""
import gzip
import sys

import numpy as np

import synfire

CLASSES, HIDDEN = 10, 100


def read(path):
    """The packed spikes [R, F, words] of all utterances, their digits, how many frames each has, and the fibres."""
    data = np.frombuffer((gzip.open if path.endswith(".gz") else open)(path, "rb").read(), "<u4")
    fibres, frames, rows = (int(number) for number in data[2:5])
    table = data[7:].reshape(rows, -1)
    return np.ascontiguousarray(table[:, 4:].reshape(rows, frames, -1)), table[:, 1], table[:, 3], fibres


spikes, digits, lengths, fibres = read(sys.argv[1])
is_test = np.arange(len(digits)) % 5 == 4
with synfire.Context() as context:  # a GPU if there is one, else the host
    network = synfire.Network(context, steps=spikes.shape[1], batch=min(50, int((~is_test).sum())), seed=1)
    network.add_input("ear", "spikes", fibres)
    network.add_synapse("first", HIDDEN)
    network.add_neurons("hidden", "lif")
    network.set_value("hidden", "tau", 8)
    network.add_synapse("second", CLASSES)
    network.add_neurons("potentials", "li")
    network.add_readout("scores", "mean")
    network.add_loss("loss", "cross_entropy")
    network.add_optimizer("adam", "adam", 0.01)
    network.build()
    for name, rows in (("training", ~is_test), ("evaluation", is_test)):
        network.set_data(name, spikes[rows], digits[rows], lengths=lengths[rows])
    result = network.fit(int(sys.argv[2]) if len(sys.argv) > 2 else 30)[-1]
    print(f"training: loss {result.loss:.3f}, accuracy {result.accuracy:.3f}")
    print(f"other utterances: accuracy {network.evaluate().accuracy:.3f}")
