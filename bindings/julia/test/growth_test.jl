# What the generators made of an operation that the library does not have: see growth_test.py.
#
# SPDX-License-Identifier: MIT
using Synfire
using Test
using Libdl

const Raw = Synfire.LibSynfire

# The library has every function but the two, which are Julia's here: they keep what they were given.
const seen = Ref{Any}(nothing)
function keep_desc(desc::Ptr{Raw.synfire_decode_rate_desc})
    d = unsafe_load(desc)
    seen[] = (desc=d, label=d.label == C_NULL ? "" : unsafe_string(d.label),
              sums=[unsafe_load(d.sums, i) for i in 1:d.n_sums],
              weights=[unsafe_load(d.weights, i) for i in 1:d.n_weights])
    return Raw.SYNFIRE_OK
end
run_now(context::Ptr{Cvoid}, desc::Ptr{Raw.synfire_decode_rate_desc}, stream::Ptr{Cvoid})::Int32 = keep_desc(desc)
record_it(graph::Ptr{Cvoid}, desc::Ptr{Raw.synfire_decode_rate_desc})::Int32 = keep_desc(desc)
library = dlopen(joinpath(ENV["SYNFIRE_LIBRARY"], first(Raw.library_names())))
for name in fieldnames(Raw.FunctionTable)
    setfield!(Raw.functions, name, something(dlsym_e(library, name)))
end
Raw.functions.synfire_decode_rate =
    @cfunction(run_now, Int32, (Ptr{Cvoid}, Ptr{Raw.synfire_decode_rate_desc}, Ptr{Cvoid}))
Raw.functions.synfire_graph_record_decode_rate =
    @cfunction(record_it, Int32, (Ptr{Cvoid}, Ptr{Raw.synfire_decode_rate_desc}))

@testset "methods" begin
    @test :decode_rate! in names(Synfire)
    @test hasmethod(decode_rate!, Tuple{Graph}) && hasmethod(decode_rate!, Tuple{Context})
    @test !hasmethod(decode_rate!, Tuple{Graph,Layer})
end

@testset "documentation" begin
    documented = Base.Docs.meta(Synfire)[Base.Docs.Binding(Synfire, :decode_rate!)].docs
    text(signature) = join(documented[signature].text)
    recorded, run_at_once = text(Tuple{Graph}), text(Tuple{Context})
    for part in ("decode_rate!(graph; spikes, rates, reliable=nothing, sums=(), weights=(), label=nothing,",
                 "Appends a decoding of rates.", "`[N, B, T]`", "`estimate`: One of `:mean`, `:peak`. Default: mean.",
                 "`steps`: Steps T, at least 1.", "`rates`: Written, `[N, B]`.",
                 "`source` of [`convert_spikes!`](@ref)", "`:f64`", "`true`: rates are per millisecond. `false` (default): per step.")
        @test occursin(part, recorded)
    end
    @test occursin("decode_rate!(context; stream=nothing, ...)", run_at_once)
    @test occursin("Reads rates off spikes now.", run_at_once)
    @test !occursin("SYNFIRE", recorded * run_at_once) && !occursin("::", recorded * run_at_once)
end

Context(backend=:host) do context
    spikes, rates, sum_of_rates = zeros(UInt8, 5, 7), Buffer{Float32}(context, 5), Buffer{Float64}(context, 5)

    @testset "every field arrives" begin
        @test decode_rate!(context; spikes=spikes, rates=rates, sums=(sum_of_rates, zeros(5)), weights=1:7, label=:lif,
                           estimate=:peak, without=(:first, :last), steps=7, neurons=5, batch=1, per_millisecond=true,
                           step_length=0.5) === context
        desc = seen[].desc
        @test desc.struct_size == sizeof(desc) && desc.estimate == Raw.SYNFIRE_ESTIMATE_PEAK
        @test desc.without == Raw.SYNFIRE_WITHOUT_FIRST | Raw.SYNFIRE_WITHOUT_LAST
        @test (desc.n_steps, desc.n_neurons, desc.batch) == (7, 5, 1)
        @test desc.rates == rates.handle && desc.spikes != C_NULL && desc.reliable == C_NULL
        @test desc.per_millisecond == 1 && desc.step_length == 0.5
        @test length(seen[].sums) == 2 && seen[].sums[1] == sum_of_rates.handle
        @test seen[].weights == 1:7 && seen[].label == "lif"
    end

    @testset "defaults" begin
        graph = Graph(context)
        @test decode_rate!(graph; spikes=spikes, rates=rates, steps=7, neurons=5, step_length=1) === graph
        desc = seen[].desc
        @test desc.estimate == 0 && desc.without == 0 && desc.batch == 1 && desc.per_millisecond == 0
        @test desc.sums == C_NULL && desc.n_sums == 0 && desc.weights == C_NULL && desc.label == C_NULL
        @test rates in graph.keeps && any(kept -> kept isa Buffer{UInt8}, graph.keeps)
    end

    @testset "mistakes" begin
        given = (spikes=spikes, rates=rates, steps=7, neurons=5, step_length=1)
        @test_throws UndefKeywordError decode_rate!(context; spikes=spikes, rates=rates, steps=7, neurons=5)
        @test_throws ArgumentError decode_rate!(context; given..., estimate=:median)
        @test_throws ArgumentError decode_rate!(context; given..., without=(:middle,))
        @test_throws ArgumentError decode_rate!(context; given..., steps=-7)
        @test_throws ArgumentError decode_rate!(context; given..., label="a\0b")
        @test_throws ArgumentError decode_rate!(context; given..., spikes="text")
        @test_throws ArgumentError decode_rate!(context; given..., rate=rates)
        @test_throws TypeError decode_rate!(context; given..., per_millisecond=1)
        close(rates)
        @test_throws SynfireError decode_rate!(context; given...)
    end
end
