# network.jl - a classifier of two layers: defined, trained, evaluated, saved and loaded. It prints what
# docs/examples/network.c prints.
#
# SPDX-License-Identifier: MIT
using Printf, Synfire

const inputs, classes, rows = 41, 3, 99

# Spikes per step. Every third input is more active; which ones depends on the class of the row.
base(input, row) = input % classes == row % classes ? 20 : 12
noise(seed, i) = (seed * UInt32(i)) >> 28
rates(seed) = Float32[(base(k, r) + noise(seed, r * inputs + k)) / 128 for k in 0:inputs-1, r in 0:rows-1]

report(what, result) = @printf("%s: loss %.9f, accuracy %.4f\n", what, result.loss, accuracy(result))

Context() do context    # a GPU if there is one, else the host
    network = Network(context; steps=20, batch=30)
    add_input!(network, :rates, :rates, inputs)
    add_synapse!(network, :first, 53)
    add_neurons!(network, :hidden, :lif)
    add_synapse!(network, :second, classes)
    add_neurons!(network, :potentials, :li)
    add_readout!(network, :scores, :mean)
    add_loss!(network, :loss, :cross_entropy)
    add_optimizer!(network, :adam, :adam, 0.01)
    build!(network)
    labels = collect(0:rows-1) .% classes
    set_data!(network, :training, rates(0x9e3779b1), labels)
    set_data!(network, :evaluation, rates(0x85ebca77), labels)
    for _ in 1:5
        report("5 epochs", train!(network, 20))
    end
    report("other rows", evaluate(network))
    save(network, "network.safetensors")
    loaded = Network(context, "network.safetensors")
    set_data!(loaded, :evaluation, rates(0x85ebca77), labels)
    report("loaded", evaluate(loaded))
end
