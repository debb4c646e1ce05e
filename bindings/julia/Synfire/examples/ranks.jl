# ranks.jl - the ranks that mpirun has started learn one network together. Without mpirun there is one rank. The network is
# the same for any number of them, with the same bits: mpirun -n 2 julia ranks.jl
#
# SPDX-License-Identifier: MIT
using Printf, Synfire

const inputs, classes, rows = 41, 3, 99

base(input, row) = input % classes == row % classes ? 20 : 12
noise(seed, i) = (seed * UInt32(i)) >> 28
rates(seed) = Float32[(base(k, r) + noise(seed, r * inputs + k)) / 128 for k in 0:inputs-1, r in 0:rows-1]

function learn(context, communicator=nothing)
    network = Network(context; steps=20, batch=30, communicator=communicator)
    add_input!(network, :rates, :rates, inputs)
    add_synapse!(network, :first, 53)
    add_neurons!(network, :hidden, :lif)
    add_synapse!(network, :second, classes)
    add_neurons!(network, :potentials, :li)
    add_readout!(network, :scores, :mean)
    add_loss!(network, :loss, :cross_entropy)
    add_optimizer!(network, :adam, :adam, 0.01)
    build!(network)
    set_data!(network, :training, rates(0x9e3779b1), collect(0:rows-1) .% classes)
    return train!(network, 20).loss
end

Context(; backend=:host, threads=1) do context
    is_started = any(name -> haskey(ENV, name), ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"))
    Communicator(context; (is_started ? NamedTuple() : (transport=:loopback, size=1))...) do communicator
        place = properties(communicator)
        @printf("rank %d of %d: loss %.9f\n", place.rank, place.size, learn(context, communicator))
    end
    @printf("alone: loss %.9f\n", learn(context))
end
