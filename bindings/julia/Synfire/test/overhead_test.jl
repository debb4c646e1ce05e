# What a replay and a wait cost more than from C, measured side by side: at most 100 ns.
#
# SPDX-License-Identifier: MIT
function replay_ns(graph, n)
    best = Inf
    for _ in 1:20
        begun = time_ns()
        for _ in 1:n
            wait(graph, launch!(graph))
        end
        best = min(best, (time_ns() - begun) / n)
    end
    return best
end

Context(backend=:host, threads=1) do context
    layer = Layer(context; steps=1, neurons=1)
    graph = record(g -> forward!(g, layer; x=sequence_buffer(layer), tape=:none), context)
    replay_ns(graph, 10)
    # A busy machine disturbs single measurements: the best of each side counts, taken in turns.
    julia, c = Inf, Inf
    for _ in 1:5
        julia = min(julia, replay_ns(graph, 20_000))
        c = min(c, parse(Float64, program("bindings-overhead")))
    end
    println("a replay and a wait: $(round(julia; digits=1)) ns from Julia, $c ns from C, " *
            "$(round(julia - c; digits=1)) ns more; $(@allocated replay_ns(graph, 1000)) bytes allocated")
    @test julia - c <= 100
    @test (@allocated replay_ns(graph, 1000)) <= 16                # the result in a box; 20,000 replays
end
