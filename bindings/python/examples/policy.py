"""A policy gradient: sixteen carts on a line learn to come to rest in the middle. The loss is the program's own. It
prints what docs/examples/policy.c prints.

SPDX-License-Identifier: MIT
"""
import numpy as np

import synfire

CARTS, TICKS, EPISODES = 16, 24, 300


class Dice:
    """Numbers from 0 to 1, the same in every language."""

    def __init__(self):
        self.state = 1

    def draw(self):
        self.state = (self.state * 0x0019660D + 0x3C6EF35F) & 0xFFFFFFFF
        return (self.state >> 8) / 16777216.0


def right(z):
    """The probability of a push to the right, and its slope."""
    size = 1 + abs(float(z))
    return 0.5 + 0.5 * (float(z) / size), 0.5 / (size * size)


def learn(network):
    forward, backward = network.graph("forward"), network.graph("backward")
    given, output = (network.buffer(name).numpy().reshape(-1) for name in ("input", "output"))
    gradient = network.buffer("push.gradient").numpy().reshape(-1)
    dice, total, baseline = Dice(), 0.0, [0.0] * TICKS

    def look(frame):
        given[:] = frame
        forward.replay()
        return [right(z) for z in output]

    for episode in range(1, EPISODES + 1):
        x, v = [0.0] * CARTS, [0.0] * CARTS
        for i in range(CARTS):
            x[i] = 2 * dice.draw() - 1
            v[i] = dice.draw() - 0.5
        frames, pushes, rewards = [], [], []
        for t in range(TICKS):
            frames.append(np.array([one for pair in zip(x, v) for one in pair], np.float32))
            pushes.append([dice.draw() < p for p, _ in look(frames[t])])
            rewards.append([0.0] * CARTS)
            for i in range(CARTS):
                v[i] = 0.95 * v[i] + (0.15 if pushes[t][i] else -0.15)
                x[i] += 0.2 * v[i]
                rewards[t][i] = -(x[i] * x[i])
                total += rewards[t][i]
        following = [0.0] * CARTS  # the reward of a push is all that follows it
        for t in reversed(range(TICKS)):
            mean = 0.0
            for i in range(CARTS):
                following[i] = rewards[t][i] + 0.8 * following[i]
                mean += following[i] / CARTS
            baseline[t] = mean if episode == 1 else 0.9 * baseline[t] + 0.1 * mean
            for i, (p, slope) in enumerate(look(frames[t])):
                of_push = slope / p if pushes[t][i] else -slope / (1 - p)
                gradient[i] = np.float32(-(following[i] - baseline[t]) * of_push / CARTS)
            backward.replay()
        if episode % 50 == 0:
            print(f"episodes to {episode}: reward {total / (50 * TICKS * CARTS):.9f}")
            total = 0.0


with synfire.Context() as context:  # a GPU if there is one, else the host
    net = synfire.Network(context, steps=8, batch=CARTS, own_loss="starts")
    net.stage("input", name="cart", kind="values", features=2, steps=1)
    net.add_synapse("first", 32)
    net.set_value("first", "gain", 3)
    net.add_neurons("hidden", "lif")
    net.add_synapse("second", 1)
    net.add_neurons("potential", "li")
    net.add_readout("push", "mean")
    net.add_optimizer("adam", "adam", 0.003)
    net.build()
    learn(net)
