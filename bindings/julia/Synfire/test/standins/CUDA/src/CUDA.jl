# CUDA.jl - a stand-in for the package of that name: the few names that Synfire's extension uses, over host memory, for
# machines without a GPU or without the package. It is not the package: that it fits the real one is not shown by tests
# that use this.
#
# SPDX-License-Identifier: MIT
module CUDA

export CuArray, CuPtr, CuStream

primitive type CuPtr{T} 64 end
CuPtr{T}(address::UInt) where {T} = reinterpret(CuPtr{T}, address)
Base.UInt(pointer::CuPtr) = reinterpret(UInt, pointer)

struct CuArray{T,D} <: DenseArray{T,D}
    memory::Array{T,D}
end
Base.size(array::CuArray) = size(array.memory)
Base.getindex(array::CuArray, i::Int...) = error("scalar indexing of a CuArray")
Base.pointer(array::CuArray{T}) where {T} = CuPtr{T}(UInt(pointer(array.memory)))
Base.Array(array::CuArray) = copy(array.memory)
Base.copyto!(to::CuArray, from::Array) = (copyto!(to.memory, from); to)
Base.copyto!(to::CuArray, from::CuArray) = (copyto!(to.memory, from.memory); to)
Base.unsafe_wrap(::Type{CuArray}, pointer::CuPtr{T}, dims::NTuple{D,Int}) where {T,D} =
    CuArray{T,D}(unsafe_wrap(Array, Ptr{T}(UInt(pointer)), dims))

struct CuStream
    handle::Ptr{Cvoid}
end
synchronize() = nothing

end # module
