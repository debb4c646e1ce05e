# Tests the code that the generators made for operations, an object and functions that the library does not have: see
# growth_test.py.
#
# SPDX-License-Identifier: MIT
using Synfire
using Test
using Libdl

const Raw = Synfire.LibSynfire

# The library has every function but the new ones, which are Julia's here: they keep what they were given.
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

# A delay line is a number here, not a handle of the library's.
const line_handle, destroyed, gain = Ptr{Cvoid}(UInt(4711)), Ref(0), Ref(1.0)
function create(::Ptr{Cvoid}, desc::Ptr{Raw.synfire_delay_line_desc}, line::Ptr{Ptr{Cvoid}})::Int32
    d = unsafe_load(desc)
    seen[] = (desc=d, layers=[unsafe_load(d.layers, i) for i in 1:d.n_layers])
    unsafe_store!(line, line_handle)
    return d.n_taps < 1 ? Raw.SYNFIRE_ERROR_INVALID_ARGUMENT : Raw.SYNFIRE_OK
end
give_back(line::Ptr{Cvoid})::Cvoid = (line == line_handle && (destroyed[] += 1); nothing)
function set_gain(line::Ptr{Cvoid}, value::Float64)::Int32
    gain[] = value
    return line == line_handle ? Raw.SYNFIRE_OK : Raw.SYNFIRE_ERROR_INVALID_HANDLE
end
function get_taps(::Ptr{Cvoid}, values::Ptr{Float64}, count::UInt64)::Int32
    foreach(i -> unsafe_store!(values, 0.5i, i), 1:count)
    return Raw.SYNFIRE_OK
end
function set_taps(::Ptr{Cvoid}, taps::Ptr{Raw.synfire_tap}, n_taps::UInt64)::Int32
    seen[] = [(unsafe_string(tap.label), tap.delay, tap.reading) for tap in unsafe_wrap(Array, taps, Int(n_taps))]
    return Raw.SYNFIRE_OK
end
function query_line(::Ptr{Cvoid}, state::Ptr{Raw.synfire_delay_line_state})::Int32
    unsafe_load(state).struct_size == sizeof(Raw.synfire_delay_line_state) || return Raw.SYNFIRE_ERROR_STRUCT_SIZE
    label = ntuple(i -> i <= 4 ? UInt8("line"[i]) : 0x00, 16)
    unsafe_store!(state, Raw.synfire_delay_line_state(reading=1, n_taps=3, gain=gain[], wraps=1, without=3,
                                                      label=label))
    return Raw.SYNFIRE_OK
end
# A text: its size first, with the terminating null, then all of it.
function give(given, text, capacity, size)
    unsafe_store!(size, sizeof(given) + 1)
    text == C_NULL && return capacity == 0 ? Raw.SYNFIRE_OK : Raw.SYNFIRE_ERROR_INVALID_ARGUMENT
    capacity > sizeof(given) || return Raw.SYNFIRE_ERROR_INVALID_ARGUMENT
    foreach(i -> unsafe_store!(text, codeunit(given, i), i), 1:sizeof(given))
    unsafe_store!(text, 0x00, sizeof(given) + 1)
    return Raw.SYNFIRE_OK
end
function describe_tap(::Ptr{Cvoid}, name::Ptr{UInt8}, text::Ptr{UInt8}, capacity::UInt64, size::Ptr{UInt64})::Int32
    called = unsafe_string(name)
    called == "none" && return Raw.SYNFIRE_ERROR_INVALID_ARGUMENT
    return give(isempty(called) ? "" : "τ of $called", text, capacity, size)
end
function name_of(::Ptr{Cvoid}, operation::Int32, text::Ptr{UInt8}, capacity::UInt64, size::Ptr{UInt64},
                 length::Ptr{UInt32})::Int32
    unsafe_store!(length, 6)
    return give("fill $operation", text, capacity, size)
end
function connect(::Ptr{Cvoid}, source::Ptr{Cvoid}, label::Ptr{UInt8}, stream::Ptr{Cvoid})::Int32
    seen[] = (source=source, label=label == C_NULL ? nothing : unsafe_string(label), stream=stream)
    return Raw.SYNFIRE_OK
end
function record_delay(::Ptr{Cvoid}, line::Ptr{Cvoid}, desc::Ptr{Raw.synfire_delay_desc})::Int32
    seen[] = (line=line, desc=unsafe_load(desc))
    return Raw.SYNFIRE_OK
end
function delay_now(line::Ptr{Cvoid}, desc::Ptr{Raw.synfire_delay_desc}, stream::Ptr{Cvoid})::Int32
    seen[] = (line=line, desc=unsafe_load(desc), stream=stream)
    return Raw.SYNFIRE_OK
end
get_mean(::Ptr{Cvoid}, mean::Ptr{Float64})::Int32 = (unsafe_store!(mean, -0.25); Raw.SYNFIRE_OK)
function rest_of(::Ptr{Cvoid}, steps::Int64, neurons::Int64, reading::Int32, is_open::Int32, first::Ptr{Int64},
                 length::Ptr{UInt32})::Int32
    seen[] = (steps, neurons, reading, is_open)
    unsafe_store!(first, 3)
    unsafe_store!(length, 4)
    return Raw.SYNFIRE_OK
end
function set_line(::Ptr{Cvoid}, operation::Int32, line::Ptr{Cvoid})::Int32
    seen[] = (operation, line)
    return Raw.SYNFIRE_OK
end

library = dlopen(joinpath(ENV["SYNFIRE_LIBRARY"], first(Raw.library_names())))
for name in fieldnames(Raw.FunctionTable)
    setfield!(Raw.functions, name, something(dlsym_e(library, name)))
end
Raw.functions.synfire_decode_rate =
    @cfunction(run_now, Int32, (Ptr{Cvoid}, Ptr{Raw.synfire_decode_rate_desc}, Ptr{Cvoid}))
Raw.functions.synfire_graph_record_decode_rate =
    @cfunction(record_it, Int32, (Ptr{Cvoid}, Ptr{Raw.synfire_decode_rate_desc}))
const P = Ptr{Cvoid}
Raw.functions.synfire_delay_line_create = @cfunction(create, Int32, (P, Ptr{Raw.synfire_delay_line_desc}, Ptr{P}))
Raw.functions.synfire_delay_line_destroy = @cfunction(give_back, Cvoid, (P,))
Raw.functions.synfire_delay_line_set_gain = @cfunction(set_gain, Int32, (P, Float64))
Raw.functions.synfire_delay_line_get_taps = @cfunction(get_taps, Int32, (P, Ptr{Float64}, UInt64))
Raw.functions.synfire_delay_line_set_taps = @cfunction(set_taps, Int32, (P, Ptr{Raw.synfire_tap}, UInt64))
Raw.functions.synfire_delay_line_query = @cfunction(query_line, Int32, (P, Ptr{Raw.synfire_delay_line_state}))
Raw.functions.synfire_delay_line_describe =
    @cfunction(describe_tap, Int32, (P, Ptr{UInt8}, Ptr{UInt8}, UInt64, Ptr{UInt64}))
Raw.functions.synfire_graph_write_name =
    @cfunction(name_of, Int32, (P, Int32, Ptr{UInt8}, UInt64, Ptr{UInt64}, Ptr{UInt32}))
Raw.functions.synfire_delay_line_connect = @cfunction(connect, Int32, (P, P, Ptr{UInt8}, P))
Raw.functions.synfire_graph_record_delay = @cfunction(record_delay, Int32, (P, P, Ptr{Raw.synfire_delay_desc}))
Raw.functions.synfire_delay_line_delay = @cfunction(delay_now, Int32, (P, Ptr{Raw.synfire_delay_desc}, P))
Raw.functions.synfire_layer_get_mean = @cfunction(get_mean, Int32, (P, Ptr{Float64}))
Raw.functions.synfire_layer_get_state = Raw.functions.synfire_layer_get_mean
Raw.functions.synfire_layer_find_rest =
    @cfunction(rest_of, Int32, (P, Int64, Int64, Int32, Int32, Ptr{Int64}, Ptr{UInt32}))
Raw.functions.synfire_graph_set_line = @cfunction(set_line, Int32, (P, Int32, P))

@testset "methods" begin
    @test :decode_rate! in names(Synfire)
    @test hasmethod(decode_rate!, Tuple{Graph}) && hasmethod(decode_rate!, Tuple{Context})
    @test !hasmethod(decode_rate!, Tuple{Graph,Layer})
end

@testset "documentation" begin
    documented = Base.Docs.meta(Synfire)[Base.Docs.Binding(Synfire, :decode_rate!)].docs
    text(signature) = join(documented[signature].text)
    recorded, run_at_once = text(Tuple{Graph}), text(Tuple{Context})
    for part in ("decode_rate!(graph; rates, spikes=nothing, reliable=nothing, sums=(), weights=(), label=nothing,",
                 "gain=2.5e-1, offset=0",
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
        @test desc.gain == 0.25 && desc.offset == 0 && desc.source == C_NULL && desc.state == C_NULL
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
        layer = Layer(context; steps=7, neurons=5)
        without = (rates=rates, steps=7, neurons=5, step_length=1)
        @test_throws UndefKeywordError(:spikes) decode_rate!(context; without...)
        @test_throws UndefKeywordError(:state) decode_rate!(context; without..., source=layer)
        decode_rate!(context; without..., source=layer, state=:v)
        @test seen[].desc.source == layer.handle && seen[].desc.spikes == C_NULL && seen[].desc.state != C_NULL
        close(rates)
        @test_throws SynfireError decode_rate!(context; given...)
    end
end

@testset "the documentation of an object" begin
    for name in names(Synfire)
        @test haskey(Base.Docs.meta(Synfire), Base.Docs.Binding(Synfire, name))
    end
    text(name) = join(join(documented.text) for documented in
                      values(Base.Docs.meta(Synfire)[Base.Docs.Binding(Synfire, name)].docs))
    for (name, parts) in (
        :DelayLine => ("DelayLine(context; start=nothing, upstream=nothing, layers=(), reading=:nearest, taps, stages=",
                       "DelayLine(f, context; ...)", "A line of taps that hands spikes on later.",
                       "`wraps`: `true`: taps wrap around. `false` (default): they end.", "`taps`: Taps, at least 1.",
                       "The buffer that it starts from, read. `nothing`: zeros.",
                       "`layers`: Layers that it feeds. Default: none."),
        :set_gain! => ("set_gain!(delay_line, gain)", "which [`query`](@ref) tells"),
        :set_taps! => ("set_taps!(delay_line, taps)", "A collection of named tuples of `label`, `delay`, `reading`."),
        :taps => ("taps(delay_line, count) -> Vector{Float64}", "`count`: The length of the result."),
        :describe => ("describe(delay_line, name) -> String", "Describes a tap."),
        :write_name => ("write_name(graph, operation) -> NamedTuple", "Returns `text` and `length`."),
        :query => ("query(delay_line) -> NamedTuple", "`wraps`: `true` when it wraps around.",
                   "`taps`: Taps, as `taps` of [`DelayLine`](@ref) says.",
                   "`gain`: The gain, which [`set_gain!`](@ref) sets."),
        :connect! => ("connect!(delay_line, source; label=nothing, stream=nothing)",
                      "`stream`: The CUDA stream to run on."),
        :delay! => ("delay!(graph, delay_line; x, y, beside=nothing)", "delay!(delay_line; stream=nothing, ...)"),
        :mean => ("mean(layer) -> Float64", "[`reset_state!`](@ref) sets them back"),
        :find_rest => ("find_rest(layer, reading, is_open; steps, neurons) -> NamedTuple",
                       "Returns `first` and `length`.",
                       "`reading`: One of `:nearest`, `:linear`."),
        :set_line! => ("set_line!(graph, operation, line)",))
        documentation = text(name)
        for part in parts
            occursin(part, documentation) || println(name, ": ", documentation)
            @test occursin(part, documentation)
        end
        @test !occursin("SYNFIRE", documentation) && !occursin("synfire", documentation)
    end
end

Context(backend=:host) do context
    start, layer = Buffer{Float32}(context, 5), Layer(context; steps=7, neurons=5)
    x, y = Buffer{Float32}(context, 5), Buffer{Float32}(context, 5)

    @testset "an object is made, used and given back" begin
        before = live_handles()
        line = DelayLine(context; taps=3, reading=:linear, start=start, layers=[layer], stages=(1, 2.5), wraps=true)
        desc = seen[].desc
        @test line isa Synfire.Handle && isopen(line) && live_handles() == before + 1
        @test desc.struct_size == sizeof(desc) && desc.n_taps == 3 && desc.reading == Raw.SYNFIRE_READING_LINEAR
        @test desc.start == start.handle && desc.upstream == C_NULL && desc.stages == (1, 2.5, 0) && desc.wraps == 1
        @test seen[].layers == [layer.handle]
        @test start in line.keeps && layer in line.keeps && line.context === context
        next = DelayLine(context; taps=1, upstream=line, start=zeros(Float32, 5))
        @test seen[].desc.upstream == line_handle && seen[].desc.start != C_NULL && seen[].desc.layers == C_NULL
        @test line in next.keeps && any(kept -> kept isa Buffer && kept !== start, next.keeps)
        @test sprint(show, line) == "DelayLine"
        @test Raw.synfire_delay_line_set_gain(line, 2.0) == Raw.SYNFIRE_OK && gain[] == 2.0
        close(line)
        @test destroyed[] == 1 && !isopen(line) && sprint(show, line) == "DelayLine (closed)"
        close(line)
        @test destroyed[] == 1
        @test_throws SynfireError set_gain!(line, 1)
        @test_throws SynfireError DelayLine(context; taps=1, upstream=line)
        close(next)
        @test DelayLine(isopen, context; taps=1) && destroyed[] == 3
        (() -> (DelayLine(context; taps=1); nothing))()
        foreach(_ -> GC.gc(), 1:4)
        @test destroyed[] == 4
    end

    @testset "mistakes with an object" begin
        @test_throws UndefKeywordError DelayLine(context)
        @test_throws ArgumentError DelayLine(context; taps=1, reading=:sharp)
        @test_throws ArgumentError DelayLine(context; taps=-1)
        @test_throws ArgumentError DelayLine(context; taps=1, stages=1:4)
        @test_throws ArgumentError DelayLine(context; taps=1, tap=1)
        @test_throws TypeError DelayLine(context; taps=1, upstream=layer)
        before = live_handles()
        @test_throws SynfireError DelayLine(context; taps=0)
        @test live_handles() == before
    end

    @testset "functions of an object" begin
        line = DelayLine(context; taps=3)
        @test set_gain!(line, 4) === line
        @test query(line) ==
              (reading=:linear, taps=3, gain=4.0, wraps=true, without=[:first, :last], label="line")
        @test taps(line, 3) == [0.5, 1.0, 1.5] && taps(line, 0) == Float64[]
        @test_throws ArgumentError taps(line, -1)
        @test describe(line, :first) == "τ of first" && describe(line, "") == ""
        @test_throws SynfireError describe(line, "none")
        @test set_taps!(line, [(label=:a, delay=1, reading=:nearest), (label="b", delay=2.5, reading=:linear)]) === line
        @test seen[] == [("a", 1.0, 0), ("b", 2.5, 1)]
        @test_throws ArgumentError set_taps!(line, [(label="a", delay=1, reading=:sharp)])
        @test connect!(line, x; label=:here) === line
        @test seen[] == (source=x.handle, label="here", stream=C_NULL) && x in line.keeps
        connect!(line, zeros(Float32, 5); stream=Ptr{Cvoid}(UInt(2)))
        @test seen[].label === nothing && seen[].stream == Ptr{Cvoid}(UInt(2)) && seen[].source != C_NULL
        @test_throws ArgumentError connect!(line, "text")
        @test_throws ArgumentError connect!(line, x; label="a\0b")
    end

    @testset "new functions of a layer and of a graph" begin
        @test mean(layer) === -0.25
        @test layer_state(layer) === -0.25 && state(layer) isa Vector{Float32}    # a name that was taken
        @test find_rest(layer, :linear, true; steps=7, neurons=5) === (first=3, length=4)
        @test seen[] == (7, 5, 1, 1)
        @test_throws MethodError find_rest(layer, 7, 5, :linear, true)
        @test_throws UndefKeywordError find_rest(layer, :linear, true; steps=7)
        @test_throws ArgumentError find_rest(layer, :linear, true; steps=-7, neurons=5)
        graph, line = Graph(context), DelayLine(context; taps=1)
        @test write_name(graph, 3) == (text="fill 3", length=6)
        @test set_line!(graph, 2, line) === graph
        @test seen[] == (2, line_handle) && line in graph.keeps
        closed = Layer(context; steps=7, neurons=5)
        close(closed)
        @test_throws SynfireError mean(closed)
    end

    @testset "an operation on an object" begin
        graph, line, other = Graph(context), DelayLine(context; taps=1), DelayLine(context; taps=2)
        @test hasmethod(delay!, Tuple{Graph,DelayLine}) && !hasmethod(delay!, Tuple{Graph,Layer})
        @test delay!(graph, line; x=x, y=y, beside=other) === graph
        @test seen[].line == line_handle && seen[].desc.x == x.handle && seen[].desc.beside == line_handle
        @test all(in(graph.keeps), (line, other, x, y))
        @test delay!(line; x=x, y=zeros(Float32, 5)) === line
        @test seen[].desc.beside == C_NULL && seen[].desc.y != C_NULL && seen[].stream == C_NULL
        close(line)
        @test_throws SynfireError delay!(line; x=x, y=y)
        @test_throws SynfireError delay!(graph, line; x=x, y=y)
    end
end
