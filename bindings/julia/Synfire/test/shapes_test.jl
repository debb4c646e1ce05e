# Buffers and arrays carry their shape, in Julia's order; an operation refuses another one than it needs.
#
# SPDX-License-Identifier: MIT

# Refused for its shape, with the shape it has and the one it should have in the text, both as Julia writes them.
function refused(f, given, needed)
    problem = failure(f)
    return problem.rule == "SYN-BUFFER-SHAPE" && occursin(given, problem.text) && occursin(needed, problem.text)
end

Context(backend=:host) do context
    @testset "sequences and states" begin
        layer = Layer(context; steps=20, neurons=64)
        x, swapped = rand(Float32, 64, 20), rand(Float32, 20, 64)
        @test refused(() -> forward!(layer; x=swapped), "[20, 64]", "[64, 1, 20]")
        @test refused(() -> forward!(layer; x=Buffer(context, swapped)), "[20, 64]", "[64, 1, 20]")
        @test refused(() -> forward!(layer; x=Buffer{Float32}(context, 20, 64)), "[20, 64]", "[64, 1, 20]")
        @test refused(() -> record(g -> forward!(g, layer; x=swapped), context), "[20, 64]", "[64, 1, 20]")
        @test refused(() -> forward!(layer; x=x, v_seq=copy(swapped)), "[20, 64]", "[64, 1, 20]")
        @test refused(() -> forward!(layer; x=x, spikes=Array{UInt8}(undef, 20, 64)), "[20, 64]", "[64, 1, 20]")
        @test refused(() -> forward!(layer; x=x, v_init=Buffer{Float32}(context, 32, 2)), "[32, 2]", "[64, 1]")
        # The right shape, lengths of 1, and a vector.
        for right in (x, reshape(x, 64, 1, 20), reshape(x, 1, 64, 20), reshape(x, 64, 20, 1), vec(x))
            @test forward!(layer; x=right, v_init=zeros(Float32, 64, 1)) === layer
            @test forward!(layer; x=Buffer(context, right)) === layer
        end
        @test isopen(sequence_buffer(layer)) && forward!(layer; x=sequence_buffer(layer; row_pitch=80)) === layer
        @test failure(() -> forward!(layer; x=zeros(Float32, 1279))).rule == "SYN-BUFFER-SIZE"
    end

    @testset "a batch" begin
        layer = Layer(context; steps=4, neurons=6, batch=3)
        @test forward!(layer; x=zeros(Float32, 6, 3, 4), v_init=zeros(Float32, 6, 3)) === layer
        @test refused(() -> forward!(layer; x=zeros(Float32, 3, 6, 4)), "[3, 6, 4]", "[6, 3, 4]")
        @test refused(() -> forward!(layer; x=zeros(Float32, 18, 4)), "[18, 4]", "[6, 3, 4]")
        @test refused(() -> forward!(layer; x=zeros(Float32, 6, 3, 4), v_init=zeros(Float32, 3, 6)), "[3, 6]", "[6, 3]")
    end

    @testset "gradients" begin
        layer = Layer(context; steps=4, neurons=6)
        forward!(layer; x=zeros(Float32, 6, 4))
        @test refused(() -> backward!(layer; grad_x_seq=zeros(Float32, 4, 6)), "[4, 6]", "[6, 1, 4]")
        @test backward!(layer; grad_x_seq=zeros(Float32, 6, 4), parameter_gradients=(tau=zeros(Float32, 6, 1),)) ===
              layer
    end

    @testset "packed spikes" begin
        layer = Layer(context; steps=40, neurons=70)
        x = rand(Float32, 70, 40)
        @test forward!(layer; x=x, spikes=zeros(UInt32, 3, 40)) === layer
        @test forward!(layer; x=x, spikes=zeros(UInt32, 120)) === layer
        @test refused(() -> forward!(layer; x=x, spikes=zeros(UInt32, 40, 3)), "[40, 3]", "[3 words, 1, 40]")
        in_time(dims...) = Buffer{UInt32}(context, dims...; dtype=:time_bits)
        @test forward!(layer; x=x, spikes=in_time(70, 2)) === layer
        @test refused(() -> forward!(layer; x=x, spikes=in_time(2, 70)), "[2, 70]", "[70, 1, 2 words]")
        # Words of a batch are not mistaken for neurons with a shape: 2 words and 32 rows are not 64 neurons.
        batched = Layer(context; steps=5, neurons=64, batch=32)
        @test forward!(batched; x=zeros(Float32, 64, 32, 5), spikes=zeros(UInt32, 2, 32, 5)) === batched
    end

    @testset "neurons with a shape" begin
        layer = Layer(context; steps=7, neurons=(4, 6), batch=5)
        x = 3 .* rand(Float32, 4, 6, 5, 7)
        spikes, again = zeros(Float32, 4, 6, 5, 7), zeros(Float32, 24, 5, 7)
        forward!(layer; x=x, spikes=spikes, v_init=zeros(Float32, 4, 6, 5))
        forward!(layer; x=reshape(x, 24, 5, 7), spikes=again, v_init=zeros(Float32, 24, 5))
        @test vec(spikes) == vec(again) && sum(spikes) > 10
        @test refused(() -> forward!(layer; x=zeros(Float32, 4, 6, 7, 5)), "[24, 7, 5]", "[24, 5, 7]")
        @test refused(() -> forward!(layer; x=zeros(Float32, 7, 5, 6, 4)), "[7, 5, 6, 4]", "[24, 5, 7]")
        # A buffer is told.
        @test forward!(layer; x=Buffer(context, x; neurons=(4, 6))) === layer
        @test forward!(layer; x=Buffer{Float32}(context, 4, 6, 5, 7; neurons=24)) === layer
        @test size(Buffer(context, x; neurons=24)) == size(x)
        @test refused(() -> forward!(layer; x=Buffer(context, x)), "[4, 6, 5, 7]", "[24, 5, 7]")
        @test_throws ArgumentError Buffer(context, x; neurons=20)
        @test_throws ArgumentError Buffer(context, x; neurons=(-4, 6))
        # More dimensions than the C library has.
        many = reshape(x, 2, 2, 6, 5, 7)
        @test forward!(layer; x=many) === layer && forward!(layer; x=Buffer(context, many)) === layer
    end

    @testset "other operations" begin
        layer = Layer(context; steps=4, neurons=6, batch=3)
        shape = (steps=4, neurons=6, batch=3)
        counts(dims...) = Buffer{UInt32}(context, dims...; dtype=:u32)
        spikes = zeros(UInt8, 6, 3, 4)
        @test count_spikes!(context; spikes=spikes, counts=counts(6, 3), shape...) === context
        @test refused(() -> count_spikes!(counts(3, 6), spikes; shape...), "[3, 6]", "[6, 3]")
        @test refused(() -> count_spikes!(counts(6, 3), zeros(UInt8, 4, 3, 6); shape...), "[4, 3, 6]", "[6, 3, 4]")
        image = Buffer(context, zeros(UInt8, 2, 3, 3, 4); neurons=(2, 3))
        @test count_spikes!(counts(6, 3), image; steps=4, neurons=(2, 3), batch=3) isa Buffer
        rates = rand(Float32, 6, 3)
        @test refused(() -> encode_bernoulli!(image, copy(rates'); shape...), "[3, 6]", "[6, 3]")
        @test refused(() -> read_rows!(Buffer{Float32}(context, 2, 6), layer; rows=1:2), "[2, 6]", "[6, 2]")
        @test read_rows!(layer; buffer=zeros(Float32, 6, 2), rows=2:3) === layer
        a, b = Buffer{Float32}(context, 6, 4), Buffer{Float32}(context, 4, 6)
        @test refused(() -> scale_add!(a, b), "[4, 6]", "[6, 4]")
        @test scale_add!(a, Buffer{Float32}(context, 24)) === a
        # Any shape will do for copies and fills.
        graph = Graph(context)
        copyto!(graph, a, b)
        fill!(graph, a, 1)
        @test isopen(instantiate!(graph))
    end
end
