# Handles are closed once, by hand, by `do`, by the collector or at exit; in any order; and nothing is left.
#
# SPDX-License-Identifier: MIT

# One of each kind, and arrays that look at memory.
function make_some(context, n)
    made = Any[]
    for i in 1:n
        layer = Layer(context, 3, 2)
        x, spikes = sequence_buffer(layer), spike_buffer(layer)
        graph = record(g -> forward!(g, layer; x=x, spikes=spikes), context)
        launch!(graph)
        hostarray(x)[1] = i
        push!(made, layer, x, spikes, graph)
    end
    return made
end

# In functions of their own, so that nothing on the stack refers to what they made.
@noinline function half_closed(before)
    context = Context(backend=:host)
    made = make_some(context, 250)
    @test length(made) == 1000 && live_handles() == before + 1001
    # Half by hand, in an order that has nothing to do with how they were made.
    order = sortperm([hash(i) for i in 1:1000])
    foreach(i -> close(made[i]), order[1:500])
    @test live_handles() == before + 501
    close(context)                                              # before its children
    return nothing
end

@testset "a thousand handles, half of them closed" begin
    collect_all()
    before = live_handles()
    half_closed(before)
    collect_all()
    @test live_handles() == before
    @test reclaim() == 0
end

@testset "the collector while calls run" begin
    Context(backend=:host) do context
        layer = Layer(context, 8, 4)
        x = sequence_buffer(layer)
        graph = record(g -> forward!(g, layer; x=x), context)
        for i in 1:300
            make_some(context, 2)
            i % 20 == 0 && GC.gc(false)
            # An error's text survives finalizers that run before it is read.
            @test failure(() -> (make_some(context, 1); GC.gc(false); layer[:nope])).rule == "SYN-PARAMETER-NAME"
            @test wait(graph, launch!(graph))
        end
    end
    collect_all()
    @test reclaim() == 0
end

@noinline function outliving_its_parts()
    context = Context(backend=:host)
    make() = (layer = Layer(context, 4, 2; tau=1.0); spikes = spike_buffer(layer; dtype=:f32);
              (record(g -> forward!(g, layer; x=Buffer(context, ones(Float32, 4, 2)), spikes=spikes), context), spikes))
    graph, spikes = make()
    collect_all()
    @test wait(graph, launch!(graph)) && all(==(1), Array(spikes))
    # Parents and parts closed first: the graph keeps what it needs.
    foreach(close, (context, graph.layers[1], spikes))
    @test wait(graph, launch!(graph))
    return nothing
end

@testset "what a graph uses lives" begin
    before = live_handles()
    outliving_its_parts()
    collect_all()
    @test live_handles() == before
    @test reclaim() == 0
end

@testset "do" begin
    kept = Context(backend=:host) do context
        @test isopen(context)
        Layer(context, 2, 2) do layer
            Buffer{Float32}(context, 2, 2) do x
                Buffer(context, ones(Float32, 2, 2)) do y
                    forward!(layer; x=x)
                    @test Array(y) == ones(2, 2)
                end
            end
        end
        context
    end
    @test !isopen(kept)
end

@testset "exit with live handles" begin
    output, good = run_julia("-e", """
        using Synfire
        const context = Context(backend=:host)
        const layer = Layer(context, 64, 8)
        const x = sequence_buffer(layer)
        const graph = record(g -> forward!(g, layer; x=x), context)
        launch!(graph)
        const look = hostarray(x)
        atexit(() -> (launch!(graph); look[1] = 1; println("still here: ", live_handles())))
        """)
    @test good
    @test output == "still here: 4\n"
end
