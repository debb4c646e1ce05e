"""Contexts, buffers, layers, synapses, graphs and networks: numbers as the formulas say, and memory that is not copied.

SPDX-License-Identifier: MIT
"""
import gc
import os
import pickle
import re
import sys
import tempfile
import threading
import unittest

import numpy as np

import synfire
from synfire import _api, _arrays, _operations


def random(*shape, seed=1, low=-0.5, high=2.0):
    return np.random.RandomState(seed).uniform(low, high, shape).astype(np.float32)


def lif(x, v, tau, threshold=1.0):
    """Spikes and V by the formula, in float64."""
    spikes = np.zeros(x.shape, np.float32)
    for t in range(len(x)):
        v = v + (x[t] - v) / tau
        spikes[t] = v >= threshold
        v = np.where(spikes[t] > 0, 0.0, v)
    return spikes, v


class Objects(unittest.TestCase):
    def setUp(self):
        self.context = synfire.Context("host", threads=1)

    def tearDown(self):
        self.context.close()

    # ---- The layout of C --------------------------------------------------------------------------------------------

    def test_structures_have_the_sizes_of_c(self):
        import ctypes
        self.assertGreater(len(_api.SIZES), 40)
        for struct, size in _api.SIZES.items():
            self.assertEqual(ctypes.sizeof(struct), size, struct.__name__)

    # ---- Arrays ------------------------------------------------------------------------------------------------------

    def test_buffer_is_an_array_of_the_same_memory(self):
        buffer = synfire.Buffer(self.context, (3, 5))
        array = buffer.numpy()
        array[1, 2] = 7
        self.assertEqual(buffer.download()[1, 2], 7)
        self.assertEqual((array.shape, array.dtype), ((3, 5), np.float32))
        self.assertEqual(array.ctypes.data, buffer.address)
        array[0, 0] = 3
        self.assertEqual(np.from_dlpack(buffer)[0, 0], 3)
        self.assertEqual(np.asarray(buffer)[0, 0], 3)

    def test_array_outlives_its_buffer_s_name(self):
        array = synfire.Buffer(self.context, 4).numpy()
        gc.collect()
        array[:] = 5
        self.assertEqual(array.sum(), 20)

    def test_capsule_that_nobody_takes_is_dropped(self):
        gc.collect()
        left = synfire.reclaim()
        for version in (None, (1, 0)):
            buffer = synfire.Buffer(self.context, 4)
            capsule = buffer.__dlpack__(max_version=version)
            buffer.close()
            self.assertEqual(synfire.reclaim(), left + 1, "the capsule keeps the memory")
            del capsule
            self.assertEqual(synfire.reclaim(), left)

    def test_an_array_by_dlpack_keeps_the_buffer_s_memory(self):
        gc.collect()
        left = synfire.reclaim()
        buffer = synfire.Buffer(self.context, (3, 5))
        buffer.fill(6)
        taken = np.from_dlpack(buffer)
        buffer.close()
        self.assertEqual(synfire.reclaim(), left + 1)
        self.assertEqual(taken.sum(), 90)
        del taken
        gc.collect()
        self.assertEqual(synfire.reclaim(), left)

    def test_a_buffer_by_dlpack_keeps_the_array(self):
        gc.collect()
        synfire.reclaim()
        array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        count = sys.getrefcount(array)
        with synfire.Buffer.from_dlpack(self.context, array) as buffer:
            self.assertEqual((buffer.shape, buffer.dtype, buffer.address), ((2, 3, 4), "f32", array.ctypes.data))
            self.assertEqual(sys.getrefcount(array), count + 1)
            buffer.numpy()[1, 2, 3] = -1
        synfire.reclaim()
        self.assertEqual(sys.getrefcount(array), count)
        self.assertEqual(array[1, 2, 3], -1)

    def test_steps_that_lie_apart_by_dlpack(self):
        wide = np.arange(24, dtype=np.float64).reshape(3, 8)
        buffer = synfire.Buffer.from_dlpack(self.context, wide[:, :5])
        self.assertEqual((buffer.shape, buffer.dtype), ((3, 5), "f64"))
        self.assertEqual(np.from_dlpack(buffer).strides, (64, 8))
        self.assertEqual(buffer.numpy()[2, 4], 20)

    def test_words_by_dlpack(self):
        words = np.arange(6, dtype=np.uint32)
        for dtype in ("u32", "bits", "time_bits"):
            self.assertEqual(synfire.Buffer.from_dlpack(self.context, words, dtype=dtype).dtype, dtype)
        buffer = synfire.Buffer(self.context, 6, "bits")
        self.assertEqual(np.from_dlpack(buffer).dtype, np.uint32)
        self.assertEqual(np.from_dlpack(buffer.signed).dtype, np.int32)
        self.assertEqual(synfire.Buffer.from_dlpack(self.context, buffer.signed).dtype, "u32")
        numbers = synfire.Buffer.from_dlpack(self.context, np.ones((2, 2, 3, 4, 5), np.int64))
        self.assertEqual((numbers.dtype, numbers.shape), ("u64", (2, 2, 60)))

    def test_a_buffer_of_a_buffer(self):
        first = synfire.Buffer(self.context, (2, 3))
        second = synfire.Buffer.from_dlpack(self.context, first)
        first.numpy()[:] = 4
        first.close()
        synfire.reclaim()
        self.assertEqual(second.download().sum(), 24)

    def test_mistakes_with_dlpack(self):
        context = self.context
        for rule, call in (
                ("SYN-BUFFER-DLPACK-STRIDES", lambda: synfire.Buffer.from_dlpack(context, np.zeros((3, 4)).T)),
                ("SYN-BUFFER-DLPACK-STRIDES", lambda: synfire.Buffer.from_dlpack(context, np.zeros(9)[::-1])),
                ("SYN-BUFFER-DLPACK-DTYPE", lambda: synfire.Buffer.from_dlpack(context, np.zeros(3, np.int16))),
                ("SYN-BUFFER-DLPACK-DTYPE", lambda: synfire.Buffer.from_dlpack(context, np.zeros(3, np.complex64))),
                ("SYN-BUFFER-DLPACK-SHAPE", lambda: synfire.Buffer.from_dlpack(context, np.zeros(()))),
                ("SYN-BUFFER-DLPACK-WORDS", lambda: synfire.Buffer.from_dlpack(context, np.zeros(3, np.uint32), dtype="u8")),
                ("PYTHON-ARRAY", lambda: synfire.Buffer.from_dlpack(context, [1, 2])),
                ("SYN-TRANSIENT-MEMORY", lambda: synfire.Buffer(context, 3, memory="transient").__dlpack__())):
            with self.assertRaises(synfire.SynfireError) as raised:
                call()
            self.assertEqual(raised.exception.rule, rule)
        readonly = np.zeros(3)
        readonly.flags.writeable = False
        with self.assertRaises(synfire.SynfireError):  # NumPy 1 does not give it; later versions mark it
            synfire.Buffer.from_dlpack(context, readonly).fill(1)
        self.assertEqual(readonly.sum(), 0)
        buffer = synfire.Buffer(context, 3)
        for words in ({"copy": True}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                buffer.__dlpack__(**words)

        class Wrong:
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **_):
                return object()
        with self.assertRaises(synfire.SynfireError) as raised:
            synfire.Buffer.from_dlpack(context, Wrong())
        self.assertEqual(raised.exception.rule, "PYTHON-ARRAY")

    # ---- The whole process -------------------------------------------------------------------------------------------

    def test_memory_in_use(self):
        with synfire.Context("host") as context:
            before = context.memory_use()
            layer = synfire.Layer(context, steps=4, neurons=30)
            buffer = synfire.Buffer(context, 1000)
            self.assertGreaterEqual(context.memory_use().buffer_bytes, before.buffer_bytes + 4000)
            self.assertGreater(layer.memory_use().layer_bytes, 0)
            self.assertGreaterEqual(synfire.memory_use().host_bytes, context.memory_use().host_bytes)
            buffer.close()
            synfire.reclaim()
            self.assertLess(context.memory_use().buffer_bytes, before.buffer_bytes + 4000)

    def test_messages(self):
        heard = []
        synfire.set_log(lambda level, text: heard.append((level, text)))
        try:
            synfire.Context("host", threads=1).close()
            self.assertTrue(any(level == "choice" and text.startswith("context: host") for level, text in heard), heard)
            n_heard = len(heard)
            synfire.set_log(lambda level, text: heard.append((level, text)), "warning")
            synfire.Context("host", threads=1).close()
            self.assertEqual(len(heard), n_heard)
        finally:
            synfire.set_log(None)
        synfire.Context("host", threads=1).close()
        self.assertEqual(len(heard), n_heard)
        with self.assertRaises(synfire.SynfireError):
            synfire.set_log(print, "loud")

    def test_row_pitch_is_seen(self):
        buffer = synfire.Buffer(self.context, (3, 5), row_pitch=8)
        buffer.numpy()[:] = np.arange(15).reshape(3, 5)
        self.assertEqual(buffer.numpy()[2, 4], 14)
        self.assertEqual(buffer.numpy().strides, (32, 4))

    def test_every_type(self):
        for name, code in _arrays.NUMPY_TYPES.items():
            buffer = synfire.Buffer(self.context, (2, 3), name)
            self.assertEqual(buffer.numpy().dtype, np.dtype(code))
            buffer.upload(np.ones((2, 3), code))
            self.assertEqual(buffer.download().sum(), 6)
            self.assertEqual(buffer.dtype, name)

    def test_memory_of_other_kinds(self):
        import array
        numbers = array.array("f", [1, 2, 3])
        with synfire.Buffer.of(self.context, numbers) as buffer:
            self.assertEqual(buffer.numpy().tolist(), [1, 2, 3])
            buffer.numpy()[0] = 9
        self.assertEqual(numbers[0], 9)
        with synfire.Buffer.of(self.context, bytearray(4)) as buffer:
            self.assertEqual(buffer.dtype, "u8")
        import ctypes
        with synfire.Buffer.of(self.context, (ctypes.c_float * 3)(4, 5, 6)) as buffer:
            self.assertEqual((buffer.dtype, buffer.download().tolist()), ("f32", [4, 5, 6]))

    def test_memory_that_would_move_stays(self):
        memory = bytearray(16)
        buffer = synfire.Buffer.of(self.context, memory)
        with self.assertRaises(BufferError):
            memory.extend(bytes(1000))
        buffer.close()
        self.context.reclaim()
        _arrays.n_lent()
        memory.extend(bytes(1000))

    def test_arrays_whose_names_are_gone_before_the_replay(self):
        layer = synfire.Layer(self.context, steps=33, neurons=500)
        x, spikes = random(33, 500), np.zeros((33, 500), np.float32)
        wanted = lif(x.astype(np.float64), 0.0, 2.0)[0]
        graph = synfire.Graph(self.context)
        graph.forward(layer, x=x, spikes=spikes, v_init=np.zeros(500, np.float32))
        graph.instantiate()
        del x
        gc.collect()
        others = [np.full((33, 500), 9, np.float32) for _ in range(20)]  # would take the memory, were it free
        for _ in range(2):
            spikes[:] = 0
            graph.replay()
            np.testing.assert_array_equal(spikes, wanted)
        self.assertEqual(sum(int(one[0, 0]) for one in others), 180)
        lent = _arrays.n_lent()
        graph.close()
        layer.close()
        self.context.reclaim()
        self.assertEqual(_arrays.n_lent(), lent - 3)

    def test_lent_array_is_kept_until_it_is_needed_no_more(self):
        gc.collect()
        synfire.reclaim()
        before = _arrays.n_lent()
        array = random(4)
        buffer = synfire.Buffer.of(self.context, array)
        address = array.ctypes.data
        del array
        gc.collect()
        self.assertEqual(buffer.address, address)
        self.assertEqual(_arrays.n_lent(), before + 1)
        buffer.close()
        self.context.reclaim()
        self.assertEqual(_arrays.n_lent(), before)

    # ---- Layers ------------------------------------------------------------------------------------------------------

    def test_forward_over_arrays(self):
        x, spikes, v = random(33, 2, 19), np.zeros((33, 2, 19), np.float32), np.zeros((2, 19), np.float32)
        layer = synfire.Layer(self.context, steps=33, batch=2, neurons=19, tau=2.0)
        layer.forward(x=x, spikes=spikes, v_final=v)
        wanted, v_wanted = lif(x.astype(np.float64), 0.0, 2.0)
        self.assertEqual((spikes != wanted).sum(), 0)
        np.testing.assert_allclose(v, v_wanted, atol=1e-5)
        self.assertGreater(spikes.sum(), 20)
        np.testing.assert_array_equal(layer.state(), v)

    def test_backward_and_packed_spikes(self):
        layer = synfire.Layer(self.context, steps=5, neurons=40)
        x = random(5, 40)
        bits, dense = np.zeros((5, 2), np.uint32), np.zeros((5, 40), np.float32)
        rest = np.zeros(40, np.float32)
        layer.forward(x=x, spikes=bits, v_init=rest)
        layer.forward(x=x, spikes=dense, v_init=rest)
        unpacked = np.unpackbits(bits.view(np.uint8), bitorder="little").reshape(5, 64)[:, :40]
        np.testing.assert_array_equal(unpacked, dense)
        gradient, of_tau = np.zeros_like(x), np.zeros(1, np.float32)
        layer.backward(grad_spike_seq=np.ones_like(x), grad_x_seq=gradient, parameter_gradients={"tau": of_tau})
        self.assertTrue(np.isfinite(gradient).all() and np.abs(gradient).sum() > 0 and of_tau[0] != 0)

    def test_parameters(self):
        layer = synfire.Layer(self.context, steps=2, neurons=3, tau=[2.0, 3.0, 4.0])
        self.assertEqual(layer["tau"], [2.0, 3.0, 4.0])
        layer["v_threshold"] = np.float32(0.5)
        self.assertEqual(layer["v_threshold"], 0.5)
        self.assertIn("alpha", list(layer))
        self.assertEqual(layer.parameters()[0].length, 3)
        self.assertEqual(layer.describe().n_neurons, 3)
        self.assertIn("lif, 3 neurons, 2 steps", repr(layer))
        channels = synfire.Layer(self.context, steps=2, neurons=6, model="plif", v_threshold=[1.0, 2.0, 3.0])
        channels["tau"] = [2.0, 4.0] * 3
        self.assertEqual((channels["v_threshold"], channels["tau"]), ([1.0, 2.0, 3.0], [2.0, 4.0] * 3))

    def test_state_and_snapshots(self):
        layer = synfire.Layer(self.context, steps=1, neurons=4, batch=2)
        layer.set_state("v", np.full((2, 4), 0.25, np.float32))
        kept = layer.snapshot()
        layer.reset_state()
        self.assertEqual(layer.state().sum(), 0)
        layer.restore(kept)
        self.assertEqual(layer.state().sum(), 2)
        self.assertEqual(synfire.Layer.query_memory(steps=1, neurons=4, batch=2).checkpoint_interval, 32)

    def test_call_gives_spikes(self):
        layer = synfire.Layer(self.context, steps=4, neurons=(2, 3))
        x = random(4, 6)
        np.testing.assert_array_equal(layer(x), lif(x.astype(np.float64), 0.0, 2.0)[0])

    def test_passes_over_addresses(self):
        layer = synfire.Layer(self.context, steps=8, neurons=19, batch=3)
        tape_bytes, scratch_bytes = layer.run_memory("recompute", 5, 2, 1)
        self.assertEqual(tape_bytes % 256, 0)
        self.assertGreater(scratch_bytes, 0)
        x, spikes, rest = random(5, 2, 19), np.zeros((5, 2, 19), np.float32), np.zeros((2, 19), np.float32)
        tape, stamp, gradient = np.zeros(tape_bytes, np.uint8), _api.synfire_tape_stamp(), np.zeros_like(x)
        from synfire._call import described
        desc = described("synfire_pointers_desc", n_steps=5, batch=2, x=x.ctypes.data, spikes=spikes.ctypes.data,
                         v_init=rest.ctypes.data, tape_memory=tape.ctypes.data, tape_bytes=tape_bytes,
                         grad_spike_seq=spikes.ctypes.data, grad_x_seq=gradient.ctypes.data)
        import ctypes
        desc.stamp = ctypes.pointer(stamp)
        layer.run_forward(desc)
        layer.run_backward(desc)
        small = synfire.Layer(self.context, steps=5, neurons=19, batch=2)
        s, g = np.zeros_like(x), np.zeros_like(x)
        small.forward(x=x, spikes=s, v_init=rest)
        small.backward(grad_spike_seq=s, grad_x_seq=g)
        np.testing.assert_array_equal(spikes, s)
        np.testing.assert_array_equal(gradient.view(np.uint32), g.view(np.uint32))
        layer["tau"] = 3.0
        with self.assertRaises(synfire.StaleTapeError) as raised:
            layer.run_backward(desc)
        self.assertEqual(raised.exception.rule, "SYN-TAPE-PARAMETERS")

    # ---- Synapses ----------------------------------------------------------------------------------------------------

    def test_dense_synapse(self):
        synapse = synfire.Synapse(self.context, inputs=7, outputs=3, bias=True, seed=5)
        weight = random(3, 7, seed=3)
        synapse["weight"] = weight
        synapse["bias"] = np.array([1, 2, 3], np.float32)
        np.testing.assert_array_equal(synapse["weight"], weight)
        spikes = (random(4, 1, 7) > 1).astype(np.float32)
        output = np.zeros((4, 1, 3), np.float32)
        synapse.forward(steps=4, input=spikes, output=output)
        np.testing.assert_allclose(output, spikes @ weight.T + [1, 2, 3], atol=1e-4)
        self.assertIn("7 to 3", repr(synapse))

    def test_layer_that_reads_its_own_spikes(self):
        """Two neurons that wake each other: a spike goes back and forth, also from one call to the next."""
        back = synfire.Synapse(self.context, inputs=2, outputs=2, no_self_connections=True)
        back["weight"] = np.ones((2, 2), np.float32)
        np.testing.assert_array_equal(back["weight"], [[0, 1], [1, 0]])
        layer = synfire.Layer(self.context, steps=3, neurons=2, model="if", history_steps=1)
        x, spikes = np.zeros((3, 1, 2), np.float32), np.zeros((3, 1, 2), np.float32)
        x[0, 0, 0] = 1
        layer.forward(x=x, recurrent_synapse=back, recurrent_delay=1, spikes=spikes)
        np.testing.assert_array_equal(spikes[:, 0], [[1, 0], [0, 1], [1, 0]])
        before = np.zeros((1, 1, 2), np.float32)
        layer.backward(grad_spike_seq=np.ones((3, 1, 2), np.float32), grad_spikes_init=before)
        self.assertTrue((before > 0).all())
        layer.forward(x=np.zeros((3, 1, 2), np.float32), recurrent_synapse=back, recurrent_delay=1, spikes=spikes)
        np.testing.assert_array_equal(spikes[:, 0], [[0, 1], [1, 0], [0, 1]])

    def test_other_synapses(self):
        one = synfire.Synapse.one_to_one(self.context, channels=4, input_kind="values")
        self.assertEqual(one.info().kind, "one_to_one")
        cells = synfire.Synapse.population(self.context, channels=2, cells=2, lower=-1, upper=1, sigma=1)
        self.assertEqual(cells.info().kind, "population")
        np.testing.assert_array_equal(cells["mu"].reshape(2, 2), [[-1, 1], [-1, 1]])
        active = np.zeros((1, 1, 4), np.float32)
        cells.forward(steps=1, input=np.array([[[-1, 1]]], np.float32), output=active)
        np.testing.assert_allclose(active[0, 0], [1, np.exp(-2), np.exp(-2), 1], rtol=1e-6)
        late = synfire.Synapse.delayed(self.context, inputs=1, outputs=1, max_delay=2, delays=[1])
        self.assertEqual(late.info().kind, "delayed")
        late["weight"] = np.full((1, 1), 3, np.float32)
        arrived = np.zeros((3, 1, 1), np.float32)
        late.forward(steps=3, input=np.array([[[1]], [[0]], [[0]]], np.uint8), output=arrived)
        np.testing.assert_array_equal(arrived[:, 0, 0], [0, 3, 0])
        conv = synfire.Synapse.conv2d(self.context, channels=2, output_channels=3, height=4, width=4, kernel_height=3,
                                      kernel_width=3, padding_y=1, padding_x=1, bias=True)
        self.assertEqual(conv["weight"].size, 3 * 2 * 9)

    # ---- Graphs ------------------------------------------------------------------------------------------------------

    def test_graph(self):
        layer = synfire.Layer(self.context, steps=4, neurons=19)
        x, spikes, counts = layer.sequence_buffer(), layer.spike_buffer(), np.zeros(1, np.uint64)
        x.numpy()[:] = random(4, 19)
        graph = synfire.Graph(self.context)
        first = graph.forward(layer, x=x, spikes=spikes)
        graph.count_spikes(steps=4, neurons=19, spikes=spikes, counts=counts, kind="total")
        heard = []
        graph.native(lambda call: heard.append(call.reads[0][1]), reads=[spikes])
        graph.instantiate()
        for _ in range(2):
            ticket = graph.launch()
            self.assertTrue(graph.wait(ticket, timeout=10, policy="block"))
            self.assertTrue(graph.is_done(ticket))
        layer.reset_state()
        graph.replay()
        self.assertEqual(counts[0], layer_count(layer, x.numpy()))
        self.assertEqual(heard, [spikes.nbytes] * 3)
        graph.set_enabled(first, False)
        graph.replay()
        self.assertIn("digraph", graph.dot())
        self.assertEqual(graph.statistics().n_replays, 4)

    def test_exception_of_a_callback_comes_out(self):
        graph = synfire.Graph(self.context)
        buffer = synfire.Buffer(self.context, 4)

        def fails(_):
            raise KeyError("mine")
        graph.native(fails, writes=[buffer])
        graph.instantiate()
        with self.assertRaises(KeyError):
            graph.replay()

    # ---- Networks ----------------------------------------------------------------------------------------------------

    def network(self, rows=12):
        network = synfire.Network(self.context, steps=6, batch=4, seed=3)
        network.stage("input", name="rates", kind="rates", features=5)
        network.stage("synapse", name="first", outputs=8)
        network.stage("neurons", name="hidden", model="lif")
        network.stage("synapse", name="second", outputs=3, inputs="hidden")
        network.add_neurons("potentials", "li")
        network.add_readout("scores", "mean")
        network.add_loss("loss", "cross_entropy")
        network.add_optimizer("adam", "adam", 0.01)
        network.set_value("hidden", "surrogate", "atan")
        network.build()
        self.labels = np.arange(rows) % 3
        self.rates = np.random.RandomState(1).uniform(0, 1, (rows, 5)).astype(np.float32)
        for which in ("training", "evaluation"):
            network.set_data(which, self.rates, self.labels)
        return network

    def test_network(self):
        network = self.network()
        results = network.fit(2, progress=False)
        self.assertEqual([one.n_batches for one in results], [3, 3])
        self.assertTrue(0 <= network.evaluate().accuracy <= 1)
        self.assertIn("hidden", network.summary())
        self.assertIn("digraph", network.dot())
        total, parts = network.evaluate_stages(["loss"])
        self.assertEqual((parts[0].stage, parts[0].n_counted), ("loss", total.n_counted))
        self.assertEqual(network.synapse("first")["weight"].shape, (8, 5))
        self.assertEqual(network.layer("hidden").model, "lif")
        self.assertEqual(network.value("adam", "learning_rate"), 0.01)
        outputs = np.zeros((12, 3), np.float32)
        network.infer(self.rates, 12, outputs)
        self.assertGreater(np.abs(outputs).sum(), 0)

    def test_network_files(self):
        network = self.network()
        network.train(4)
        data = network.save_to_memory()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.safetensors")
            network.save(path)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), data)
            loaded = synfire.Network.load_from(self.context, path)
        other = synfire.Network.load_from(self.context, data)
        for one in (loaded, other):
            one.set_data("evaluation", self.rates, self.labels)
            self.assertEqual(one.evaluate().loss, network.evaluate().loss)
        # A program asks for arrays, monitors, and readouts that continue.
        watched = synfire.Network.load_from(self.context, data, keep="hidden.v hidden.monitor", continues=True)
        self.assertGreater(np.asarray(watched.buffer("hidden.v")).size, 0)
        self.assertEqual(watched.monitor("hidden", True).n_replays, 0)
        self.assertEqual(watched.value("scores", "continues"), 1)
        with self.assertRaisesRegex(synfire.WrongOrderError, "SYN-NETWORK-NOT-KEPT"):
            network.buffer("hidden.v")
        with self.assertRaisesRegex(synfire.WrongOrderError, "SYN-NETWORK-BUILT"):
            network.keep("hidden.v")
        with self.assertRaisesRegex(synfire.InvalidArgumentError, "SYN-NETWORK-MONITOR"):
            watched.monitor("scores")
        with self.assertRaisesRegex(synfire.InvalidArgumentError, 'did you mean "hidden.spikes"'):
            synfire.Network.load_from(self.context, data, keep="hidden.spike")
        network.train(2)
        network.load_from_memory(data)
        self.assertEqual(network.evaluate().loss, loaded.evaluate().loss)

    def test_rows_stay_in_files(self):
        network = self.network()
        network.set_data("evaluation", self.rates, self.labels)
        expected = network.evaluate().loss
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("first.npy", "second.npy", "labels.npy")]
            for path, array in zip(paths, (self.rates[:5], self.rates[5:], self.labels.astype(np.uint32))):
                np.save(path, array)
            files = {("rates", "inputs"): paths[:2], "labels": paths[2]}
            network.open_data("evaluation", files)
            self.assertEqual(network.evaluate().loss, expected)
            network.open_data("training", files, block_rows=2, window_blocks=2, n_readers=1)
            self.assertEqual(network.train().epoch, 1)
            with self.assertRaisesRegex(synfire.SynfireError, "SYN-NETWORK-ARRAY"):
                network.open_data("training", {"inputs": paths[:2]})
            with self.assertRaisesRegex(synfire.SynfireError, "SYN-FILE-DTYPE"):
                network.open_data("training", {"inputs": paths[2], "labels": paths[2]})
            network.close()

    def test_arrays_of_other_files(self):
        network = self.network()
        network.train(2)
        data = network.save_to_memory()
        other = self.network()
        self.assertEqual(other.load_arrays(data, ["first.weights", "first.bias"]), [])
        self.assertTrue((other.synapse("first")["weight"] == network.synapse("first")["weight"]).all())
        before = other.save_to_memory()
        self.assertEqual(other.load_arrays(data, {"no": "first.bias"}, leave_out=True), ["first.bias"])
        for sources, words in (({"first.weights": "first.weight"}, 'did you mean "first.weights"'),
                               ({"first.bios": "first.bias"}, 'did you mean "first.bias"'),
                               ({"first.weights": "first.bias"}, "SYN-FILE-SHAPE"),
                               ({"adam.step_count": "first.bias"}, "SYN-FILE-DTYPE"),
                               ({"first.weights": ("first.weights", "io")}, "SYN-NETWORK-LAYOUT")):
            with self.assertRaisesRegex(synfire.SynfireError, re.escape(words)):
                other.load_arrays(data, sources)
        for sources in ("first.bias", b"first.bias", None, 7, [("first.bias",)], {"first.bias": ()},
                        [("first.weights", "first.weights", "oi", 1)]):
            with self.assertRaisesRegex(synfire.SynfireError, "PYTHON-SOURCES"):
                other.load_arrays(data, sources)
        for sources in ([1], {"first.bias": 2}, [("first.bias", None)], [("first.weights", "first.weights", 3)]):
            with self.assertRaisesRegex(synfire.SynfireError, "PYTHON-TEXT"):
                other.load_arrays(data, sources)
        with self.assertRaisesRegex(synfire.SynfireError, "twice"):
            other.load_arrays(data, ["first.bias", "first.bias"])
        self.assertEqual(other.load_arrays(data, [("first.weights", "first.weights", "oi"), ("first.bias", "first.bias")]), [])
        with self.assertRaisesRegex(synfire.SynfireError, "SYN-FILE"):
            other.load_arrays(b"no file", ["first.bias"])
        with self.assertRaisesRegex(synfire.SynfireError, "SYN-FILE-OPEN"):
            other.load_arrays("/no/such/file", ["first.bias"])
        self.assertEqual(other.save_to_memory(), before)

    def test_frozen_stages_and_schedules(self):
        network = self.network()
        network.set_value("adam", "schedule_steps", 2)
        network.set_value("adam", "schedule", "cosine")
        network.set_value("first", "frozen", True)
        before = network.synapse("first")["weight"].copy()
        network.train(2)
        self.assertTrue((network.synapse("first")["weight"] == before).all())
        with self.assertRaisesRegex(synfire.SynfireError, "2 were taken"):
            network.train(1)
        # The best weights of another network, and bytes that are not a network.
        more = synfire.Network(self.context, steps=4, batch=3)
        more.add_input("rates", "rates", 5)
        more.add_synapse("first", 8)
        more.add_neurons("hidden", "lif")
        more.build()
        before = network.save_to_memory()
        for file, rule in ((more.save_to_memory(), "SYN-NETWORK-OTHER"), (b"no network", "SYN-FILE-LENGTH")):
            with self.assertRaisesRegex(synfire.InvalidArgumentError, rule):
                network.load_from_memory(file)
        self.assertEqual(network.save_to_memory(), before)

    # ---- Ranks -------------------------------------------------------------------------------------------------------

    def test_ranks_learn_what_one_alone_learns(self):
        rates = random(7, 5, low=0, high=1)
        labels = np.arange(7) % 3

        def learn(context, communicator=None):
            network = synfire.Network(context, steps=6, batch=4, seed=3, communicator=communicator)
            network.stage("input", name="rates", kind="rates", features=5)
            network.stage("synapse", name="first", outputs=3)
            network.add_neurons("potentials", "li")
            network.add_readout("scores", "mean")
            network.add_loss("loss", "cross_entropy")
            network.add_optimizer("adam", "adam", 0.01)
            network.build()
            network.set_data("training", rates, labels)
            network.train(5)
            return network.save_to_memory()

        files = {}

        def rank(number):
            with synfire.Context("host", threads=1) as context:
                with synfire.Communicator(context, "loopback", rank=number, size=2, group="python", timeout=30) as ranks:
                    ranks.barrier()
                    files[ranks.rank, ranks.size] = learn(context, ranks)

        threads = [threading.Thread(target=rank, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        alone = learn(self.context)
        self.assertEqual(files, {(0, 2): alone, (1, 2): alone})
        with synfire.Communicator(self.context, "loopback", size=1) as one:
            one.abort()
            with self.assertRaisesRegex(synfire.SynfireError, "SYN-COMMUNICATOR-LOST"):
                one.barrier()

    # ---- Everything else ---------------------------------------------------------------------------------------------

    def test_every_method_is_documented(self):
        for name, kind in vars(_operations).items():
            if isinstance(kind, type) and name.endswith("Methods"):
                for method in vars(kind).values():
                    if callable(method):
                        self.assertTrue(method.__doc__, method)

    def test_objects_close_in_any_order(self):
        with synfire.Context("host") as context:
            layer = synfire.Layer(context, steps=1, neurons=4)
            graph = synfire.Graph(context)
            graph.forward(layer, x=layer.sequence_buffer())
            layer.close()
            layer.close()
            self.assertTrue(layer.closed)
            self.assertIn("closed", repr(layer))
            graph.instantiate()
            graph.replay()
        graph.close()

    def test_errors_can_be_pickled_and_objects_cannot(self):
        with self.assertRaises(synfire.SynfireError) as raised:
            synfire.Layer(self.context, steps=0, neurons=1)
        again = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual((again.rule, again.status, str(again)),
                         (raised.exception.rule, raised.exception.status, str(raised.exception)))
        with self.assertRaises(TypeError):
            pickle.dumps(self.context)

    def test_everything_is_given_back(self):
        self.context.close()
        gc.collect()
        self.assertEqual(synfire.reclaim(), 0)
        self.context = synfire.Context("host", threads=1)


def layer_count(layer, x):
    return int(lif(x.astype(np.float64), 0.0, layer["tau"])[0].sum())


if __name__ == "__main__":
    unittest.main()
