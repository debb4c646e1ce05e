"""A trained body with a new head, the rate of a schedule, and the best of all weights.

It prints what docs/examples/tuning.c prints.

SPDX-License-Identifier: MIT
"""
import numpy as np

import synfire

INPUTS, CLASSES, ROWS = 41, 3, 99


def rates(seed):
    """Spikes per step. Every third input is more active; which ones depends on the row."""
    i = np.arange(ROWS * INPUTS, dtype=np.uint32)
    base = np.where(i % INPUTS % CLASSES == i // INPUTS % CLASSES, 20, 12)
    return ((base + (np.uint32(seed) * i >> 28)) / 128).astype(np.float32).reshape(ROWS, INPUTS)


def make(context, classes):
    network = synfire.Network(context, steps=20, batch=30)
    network.add_input("rates", "rates", INPUTS)
    network.add_synapse("first", 53)
    network.add_neurons("hidden", "lif")
    network.add_synapse("head", classes)
    network.add_neurons("potentials", "li")
    network.add_readout("scores", "mean")
    network.add_loss("loss", "cross_entropy")
    network.stage("optimizer", name="adam", kind="adam", learning_rate=0.01, warmup_steps=8, schedule="step",
                  schedule_steps=40, schedule_factor=0.5)
    network.build()
    labels = np.arange(ROWS) % CLASSES % classes
    network.set_data("training", rates(0x9E3779B1), labels)
    network.set_data("evaluation", rates(0x85EBCA77), labels)
    return network


def report(what, result):
    print(f"{what}: loss {result.loss:.9f}")
    return result.loss


with synfire.Context() as context:  # a GPU if there is one, else the host
    body = make(context, CLASSES)
    report("body", body.train(40))
    body.save("body.safetensors")
    # [fine tuning]
    network = make(context, 2)  # with a new head
    network.load_arrays("body.safetensors", ["first.weights", "first.bias"])
    network.set_value("first", "frozen", True)
    report("head", network.train(20))
    network.set_value("first", "frozen", False)  # then all of it, the body slowly
    network.set_value("first", "learning_rate_factor", 0.1)
    report("both", network.train(20))
    # [fine tuning]
    # [best]
    best, file, worse = float("inf"), b"", 0
    while worse < 2:  # until two epochs in a row were no better
        network.train()
        loss = report("epoch", network.evaluate())
        worse = 0 if loss < best else worse + 1
        if worse == 0:
            best, file = loss, network.save_to_memory()
    network.load_from_memory(file)
    # [best]
    report("best", network.evaluate())
