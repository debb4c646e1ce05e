# pictures.jl - convolutions tell four shapes apart. It prints what docs/examples/pictures.c prints.
#
# SPDX-License-Identifier: MIT
using Printf, Synfire

mixed(k) = Int(((UInt32(k) + 0x00000001) * 0x9e3779b1) >> 16)

# A bar, a column, a frame or a cross of 7 x 7 pixels, and noise.
function pixel(i)
    row = i ÷ 144
    y, x = i ÷ 12 % 12 - mixed(row) % 6, i % 12 - mixed(3row) % 6
    drawn = (y == 3, x == 3, y % 6 == 0 || x % 6 == 0, x == y || x + y == 6)[row % 4 + 1]
    Float32((0 <= x < 7 && 0 <= y < 7 && drawn ? 160 : 0) + mixed(i) % 64) / 256
end
pictures(first) = Float32[pixel(144r + p) for p in 0:143, r in first:first+255]

report(what, result) = @printf("%s: loss %.9f, accuracy %.4f\n", what, result.loss, accuracy(result))

Context() do context    # a GPU if there is one, else the host
    network = Network(context; steps=10, batch=32)
    add_stage!(network, :input, :in; kind=:rates, height=12, width=12, channels=1)
    for i in 1:2
        i == 2 && add_stage!(network, :pool, :largest; kind=:max, window=2)
        add_stage!(network, :conv2d, "conv$i"; output_channels=12, kernel=3)
        add_stage!(network, :normalization, "norm$i")
        add_neurons!(network, "lif$i", :lif)
    end
    add_synapse!(network, "to-shapes", 4)
    add_neurons!(network, :v, :li)
    add_readout!(network, :scores, :mean)
    add_loss!(network, :loss, :cross_entropy)
    add_optimizer!(network, :adam, :adam, 0.01)
    build!(network)
    set_data!(network, :training, pictures(0), collect(0:255) .% 4)
    set_data!(network, :evaluation, pictures(256), collect(0:255) .% 4)
    for _ in 1:5
        report("train", train!(network, 24))
    end
    report("test", evaluate(network))
end
