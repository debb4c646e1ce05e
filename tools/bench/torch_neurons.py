#!/usr/bin/env python3
"""How long forward and backward of LIF neurons take in PyTorch: synfire.torch beside formulas in PyTorch, and beside
SpikingJelly if it is installed.

    torch_neurons.py [--backends synfire,torch] [--dtype f32] [--steps 4,8,16,32] [--rows 64] [--neurons 65536]

The shape is that of SpikingJelly's own page on speed, N = 64 and C = 64 * 32 * 32. The input has dense spikes. Times are the
medians of CUDA events around both passes. SYNFIRE_LIBRARY names the library, and PYTHONPATH the folder bindings/python.
With --device cpu it runs on the host.

SPDX-License-Identifier: MIT
"""
import argparse
import statistics
import sys
import time

import torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}


class Spike(torch.autograd.Function):
    """The Heaviside step with the derivative of ATan."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x >= 0).to(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0] * 3.141592653589793
        return grad / (1 + x * x)


def by_torch(x):
    """LIF neurons step by step."""
    v, spikes = torch.zeros_like(x[0]), []
    for t in range(x.shape[0]):
        v = v + (x[t] - v) / 2
        spike = Spike.apply(v - 1)
        spikes.append(spike)
        v = (1 - spike) * v
    return torch.stack(spikes)


def runner(backend):
    """A function of an input, which starts from the initial state."""
    if backend == "torch":
        return by_torch
    if backend == "synfire":
        import synfire.torch
        neuron = synfire.torch.Neuron("lif", tau=2.0, surrogate="atan", alpha=2.0)

        def run(x):
            neuron.reset()
            return neuron(x)
        return run
    from spikingjelly.activation_based import functional, neuron, surrogate
    node = neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan(), step_mode="m", backend=backend)

    def run(x):
        functional.reset_net(node)
        return node(x)
    return run


def measure(run, x, grad, repeats):
    """The median time of both passes in milliseconds, and the most bytes allocated beyond what is there before."""
    on_gpu = x.device.type == "cuda"

    def once():
        x.grad = None
        run(x).backward(grad)
    for _ in range(5):
        once()
    times = []
    if on_gpu:
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
    for _ in range(repeats):
        if on_gpu:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            once()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        else:
            begun = time.perf_counter()
            once()
            times.append((time.perf_counter() - begun) * 1e3)
    most = torch.cuda.max_memory_allocated() - before if on_gpu else 0
    return statistics.median(times), most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", default="synfire,torch", help="also triton and cupy, of SpikingJelly")
    parser.add_argument("--dtype", default="f32", choices=sorted(DTYPES))
    parser.add_argument("--steps", default="4,8,16,32")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--neurons", type=int, default=64 * 32 * 32)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_neurons.py: this PyTorch finds no GPU; --device cpu runs on the host")
    name = torch.cuda.get_device_name() if arguments.device == "cuda" else "CPU"
    print(f"{name}, PyTorch {torch.__version__}, {arguments.dtype}, [T, {arguments.rows}, {arguments.neurons}]")
    for steps in map(int, arguments.steps.split(",")):
        torch.manual_seed(1)
        x = torch.rand(steps, arguments.rows, arguments.neurons, device=arguments.device).lt(0.5)
        x = x.to(DTYPES[arguments.dtype]).mul_(2).requires_grad_()
        grad = torch.ones_like(x)
        for backend in arguments.backends.split(","):
            taken, most = measure(runner(backend), x, grad, arguments.repeats)
            print(f"T {steps:3}  {backend:10} {taken:9.3f} ms  {most / x.numel():6.2f} bytes an element at most", flush=True)


if __name__ == "__main__":
    main()
