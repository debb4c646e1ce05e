# Handles are closed once, by hand, by `do`, by the collector or at exit; in any order; and nothing is left.
#
# SPDX-License-Identifier: MIT

# One of each kind, and arrays that look at memory.
function make_some(context, n)
    made = Any[]
    for i in 1:n
        layer = Layer(context; steps=2, neurons=3)
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
        layer = Layer(context; steps=4, neurons=8)
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
    make() = (layer = Layer(context; steps=2, neurons=4, tau=1.0); spikes = spike_buffer(layer; dtype=:f32);
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

# ---- Borrowed arrays -------------------------------------------------------------------------------------------------

const lent_dims = (40, 20)
lent_values() = Float32[0.05f0 * mod(7i, 41) for i in 1:prod(lent_dims)]

# Everything around X for a backward, and the gradient of a layer that owns its X.
function lending_rig()
    context = Context(backend=:host)
    layer = Layer(context; steps=lent_dims[2], neurons=lent_dims[1])
    grad = Buffer(context, ones(Float32, lent_dims))
    grad_x = sequence_buffer(layer)
    x = sequence_buffer(layer)
    copyto!(x, lent_values())
    forward!(layer; x=x)
    backward!(layer; grad_spike_seq=grad, grad_x_seq=grad_x)
    expected = Array(grad_x)
    forward!(layer; x=x, tape=:none)
    reset_state!(layer)
    fill!(grad_x, -7)
    return layer, grad, grad_x, expected
end

# Each makes an array, runs the layer with it, and returns a weak reference, which tells whether the array is still there.
@noinline function by_call(layer)
    array = reshape(lent_values(), lent_dims)
    forward!(layer; x=array)
    return WeakRef(array)
end
@noinline function by_graph(layer)
    array = reshape(lent_values(), lent_dims)
    graph = record(g -> forward!(g, layer; x=array), layer.context)
    wait(graph, launch!(graph))
    return WeakRef(array)
end
@noinline function by_rebind(layer)
    array = reshape(lent_values(), lent_dims)
    own, borrowed = sequence_buffer(layer; memory=:host), Buffer(layer.context, array)
    graph = record(g -> forward!(g, layer; x=own), layer.context)
    rebind!(graph, own => borrowed)
    wait(graph, launch!(graph))
    rebind!(graph, borrowed => own)
    return WeakRef(array)
end
@noinline function by_closed_buffer(layer)
    array = reshape(lent_values(), lent_dims)
    x = Buffer(layer.context, array)
    forward!(layer; x=x)
    close(x)
    return WeakRef(array)
end

# A test that fails shows its values, and so keeps them.
@noinline is_there(reference::WeakRef) = reference.value !== nothing
@noinline churn() = sum(sum(fill(Float32(i), prod(lent_dims))) for i in 1:2000)

@testset "an array stays for the backward: $run" for run in (by_call, by_graph, by_rebind, by_closed_buffer)
    collect_all()
    layer, grad, grad_x, expected = lending_rig()
    array = run(layer)
    collect_all()
    reclaim()
    collect_all()
    churn()
    @test is_there(array)
    backward!(layer; grad_spike_seq=grad, grad_x_seq=grad_x)
    @test Array(grad_x) == expected
    # A graph of the backward alone keeps it too.
    graph = record(g -> backward!(g, layer; grad_spike_seq=grad, grad_x_seq=grad_x), layer.context)
    collect_all()
    reclaim()
    collect_all()
    churn()
    fill!(grad_x, -7)
    @test wait(graph, launch!(graph)) && Array(grad_x) == expected
    # Nothing keeps it for ever.
    forward!(layer; x=sequence_buffer(layer), tape=:none)
    collect_all()
    reclaim()
    collect_all()
    @test is_there(array)
    close(graph)
    graph = nothing
    collect_all()
    reclaim()
    collect_all()
    @test !is_there(array)
end

@testset "an array whose buffer is refused is not kept" begin
    Context(backend=:host) do context
        reclaim()
        n = length(Synfire.lent)
        @test_throws ArgumentError Buffer(context, ones(Float32, 2, 2); memory=:nowhere)
        @test_throws SynfireError Buffer(context, reinterpret(Float32, view(ones(UInt8, 64), 2:33)))
        @test length(Synfire.lent) == n
    end
end

@testset "arrays are given back while other threads lend" begin
    Context(backend=:host) do context
        Threads.@threads for i in 1:400
            close(Buffer(context, fill(Float32(i), 100)))
        end
    end
    collect_all()
    reclaim()
    @test isempty(Synfire.lent)
end

@testset "do" begin
    kept = Context(backend=:host) do context
        @test isopen(context)
        Layer(context; steps=2, neurons=2) do layer
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
        const layer = Layer(context; steps=8, neurons=64)
        const x = sequence_buffer(layer)
        const graph = record(g -> forward!(g, layer; x=x), context)
        launch!(graph)
        const look = hostarray(x)
        atexit(() -> (launch!(graph); look[1] = 1; println("still here: ", live_handles())))
        """)
    @test good
    @test output == "still here: 4\n"
end
