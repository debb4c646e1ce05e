"""synfire.torch on the CPU, through the host backend: the bits of C, gradients against differences, and networks
written from SpikingJelly's documented interface.

SPDX-License-Identifier: MIT
"""
import copy
import gc
import math
import os
import pickle
import threading
import unittest

import numpy as np
import torch

import synfire
import synfire.torch
from synfire.torch import Neuron, _passes, accelerate, restore
from synfire.torch._modules import MODELS

SEED = 3
DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16"}


def random(*shape, dtype=torch.float32, seed=SEED, low=-0.5, high=2.0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low).to(dtype)


def run_by_c(model, x, grad, surrogate="sigmoid", reset="hard", detach=False, **parameters):
    """Both passes by buffers and arrays of NumPy, on a layer of exactly this shape."""
    with synfire.Context("host", threads=1) as context:
        steps, row = x.shape[0], x[0].numel()
        silent = model in _passes.SILENT
        layer = synfire.Layer(context, steps=steps, neurons=row, model=model, dtype=DTYPES[x.dtype],
                              reset="hard" if silent else reset, surrogate="default" if silent else surrogate,
                              detach_reset=detach and not silent, **parameters)
        made = [synfire.Buffer(context, (steps, row), DTYPES[x.dtype]) for _ in range(4)]
        given, output, grads, grad_x = made
        bits = torch.int16 if x.element_size() == 2 else None
        for buffer, tensor in ((given, x), (grads, grad)):
            buffer.upload((tensor.contiguous().view(bits) if bits else tensor.contiguous()).reshape(-1).numpy().view(
                np.uint16 if bits else None) if bits else tensor.contiguous().reshape(-1).numpy())
        name = "v_seq" if silent else "spikes"
        layer.forward(x=given, **{name: output})
        layer.backward(**{"grad_v_seq" if silent else "grad_spike_seq": grads}, grad_x_seq=grad_x)
        return output.download().reshape(x.shape), grad_x.download().reshape(x.shape)


def as_numpy(tensor):
    tensor = tensor.detach().contiguous()
    return tensor.view(torch.int16).numpy().view(np.uint16) if tensor.element_size() == 2 else tensor.numpy()


def bits(array):
    return np.ascontiguousarray(array).view({2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize])


class Neurons(unittest.TestCase):
    def assert_bits_of_c(self, model, shape, dtype, surrogate="sigmoid", reset="hard", detach=False, **parameters):
        x = random(*shape, dtype=dtype).requires_grad_()
        grad = random(*shape, dtype=dtype, seed=4, low=-1, high=1)
        neuron = Neuron(model, surrogate=surrogate, reset=reset, detach_reset=detach, **parameters)
        output = neuron(x)
        output.backward(grad)
        wanted, wanted_grad = run_by_c(model, x.detach(), grad, surrogate, reset, detach, **parameters)
        what = (model, shape, dtype, surrogate, reset)
        np.testing.assert_array_equal(bits(as_numpy(output)), bits(wanted), str(what))
        np.testing.assert_array_equal(bits(as_numpy(x.grad)), bits(wanted_grad), str(what))

    def test_bits_of_c(self):
        shapes = [(4, 2, 64), (33, 3, 7), (1, 1, 1), (5, 2, 3, 4, 4)]
        surrogates = [name for name in synfire._api.NAMES["surrogate"] if name != "default"]
        case = 0
        for dtype in DTYPES:
            for model in MODELS:
                self.assert_bits_of_c(model, shapes[case % 4], dtype, surrogates[case % len(surrogates)],
                                      ("hard", "soft")[case % 2] if model not in _passes.SILENT else "hard", case % 3 == 0)
                case += 1
        self.assert_bits_of_c("lif", (6, 40), torch.float32, tau=3.0, v_threshold=0.7, v_reset=-0.2, alpha=2.0)
        self.assert_bits_of_c("alif", (6, 40), torch.float32, strict_threshold=True, tau=3.0, rho=0.5)

    def test_strict_threshold(self):
        x = torch.ones(3, 5)
        for strict in (False, True):
            spikes = Neuron("if", reset="soft", strict_threshold=strict)(x)
            self.assertEqual(spikes[:, 0].tolist(), [0, 1, 1] if strict else [1, 1, 1])

    def test_rules_that_count_steps(self):
        rules = ({"reset": "soft_delayed"}, {"refractory_steps": 2}, {"reset": "soft_delayed", "refractory_steps": 1})
        for model, values in (("lif", {}), ("cuba_lif", {"gain": 20.0}), ("alif", {})):
            for dtype, rule in zip((torch.float32, torch.float64, torch.float16), rules):
                self.assert_bits_of_c(model, (37, 3, 5), dtype, **rule, **values)
            for rule in rules:
                # Window by window, and with the channels last: the bits of all steps at once.
                x = [random(40, 2, 3, 4, 4)] * 2
                x[1] = x[1].flatten(0, 1).contiguous(memory_format=torch.channels_last).unflatten(0, (40, 2))
                x = [one.detach().requires_grad_() for one in x]
                whole, part = (Neuron(model, **rule, **values) for _ in range(2))
                wanted = whole(x[0])
                found = torch.cat((part(x[1][:7]), part(x[1][7:])))
                self.assertTrue(torch.equal(found, wanted) and float(wanted.sum()) > 100, (model, rule))
                self.assertTrue(torch.equal(part.w, whole.w), (model, rule))
                self.assertEqual(part.w.shape, (2, 3, 4, 4) if model == "lif" else (2, 2, 3, 4, 4))
                for output in (wanted, found):
                    (output * torch.arange(40.0).view(40, 1, 1, 1, 1)).sum().backward()
                np.testing.assert_array_equal(x[1].grad.numpy(), x[0].grad.numpy(), str((model, rule)))
        # An IF neuron fires at X = 1, and in every third step if two follow in which it does nothing.
        spikes = Neuron("if", refractory_steps=2)(torch.ones(7, 3))
        self.assertEqual(spikes[:, 0].tolist(), [1, 0, 0, 1, 0, 0, 1])

    def test_an_adapted_threshold_goes_on(self):
        x = random(8, 3, 5)
        whole, part = Neuron("alif", rho=0.5), Neuron("alif", rho=0.5)
        wanted = whole(x)
        np.testing.assert_array_equal(torch.cat((part(x[:3]), part(x[3:]))).numpy(), wanted.numpy())
        np.testing.assert_array_equal(part.w.numpy(), whole.w.numpy())
        self.assertGreater(float(whole.w.max()), 0)

    def test_more_rows_than_before_and_fewer(self):
        neuron = Neuron("lif", tau=2.0)
        for shape in ((4, 1, 128), (4, 9, 128), (2, 3, 128), (7, 2, 128), (3, 130), (4, 1, 128)):
            neuron.reset()
            x = random(*shape)
            np.testing.assert_array_equal(neuron(x).numpy(), run_by_c("lif", x, x)[0])

    def test_gradcheck(self):
        # A threshold that is never reached, and one that is: away from it, spikes are constant and V is smooth.
        for model, learned in (("lif", ("tau",)), ("plif", ("reciprocal_tau",)), ("eif", ()), ("izhikevich", ())):
            neuron = Neuron(model, learn=learned, v_threshold=50.0, store_v_seq=True, detach_reset=True)
            neuron.double()
            x = random(5, 2, 3, dtype=torch.float64, high=0.5).requires_grad_()
            v = random(2, 3, dtype=torch.float64, high=0.1).requires_grad_()

            def of_v(x, v, *parameters):
                neuron.reset()
                spikes, v_final, _, v_seq = _passes.neuron(x, v, None, list(parameters), neuron._text, True)
                return v_final, v_seq
            self.assertTrue(torch.autograd.gradcheck(of_v, (x, v, *neuron._tensors())))

    def test_several_calls_wait_for_their_backwards(self):
        neuron = Neuron("lif")
        xs = [random(6, 2, 50, seed=i).requires_grad_() for i in range(3)]
        outputs = []
        for x in xs:
            neuron.reset()
            outputs.append(neuron(x))
        sum(output.sum() for output in outputs).backward()
        for x in xs:
            wanted = run_by_c("lif", x.detach(), torch.ones_like(x))[1]
            np.testing.assert_array_equal(x.grad.numpy(), wanted)

    def test_steps_one_by_one_have_the_bits_of_all_at_once(self):
        x = random(7, 2, 40).requires_grad_()
        Neuron("izhikevich", a=0.1, b=0.2)(x).sum().backward()
        at_once, x.grad = x.grad, None
        single = Neuron("izhikevich", a=0.1, b=0.2, step_mode="s")
        torch.stack([single(x[t]) for t in range(7)]).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), at_once.numpy())

    def test_truncation_and_checkpointing(self):
        from torch.utils.checkpoint import checkpoint
        x = random(8, 2, 40).requires_grad_()
        neuron = Neuron("lif")

        def run(x):
            neuron.reset()
            return neuron(x)
        checkpoint(run, x, **({"use_reentrant": False})).sum().backward()
        wanted = run_by_c("lif", x.detach(), torch.ones_like(x))[1]
        np.testing.assert_array_equal(x.grad.numpy(), wanted)
        neuron.reset()
        neuron(x[:4])
        neuron.detach()
        self.assertFalse(neuron.v.requires_grad)
        neuron(x[4:]).sum().backward()

    def test_channels_last_is_not_copied(self):
        x = random(3, 2, 4, 5, 6)
        last = torch.empty(6, 4, 5, 6).to(memory_format=torch.channels_last).copy_(x.flatten(0, 1)).view(3, 2, 4, 5, 6)
        self.assertTrue(_passes._as_dense(last) is last)
        last.requires_grad_()
        output = Neuron("lif")(last)
        self.assertEqual(output.stride(), last.stride())
        output.sum().backward()
        wanted, gradient = run_by_c("lif", x, torch.ones_like(x))
        np.testing.assert_array_equal(output.detach().numpy(), wanted)
        np.testing.assert_array_equal(last.grad.numpy(), gradient)
        other = x.transpose(1, 2).requires_grad_()
        Neuron("lif")(other).sum().backward()
        np.testing.assert_array_equal(other.grad.transpose(1, 2).numpy(), gradient)

    def test_tensors_that_are_moved_before_the_backward(self):
        x = random(40, 2, 30).requires_grad_()
        neuron = Neuron("izhikevich", a=0.1, b=0.2)
        with torch.autograd.graph.saved_tensors_hooks(lambda one: one.clone(), lambda one: one.clone()):
            neuron(x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), run_by_c("izhikevich", x.detach(), torch.ones_like(x), a=0.1,
                                                               b=0.2)[1])

    def test_learned_parameters(self):
        neuron = Neuron("lif", learn=("tau", "v_threshold"), tau=3.0)
        names = [name for name, _ in neuron.named_parameters()]
        self.assertEqual(names, ["tau_", "v_threshold_"])
        optimizer = torch.optim.SGD(neuron.parameters(), 0.01)
        x = random(6, 2, 40)
        for _ in range(3):
            neuron.reset()
            optimizer.zero_grad()
            neuron(x).mean().backward()
            self.assertNotEqual(neuron.tau_.grad.item(), 0)
            optimizer.step()
        self.assertNotEqual(neuron.tau_.item(), 3.0)
        other = copy.deepcopy(neuron)
        with torch.no_grad():
            other.tau_.fill_(9.0)
        neuron.reset()
        np.testing.assert_array_equal(
            neuron(x).detach().numpy(),
            run_by_c("lif", x, x, tau=neuron.tau_.item(), v_threshold=neuron.v_threshold_.item())[0])
        again = pickle.loads(pickle.dumps(other))
        self.assertEqual(again.tau_.item(), 9.0)
        again(x)

    def test_a_parameter_that_changes_between_the_passes(self):
        neuron = Neuron("lif", learn=("tau",))
        x = random(4, 20).requires_grad_()
        first = neuron(x)
        neuron.reset()
        with torch.no_grad():
            neuron.tau_.fill_(5.0)
        neuron(x)
        with self.assertRaises((synfire.StaleTapeError, RuntimeError)):
            first.sum().backward()

    def test_no_second_gradient(self):
        x = random(4, 2, 64).requires_grad_()
        (gradient,) = torch.autograd.grad(Neuron("lif")(x).square().sum(), x, create_graph=True)
        with self.assertRaises((synfire.SynfireError, RuntimeError)):
            gradient.sum().backward()

    def test_inference_keeps_nothing(self):
        neuron = Neuron("lif")
        with torch.no_grad():
            self.assertFalse(neuron(random(4, 20)).requires_grad)
        with torch.cpu.amp.autocast():
            self.assertEqual(neuron(random(4, 20)).dtype, torch.float32)

    def test_tape_has_the_size_that_c_says(self):
        for model, rule in (("lif", {}), ("izhikevich", {}), ("alif", {}), ("if", {"reset": "soft_delayed"}),
                            ("alif", {"refractory_steps": 3})):
            for dtype in DTYPES:
                for steps, row in ((1, 1), (32, 640), (33, 640), (70, 19)):
                    neurons = _passes.Neurons(model=model, **rule)
                    x = torch.zeros(steps, row, dtype=dtype)
                    served = _passes._layer_for(neurons, x, steps, row, _passes._row_of(neurons, row, ()))
                    wanted = served.layer.run_memory("recompute", steps, row // served.layer.neurons, 0)[0]
                    self.assertEqual(_passes.tape_bytes(neurons, x, steps, row), wanted)

    def test_mistakes(self):
        neuron = Neuron("lif")
        neuron(random(4, 20))
        for rule, mistake in (
                ("PYTHON-CONSTANT", lambda: Neuron("lifff")), ("PYTHON-CONSTANT", lambda: Neuron(surrogate="sigmod")),
                ("PYTHON-CONSTANT", lambda: Neuron(reset="soft_delay")),
                ("PYTHON-RANGE", lambda: Neuron(refractory_steps=-1)),
                ("PYTHON-RANGE", lambda: Neuron(refractory_steps=1.5)),
                ("PYTHON-KEYWORD", lambda: Neuron("lif", tua=2.0)), ("PYTHON-KEYWORD", lambda: Neuron(learn=("w",))),
                ("PYTHON-SHAPE", lambda: neuron(random(4, 21))), ("PYTHON-SHAPE", lambda: neuron(torch.zeros(0, 20))),
                ("PYTHON-SHAPE", lambda: neuron(torch.zeros(20))),
                ("PYTHON-DTYPE", lambda: neuron(torch.zeros(4, 20, dtype=torch.int32))),
                ("SYN-PARAMETER-RANGE", lambda: Neuron("lif", tau=-1.0)(random(4, 20)))):
            with self.assertRaises(synfire.SynfireError) as raised:
                mistake()
            self.assertEqual(raised.exception.rule, rule)

    def test_tensors_that_no_neuron_takes(self):
        neuron, learning, used = Neuron("lif"), Neuron("lif", learn=("tau",)).to("meta"), Neuron("lif")
        x = random(4, 20)
        used(x)
        state = used.v

        def from_state(v):
            used.v = v
            used(x)
        mistakes = [
            ("PYTHON-ARRAY", "ndarray", lambda: neuron(x.numpy())),
            ("PYTHON-ARRAY", "list", lambda: neuron([[1.0]])),
            ("PYTHON-CONTIGUOUS", "torch.sparse_coo", lambda: neuron(x.to_sparse())),
            ("PYTHON-CONTIGUOUS", "torch._mkldnn", lambda: neuron(x.to_mkldnn())),
            ("PYTHON-DTYPE", "complex64", lambda: neuron(x.to(torch.complex64))),
            ("PYTHON-DEVICE", "a state is on meta", lambda: from_state(state.to("meta"))),
            ("PYTHON-CONTIGUOUS", "a state", lambda: from_state(state.to_sparse())),
            ("PYTHON-DEVICE", "the parameter tau is on meta", lambda: learning(x))]
        for values in (torch.zeros(0), torch.ones((), dtype=torch.int64)):
            wrong = Neuron("lif", learn=("tau",))
            wrong.tau_ = torch.nn.Parameter(values, requires_grad=False)
            mistakes.append(("PYTHON-DTYPE", "a parameter has", lambda wrong=wrong: wrong(x)))
        if not _passes._has_operators:  # the operator gives tensors without memory for such ones
            mistakes.append(("PYTHON-DEVICE", "the tensor is on meta", lambda: neuron(x.to("meta"))))
        for rule, words, mistake in mistakes:
            with self.subTest(rule=rule, words=words):
                with self.assertRaises(synfire.SynfireError) as raised:
                    mistake()
                self.assertEqual(raised.exception.rule, rule)
                self.assertIn(words, str(raised.exception))
        # Nothing of them is left in what later calls share.
        np.testing.assert_array_equal(neuron(x).numpy(), run_by_c("lif", x, x)[0])
        from_state(torch.zeros(20))
        np.testing.assert_array_equal(used.v.numpy(), neuron.v.numpy())

    def test_input_that_is_changed_before_the_backward(self):
        x = random(4, 20).requires_grad_() * 1
        output = Neuron("lif")(x)
        with torch.no_grad():
            x.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            output.sum().backward()

    def test_names_that_are_gone_before_the_backward(self):
        x = random(40, 3, 50).requires_grad_()
        total = Neuron("izhikevich", a=0.1, b=0.2)(x * 1).sum()
        gc.collect()
        others = [torch.full((40, 3, 50), 9.0) for _ in range(20)]  # would take the memory, were it free
        total.backward()
        wanted = run_by_c("izhikevich", x.detach(), torch.ones_like(x), a=0.1, b=0.2)[1]
        np.testing.assert_array_equal(x.grad.numpy(), wanted)
        self.assertEqual(sum(one[0, 0, 0].item() for one in others), 180)

    def test_threads_share_neurons(self):
        neuron, shapes = Neuron("lif", tau=2.25), [(4, rows, 128) for rows in (1, 5, 9, 2)]
        wanted = [run_by_c("lif", random(*shape), torch.ones(shape), tau=2.25) for shape in shapes]
        problems = []

        def work(shape, wanted):
            try:
                mine = copy.deepcopy(neuron)  # a state of its own; all use the same layer
                for _ in range(20):
                    x = random(*shape).requires_grad_()
                    mine.reset()
                    output = mine(x)
                    output.sum().backward()
                    if not ((output.detach().numpy() == wanted[0]).all() and (x.grad.numpy() == wanted[1]).all()):
                        problems.append(shape)
            except BaseException as problem:
                problems.append(problem)
        threads = [threading.Thread(target=work, args=pair) for pair in zip(shapes, wanted)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(problems, [])

    @unittest.skipUnless(hasattr(os, "fork"), "no fork on this system")
    def test_workers_of_a_data_loader(self):
        neuron = Neuron("lif")
        x = random(4, 3000)
        wanted = neuron(x)

        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                neuron.reset()
                return neuron(x)
        for batch in torch.utils.data.DataLoader(Rows(), num_workers=2):
            self.assertTrue(torch.equal(batch[0], wanted))

    def test_nothing_is_lost(self):
        x = random(4, 2, 128).requires_grad_()
        neuron = Neuron("lif")
        for _ in range(3):
            neuron.reset()
            neuron(x).sum().backward()
        gc.collect()
        before = len(_passes._by_handle)
        for _ in range(20):
            neuron.reset()
            neuron(x).sum().backward()
        self.assertEqual(len(_passes._by_handle), before)
        # A layer that grows many times keeps few of those before.
        for rows in range(3, 40):
            neuron.reset()
            neuron(random(4, rows, 128))
        self.assertLessEqual(len(_passes._retired), _passes._MOST_RETIRED)
        self.assertEqual(len(_passes._by_handle), len(_passes._layers) + len(_passes._retired))

    def test_a_forward_whose_layer_is_forgotten(self):
        neuron, xs = Neuron("lif", tau=2.75), [random(4, rows, 128).requires_grad_() for rows in range(1, 25)]
        outputs = []
        for x in xs:
            neuron.reset()
            outputs.append(neuron(x).sum())
        sum(outputs).backward()
        for x in xs:
            wanted = run_by_c("lif", x.detach(), torch.ones_like(x), tau=2.75)[1]
            np.testing.assert_array_equal(x.grad.numpy(), wanted)

    def test_such_a_forward_began_with_a_state(self):
        neuron = Neuron("alif", tau=2.25, rho=0.5, reset="soft_delayed", refractory_steps=1)
        gradients = []
        for waits in (True, False):
            xs, outputs = [random(4, rows, 128).requires_grad_() for rows in range(1, 25)], []
            for x in xs:
                neuron.reset()
                with torch.no_grad():
                    neuron(x)
                outputs.append(neuron(x).sum())
                if not waits:
                    outputs[-1].backward()
            if waits:
                sum(outputs).backward()
            gradients.append([x.grad for x in xs])
        for late, now in zip(*gradients):
            self.assertTrue(torch.equal(late, now) and late.abs().sum() > 0)


# ---- Networks written from SpikingJelly's documented interface -------------------------------------------------------

class Sigmoid(torch.nn.Module):
    def __init__(self, alpha=4.0, spiking=True):
        super().__init__()
        self.alpha, self.spiking = alpha, spiking

    def forward(self, x):
        return _Spike.apply(x, self.alpha) if self.spiking else torch.sigmoid(self.alpha * x)


class ATan(Sigmoid):
    def forward(self, x):
        return _ATanSpike.apply(x, self.alpha)


class _Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x)
        ctx.alpha = alpha
        return (x >= 0).to(x)

    @staticmethod
    def backward(ctx, grad):
        s = torch.sigmoid(ctx.alpha * ctx.saved_tensors[0])
        return grad * ctx.alpha * s * (1 - s), None


class _ATanSpike(_Spike):
    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0] * (math.pi / 2 * ctx.alpha)
        return grad * ctx.alpha / 2 / (1 + x * x), None


class IFNode(torch.nn.Module):
    """The base: charge, fire, reset; the state `v` is a number until the first call."""

    def __init__(self, v_threshold=1.0, v_reset=0.0, surrogate_function=None, detach_reset=False, step_mode="s",
                 store_v_seq=False):
        super().__init__()
        self.v_threshold, self.v_reset, self.detach_reset = v_threshold, v_reset, detach_reset
        self.surrogate_function = surrogate_function or Sigmoid()
        self.step_mode, self.store_v_seq = step_mode, store_v_seq
        self.reset()

    def reset(self):
        self.v = 0.0 if self.v_reset is None else self.v_reset

    def charge(self, x):
        self.v = self.v + x

    def single(self, x):
        self.charge(x)
        spike = self.surrogate_function(self.v - self.v_threshold)
        s = spike.detach() if self.detach_reset else spike
        self.v = self.v - s * self.v_threshold if self.v_reset is None else (1 - s) * self.v + s * self.v_reset
        return spike

    def forward(self, x):
        if self.step_mode == "s":
            return self.single(x)
        spikes, v_seq = [], []
        for t in range(x.shape[0]):
            spikes.append(self.single(x[t]))
            v_seq.append(self.v)
        if self.store_v_seq:
            self.v_seq = torch.stack(v_seq)
        return torch.stack(spikes)


class LIFNode(IFNode):
    def __init__(self, tau=2.0, decay_input=True, **others):
        self.tau, self.decay_input = tau, decay_input
        torch.nn.Module.__init__(self)
        super().__init__(**others)
        self.tau, self.decay_input = tau, decay_input

    def charge(self, x):
        rest = 0.0 if self.v_reset is None else self.v_reset
        self.v = self.v + (x - (self.v - rest)) / self.tau if self.decay_input else \
            self.v - (self.v - rest) / self.tau + x


class ParametricLIFNode(IFNode):
    def __init__(self, init_tau=2.0, decay_input=True, **others):
        super().__init__(**others)
        self.decay_input = decay_input
        self.w = torch.nn.Parameter(torch.tensor(-math.log(init_tau - 1.0)))

    def charge(self, x):
        rest = 0.0 if self.v_reset is None else self.v_reset
        rate = self.w.sigmoid()
        self.v = self.v + (x - (self.v - rest)) * rate if self.decay_input else self.v - (self.v - rest) * rate + x


class OddNode(LIFNode):
    pass


def network():
    torch.manual_seed(1)
    net = torch.nn.Sequential(
        torch.nn.Linear(20, 64), LIFNode(tau=2.5, step_mode="m", detach_reset=True, surrogate_function=ATan(2.0)),
        torch.nn.Linear(64, 30), ParametricLIFNode(init_tau=3.0, step_mode="m", v_reset=None),
        torch.nn.Linear(30, 5), IFNode(step_mode="m", store_v_seq=True))
    with torch.no_grad():
        for i in (0, 2, 4):
            net[i].weight.mul_(4)
            net[i].bias.add_(0.4)  # so that all layers fire
    return net


def reset_net(net):
    for module in net.modules():
        if hasattr(module, "reset"):
            module.reset()


class Accelerated(unittest.TestCase):
    def run_both(self, net, x):
        results = []
        other = copy.deepcopy(net)
        report = accelerate(other)
        for one in (net, other):
            given = x.clone().requires_grad_()
            reset_net(one)
            output = one(given)
            output.square().sum().backward()
            results.append((output.detach(), given.grad, {name: p.grad for name, p in one.named_parameters()},
                            [getattr(m, "v", None) for m in one.modules() if hasattr(m, "v_threshold")]))
        return results, report, other

    def test_network_computes_the_same(self):
        net, x = network(), random(6, 4, 20, low=-1, high=3)
        (ours, theirs), report, other = self.run_both(net, x)
        self.assertEqual((report.accelerated, report.left_alone), (["1", "3", "5"], {}))
        self.assertTrue(torch.equal(ours[0], theirs[0]) and ours[0].sum() > 0)
        torch.testing.assert_close(theirs[1], ours[1], rtol=1e-4, atol=1e-5)
        for name, gradient in ours[2].items():
            torch.testing.assert_close(theirs[2][name], gradient, rtol=1e-3, atol=1e-4)
        for a, b in zip(ours[3], theirs[3]):
            torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(other[5].v_seq, net[5].v_seq, rtol=1e-4, atol=1e-5)

    def test_everything_around_stays(self):
        net = network()
        keys = list(net.state_dict())
        classes = [type(one) for one in net]
        weights = dict(net.named_parameters())
        heard = []
        hook = net[1].register_forward_hook(lambda *_: heard.append(1))
        accelerate(net)
        self.assertEqual(list(net.state_dict()), keys)
        self.assertEqual([type(one) for one in net], classes)
        self.assertTrue(all(one is weights[name] for name, one in net.named_parameters()))
        net(random(3, 2, 20))
        self.assertEqual(heard, [1])
        hook.remove()
        reset_net(net)
        self.assertEqual(net[1].v, 0.0)
        copied = pickle.loads(pickle.dumps(net))
        copied.load_state_dict(net.state_dict())
        self.assertTrue(torch.equal(copied(random(3, 2, 20)), net(random(3, 2, 20))))
        self.assertEqual(restore(net), 3)
        self.assertNotIn("forward", net[1].__dict__)

    def test_step_modes_and_attributes_that_change(self):
        for options in (dict(v_reset=-0.2), dict(v_reset=None, decay_input=False), dict(tau=4.0, v_threshold=0.5)):
            plain = LIFNode(**options)
            fast = copy.deepcopy(plain)
            accelerate(fast)
            x = random(5, 3, 40)
            for mode in ("s", "m"):
                for one in (plain, fast):
                    one.step_mode = mode
                    one.reset()
                run = (lambda one: torch.stack([one(x[t]) for t in range(5)])) if mode == "s" else (lambda one: one(x))
                self.assertTrue(torch.equal(run(plain), run(fast)), (options, mode))
            for one in (plain, fast):
                one.tau, one.v_threshold = 3.0, 0.8
                one.reset()
            self.assertTrue(torch.equal(plain(x), fast(x)))

    def test_what_is_left_alone_is_said(self):
        net = torch.nn.ModuleDict({"odd": OddNode(), "smooth": LIFNode(surrogate_function=Sigmoid(spiking=False)),
                                   "good": LIFNode(), "other": torch.nn.ReLU()})
        heard = []
        report = accelerate(net, report=lambda one: heard.append(str(one)))
        self.assertEqual(report.accelerated, ["good"])
        self.assertIn("OddNode", report.left_alone["odd"])
        self.assertIn("spiking=False", report.left_alone["smooth"])
        self.assertIn("left alone: odd", heard[0])

    def test_state_of_another_shape(self):
        for node in (LIFNode(step_mode="m"), LIFNode()):
            accelerate(node)
            node.v = torch.zeros(7)
            with self.assertRaisesRegex(synfire.InvalidArgumentError, r"PYTHON-SHAPE.*reset_net"):
                node(random(4, 20))
            node.v = torch.zeros(20, device="meta")
            with self.assertRaises(synfire.InvalidArgumentError):
                node(random(4, 20))

    def test_shared_node(self):
        node = LIFNode(step_mode="m")
        accelerate(node)
        x = random(4, 2, 30).requires_grad_()
        first = node(x)
        node.reset()
        second = node(first)
        (first.sum() + second.sum()).backward()
        plain = LIFNode(step_mode="m")
        y = x.detach().clone().requires_grad_()
        first = plain(y)
        plain.reset()
        (first.sum() + plain(first).sum()).backward()
        torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-5)


class Tensors(unittest.TestCase):
    """Tensors and buffers over the same memory, by DLPack."""

    def setUp(self):
        gc.collect()
        synfire.reclaim()
        self.context = synfire.Context("host", threads=1)

    def tearDown(self):
        self.context.close()

    def test_a_tensor_is_a_buffer_of_the_same_memory(self):
        for dtype in DTYPES:
            tensor = random(3, 2, 7, dtype=dtype)
            buffer = synfire.Buffer.from_dlpack(self.context, tensor)
            self.assertEqual((buffer.dtype, buffer.shape, buffer.address), (DTYPES[dtype], (3, 2, 7), tensor.data_ptr()))
            buffer.fill(2)
            self.assertTrue(torch.equal(tensor, torch.full_like(tensor, 2)))

    def test_a_buffer_is_a_tensor_of_the_same_memory(self):
        for dtype, name in DTYPES.items():
            buffer = synfire.Buffer(self.context, (3, 2, 7), name)
            tensor = torch.from_dlpack(buffer)
            self.assertEqual((tensor.dtype, tuple(tensor.shape), tensor.data_ptr()), (dtype, (3, 2, 7), buffer.address))
            buffer.close()
            synfire.reclaim()
            tensor.fill_(3)
            self.assertEqual(tensor.sum().item(), 126)

    def test_memory_is_given_back(self):
        buffer = synfire.Buffer(self.context, 5)
        tensor = torch.from_dlpack(buffer)
        buffer.close()
        left = synfire.reclaim()
        del tensor
        gc.collect()
        self.assertEqual(synfire.reclaim(), left - 1)

    def test_words_have_a_sign_for_pytorch(self):
        spikes = synfire.Buffer(self.context, (3, 4), "bits")
        spikes.numpy()[:] = 0xFFFFFFFF
        tensor = torch.from_dlpack(spikes.signed)
        self.assertEqual((tensor.dtype, tensor.sum().item()), (torch.int32, -12))
        back = synfire.Buffer.from_dlpack(self.context, tensor, dtype="bits")
        self.assertEqual((back.dtype, back.address), ("bits", spikes.address))

    def test_parts_of_tensors(self):
        tensor = random(6, 8)
        part = synfire.Buffer.from_dlpack(self.context, tensor[1:4, :5])
        self.assertEqual((part.shape, part.address), ((3, 5), tensor.data_ptr() + 32))
        self.assertTrue(torch.equal(torch.from_dlpack(part), tensor[1:4, :5]))
        learnt = torch.nn.Parameter(torch.ones(4))
        synfire.Buffer.from_dlpack(self.context, learnt).fill(5)
        self.assertEqual(learnt.sum().item(), 20)
        for wrong in (tensor.t(), tensor[:, ::2], torch.zeros(1).expand(4)):
            with self.assertRaises(synfire.SynfireError) as raised:
                synfire.Buffer.from_dlpack(self.context, wrong)
            self.assertEqual(raised.exception.rule, "SYN-BUFFER-DLPACK-STRIDES")

    def test_tensors_that_are_no_buffers(self):
        layer, dense = synfire.Layer(self.context, steps=4, neurons=6), torch.zeros(4, 6)
        for rule, tensor in (("PYTHON-DEVICE", dense.to("meta")), ("PYTHON-ARRAY", dense.to_sparse()),
                             ("PYTHON-DTYPE", dense.int()), ("PYTHON-CONTIGUOUS", torch.zeros(6, 4).t())):
            with self.assertRaises(synfire.InvalidArgumentError) as raised:
                layer.forward(x=tensor)
            self.assertEqual(raised.exception.rule, rule)
            if rule in ("PYTHON-DEVICE", "PYTHON-ARRAY"):
                with self.assertRaises(synfire.InvalidArgumentError) as raised:
                    synfire.Buffer.from_dlpack(self.context, tensor)
                self.assertEqual(raised.exception.rule, rule)

    def test_a_layer_reads_and_writes_tensors(self):
        x, spikes = random(4, 30), torch.zeros(4, 30)
        layer = synfire.Layer(self.context, steps=4, neurons=30)
        layer.forward(x=synfire.Buffer.from_dlpack(self.context, x),
                      spikes=synfire.Buffer.from_dlpack(self.context, spikes))
        expected, _ = run_by_c("lif", x, torch.zeros_like(x))
        self.assertEqual(spikes.numpy().tobytes(), expected.tobytes())


if __name__ == "__main__":
    unittest.main()
