"""Goes on with a training that another program has begun: resume.py FILE_IN FILE_OUT BATCHES [host | cuda]

The network of FILE_IN is trained for BATCHES steps and becomes FILE_OUT; bindings/programs/resume.c says more.

SPDX-License-Identifier: MIT
"""
import sys

import numpy as np

import synfire

INPUTS, CLASSES, ROWS = 41, 3, 99

i = np.arange(ROWS * INPUTS, dtype=np.uint32)
base = np.where(i % INPUTS % CLASSES == i // INPUTS % CLASSES, 20, 12)
rates = ((base + (np.uint32(0x9E3779B1) * i >> 28)) / 128).astype(np.float32).reshape(ROWS, INPUTS)

file_in, file_out, batches, *backend = sys.argv[1:]
with synfire.Context(*(backend or ["host"])) as context:
    network = synfire.Network.load_from(context, file_in)
    network.set_data("training", rates, np.arange(ROWS) % CLASSES)
    result = network.train(int(batches))
    network.save(file_out)
    print(f"{batches} batches, loss {result.loss:.9f}")
