#!/usr/bin/env python3
"""Ranks of MPI beside one process: batches in a second, their ratio, and whether the networks are the same.

    ranks.py BUILD [--mpirun mpirun] [--ranks 2] [--hidden 512] [--batches 20] [--rounds 3] [--option OPTION]...

BUILD is a build folder: its lib/ has the library. The network is 700-512-20, with 100 steps and 128 rows in a batch, on the
host backend with one thread in each process. `--option` gives mpirun another word, as `--option=--allow-run-as-root`. The
environment variable SYNFIRE_MPI names the library for that MPI, if it is not beside Synfire's. The rounds alternate between one process
and all ranks; the medians are printed. Each process needs a processor of its own, and nothing else may run.

SPDX-License-Identifier: MIT
"""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

STEPS, WIDTH, CLASSES, BATCH = 100, 700, 20, 128


def work(hidden, n_batches):
    """Each process trains. The first rank prints the seconds, and the hash of the network's file."""
    import synfire
    context = synfire.Context("host", threads=1)
    communicator = synfire.Communicator(context) if "SYNFIRE_BENCH_RANKS" in os.environ else None
    network = synfire.Network(context, steps=STEPS, batch=BATCH, seed=1, communicator=communicator)
    network.stage("input", name="spikes", kind="spikes", features=WIDTH, dtype="bits")
    network.stage("synapse", name="first", outputs=hidden)
    network.stage("neurons", name="hidden", model="lif")
    network.stage("synapse", name="second", outputs=CLASSES)
    network.stage("neurons", name="last", model="li")
    network.stage("readout", name="scores", reduction="mean")
    network.stage("loss", name="loss", kind="cross_entropy")
    network.stage("optimizer", name="adam", kind="adam", learning_rate=0.001)
    network.build()
    random = np.random.default_rng(1)
    words = np.bitwise_and.reduce(random.integers(0, 2**32, (4, 2 * BATCH, STEPS, (WIDTH + 31) // 32), np.uint32))
    words[..., -1] &= (1 << WIDTH % 32) - 1
    network.set_data("training", words, random.integers(0, CLASSES, 2 * BATCH).astype(np.uint32))
    network.train(2)
    start = time.perf_counter()
    network.train(n_batches)
    seconds = time.perf_counter() - start
    if communicator is None or communicator.rank == 0:
        print(json.dumps([seconds, hashlib.sha256(bytes(network.save_to_memory())).hexdigest()]), flush=True)


def measure(command, environment):
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    if done.returncode != 0 or len(lines) != 1:
        sys.exit(f"ranks.py: {' '.join(command)}: exit status {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return json.loads(lines[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ["SYNFIRE_LIBRARY"] = str(pathlib.Path(given.build) / "lib")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python"))
    if given.work:
        work(given.hidden, given.batches)
        return
    one = [sys.executable, __file__, given.build, "--work", "--hidden", str(given.hidden), "--batches", str(given.batches)]
    together = [given.mpirun, *given.option, "-n", str(given.ranks), *one]
    rounds = [(measure(one, {}), measure(together, {"SYNFIRE_BENCH_RANKS": "1"})) for _ in range(given.rounds)]
    if len({result[1] for results in rounds for result in results}) != 1:
        sys.exit("ranks.py: the networks differ")
    alone, ranks = (given.batches / statistics.median(results[i][0] for results in rounds) for i in (0, 1))
    print(f"1 process: {alone:.2f} batches/s, {given.ranks} ranks: {ranks:.2f}, {ranks / alone:.2f} times as fast, the same network")


if __name__ == "__main__":
    main()
