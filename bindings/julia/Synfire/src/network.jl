# network.jl - what networks have beside the functions of the C library: data from arrays, results as fractions, texts.
#
# SPDX-License-Identifier: MIT

"""
    set_data!(network, set, inputs, labels)

Sets the `:training` or `:evaluation` data from arrays with rows as their last dimension: `inputs` `[K, R]` of rates, or
`[K, T, R]`; one label for each row, or `[T, R]`. Both are copied. Packed spikes are `UInt32`.
"""
function set_data!(network::Network, set, inputs::AbstractArray, labels::AbstractArray{<:Integer})
    n_rows = size(inputs, ndims(inputs))
    size(labels, ndims(labels)) == n_rows ||
        throw(DimensionMismatch("inputs of size $(size(inputs)) and labels of size $(size(labels)); allowed: as many " *
                                "rows, which are the last dimension"))
    Buffer(network.context, inputs; memory=:host) do rows
        Buffer(network.context, convert(Array{UInt32}, labels); memory=:host, dtype=:u32) do numbers
            set_data!(network, set, n_rows, rows; labels=numbers)
        end
    end
    return network
end

"""
    set_value!(network, stage, name, symbol)

Sets a value of a stage to a constant: `set_value!(network, :hidden, :surrogate, :atan)`.
"""
function set_value!(network::Network, stage, name::Union{Symbol,AbstractString}, value::Symbol)
    names = (dtype=LibSynfire.dtype_names, reset=LibSynfire.reset_names, surrogate=LibSynfire.surrogate_names,
             tape=LibSynfire.tape_names, initialization=LibSynfire.initialization_names)
    haskey(names, Symbol(name)) ||
        throw(ArgumentError("$name = :$value; allowed: a number; symbols for $(join(keys(names), ", "))"))
    return set_value!(network, stage, name, constant(String(name), names[Symbol(name)], value))
end

"""
    accuracy(result) -> Float64

The part of the samples that were predicted right, from what [`train!`](@ref) or [`evaluate`](@ref) returned; 0 if no
sample counted.
"""
accuracy(result::NamedTuple) = result.counted == 0 ? 0.0 : result.correct / result.counted

function network_text(write, network::Network)
    bytes = Ref{UInt64}(0)
    check(write(network, C_NULL, bytes))
    text = Vector{UInt8}(undef, bytes[])
    check(write(network, text, bytes))
    return String(resize!(text, max(0, Int(bytes[]) - 1)))
end

"""
    summary_of(network) -> String

A table of the stages, and the bytes that the parts of the network take.
"""
summary_of(network::Network) = network_text(LibSynfire.synfire_network_write_summary, network)

"""
    dot(network) -> String

The stages as text in the DOT language of Graphviz.
"""
dot(network::Network) = network_text(LibSynfire.synfire_network_write_dot, network)
