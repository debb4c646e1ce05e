# graph.jl - an ordered list of operations: recorded once, instantiated once, replayed many times.
#
# SPDX-License-Identifier: MIT

"""
    Graph(context; slots=0)
    Graph(f, context; slots=0)

An empty graph; `f` gets it, and it is closed afterwards. [`record`](@ref) makes one that is ready to be replayed.

`slots`, up to 64, are copies of the pinned buffers that it reads and writes (`n_slots` of the C library): that many
replays can be in flight, each with frames of its own ([`slot`](@ref)), and one more launch is refused. 0 means one, the
buffers' own memory; `LibSynfire.SYNFIRE_SLOTS_SHARED` that memory for any number of replays in flight.

Record with [`forward!`](@ref), [`backward!`](@ref) and `copyto!`, which take the graph as their first argument; then
[`instantiate!`](@ref) once and [`launch!`](@ref) as often as you like. A graph keeps the buffers and layers it uses.
"""
mutable struct Graph <: Handle
    handle::LibSynfire.synfire_graph
    is_open::Threads.Atomic{Int}
    context::Context
    last_ticket::UInt64
    layers::Vector{Layer}  # those with a forward in this graph
    keeps::Vector{Any}     # all that the operations use
    is_viewed::Bool        # arrays look at its slots: they stay until those are gone
    retained::LibSynfire.synfire_graph # of a closed graph whose slots are still looked at

    function Graph(context::Context; slots::Integer=0)
        handle = Ref(LibSynfire.synfire_graph(C_NULL))
        desc = Ref(LibSynfire.synfire_graph_desc(n_slots=whole_size("slots", slots)))
        check(LibSynfire.synfire_graph_create(context, desc, handle))
        return adopt(new(handle[], Threads.Atomic{Int}(1), context, 0, Layer[], Any[], false, C_NULL))
    end
    # Takes over a handle that another object gave.
    Graph(context::Context, handle::LibSynfire.synfire_graph) =
        adopt(new(handle, Threads.Atomic{Int}(1), context, 0, Layer[], Any[], false, C_NULL))
end

Graph(f, context::Context; keywords...) = with_handle(f, Graph(context; keywords...))

function destroy(graph::Graph, handle)
    if graph.is_viewed
        graph.retained = handle
    else
        LibSynfire.synfire_graph_destroy(handle)
    end
    return nothing
end

# A replay in flight may still use memory that belongs to arrays: the library gives it back when that is done.
function collected(graph::Graph)
    close(graph)
    LibSynfire.synfire_graph_destroy(graph.retained)
    graph.retained = C_NULL
    return nothing
end

function Base.show(io::IO, graph::Graph)
    print(io, "Graph, ", graph.last_ticket, " replays")
    isopen(graph) || print(io, " (closed)")
end

"""
    record(f, context; slots=0) -> Graph

A graph that is ready to be replayed: `f` gets an empty one, as [`Graph`](@ref) makes it, and records into it, then it is instantiated. When `f`
throws, the graph is closed.

```julia
step = record(context) do graph
    forward!(graph, layer; x=x, spikes=spikes)
end
```
"""
function record(f, context::Context; keywords...)
    graph = Graph(context; keywords...)
    try
        f(graph)
        instantiate!(graph)
    catch
        close(graph)
        rethrow()
    end
    return graph
end

function keep!(graph::Graph, objects...)
    push!(graph.keeps, objects...)
    return graph
end

"""
    instantiate!(graph)

Prepares a recorded graph for replay: everything slow happens here. Once per graph; [`record`](@ref) does it by itself.
"""
function instantiate!(graph::Graph)
    status = LibSynfire.synfire_graph_instantiate(graph)
    status < 0 && fail(graph, status)
    return graph
end

"""
    launch!(graph, stream=nothing) -> UInt64

Replays a graph once and returns the ticket of this replay. On a GPU it enqueues and returns; on the host the replay is
done when it returns. Allocates nothing. Replays of one graph are launched by one thread at a time. On a stream that is
being captured it becomes part of the capture instead, and returns 0.
"""
function launch!(graph::Graph, stream=nothing)
    ticket = Ref{UInt64}(0)
    status = LibSynfire.synfire_graph_launch(graph, stream_pointer(stream), ticket)
    status < 0 && fail(graph, status)
    for layer in graph.layers
        layer.n_forwards += 1
    end
    ticket[] == 0 || (graph.last_ticket = ticket[])
    return ticket[]
end

# Waiting in slices lets other threads collect garbage in between.
const slice_ns = Int64(1_000_000)

"""
    wait(graph, ticket; timeout=Inf, policy=:spin) -> Bool

Waits for a replay, `timeout` seconds at most. Returns true when it is done, and everything it wrote is there; false
when the time was up first. An error of the replay is thrown here. `policy` is `:spin` (lowest latency), `:yield` or
`:block` (lowest load). Allocates nothing.
"""
function Base.wait(graph::Graph, ticket::Integer; timeout::Real=Inf, policy=:spin)
    how = constant("policy", LibSynfire.wait_names, policy)
    isnan(timeout) && throw(ArgumentError("timeout = NaN; allowed: seconds"))
    left = timeout >= 9.0e9 ? typemax(Int64) : timeout <= 0 ? Int64(0) : round(Int64, timeout * 1e9)
    while true
        now = min(left, slice_ns)
        status = check(LibSynfire.synfire_graph_wait(graph, ticket, how, now))
        status == LibSynfire.SYNFIRE_PENDING || return true
        left -= now
        left > 0 || return false
        GC.safepoint()
    end
end

"""
    isdone(graph, ticket) -> Bool

True if a replay is done. Never blocks, allocates nothing.
"""
isdone(graph::Graph, ticket::Integer) =
    check(LibSynfire.synfire_graph_poll(graph, ticket)) != LibSynfire.SYNFIRE_PENDING
