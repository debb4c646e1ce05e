"""Convolutions tell four shapes apart, which are drawn at any place. It prints what docs/examples/pictures.c prints.

SPDX-License-Identifier: MIT
"""
import numpy as np

import synfire


def mixed(k):
    return (k.astype(np.uint32) + np.uint32(1)) * np.uint32(2654435761) >> np.uint32(16)


def pictures(first):
    """Bars, columns, frames and crosses of 7 x 7 pixels, and noise."""
    row, place = np.divmod(np.arange(first * 144, (first + 256) * 144), 144)
    y, x = place // 12 - mixed(row) % 6, place % 12 - mixed(3 * row) % 6
    shapes = [y == 3, x == 3, (y % 6 == 0) | (x % 6 == 0), (x == y) | (x + y == 6)]
    drawn = np.choose(row % 4, shapes) & (0 <= x) & (x < 7) & (0 <= y) & (y < 7)
    return ((160 * drawn + mixed(144 * row + place) % 64) / 256).astype(np.float32).reshape(256, 144)


with synfire.Context() as context:  # a GPU if there is one, else the host
    network = synfire.Network(context, steps=10, batch=32)
    network.stage("input", name="in", kind="rates", height=12, width=12, channels=1)
    for i in (1, 2):
        if i == 2:
            network.stage("pool", name="largest", kind="max", window=2)
        network.stage("conv2d", name=f"conv{i}", output_channels=12, kernel=3)
        network.stage("normalization", name=f"norm{i}")
        network.add_neurons(f"lif{i}", "lif")
    network.add_synapse("to-shapes", 4)
    network.add_neurons("v", "li")
    network.add_readout("scores", "mean")
    network.add_loss("loss", "cross_entropy")
    network.add_optimizer("adam", "adam", 0.01)
    network.build()
    network.set_data("training", pictures(0), np.arange(256) % 4)
    network.set_data("evaluation", pictures(256), np.arange(256) % 4)
    for what in ["train"] * 5 + ["test"]:
        result = network.train(24) if what == "train" else network.evaluate()
        print(f"{what}: loss {result.loss:.9f}, accuracy {result.accuracy:.4f}")
