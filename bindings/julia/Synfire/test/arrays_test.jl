# Arrays in and out: column-major without a copy, any rank, borrowed memory, what is refused.
#
# SPDX-License-Identifier: MIT
Context(backend=:host) do context
    @testset "in and out" begin
        for E in (Float32, Float64, Float16, UInt8, UInt32), dims in ((7,), (5, 3), (2, 3, 4), (2, 1, 3, 2))
            array = reshape(E[E(i % 200) for i in 1:prod(dims)], dims)
            buffer = Buffer{E}(context, dims...)
            @test size(buffer) == dims && length(buffer) == prod(dims) && eltype(buffer) == E && ndims(buffer) == length(dims)
            @test all(iszero, Array(buffer))
            @test copyto!(buffer, array) === buffer
            @test Array(buffer) == array && collect(buffer) == array
            @test copyto!(zeros(E, prod(dims)), buffer) == vec(array)
            @test hostarray(buffer) == array
        end
        @test Array(fill!(Buffer{Float32}(context, 3), 2.5)) == fill(2.5f0, 3)
        # A view without gaps is memory of its own; one with gaps is not.
        array = rand(Float32, 6, 4)
        buffer = Buffer{Float32}(context, 6, 2)
        @test Array(copyto!(buffer, view(array, :, 2:3))) == array[:, 2:3]
        @test_throws ArgumentError copyto!(buffer, view(array, 1:3, :))
        @test_throws ArgumentError copyto!(view(array, 1:3, :), buffer)
        @test_throws ArgumentError copyto!(buffer, transpose(rand(Float32, 2, 6)))
        @test_throws ArgumentError copyto!(buffer, PermutedDimsArray(rand(Float32, 2, 6), (2, 1)))
        @test_throws ArgumentError copyto!(Buffer{UInt32}(context, 3), UInt32(1):UInt32(3))
        @test_throws ArgumentError copyto!(buffer, rand(Float64, 6, 2))
        @test_throws ArgumentError copyto!(zeros(Int32, 6, 2), buffer)
        @test_throws DimensionMismatch copyto!(buffer, rand(Float32, 6, 3))
        @test_throws DimensionMismatch copyto!(zeros(Float32, 11), buffer)
    end

    @testset "borrowed" begin
        array = rand(Float32, 4, 3)
        buffer = Buffer(context, array)
        @test buffer.pointer == pointer(array)
        fill!(buffer, 3)
        @test array == fill(3.0f0, 4, 3)
        array[2, 1] = 7
        @test Array(buffer)[2, 1] == 7
        @test_throws ArgumentError Buffer(context, view(array, 1:2, :))
        @test_throws ArgumentError Buffer(context, rand(Int, 4))
        @test_throws ArgumentError Buffer(context, rand(Float32, 2)')
        @test_throws ArgumentError Buffer(context, 1.0:3.0)
        @test failure(() -> Buffer(context, Float32[])).status == Synfire.LibSynfire.SYNFIRE_ERROR_INVALID_ARGUMENT
        # The array lives as long as something uses it.
        layer = Layer(context; steps=3, neurons=4)
        spikes = spike_buffer(layer; dtype=:f32)
        graph = let x = fill(100.0f0, 4, 3)
            record(g -> forward!(g, layer; x=x, spikes=spikes), context)
        end
        for _ in 1:3
            GC.gc()
            [rand(Float32, 4, 3) for _ in 1:1000]
            wait(graph, launch!(graph))
            @test Array(spikes) == ones(Float32, 4, 3)
        end
    end

    @testset "the memory itself" begin
        buffer = Buffer{Float32}(context, 5, 2; memory=:pinned)
        view_of_it = hostarray(buffer)
        @test view_of_it isa DenseArray{Float32,2} && strides(view_of_it) == (1, 5)
        view_of_it[3, 2] = 4
        @test Array(buffer)[3, 2] == 4
        view_of_it .= 1.5
        @test sum(view_of_it) == 15
        view_of_it .= view_of_it .* 2 .+ (1:5)
        @test view_of_it == Float32[3 + i for i in 1:5, _ in 1:2] && sum(view_of_it) == 60 && maximum(view_of_it) == 8
        plain = zeros(Float32, 5, 2)
        plain .= 2 .* view_of_it
        @test plain == 2view_of_it && sum(view_of_it; dims=1) == [30 30] && view_of_it[2:3, 2] == [5, 6]
        fill!(view_of_it, 1.5)
        assign!(to, from) = (to .= 2 .* from .+ 1; nothing)
        assign!(view_of_it, plain)
        @test (@allocated assign!(view_of_it, plain)) == 0
        @test copyto!(view_of_it, rand(Float32, 5, 2)) == Array(buffer)
        @test copyto!(zeros(Float32, 10), view_of_it) == vec(view_of_it)
        @test_throws BoundsError view_of_it[6, 1]
        @test_throws BoundsError view_of_it[11] = 1
        @test_throws BoundsError copyto!(view_of_it, zeros(Float32, 11))
        # It outlives the buffer.
        close(buffer)
        @test failure(() -> hostarray(buffer)).status == Synfire.LibSynfire.SYNFIRE_ERROR_INVALID_HANDLE
        buffer = nothing
        for _ in 1:3
            GC.gc()
            reclaim(context)
            Buffer{Float32}(context, 5, 2)
        end
        view_of_it .= 9
        @test all(==(9), view_of_it)
    end

    @testset "row pitch" begin
        layer = Layer(context; steps=4, neurons=5, tau=1.0)
        x = sequence_buffer(layer; row_pitch=8)
        spikes = sequence_buffer(layer; row_pitch=6)
        fill!(spikes, -1)
        values = rand(Float32, 5, 4) .+ 0.5f0
        copyto!(x, values)
        forward!(layer; x=x, spikes=spikes)
        @test Array(x) == values
        @test Array(spikes) == (values .>= 1)
        @test size(hostarray(spikes)) == (6, 4) && all(==(-1), hostarray(spikes)[6, :])
        @test_throws ArgumentError sequence_buffer(layer; row_pitch=4)
    end

    @testset "bfloat16" begin
        @test Float32(BFloat16(1.0)) == 1 && Float32(BFloat16(-3.140625f0)) == -3.140625f0
        @test Float32(BFloat16(1 + 2.0^-8)) == 1 && Float32(BFloat16(1 + 3 * 2.0^-8)) == Float32(1 + 2.0^-6)   # ties to even
        @test isnan(Float32(BFloat16(NaN32))) && isinf(Float32(BFloat16(Inf32)))
        @test Array(copyto!(Buffer{BFloat16}(context, 2), BFloat16.([1, 2]))) == BFloat16.([1, 2])
    end
end
