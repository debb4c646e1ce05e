# Arithmetic inside replays, gradient descent, active rows, rows of the state and snapshots of it.
#
# SPDX-License-Identifier: MIT
const CS = Synfire.LibSynfire
step!(graph) = wait(graph, launch!(graph))
refused(f) = failure(f).status == CS.SYNFIRE_ERROR_INVALID_ARGUMENT

Context(backend=:host) do context
    @testset "sums and fills" begin
        source, to = Buffer(context, Float32[1, 2, 3]), Buffer(context, Float32[10, 20, 30])
        scale_add!(to, source; scale=2, keep=0.5)
        @test Array(to) == [7, 14, 21]
        graph = Graph(context)
        fill!(graph, to, 1)
        filling = last_operation(graph)
        scale_add!(graph, to, source)
        adding = last_operation(graph)
        instantiate!(graph)
        @test step!(graph) && Array(to) == [2, 3, 4]
        set_value!(graph, filling, :value, 5)
        set_value!(graph, adding, :scale, -1)
        set_value!(graph, adding, "keep", 2)
        @test Array(to) == [2, 3, 4]
        @test step!(graph) && Array(to) == [9, 8, 7]
        @test refused(() -> set_value!(graph, filling, :scale, 1))
        @test refused(() -> set_value!(graph, adding, :scale, NaN))
        @test refused(() -> set_value!(graph, 7, :scale, 1))
        @test refused(() -> scale_add!(to, Buffer{Float32}(context, 2)))
        @test refused(() -> scale_add!(to, Buffer{UInt8}(context, 3)))
        @test refused(() -> scale_add!(graph, to, Buffer{Float32}(context, 2))) ||
              failure(() -> scale_add!(graph, to, source)).status == CS.SYNFIRE_ERROR_WRONG_ORDER
        closed = Buffer{Float32}(context, 3)
        close(closed)
        @test failure(() -> scale_add!(to, closed)).rule == "JULIA-CLOSED"
        @test failure(() -> fill!(Graph(context), closed, 1)).rule == "JULIA-CLOSED"
    end

    @testset "gradient descent in the replay" begin
        layer = Layer(context; steps=1, neurons=3, tau=[5.0, 6.0, 7.0])
        gradient = Buffer(context, Float32[1, -1, 0])
        graph = Graph(context)
        update_parameter!(graph, layer, :tau, gradient; learning_rate=0.5, lower=4, upper=6.75)
        learning = last_operation(graph)
        instantiate!(graph)
        @test step!(graph) && layer[:tau] == [4.5, 6.5, 6.75]
        set_value!(graph, learning, :learning_rate, 10)
        @test step!(graph) && layer[:tau] == [4, 6.75, 6.75]
        layer[:tau] = fill(5.0, 3)
        set_value!(graph, learning, :learning_rate, 0.25)
        @test step!(graph) && layer[:tau] == [4.75, 5.25, 5.0]
        other = Graph(context)
        @test refused(() -> update_parameter!(other, layer, :nope, gradient; learning_rate=1))
        @test refused(() -> update_parameter!(other, layer, :tau, gradient; learning_rate=NaN))
        @test_throws ArgumentError update_parameter!(other, layer, "a\0b", gradient; learning_rate=1)
        @test_throws MethodError update_parameter!(other, layer, :tau, zeros(3); learning_rate=1)
    end

    @testset "several parameters or none" begin
        layer = Layer(context; steps=1, neurons=3)
        @test refused(() -> set_parameters!(layer; tau=3, v_reset=NaN)) && layer[:tau] == 2
        @test refused(() -> set_parameters!(layer; tau=3, v_reset=[1, 2])) && layer[:tau] == 2
        @test refused(() -> set_parameters!(layer))
        set_parameters!(layer; tau=3, v_reset=[-1, -2, -3])
        @test layer[:tau] == 3 && layer[:v_reset] == [-1, -2, -3]
    end

    @testset "only the first rows are active" begin
        layer = Layer(context; steps=1, neurons=2, model=:if, batch=3)
        x = sequence_buffer(layer)
        fill!(x, 0.25)
        graph = record(g -> forward!(g, layer; x=x), context)
        for (active, after) in ((2, [0.25, 0.25, 0]), (0, [0.25, 0.25, 0]), (3, [0.5, 0.5, 0.25]))
            set_active_rows!(layer, active)
            @test step!(graph) && state(layer)[1, :] == after
        end
        @test refused(() -> set_active_rows!(layer, 4)) && refused(() -> set_active_rows!(layer, -1))
    end

    @testset "rows of the state" begin
        layer = Layer(context; steps=1, neurons=2, batch=4)
        state!(layer, :v, Float32[1 2 3 4; 1 2 3 4])
        reset_rows!(layer; rows=2)
        @test state(layer)[1, :] == [1, 0, 3, 4]
        mask = Buffer(context, UInt8[1, 0, 0, 1])
        reset_rows!(layer; rows=2:4, mask=mask)
        @test state(layer)[1, :] == [1, 0, 3, 0]
        some, out = Buffer(context, Float32[7 9; 8 10]), Buffer{Float32}(context, 2, 2)
        write_rows!(layer, some; rows=3:4)
        @test Array(read_rows!(out, layer; rows=2:3)) == [0 7; 0 8]
        other = Layer(context; steps=3, neurons=2, batch=2)
        copy_rows!(other, layer; rows=3:4)
        @test state(other) == [7 9; 8 10]
        agents = Layer(context; steps=1, neurons=2, batch=4)
        graph = record(context) do graph
            write_rows!(graph, agents, some; rows=1:2)
            copy_rows!(graph, agents, other; to=3)
            reset_rows!(graph, agents; mask=mask)
            reset_rows!(graph, agents; rows=3)
            read_rows!(graph, out, agents; rows=2:3)
        end
        @test step!(graph) && state(agents) == [0 9 0 0; 0 10 0 0] && Array(out) == [9 0; 10 0]
        @test_throws ArgumentError reset_rows!(layer; rows=3:2)
        @test_throws ArgumentError reset_rows!(layer; rows=0:2)
        @test_throws ArgumentError reset_rows!(layer; rows="all")
        @test_throws ArgumentError copy_rows!(layer, other; to=0)
        @test_throws TypeError reset_rows!(layer; mask=zeros(UInt8, 4))
        @test refused(() -> reset_rows!(layer; rows=1:5))
        @test refused(() -> read_rows!(out, layer, :u; rows=1:2))
        @test refused(() -> read_rows!(out, layer))
        @test refused(() -> copy_rows!(layer, other; to=4))
        @test failure(() -> reset_rows!(Layer(identity, context; steps=1, neurons=2))).rule == "JULIA-CLOSED"
    end

    @testset "snapshots" begin
        build(neurons) = Layer(context; steps=1, neurons=neurons, model=:izhikevich, batch=3)
        layer = build(2)
        state!(layer, :v, Float32[1 3 5; 2 4 6])
        whole, last_row = snapshot(layer), snapshot(layer; rows=3)
        @test length(whole) > length(last_row) > 0
        reset_state!(layer)
        restore!(layer, whole)
        @test state(layer) == [1 3 5; 2 4 6]
        restore!(layer, last_row; rows=1)
        before = state(layer)
        @test before == [5 3 5; 6 4 6]
        damaged = copy(whole)
        damaged[end] = xor(damaged[end], 0x01)
        for bad in (damaged, whole[1:end-1], Vector{UInt8}("no snapshot"), UInt8[])
            @test refused(() -> restore!(layer, bad))
        end
        @test refused(() -> restore!(layer, whole; rows=1:2)) && refused(() -> restore!(build(3), whole))
        @test state(layer) == before
        kept = Buffer{UInt8}(context, length(whole))
        keeping = record(g -> snapshot!(g, kept, layer), context)
        restoring = record(g -> restore!(g, layer, kept), context)
        @test step!(keeping)
        reset_state!(layer)
        @test step!(restoring) && state(layer) == before
        reset_state!(layer)
        @test state(restore!(layer, Array(kept))) == before
    end
end
