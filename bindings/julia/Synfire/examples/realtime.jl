# realtime.jl - a tick each millisecond that never blocks.
#
# Every tick looks whether the replay of the tick before is done. If so, it acts on its spikes and launches the next
# one; if not, it acts on nothing and lets the replay go on: it never waits. How long each tick took is reported as
# percentiles.
#
# Its first line is that of bindings/programs/realtime.c; the times are this program's own. A tick allocates nothing, so
# the garbage collector has no reason to run.
#
#   julia realtime.jl [TICKS]
#
# SPDX-License-Identifier: MIT
using Synfire

# Input number k of neuron n: a wave that travels over the neurons.
function read_sensor!(x, k)
    for t in 0:15, n in 0:127
        @inbounds x[n + 1, t + 1] = Float32((16k + t + 3n) % 96) / 32.0f0
    end
end

function sleep_until(moment)
    while (left = moment - Int(time_ns())) > 0
        Libc.systemsleep(min(left, 1_000_000) / 1e9)
    end
end

# One tick: the ticket of the replay in flight, the spikes read, and whether it was late.
function tick(step, x, words, ticket)
    ticket > 0 && !isdone(step, ticket) && return (ticket, 0, true)
    spikes = ticket > 0 ? sum(count_ones, words) : 0
    read_sensor!(x, ticket)
    return (launch!(step), spikes, false)
end

function run_ticks(step, x, words, taken)
    ticket, spikes, late = UInt64(0), 0, 0
    start = Int(time_ns())
    for i in eachindex(taken)
        sleep_until(start + (i - 1) * 1_000_000)
        begun = time_ns()
        ticket, read, was_late = tick(step, x, words, ticket)
        spikes += read
        late += was_late
        taken[i] = Int(time_ns() - begun)
    end
    return ticket, spikes, late
end

function main(ticks)
    context = Context(backend=:host)
    layer = Layer(context; steps=16, neurons=128, tau=4.0)
    x, spikes = sequence_buffer(layer; memory=:pinned), spike_buffer(layer; memory=:pinned)
    step = record(graph -> forward!(graph, layer; x=x, spikes=spikes, tape=:none), context)

    # Compiles every path before the clock runs, on a graph of its own.
    Layer(context; steps=16, neurons=128) do other
        record(graph -> forward!(graph, other; x=x, spikes=spikes, tape=:none), context) |>
            warm_up -> run_ticks(warm_up, hostarray(x), hostarray(spikes), zeros(Int, 2))
    end

    taken = zeros(Int, ticks)
    ticket, read, late = run_ticks(step, hostarray(x), hostarray(spikes), taken)
    sort!(taken)
    percentile(p) = round(taken[((ticks - 1) * p) ÷ 100 + 1] / 1e3; digits=1)
    println("$ticket replays, $read spikes read")
    println("tick: p50 $(percentile(50)) us, p99 $(percentile(99)) us, max $(percentile(100)) us; $late late")
end

main(isempty(ARGS) ? 1000 : parse(Int, ARGS[1]))
