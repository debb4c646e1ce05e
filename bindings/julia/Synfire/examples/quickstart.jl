# quickstart.jl - the shortest complete program: 128 leaky integrate-and-fire neurons, 16 steps a replay.
#
# It prints what docs/examples/quickstart.c prints.
#
# SPDX-License-Identifier: MIT
using Synfire

# Stands for a microphone, a camera, a joint: every neuron gets a constant input, from 0 to twice the threshold.
read_sensor!(x) = x .= 2.0f0 .* (0:127) ./ 128

# Stands for a motor, a screen: counts spikes. 32 neurons a word.
act(words) = sum(count_ones, words)

function main(frames)
    # [quickstart]
    context = Context()                                   # a GPU if one is usable, else the host
    lif = Layer(context; steps=16, neurons=128, tau=20.0) # tau in steps: one value, or one per neuron
    x = sequence_buffer(lif; memory=:pinned)              # Float32 [128, 16]
    spikes = spike_buffer(lif; memory=:pinned)            # UInt32 [4, 16]
    step = record(context) do graph                       # the state continues from replay to replay
        forward!(graph, lif; x=x, spikes=spikes)          # everything slow happens here
    end

    words, previous, seen, late_frames = hostarray(spikes), zeros(UInt32, 4, 16), 0, 0
    for frame in 1:frames
        read_sensor!(hostarray(x))
        ticket = launch!(step)                            # one replay of the whole step; then wait 1 ms at most
        late = !wait(step, ticket; timeout=1e-3)
        seen += act(late ? previous : words)              # a late frame is your decision
        late && wait(step, ticket)                        # before buffers are used again
        copyto!(previous, words)
        late_frames += late
    end
    # [quickstart]
    println("$frames frames of 16 steps: $seen spikes, $late_frames late frames")
end

main(1000)
