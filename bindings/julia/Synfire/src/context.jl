# context.jl - one device, a GPU or the host, and everything created on it.
#
# SPDX-License-Identifier: MIT

"""
    Context(; backend=:auto, device=0, threads=0, stream_priority=0)
    Context(f; ...)

One device and everything created on it. `backend` is `:auto` (a GPU if one is usable, else the host), `:host` or
`:cuda`; `threads` is how many threads the host backend may use, 0 for all processors. `f` gets the context, which is
closed after it.

```julia
Context(backend=:host) do context
    properties(context).name
end
```
"""
mutable struct Context <: Handle
    handle::LibSynfire.synfire_context
    is_open::Threads.Atomic{Int}
    is_host::Bool

    function Context(; backend=:auto, device::Integer=0, threads::Integer=0, stream_priority::Integer=0)
        # enqueue_task, finish_task and job_system stay null: a job system calls back on threads that Julia does not know.
        desc = Ref(LibSynfire.synfire_context_desc(backend=constant("backend", LibSynfire.backend_names, backend),
                                                   device=device, n_threads=threads, stream_priority=stream_priority))
        handle = Ref(LibSynfire.synfire_context(C_NULL))
        check(LibSynfire.synfire_context_create(desc, handle))
        context = adopt(new(handle[], Threads.Atomic{Int}(1), true))
        context.is_host = properties(context).backend === :host
        return context
    end
end

Context(f; keywords...) = with_handle(f, Context(; keywords...))

destroy(::Context, handle) = LibSynfire.synfire_context_destroy(handle)

"""
    ContextProperties

What a context runs on: `backend` (`:host` or `:cuda`), `device`, `fallback_reason` (`:none`, or why automatic selection
ended on the host), `threads`, `compute_capability`, `multiprocessors`, `driver_version`, `runtime_version`,
`memory_bytes` and `name`.
"""
struct ContextProperties
    backend::Symbol
    device::Int
    fallback_reason::Symbol
    threads::Int
    compute_capability::VersionNumber
    multiprocessors::Int
    driver_version::Int
    runtime_version::Int
    memory_bytes::UInt64
    name::String
end

# A C string in an array of bytes.
function text_of(bytes)
    last = something(findfirst(iszero, bytes), length(bytes) + 1) - 1
    return String(UInt8[bytes[i] for i in 1:last])
end

"""
    properties(context) -> ContextProperties

What a context runs on.
"""
function properties(context::Context)
    out = Ref(LibSynfire.synfire_context_properties())
    check(LibSynfire.synfire_context_get_properties(context, out))
    p = out[]
    return ContextProperties(constant_name(LibSynfire.backend_names, p.backend), p.device,
                             constant_name(LibSynfire.fallback_names, p.fallback_reason), p.n_threads,
                             VersionNumber(p.compute_major, p.compute_minor), p.n_multiprocessors, p.driver_version,
                             p.runtime_version, p.memory_bytes, text_of(p.name))
end

"""
    synchronize(context)

Waits until everything enqueued on the context's own stream is done. Returns at once on the host.
"""
function synchronize(context::Context)
    check(LibSynfire.synfire_context_synchronize(context))
    return nothing
end

"""
    reclaim([context]) -> Int

Frees what closed handles left behind, of one context or of all; returns how many objects are still in use. Later calls
do the same in passing: this is for freeing at a time of your choosing. Arrays that were borrowed and are no longer
needed go back to the garbage collector here, and when the next one is borrowed.
"""
function reclaim(context::Union{Context,Nothing}=nothing)
    still_queued = Ref{UInt64}(0)
    of = context === nothing ? LibSynfire.synfire_context(C_NULL) : context
    check(LibSynfire.synfire_context_reclaim(of, still_queued))
    take_back()
    return Int(still_queued[])
end

function Base.show(io::IO, context::Context)
    isopen(context) || return print(io, "Context (closed)")
    print(io, "Context on ", properties(context).name)
end
