# spikes.jl - conversions between the formats of spikes, exact counts of them, and rates encoded as spikes: at once, or
# recorded into a graph.
#
# SPDX-License-Identifier: MIT

# f gets the descriptor of a conversion, count or encoding while both buffers are open; answers them.
function with_spikes_desc(f, Desc, context::Context, neurons, steps, batch; others...)
    buffers = map(array -> array isa Union{Buffer,AbstractArray} ? as_buffer(context, array) : array, values(others))
    GC.@preserve buffers f(Ref(Desc(; n_steps=whole_size("steps", steps), n_neurons=whole_size("neurons", neurons),
                                    batch=whole_size("batch", batch),
                                    map(value -> value isa Buffer ? raw(value) : value, buffers)...)))
    return Tuple(value for value in buffers if value isa Buffer)
end

# The context of a call that has no graph: that of the first buffer.
context_of(buffer::Buffer, others...) = buffer.context
context_of(other, others...) = context_of(others...)
context_of() = throw(ArgumentError("no Buffer among the arguments; allowed: at least one, whose context is meant"))

"""
    convert_spikes!(destination, source; neurons, steps, batch=1, stream=nothing)
    convert_spikes!(graph, destination, source; neurons, steps, batch=1)

Converts spikes into another format, now or in a graph: packed along neurons (`:bits`) or time (`:time_bits`), or dense
in any type, where what is not zero is a spike. Both are a [`Buffer`](@ref); one may be an array. With a layer's shape:
`neurons`, `steps` and `batch` rows.
"""
function convert_spikes!(destination, source; neurons, steps, batch=1, stream=nothing)
    context = context_of(destination, source)
    with_spikes_desc(LibSynfire.synfire_convert_spikes_desc, context, neurons, steps, batch;
                     source=source, destination=destination) do desc
        check(LibSynfire.synfire_convert_spikes(context, desc, stream_pointer(stream)))
    end
    return destination
end
function convert_spikes!(graph::Graph, destination, source; neurons, steps, batch=1)
    buffers = with_spikes_desc(LibSynfire.synfire_convert_spikes_desc, graph.context, neurons, steps, batch;
                               source=source, destination=destination) do desc
        check(LibSynfire.synfire_graph_record_convert_spikes(graph, desc))
    end
    return keep!(graph, nothing, buffers)
end

"""
    count_spikes!(counts, spikes; kind=:per_neuron, neurons, steps, batch=1, stream=nothing)
    count_spikes!(graph, counts, spikes; kind=:per_neuron, neurons, steps, batch=1)

Counts spikes in any format exactly, now or in a graph: `:per_neuron` (`[N]`, or `[N, batch]`), `:per_step` (`[T]`) or
`:total` (one element). `counts` is of `dtype=:u32` or `:u64`; what it held is overwritten.
"""
function count_spikes!(counts, spikes; kind=:per_neuron, neurons, steps, batch=1, stream=nothing)
    context = context_of(counts, spikes)
    with_spikes_desc(LibSynfire.synfire_count_spikes_desc, context, neurons, steps, batch;
                     kind=constant("kind", LibSynfire.count_names, kind), spikes=spikes, counts=counts) do desc
        check(LibSynfire.synfire_count_spikes(context, desc, stream_pointer(stream)))
    end
    return counts
end
function count_spikes!(graph::Graph, counts, spikes; kind=:per_neuron, neurons, steps, batch=1)
    buffers = with_spikes_desc(LibSynfire.synfire_count_spikes_desc, graph.context, neurons, steps, batch;
                               kind=constant("kind", LibSynfire.count_names, kind), spikes=spikes, counts=counts) do desc
        check(LibSynfire.synfire_graph_record_count_spikes(graph, desc))
    end
    return keep!(graph, nothing, buffers)
end

"""
    encode_bernoulli!(spikes, rates; neurons, steps, batch=1, seed=0, offset=0, rates_per_step=false, stream=nothing)
    encode_bernoulli!(graph, spikes, rates; neurons, steps, batch=1, seed=0, offset=0, rates_per_step=false)

Encodes rates as spikes, now or in a graph: each neuron spikes in each step with the probability of its rate,
independently of all others. `rates` are `Float32`, `Float16` or bfloat16, `[N, batch]` or, with `rates_per_step`,
`[N, batch, T]`; `spikes` are of any format.

What is drawn follows from `seed`, the number of the step since the seed, the batch row, the neuron and the rate alone: it
is the same in every format and on every backend. The first step has the number `offset`. A call does not count: the next
one, to go on, is given an `offset` that is larger by `steps`. In a graph each replay goes on where the one before it
ended, unless the operation is disabled; its numbers `:seed` and `:offset` can be changed between replays with
[`set_value!`](@ref).
"""
function encode_bernoulli!(spikes, rates; neurons, steps, batch=1, seed=0, offset=0, rates_per_step::Bool=false,
                           stream=nothing)
    context = context_of(spikes, rates)
    with_spikes_desc(LibSynfire.synfire_encode_bernoulli_desc, context, neurons, steps, batch; rates=rates, spikes=spikes,
                     seed=seed, offset=offset, rates_per_step=rates_per_step) do desc
        check(LibSynfire.synfire_encode_bernoulli(context, desc, stream_pointer(stream)))
    end
    return spikes
end
function encode_bernoulli!(graph::Graph, spikes, rates; neurons, steps, batch=1, seed=0, offset=0,
                           rates_per_step::Bool=false)
    buffers = with_spikes_desc(LibSynfire.synfire_encode_bernoulli_desc, graph.context, neurons, steps, batch;
                               rates=rates, spikes=spikes, seed=seed, offset=offset,
                               rates_per_step=rates_per_step) do desc
        check(LibSynfire.synfire_graph_record_encode_bernoulli(graph, desc))
    end
    return keep!(graph, nothing, buffers)
end
