# Threads: own graphs run side by side; sharing one, or closing it meanwhile, is an answer and never a crash.
#
# SPDX-License-Identifier: MIT
const n_threads = Threads.nthreads()
@test n_threads >= 2            # the tests set JULIA_NUM_THREADS

Context(backend=:host) do context
    @testset "a graph for each" begin
        results = Vector{Any}(undef, 8)
        x = Float32.(2 .* rand(64, 16))
        Threads.@threads for i in 1:8
            layer = Layer(context; steps=16, neurons=64, tau=Float64(i))
            buffer, spikes = copyto!(sequence_buffer(layer), x), spike_buffer(layer)
            graph = record(g -> forward!(g, layer; x=buffer, spikes=spikes), context)
            for _ in 1:200
                wait(graph, launch!(graph))
            end
            results[i] = Array(spikes)
            i % 2 == 0 && close(graph)
        end
        for i in 1:8
            layer = Layer(context; steps=16, neurons=64, tau=Float64(i))
            spikes = spike_buffer(layer)
            foreach(_ -> forward!(layer; x=x, spikes=spikes), 1:200)
            @test Array(spikes) == results[i]
        end
    end

    @testset "one graph for all" begin
        layer = Layer(context; steps=64, neurons=256)
        x = sequence_buffer(layer)
        graph = record(g -> forward!(g, layer; x=x, spikes=spike_buffer(layer)), context)
        done, busy, other = (Threads.Atomic{Int}(0) for _ in 1:3)
        Threads.@threads for i in 1:2000
            try
                wait(graph, launch!(graph))
                Threads.atomic_add!(done, 1)
            catch problem
                is_busy = problem isa SynfireError && problem.status == Synfire.LibSynfire.SYNFIRE_ERROR_BUSY
                Threads.atomic_add!(is_busy ? busy : other, 1)
            end
        end
        println("one graph on $n_threads threads: $(done[]) replays, $(busy[]) times busy")
        @test other[] == 0 && done[] + busy[] == 2000 && done[] > 0
        @test wait(graph, launch!(graph)) && graph.last_ticket == done[] + 1
    end

    @testset "closed by another thread" begin
        for round in 1:50
            layer = Layer(context; steps=8, neurons=32)
            graph = record(g -> forward!(g, layer; x=sequence_buffer(layer)), context)
            odd = Threads.Atomic{Int}(0)
            Threads.@threads for i in 1:n_threads
                if i == 1
                    foreach(_ -> GC.safepoint(), 1:round)
                    close(graph)
                    close(layer)
                else
                    for _ in 1:100
                        try
                            launch!(graph)
                        catch problem
                            problem isa SynfireError &&
                                problem.status == Synfire.LibSynfire.SYNFIRE_ERROR_INVALID_HANDLE || Threads.atomic_add!(odd, 1)
                        end
                    end
                end
            end
            @test odd[] == 0
        end
    end

    @testset "closed twice at once" begin
        GC.enable(false)  # what the sets before left behind would be closed and counted in between
        try
            before = live_handles()
            buffers = [Buffer{Float32}(context, 4) for _ in 1:500]
            Threads.@threads for i in 1:4000
                close(buffers[(i - 1) % 500 + 1])
            end
            @test live_handles() == before
        finally
            GC.enable(true)
        end
    end

    @testset "errors belong to their thread" begin
        layer = Layer(context; steps=4, neurons=4)
        wrong = Threads.Atomic{Int}(0)
        Threads.@threads for i in 1:400
            name = "name$i"
            text = try
                layer[name]
                ""
            catch problem
                problem.text
            end
            occursin("\"$name\"", text) || Threads.atomic_add!(wrong, 1)
        end
        @test wrong[] == 0
    end
end
