# classifier.jl - a classifier of two layers, trained by operations that are recorded one by one.
#
# Three classes of 40 firing rates each, 30 samples in a batch. In every replay the rates become new spikes; a synapse
# and LIF neurons make 50 spike trains of them, another synapse and three leaky integrators the scores of the classes,
# whose mean over time is the prediction. The rest of the step is the cross-entropy, all gradients, and Adam. The
# program only launches, and prints the loss and the number of correct predictions.
#
# It prints what docs/examples/classifier.c prints: those numbers, then the bits of the weights of the second synapse.
#
# SPDX-License-Identifier: MIT
using Synfire

const inputs, hidden_neurons, classes, steps, batch, epochs = 40, 50, 3, 20, 30, 40

# Each class has a rate for each input, from 0 to 0.5: Knuth's 64-bit linear congruential generator (MMIX).
function rates_of_classes()
    seed, rates = UInt64(1), zeros(Float32, inputs, classes)
    for i in eachindex(rates)
        seed = seed * 0x5851f42d4c957f2d + 0x14057b7ef767814f
        rates[i] = 0.5f0 * Float32(seed >> 40) / 16777216.0f0
    end
    return rates
end

bits(number::Float32) = string(reinterpret(UInt32, number); base=16, pad=8)

function main()
    Context(backend=:host) do context
        first = Synapse(context; inputs=inputs, outputs=hidden_neurons, bias=true, gain=2, seed=1)
        second = Synapse(context; inputs=hidden_neurons, outputs=classes, bias=true, gain=2, seed=2)
        hidden = Layer(context; steps=steps, neurons=hidden_neurons, batch=batch)
        readout = Layer(context; steps=steps, neurons=classes, batch=batch, model=:li)
        adam = Optimizer(context; kind=:adam, learning_rate=0.02)
        for synapse in (first, second)
            add_weights!(adam, synapse, 1, 1)
            add_bias!(adam, synapse, 1, 0)
        end

        of_sample = [mod1(b, classes) for b in 1:batch]
        rates, labels = rates_of_classes()[:, of_sample], Buffer(context, UInt32.(of_sample .- 1); dtype=:u32)
        samples = Buffer{UInt32}(context, cld(inputs, 32), batch, steps)
        spikes, grad_spikes = spike_buffer(hidden), sequence_buffer(hidden)
        (v, grad_v), (scores, grad_scores) = (ntuple(_ -> make(readout), 2) for make in (sequence_buffer, state_buffer))
        rest, readout_rest = state_buffer(hidden), state_buffer(readout)    # 0: every replay starts at rest
        loss, correct = Buffer{Float32}(context, 1), Buffer{UInt32}(context, 1; dtype=:u32)

        shape = (steps=steps, neurons=classes, batch=batch)
        step = record(context) do step
            encode_bernoulli!(step; rates=rates, spikes=samples, steps=steps, neurons=inputs, batch=batch)
            forward!(step, hidden; synapse=first, synapse_input=samples, spikes=spikes, v_init=rest)
            forward!(step, readout; synapse=second, synapse_input=spikes, v_init=readout_rest, v_seq=v)
            reduce!(step; source=v, destination=scores, reduction=:mean, shape...)
            loss!(step; source=scores, labels=labels, classes=classes, batch=batch, loss=loss, correct=correct,
                  gradient=grad_scores)
            reduce_backward!(step; grad_destination=grad_scores, grad_source=grad_v, reduction=:mean, shape...)
            backward!(step, readout; grad_v_seq=grad_v, grad_synapse_input=grad_spikes)
            backward!(step, hidden; grad_spike_seq=grad_spikes)
            step!(step, adam)
        end

        for epoch in 0:epochs-1
            wait(step, launch!(step))
            println(epoch, " ", bits(hostarray(loss)[1]), " ", hostarray(correct)[1])
        end
        foreach(weight -> println(bits(weight)), read!(second, :weight, zeros(Float32, hidden_neurons, classes)))
    end
end

main()
