# buffer.jl - typed memory of a context, and its views as Julia arrays.
#
# Julia's arrays are column-major and the C library's are row-major: the C array [T, B, N] is the Julia array [N, B, T],
# the same memory with the dimensions written the other way round. Nothing is ever transposed or copied because of that.
#
# SPDX-License-Identifier: MIT

"""
    Buffer{E}(context, dims...; memory=:device, dtype=..., row_pitch=0, neurons=nothing)
    Buffer(context, array; memory=:host, dtype=..., neurons=nothing)
    Buffer(f, ...)

Typed memory of a context: allocated and zero-filled, or borrowed from an array without a copy.

`E` is the type of one element; `dtype` says what it means where that is not clear from `E`:

| `E` | `dtype` |
| --- | --- |
| `Float32` | `:f32` |
| `Float64` | `:f64` |
| `Float16` | `:f16` |
| `BFloat16` | `:bf16` |
| `UInt8` | `:u8`, one spike a byte |
| `UInt32` | `:bits` (default), 32 neurons a word; `:time_bits`, 32 steps a word; `:u32`, counts |
| `UInt64` | `:u64`, counts |

`memory` is `:device`, `:pinned` (host memory that a GPU reaches: for what goes in and out of a graph), `:host` or
`:transient` (none: what the operations of a graph pass on to each other during a replay). On a host context the first
three are ordinary memory.

`dims` are the dimensions of the array, time last: `[N, T]` or `[N, batch, T]`. An operation refuses a buffer of another
shape than it needs; it ignores dimensions of length 1, and takes a vector of the right length for any shape. See
[`sequence_buffer`](@ref), [`spike_buffer`](@ref) and [`state_buffer`](@ref) for buffers that fit a layer.

`neurons` is for arrays whose leading dimensions are the neurons of one step, such as the pixels of an image: with
`neurons=(28, 28)` a buffer of `[28, 28, batch, T]` is one of `[784, batch, T]` to the C library. The shape of an array
with more than four dimensions is not checked.

`row_pitch` is how many elements lie from one step to the next, 0 when steps follow each other directly. What lies
between is left alone; `copyto!` and `Array` skip it.

A borrowed array is kept alive until its last use: by the buffer, by graphs that use it, by a layer whose tape was made
from it, and by work of a GPU; [`reclaim`](@ref) gives it back to the garbage collector. It must be dense: a strided view
with gaps is refused, an element type without a `dtype` too. It may not be resized meanwhile.

Move data with `copyto!(buffer, array)`, `copyto!(array, buffer)`, `Array(buffer)` and `fill!(buffer, value)`, or work
in the memory itself with [`hostarray`](@ref).
"""
mutable struct Buffer{E,D} <: Handle
    handle::LibSynfire.synfire_buffer
    is_open::Threads.Atomic{Int}
    context::Context
    dims::NTuple{D,Int}
    row_pitch::Int     # 0: steps follow each other
    dtype::Symbol
    pointer::Ptr{E}
    on_host::Bool      # the host may read and write at `pointer`
    is_viewed::Bool    # arrays look at the memory: it stays until they are gone
    retained::LibSynfire.synfire_buffer # of a closed buffer whose memory is still looked at

    function Buffer{E,D}(context::Context, dims::NTuple{D,Int}, dtype::Symbol, memory, row_pitch::Integer, borrowed,
                         data::Ptr, shape::Vector{Int}) where {E,D}
        for length in dims
            whole_size("a dimension", length)
        end
        step = reduce(Base.checked_mul, Base.front(dims); init=1)
        row_pitch == 0 || row_pitch >= step ||
            throw(ArgumentError("row_pitch = $row_pitch; allowed: 0, or $step elements of a step or more"))
        kind = constant("memory", LibSynfire.memory_names, memory)
        meaning = constant("dtype", LibSynfire.dtype_names, dtype)
        n_elements = Base.checked_mul(max(step, Int(row_pitch)), last(dims))
        flag = borrowed === nothing ? Ptr{UInt32}(C_NULL) : lend(borrowed)
        desc = Ref(LibSynfire.synfire_buffer_desc(memory=kind, dtype=meaning, n_elements=n_elements, data=data,
                                                  row_pitch=row_pitch, release_flag=flag, shape=c_shape(shape)))
        handle = Ref(LibSynfire.synfire_buffer(C_NULL))
        try
            check(LibSynfire.synfire_buffer_create(context, desc, handle))
        catch
            unlend(flag)
            rethrow()
        end
        address = Ref{Ptr{Cvoid}}(C_NULL)
        check(LibSynfire.synfire_buffer_get_data(handle[], address, C_NULL))
        on_host = kind != LibSynfire.SYNFIRE_MEMORY_TRANSIENT &&
                  (context.is_host || kind != LibSynfire.SYNFIRE_MEMORY_DEVICE)
        return adopt(new{E,D}(handle[], Threads.Atomic{Int}(1), context, dims, row_pitch, dtype, Ptr{E}(address[]),
                              on_host, false, C_NULL))
    end

    # Takes over a handle that another object gave.
    Buffer{E,D}(context::Context, handle::LibSynfire.synfire_buffer, dims::NTuple{D,Int}, row_pitch, dtype::Symbol,
                data::Ptr, on_host::Bool) where {E,D} =
        adopt(new{E,D}(handle, Threads.Atomic{Int}(1), context, dims, row_pitch, dtype, Ptr{E}(data), on_host, false,
                       C_NULL))
end

"""
    BFloat16(x)

A bfloat16 number, the upper half of a `Float32`, as storage: convert it with `Float32(x)` to calculate.
"""
struct BFloat16
    bits::UInt16
    BFloat16(bits::UInt16) = new(bits)
end
# Rounds to nearest, ties to even; a NaN stays one.
function BFloat16(x::Real)
    bits = reinterpret(UInt32, Float32(x))
    isnan(x) && return BFloat16((bits >> 16) % UInt16 | 0x0040)
    return BFloat16(((bits + 0x00007fff + ((bits >> 16) & 0x00000001)) >> 16) % UInt16)
end
Base.Float32(x::BFloat16) = reinterpret(Float32, UInt32(x.bits) << 16)
Base.convert(::Type{Float32}, x::BFloat16) = Float32(x)
Base.convert(::Type{BFloat16}, x::Real) = BFloat16(x)

# ---- Types and memory ------------------------------------------------------------------------------------------------

const dtypes_of = (Float32 => (:f32,), Float64 => (:f64,), Float16 => (:f16,), BFloat16 => (:bf16,), UInt8 => (:u8,),
                   UInt32 => (:bits, :time_bits, :u32), UInt64 => (:u64,))

# The dtypes an element type can stand for, the default first.
function dtypes_for(E)
    for (type, dtypes) in dtypes_of
        type === E && return dtypes
    end
    throw(ArgumentError("elements of type $E; allowed: $(join((string(type) for (type, _) in dtypes_of), ", "))"))
end

function element_type(dtype::Symbol)
    for (type, dtypes) in dtypes_of
        dtype in dtypes && return type
    end
    throw(ArgumentError("dtype = :$dtype; allowed: " *
                        join((string(':', name) for (_, dtypes) in dtypes_of for name in dtypes), ", ")))
end

function checked_dtype(E, dtype)
    allowed = dtypes_for(E)
    dtype === nothing && return first(allowed)
    dtype in allowed && return dtype
    names = join((string(':', name) for name in allowed), ", ")
    throw(ArgumentError("dtype = :$dtype with elements of type $E; allowed: $names"))
end

# True if elements follow each other without gaps, in Julia's order.
function is_dense(array::StridedArray)
    expected = 1
    for d in 1:ndims(array)
        size(array, d) == 1 || stride(array, d) == expected || return false
        expected *= size(array, d)
    end
    return true
end

# How an array's memory is reached, or an error that says why not. CUDA.jl's arrays have methods of their own.
default_memory(array) = :host
function memory_pointer(array)
    array isa StridedArray && isbitstype(eltype(array)) ||
        throw(ArgumentError("a $(typeof(array)) has no memory of its own; allowed: dense arrays (try collect)"))
    is_dense(array) || throw(ArgumentError(
        "an array of size $(size(array)) with strides $(strides(array)) has gaps; allowed: dense arrays (try copy)"))
    return Ptr{Cvoid}(pointer(array))
end

# ---- Shapes ----------------------------------------------------------------------------------------------------------

# The C library's shape of an array of these dimensions: the slowest first, unused ones 0. None where there are more
# than four, and none for an empty array, which the library refuses as empty.
function c_shape(dims::Vector{Int})
    rank = length(dims)
    (rank > 4 || 0 in dims) && return (0, 0, 0, 0)
    return ntuple(d -> d <= rank ? dims[rank+1-d] : 0, 4)
end

# `dims` with the leading ones that are `neurons` together merged into one; nothing where none are.
function merge_neurons(dims, neurons::Integer)
    product = 1
    for (d, length) in enumerate(dims)
        product *= length
        product == neurons && return Int[neurons, dims[d+1:end]...]
    end
    return nothing
end

declared_shape(dims, ::Nothing) = collect(Int, dims)
function declared_shape(dims, neurons)
    merged = merge_neurons(dims, whole_size("neurons", neurons))
    merged === nothing && throw(ArgumentError(
        "neurons = $neurons with dimensions $dims; allowed: as many as the leading dimensions are together"))
    return merged
end

# ---- Construction ----------------------------------------------------------------------------------------------------

function Buffer{E}(context::Context, dims::Integer...; memory=:device, dtype=nothing, row_pitch::Integer=0,
                   neurons=nothing) where {E}
    isempty(dims) && throw(ArgumentError("no dimensions; allowed: 1 or more"))
    return Buffer{E,length(dims)}(context, map(Int, dims), checked_dtype(E, dtype), memory, row_pitch, nothing, C_NULL,
                                  declared_shape(dims, neurons))
end
Buffer{E}(context::Context, dims::Tuple; keywords...) where {E} = Buffer{E}(context, dims...; keywords...)

function Buffer(context::Context, handle::LibSynfire.synfire_buffer)
    desc, address = Ref(LibSynfire.synfire_buffer_desc()), Ref{Ptr{Cvoid}}(C_NULL)
    check(LibSynfire.synfire_buffer_get_desc(handle, desc))
    check(LibSynfire.synfire_buffer_get_data(handle, address, C_NULL))
    dtype = constant_name(LibSynfire.dtype_names, desc[].dtype)
    lengths = reverse(Int[length for length in desc[].shape if length > 0])
    dims = isempty(lengths) ? (Int(desc[].n_elements),) : Tuple(lengths)
    return Buffer{element_type(dtype),length(dims)}(context, handle, dims, Int(desc[].row_pitch), dtype, address[],
                                                    desc[].data != C_NULL)
end

function Buffer(context::Context, array::AbstractArray; memory=default_memory(array), dtype=nothing, neurons=nothing)
    kind = checked_dtype(eltype(array), dtype)
    return borrowing_buffer(context, array, memory, kind, declared_shape(size(array), neurons))
end
borrowing_buffer(context, array, memory, dtype, shape) = Buffer{eltype(array),ndims(array)}(
    context, size(array), dtype, memory, 0, array, memory_pointer(array), shape)

# An array that an operation on `neurons` neurons uses. Leading dimensions with that product are the neurons, in a shape
# of their own. Packed spikes have words in their place.
function borrow(context::Context, array::AbstractArray, neurons::Integer)
    dtype, shape = checked_dtype(eltype(array), nothing), collect(Int, size(array))
    dtype === :bits || (shape = something(merge_neurons(shape, neurons), shape))
    return borrowing_buffer(context, array, default_memory(array), dtype, shape)
end

Buffer{E}(f::Base.Callable, context::Context, arguments...; keywords...) where {E} =
    with_handle(f, Buffer{E}(context, arguments...; keywords...))
Buffer(f::Base.Callable, context::Context, array::AbstractArray; keywords...) =
    with_handle(f, Buffer(context, array; keywords...))

# The memory that arrays look at stays until they are gone: they refer to the buffer, which then is collected.
function destroy(buffer::Buffer, handle)
    if buffer.is_viewed
        buffer.retained = handle
    else
        LibSynfire.synfire_buffer_destroy(handle)
    end
    return nothing
end

function collected(buffer::Buffer)
    close(buffer)
    LibSynfire.synfire_buffer_destroy(buffer.retained)
    buffer.retained = C_NULL
    return nothing
end

# ---- Transfer --------------------------------------------------------------------------------------------------------

Base.size(buffer::Buffer) = buffer.dims
Base.size(buffer::Buffer, d::Integer) = d <= length(buffer.dims) ? buffer.dims[d] : 1
Base.length(buffer::Buffer) = prod(buffer.dims)
Base.ndims(::Buffer{E,D}) where {E,D} = D
Base.eltype(::Buffer{E}) where {E} = E
Base.sizeof(buffer::Buffer{E}) where {E} = length(buffer) * sizeof(E)

# The parts of a buffer that are copied at once: first byte in it, first byte in the array, how many. Whole, or step by step.
function pieces(buffer::Buffer{E}) where {E}
    buffer.row_pitch == 0 && return [(0, 0, sizeof(buffer))]
    step = sizeof(buffer) ÷ last(buffer.dims)
    return [(t * buffer.row_pitch * sizeof(E), t * step, step) for t in 0:last(buffer.dims)-1]
end

function require_same(buffer::Buffer{E}, array) where {E}
    eltype(array) === E || throw(ArgumentError("elements of type $(eltype(array)) with a buffer of $E"))
    length(array) == length(buffer) || throw(DimensionMismatch(
        "an array of $(length(array)) elements, $(size(array)), with a buffer of $(length(buffer)), $(size(buffer))"))
    return nothing
end

"""
    copyto!(buffer::Buffer, array)

Copies a dense host array of the same element type and length into a buffer, after everything already enqueued on the
context's own stream. The shapes may differ.
"""
function Base.copyto!(buffer::Buffer, array::AbstractArray)
    require_same(buffer, array)
    GC.@preserve array for (at, offset, bytes) in pieces(buffer)
        check(LibSynfire.synfire_buffer_upload(buffer, at, memory_pointer(array) + offset, bytes))
    end
    return buffer
end

"""
    copyto!(array, buffer::Buffer)

Copies a buffer into a dense host array of the same element type and length, after everything already enqueued on the
context's own stream. The shapes may differ.
"""
function Base.copyto!(array::AbstractArray, buffer::Buffer)
    require_same(buffer, array)
    GC.@preserve array for (at, offset, bytes) in pieces(buffer)
        check(LibSynfire.synfire_buffer_download(buffer, at, memory_pointer(array) + offset, bytes))
    end
    return array
end

"""
    Array(buffer::Buffer)

A copy of a buffer as an array of its shape.
"""
Base.Array(buffer::Buffer{E,D}) where {E,D} = copyto!(Array{E,D}(undef, buffer.dims), buffer)
Base.collect(buffer::Buffer) = Array(buffer)

"""
    fill!(buffer::Buffer, value)

Sets every element of a buffer to one value, rounded to the buffer's type; for packed spikes each word.
"""
function Base.fill!(buffer::Buffer, value::Real)
    check(LibSynfire.synfire_buffer_fill(buffer, Float64(value)))
    return buffer
end

function Base.show(io::IO, buffer::Buffer{E}) where {E}
    print(io, "Buffer{", E, "} ", join(buffer.dims, "x"), " :", buffer.dtype)
    isopen(buffer) || print(io, " (closed)")
end

# ---- The memory itself -----------------------------------------------------------------------------------------------

"""
    HostArray{E,D} <: DenseArray{E,D}

The memory of a [`Buffer`](@ref) as an array, without a copy: see [`hostarray`](@ref) and [`slot`](@ref).
"""
struct HostArray{E,D} <: DenseArray{E,D}
    pointer::Ptr{E}
    dims::NTuple{D,Int}
    holder::Handle       # whose memory it is: a buffer, or a graph with slots
    plain::Array{E,D}    # the same memory, without a hold on it
    HostArray(pointer::Ptr{E}, dims::NTuple{D,Int}, holder::Handle) where {E,D} =
        new{E,D}(pointer, dims, holder, unsafe_wrap(Array, pointer, dims))
end

"""
    hostarray(buffer::Buffer) -> HostArray

The memory of a buffer as an array, without a copy: pinned and host memory, and on a host context all memory. Read and
write it while no replay uses it, that is between a `wait` that returned `true` and the next [`launch!`](@ref).

With a `row_pitch` the array is `[row_pitch, T]`. A layer that keeps its tape by recomputing must learn of changes of
its X after the forward: [`mark_written!`](@ref).

The array is safe to use after the buffer was closed: the memory stays until no such array is left.
"""
function hostarray(buffer::Buffer)
    raw(buffer)
    buffer.on_host || throw(ArgumentError(
        "the host cannot reach memory = :device of a GPU, nor :transient; allowed: :pinned, :host, or copyto!"))
    buffer.is_viewed = true
    return host_array(buffer, buffer.pointer, buffer)
end
host_array(buffer::Buffer, pointer, holder) = buffer.row_pitch == 0 ? HostArray(pointer, buffer.dims, holder) :
                                              HostArray(pointer, (buffer.row_pitch, last(buffer.dims)), holder)

"""
    mark_written!(buffer::Buffer)

Reports that a buffer's memory was written behind the library's back, through its [`hostarray`](@ref) or by a kernel of
your own: a tape that was made from it is stale then, and a backward says so instead of answering a gradient of other
numbers.
"""
function mark_written!(buffer::Buffer)
    check(LibSynfire.synfire_buffer_mark_written(buffer))
    return buffer
end

Base.size(array::HostArray) = array.dims
Base.strides(array::HostArray) = cumprod((1, Base.front(array.dims)...))
Base.IndexStyle(::Type{<:HostArray}) = IndexLinear()
Base.elsize(::Type{<:HostArray{E}}) where {E} = sizeof(E)
Base.unsafe_convert(::Type{Ptr{E}}, array::HostArray{E}) where {E} = array.pointer
Base.pointer(array::HostArray) = array.pointer

@inline function Base.getindex(array::HostArray, i::Int)
    @boundscheck checkbounds(array, i)
    return GC.@preserve array unsafe_load(array.pointer, i)
end

@inline function Base.setindex!(array::HostArray{E}, value, i::Int) where {E}
    @boundscheck checkbounds(array, i)
    GC.@preserve array unsafe_store!(array.pointer, convert(E, value)::E, i)
    return array
end

# Whole-array work keeps the buffer alive once, around the loop, not at every element, and works on a plain Array: only
# so is it as fast as on one. The plain Array never leaves such a block, so nobody can hold it when the memory goes.
bare(array::HostArray) = array.plain
bare(other) = other
bare(expression::Broadcast.Broadcasted{Style}) where {Style} =
    Broadcast.Broadcasted{Style}(expression.f, map(bare, expression.args), expression.axes)

@inline function Base.copyto!(to::HostArray, expression::Broadcast.Broadcasted{Nothing})
    GC.@preserve to expression copyto!(bare(to), bare(expression))
    return to
end
Base.mapreduce(f, op, array::HostArray; keywords...) = GC.@preserve array mapreduce(f, op, bare(array); keywords...)
Base.fill!(array::HostArray, value) = GC.@preserve array (fill!(bare(array), value); array)

function copy_memory!(to::DenseArray{E}, from::DenseArray{E}) where {E}
    length(from) <= length(to) || throw(BoundsError(to, length(from)))
    GC.@preserve to from unsafe_copyto!(pointer(to), pointer(from), length(from))
    return to
end
Base.copyto!(to::HostArray{E}, from::Array{E}) where {E} = copy_memory!(to, from)
Base.copyto!(to::Array{E}, from::HostArray{E}) where {E} = copy_memory!(to, from)
Base.copyto!(to::HostArray{E}, from::HostArray{E}) where {E} = copy_memory!(to, from)
