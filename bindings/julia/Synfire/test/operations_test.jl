# The methods with keywords: every operation has them, they do what the short forms do, and they borrow arrays.
#
# SPDX-License-Identifier: MIT
const replayed(graph) = wait(graph, launch!(graph))
documented_methods(f) = keys(Base.Docs.meta(Synfire)[Base.Docs.Binding(parentmodule(f), nameof(f))].docs)

@testset "every operation has its methods, documented" begin
    recordable = [string(name) for name in fieldnames(Synfire.LibSynfire.FunctionTable)
                  if startswith(string(name), "synfire_graph_record_") && name !== :synfire_graph_record_native]
    @test length(recordable) >= 14
    for c in recordable
        short = replace(c, "synfire_graph_record_" => "")
        name = replace(short, r"^(synapse|optimizer)_" => "")    # an operation of an object is called without its name
        f = short == "copy" ? copyto! : short == "fill" ? fill! : getfield(Synfire, Symbol(name, "!"))
        @test any(Tuple{Graph,T...} in documented_methods(f) for T in ((), (Layer,), (Synapse,), (Optimizer,)))
        for (owner, now) in ((Context, "synfire_$short"), (Layer, "synfire_layer_$short"))
            startswith(short, "synapse_") && (owner = Synapse)
            startswith(short, "optimizer_") && (owner = Optimizer)
            # An immediate snapshot is an array of the program's, not an operation.
            hasfield(Synfire.LibSynfire.FunctionTable, Symbol(now)) && !(short in ("snapshot", "restore")) || continue
            @test hasmethod(f, Tuple{owner}) && Tuple{owner} in documented_methods(f)
        end
    end
end

@noinline function recorded_with_arrays(context)
    layer = Layer(context; steps=2, neurons=3, batch=2)
    out, total = Buffer{Float32}(context, 3, 2), Buffer{UInt64}(context, 1)
    graph = record(context) do graph
        write_rows!(graph, layer; buffer=Float32[1 4; 2 5; 3 6])
        read_rows!(graph, layer; buffer=out)
        scale_add!(graph; source=fill(1.0f0, 3, 2), destination=out, scale=2, keep=1)
        count_spikes!(graph; spikes=ones(UInt8, 3, 2, 2), counts=total, kind=:total, steps=2, neurons=3, batch=2)
    end
    return graph, layer, out, total
end

Context(backend=:host) do context
    @testset "a graph keeps the arrays that it borrows" begin
        graph, layer, out, total = recorded_with_arrays(context)
        for _ in 1:3
            collect_all()
            [rand(Float32, 3, 2) for _ in 1:1000]
            @test replayed(graph) && Array(out) == [3 6; 4 7; 5 8] && Array(total) == [12]
            reset_state!(layer)
        end
    end

    @testset "branches are combined" begin
        a, b, sum = Float32[1 2; 3 4], Float32[10 20; 30 40], zeros(Float32, 2, 2)
        combine!(context; sources=(a, b), destination=sum, steps=1, neurons=2, batch=2)
        @test sum == a + b
        # A spike beside counts to 4, which 9 exceeds.
        spikes, counts, all = UInt8[0, 1, 7], UInt8[9, 2, 0], zeros(UInt8, 3)
        combine!(context; sources=(spikes, counts), bounds=(0, 4), destination=all, steps=1, neurons=3)
        @test all == [4, 3, 1]
        combine!(context; kind=:iand, sources=(spikes, counts), destination=all, steps=1, neurons=3)
        @test all == [0, 0, 1]
        part, mean = zeros(Float32, 2), zeros(Float32, 1)
        combine_backward!(context; kind=:concatenate, channels=(1, 2), source=2, grad_destination=Float32[10, 20, 30],
                          grad_source=part, steps=1, neurons=3)
        @test part == [20, 30]
        group_mean!(context; source=part, destination=mean, steps=1, groups=1, group_size=2)
        @test mean == [25]
        group_mean_backward!(context; grad_destination=mean, grad_source=part, accumulate=true, steps=1, groups=1,
                             group_size=2)
        @test part == [32.5, 42.5]
        alone() = combine!(context; kind=:iand, sources=(spikes,), destination=all, steps=1, neurons=3)
        @test failure(alone).rule == "SYN-COMBINE-COUNT"
    end

    @testset "the same as the short forms" begin
        layer, twin = (Layer(context; steps=4, neurons=3, batch=2, tau=2.0) for _ in 1:2)
        values = rand(Float32, 3, 1)
        write_rows!(layer, Buffer(context, values), :v; rows=2)
        @test write_rows!(twin; buffer=values, name="v", rows=2:2) === twin
        @test state(layer) == state(twin) && any(!iszero, state(twin))
        read = zeros(Float32, 3, 1)
        @test read_rows!(twin; buffer=read, rows=2) === twin && read == values
        copy_rows!(layer; source=twin, rows=2, to=1)
        copy_rows!(twin, twin; rows=2, to=1)
        @test state(layer) == state(twin)
        reset_rows!(layer; rows=1, mask=Buffer(context, UInt8[1, 0]))
        @test state(layer)[:, 1] == zeros(3)
        restore!(layer, snapshot(twin))
        kept = zeros(UInt8, length(snapshot(layer)))
        keeping = record(g -> snapshot!(g, layer; buffer=kept), context)
        @test replayed(keeping) && any(!iszero, kept)
        reset_state!(layer)
        @test replayed(record(g -> restore!(g, layer; buffer=kept), context)) && state(layer) == state(twin)
        spikes, counts = rand(UInt8.(0:1), 3, 2, 4), [Buffer{UInt64}(context, 3, 2) for _ in 1:2]
        shape = (steps=4, neurons=3, batch=2)
        count_spikes!(counts[1], spikes; shape...)
        @test count_spikes!(context; spikes=spikes, counts=counts[2], shape...) === context
        @test Array(counts[1]) == Array(counts[2]) == sum(Int.(spikes); dims=3)[:, :, 1]
        # Everything about it is an array: only the context with keywords can do that.
        packed, drawn = zeros(UInt32, 1, 2, 4), zeros(UInt8, 3, 2, 4)
        convert_spikes!(context; source=spikes, destination=packed, shape...)
        @test [isspike(packed, n, t, b) for n in 1:3, b in 1:2, t in 1:4] == spikes
        encode_bernoulli!(context; rates=ones(Float32, 3, 2), spikes=drawn, shape...)
        @test all(isone, drawn)
        sums = Float32[1, 2, 3]
        scale_add!(context; source=Float32[1, 1, 1], destination=sums, scale=2, keep=10)
        @test sums == [12, 22, 32]
    end

    @testset "copies, fills and updates" begin
        layer = Layer(context; steps=1, neurons=3, tau=[5.0, 6.0, 7.0])
        from, to = Buffer(context, Float32[1, 2, 3, 4]), Buffer{Float32}(context, 4)
        graph = record(context) do graph
            fill!(graph; buffer=to, value=9)
            copyto!(graph; source=from, destination=to, source_offset=4, destination_offset=8, bytes=8)
            update_parameter!(graph, layer; name=:tau, gradient=Float32[1, -1, 0], learning_rate=0.5, lower=4,
                              upper=6.75)
        end
        @test replayed(graph) && Array(to) == [9, 9, 2, 3] && layer[:tau] == [4.5, 6.5, 6.75]
        bounded = record(context) do graph
            update_parameter!(graph, layer; name="tau", gradient=Float32[9, -9, 0], learning_rate=1, lower=4)
        end
        @test replayed(bounded) && layer[:tau] == [4, 15.5, 6.75]
    end

    @testset "mistakes" begin
        layer = Layer(context; steps=4, neurons=3)
        message(f) = try f(); "nothing was thrown" catch problem; sprint(showerror, problem) end
        given = (spikes=zeros(UInt8, 3, 4), counts=Buffer{UInt64}(context, 3), steps=4, neurons=3)
        @test occursin("ArgumentError: keyword spike (did you mean spikes?); allowed: spikes, counts, kind, steps, neurons, batch",
                       message(() -> count_spikes!(context; spike=1, given...)))
        @test_throws UndefKeywordError count_spikes!(context; spikes=given.spikes, steps=4, neurons=3)
        @test_throws UndefKeywordError forward!(layer)
        @test_throws ArgumentError count_spikes!(context; given..., kind=:most)
        @test_throws ArgumentError read_rows!(layer; buffer=given.counts, rows=0)
        @test_throws ArgumentError copy_rows!(layer; source=layer, to=0)
        @test_throws TypeError copy_rows!(layer; source=given.counts)
        @test_throws ArgumentError forward!(layer; x=layer)
        @test_throws ArgumentError backward!(layer; of=-1, grad_x_seq=zeros(Float32, 3, 4))
        @test_throws InexactError copyto!(Graph(context); source=given.counts, destination=given.counts, bytes=-8)
        @test_throws UndefKeywordError forward!(layer; x=nothing)
        without = merge(given, (counts=nothing,))
        @test failure(() -> count_spikes!(context; without...)).status == Synfire.LibSynfire.SYNFIRE_ERROR_INVALID_HANDLE
    end
end

@testset "arrays of synapses and optimisers, and calls on them" begin
    context = Context(backend=:host)
    s = Synapse(context; inputs=4, outputs=3, bias=true, seed=7)
    w = zeros(Float32, 4, 3); read!(s, :weight, w)
    write(s, :weight, w .* 2); v = similar(w); read!(s, :weight, v); @test v == 2w
    x = ones(UInt8, 4, 2, 1); y = zeros(Float32, 3, 2, 1)
    forward!(s; input=x, output=y, steps=1, batch=2)
    b = zeros(Float32, 3); read!(s, :bias, b)
    @test y[:, 1, 1] ≈ vec(sum(v; dims=1)) + b
    backward!(s; grad_output=y, input=x, steps=1, batch=2)
    @test info(s).kind == "dense" && array_info(s, 0).shape == (3, 4, 0, 0)
    @test info(s).gradient_bits == 24 && rounding(s, -1).weights == 12 && rounding(s, 0).has_grid
    one = one_to_one(context; channels=4, scope=:channel, initial_weight=3)
    @test info(one).kind == "one_to_one" && info(one).arrays == 1
    @test query_memory(one_to_one, context; channels=4, scope=:channel).weight_bytes == 16
    scaled = zeros(Float32, 4, 2, 1)
    forward!(one; input=UInt8[1 0; 1 1; 1 0; 1 0], output=scaled, steps=1, batch=2)
    @test vec(scaled) == Float32[3, 3, 3, 3, 0, 3, 0, 0]
    cells = population(context; channels=2, cells=2, lower=-1, upper=1, sigma=1)
    @test info(cells).kind == "population" && info(cells).output_channels == 4
    @test query_memory(population, context; channels=2, cells=2).weight_bytes == 32
    mu = zeros(Float32, 2, 2); read!(cells, :mu, mu)
    @test mu == Float32[-1 -1; 1 1]
    active = zeros(Float32, 4, 1, 1)
    forward!(cells; input=reshape(Float32[-1, 1], 2, 1, 1), output=active, steps=1, batch=1)
    @test active[1] == 1 && active[4] == 1 && active[2] < 0.2
    late = delayed(context; inputs=1, outputs=1, max_delay=2, delays=[1.0])
    @test info(late).kind == "delayed"
    @test query_memory(delayed, context; inputs=1, outputs=1, max_delay=2).weight_bytes == 8
    write(late, :weight, Float32[3])
    arrived = zeros(Float32, 1, 1, 3)
    forward!(late; input=reshape(UInt8[1, 0, 0], 1, 1, 3), output=arrived, steps=3, batch=1)
    @test vec(arrived) == Float32[0, 3, 0]
    convolution = conv2d(context; mask=ones(UInt8, 4), channels=1, output_channels=2, width=4, kernel_width=2,
                         weight_bits=8)
    @test info(convolution).kind == "conv2d" && info(convolution).output_width == 3
    @test query_memory(conv2d, context; channels=1, output_channels=2, width=4, kernel_width=2).weight_bytes == 16
    write(convolution, :weight, Float32[1, 2, 10, 20])
    @test read_integers(convolution, :weight, 4) == [32, 64, 40, 80] && info(convolution).has_mask
    maps = zeros(Float32, 6, 2, 1)
    forward!(convolution; input=UInt8[1 0; 1 1; 1 0; 1 0], output=maps, steps=1, batch=2)
    @test vec(maps) == Float32[3, 30, 3, 30, 3, 30, 2, 20, 1, 10, 0, 0]
    o = Optimizer(context; kind=:adam)
    add_weights!(o, s, 1, 1)
    add_array!(o, one, :weight, 1, 0)
    step!(o)
    n = UInt64[0]; read!(o, nothing, :step_count, n); @test n[1] == 1
    m = zeros(Float32, 4, 3); read!(o, 0, :moment1, m); write(o, 0, :moment1, m)
end

# Two neurons that wake each other: a spike goes back and forth, also from one call to the next.
@testset "a layer that reads its own spikes" begin
    context = Context(backend=:host)
    back = Synapse(context; inputs=2, outputs=2, no_self_connections=true)
    write(back, :weight, ones(Float32, 2, 2))
    @test read!(back, :weight, zeros(Float32, 2, 2)) == [0 1; 1 0]
    layer = Layer(context; steps=3, neurons=2, model=:if, history_steps=1)
    x, spikes, grad = Float32[1 0 0; 0 0 0], zeros(Float32, 2, 3), ones(Float32, 2, 3)
    forward!(layer; x=x, recurrent_synapse=back, recurrent_delay=1, spikes=spikes)
    @test spikes == [1 0 1; 0 1 0]
    backward!(layer; grad_spike_seq=grad)
    gradient = read!(back, :weight_gradient, zeros(Float32, 2, 2))
    @test gradient[1, 1] == gradient[2, 2] == 0 && gradient[1, 2] > 0 && gradient[2, 1] > 0
    fill!(x, 0)
    forward!(layer; x=x, recurrent_synapse=back, recurrent_delay=1, spikes=spikes)
    @test spikes == [0 1 0; 1 0 1]
end

@testset "a synapse in place of X" begin
    context = Context(backend=:host)
    synapse, layer = Synapse(context; inputs=4, outputs=3, gain=3), Layer(context; steps=2, neurons=3)
    input, x, rest = UInt8[1 0; 0 1; 1 1; 1 0], zeros(Float32, 3, 2), zeros(Float32, 3)
    spikes, grad, grad_x, grad_input = zeros(Float32, 3, 2), ones(Float32, 3, 2), zeros(Float32, 3, 2), zeros(Float32, 4, 2)
    function results()    # spikes, dL/dW and dL/d(input), which are then cleared
        gradient = read!(synapse, :weight_gradient, zeros(Float32, 4, 3))
        all = (copy(spikes), gradient, copy(grad_input))
        write(synapse, :weight_gradient, fill(-1.0f0, 4, 3))
        fill!(spikes, -1); fill!(grad_input, -1)
        return all
    end
    forward!(synapse; input=input, output=x, steps=2)
    forward!(layer; x=x, spikes=spikes, v_init=rest)
    backward!(layer; grad_spike_seq=grad, grad_x_seq=grad_x)
    backward!(synapse; grad_output=grad_x, input=input, grad_input=grad_input, steps=2)
    apart = results()
    @test any(!iszero, apart[2]) && any(!iszero, apart[3])
    forward!(layer; synapse=synapse, synapse_input=input, spikes=spikes, v_init=rest)
    backward!(layer; grad_spike_seq=grad, grad_synapse_input=grad_input)
    @test results() == apart
    graph = record(context) do graph
        forward!(graph, layer; synapse=synapse, synapse_input=input, spikes=spikes, v_init=rest)
        backward!(graph, layer; grad_spike_seq=grad, grad_synapse_input=grad_input)
    end
    @test replayed(graph) && results() == apart
    @test_throws UndefKeywordError(:x) forward!(layer; spikes=spikes)
    @test_throws UndefKeywordError(:synapse_input) forward!(layer; synapse=synapse)
    @test_throws SynfireError forward!(layer; x=x, synapse=synapse, synapse_input=input)
    @test_throws UndefKeywordError(:labels) loss!(context; source=x, classes=3, loss=rest)
    @test_throws UndefKeywordError(:classes) loss!(context; source=x, labels=UInt32[1], loss=rest)
end
