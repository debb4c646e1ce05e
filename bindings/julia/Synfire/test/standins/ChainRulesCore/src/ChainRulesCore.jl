# ChainRulesCore.jl - a stand-in for the package of that name: the few names that Synfire's extension uses, for machines
# where the package cannot be installed. It is not the package: that it fits the real one is not shown by tests that use
# this.
#
# SPDX-License-Identifier: MIT
module ChainRulesCore

export rrule, unthunk, ProjectTo, AbstractZero, NoTangent, ZeroTangent, Tangent, Thunk

abstract type AbstractZero end
struct NoTangent <: AbstractZero end
struct ZeroTangent <: AbstractZero end

struct Tangent{P,T}
    backing::T
end
Tangent{P}(; fields...) where {P} = Tangent{P,typeof(values(fields))}(values(fields))
Base.getproperty(tangent::Tangent, name::Symbol) = getproperty(getfield(tangent, :backing), name)

struct Thunk{F}
    f::F
end
unthunk(thunk::Thunk) = thunk.f()
unthunk(other) = other

# Brings a gradient back to the element type and shape of what it is the gradient of.
struct ProjectTo{T,D}
    dims::NTuple{D,Int}
end
ProjectTo(x::AbstractArray{T,D}) where {T<:Real,D} = ProjectTo{float(T),D}(size(x))
(project::ProjectTo{T})(dx::AbstractArray) where {T} = reshape(convert(AbstractArray{T}, dx), project.dims)

rrule(f, arguments...) = nothing

end # module
