# handles.jl - what contexts, buffers, layers and graphs have in common: a handle that is closed once, by hand or by the
# garbage collector.
#
# The C library checks every handle, and destroying never blocks, locks or allocates: so finalizers may run in any
# order, on any thread, at exit and while a graph is captured, and a call that races with a close returns an error.
#
# SPDX-License-Identifier: MIT

"""
    Handle

A [`Context`](@ref), or an object of one: a [`Buffer`](@ref), a [`Layer`](@ref), a [`Graph`](@ref). `close` gives it
back at once, the garbage collector at some time; `isopen` tells whether it can be used. Using a closed one throws
[`SynfireError`](@ref). Any order of closing is allowed.

Each constructor takes a function as its first argument too, and closes the handle after it: use it with `do`.
"""
abstract type Handle end

const live = Threads.Atomic{Int}(0)

"""
    live_handles() -> Int

How many handles of this package are open.
"""
live_handles() = live[]

# Called with a fresh handle by every constructor.
function adopt(object::Handle)
    Threads.atomic_add!(live, 1)
    finalizer(collected, object)
    return object
end

"""
    close(handle::Handle)

Gives a handle back. Closing twice is fine. Never blocks; what it frees is freed in passing by later calls, or by
[`reclaim`](@ref).
"""
function Base.close(object::Handle)
    Threads.atomic_xchg!(object.is_open, 0) == 1 || return nothing
    handle = object.handle
    object.handle = C_NULL
    Threads.atomic_sub!(live, 1)
    destroy(object, handle)
    return nothing
end

# The garbage collector calls this for a handle that nothing refers to.
collected(object::Handle) = close(object)

Base.isopen(object::Handle) = object.handle != C_NULL

@noinline function throw_closed(object::Handle)
    throw(SynfireError(LibSynfire.SYNFIRE_ERROR_INVALID_HANDLE, "JULIA-CLOSED",
                       "this $(nameof(typeof(object))) is closed", 0))
end

# The handle itself, for a descriptor. Whoever asks keeps `object` alive until the call is over.
@inline function raw(object::Handle)
    handle = object.handle
    handle == C_NULL && throw_closed(object)
    return handle
end

# `ccall` keeps the result of cconvert alive during the call.
Base.cconvert(::Type{<:Ptr}, object::Handle) = object
Base.unsafe_convert(::Type{P}, object::Handle) where {P<:Ptr} = raw(object)::P

# Keeps what an object uses, once each.
function keep!(object::Handle, used...)
    for each in used
        any(kept -> kept === each, object.keeps) || push!(object.keeps, each)
    end
    return object
end

# Runs f with a handle that is closed afterwards, whatever happens.
function with_handle(f, object::Handle)
    try
        return f(object)
    finally
        close(object)
    end
end

# The types of a CUDA stream in Julia: nothing (the context's own), a pointer, or, with CUDA.jl, a CuStream.
stream_pointer(::Nothing) = LibSynfire.synfire_stream(C_NULL)
stream_pointer(stream::Ptr) = LibSynfire.synfire_stream(stream)
