# steps.jl - arithmetic inside a replay: copies, fills, sums, gradient descent; several parameters at once.
#
# SPDX-License-Identifier: MIT

"""
    copyto!(graph, destination::Buffer, source::Buffer; source_offset=0, destination_offset=0, bytes=0)

Appends a copy to a graph. Offsets and `bytes` are in bytes; 0 bytes means all of `source` from its offset.
"""
Base.copyto!(graph::Graph, destination::Buffer, source::Buffer; source_offset::Integer=0, destination_offset::Integer=0,
             bytes::Integer=0) =
    copyto!(graph; destination=destination, source=source, source_offset=whole_size("source_offset", source_offset),
            destination_offset=whole_size("destination_offset", destination_offset), bytes=whole_size("bytes", bytes))

"""
    fill!(graph, buffer::Buffer, value)

Appends a fill. Its number `:value` can be changed between replays with [`set_value!`](@ref).
"""
Base.fill!(graph::Graph, buffer::Buffer, value::Real) = fill!(graph; buffer=buffer, value=value)

"""
    scale_add!(destination, source; scale=1, keep=1, stream=nothing)
    scale_add!(graph, destination, source; scale=1, keep=1)

`destination .= keep .* destination .+ scale .* source`, now or in a graph, between buffers of as many elements. With
`keep=0` what the destination held is not read. In a graph the numbers `:scale` and `:keep` can be changed between
replays with [`set_value!`](@ref).
"""
function scale_add!(destination::Buffer, source::Buffer; scale::Real=1, keep::Real=1, stream=nothing)
    scale_add!(destination.context; destination=destination, source=source, scale=scale, keep=keep, stream=stream)
    return destination
end
scale_add!(graph::Graph, destination::Buffer, source::Buffer; scale::Real=1, keep::Real=1) =
    scale_add!(graph; destination=destination, source=source, scale=scale, keep=keep)

"""
    update_parameter!(graph, layer, name, gradient; learning_rate, lower=nothing, upper=nothing)

Appends one step of gradient descent on a parameter: `p = clamp(p - learning_rate * gradient)`. `gradient` is a buffer
of one element, or of one per neuron as the parameter is; `lower` and `upper` bound the parameter beside its own range.
Operations after it see the new value; `layer[name]` reads it. The number `:learning_rate` can be changed between
replays with [`set_value!`](@ref).
"""
update_parameter!(graph::Graph, layer::Layer, name::Union{Symbol,AbstractString}, gradient::Buffer; arguments...) =
    update_parameter!(graph, layer; name=name, gradient=gradient, arguments...)

"""
    set_parameters!(layer; tau=20.0, v_threshold=ones(128), ...)

Sets several parameters, each to one number or one per neuron: all of them or, when one is refused, none. The next
launch sees all of them together.
"""
function set_parameters!(layer::Layer; parameters...)
    names = String[String(name) for name in keys(parameters)]
    numbers = Vector{Float64}[value isa Real ? [Float64(value)] : convert(Vector{Float64}, value)
                              for value in values(values(parameters))]
    GC.@preserve names numbers begin
        list = [LibSynfire.synfire_parameter_values(pointer(name), pointer(values), length(values))
                for (name, values) in zip(names, numbers)]
        check(LibSynfire.synfire_layer_set_parameters(layer, list, length(list)))
    end
    return layer
end

"""
    set_active_rows!(layer, rows)

Chooses how many of the batch rows are active: the first ones, from none to all. The next launch sees it. The state of
the others is kept, and their part of every output untouched.
"""
function set_active_rows!(layer::Layer, rows::Integer)
    check(LibSynfire.synfire_layer_set_n_active(layer, rows))
    return layer
end
