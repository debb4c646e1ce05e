# SynfireCUDAExt.jl - Synfire with CUDA.jl: a CuArray is memory of a GPU context, and a CuStream a stream to replay on.
#
# Addresses and streams as CUDA.jl has them.
#
# SPDX-License-Identifier: MIT
module SynfireCUDAExt

using Synfire, CUDA

# A CuArray goes wherever Synfire borrows an array: Buffer(context, array), forward!(layer; x=array).
Synfire.memory_pointer(array::CuArray) = Ptr{Cvoid}(UInt(pointer(array)))
Synfire.default_memory(::CuArray) = :device

# A contiguous view of a CuArray is a CuArray too; one with gaps is refused with the words for host arrays.
Synfire.stream_pointer(stream::CuStream) = Synfire.LibSynfire.synfire_stream(UInt(stream.handle))

# The memory of a buffer on a GPU as a CuArray, without a copy. It is valid while the buffer is open.
function Base.unsafe_wrap(::Type{CuArray}, buffer::Buffer{E,D}) where {E,D}
    isopen(buffer) || Synfire.throw_closed(buffer)
    buffer.row_pitch == 0 || throw(ArgumentError("row_pitch = $(buffer.row_pitch) leaves gaps; allowed: 0"))
    buffer.on_host && throw(ArgumentError("memory of the host; allowed: memory = :device on a GPU (see hostarray)"))
    return unsafe_wrap(CuArray, CuPtr{E}(UInt(buffer.pointer)), buffer.dims)
end

# Between a buffer and a CuArray: on the stream that CUDA.jl's task uses now, after all that Synfire enqueued before.
function Base.copyto!(array::CuArray{E}, buffer::Buffer{E}) where {E}
    Synfire.require_same(buffer, array)
    Synfire.synchronize(buffer.context)
    buffer.on_host ? copyto!(array, reshape(Array(buffer), size(array))) : copyto!(array, unsafe_wrap(CuArray, buffer))
    return array
end
function Base.copyto!(buffer::Buffer{E}, array::CuArray{E}) where {E}
    Synfire.require_same(buffer, array)
    Synfire.synchronize(buffer.context)
    buffer.on_host ? copyto!(buffer, Array(array)) : (copyto!(unsafe_wrap(CuArray, buffer), array); CUDA.synchronize();
                                              mark_written!(buffer))
    return buffer
end

end # module
