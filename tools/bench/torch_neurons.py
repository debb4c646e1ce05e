#!/usr/bin/env python3
"""How long forward and backward of LIF neurons take in PyTorch: synfire.torch beside formulas in PyTorch, and beside
SpikingJelly if it is installed.

    torch_neurons.py [--backends synfire,torch] [--dtype f32,f16] [--steps 4,8,16,32] [--rows 64] [--neurons 65536]
    torch_neurons.py --overhead [--device cpu]

The shape is that of SpikingJelly's own page on speed, N = 64 and C = 64 * 32 * 32. The input has dense spikes. Times are the
medians of CUDA events around both passes, and each is also given as a multiple of that of the first backend.
SYNFIRE_LIBRARY names the library, and PYTHONPATH the folder bindings/python. With --device cpu it runs on the host.

--overhead measures the time of the host alone, for [T, N] = [4, 64]: of an eager forward and backward of this library,
of an operator that only allocates its result and is registered as the operators of this library are, and of an
autograd.Function that does as little. The time is that of the calling thread, so that a busy machine changes it little;
on a GPU it is wall time, because another thread runs the backward. The fastest of many rounds counts.

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


class Empty(torch.autograd.Function):
    """Keeps its input and allocates its result."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, grad):
        return torch.empty_like(ctx.saved_tensors[0])


def empty_operator():
    """An operator that does what Empty does; None where PyTorch has no torch.library.register_autograd."""
    if not hasattr(torch, "library") or not hasattr(torch.library, "register_autograd"):
        return None
    lib = torch.library.Library("synfire_bench", "DEF")
    lib.define("empty(Tensor x) -> Tensor")
    lib.define("empty_backward(Tensor x, Tensor grad) -> Tensor")
    for key in ("CPU", "CUDA"):
        lib.impl("empty", lambda x: torch.empty_like(x), key)
        lib.impl("empty_backward", lambda x, grad: torch.empty_like(x), key)
    torch.library.register_fake("synfire_bench::empty", lambda x: torch.empty_like(x), lib=lib)
    torch.library.register_fake("synfire_bench::empty_backward", lambda x, grad: torch.empty_like(x), lib=lib)
    torch.library.register_autograd(
        "synfire_bench::empty", lambda ctx, grad: torch.ops.synfire_bench.empty_backward(ctx.saved_tensors[0], grad),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]), lib=lib)

    def run(x):
        return torch.ops.synfire_bench.empty(x)
    run.library = lib  # it takes its operators with it
    return run


def host_time(run, x, grad, rounds=15, calls=200):
    """The least host time of a forward and a backward, in microseconds."""
    on_gpu = x.device.type == "cuda"
    clock = time.perf_counter if on_gpu else time.thread_time
    best = float("inf")
    for i in range(rounds + 1):
        if on_gpu:
            torch.cuda.synchronize()
        begun = clock()
        for _ in range(calls):
            x.grad = None
            run(x).backward(grad)
        if i > 0:
            best = min(best, (clock() - begun) / calls * 1e6)
    return best


def measure_overhead(device):
    torch.set_num_threads(1)
    x = torch.rand(4, 64, device=device).mul_(2).requires_grad_()
    grad = torch.ones_like(x)
    runs = {"synfire.torch.Neuron": runner("synfire"), "an empty operator": empty_operator(),
            "an empty autograd.Function": Empty.apply}
    times = {name: host_time(run, x, grad) for name, run in runs.items() if run is not None}
    for name, taken in times.items():
        print(f"host time, forward and backward: {name:27}{taken:8.1f} us")
    if "an empty operator" not in times:
        print("this PyTorch has no torch.library.register_autograd, so there is no empty operator")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", default="synfire,torch", help="also triton and cupy, of SpikingJelly")
    parser.add_argument("--dtype", default="f32", help="f32, f16, bf16 and f64, separated by commas")
    parser.add_argument("--steps", default="4,8,16,32")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--neurons", type=int, default=64 * 32 * 32)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--overhead", action="store_true", help="the time of the host for a call that computes little")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_neurons.py: this PyTorch finds no GPU; --device cpu runs on the host")
    name = torch.cuda.get_device_name() if arguments.device == "cuda" else "CPU"
    if arguments.overhead:
        print(f"{name}, PyTorch {torch.__version__}")
        measure_overhead(arguments.device)
        return
    dtypes = arguments.dtype.split(",")
    for dtype in dtypes:
        if dtype not in DTYPES:
            parser.error(f"--dtype has {dtype!r}; there are {', '.join(DTYPES)}")
    for dtype in dtypes:
        print(f"{name}, PyTorch {torch.__version__}, {dtype}, [T, {arguments.rows}, {arguments.neurons}]")
        for steps in map(int, arguments.steps.split(",")):
            torch.manual_seed(1)
            x = torch.rand(steps, arguments.rows, arguments.neurons, device=arguments.device).lt(0.5)
            x = x.to(DTYPES[dtype]).mul_(2).requires_grad_()
            grad = torch.ones_like(x)
            first = None
            for backend in arguments.backends.split(","):
                taken, most = measure(runner(backend), x, grad, arguments.repeats)
                first = taken if first is None else first
                print(f"T {steps:3}  {backend:10} {taken:9.3f} ms  {taken / first:6.2f} x  "
                      f"{most / x.numel():6.2f} bytes an element at most", flush=True)


if __name__ == "__main__":
    main()
