#!/usr/bin/env python3
"""The accuracy that networks reach on rows that they have not learnt, in the mean over several seeds.

    accuracies.py BUILD [--before BUILD] [--seeds 10,20,30,40,50] [--tasks network,values,...] [--epochs N]
                  [--digits DATA] [--digits-epochs N] [--digits-manners N]

BUILD is a build folder: its lib/ has the library, and its bin/ the program `digits`. With --before, the same is measured
with another build, of a version whose numbers are others, and the last column is the difference of the means in points.
DATA is what `digits --make-data` has made; without --digits, the tasks of digits are left out. As many seeds as there are
processors learn at once, each on one thread. Versions up to 0.2 give stage i of a network the seed s + i, so seeds should
be farther from each other than a network has stages.

Tasks:
    network     docs/examples/network.c: rates of three classes
    classifier  the network of docs/examples/classifier.c, whose rows are drawn anew
    values      values of ten patterns in noise; the time constants are learnt
    steps       the same, with the loss of every step
    digits      docs/examples/digits

By name only, with --tasks:
    digits-few        docs/examples/digits with half as many neurons
    digits-recurrent  with as few, and the second layer is recurrent
    digits-delays     with as few, and the synapse of the first layer has learnt delays

SPDX-License-Identifier: MIT
"""
import argparse
import array
import concurrent.futures
import ctypes
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

F32, U32, HOST = 0, 7, 1
VALUES, RATES = 1, 2
IF, LIF, LI = 1, 2, 7
MEAN, STEPS = 1, 4
CROSS_ENTROPY, ADAM = 0, 1


class Failed(Exception):
    """Raised when a call or a program fails."""


# ---- the library, by its C ABI ---------------------------------------------------------------------------------------


class ContextDesc(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("backend", ctypes.c_int32), ("device", ctypes.c_int32),
                ("n_threads", ctypes.c_int32), ("stream_priority", ctypes.c_int32), ("reserved", ctypes.c_uint32),
                ("job_system", ctypes.c_void_p * 3)]


class BufferDesc(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("memory", ctypes.c_int32), ("dtype", ctypes.c_int32),
                ("reserved", ctypes.c_uint32), ("n_elements", ctypes.c_uint64), ("data", ctypes.c_void_p),
                ("row_pitch", ctypes.c_uint64), ("release", ctypes.c_void_p * 3), ("shape", ctypes.c_uint64 * 4)]


class NetworkDesc(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("dtype", ctypes.c_int32), ("n_steps", ctypes.c_int64),
                ("batch", ctypes.c_int64), ("seed", ctypes.c_uint64), ("drop_last", ctypes.c_int32),
                ("n_slots", ctypes.c_uint32)]


class Result(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("loss", ctypes.c_double),
                ("n_counted", ctypes.c_uint64), ("n_correct", ctypes.c_uint64), ("rest", ctypes.c_uint64 * 4)]


class Library:
    def __init__(self, build):
        found = sorted((pathlib.Path(build) / "lib").glob("libsynfire[0-9].so"))
        if not found:
            raise Failed(f"no libsynfire in {build}/lib")
        self.library = ctypes.CDLL(str(found[0]))

    def call(self, name, *arguments):
        status = getattr(self.library, "synfire_" + name)(*arguments)
        if status < 0:
            text = ctypes.create_string_buffer(1000)
            self.library.synfire_last_error(text, ctypes.c_uint64(len(text)), None)
            raise Failed(f"synfire_{name}: {text.value.decode()}")

    def make(self, kind, desc, *parents):
        desc.struct_size = ctypes.sizeof(desc)
        handle = ctypes.c_void_p()
        self.call(kind + "_create", *parents, ctypes.byref(desc), ctypes.byref(handle))
        return handle


class Network:
    """A network with the functions of synfire_network_*: network.add_synapse("name", 5)."""

    def __init__(self, library, n_steps, batch, seed):
        self.library = library
        self.context = library.make("context", ContextDesc(backend=HOST))
        self.handle = library.make("network", NetworkDesc(n_steps=n_steps, batch=batch, seed=seed), self.context)

    def __getattr__(self, name):
        def call(*arguments):
            converted = [ctypes.c_double(a) if isinstance(a, float) else a.encode() if isinstance(a, str) else
                         ctypes.c_int64(a) if isinstance(a, int) else a for a in arguments]
            self.library.call("network_" + name, self.handle, *converted)
        return call

    def set_rows(self, which, inputs, labels):
        buffers = []
        for dtype, kind, numbers in ((F32, "f", inputs), (U32, "I", labels)):
            data = array.array(kind, numbers)
            buffer = self.library.make("buffer", BufferDesc(dtype=dtype, n_elements=len(data)), self.context)
            self.library.call("buffer_upload", buffer, ctypes.c_uint64(0), ctypes.c_void_p(data.buffer_info()[0]),
                              ctypes.c_uint64(4 * len(data)))
            buffers.append(buffer)
        self.set_data(which, len(labels), *buffers, None, None, None)
        for buffer in buffers:
            self.library.library.synfire_buffer_destroy(buffer)

    def accuracy(self):
        result = Result(struct_size=ctypes.sizeof(Result))
        self.evaluate(ctypes.byref(result))
        return 100 * result.n_correct / result.n_counted

    def learn(self, epochs):
        for _ in range(epochs):
            self.train(0, ctypes.byref(Result(struct_size=ctypes.sizeof(Result))))

    def destroy(self):
        self.library.library.synfire_network_destroy(self.handle)
        self.library.library.synfire_context_destroy(self.context)


# ---- tasks -----------------------------------------------------------------------------------------------------------


class Random:
    """Knuth's 64-bit linear congruential generator (MMIX)."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 40) / 2**24

    def normal(self):
        return sum(self.uniform() for _ in range(12)) - 6


def two_layers(library, n_steps, batch, seed, kind, inputs, hidden, classes, gain=1.0, readout=MEAN, taus=False,
               rate=0.01):
    network = Network(library, n_steps, batch, seed)
    network.add_input("input", kind, inputs)
    network.add_synapse("first", hidden)
    network.add_neurons("hidden", LIF)
    network.add_synapse("second", classes)
    network.add_neurons("potentials", LI)
    for synapse in ("first", "second"):
        network.set_value(synapse, "gain", gain)
    if taus:
        network.train_parameter("hidden", "tau", 1, 1.0, 0.0, 1.5, 50.0)
    network.add_readout("scores", readout, 0)
    network.add_loss("loss", CROSS_ENTROPY)
    network.add_optimizer("adam", ADAM, rate)
    network.build()
    return network


def network_example(library, seed, epochs):
    def rates(factor, rows):
        return [((20 if i % 41 % 3 == i // 41 % 3 else 12) + (factor * i % 2**32 >> 28)) / 128 for i in range(rows * 41)]
    network = two_layers(library, 20, 30, seed, RATES, 41, 53, 3)
    network.set_rows(0, rates(2654435761, 99), [i % 3 for i in range(99)])
    network.set_rows(1, rates(2246822519, 3000), [i % 3 for i in range(3000)])
    network.learn(epochs or 25)
    return network.accuracy()


def classifier(library, seed, epochs):
    random = Random(1)
    of_class = [0.5 * random.uniform() for _ in range(3 * 40)]
    def rows(count):
        return [rate for row in range(count) for rate in of_class[row % 3 * 40:(row % 3 + 1) * 40]]
    network = two_layers(library, 20, 30, seed, RATES, 40, 50, 3, gain=2.0, rate=0.02)
    for which, count in ((0, 30), (1, 3000)):
        network.set_rows(which, rows(count), [i % 3 for i in range(count)])
    network.learn(epochs or 40)
    return network.accuracy()


def value_rows(n_steps, inputs, count, seed):
    """Rows of ten patterns, the same in all steps but for the noise."""
    of_class = [Random(c + 1).normal() for c in range(10 * inputs)]
    random = Random(seed)
    return [of_class[row % 10 * inputs + k] + 3 * random.normal()
            for row in range(count) for _ in range(n_steps) for k in range(inputs)]


def values(library, seed, epochs, readout=MEAN):
    n_steps, inputs = 8, 30
    network = two_layers(library, n_steps, 50, seed, VALUES, inputs, 64, 10, readout=readout, taus=True)
    for which, count in ((0, 500), (1, 2000)):
        network.set_rows(which, value_rows(n_steps, inputs, count, 7 + which), [i % 10 for i in range(count)])
    network.learn(epochs or 10)
    return network.accuracy()


def steps(library, seed, epochs):
    return values(library, seed, epochs, STEPS)


FEW = ["--sounds", "64", "--parts", "40"]
DIGITS = {"digits": [], "digits-few": FEW, "digits-recurrent": ["--sounds", "48", "--parts", "56", "--recurrent", "5"],
          "digits-delays": [*FEW, "--delays", "10"]}


def digits(build, task, seed, given):
    with tempfile.TemporaryDirectory() as output:
        command = [pathlib.Path(build) / "bin" / "digits", "--data", given.digits, "--output", output, "--seed", seed,
                   "--backend", "host", "--threads", "1", *DIGITS[task]]
        for option, value in (("--epochs", given.digits_epochs), ("--manners", given.digits_manners)):
            command += [option, value] if value else []
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, text=True, errors="replace")
    right = re.search(r"^right .*: ([0-9.]+) %$", done.stdout, re.MULTILINE)
    streamed = re.search(r"^streamed +([0-9]+) of ([0-9]+) right", done.stdout, re.MULTILINE)
    seconds = re.search(r"^learnt +in ([0-9.]+) s$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not right or not streamed or not seconds:
        raise Failed(f"{command[0]}: exit status {done.returncode}: {done.stderr[-2000:]}")
    return float(right[1]), 100 * int(streamed[1]) / int(streamed[2]), float(seconds[1])


TASKS = {"network": network_example, "classifier": classifier, "values": values, "steps": steps}


def measure(build, task, seeds, given):
    """A number for each seed, for each of the things that the task measures."""
    if task in DIGITS:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as learners:
            found = learners.map(lambda seed: digits(build, task, seed, given), seeds)
            return dict(zip(("", " streamed", " seconds"), zip(*found)))
    library = Library(build)
    return {"": [TASKS[task](library, seed, given.epochs) for seed in seeds]}


def compare(task, seeds, given):
    means = {}
    for name, build in (("before", given.before), ("now", given.build)):
        if not build:
            continue
        for what, found in measure(build, task, seeds, given).items():
            mean = statistics.mean(found)
            line = " ".join(f"{number:6.2f}" for number in found)
            difference = f"   {mean - means[what]:+.2f}" if what in means else ""
            means[what] = mean
            print(f"{task + what:25} {name:6} {line}   mean {mean:6.2f}{difference}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--before")
    parser.add_argument("--seeds", default="10,20,30,40,50")
    parser.add_argument("--tasks", default=",".join([*TASKS, "digits"]))
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--digits")
    parser.add_argument("--digits-epochs", type=int)
    parser.add_argument("--digits-manners", type=int)
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    try:
        for task in given.tasks.split(","):
            if given.digits or task not in DIGITS:
                compare(task, seeds, given)
    except (Failed, OSError) as failed:
        sys.exit(f"accuracies.py: {failed}")


if __name__ == "__main__":
    main()
