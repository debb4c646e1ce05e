# Layers: parameters, state, every dtype, passes now; gradients against an implementation of their formulas in Julia.
#
# SPDX-License-Identifier: MIT

# LIF, hard reset, gradient through the reset attached, sigmoid: the formulas of synfire.h in plain loops. x is [N, T].
function oracle(x, grad_s; tau, threshold=1.0, v_reset=0.0, v_rest=0.0, alpha=4.0)
    N, T = size(x)
    H, S, grad_x, grad_tau = zeros(N, T), zeros(N, T), zeros(N, T), 0.0
    V = zeros(N, T + 1)
    for t in 1:T, n in 1:N
        H[n, t] = V[n, t] + (x[n, t] - (V[n, t] - v_rest)) / tau
        S[n, t] = H[n, t] >= threshold
        V[n, t+1] = S[n, t] == 1 ? v_reset : H[n, t]
    end
    for n in 1:N
        grad_v = 0.0
        for t in T:-1:1
            sigma = 1 / (1 + exp(-alpha * (H[n, t] - threshold)))
            surrogate = alpha * sigma * (1 - sigma)
            grad_h = grad_s[n, t] * surrogate + grad_v * (1 - S[n, t] + (v_reset - H[n, t]) * surrogate)
            grad_x[n, t] = grad_h / tau
            grad_tau -= grad_h * (x[n, t] - (V[n, t] - v_rest)) / tau^2
            grad_v = grad_h * (1 - 1 / tau)
        end
    end
    return S, H, grad_x, grad_tau
end

Context(backend=:host) do context
    @testset "parameters" begin
        layer = Layer(context; steps=4, neurons=6, model=:lif, tau=5, v_threshold=collect(1:6), surrogate=:atan, alpha=3.0)
        @test layer[:tau] === 5.0 && layer["v_threshold"] == 1:6 && layer[:alpha] === 3.0
        layer[:tau] = 2:7
        @test layer[:tau] == 2:7
        layer[:tau] = 3
        @test layer[:tau] === 3.0
        @test keys(layer) == [:tau, :v_rest, :v_threshold, :v_reset, :alpha]
        info = parameters(layer)[1]
        @test info.name === :tau && info.default == 2 && info.minimum == 0 && info.is_open && info.length == 1
        plif = Layer(context; steps=4, neurons=6, model=:plif)
        plif[:tau] = 8.0
        @test plif[:reciprocal_tau] == 0.125 && plif[:tau] == 8.0
        for (model, _) in Synfire.LibSynfire.model_names
            model === :default || @test Layer(context; steps=2, neurons=2, model=model).model === model
        end
        for (surrogate, _) in Synfire.LibSynfire.surrogate_names
            @test isopen(Layer(context; steps=2, neurons=2, surrogate=surrogate))
        end
        @test query_memory(; steps=16, neurons=128).state_bytes == 512
        @test query_memory(; steps=16, neurons=(16, 8)) == query_memory(; steps=16, neurons=128)
    end

    # Against numbers that were worked out in fractions. X of neuron n at step t is (5t + 3n) mod 8, halved.
    @testset "models with a current and an adaptive threshold, rules of firing" begin
        x = Float32[(5t + 3n) % 8 / 2 for n in 0:3, t in 0:5]
        check(fired, states; model, options...) = begin
            layer = Layer(context; steps=6, neurons=4, model, options...)
            @test join(Int.(layer(x))) == fired
            for (name, wanted) in pairs(states)
                @test state(layer, name) == wanted
            end
        end
        check("001010010100101001010010",
              (v=[0.953125, 1.4296875, 0.8125, 0.6953125], a=[0.15625, 0.3125, 0.640625, 0.28125]);
              model=:alif, reset=:soft, tau=2, rho=0.5, beta_a=1)
        check("000000101101101011010110",
              (v=[0.6640625, 0, 0, 0.66015625], current=[1.328125, 2.1796875, 2.40625, 1.3203125]);
              model=:cuba_lif, tau=4, tau_syn=2, gain=2, input_gain=1)
        check("001010010100101001010010",
              (v=[0.703125, 0.9296875, 1.84375, 0.1953125], countdown=[0, 0, 1, 0]);
              model=:lif, reset=:soft_delayed, tau=2)
        # Two channels, each with a threshold of its own. At step 4 a neuron is at its threshold and does not fire.
        check("001010010100001010000001", (v=[0, 2, 0, 0], countdown=[2, 0, 1, 3]);
              model=:if, strict_threshold=true, refractory_steps=2, v_threshold=[1, 2.5])
    end

    @testset "state" begin
        layer = Layer(context; steps=2, neurons=3, model=:izhikevich, batch=2, v_reset=-0.25)
        @test state(layer) == fill(-0.25f0, 3, 2)
        values = rand(Float32, 3, 2)
        @test state(state!(layer, :w, values), :w) == values
        @test state(reset_state!(layer), :w) == zeros(3, 2)
        @test_throws ArgumentError state!(layer, :v, rand(3, 2))
        @test failure(() -> state!(layer, :v, rand(Float32, 7))).status == Synfire.LibSynfire.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test failure(() -> state(layer, :u)).rule != ""
    end

    @testset "a batch in every shape" begin
        x = 3 .* rand(Float32, 4, 6, 5, 7)                     # 24 neurons as 4 x 6, batch of 5, 7 steps
        layer = Layer(context; steps=7, neurons=(4, 6), batch=5)
        spikes = layer(x)
        @test size(spikes) == size(x) && spikes isa Array{Float32,4}
        @test vec(layer(reshape(x, 24, 5, 7))) == vec(spikes) == vec(layer(reshape(x, 120, 7)))
        @test_throws DimensionMismatch layer(rand(Float32, 4, 6, 7, 5))
        @test_throws DimensionMismatch layer(rand(Float32, 23, 5, 7))
        # Rows of the batch do not know of each other.
        one = Layer(context; steps=7, neurons=24)
        for row in 1:5
            @test vec(one(reshape(x[:, :, row, :], 24, 7))) == vec(spikes[:, :, row, :])
        end
        @test layer(Float64.(x)) == spikes && layer(PermutedDimsArray(permutedims(x, (4, 3, 2, 1)), (4, 3, 2, 1))) == spikes
    end

    @testset "spikes in every form" begin
        layer = Layer(context; steps=45, neurons=70, tau=2.5)
        x = Float32.(3 .* rand(70, 45))
        dense = layer(x)
        for dtype in (:bits, :time_bits, :u8, :f32)
            buffer = spike_buffer(layer; dtype=dtype)
            reset_state!(layer)
            forward!(layer; x=x, spikes=buffer, tape=:none)
            words = Array(buffer)
            if dtype === :bits
                @test size(words) == (3, 45) && [isspike(words, n, t) for n in 1:70, t in 1:45] == dense
            elseif dtype === :time_bits
                @test size(words) == (70, 2)
                @test [isodd(words[n, (t - 1) ÷ 32 + 1] >> ((t - 1) % 32)) for n in 1:70, t in 1:45] == dense
            else
                @test words == dense
            end
        end
        batched = Layer(context; steps=5, neurons=40, batch=3, tau=1.0)
        y = rand(Float32, 40, 3, 5) .+ 0.5f0
        words = spike_buffer(batched)
        forward!(batched; x=y, spikes=words)
        @test [isspike(Array(words), n, t, b) for n in 1:40, b in 1:3, t in 1:5] == (y .>= 1)
    end

    @testset "names" begin
        @test model_id("izhikevich") == Synfire.LibSynfire.SYNFIRE_MODEL_IZHIKEVICH
        @test surrogate_id("super_spike") == Synfire.LibSynfire.SYNFIRE_SURROGATE_SUPER_SPIKE
        layer = Layer(context; steps=2, neurons=2, model="eif", surrogate="atan")
        @test layer.model === :eif && keys(layer)[end] === :alpha
        @test failure(() -> Layer(context; steps=2, neurons=2, model="hodgkin_huxley")).rule != ""
        @test failure(() -> surrogate_id("")).rule != ""
        @test_throws ArgumentError model_id("l\0if")
    end

    @testset "conversions and counts" begin
        shape = (neurons=70, steps=40, batch=2)
        layer = Layer(context; steps=40, neurons=70, batch=2)
        x = copyto!(sequence_buffer(layer), 4 .* rand(Float32, 70, 2, 40))
        words, in_time = spike_buffer(layer), spike_buffer(layer; dtype=:time_bits)
        dense = Array{UInt8}(undef, 70, 2, 40)                       # an array of the program's, through and through
        forward!(layer; x=x, spikes=words)
        convert_spikes!(dense, words; shape...)
        convert_spikes!(in_time, dense; shape...)
        @test [isspike(Array(words), n, t, b) for n in 1:70, b in 1:2, t in 1:40] == dense && sum(dense) > 1000
        @test [isodd(Array(in_time)[n, b, (t - 1) ÷ 32 + 1] >> ((t - 1) % 32)) for n in 1:70, b in 1:2, t in 1:40] == dense
        per_neuron, per_step = Buffer{UInt32}(context, 70, 2; dtype=:u32), Buffer{UInt32}(context, 40; dtype=:u32)
        total = Buffer{UInt64}(context, 1)
        @test total.dtype === :u64
        count_spikes!(per_neuron, in_time; shape...)
        count_spikes!(per_step, dense; kind=:per_step, shape...)
        count_spikes!(total, words; kind=:total, shape...)
        @test Array(per_neuron) == sum(Int.(dense); dims=3)[:, :, 1] && Array(per_step) == sum(Int.(dense); dims=(1, 2))[:]
        @test Array(total) == [sum(Int.(dense))]
        # The same, recorded.
        again, sums = spike_buffer(layer; dtype=:u8), Buffer{UInt64}(context, 1)
        graph = record(context) do graph
            convert_spikes!(graph, again, words; shape...)
            count_spikes!(graph, sums, again; kind=:total, shape...)
        end
        @test wait(graph, launch!(graph)) && Array(again) == dense && Array(sums) == Array(total)
        # Mistakes.
        @test_throws ArgumentError convert_spikes!(dense, copy(dense); shape...)
        @test_throws ArgumentError count_spikes!(total, words; kind=:most, shape...)
        @test_throws ArgumentError count_spikes!(total, words; neurons=-70, steps=40)
        @test failure(() -> count_spikes!(words, dense; kind=:total, shape...)).rule != ""
        @test failure(() -> convert_spikes!(again, words; neurons=70, steps=41, batch=2)).rule != ""
        close(again)
        @test failure(() -> convert_spikes!(again, words; shape...)).rule == "JULIA-CLOSED"
    end

    @testset "rates as spikes" begin
        rates = repeat(Float32.((0:34) ./ 34), 1, 2)
        whole = (neurons=35, steps=60, batch=2, seed=typemax(UInt64), offset=7)
        all_of_them, packed = Buffer{UInt8}(context, 35, 2, 60), Buffer{UInt32}(context, 2, 2, 60)
        encode_bernoulli!(all_of_them, rates; whole...)
        encode_bernoulli!(packed, repeat(rates, 1, 1, 60); rates_per_step=true, whole...)
        drawn = Array(all_of_them)
        @test all(drawn .<= 1) && all(==(0), drawn[1, :, :]) && all(==(1), drawn[35, :, :]) && 1900 < sum(drawn) < 2300
        @test [isspike(Array(packed), n, t, b) for n in 1:35, b in 1:2, t in 1:60] == drawn
        # Replays go on where the one before ended, unless the operation rests or its offset is set.
        part = Buffer{UInt8}(context, 35, 2, 20)
        graph = Graph(context)
        encode_bernoulli!(graph, part, copy(rates); neurons=35, steps=20, batch=2, seed=typemax(UInt64), offset=7)
        encoding = last_operation(graph)
        instantiate!(graph)
        GC.gc()                                                      # the graph keeps what it reads
        next(first) = wait(graph, launch!(graph)) && Array(part) == drawn[:, :, first:first+19]
        @test next(1) && next(21)
        set_enabled!(graph, encoding, false)
        @test next(21)
        set_enabled!(graph, encoding, true)
        @test next(41)
        set_value!(graph, encoding, :offset, 8)
        @test next(2)
        # Mistakes.
        @test failure(() -> set_value!(graph, encoding, :offset, 0.5)).rule == "SYN-SCALAR-RANGE"
        @test failure(() -> encode_bernoulli!(all_of_them, rates; rates_per_step=true, whole...)).rule == "SYN-BUFFER-SHAPE"
        @test failure(() -> encode_bernoulli!(part, zeros(35, 2); neurons=35, steps=20, batch=2)).rule == "SYN-BUFFER-TYPE"
        @test_throws ArgumentError encode_bernoulli!(part, rates; neurons=-35, steps=20)
        @test_throws ArgumentError encode_bernoulli!(copy(drawn), rates; whole...)
        @test_throws InexactError encode_bernoulli!(part, rates; neurons=35, steps=20, seed=-1)
        close(part)
        @test failure(() -> encode_bernoulli!(part, rates; neurons=35, steps=20)).rule == "JULIA-CLOSED"
    end

    @testset "16-bit storage" begin
        x = rand(Float16, 8, 5) .* Float16(2)
        half = Layer(context; steps=5, neurons=8, dtype=:f16)
        buffer = copyto!(sequence_buffer(half), x)
        @test eltype(buffer) == Float16
        forward!(half; x=buffer, spikes=(spikes = sequence_buffer(half)))
        @test Array(spikes) == Layer(context; steps=5, neurons=8)(Float32.(x)) == half(x)
        brain = Layer(context; steps=5, neurons=8, dtype=:bf16)
        @test eltype(sequence_buffer(brain)) == BFloat16 && size(brain(rand(8, 5))) == (8, 5)
    end

    @testset "gradients" begin
        rest, x, grad_s = zeros(9), 3 .* rand(9, 40), randn(9, 40)
        layer = Layer(context; steps=40, neurons=9, dtype=:f64, tau=3.0)
        S, H, grad_x, grad_tau = oracle(x, grad_s; tau=3.0)
        spikes, h_seq, grad, tau_gradient = similar(x), similar(x), similar(x), zeros(1)
        forward!(layer; x=x, spikes=spikes, h_seq=h_seq, v_init=rest)
        backward!(layer; grad_spike_seq=grad_s, grad_x_seq=grad, parameter_gradients=(tau=tau_gradient,))
        @test spikes == S && sum(S) > 20
        @test isapprox(h_seq, H; rtol=1e-12)
        @test isapprox(grad, grad_x; rtol=1e-12)
        @test isapprox(tau_gradient[1], grad_tau; rtol=1e-10)
        backward!(layer; grad_spike_seq=grad_s, grad_x_seq=grad, parameter_gradients=(tau=tau_gradient,),
                  add_parameter_gradients=true)
        @test isapprox(tau_gradient[1], 2 * grad_tau; rtol=1e-10)
        # In a graph the layer occurs twice, and each backward is of the forward that it names.
        other, grad_other, both = 3 .* rand(9, 40), similar(x), similar(x)
        forward!(layer; x=other, v_init=rest)
        backward!(layer; grad_spike_seq=grad_s, grad_x_seq=grad_other)
        first_grad, second_grad = similar(x), similar(x)
        graph = Graph(context)
        forward!(graph, layer; x=x, v_init=rest)
        first_forward = last_operation(graph)
        forward!(graph, layer; x=other, v_init=rest)
        backward!(graph, layer; grad_spike_seq=grad_s, grad_x_seq=second_grad)
        backward!(graph, layer; of=first_forward, grad_spike_seq=grad_s, grad_x_seq=first_grad)
        instantiate!(graph)
        wait(graph, launch!(graph))
        @test first_grad == grad && second_grad == grad_other
        forward!(layer; x=x, v_init=rest)
        # A stored tape gives the same bits.
        stored = similar(x)
        forward!(layer; x=x, v_init=rest, tape=:store)
        backward!(layer; grad_spike_seq=grad_s, grad_x_seq=stored)
        @test stored == grad
        # A tape made by recomputing must learn of a change of its X.
        kept = copyto!(sequence_buffer(layer), x)
        forward!(layer; x=kept, v_init=rest)
        hostarray(kept)[1] += 1
        mark_written!(kept)
        @test failure(() -> backward!(layer; grad_spike_seq=grad_s, grad_x_seq=stored)).status ==
              Synfire.LibSynfire.SYNFIRE_ERROR_STALE_TAPE
    end
end
