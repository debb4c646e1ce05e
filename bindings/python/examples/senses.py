"""Two inputs, a block with a shortcut, and two heads. It prints what docs/examples/senses.c prints.

SPDX-License-Identifier: MIT
"""
import numpy as np

import synfire

ROWS = np.arange(96)
WHAT, WHERE = ROWS % 3, ROWS // 3 % 2


def rates(inputs, n, of_row):
    """Rates. Every n-th input is more active; which ones depends on the class of the row."""
    i = np.arange(len(ROWS) * inputs, dtype=np.uint32)
    base = np.where(i % inputs % n == np.repeat(of_row, inputs), 48, 12)
    return ((base + (np.uint32(0x9E3779B1) * i >> 28)) / 128).astype(np.float32).reshape(len(ROWS), inputs)


with synfire.Context() as context:  # a GPU if there is one, else the host
    network = synfire.Network(context, steps=20, batch=32)
    for name, width, synapse, neurons in (("sound", 24, "cochlea", "ear"), ("touch", 24, "nerve", "skin")):
        network.add_input(name, "rates", width)
        network.add_synapse(synapse, 24)
        network.add_neurons(neurons, "lif")
    network.stage("concatenate", name="both", inputs=("ear", "skin"))
    network.add_synapse("inner", 48)
    network.add_neurons("block", "lif")
    network.stage("sum", name="state", inputs=("block", "both"))  # the shortcut goes around the block
    for head, classes in (("what", 3), ("where", 2)):
        network.stage("synapse", name=f"to-{head}", inputs="state", outputs=classes)
        network.add_neurons(f"{head}-v", "li")
        network.add_readout(head, "mean")
        network.add_loss(f"{head}-loss", "cross_entropy")
    network.add_optimizer("adam", "adam", 0.01)
    network.build()
    network.set_arrays("training", len(ROWS), {
        ("sound", "inputs"): rates(24, 3, WHAT), ("touch", "inputs"): rates(24, 2, WHERE),
        ("what-loss", "labels"): WHAT, ("where-loss", "labels"): WHERE})
    for _ in range(5):
        for of in network.train_stages(15, ("what-loss", "where-loss"))[1]:
            print(f"{of.stage} {of.loss:.9f}, {of.n_correct} of 480")
