# train.jl - thresholds that learn when to fire.
#
# A teacher with a threshold for each neuron says at which steps each of them shall fire. One graph holds the whole step:
# forward, dL/dS = 2 S - 2 wanted, backward, and the update of the thresholds. Between replays the program looks at the
# spikes, to print the loss, and lowers the learning rate.
#
# It prints what bindings/programs/train.c prints: the loss of every epoch, then the bits of the thresholds.
#
# SPDX-License-Identifier: MIT
using Synfire

const neurons, steps, epochs = 128, 64, 60

# Noise in [0, 3): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX).
function write_noise!(x)
    seed = UInt64(1)
    for i in eachindex(x)
        seed = seed * 0x5851f42d4c957f2d + 0x14057b7ef767814f
        x[i] = 3.0f0 * Float32(seed >> 40) / 16777216.0f0
    end
end

function main()
    Context(backend=:host) do context
        layer = Layer(context; steps=steps, neurons=neurons, detach_reset=true)
        set_parameters!(layer; tau=4.0, alpha=1.5)
        x, spikes, wanted, grad_spikes = ntuple(_ -> sequence_buffer(layer; memory=:pinned), 4)
        rest, grad_threshold = state_buffer(layer), state_buffer(layer; memory=:pinned)

        write_noise!(hostarray(x))
        layer[:v_threshold] = 0.6 .+ 0.8 .* (0:neurons-1) ./ neurons      # the teacher's
        forward!(layer; x=x, spikes=spikes, v_init=rest)
        copyto!(hostarray(wanted), hostarray(spikes))

        learning_rate = 0.04
        layer[:v_threshold] = ones(neurons)
        step = Graph(context)
        forward!(step, layer; x=x, spikes=spikes, v_init=rest)
        scale_add!(step, grad_spikes, spikes; scale=2, keep=0)
        scale_add!(step, grad_spikes, wanted; scale=-2)
        backward!(step, layer; grad_spike_seq=grad_spikes, parameter_gradients=(v_threshold=grad_threshold,))
        update_parameter!(step, layer, :v_threshold, grad_threshold; learning_rate=learning_rate)
        learn = last_operation(step)
        instantiate!(step)

        for epoch in 0:epochs-1
            wait(step, launch!(step))
            println(epoch, " ", count(hostarray(spikes) .!= hostarray(wanted)))
            learning_rate *= 0.95
            set_value!(step, learn, :learning_rate, learning_rate)
        end
        foreach(value -> println(string(reinterpret(UInt64, value); base=16, pad=16)), layer[:v_threshold])
    end
end

main()
