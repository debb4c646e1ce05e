# Graphs: recorded once, replayed; equal to the same calls now; waiting, tickets, copies, allocation.
#
# SPDX-License-Identifier: MIT
Context(backend=:host) do context
    @testset "a replay is the calls now" begin
        eager, replayed = Layer(context; steps=8, neurons=33, tau=3.0), Layer(context; steps=8, neurons=33, tau=3.0)
        x, g, grad_tau = sequence_buffer(replayed), sequence_buffer(replayed), Buffer{Float32}(context, 33)
        spikes, grad_x, kept = spike_buffer(replayed), sequence_buffer(replayed), spike_buffer(replayed)
        graph = record(context) do graph
            forward!(graph, replayed; x=x, spikes=spikes)
            backward!(graph, replayed; grad_spike_seq=g, grad_x_seq=grad_x, parameter_gradients=(tau=grad_tau,))
            copyto!(graph, kept, spikes)
        end
        for k in 1:4
            now, grad_now, dx, dtau = Float32.(2 .* rand(33, 8)), randn(Float32, 33, 8), zeros(Float32, 33, 8), zeros(Float32, 33)
            words = zeros(UInt32, 2, 8)
            forward!(eager; x=now, spikes=words)
            backward!(eager; grad_spike_seq=grad_now, grad_x_seq=dx, parameter_gradients=(tau=dtau,))
            copyto!(x, now)
            copyto!(g, grad_now)
            ticket = launch!(graph)
            @test ticket == k && wait(graph, ticket) && isdone(graph, ticket)
            @test Array(spikes) == words == Array(kept) && Array(grad_x) == dx && Array(grad_tau) == dtau
            @test state(eager) == state(replayed)                  # and it continues
        end
    end

    @testset "waiting" begin
        layer = Layer(context; steps=4, neurons=4)
        graph = record(g -> forward!(g, layer; x=sequence_buffer(layer), spikes=spike_buffer(layer)), context)
        ticket = launch!(graph)
        for policy in (:spin, :yield, :block), timeout in (0, 1e-3, 1, Inf, 1e300, -1)
            @test wait(graph, ticket; policy=policy, timeout=timeout)
        end
        @test_throws ArgumentError wait(graph, ticket; timeout=NaN)
        @test_throws ArgumentError wait(graph, ticket; policy=:sleep)
        @test failure(() -> wait(graph, ticket + 1)).status == Synfire.LibSynfire.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test failure(() -> isdone(graph, 99)).status == Synfire.LibSynfire.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test_throws InexactError wait(graph, -1)
    end

    @testset "order" begin
        layer = Layer(context; steps=4, neurons=4)
        x = sequence_buffer(layer)
        Graph(context) do graph
            @test failure(() -> instantiate!(graph)).status == Synfire.LibSynfire.SYNFIRE_ERROR_WRONG_ORDER
            @test failure(() -> launch!(graph)).status == Synfire.LibSynfire.SYNFIRE_ERROR_WRONG_ORDER
            forward!(graph, layer; x=x)
            instantiate!(graph)
            @test failure(() -> forward!(graph, layer; x=x)).status == Synfire.LibSynfire.SYNFIRE_ERROR_WRONG_ORDER
        end
        other, grad = Layer(context; steps=2, neurons=2), Buffer{Float32}(context, 2, 2)
        @test failure(() -> record(g -> backward!(g, other; grad_x_seq=grad), context)).status ==
              Synfire.LibSynfire.SYNFIRE_ERROR_STALE_TAPE
    end

    @testset "nothing is allocated" begin
        layer = Layer(context; steps=16, neurons=128)
        x = sequence_buffer(layer)
        graph = record(context) do graph
            forward!(graph, layer; x=x, spikes=spike_buffer(layer))
            backward!(graph, layer; grad_spike_seq=x, grad_x_seq=sequence_buffer(layer))
        end
        words = hostarray(x)
        function replay(graph, n)
            done = 0
            for _ in 1:n
                ticket = launch!(graph)
                done += wait(graph, ticket; timeout=1e-3) + isdone(graph, ticket) + wait(graph, ticket; policy=:yield)
            end
            return done
        end
        replay(graph, 2)
        bytes = @allocated replay(graph, 10_000)
        println("10,000 replays, 30,000 looks: $bytes bytes allocated")
        @test bytes == 0
        sum_of(words) = (s = 0.0f0; for w in words; s += w; end; s)
        sum_of(words)
        @test (@allocated sum_of(words)) <= 16                     # the result in a box
    end
end
