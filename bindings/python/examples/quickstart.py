"""The shortest complete program: 128 leaky integrate-and-fire neurons, 16 steps a replay.

It prints what docs/examples/quickstart.c prints.

SPDX-License-Identifier: MIT
"""
import numpy as np

import synfire


def read_sensor(x):
    """Stands for a microphone, a camera, a joint: every neuron gets a constant input, from 0 to twice the threshold."""
    x[:] = 2 * np.arange(128, dtype=np.float32) / 128


def act(words):
    """Stands for a motor, a screen: counts spikes. 32 neurons a word."""
    return int(np.unpackbits(words.view(np.uint8)).sum())


def main(frames):
    # [quickstart]
    context = synfire.Context()                                    # a GPU if one is usable, else the host
    lif = synfire.Layer(context, steps=16, neurons=128, tau=20.0)  # tau in steps: one value, or one per neuron
    x = lif.sequence_buffer(memory="pinned")                       # float32 (16, 128)
    spikes = lif.spike_buffer(memory="pinned")                     # uint32 (16, 4)
    step = synfire.Graph(context)                                  # the state continues from replay to replay
    step.forward(lif, x=x, spikes=spikes)
    step.instantiate()                                             # everything slow happens here

    words, previous, seen, late_frames = spikes.numpy(), np.zeros((16, 4), np.uint32), 0, 0
    for _ in range(frames):
        read_sensor(x.numpy())
        ticket = step.launch()                                     # one replay; then wait 1 ms at most
        late = not step.wait(ticket, timeout=1e-3)
        seen += act(previous if late else words)                   # a late frame is your decision
        if late:
            step.wait(ticket)                                      # before buffers are used again
        previous[:] = words
        late_frames += late
    # [quickstart]
    print(f"{frames} frames of 16 steps: {seen} spikes, {late_frames} late frames")


main(1000)
