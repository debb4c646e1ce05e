"""synfire.torch on a GPU: the bits of the CPU, PyTorch's streams and CUDA graphs, torch.compile, and what a call costs.
The stage "python" of tests/gpu/gpu_suite.py runs it.

SPDX-License-Identifier: MIT
"""
import pathlib
import sys
import unittest

import torch

import synfire
from synfire.torch import Neuron, _passes
from synfire.torch._modules import MODELS

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "bench"))
import torch_neurons  # noqa: E402

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def random(*shape, dtype=torch.float32, seed=3, low=-0.5, high=2.0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low).to(dtype)


def both_passes(neuron, x, grad):
    x = x.detach().clone().requires_grad_()
    neuron.reset()
    output = neuron(x)
    output.backward(grad)
    return output.detach(), x.grad


class OnGpu(unittest.TestCase):
    def assert_same(self, a, b, what=""):
        for one, other in zip(a, b):
            one, other = one.cpu(), other.cpu()
            kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[one.element_size()]
            self.assertTrue(torch.equal(one.contiguous().view(kind), other.contiguous().view(kind)), what)

    def test_bits_of_the_cpu(self):
        shapes = [(4, 2, 64), (33, 3, 7), (1, 1, 1), (5, 2, 3, 4, 4), (8, 16, 1024)]
        surrogates = [name for name in synfire._api.NAMES["surrogate"] if name != "default"]
        for case, (dtype, model) in enumerate((dtype, model) for dtype in DTYPES for model in MODELS):
            shape = shapes[case % len(shapes)]
            x, grad = random(*shape, dtype=dtype), random(*shape, dtype=dtype, seed=4, low=-1, high=1)
            neuron = Neuron(model, surrogate=surrogates[case % len(surrogates)],
                            reset="soft" if case % 2 and model not in _passes.SILENT else "hard")
            on_gpu = both_passes(neuron, x.cuda(), grad.cuda())
            if dtype == torch.float64:
                for one, other in zip(both_passes(neuron, x, grad), on_gpu):
                    torch.testing.assert_close(other.cpu(), one)
            else:
                self.assert_same(both_passes(neuron, x, grad), on_gpu, f"{model} {shape} {dtype}")

    def test_rules_that_count_steps_have_the_bits_of_the_cpu(self):
        x, grad = random(40, 3, 96), random(40, 3, 96, seed=4, low=-1, high=1)
        for model in ("lif", "alif"):
            for rule in ({"reset": "soft_delayed"}, {"refractory_steps": 2},
                         {"reset": "soft_delayed", "refractory_steps": 1, "strict_threshold": True}):
                states = []
                for device in ("cpu", "cuda"):
                    neuron = Neuron(model, **rule)
                    with torch.no_grad():
                        neuron(x[:9].to(device))  # a state to begin with
                    rest = x[9:].to(device).requires_grad_()
                    output = neuron(rest)
                    output.backward(grad[9:].to(device))
                    states.append((output.detach(), rest.grad, neuron.w.detach()))
                self.assert_same(*states, f"{model} {rule}")

    def test_learned_parameters_have_the_bits_of_the_cpu(self):
        x = random(9, 4, 96)
        gradients = []
        for device in ("cpu", "cuda"):
            neuron = Neuron("plif", learn=("reciprocal_tau", "v_threshold")).to(device)
            neuron(x.to(device)).square().sum().backward()
            gradients.append([one.grad for one in neuron.parameters()])
        self.assert_same(*gradients)

    def test_callers_stream(self):
        neuron, x = Neuron("lif"), random(16, 8, 4096).cuda()
        wanted = both_passes(neuron, x, torch.ones_like(x))
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(5):
                y = torch.zeros_like(x)
                y.copy_(x)
                found = both_passes(neuron, y, torch.ones_like(x))
                y.fill_(9)
        stream.synchronize()
        self.assert_same(found, wanted)

    def test_cuda_graph(self):
        neuron, x = Neuron("lif"), random(8, 4, 512).cuda().requires_grad_()
        other = random(8, 4, 512, seed=7).cuda()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                neuron.reset()
                x.grad = None
                neuron(x).sum().backward()
        torch.cuda.current_stream().wait_stream(stream)
        neuron.reset()
        x.grad = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            output = neuron(x)
            output.sum().backward()
        gradient = x.grad
        for values in (other, x.detach().clone()):
            with torch.no_grad():
                x.copy_(values)
            graph.replay()
            torch.cuda.synchronize()
            self.assert_same((output.detach(), gradient), both_passes(neuron, values, torch.ones_like(values)))

    @unittest.skipUnless(_passes._has_operators, "this PyTorch has no torch.library.register_autograd")
    def test_compile_and_checks_of_the_operator(self):
        neuron, x = Neuron("lif", tau=3.0), random(8, 4, 512).cuda()
        wanted = both_passes(neuron, x, torch.ones_like(x))

        def run(y):
            return torch.ops.synfire.neuron(y * 1.0, None, None, [], neuron._text, True, False)[0]
        y = x.clone().requires_grad_()
        output = torch.compile(run, fullgraph=True)(y)
        output.sum().backward()
        self.assert_same((output.detach(), y.grad), wanted)
        torch.library.opcheck(torch.ops.synfire.neuron.default, (x, None, None, [], neuron._text, True, False),
                              test_utils=("test_schema", "test_faketensor"))

    def test_no_second_gradient(self):
        x = random(4, 2, 64).cuda().requires_grad_()
        (gradient,) = torch.autograd.grad(Neuron("lif")(x).square().sum(), x, create_graph=True)
        with self.assertRaises((synfire.SynfireError, RuntimeError)):
            gradient.sum().backward()

    def test_tensors_that_are_moved_before_the_backward(self):
        x = random(9, 2, 64).cuda()
        wanted = both_passes(Neuron("lif"), x, torch.ones_like(x))
        with torch.autograd.graph.saved_tensors_hooks(lambda one: one.clone(), lambda one: one.clone()):
            found = both_passes(Neuron("lif"), x, torch.ones_like(x))
        self.assert_same(found, wanted)

    def test_channels_last_and_checkpointing(self):
        from torch.utils.checkpoint import checkpoint
        x = random(3, 2, 8, 5, 6).cuda()
        last = torch.empty(6, 8, 5, 6, device="cuda").to(memory_format=torch.channels_last)
        last = last.copy_(x.flatten(0, 1)).view(3, 2, 8, 5, 6).requires_grad_()
        neuron = Neuron("lif")

        def run(y):
            neuron.reset()
            return neuron(y)
        output = checkpoint(run, last, use_reentrant=False)
        self.assertEqual(output.stride(), last.stride())
        output.sum().backward()
        self.assert_same((output.detach(), last.grad), both_passes(neuron, x, torch.ones_like(x)))

    def test_arrays_of_the_gpu(self):
        context = synfire.Context("cuda")
        x = random(16, 128).cuda()
        layer = synfire.Layer(context, steps=16, neurons=128)
        spikes = torch.zeros_like(x)
        torch.cuda.synchronize()
        layer.forward(x=x, spikes=spikes)
        context.synchronize()
        with torch.no_grad():
            self.assert_same((spikes,), (Neuron("lif")(x),))
        buffer = layer.sequence_buffer()
        buffer.fill(3)
        self.assertEqual(torch.from_dlpack(buffer).sum().item(), 3 * 16 * 128)

    def test_memory_that_is_kept(self):
        neuron = Neuron("lif")
        for steps in (16, 64):
            x = random(steps, 64, 4096).cuda().requires_grad_()
            neuron.reset()
            neuron(x).sum().backward()
            neuron.reset()
            torch.cuda.synchronize()
            before = torch.cuda.memory_allocated()
            output = neuron(x)
            kept = torch.cuda.memory_allocated() - before - output.numel() * 4 - neuron.v.numel() * 4
            # V at every 32nd step takes as much as spikes with 32 steps in a word. Those are not kept.
            self.assertLessEqual(kept, (steps + 31) // 32 * 64 * 4096 * 4 + 4096)
            print(f"measured: {steps} steps keep {kept / x.numel():.3f} bytes an element for the backward beyond X")
            del output

    def test_host_time(self):
        neuron, x = Neuron("lif"), random(4, 64).cuda().requires_grad_()
        ones = torch.ones_like(x)

        def ours(y):
            neuron.reset()
            return neuron(y)
        runs = {"neurons": ours, "an empty operator": torch_neurons.empty_operator(),
                "an empty function": torch_neurons.Empty.apply}
        for name, run in runs.items():
            if run is not None:
                taken = torch_neurons.host_time(run, x, ones, rounds=9)
                print(f"measured: host time of forward and backward, {name}: {taken:.1f} us")

    @unittest.skipUnless(_passes._has_operators, "this PyTorch has no torch.library.register_autograd")
    def test_operator_where_others_look_on(self):
        from torch.utils._python_dispatch import TorchDispatchMode
        seen = []

        class Listener(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                seen.append(str(function))
                return function(*args, **(kwargs or {}))
        neuron, x = Neuron("lif"), random(6, 2, 64).cuda()
        wanted = both_passes(neuron, x, torch.ones_like(x))
        with Listener():
            found = both_passes(neuron, x, torch.ones_like(x))
        self.assert_same(found, wanted)
        self.assertTrue(any("synfire.neuron." in one for one in seen), seen)
        self.assertTrue(any("synfire.neuron_backward" in one for one in seen), seen)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed")
    sys.exit(bool(bad))
