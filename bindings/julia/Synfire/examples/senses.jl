# senses.jl - two inputs, a block with a shortcut, and two heads. It prints what docs/examples/senses.c prints.
#
# SPDX-License-Identifier: MIT
using Printf, Synfire

const rows = 0:95

# Rates. Every n-th input is more active; which ones depends on the class of the row.
base(input, n, class) = input % n == class ? 48 : 12
noise(i) = (0x9e3779b1 * UInt32(i)) >> 28
rates(inputs, n, class) = Float32[(base(k, n, class(r)) + noise(r * inputs + k)) / 128 for k in 0:inputs-1, r in rows]

what(row) = row % 3
place(row) = row ÷ 3 % 2

Context() do context    # a GPU if there is one, else the host
    network = Network(context; steps=20, batch=32)
    for (input, width, synapse, neurons) in ((:sound, 24, :cochlea, :ear), (:touch, 24, :nerve, :skin))
        add_input!(network, input, :rates, width)
        add_synapse!(network, synapse, 24)
        add_neurons!(network, neurons, :lif)
    end
    add_stage!(network, :concatenate, :both; reads=(:ear, :skin))
    add_synapse!(network, :inner, 48)
    add_neurons!(network, :block, :lif)
    add_stage!(network, :sum, :state; reads=(:block, :both))    # the shortcut goes around the block
    for (head, classes) in (("what", 3), ("where", 2))
        add_stage!(network, :synapse, "to-$head"; reads=:state, n_outputs=classes)
        add_neurons!(network, "$head-v", :li)
        add_readout!(network, head, :mean)
        add_loss!(network, "$head-loss", :cross_entropy)
    end
    add_optimizer!(network, :adam, :adam, 0.01)
    build!(network)
    labels(class) = Buffer(context, UInt32[class(row) for row in rows]; memory=:host, dtype=:u32)
    set_arrays!(network, :training, length(rows), [(stage=:sound, role=:inputs, buffer=rates(24, 3, what)),
                                                   (stage=:touch, role=:inputs, buffer=rates(24, 2, place)),
                                                   (stage="what-loss", role=:labels, buffer=labels(what)),
                                                   (stage="where-loss", role=:labels, buffer=labels(place))])
    for _ in 1:5, of in train_stages!(network, ("what-loss", "where-loss"), 15).losses
        @printf("%s %.9f, %d of 480\n", of.stage, of.loss, of.correct)
    end
end
