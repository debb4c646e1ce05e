#!/usr/bin/env python3
"""The device memory of the training of a dense network that branches as SEW-ResNet-18 does, before and after its arrays
share memory.

    branched_memory.py BUILD [--steps 4] [--batch 32]

BUILD is a build folder: its lib/ has the library. The network has the graph of SEW-ResNet-18 (Fang et al., "Deep residual
learning in spiking neural networks", NeurIPS 2021) with dense synapses in place of convolutions: a still input, a stem,
four stages of two blocks with two layers each, 512, 256, 128 and 64 neurons wide, the sum of each block and its shortcut
as counts, and a synapse and neurons in the shortcut where the width changes. synfire_network_query_memory() computes the
sizes, so nothing is built. "before" is the network with an array of its own for all that flows between the stages,
"after" the one with synfire_network_desc::transient_arrays.

SPDX-License-Identifier: MIT
"""
import argparse
import ctypes
import sys

from accuracies import HOST, LI, LIF, MEAN, CROSS_ENTROPY, ContextDesc, Failed, Library

WIDTHS = (512, 256, 128, 64)


class NetworkDesc(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("dtype", ctypes.c_int32), ("n_steps", ctypes.c_int64),
                ("batch", ctypes.c_int64), ("seed", ctypes.c_uint64), ("drop_last", ctypes.c_int32),
                ("n_slots", ctypes.c_uint32), ("transient_arrays", ctypes.c_int32), ("own_loss", ctypes.c_int32)]


class Input(ctypes.Structure):
    _fields_ = [("stage", ctypes.c_char_p), ("port", ctypes.c_char_p), ("delay", ctypes.c_int64)]


class Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("text", ctypes.c_char_p), ("number", ctypes.c_double)]


class StageDesc(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("kind", ctypes.c_char_p),
                ("name", ctypes.c_char_p), ("inputs", ctypes.POINTER(Input)), ("n_inputs", ctypes.c_uint64),
                ("values", ctypes.POINTER(Value)), ("n_values", ctypes.c_uint64)]


class Memory(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32)] + [
        (name, ctypes.c_uint64) for name in ("synapses", "layers", "arrays", "optimizer", "graphs", "device", "pinned",
                                             "data")]


class Branched:
    """The network on a host context, not built."""

    def __init__(self, library, n_steps, batch, transient_arrays):
        self.library = library
        context = library.make("context", ContextDesc(backend=HOST))
        desc = NetworkDesc(n_steps=n_steps, batch=batch, transient_arrays=transient_arrays)
        self.handle = library.make("network", desc, context)
        self.add("input", "image", (), kind="values", n_features=768, n_steps=1)
        last = self.layer("stem", WIDTHS[0], ("image",))
        for stage, width in enumerate(WIDTHS):
            for block in range(2):
                name = f"block{stage}{block}"
                inner = self.layer(name + ".b", width, (self.layer(name + ".a", width, (last,)),))
                shortcut = last if block == 1 or stage == 0 else self.layer(name + ".s", width, (last,))
                self.add("sum", name, (inner, shortcut))
                last = name
        self.layer("potentials", 100, (last,), LI)
        self.add("readout", "scores", (), reduction=MEAN)
        self.add("loss", "loss", (), kind=CROSS_ENTROPY)
        self.add("optimizer", "sgd", (), kind="sgd")

    def add(self, kind, name, reads, /, **values):
        inputs = (Input * len(reads))(*(Input(stage.encode(), None, 0) for stage in reads))
        numbers = (Value * len(values))(*(
            Value(key.encode(), value.encode(), 0) if isinstance(value, str) else Value(key.encode(), None, value)
            for key, value in values.items()))
        desc = StageDesc(ctypes.sizeof(StageDesc), 0, kind.encode(), name.encode(), inputs, len(reads), numbers,
                         len(values))
        self.library.call("network_add_stage", self.handle, ctypes.byref(desc))

    def layer(self, name, width, reads, model=LIF):
        self.add("synapse", name + ".w", reads, n_outputs=width)
        self.add("neurons", name, (), model=model)
        return name

    def memory(self):
        found = Memory(ctypes.sizeof(Memory))
        self.library.call("network_query_memory", self.handle, ctypes.byref(found))
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    given = parser.parse_args()
    library = Library(given.build)
    print("MiB      device  synapses  layers  arrays  optimizer  graphs")
    for name, transient in (("before", 0), ("after", 1)):
        found = Branched(library, given.steps, given.batch, transient).memory()
        sizes = (found.device, found.synapses, found.layers, found.arrays, found.optimizer, found.graphs)
        print(f"{name:8}" + "".join(f"{size / 2**20:{width}.2f}" for size, width in zip(sizes, (7, 10, 8, 8, 11, 8))))


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"branched_memory.py: {error}")
