# Bad input: a Julia error that says what was wrong, and nothing left behind.
#
# SPDX-License-Identifier: MIT
const C = Synfire.LibSynfire

# In a function of its own, so that nothing on the stack refers to what it made.
@noinline function bad_input(context)
    layer = Layer(context; steps=3, neurons=4)
    x = sequence_buffer(layer)
    graph = record(g -> forward!(g, layer; x=x), context)

    @testset "what an error carries" begin
        problem = failure(() -> layer[:tau] = -1)
        @test problem.status == C.SYNFIRE_ERROR_INVALID_ARGUMENT && problem.cuda_error == 0
        @test startswith(problem.rule, "SYN-") && occursin("-1", problem.text)
        shown = sprint(showerror, problem)
        @test occursin("SYNFIRE_ERROR_INVALID_ARGUMENT", shown) && occursin(problem.rule, shown) && occursin(problem.text, shown)
        @test status_name(-8) == "SYNFIRE_ERROR_STALE_TAPE" && status_name(12345) == "SYNFIRE_UNKNOWN_STATUS"
        @test problem isa Exception && layer[:tau] == 2.0
    end

    @testset "wrong lengths" begin
        for wrong in (zeros(Float32, 4, 2), zeros(Float32, 11), zeros(Float32, 3, 3))
            @test failure(() -> forward!(layer; x=wrong)).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
            @test failure(() -> forward!(layer; x=x, spikes=wrong)).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
            recording = failure(() -> record(g -> forward!(g, layer; x=wrong), context))
            @test recording.status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        end
        @test failure(() -> layer[:tau] = [1.0, 2.0, 3.0]).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test failure(() -> layer[:tau] = Float64[]).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        forward!(layer; x=x)
        @test failure(() -> backward!(layer; grad_x_seq=x, parameter_gradients=(tau=zeros(Float32, 3),))).rule != ""
        @test_throws DimensionMismatch layer(zeros(4, 4))
        @test_throws DimensionMismatch layer(fill(0.0))
    end

    @testset "unknown keywords and names" begin
        message(f) = try f(); "nothing was thrown" catch problem; sprint(showerror, problem) end
        @test message(() -> Layer(context; steps=3, neurons=4, stepz=5)) ==
              "ArgumentError: keyword stepz (did you mean steps?); allowed: steps, neurons, batch, model, dtype, reset, " *
              "surrogate, detach_reset, undecayed_input, strict_threshold, refractory_steps, history_steps, " *
              "threads_per_block, tau, v_rest, " *
              "v_threshold, v_reset, alpha"
        @test occursin("keyword tua (did you mean tau?); allowed", message(() -> Layer(context; steps=3, neurons=4, tua=2.0)))
        @test startswith(message(() -> Layer(context; steps=3, neurons=4, colour=1)), "ArgumentError: keyword colour; allowed")
        @test failure(() -> Layer(context; steps=3, neurons=4, tau=-1.0)).rule == "SYN-PARAMETER-RANGE"
        @test occursin("model = :lfi (did you mean :lif?); allowed: :default, :if",
                       message(() -> Layer(context; steps=3, neurons=4, model=:lfi)))
        @test occursin("surrogate = :SIGMOD (did you mean :sigmoid?)",
                       message(() -> Layer(context; steps=3, neurons=4, surrogate=:SIGMOD)))
        # Where Julia itself refuses a keyword, its text lists those of the method.
        @test occursin("memory, dtype, row_pitch", message(() -> sequence_buffer(layer; mem=:pinned)))
        @test Synfire.edits("", "abc") == 3 && Synfire.edits("ähnlich", "ähnlch") == 1 && Synfire.edits("ab", "ba") == 1
        @test Synfire.suggestion("", (:tau,)) == "" && Synfire.suggestion(:τ, (:t,)) == " (did you mean t?)"
    end

    @testset "wrong element types" begin
        @test failure(() -> forward!(layer; x=zeros(Float64, 4, 3))).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test failure(() -> forward!(layer; x=zeros(UInt32, 4, 3))).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test_throws ArgumentError forward!(layer; x=zeros(Int, 4, 3))
        @test_throws ArgumentError forward!(layer; x=Any[0.0f0 for _ in 1:4, _ in 1:3])
        @test_throws ArgumentError forward!(layer; x=[BigFloat(1) for _ in 1:12])
        @test_throws ArgumentError forward!(layer; x="text")
        @test_throws ArgumentError Buffer{Int}(context, 4)
        @test_throws ArgumentError Buffer{Float32}(context, 4; dtype=:f64)
        @test_throws ArgumentError Buffer{UInt32}(context, 4; dtype=:nope)
        @test_throws ArgumentError spike_buffer(layer; dtype=:int)
    end

    @testset "wrong kinds of memory" begin
        @test_throws ArgumentError Buffer{Float32}(context, 4; memory=:disk)
        @test failure(() -> Buffer{Float32}(context, 4; memory=17)).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        other = Context(backend=:host)
        foreign = Buffer{Float32}(other, 4, 3)
        @test failure(() -> forward!(layer; x=foreign)).status == C.SYNFIRE_ERROR_INVALID_HANDLE
        @test failure(() -> launch!(graph, Ptr{Cvoid}(8))).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        close(foreign)
        close(other)
    end

    @testset "arrays with gaps" begin
        wide = zeros(Float32, 8, 6)
        @test_throws ArgumentError forward!(layer; x=view(wide, 1:4, 1:3))
        @test_throws ArgumentError forward!(layer; x=view(wide, 1:2:8, 1:3))
        @test_throws ArgumentError forward!(layer; x=transpose(zeros(Float32, 3, 4)))
        @test_throws ArgumentError state!(layer, :v, view(wide, 1:2:8, 1))
        @test_throws ArgumentError state!(layer, :v, reverse(view(zeros(Float32, 4), 4:-1:1)) |> a -> view(a, 4:-1:1))
    end

    @testset "closed handles" begin
        closed_layer, closed_x, closed_graph = Layer(context; steps=3, neurons=4), sequence_buffer(layer), Graph(context)
        closed_context = Context(backend=:host)
        foreach(close, (closed_layer, closed_x, closed_graph, closed_context))
        foreach(close, (closed_layer, closed_x, closed_graph, closed_context))          # twice is fine
        for use in (() -> closed_layer[:tau], () -> closed_layer[:tau] = 1, () -> state(closed_layer),
                    () -> state!(closed_layer, :v, zeros(Float32, 4)), () -> reset_state!(closed_layer),
                    () -> parameters(closed_layer), () -> keys(closed_layer), () -> closed_layer(zeros(4, 3)),
                    () -> forward!(closed_layer; x=x), () -> backward!(closed_layer; grad_x_seq=x),
                    () -> forward!(layer; x=closed_x), () -> forward!(layer; x=x, spikes=closed_x),
                    () -> copyto!(closed_x, zeros(Float32, 4, 3)), () -> Array(closed_x), () -> fill!(closed_x, 1),
                    () -> hostarray(closed_x), () -> mark_written!(closed_x),
                    () -> forward!(closed_graph, layer; x=x), () -> backward!(closed_graph, layer; grad_x_seq=x),
                    () -> copyto!(closed_graph, x, x), () -> instantiate!(closed_graph), () -> launch!(closed_graph),
                    () -> wait(closed_graph, 1), () -> isdone(closed_graph, 1),
                    () -> properties(closed_context), () -> synchronize(closed_context), () -> reclaim(closed_context),
                    () -> Layer(closed_context; steps=3, neurons=4), () -> Buffer{Float32}(closed_context, 4),
                    () -> Graph(closed_context))
            problem = failure(use)
            @test problem.status == C.SYNFIRE_ERROR_INVALID_HANDLE && problem.rule == "JULIA-CLOSED"
        end
        @test !isopen(closed_layer) && occursin("closed", sprint(show, closed_layer) * sprint(show, closed_x))
        @test occursin("closed", sprint(show, closed_context)) && occursin("closed", sprint(show, closed_graph))
        # The C library itself refuses a handle that was destroyed behind the package's back.
        behind = Layer(context; steps=3, neurons=4)
        C.synfire_layer_destroy(behind)
        @test failure(() -> behind[:tau]).rule != "JULIA-CLOSED"
        close(behind)
    end

    @testset "numbers without names" begin
        message(f) = try f(); "nothing was thrown" catch problem; sprint(showerror, problem) end
        @test_throws ArgumentError Layer(context, 64, 20)
        @test occursin("Layer(context; steps=20, neurons=64)", message(() -> Layer(context, 64, 20)))
        @test occursin("Layer(context; steps=20, neurons=(8, 4))", message(() -> Layer(context, (8, 4), 20; tau=2.0)))
        @test occursin("Layer(f, context; steps=20, neurons=64)", message(() -> Layer(identity, context, 64, 20)))
        @test occursin("query_memory(; steps=20, neurons=64)", message(() -> query_memory(64, 20; batch=2)))
        @test_throws UndefKeywordError Layer(context; neurons=64)
        @test_throws UndefKeywordError query_memory(; steps=20)
    end

    @testset "negative and huge sizes" begin
        @test_throws ArgumentError Layer(context; steps=3, neurons=-4)
        @test_throws ArgumentError Layer(context; steps=-3, neurons=4)
        @test_throws ArgumentError Layer(context; steps=3, neurons=4, batch=-1)
        @test_throws ArgumentError Buffer{Float32}(context, -1)
        @test_throws ArgumentError Buffer{Float32}(context, 4, -1)
        @test_throws ArgumentError Buffer{Float32}(context, 4, 3; row_pitch=-4)
        @test_throws ArgumentError Buffer{Float32}(context)
        @test_throws ArgumentError query_memory(; steps=1, neurons=-1)
        @test_throws ArgumentError record(g -> copyto!(g, x, sequence_buffer(layer); bytes=-8), context)
        @test_throws OverflowError Buffer{Float32}(context, typemax(Int), 4)
        @test_throws OverflowError Layer(context; steps=3, neurons=(typemax(Int), 4))
        @test failure(() -> Layer(context; steps=3, neurons=0)).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test failure(() -> Layer(context; steps=typemax(Int), neurons=typemax(Int))).status < 0
        @test failure(() -> Buffer{Float32}(context, typemax(Int) >> 3)).status == C.SYNFIRE_ERROR_OUT_OF_MEMORY
        @test_throws InexactError Context(backend=:host, threads=typemax(Int))
        @test failure(() -> Context(backend=:host, threads=-1)).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
    end

    @testset "names" begin
        @test_throws ArgumentError layer["t\0au"]
        @test_throws ArgumentError layer["t\0au"] = 1
        @test_throws ArgumentError state(layer, "v\0")
        @test_throws MethodError layer[nothing]
        @test failure(() -> layer[""]).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test failure(() -> layer[:nope] = 1).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test_throws ArgumentError Layer(context; steps=3, neurons=4, nope=1)
        @test_throws ArgumentError Layer(context; steps=3, neurons=4, model=:hodgkin_huxley)
        @test_throws ArgumentError Layer(context; steps=3, neurons=4, surrogate=:nope)
        @test failure(() -> Layer(context; steps=3, neurons=4, model=99)).status == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test_throws ArgumentError forward!(layer; x=x, spiks=x)
        @test_throws ArgumentError forward!(layer; x=x, struct_size=x)
        @test_throws ArgumentError backward!(layer; grad_x=x)
        @test_throws ArgumentError forward!(layer; x=x, tape=:cassette)
        # Null strings and null pointers through the raw layer are statuses too.
        @test C.synfire_layer_get_parameter(layer, C_NULL, Ref(0.0), 1) == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test C.synfire_layer_forward(layer, C_NULL, C_NULL) == C.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test C.synfire_graph_launch(C_NULL, C_NULL, C_NULL) == C.SYNFIRE_ERROR_INVALID_HANDLE
    end

    # The C library calls no function of the user's; what the user's functions throw inside this package's comes out as
    # it was.
    @testset "exceptions of the user" begin
        @test_throws KeyError Context(c -> throw(KeyError(1)), backend=:host)
        @test_throws KeyError Layer(l -> throw(KeyError(1)), context; steps=3, neurons=4)
        @test_throws KeyError Buffer{Float32}(b -> throw(KeyError(1)), context, 4)
        @test_throws KeyError Graph(g -> throw(KeyError(1)), context)
        @test_throws KeyError record(context) do g
            forward!(g, layer; x=x)
            throw(KeyError(1))
        end
        @test wait(graph, launch!(graph))
    end

end

collect_all()
Context(backend=:host) do context
    open_before = live_handles()
    bad_input(context)
    @testset "nothing is left behind" begin
        collect_all()
        @test live_handles() == open_before
        @test reclaim(context) == 0
    end
end
