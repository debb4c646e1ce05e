# steps.jl - arithmetic inside a replay: fills, sums, gradient descent on parameters; several parameters at once.
#
# SPDX-License-Identifier: MIT

"""
    fill!(graph, buffer::Buffer, value)

Appends a fill. Its number `:value` can be changed between replays with [`set_value!`](@ref).
"""
function Base.fill!(graph::Graph, buffer::Buffer, value::Real)
    GC.@preserve buffer check(LibSynfire.synfire_graph_record_fill(
        graph, Ref(LibSynfire.synfire_fill_desc(buffer=raw(buffer), value=value))))
    return keep!(graph, nothing, (buffer,))
end

scale_add_desc(scale, source, keep, destination) = Ref(LibSynfire.synfire_scale_add_desc(
    source=raw(source), destination=raw(destination), scale=scale, keep=keep))

"""
    scale_add!(destination, source; scale=1, keep=1, stream=nothing)
    scale_add!(graph, destination, source; scale=1, keep=1)

`destination .= keep .* destination .+ scale .* source`, now or in a graph, between buffers of as many elements. With
`keep=0` what the destination held is not read. In a graph the numbers `:scale` and `:keep` can be changed between
replays with [`set_value!`](@ref).
"""
function scale_add!(destination::Buffer, source::Buffer; scale::Real=1, keep::Real=1, stream=nothing)
    GC.@preserve destination source check(LibSynfire.synfire_scale_add(
        destination.context, scale_add_desc(scale, source, keep, destination), stream_pointer(stream)))
    return destination
end
function scale_add!(graph::Graph, destination::Buffer, source::Buffer; scale::Real=1, keep::Real=1)
    GC.@preserve destination source check(LibSynfire.synfire_graph_record_scale_add(
        graph, scale_add_desc(scale, source, keep, destination)))
    return keep!(graph, nothing, (destination, source))
end

"""
    update_parameter!(graph, layer, name, gradient; learning_rate, lower=nothing, upper=nothing)

Appends one step of gradient descent on a parameter: `p = clamp(p - learning_rate * gradient)`. `gradient` is a buffer
of one element, or of one per neuron as the parameter is; `lower` and `upper` bound the parameter beside its own range.
Operations after it see the new value; `layer[name]` reads it. The number `:learning_rate` can be changed between
replays with [`set_value!`](@ref).
"""
function update_parameter!(graph::Graph, layer::Layer, name::Union{Symbol,AbstractString}, gradient::Buffer;
                           learning_rate::Real, lower::Union{Real,Nothing}=nothing,
                           upper::Union{Real,Nothing}=nothing)
    bounds = (lower === nothing ? 0 : LibSynfire.SYNFIRE_BOUND_LOWER) |
             (upper === nothing ? 0 : LibSynfire.SYNFIRE_BOUND_UPPER)
    with_name(name) do text
        GC.@preserve gradient check(LibSynfire.synfire_graph_record_update_parameter(
            graph, layer, Ref(LibSynfire.synfire_update_parameter_desc(
                bounds=bounds, name=text, gradient=raw(gradient), learning_rate=learning_rate,
                lower=something(lower, 0), upper=something(upper, 0)))))
    end
    return keep!(graph, layer, (gradient,))
end

# f gets a C string that lives for the call.
function with_name(f, name::Union{Symbol,AbstractString})
    text = String(name)
    occursin('\0', text) && throw(ArgumentError("a name with a null character"))
    return GC.@preserve text f(pointer(text))
end

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
