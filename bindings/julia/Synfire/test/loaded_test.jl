# A neuron as a string: what it returns, where it may be used, and what goes wrong.
#
# examples/own_neuron.jl trains the same text, and the examples' test compares its bits with those of C.
#
# SPDX-License-Identifier: MIT
const neuron = match(r"const synaptic_lif = \"\"\"\n(.*?)\"\"\""s,
                     read(joinpath(@__DIR__, "..", "examples", "own_neuron.jl"), String)).captures[1]

# The default is for programs that cannot wait; on a machine that is busy enough, a compiler takes longer.
const patience = 3600

# A surrogate by its smooth spike.
const smooth = """

#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>
SYNFIRE_MODEL_BEGIN
struct Smooth {
  static constexpr const char* name = "smooth";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;
  static constexpr ParameterSpec parameters[n_parameters] = {{"steepness", 4.0, 0.0, 1e6, true}};
  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = 1.0;
  }
  template <class C, class X>
  static SYNFIRE_MODEL_FN auto primitive(const C* c, X x) {
    return reciprocal(c[1] + exponential(-(c[0] * x)));
  }
};
SYNFIRE_MODEL_END
"""

@testset "they stand for built-in ones" begin
    Context(backend=:host) do context
        stages = Symbol[]
        model = LoadedModel(context, "synaptic_lif", neuron; timeout=patience, cache_bytes=1 << 28,
                            progress=(stage, seconds) -> (push!(stages, stage); true))
        surrogate = LoadedSurrogate(context, "smooth", smooth; timeout=patience)
        @test unique(stages) ⊆ [:check, :compile, :finish] && first(stages) === :check && last(stages) !== :compile
        info, other = load_info(model), load_info(surrogate)
        @test (info.name, info.states, info.parameters) == ("synaptic_lif", 2, 2)
        @test (other.name, other.states, other.parameters) == ("smooth", 0, 1)
        @test info.seconds > 0 && info.id >= 1000 && info.from_cache isa Bool
        @test string(model, ", ", surrogate) == "LoadedModel synaptic_lif, LoadedSurrogate smooth"
        @test failure(() -> LoadedModel(context, "synaptic_lif", neuron)).rule == "SYN-MODEL-EXISTS"

        # A check compiles the text again: of a surrogate, in a second.
        report = check_derivatives(surrogate; seed=7)
        @test report.samples >= 1000 && report.non_finite == 0 && report.largest_error < 1e-6 && !isempty(report.text)
        @test !report.wrong_slope_reads_input && !report.wrong_slope_reads_w
        @test failure(() -> check_derivatives(model; samples=0)).rule == "SYN-MODEL-SAMPLES"

        both = (model=model, surrogate=surrogate, steps=8, neurons=32)
        layer = Layer(context; both..., tau_i=3.0)
        @test keys(layer) == [:tau, :tau_i, :v_threshold, :v_reset, :steepness] && layer[:tau_i] == 3.0
        @test query_memory(; both...).state_bytes > 0
        @test occursin("struct SynapticLif", source(layer))
        @test_throws ArgumentError Layer(context; steps=8, neurons=32, model=surrogate)
        @test_throws ArgumentError Layer(context; steps=8, neurons=32, surrogate=model)

        network = Network(context; steps=8, batch=2)
        add_input!(network, :input, :rates, 4)
        add_synapse!(network, :to_hidden, 8)
        add_neurons!(network, :hidden, model)
        set_value!(network, :hidden, :surrogate, surrogate)
        close(model)
        close(surrogate)
        add_readout!(network, :readout, :sum, true)
        build!(network)
        @test length(parameters(Layer(network, :hidden))) == 5

        x, w = sequence_buffer(layer; memory=:pinned), state_buffer(layer; memory=:pinned)
        fill!(hostarray(x), 1)
        forward!(layer; x=x, w_final=w)
        @test all(hostarray(w) .> 1)

        @test failure(() -> load_info(model)).rule == "JULIA-CLOSED"
        @test failure(() -> Layer(context; both...)).rule == "JULIA-CLOSED"
        @test failure(() -> add_neurons!(network, :more, model)).rule == "JULIA-CLOSED"
        @test string(model, surrogate) == "LoadedModel (closed)LoadedSurrogate (closed)"
    end
end

@testset "mistakes are told" begin
    Context(backend=:host) do context
        load(arguments...; keywords...) = failure(() -> LoadedModel(context, arguments...; keywords...))
        wrong = replace(neuron, "fma(c[0], v, c[1]" => "fma(c[0], y, c[1]")
        line = findfirst(line -> occursin("fma(c[0], y", line), split(wrong, '\n'))
        problem = load("synaptic_lif", wrong; no_cache=true, timeout=patience)
        @test problem.rule == "SYN-MODEL-COMPILE" && occursin("synaptic_lif.hpp:$line:", problem.text)
        @test load("other_lif", neuron).rule == "SYN-MODEL-STRUCT"
        @test load("synaptic_lif", "").rule == "SYN-MODEL-TEXT"
        @test load("synaptic_lif", "a\0b").rule == "SYN-MODEL-TEXT"
        @test load("synaptic_lif", "\xff").rule == "SYN-MODEL-TEXT"
        @test load("/nowhere/synaptic_lif.hpp").rule == "SYN-FILE-OPEN"
        @test load("synaptic_lif", neuron; cache="relative").rule == "SYN-MODEL-CACHE"
        @test load("synaptic_lif", neuron; progress=(stage, seconds) -> false).rule == "SYN-MODEL-CANCELLED"
        @test_throws ArgumentError LoadedModel(context, "a\0b", neuron)
        @test_throws ArgumentError LoadedModel(context, "synaptic_lif", neuron; timeout=0)

        # An exception comes out of the load, and no handle stays.
        handles = live_handles()
        @test_throws DomainError LoadedModel(context, "synaptic_lif", neuron; progress=(stage, seconds) -> sqrt(-1.0))
        @test live_handles() == handles

        # From a file; in another context there is no such model.
        klif = normpath(joinpath(@__DIR__, "..", "..", "..", "..", "docs", "examples", "models", "klif.hpp"))
        LoadedModel(context, klif; timeout=patience) do model
            Context(backend=:host) do other
                @test failure(() -> Layer(other; model=model, steps=8, neurons=32)).rule == "SYN-HANDLE-FOREIGN"
            end
            @test Layer(context; model=model, steps=8, neurons=32) isa Layer
        end
    end
end
