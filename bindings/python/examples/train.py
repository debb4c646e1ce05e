"""Thresholds that learn when to fire.

A teacher with a threshold for each neuron says at which steps each of them shall fire. One graph holds the whole step:
forward, dL/dS = 2 S - 2 wanted, backward, and the update of the thresholds. Between replays the program looks at the
spikes, to print the loss, and lowers the learning rate.

It prints what bindings/programs/train.c prints: the loss of every epoch, then the bits of the thresholds.

SPDX-License-Identifier: MIT
"""
import numpy as np

import synfire

NEURONS, STEPS, EPOCHS = 128, 64, 60


def noise():
    """Noise in [0, 3): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX)."""
    seed, values = 1, []
    for _ in range(STEPS * NEURONS):
        seed = (seed * 0x5851F42D4C957F2D + 0x14057B7EF767814F) & (2**64 - 1)
        values.append(np.float32(3.0) * np.float32(seed >> 40) / np.float32(16777216.0))
    return np.array(values, np.float32).reshape(STEPS, NEURONS)


with synfire.Context("host") as context:
    layer = synfire.Layer(context, steps=STEPS, neurons=NEURONS, detach_reset=True, tau=4.0, alpha=1.5)
    x, spikes, wanted, grad_spikes = (layer.sequence_buffer(memory="pinned") for _ in range(4))
    rest, grad_threshold = layer.state_buffer(), layer.state_buffer(memory="pinned")

    x.numpy()[:] = noise()
    layer["v_threshold"] = [0.6 + 0.8 * n / NEURONS for n in range(NEURONS)]  # the teacher's
    layer.forward(x=x, spikes=spikes, v_init=rest)
    wanted.numpy()[:] = spikes.numpy()

    learning_rate = 0.04
    layer["v_threshold"] = [1.0] * NEURONS
    step = synfire.Graph(context)
    step.forward(layer, x=x, spikes=spikes, v_init=rest)
    step.scale_add(source=spikes, destination=grad_spikes, scale=2, keep=0)
    step.scale_add(source=wanted, destination=grad_spikes, scale=-2, keep=1)
    step.backward(layer, grad_spike_seq=grad_spikes, parameter_gradients={"v_threshold": grad_threshold})
    learn = step.update_parameter(layer, name="v_threshold", gradient=grad_threshold, learning_rate=learning_rate)
    step.instantiate()

    for epoch in range(EPOCHS):
        step.replay()
        print(epoch, int((spikes.numpy() != wanted.numpy()).sum()))
        learning_rate *= 0.95
        step.set_value(learn, "learning_rate", learning_rate)
    for value in layer["v_threshold"]:
        print(f"{np.float64(value).view(np.uint64):016x}")
