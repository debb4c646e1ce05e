# spikes.jl - conversions of spikes, counts and encodings in short form: what is written is the first argument.
#
# SPDX-License-Identifier: MIT

# The context of a call that has no graph: that of the first buffer.
context_of(buffer::Buffer, others...) = buffer.context
context_of(other, others...) = context_of(others...)
context_of() = throw(ArgumentError("no Buffer among the arguments; allowed: at least one, whose context is meant"))

"""
    convert_spikes!(destination, source; steps, neurons, batch=1, stream=nothing)
    convert_spikes!(graph, destination, source; steps, neurons, batch=1)

Converts spikes into another format, now or in a graph: packed along neurons (`:bits`) or time (`:time_bits`), or dense
in any type, where what is not zero is a spike. Both are a [`Buffer`](@ref); one may be an array. With a layer's shape:
`steps`, `neurons` and `batch` rows.
"""
function convert_spikes!(destination, source; arguments...)
    convert_spikes!(context_of(destination, source); destination=destination, source=source, arguments...)
    return destination
end
convert_spikes!(graph::Graph, destination, source; arguments...) =
    convert_spikes!(graph; destination=destination, source=source, arguments...)

"""
    count_spikes!(counts, spikes; kind=:per_neuron, steps, neurons, batch=1, stream=nothing)
    count_spikes!(graph, counts, spikes; kind=:per_neuron, steps, neurons, batch=1)

Counts spikes in any format exactly, now or in a graph: `:per_neuron` (`[N]`, or `[N, batch]`), `:per_step` (`[T]`) or
`:total` (one element). `counts` is of `dtype=:u32` or `:u64`; what it held is overwritten.
"""
function count_spikes!(counts, spikes; arguments...)
    count_spikes!(context_of(counts, spikes); counts=counts, spikes=spikes, arguments...)
    return counts
end
count_spikes!(graph::Graph, counts, spikes; arguments...) =
    count_spikes!(graph; counts=counts, spikes=spikes, arguments...)

"""
    encode_bernoulli!(spikes, rates; steps, neurons, batch=1, seed=0, offset=0, rates_per_step=false, stream=nothing)
    encode_bernoulli!(graph, spikes, rates; steps, neurons, batch=1, seed=0, offset=0, rates_per_step=false)

Encodes rates as spikes, now or in a graph: each neuron spikes in each step with the probability of its rate,
independently of all others. `rates` are `Float32`, `Float16` or bfloat16, `[N, batch]` or, with `rates_per_step`,
`[N, batch, T]`; `spikes` are of any format.

What is drawn follows from `seed`, the number of the step since the seed, the batch row, the neuron and the rate alone: it
is the same in every format and on every backend. The first step has the number `offset`. A call does not count: the next
one, to go on, is given an `offset` that is larger by `steps`. In a graph each replay goes on where the one before it
ended, unless the operation is disabled; its numbers `:seed` and `:offset` can be changed between replays with
[`set_value!`](@ref).
"""
function encode_bernoulli!(spikes, rates; arguments...)
    encode_bernoulli!(context_of(spikes, rates); spikes=spikes, rates=rates, arguments...)
    return spikes
end
encode_bernoulli!(graph::Graph, spikes, rates; arguments...) =
    encode_bernoulli!(graph; spikes=spikes, rates=rates, arguments...)
