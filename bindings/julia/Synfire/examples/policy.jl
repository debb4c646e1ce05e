# policy.jl - a policy gradient: sixteen carts on a line learn to come to rest in the middle. The loss is the program's
# own. It prints what docs/examples/policy.c prints.
#
# SPDX-License-Identifier: MIT
using Printf, Synfire

const carts, ticks, episodes = 16, 24, 300

# Numbers from 0 to 1, the same in every language.
function drawn!(state)
    state[] = state[] * 0x0019660d + 0x3c6ef35f
    return (state[] >> 8) / 16777216.0
end

# The probability of a push to the right, and its slope.
function right(z)
    size = 1 + abs(Float64(z))
    return 0.5 + 0.5 * (Float64(z) / size), 0.5 / (size * size)
end

replay!(graph) = wait(graph, launch!(graph))

function learn(network)
    forward, backward = Graph(network, :forward), Graph(network, :backward)
    input, output = hostarray(Buffer(network, :input)), hostarray(Buffer(network, :output))
    gradient = hostarray(Buffer(network, "push.gradient"))
    state, total, baseline = Ref(UInt32(1)), 0.0, zeros(ticks)
    look(frame) = (input[:] = frame; replay!(forward); right.(vec(output)))
    for episode in 1:episodes
        x, v = zeros(carts), zeros(carts)
        for i in 1:carts
            x[i] = 2 * drawn!(state) - 1
            v[i] = drawn!(state) - 0.5
        end
        frames, pushes, rewards = [], [], []
        for t in 1:ticks
            push!(frames, Float32[isodd(k) ? x[(k+1)÷2] : v[k÷2] for k in 1:2carts])
            push!(pushes, [drawn!(state) < p for (p, _) in look(frames[t])])
            push!(rewards, zeros(carts))
            for i in 1:carts
                v[i] = 0.95 * v[i] + (pushes[t][i] ? 0.15 : -0.15)
                x[i] += 0.2 * v[i]
                rewards[t][i] = -(x[i] * x[i])
                total += rewards[t][i]
            end
        end
        following = zeros(carts)    # the reward of a push is all that follows it
        for t in ticks:-1:1
            mean = 0.0
            for i in 1:carts
                following[i] = rewards[t][i] + 0.8 * following[i]
                mean += following[i] / carts
            end
            baseline[t] = episode == 1 ? mean : 0.9 * baseline[t] + 0.1 * mean
            for (i, (p, slope)) in enumerate(look(frames[t]))
                of_push = pushes[t][i] ? slope / p : -slope / (1 - p)
                gradient[i] = Float32(-(following[i] - baseline[t]) * of_push / carts)
            end
            replay!(backward)
        end
        if episode % 50 == 0
            @printf("episodes to %d: reward %.9f\n", episode, total / (50 * ticks * carts))
            total = 0.0
        end
    end
end

Context() do context    # a GPU if there is one, else the host
    network = Network(context; steps=8, batch=carts, own_loss=:starts)
    add_stage!(network, :input, :cart; kind=:values, n_features=2, n_steps=1)
    add_synapse!(network, :first, 32)
    set_value!(network, :first, :gain, 3)
    add_neurons!(network, :hidden, :lif)
    add_synapse!(network, :second, 1)
    add_neurons!(network, :potential, :li)
    add_readout!(network, :push, :mean)
    add_optimizer!(network, :adam, :adam, 0.003)
    build!(network)
    learn(network)
end
