# The extensions for ChainRulesCore and CUDA.jl, over the stand-ins in standins/ (which are not those packages).
#
# SPDX-License-Identifier: MIT
pushfirst!(LOAD_PATH, joinpath(@__DIR__, "standins"))
using ChainRulesCore
using CUDA
include(extension_file("ChainRulesCore"))
include(extension_file("CUDA"))
popfirst!(LOAD_PATH)
println("ChainRulesCore and CUDA are stand-ins here, not the packages")

@test_throws ArgumentError extension_file("Torch")

Context(backend=:host) do context
    @testset "ChainRulesCore" begin
        layer = Layer(context; steps=20, neurons=(2, 3), dtype=:f64, tau=3.0)
        twin = Layer(context; steps=20, neurons=6, dtype=:f64, tau=3.0)
        x, grad = 3 .* rand(2, 3, 20), randn(2, 3, 20)
        spikes, back = rrule(layer, x)
        @test spikes == layer(x)
        spikes, back = rrule(layer, x)
        tangents = back(grad)
        @test length(tangents) == 2 && tangents[1] isa NoTangent && size(tangents[2]) == size(x)
        # The same passes by hand.
        grad_x, grad_tau, grad_v = zeros(6, 20), zeros(6), zeros(1)
        forward!(twin; x=reshape(x, 6, 20), v_init=zeros(6))
        backward!(twin; grad_spike_seq=reshape(grad, 6, 20), grad_x_seq=grad_x,
                  parameter_gradients=(tau=grad_tau, v_threshold=grad_v))
        @test vec(tangents[2]) == vec(grad_x)

        # Parameters: set by the call, and differentiated.
        values = (tau=fill(3.0, 6), v_threshold=1.0)
        spikes, back = rrule(layer, x, values)
        tangents = back(Thunk(() -> grad))
        @test vec(tangents[2]) == vec(grad_x)
        @test tangents[3].tau == grad_tau && tangents[3].v_threshold === grad_v[1]
        @test back(ZeroTangent())[2] isa ZeroTangent

        # A Float32 x gets a Float32 gradient back, from an f64 layer too.
        @test eltype(rrule(layer, Float32.(x))[2](grad)[2]) == Float32

        # A forward that fails changes nothing.
        _, back = rrule(layer, x)
        @test failure(() -> forward!(layer; x=zeros(3))).status == Synfire.LibSynfire.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test vec(back(grad)[2]) == vec(grad_x)

        # A tape belongs to one forward.
        _, stale = rrule(layer, x)
        layer(x)
        @test failure(() -> stale(grad)).status == Synfire.LibSynfire.SYNFIRE_ERROR_STALE_TAPE
        _, stale = rrule(layer, x)
        graph = record(g -> forward!(g, layer; x=sequence_buffer(layer)), context)
        launch!(graph)
        @test failure(() -> stale(grad)).status == Synfire.LibSynfire.SYNFIRE_ERROR_STALE_TAPE
        _, stale = rrule(layer, x)
        layer[:tau] = 5.0
        @test failure(() -> stale(grad)).status == Synfire.LibSynfire.SYNFIRE_ERROR_STALE_TAPE
        @test_throws DimensionMismatch rrule(layer, x)[2](grad[:, :, 1:3])

        # Gradient descent as Flux would do it: weights before the layer learn to make it fire like a teacher's.
        target, W, inputs = zeros(8, 30), 0.1 .* randn(8, 5), rand(5, 30)
        small = Layer(context; steps=30, neurons=8, dtype=:f64, tau=2.0)
        wanted = vec(sum(small(rand(8, 5) * inputs); dims=2)) .+ 4
        first_loss = last_loss = 0.0
        for step in 1:200
            spikes, back = rrule(small, W * inputs)
            errors = vec(sum(spikes; dims=2)) .- wanted
            last_loss = sum(abs2, errors)
            step == 1 && (first_loss = last_loss)
            W .-= 0.002 .* back(repeat(2 .* errors, 1, 30))[2] * inputs'
        end
        println("weights before a layer: the loss falls from $first_loss to $last_loss")
        @test first_loss > 10 * last_loss
    end

    @testset "CUDA" begin
        values = rand(Float32, 4, 3) .+ 0.5f0
        array = CuArray(values)
        buffer = Buffer(context, array)
        @test Array(buffer) == values && buffer.pointer == pointer(values)
        spikes = CuArray(zeros(Float32, 4, 3))
        layer = Layer(context; steps=3, neurons=4, tau=1.0)
        forward!(layer; x=array, spikes=spikes)
        @test spikes.memory == (values .>= 1)
        graph = record(g -> forward!(g, layer; x=array, spikes=spikes), context)
        @test wait(graph, launch!(graph))
        # On the host a stream must be null: the one given arrives.
        @test wait(graph, launch!(graph, CuStream(C_NULL)))
        @test failure(() -> launch!(graph, CuStream(Ptr{Cvoid}(8)))).status == Synfire.LibSynfire.SYNFIRE_ERROR_INVALID_ARGUMENT
        other = Buffer{Float32}(context, 4, 3)
        @test Array(copyto!(other, array)) == values
        @test copyto!(CuArray(zeros(Float32, 4, 3)), other).memory == values
        @test_throws ArgumentError unsafe_wrap(CuArray, other)           # memory of the host
        @test_throws DimensionMismatch copyto!(CuArray(zeros(Float32, 4, 2)), other)
        close(other)
        @test failure(() -> unsafe_wrap(CuArray, other)).rule == "JULIA-CLOSED"
    end
end
