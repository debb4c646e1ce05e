# state.jl - rows of the state of a layer: read, written, copied, kept and put back; now, or recorded.
#
# SPDX-License-Identifier: MIT

const Name = Union{Symbol,AbstractString}

"""
    read_rows!(destination, layer, name=:v; rows=:, stream=nothing)
    read_rows!(graph, destination, layer, name=:v; rows=:)

Copies batch rows of the state `:v` or `:w` into a buffer `[N, rows]`, now or in a graph.
"""
function read_rows!(destination::Buffer, layer::Layer, name::Name=:v; rows=:, stream=nothing)
    read_rows!(layer; buffer=destination, name=name, rows=rows, stream=stream)
    return destination
end
read_rows!(graph::Graph, destination::Buffer, layer::Layer, name::Name=:v; rows=:) =
    read_rows!(graph, layer; buffer=destination, name=name, rows=rows)

"""
    write_rows!(layer, source, name=:v; rows=:, stream=nothing)
    write_rows!(graph, layer, source, name=:v; rows=:)

Copies a buffer `[N, rows]` into batch rows of the state `:v` or `:w`, now or in a graph.
"""
write_rows!(layer::Layer, source::Buffer, name::Name=:v; rows=:, stream=nothing) =
    write_rows!(layer; buffer=source, name=name, rows=rows, stream=stream)
write_rows!(graph::Graph, layer::Layer, source::Buffer, name::Name=:v; rows=:) =
    write_rows!(graph, layer; buffer=source, name=name, rows=rows)

"""
    copy_rows!(layer, source; rows=:, to=1, stream=nothing)
    copy_rows!(graph, layer, source; rows=:, to=1)

Copies batch rows of the state of another layer, of the same model and neurons, into a layer from row `to` on, now or in
a graph.
"""
copy_rows!(layer::Layer, source::Layer; arguments...) = copy_rows!(layer; source=source, arguments...)
copy_rows!(graph::Graph, layer::Layer, source::Layer; arguments...) =
    copy_rows!(graph, layer; source=source, arguments...)

function rows_desc(rows)
    first_row, n_rows = first_and_count("rows", rows)
    return Ref(LibSynfire.synfire_state_desc(first_row=first_row, n_rows=n_rows))
end

"""
    run_forward!(layer, pointers; stream=nothing)
    run_backward!(layer, pointers; stream=nothing)

Runs one pass now, over addresses: `pointers` is a `Ref(LibSynfire.synfire_pointers_desc(...))`, whose memory is not
checked and must be kept until the pass is done. The tape is the caller's, of the size that `run_memory` gives, so several
forwards may wait for their backwards; its `stamp` tells which forward left it. `spike_dtype` says the format of spikes,
`tape_memory` has `tape_bytes` bytes and, for the `gradient_pointers` (`n_gradient_pointers` of them), `scratch` has
`scratch_bytes`.
"""
function run_forward!(layer::Layer, pointers::Ref{LibSynfire.synfire_pointers_desc}; stream=nothing)
    check(LibSynfire.synfire_layer_run_forward(layer, pointers, stream_pointer(stream)))
    return layer
end
function run_backward!(layer::Layer, pointers::Ref{LibSynfire.synfire_pointers_desc}; stream=nothing)
    check(LibSynfire.synfire_layer_run_backward(layer, pointers, stream_pointer(stream)))
    return layer
end
@doc (@doc run_forward!) run_backward!

"""
    snapshot(layer; rows=:) -> Vector{UInt8}
    snapshot!(graph, destination, layer; rows=:)

The state of batch rows, with a header that says what it is of; parameters are not in it. In a graph it goes into a
buffer of as many `UInt8`.
"""
function snapshot(layer::Layer; rows=:)
    desc, bytes = rows_desc(rows), Ref{UInt64}(0)
    check(LibSynfire.synfire_layer_snapshot(layer, desc, C_NULL, bytes))
    data = Vector{UInt8}(undef, bytes[])
    check(LibSynfire.synfire_layer_snapshot(layer, desc, data, bytes))
    return data
end
@doc (@doc snapshot)
snapshot!(graph::Graph, destination::Buffer{UInt8}, layer::Layer; rows=:) =
    snapshot!(graph, layer; buffer=destination, rows=rows)

"""
    restore!(layer, snapshot; rows=:)
    restore!(graph, layer, source::Buffer; rows=:)

Puts a [`snapshot`](@ref) back into as many batch rows. What is none, or one of another layer, is refused; a replay that
finds none of this layer leaves the state as it is.
"""
function restore!(layer::Layer, snapshot::DenseVector{UInt8}; rows=:)
    check(LibSynfire.synfire_layer_restore(layer, rows_desc(rows), snapshot, length(snapshot)))
    return layer
end
restore!(graph::Graph, layer::Layer, source::Buffer{UInt8}; rows=:) =
    restore!(graph, layer; buffer=source, rows=rows)
