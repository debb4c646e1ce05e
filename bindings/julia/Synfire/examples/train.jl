# train.jl - thresholds that learn how often to fire.
#
# 128 LIF neurons hear the same noise in every replay. A teacher with a threshold for each neuron says how many spikes
# are wanted; the student starts with all thresholds 1 and follows the gradient of L = sum over neurons of (count -
# wanted)^2. One graph holds forward and backward. The gradient that it reads is that of the replay before.
#
# It prints what bindings/programs/train.c prints: the loss of every epoch, then the bits of the thresholds.
#
# SPDX-License-Identifier: MIT
using Synfire

const neurons, steps, epochs, learning_rate = 128, 64, 60, 0.0002

# Noise in [0, 3): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX).
function write_noise!(x)
    seed = UInt64(1)
    for i in eachindex(x)
        seed = seed * 0x5851f42d4c957f2d + 0x14057b7ef767814f
        x[i] = 3.0f0 * Float32(seed >> 40) / 16777216.0f0
    end
end

count_spikes(words) = [sum(isspike(words, n, t) for t in 1:steps) for n in 1:neurons]

function main()
    Context(backend=:host) do context
        layer = Layer(context, neurons, steps; tau=4.0)
        x, grad_spikes = sequence_buffer(layer; memory=:pinned), sequence_buffer(layer; memory=:pinned)
        spikes = spike_buffer(layer; memory=:pinned)
        rest = state_buffer(layer)
        grad_threshold = state_buffer(layer; memory=:pinned)
        step = record(context) do graph
            forward!(graph, layer; x=x, spikes=spikes, v_init=rest)
            backward!(graph, layer; grad_spike_seq=grad_spikes, parameter_gradients=(v_threshold=grad_threshold,))
        end
        replay() = wait(step, launch!(step))

        write_noise!(hostarray(x))
        layer[:v_threshold] = 0.6 .+ 0.8 .* (0:neurons-1) ./ neurons      # the teacher's
        replay()
        wanted = count_spikes(hostarray(spikes))

        threshold = ones(neurons)
        for epoch in 0:epochs-1
            layer[:v_threshold] = threshold
            replay()
            epoch > 0 && (threshold .-= learning_rate .* Float64.(hostarray(grad_threshold)))
            errors = count_spikes(hostarray(spikes)) .- wanted
            hostarray(grad_spikes) .= 2.0f0 .* errors
            println(epoch, " ", sum(abs2, errors))
        end
        foreach(value -> println(string(reinterpret(UInt64, value); base=16, pad=16)), threshold)
    end
end

main()
