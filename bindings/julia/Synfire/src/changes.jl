# changes.jl - what changes in a graph between replays, and what it reports: operations by number, slots, other buffers,
# statistics, pictures.
#
# SPDX-License-Identifier: MIT

"""
    last_operation(graph) -> Int

The number of the operation recorded last. Calls that change an operation between replays take it; pictures and texts
call the operation by it. The first is 0.
"""
function last_operation(graph::Graph)
    operation = Ref{Int32}(0)
    check(LibSynfire.synfire_graph_get_last_operation(graph, operation))
    return Int(operation[])
end

"""
    set_enabled!(graph, operation, enabled)

Lets an operation run in later replays, or leaves it out. All changes since the last launch take effect together with
the next one. Allocates nothing.
"""
function set_enabled!(graph::Graph, operation::Integer, enabled::Bool)
    check(LibSynfire.synfire_graph_set_enabled(graph, operation, enabled))
    return graph
end

"""
    set_value!(graph, operation, name, value)

Changes a number that an operation uses: `:value` of a fill, `:scale` or `:keep` of a sum, `:learning_rate` of an
update, `:seed` or `:offset` of an encoding (integers from 0 to 2^53). The next launch sees it, together with everything else that was set since the launch before.
"""
function set_value!(graph::Graph, operation::Integer, name::Union{Symbol,AbstractString}, value::Real)
    check(LibSynfire.synfire_graph_set_value(graph, operation, String(name), Float64(value)))
    return graph
end

"""
    rebind!(graph, old => new)

Replaces a [`Buffer`](@ref) by another one of the same type, size and kind of memory, in all operations. Slow:
replays in flight are waited for, and on a GPU the graph is captured anew.
"""
function rebind!(graph::Graph, buffers::Pair{<:Buffer,<:Buffer})
    old, new = buffers
    status = LibSynfire.synfire_graph_rebind(graph, old, new)
    status < 0 && fail(graph, status)
    filter!(kept -> kept !== old, graph.keeps)
    return keep!(graph, new)
end

"""
    slot(graph, buffer, ticket=0) -> HostArray or nothing

The memory of a pinned buffer that one replay of a graph with slots reads and writes: without a ticket the next
launch's, with one that of a launch before, as far back as there are slots. `nothing` while the replay that has it is in
flight. Read and write it until the launch that takes the slot.

The array is the memory itself, and safe to use after the graph was closed; not after a [`rebind!`](@ref).
"""
function slot(graph::Graph, buffer::Buffer{E}, ticket::Integer=0) where {E}
    data = Ref{Ptr{Cvoid}}(C_NULL)
    check(LibSynfire.synfire_graph_get_slot(graph, ticket, buffer, data, C_NULL))
    data[] == C_NULL && return nothing
    graph.is_viewed = true
    return host_array(buffer, Ptr{E}(data[]), graph)
end

"""
    statistics(graph) -> NamedTuple

What a graph has counted and timed since it was created, or since [`reset_statistics!`](@ref): `n_replays`,
`n_late_waits` (their time was up first, and was more than none), `n_seen` (replays waited for in order), and of those
`p50_ns`, `p99_ns`, `p999_ns` and `max_ns`, from the call of the launch to the first wait that saw the replay done.
"""
function statistics(graph::Graph)
    out = Ref(LibSynfire.synfire_graph_statistics())
    check(LibSynfire.synfire_graph_get_statistics(graph, out))
    names = (:n_replays, :n_late_waits, :n_seen, :p50_ns, :p99_ns, :p999_ns, :max_ns)
    return NamedTuple{names}(map(name -> Int(getfield(out[], name)), names))
end

"""
    reset_statistics!(graph)

Forgets what [`statistics`](@ref) tells.
"""
function reset_statistics!(graph::Graph)
    check(LibSynfire.synfire_graph_reset_statistics(graph))
    return graph
end

"""
    dot(graph) -> String

The graph as text in the DOT language of Graphviz: operations, and what hands what to which.
"""
function dot(graph::Graph)
    bytes = Ref{UInt64}(0)
    check(LibSynfire.synfire_graph_write_dot(graph, C_NULL, bytes))
    text = Vector{UInt8}(undef, bytes[])
    check(LibSynfire.synfire_graph_write_dot(graph, text, bytes))
    return String(resize!(text, max(0, Int(bytes[]) - 1)))
end
