"""Checks spikes.npy of the committed recording: check_spikes.py FILE SPIKES [NEURONS]

NumPy reads the file as documented, it has as many spikes as the table says, and its rhythm is that of the recording:
four words, with silence before, between and after.

SPDX-License-Identifier: MIT
"""
import sys

import numpy

FRAMES, STEPS, RATE, WORDS_SPOKEN = 2750, 16, 16000, 4
path, expected = sys.argv[1], int(sys.argv[2])
neurons = int(sys.argv[3]) if len(sys.argv) > 3 else 128

words = numpy.load(path)
assert words.dtype == numpy.dtype("<u4"), words.dtype
assert words.shape == (FRAMES * STEPS, neurons // 32), words.shape
spikes = numpy.unpackbits(words.view(numpy.uint8), axis=1, bitorder="little")
assert spikes.shape == (FRAMES * STEPS, neurons)
assert spikes.sum() == expected, (spikes.sum(), expected)

# Moments of 10 ms in which more than one neuron in twenty spikes; a pause of less than 120 ms belongs to a word.
loud = spikes.reshape(-1, RATE // 100, neurons).sum(axis=(1, 2)) > neurons / 20
bursts, quiet = 0, 1000
for moment in loud:
    if moment and quiet >= 12:
        bursts += 1
    quiet = 0 if moment else quiet + 1
assert bursts == WORDS_SPOKEN, (bursts, "".join(" #"[int(m)] for m in loud))
assert not loud[:8].any() and not loud[-10:].any(), "silence before and after"
rates = spikes.sum(axis=0) * RATE / len(spikes)
print(f"{expected} spikes, {bursts} words, rates of the neurons {rates.min():.1f} to {rates.max():.1f} Hz")
