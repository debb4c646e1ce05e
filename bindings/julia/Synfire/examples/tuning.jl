# tuning.jl - a trained body with a new head, the rate of a schedule, and the best of all weights. It prints what
# docs/examples/tuning.c prints.
#
# SPDX-License-Identifier: MIT
using Printf, Synfire

const inputs, classes, rows = 41, 3, 99

# Spikes per step. Every third input is more active; which ones depends on the row.
base(input, row) = input % classes == row % classes ? 20 : 12
noise(seed, i) = (seed * UInt32(i)) >> 28
rates(seed) = Float32[(base(k, r) + noise(seed, r * inputs + k)) / 128 for k in 0:inputs-1, r in 0:rows-1]

function make(context, n_classes)
    network = Network(context; steps=20, batch=30)
    add_input!(network, :rates, :rates, inputs)
    add_synapse!(network, :first, 53)
    add_neurons!(network, :hidden, :lif)
    add_synapse!(network, :head, n_classes)
    add_neurons!(network, :potentials, :li)
    add_readout!(network, :scores, :mean)
    add_loss!(network, :loss, :cross_entropy)
    add_stage!(network, :optimizer, :adam; kind=:adam, learning_rate=0.01, warmup_steps=8, schedule=:step,
               schedule_steps=40, schedule_factor=0.5)
    build!(network)
    labels = collect(0:rows-1) .% classes .% n_classes
    set_data!(network, :training, rates(0x9e3779b1), labels)
    set_data!(network, :evaluation, rates(0x85ebca77), labels)
    return network
end

function report(what, result)
    @printf("%s: loss %.9f\n", what, result.loss)
    return result.loss
end

Context() do context    # a GPU if there is one, else the host
    body = make(context, classes)
    report("body", train!(body, 40))
    save(body, "body.safetensors")
    # [fine tuning]
    network = make(context, 2)    # with a new head
    load_arrays!(network, "body.safetensors", ["first.weights", "first.bias"])
    set_value!(network, :first, :frozen, true)
    report("head", train!(network, 20))
    set_value!(network, :first, :frozen, false)    # then all of it, the body slowly
    set_value!(network, :first, :learning_rate_factor, 0.1)
    report("both", train!(network, 20))
    # [fine tuning]
    # [best]
    best, file, worse = Inf, UInt8[], 0
    while worse < 2    # until two epochs in a row were no better
        train!(network)
        loss = report("epoch", evaluate(network))
        worse = loss < best ? 0 : worse + 1
        if worse == 0
            best, file = loss, save_to_memory(network)
        end
    end
    load_from_memory!(network, file)
    # [best]
    report("best", evaluate(network))
end
