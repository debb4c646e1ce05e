# native.jl - native nodes: functions of the program between two operations of a graph.
#
# The C library calls one function, which catches what the program's throws: no exception crosses a frame of C. It waits
# in the node until the call that led there has come back, and is thrown from that one.
#
# SPDX-License-Identifier: MIT

"""
    NativeCall

What the function of a native node gets, good during the call only: `reads` and `writes`, the memory of the node's
buffers, as arrays of their shapes on the host and as device pointers on a GPU; `stream`, the CUDA stream to enqueue on
(`C_NULL` on the host); `slot`, the slot of the graph whose memory this is.
"""
struct NativeCall
    stream::LibSynfire.synfire_stream
    slot::Int
    reads::Tuple
    writes::Tuple
end

mutable struct NativeNode
    f::Any
    reads::Vector{Tuple{DataType,Tuple}}
    writes::Vector{Tuple{DataType,Tuple}}
    on_host::Bool
    failure::Any
end

memory_shape(buffer::Buffer{E}) where {E} =
    (E, buffer.row_pitch == 0 ? buffer.dims : (buffer.row_pitch, last(buffer.dims)))

function memories(node::NativeNode, all::Ptr{LibSynfire.synfire_memory}, shapes)
    return ntuple(length(shapes)) do i
        data = unsafe_load(all, i).data
        E, dims = shapes[i]
        node.on_host ? unsafe_wrap(Array, Ptr{E}(data), dims) : data
    end
end

# Called by C, on the thread that launches or instantiates.
function call_native(user::Ptr{Cvoid}, call::Ptr{LibSynfire.synfire_native_call})::Int32
    node = unsafe_pointer_to_objref(user)::NativeNode
    try
        told = unsafe_load(call)
        node.f(NativeCall(told.stream, told.slot, memories(node, told.reads, node.reads),
                          memories(node, told.writes, node.writes)))
        return LibSynfire.SYNFIRE_OK
    catch problem
        node.failure = problem
        return LibSynfire.SYNFIRE_ERROR_CALLBACK
    end
end

# The exception of a native node, else the C library's own error.
@noinline function fail(graph::Graph, status::Int32)
    if status == LibSynfire.SYNFIRE_ERROR_CALLBACK
        for node in graph.keeps
            node isa NativeNode && node.failure !== nothing || continue
            problem, node.failure = node.failure, nothing
            throw(problem)
        end
    end
    throw_last_error(status)
end

"""
    native!(f, graph; reads=(), writes=(), name="")

Appends a native node: a function of the program, which gets a [`NativeCall`](@ref). On the host it runs with each
launch, on the launching thread; on a GPU it is called when the graph is instantiated, once for each slot, and enqueues
kernels on a stream that is being captured. `reads` and `writes` are buffers. What it throws comes out of the call that
led to it: [`launch!`](@ref), [`instantiate!`](@ref) or [`rebind!`](@ref).

```julia
native!(graph; reads=(spikes,), writes=(x,)) do call
    call.writes[1] .= 2 .* call.reads[1]
end
```
"""
function native!(f, graph::Graph; reads=(), writes=(), name::AbstractString="")
    all(buffer -> buffer isa Buffer, (reads..., writes...)) ||
        throw(ArgumentError("reads and writes of a native node; allowed: collections of Buffers"))
    node = NativeNode(f, [memory_shape(buffer) for buffer in reads], [memory_shape(buffer) for buffer in writes],
                      graph.context.is_host, nothing)
    read_handles = LibSynfire.synfire_buffer[raw(buffer) for buffer in reads]
    written_handles = LibSynfire.synfire_buffer[raw(buffer) for buffer in writes]
    text = String(name)
    occursin('\0', text) && throw(ArgumentError("name has a null character"))
    GC.@preserve reads writes read_handles written_handles text begin
        desc = Ref(LibSynfire.synfire_native_desc(
            callback=@cfunction(call_native, Int32, (Ptr{Cvoid}, Ptr{LibSynfire.synfire_native_call})),
            user=pointer_from_objref(node), name=isempty(text) ? C_NULL : pointer(text),
            reads=isempty(read_handles) ? C_NULL : pointer(read_handles), n_reads=length(read_handles),
            writes=isempty(written_handles) ? C_NULL : pointer(written_handles), n_writes=length(written_handles)))
        check(LibSynfire.synfire_graph_record_native(graph, desc))
    end
    return keep!(graph, node, reads..., writes...)
end
