# watch.jl - a network that one watches while it learns. It logs how far it is, with the key `progress`, of which front
# ends draw a bar, and prints what docs/examples/watch.c prints.
#
# SPDX-License-Identifier: MIT
using Printf, Synfire

const inputs, classes, rows, batch, rounds, batches = 41, 3, 99, 33, 10, 9

# Spikes per step. Every third input is more active; which ones depends on the class of the row.
base(input, row) = input % classes == row % classes ? 24 : 12
noise(seed, i) = (seed * UInt32(i)) >> 28
rates(seed) = Float32[(base(k, r) + noise(seed, r * inputs + k)) / 128 for k in 0:inputs-1, r in 0:rows-1]

Context() do context    # a GPU if there is one, else the host
    network = Network(context; steps=20, batch=batch)
    add_input!(network, :rates, :rates, inputs)
    add_synapse!(network, :first, 53)
    add_neurons!(network, :hidden, :lif)
    add_synapse!(network, :second, classes)
    add_neurons!(network, :potentials, :li)
    add_readout!(network, :scores, :mean)
    add_loss!(network, :loss, :cross_entropy)
    add_optimizer!(network, :adam, :adam, 0.005)
    network_keep!(network, "hidden.monitor first.monitor")
    build!(network)
    labels = collect(0:rows-1) .% classes
    set_data!(network, :training, rates(0x9e3779b1), labels)
    set_data!(network, :evaluation, rates(0x85ebca77), labels)
    start, last = time(), ""
    # [watch]
    for round in 1:rounds
        learnt = train!(network, batches)
        hidden, first = monitor(network, :hidden), monitor(network, :first)    # of this call
        tested = evaluate(network)
        last = @sprintf("loss %.9f, other rows %.9f, accuracy %.4f, rate %.9f, silent %.4f, weights %.9f, gradients %.9f",
                        learnt.loss, tested.loss, accuracy(tested), hidden.rate, hidden.silent, first.weight_norm,
                        first.gradient_norm)
        each = (time() - start) / round
        @info("watch", progress=round / rounds, loss=learnt.loss, accuracy=accuracy(tested), rate=hidden.rate,
              rows_per_second=batches * batch / each, seconds_left=each * (rounds - round))
    end
    # [watch]
    println(last)
end
