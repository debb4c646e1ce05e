#!/usr/bin/env python3
"""Training on rows in files beside training on the same rows in memory: batches in a second, and their ratio.

    data_in_files.py BUILD [--backend host] [--mib 256] [--rounds 3] [--readers 0] [--hidden 512] [--folder FOLDER]

BUILD is a build folder: its lib/ has the library. The network is 700-512-20, or has fewer hidden neurons, so that reading weighs more, with 100 steps and 128 rows in a batch; rows are
packed spikes, 8,800 bytes each. The file is written before, so that it is in the system's cache as far as there is
room: with more MiB than memory, the disk is part of the measurement. Each round trains an epoch on either; the medians
are printed. Windows are the default ones, so that rows are read anew in each epoch.

SPDX-License-Identifier: MIT
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

STEPS, WIDTH, CLASSES, BATCH = 100, 700, 20, 128
WORDS = (WIDTH + 31) // 32


def network_of(synfire, context, hidden):
    network = synfire.Network(context, steps=STEPS, batch=BATCH, seed=1)
    network.stage("input", name="spikes", kind="spikes", features=WIDTH, dtype="bits")
    network.stage("synapse", name="first", outputs=hidden)
    network.stage("neurons", name="hidden", model="lif")
    network.stage("synapse", name="second", outputs=CLASSES)
    network.stage("neurons", name="last", model="li")
    network.stage("readout", name="scores", reduction="mean")
    network.stage("loss", name="loss", kind="cross_entropy")
    network.stage("optimizer", name="adam", kind="adam", learning_rate=0.001)
    network.build()
    return network


def batches_per_second(network):
    start = time.perf_counter()
    result = network.train()
    return result.n_batches / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--backend", default="host")
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--readers", type=int, default=0)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    os.environ["SYNFIRE_LIBRARY"] = str(pathlib.Path(arguments.build) / "lib")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python"))
    import synfire
    n_rows = max(BATCH, (arguments.mib << 20) // (STEPS * WORDS * 4) // BATCH * BATCH)
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        paths = [os.path.join(folder, name) for name in ("spikes.npy", "labels.npy")]
        rows = np.lib.format.open_memmap(paths[0], "w+", np.uint32, (n_rows, STEPS, WORDS))
        mask = np.full(WORDS, 0xFFFFFFFF, np.uint32)
        mask[-1] = (1 << WIDTH % 32) - 1
        for first in range(0, n_rows, BATCH):
            words = random.integers(0, 2**32, (4, BATCH, STEPS, WORDS), np.uint32)
            rows[first:first + BATCH] = np.bitwise_and.reduce(words) & mask
        rows.flush()
        labels = random.integers(0, CLASSES, n_rows).astype(np.uint32)
        np.save(paths[1], labels)
        context = synfire.Context(arguments.backend)
        in_memory, in_files = (network_of(synfire, context, arguments.hidden) for _ in range(2))
        in_memory.set_data("training", np.asarray(rows), labels)
        in_files.open_data("training", {"inputs": paths[0], "labels": paths[1]}, n_readers=arguments.readers)
        speeds = [(batches_per_second(in_memory), batches_per_second(in_files)) for _ in range(arguments.rounds)]
        memory, files = (statistics.median(speed) for speed in zip(*speeds))
        print(f"{n_rows} rows, {n_rows * STEPS * WORDS * 4 / 2**20:.0f} MiB: {memory:.2f} batches/s in memory, {files:.2f} in "
              f"files ({files * BATCH * STEPS * WORDS * 4 / 1e6:.0f} MB/s), {files / memory:.3f} of it")
        in_files.close()


if __name__ == "__main__":
    main()
