# Functions of synapses and optimisers that are not recorded: arrays read and written by name, and the memory of a synapse.
#
# SPDX-License-Identifier: MIT

"""
    query_memory(Synapse, context; ...) -> NamedTuple

The bytes a [`Synapse`](@ref) with these arguments takes on its device, before anything is allocated: `weight_bytes`,
`derived_bytes` (what products use), and `gradient_bytes`, added with the first backward that needs them. A layer after
a synapse adds `synapse_tape_bytes` to its tape.
"""
function query_memory(::Type{Synapse}, context::Context; arguments...)
    request = synapse_request(context; arguments...)
    memory = Ref(LibSynfire.synfire_synapse_memory())
    GC.@preserve request check(LibSynfire.synfire_synapse_query_memory(request.desc, memory))
    return (weight_bytes=Int(memory[].weight_bytes), derived_bytes=Int(memory[].derived_bytes),
            gradient_bytes=Int(memory[].gradient_bytes))
end

"""
    read!(synapse, name, values) -> values

Reads `:weight` or `:weight_gradient` `[K, N]`, or `:bias` or `:bias_gradient` `[N]`, into an array of `Float32`
(`Float64` in a synapse of that type), after every replay that was launched before.
"""
function Base.read!(synapse::Synapse, name::Union{Symbol,AbstractString}, values::DenseArray)
    GC.@preserve values check(LibSynfire.synfire_synapse_read(synapse, String(name), pointer(values), sizeof(values)))
    return values
end

"""
    write(synapse, name, values)

Writes what `read!(synapse, name, values)` reads. Values must be finite.
"""
function Base.write(synapse::Synapse, name::Union{Symbol,AbstractString}, values::DenseArray)
    GC.@preserve values check(LibSynfire.synfire_synapse_write(synapse, String(name), pointer(values), sizeof(values)))
    return synapse
end

"""
    read!(optimizer, member, name, values) -> values

Reads a number of the optimiser, with `nothing` as the member, into an array of one: `:step_count` or `:skipped`
(`UInt64`), `:beta1_power`, `:beta2_power` or `:gradient_norm` (`Float64`); or an array of a member, which are numbered
from 0 on in the order in which they were added: `:momentum`, `:moment1` or `:moment2`.
"""
function Base.read!(optimizer::Optimizer, member::Union{Integer,Nothing}, name::Union{Symbol,AbstractString},
                    values::DenseArray)
    GC.@preserve values check(LibSynfire.synfire_optimizer_read(optimizer, member === nothing ? -1 : member,
                                                                String(name), pointer(values), sizeof(values)))
    return values
end

"""
    write(optimizer, member, name, values)

Writes what `read!(optimizer, member, name, values)` reads, so that training continues where it stopped, with the same bits.
"""
function Base.write(optimizer::Optimizer, member::Union{Integer,Nothing}, name::Union{Symbol,AbstractString},
                    values::DenseArray)
    GC.@preserve values check(LibSynfire.synfire_optimizer_write(optimizer, member === nothing ? -1 : member,
                                                                 String(name), pointer(values), sizeof(values)))
    return optimizer
end
