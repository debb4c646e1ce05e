"""Mistakes that users make: each is an exception that names the rule, the argument and what is allowed.

SPDX-License-Identifier: MIT
"""
import functools
import unittest

import numpy as np

import synfire
from synfire import InvalidArgumentError, InvalidHandleError, StaleTapeError, UnsupportedError, WrongOrderError


class OnGpu:
    """An array that says it is on a GPU."""

    shape = (4, 6)
    __cuda_array_interface__ = {"shape": (4, 6), "typestr": "<f4", "data": (4096, False), "version": 3, "strides": None}


class ByDlpack:
    """An array whose methods of DLPack do something else."""

    def __init__(self, device, capsule):
        self.device, self.capsule = device, capsule

    def __dlpack_device__(self):
        if self.device is None:
            raise ValueError("Unknown device type")
        return (self.device, 0)

    def __dlpack__(self, **_):
        return self.capsule


class ByInterface:
    """An array that describes itself with these words."""

    def __init__(self, **words):
        self.__array_interface__ = words


def at_odd_address(shape):
    memory = bytearray(4 * int(np.prod(shape)) + 8)
    first = np.frombuffer(memory, np.uint8)
    begin = 1 + -(first.ctypes.data % 4) % 4
    return first[begin:begin + 4 * int(np.prod(shape))].view(np.float32).reshape(shape)


class Mistakes(unittest.TestCase):
    def setUp(self):
        self.context = synfire.Context("host", threads=1)
        self.layer = synfire.Layer(self.context, steps=4, neurons=6)
        self.x = np.zeros((4, 6), np.float32)
        self.spikes = np.zeros((4, 6), np.float32)

    def network(self):
        network = synfire.Network(self.context, steps=4, batch=2)
        network.add_input("rates", "rates", 5)
        network.add_synapse("first", 3)
        network.add_neurons("potentials", "li")
        network.add_readout("scores", "mean")
        network.add_loss("loss", "cross_entropy")
        network.add_optimizer("adam", "adam", 0.01)
        return network

    def graph(self):
        graph = synfire.Graph(self.context)
        graph.forward(self.layer, x=self.layer.sequence_buffer(), spikes=self.layer.spike_buffer())
        return graph

    def test_maps_that_cannot_be(self):
        network, large = (synfire.Network(self.context, steps=2, batch=1) for _ in range(2))
        network.stage("input", name="x", kind="spikes", height=3, width=4, channels=6)
        large.stage("input", name="x", kind="counts", bound=255, height=300, width=300, channels=1)
        conv = functools.partial(network.stage, "conv2d", name="y", output_channels=4)
        cases = [("SYN-CONV-KERNEL", "a height of 3", lambda: conv(kernel=5)),
                 ("SYN-CONV-GROUPS", "4", lambda: conv(groups=4)),
                 ("SYN-POOL-WINDOW", "5", lambda: network.stage("pool", name="y", kind="sum", window=5)),
                 ("SYN-NETWORK-SHAPE", '3x4x6] of stage "x" and [2, 1, 1x2x4] of stage "y"',
                  lambda: network.stage("sum", name="z", inputs=("x", conv(kernel=3)))),  # the name is still free
                 ("SYN-SYNAPSE-MASK", "10", lambda: network.set_mask("y", bytes(10))),
                 ("SYN-POOL-BOUND", "2^24", lambda: large.stage("pool", name="y", kind="sum"))]
        for rule, words, call in cases:
            with self.assertRaises(synfire.SynfireError) as caught:
                call()
            self.assertEqual(caught.exception.rule, rule)
            self.assertIn(words, caught.exception.text)

    def test_each_mistake_is_named(self):
        context, layer, x, spikes = self.context, self.layer, self.x, self.spikes
        buffer, closed = synfire.Buffer(context, (4, 6)), synfire.Buffer(context, 4)
        closed.close()
        readonly = np.zeros((4, 6), np.float32)
        readonly.setflags(write=False)
        built = self.network()
        built.build()
        rates, labels = np.zeros((4, 5), np.float32), np.zeros(4, int)
        other = synfire.Context("host", threads=1)
        of_other = synfire.Layer(other, steps=4, neurons=6)
        ready = self.graph()
        ready.instantiate()
        synapse = synfire.Synapse(context, inputs=6, outputs=2)
        # The exception, the rule, words of the text, and what is done.
        mistakes = [
            (InvalidArgumentError, "SYN-LAYER-STEPS", "n_steps", lambda: synfire.Layer(context, steps=0, neurons=6)),
            (InvalidArgumentError, "PYTHON-INTEGER", "steps", lambda: synfire.Layer(context, steps=1.5, neurons=6)),
            (InvalidArgumentError, "PYTHON-INTEGER", "neurons",
             lambda: synfire.Layer(context, steps=1, neurons=(2, "3"))),
            (InvalidArgumentError, "SYN-MODEL-NAME", '"liff"',
             lambda: synfire.Layer(context, steps=1, neurons=6, model="liff")),
            (InvalidArgumentError, "PYTHON-CONSTANT", '"soft"',
             lambda: synfire.Layer(context, steps=1, neurons=6, reset="sotf")),
            (InvalidArgumentError, "PYTHON-CONSTANT", "dtype", lambda: synfire.Buffer(context, 3, dtype="float32")),
            (InvalidArgumentError, "PYTHON-CONSTANT", "dtype", lambda: synfire.Buffer(context, 3, dtype=None)),
            (InvalidArgumentError, "PYTHON-KEYWORD", '"tau"',
             lambda: synfire.Layer(context, steps=1, neurons=6, tua=3.0)),
            (InvalidArgumentError, "PYTHON-FLAG", "detach_reset",
             lambda: synfire.Layer(context, steps=1, neurons=6, detach_reset="yes")),
            (InvalidArgumentError, "SYN-PARAMETER-RANGE", "tau",
             lambda: synfire.Layer(context, steps=1, neurons=6, tau=-1.0)),
            (InvalidArgumentError, "SYN-PARAMETER-COUNT", "tau", lambda: layer.__setitem__("tau", [1.0] * 4)),
            (InvalidArgumentError, "SYN-PARAMETER-NAME", "taw", lambda: layer["taw"]),
            (InvalidArgumentError, "PYTHON-NUMBER", "tau", lambda: layer.__setitem__("tau", "fast")),
            (InvalidArgumentError, "PYTHON-SHAPE", "shape", lambda: synfire.Buffer(context, (3, 0))),
            (InvalidArgumentError, "PYTHON-SHAPE", "without elements",
             lambda: synfire.Buffer.of(context, np.zeros((0, 2), np.float32))),
            (InvalidArgumentError, "PYTHON-DTYPE", "<i4",
             lambda: synfire.Buffer.of(context, np.zeros(3, np.int32))),
            (InvalidArgumentError, "PYTHON-DTYPE", ">f4", lambda: synfire.Buffer.of(context, np.zeros(3, ">f4"))),
            (InvalidArgumentError, "PYTHON-CONTIGUOUS", "ascontiguousarray",
             lambda: layer.forward(x=np.zeros((4, 12), np.float32)[:, ::2], spikes=spikes)),
            (InvalidArgumentError, "PYTHON-CONTIGUOUS", "x",
             lambda: layer.forward(x=np.zeros((6, 4), np.float32).T, spikes=spikes)),
            (InvalidArgumentError, "PYTHON-CONTIGUOUS", "the state",
             lambda: layer.set_state("v", np.zeros(12, np.float32)[::2])),
            (InvalidArgumentError, "PYTHON-CONTIGUOUS", "the array",
             lambda: buffer.upload(np.zeros((4, 12), np.float32)[:, ::2])),
            (InvalidArgumentError, "PYTHON-CONTIGUOUS", "inputs",
             lambda: built.set_data("training", np.zeros((4, 10), np.float32)[:, ::2], labels)),
            (InvalidArgumentError, "SYN-BUFFER-ALIGNMENT", "aligned", lambda: layer.forward(x=at_odd_address((4, 6)))),
            (InvalidArgumentError, "PYTHON-DEVICE", "x is on a GPU", lambda: layer.forward(x=OnGpu())),
            (InvalidArgumentError, "PYTHON-DEVICE", "inputs is on a GPU",
             lambda: built.set_data("training", OnGpu(), None)),
            (InvalidArgumentError, "PYTHON-ARRAY", "inputs is int", lambda: built.set_data("training", 5)),
            (InvalidArgumentError, "PYTHON-SHAPE", "()", lambda: built.set_data("training", np.float32(5))),
            (InvalidArgumentError, "PYTHON-OBJECT", "the context is NoneType",
             lambda: synfire.Layer(None, steps=1, neurons=1)),
            (InvalidArgumentError, "PYTHON-OBJECT", "the context is str", lambda: synfire.Graph("host")),
            (InvalidArgumentError, "PYTHON-OBJECT", "the context is tuple", lambda: synfire.Buffer((3,), context)),
            (InvalidArgumentError, "PYTHON-OBJECT", "the context is str",
             lambda: synfire.Synapse.one_to_one("host", channels=4)),
            (InvalidArgumentError, "PYTHON-OBJECT", "callback", lambda: self.graph().native(None)),
            (InvalidArgumentError, "PYTHON-OBJECT", "a Buffer is needed",
             lambda: self.graph().native(print, reads=[x])),
            (InvalidArgumentError, "PYTHON-TEXT", "the snapshot is str", lambda: layer.restore("text")),
            (InvalidArgumentError, "PYTHON-TEXT", "the file is str", lambda: built.load_from_memory("text")),
            (InvalidArgumentError, "PYTHON-NUMBER", "digits", lambda: layer.__setitem__("tau", 10**400)),
            (InvalidArgumentError, "PYTHON-DEVICE", "upload", lambda: buffer.upload(OnGpu())),
            (InvalidArgumentError, "PYTHON-DEVICE", "download", lambda: buffer.download(OnGpu())),
            (InvalidArgumentError, "PYTHON-DEVICE", "x is on no device",
             lambda: layer.forward(x=ByDlpack(None, None))),
            (InvalidArgumentError, "PYTHON-DEVICE", "no device that DLPack knows",
             lambda: synfire.Buffer.from_dlpack(context, ByDlpack(None, None))),
            (InvalidArgumentError, "PYTHON-ARRAY", "no capsule", lambda: layer.forward(x=ByDlpack(1, object()))),
            (InvalidArgumentError, "PYTHON-ARRAY", "its address", lambda: layer.forward(x=ByInterface(shape=(4, 6)))),
            (InvalidArgumentError, "PYTHON-ARRAY", "its address",
             lambda: layer.forward(x=ByInterface(shape=(4, 6), typestr="<f4", data=None))),
            (InvalidArgumentError, None, "desc.data",
             lambda: layer.forward(x=ByInterface(shape=(4, 6), typestr="<f4", data=(0, False)))),
            (InvalidArgumentError, "PYTHON-DTYPE", "f64", lambda: buffer.upload(np.zeros((4, 6)))),
            (InvalidArgumentError, "PYTHON-DTYPE", "|O", lambda: layer.forward(x=np.zeros((4, 6), object))),
            (InvalidArgumentError, "PYTHON-DTYPE", "<c8", lambda: layer.forward(x=np.zeros((4, 6), np.complex64))),
            (InvalidArgumentError, "PYTHON-DTYPE", "the state", lambda: layer.set_state("v", np.zeros(6))),
            (InvalidArgumentError, "SYN-BUFFER-RANGE", "112", lambda: buffer.upload(np.zeros((4, 7), np.float32))),
            (InvalidArgumentError, "SYN-STREAM-HOST", "stream", lambda: layer.forward(x=x, stream=5)),
            (InvalidArgumentError, "PYTHON-INTEGER", "stream", lambda: layer.forward(x=x, stream="first")),
            (InvalidArgumentError, "SYN-CONTEXT-THREADS", "-3", lambda: synfire.Context("host", threads=-3)),
            (InvalidArgumentError, "PYTHON-READONLY", "spikes", lambda: layer.forward(x=x, spikes=readonly)),
            (InvalidArgumentError, "PYTHON-READONLY", "bytes", lambda: synfire.Buffer.of(context, b"abcd")),
            (InvalidArgumentError, "PYTHON-ARRAY", "list", lambda: layer.forward(x=[[0.0] * 6] * 4)),
            (InvalidArgumentError, "SYN-BUFFER-SHAPE", "desc.x",
             lambda: layer.forward(x=np.zeros((6, 4), np.float32))),
            (InvalidArgumentError, "SYN-BUFFER-SIZE", "desc.x", lambda: layer.forward(x=np.zeros(5, np.float32))),
            (InvalidArgumentError, "SYN-BUFFER-TYPE", "desc.x", lambda: layer.forward(x=np.zeros((4, 6)))),
            (InvalidArgumentError, "SYN-BUFFER-OVERLAP", "desc.spikes", lambda: layer.forward(x=x, spikes=x)),
            (InvalidHandleError, "SYN-HANDLE-NULL", "desc.x", lambda: layer.forward(spikes=spikes)),
            (InvalidHandleError, "PYTHON-CLOSED", "Buffer is closed", lambda: layer.forward(x=closed)),
            (StaleTapeError, "SYN-TAPE-NONE", "no tape",
             lambda: layer.backward(grad_spike_seq=spikes, grad_x_seq=np.zeros_like(x))),
            (InvalidArgumentError, "SYN-LAYER-NO-W", "w_final",
             lambda: layer.forward(x=x, w_final=np.zeros(6, np.float32))),
            (UnsupportedError, "SYN-TAPE-NARROW", "f32", lambda: layer.forward(x=x, tape="store_narrow")),
            (InvalidArgumentError, "SYN-STATE-SIZE", "bytes", lambda: layer.set_state("v", np.zeros(5, np.float32))),
            (InvalidArgumentError, "SYN-STATE-NAME", "u", lambda: layer.state("u")),
            (InvalidArgumentError, "SYN-SNAPSHOT-FOREIGN", "snapshot", lambda: layer.restore(b"nothing" * 40)),
            (WrongOrderError, None, "instantiate", lambda: self.graph().launch()),
            (InvalidArgumentError, "PYTHON-NUMBER", "NaN", lambda: ready.wait(0, timeout=float("nan"))),
            (InvalidArgumentError, "PYTHON-CONSTANT", "policy", lambda: ready.wait(0, policy="sleep")),
            (InvalidHandleError, None, "layer",
             lambda: synfire.Graph(context).forward(of_other, x=of_other.sequence_buffer())),
            (InvalidArgumentError, "PYTHON-OBJECT", "records", lambda: synfire.Graph(context).forward(x, x=buffer)),
            (InvalidArgumentError, "PYTHON-OBJECT", "Synapse",
             lambda: layer.forward(x=x, synapse=layer, synapse_input=x)),
            (InvalidArgumentError, "PYTHON-NAME", '"weight"', lambda: synapse["weights"]),
            (InvalidArgumentError, "PYTHON-SHAPE", "(2, 6)",
             lambda: synapse.__setitem__("weight", np.zeros((3, 6), np.float32))),
            (InvalidArgumentError, "PYTHON-INTEGER", "kernel_height",
             lambda: synfire.Synapse.conv2d(context, channels=1, output_channels=1, kernel_height=1.5)),
            (InvalidArgumentError, "SYN-NETWORK-KIND", "synaps",
             lambda: self.network().stage("synaps", name="third", outputs=3)),
            (InvalidArgumentError, None, "outptus",
             lambda: self.network().stage("synapse", name="third", inputs="scores", outputs=3, outptus=3)),
            (InvalidArgumentError, "PYTHON-CONSTANT", "fast", lambda: built.set_value("adam", "kind", "fast")),
            (InvalidArgumentError, "PYTHON-DTYPE", "labels", lambda: built.set_data("training", rates, labels + 0.5)),
            (InvalidArgumentError, "PYTHON-RANGE", "labels", lambda: built.set_data("training", rates, labels - 1)),
            (InvalidArgumentError, "PYTHON-SHAPE", "labels", lambda: built.set_data("training", rates, labels[:3])),
            (InvalidArgumentError, "PYTHON-CONSTANT", '"training"',
             lambda: built.set_data("trainning", rates, labels)),
            (WrongOrderError, None, "data", lambda: built.train(1)),
            (InvalidArgumentError, "SYN-MODEL-NAME", '"liff"', lambda: synfire.model_id("liff")),
            (InvalidArgumentError, "PYTHON-TEXT", "name", lambda: synfire.model_id(3)),
            (InvalidArgumentError, "PYTHON-TEXT", "null", lambda: synfire.model_id("l\0if")),
        ]
        self.assertGreaterEqual(len(mistakes), 50)
        rules = set()
        for kind, rule, words, mistake in mistakes:
            with self.subTest(rule=rule, words=words):
                with self.assertRaises(kind) as raised:
                    mistake()
                problem = raised.exception
                self.assertTrue(rule is None or problem.rule == rule, problem)
                self.assertRegex(problem.rule, r"^(SYN|PYTHON)-[A-Z0-9-]+$")
                self.assertIn(words, str(problem))
                rules.add(problem.rule)
        self.assertGreater(len(rules), 25)


if __name__ == "__main__":
    unittest.main()
