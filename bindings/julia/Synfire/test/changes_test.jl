# Changes between replays: slots, operations that are left out, other buffers, native nodes; and what a graph tells
# about itself.
#
# SPDX-License-Identifier: MIT
const CC = Synfire.LibSynfire
replay(graph) = wait(graph, launch!(graph))

# In functions of their own, so that nothing on the stack refers to what they made.
@noinline function a_shared_slot(context)
    layer = Layer(context; steps=2, neurons=4, model=:if)
    x, spikes = sequence_buffer(layer; memory=:pinned), spike_buffer(layer; memory=:pinned, dtype=:f32)
    graph = record(g -> forward!(g, layer; x=x, spikes=spikes), context; slots=CC.SYNFIRE_SLOTS_SHARED)
    fill!(slot(graph, x), 2)
    tickets = [launch!(graph) for _ in 1:20]  # nobody waits for them
    @test wait(graph, last(tickets))
    @test all(==(1), slot(graph, spikes, last(tickets)))
    @test failure(() -> slot(graph, spikes, tickets[19])).status == CC.SYNFIRE_ERROR_INVALID_ARGUMENT
    foreach(close, (graph, x, spikes, layer))
end

@noinline function slots_of_their_own(context)
    layer = Layer(context; steps=2, neurons=4, model=:if)
    x, spikes = sequence_buffer(layer; memory=:pinned), spike_buffer(layer; memory=:pinned, dtype=:f32)
    graph = record(g -> forward!(g, layer; x=x, spikes=spikes), context; slots=3)
    tickets = UInt64[]
    for round in 1:9
        fill!(slot(graph, x), isodd(round) ? 2 : 0)
        push!(tickets, launch!(graph))
        @test wait(graph, last(tickets))
        for back in 0:min(2, round - 1)
            @test all(==(isodd(round - back) ? 1 : 0), slot(graph, spikes, tickets[round-back]))
        end
    end
    @test size(slot(graph, x)) == (4, 2)
    @test failure(() -> slot(graph, spikes, tickets[5])).status == CC.SYNFIRE_ERROR_INVALID_ARGUMENT
    @test failure(() -> slot(graph, spikes, 1000)).status == CC.SYNFIRE_ERROR_INVALID_ARGUMENT
    @test failure(() -> slot(graph, sequence_buffer(layer; memory=:pinned))).status == CC.SYNFIRE_ERROR_INVALID_ARGUMENT
    @test failure(() -> Graph(context; slots=65)).status == CC.SYNFIRE_ERROR_INVALID_ARGUMENT
    @test_throws ArgumentError Graph(context; slots=-1)
    # The arrays of a slot stay valid after the graph and its buffers were closed.
    seen = slot(graph, spikes, last(tickets))
    foreach(close, (graph, x, spikes, layer))
    GC.gc()
    @test all(==(1), seen)
    @test failure(() -> slot(graph, x)).rule == "JULIA-CLOSED"
    return nothing
end

@noinline function nodes_of_the_program(context)
    layer = Layer(context; steps=2, neurons=4, model=:if)
    before, x = sequence_buffer(layer; memory=:pinned), sequence_buffer(layer; memory=:pinned)
    spikes = spike_buffer(layer; memory=:pinned, dtype=:f32)
    calls, mood = Ref(0), Ref(0)
    graph = record(context) do graph
        native!(graph; reads=(before,), writes=(x,), name="double") do call
            calls[] += 1
            mood[] == 1 && throw(DomainError(1, "no mood for it"))
            mood[] == 2 && [][1]
            @test call.stream == C_NULL && call.slot == 0 && size(call.reads[1]) == (4, 2)
            call.writes[1] .= 2 .* call.reads[1]
        end
        forward!(graph, layer; x=x, spikes=spikes)
    end
    @test calls[] == 0
    for value in (0.6f0, 0.2f0)
        fill!(before, value)
        reset_state!(layer)
        @test replay(graph)
        @test all(==(value > 0.5f0), hostarray(spikes)[:, 1])
    end
    @test calls[] == 2 && occursin("double", dot(graph))
    # An exception comes out of the launch, and the graph lives on.
    mood[] = 1
    @test_throws DomainError launch!(graph)
    mood[] = 2
    @test_throws BoundsError launch!(graph)
    mood[] = 0
    @test replay(graph)
    # Garbage is collected inside a call.
    native!((call) -> GC.gc(), Graph(context))
    @test_throws ArgumentError native!(identity, Graph(context); reads=(zeros(3),))
    @test_throws ArgumentError native!(identity, Graph(context); name="a\0b")
    # A function that was passed lives as long as its graph.
    other = record(g -> native!(call -> (GC.gc(); calls[] = -1), g; writes=(x,)), context)
    GC.gc()
    @test replay(other) && calls[] == -1
    return nothing
end

Context(backend=:host) do context
    @testset "slots" begin
        a_shared_slot(context)
        slots_of_their_own(context)
    end

    @testset "a transient buffer passes numbers on" begin
        between, result = Buffer{Float32}(context, 8; memory=:transient), Buffer{Float32}(context, 8)
        @test_throws ArgumentError hostarray(between)
        @test failure(() -> fill!(between, 1)).status == CC.SYNFIRE_ERROR_INVALID_ARGUMENT
        graph = Graph(context)
        fill!(graph, between, 3)
        filling = last_operation(graph)
        copyto!(graph, result, between)
        instantiate!(graph)
        @test replay(graph) && all(==(3), Array(result))
        set_enabled!(graph, filling, false)
        @test failure(() -> launch!(graph)).status == CC.SYNFIRE_ERROR_WRONG_ORDER
    end

    @testset "an operation is left out" begin
        layer = Layer(context; steps=2, neurons=4, model=:if)
        x, marks = sequence_buffer(layer), sequence_buffer(layer)
        spikes = spike_buffer(layer; dtype=:f32)
        fill!(x, 2)
        graph = Graph(context)
        forward!(graph, layer; x=x, spikes=spikes)
        @test last_operation(graph) == 0
        copyto!(graph, marks, spikes)
        copying = last_operation(graph)
        @test copying == 1
        set_enabled!(graph, copying, false)
        instantiate!(graph)
        @test replay(graph) && all(iszero, Array(marks)) && all(isone, Array(spikes))
        set_enabled!(graph, copying, true)
        @test replay(graph) && all(isone, Array(marks))
        @test failure(() -> set_enabled!(graph, 2, true)).status == CC.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test failure(() -> set_enabled!(graph, -1, true)).status == CC.SYNFIRE_ERROR_INVALID_ARGUMENT
        switch(graph, n) = for i in 1:n
            set_enabled!(graph, copying, isodd(i))
            launch!(graph)
        end
        switch(graph, 2)
        @test (@allocated switch(graph, 1000)) <= 16
    end

    @testset "another buffer takes the place" begin
        layer = Layer(context; steps=2, neurons=4, model=:if)
        x, spikes = Buffer(context, zeros(Float32, 4, 2)), spike_buffer(layer; dtype=:f32)
        graph = record(g -> forward!(g, layer; x=x, spikes=spikes), context)
        @test replay(graph) && all(iszero, Array(spikes))
        rebind!(graph, x => Buffer(context, fill(2.0f0, 4, 2)))
        close(x)
        GC.gc()
        @test replay(graph) && all(isone, Array(spikes))
        short = Buffer{Float32}(context, 3)
        @test failure(() -> rebind!(graph, spikes => short)).status == CC.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test failure(() -> rebind!(graph, short => spikes)).status == CC.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test replay(graph)
    end

    @testset "native nodes" begin
        nodes_of_the_program(context)
    end

    @testset "what a graph tells" begin
        layer = Layer(context; steps=2, neurons=4)
        graph = record(g -> forward!(g, layer; x=sequence_buffer(layer)), context)
        foreach(_ -> replay(graph), 1:100)
        told = statistics(graph)
        @test told.n_replays == told.n_seen == 100 && told.n_late_waits == 0
        @test 0 < told.p50_ns <= told.p99_ns <= told.p999_ns && told.p50_ns <= 1.04 * told.max_ns
        reset_statistics!(graph)
        @test statistics(graph).n_replays == 0
        @test 0 < memory_use(graph).graph_bytes <= memory_use(context).graph_bytes
        @test memory_use().host_bytes >= memory_use(context).host_bytes && memory_use(layer).layer_bytes > 0
        @test startswith(dot(graph), "digraph") && endswith(rstrip(dot(graph)), "}")
    end

    @testset "messages" begin
        heard = Tuple{Symbol,String}[]
        set_log!((level, text) -> push!(heard, (level, text)))
        close(Context(backend=:host, threads=1))
        @test any(level === :choice && startswith(text, "context: host") for (level, text) in heard)
        n_heard = length(heard)
        set_log!((level, text) -> push!(heard, (level, text)); level=:warning)
        close(Context(backend=:host, threads=1))
        reset_log!()
        close(Context(backend=:host, threads=1))
        @test length(heard) == n_heard
        @test_throws ArgumentError set_log!(println; level=:loud)
    end

    GC.gc()
    GC.gc()
    @test reclaim(context) >= 0
end
