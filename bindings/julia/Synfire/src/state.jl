# state.jl - rows of the state of a layer: reset, read, written, copied, kept and put back; now, or recorded.
#
# SPDX-License-Identifier: MIT

# Batch rows as C says them: the first, from 0, and how many, 0 for all that follow.
first_and_count(::Colon) = (0, 0)
first_and_count(row::Integer) = first_and_count(row:row)
function first_and_count(rows::AbstractUnitRange{<:Integer})
    isempty(rows) && throw(ArgumentError("rows = $rows; allowed: one row or more"))
    first(rows) >= 1 || throw(ArgumentError("rows = $rows; allowed: rows from 1 on"))
    return (first(rows) - 1, length(rows))
end
first_and_count(rows) = throw(ArgumentError("rows = $rows; allowed: a number, a range such as 2:5, or :"))

# f gets the descriptor of rows, a variable and a buffer, all good for the call.
function with_state_desc(f, rows, name, buffer)
    first_row, n_rows = first_and_count(rows)
    make(text) = GC.@preserve buffer f(Ref(LibSynfire.synfire_state_desc(
        first_row=first_row, n_rows=n_rows, name=text, buffer=buffer === nothing ? C_NULL : raw(buffer))))
    return name === nothing ? make(C_NULL) : with_name(make, name)
end

function rows_now(call, layer::Layer, rows, name, buffer, stream)
    with_state_desc(desc -> check(call(layer, desc, stream_pointer(stream))), rows, name, buffer)
    return layer
end
function record_rows(call, graph::Graph, layer::Layer, rows, name, buffer)
    with_state_desc(desc -> check(call(graph, layer, desc)), rows, name, buffer)
    return keep!(graph, layer, buffer === nothing ? () : (buffer,))
end

const Name = Union{Symbol,AbstractString}
const Mask = Union{Buffer{UInt8},Nothing}

"""
    reset_rows!(layer; rows=:, mask=nothing, stream=nothing)
    reset_rows!(graph, layer; rows=:, mask=nothing)

Puts batch rows of the state back to their start, now or in a graph; with a `mask`, a buffer of a `UInt8` for each row
of the batch, those of them whose byte is not 0. Every replay reads the mask. `rows` is a number, a range or `:`.
"""
reset_rows!(layer::Layer; rows=:, mask::Mask=nothing, stream=nothing) =
    rows_now(LibSynfire.synfire_layer_reset_rows, layer, rows, nothing, mask, stream)
reset_rows!(graph::Graph, layer::Layer; rows=:, mask::Mask=nothing) =
    record_rows(LibSynfire.synfire_graph_record_reset_rows, graph, layer, rows, nothing, mask)

"""
    read_rows!(destination, layer, name=:v; rows=:, stream=nothing)
    read_rows!(graph, destination, layer, name=:v; rows=:)

Copies batch rows of the state `:v` or `:w` into a buffer `[N, rows]`, now or in a graph.
"""
function read_rows!(destination::Buffer, layer::Layer, name::Name=:v; rows=:, stream=nothing)
    rows_now(LibSynfire.synfire_layer_read_rows, layer, rows, name, destination, stream)
    return destination
end
read_rows!(graph::Graph, destination::Buffer, layer::Layer, name::Name=:v; rows=:) =
    record_rows(LibSynfire.synfire_graph_record_read_rows, graph, layer, rows, name, destination)

"""
    write_rows!(layer, source, name=:v; rows=:, stream=nothing)
    write_rows!(graph, layer, source, name=:v; rows=:)

Copies a buffer `[N, rows]` into batch rows of the state `:v` or `:w`, now or in a graph.
"""
write_rows!(layer::Layer, source::Buffer, name::Name=:v; rows=:, stream=nothing) =
    rows_now(LibSynfire.synfire_layer_write_rows, layer, rows, name, source, stream)
write_rows!(graph::Graph, layer::Layer, source::Buffer, name::Name=:v; rows=:) =
    record_rows(LibSynfire.synfire_graph_record_write_rows, graph, layer, rows, name, source)

function copy_rows_desc(source, rows, to)
    first_row, n_rows = first_and_count(rows)
    to >= 1 || throw(ArgumentError("to = $to; allowed: rows from 1 on"))
    return Ref(LibSynfire.synfire_copy_rows_desc(source=raw(source), first_row=first_row, n_rows=n_rows,
                                                 destination_row=to - 1))
end

"""
    copy_rows!(layer, source; rows=:, to=1, stream=nothing)
    copy_rows!(graph, layer, source; rows=:, to=1)

Copies batch rows of the state of another layer, of the same model and neurons, into a layer from row `to` on, now or in
a graph.
"""
function copy_rows!(layer::Layer, source::Layer; rows=:, to::Integer=1, stream=nothing)
    GC.@preserve source check(LibSynfire.synfire_layer_copy_rows(layer, copy_rows_desc(source, rows, to),
                                                                 stream_pointer(stream)))
    return layer
end
function copy_rows!(graph::Graph, layer::Layer, source::Layer; rows=:, to::Integer=1)
    GC.@preserve source check(LibSynfire.synfire_graph_record_copy_rows(graph, layer,
                                                                        copy_rows_desc(source, rows, to)))
    push!(graph.keeps, source)
    return keep!(graph, layer, ())
end

"""
    snapshot(layer; rows=:) -> Vector{UInt8}
    snapshot!(graph, destination, layer; rows=:)

The state of batch rows, with a header that says what it is of; parameters are not in it. In a graph it goes into a
buffer of as many `UInt8`.
"""
function snapshot(layer::Layer; rows=:)
    return with_state_desc(rows, nothing, nothing) do desc
        bytes = Ref{UInt64}(0)
        check(LibSynfire.synfire_layer_snapshot(layer, desc, C_NULL, bytes))
        data = Vector{UInt8}(undef, bytes[])
        check(LibSynfire.synfire_layer_snapshot(layer, desc, data, bytes))
        data
    end
end
@doc (@doc snapshot)
snapshot!(graph::Graph, destination::Buffer{UInt8}, layer::Layer; rows=:) =
    record_rows(LibSynfire.synfire_graph_record_snapshot, graph, layer, rows, nothing, destination)

"""
    restore!(layer, snapshot; rows=:)
    restore!(graph, layer, source::Buffer; rows=:)

Puts a [`snapshot`](@ref) back into as many batch rows. What is none, or one of another layer, is refused; a replay that
finds none of this layer leaves the state as it is.
"""
function restore!(layer::Layer, snapshot::DenseVector{UInt8}; rows=:)
    with_state_desc(rows, nothing, nothing) do desc
        check(LibSynfire.synfire_layer_restore(layer, desc, snapshot, length(snapshot)))
    end
    return layer
end
restore!(graph::Graph, layer::Layer, source::Buffer{UInt8}; rows=:) =
    record_rows(LibSynfire.synfire_graph_record_restore, graph, layer, rows, nothing, source)
