# The programs print and write what their twins in C do.
#
# SPDX-License-Identifier: MIT
example(name, arguments...) = run_julia(joinpath(@__DIR__, "..", "examples", "$name.jl"), arguments...)
lines_of(text) = split(chomp(text), '\n')

@testset "quickstart" begin
    output, good = example("quickstart")
    @test good && occursin("1000 frames of 16 steps: ", output)
    # On the host a replay is done when launch! returns, so no frame is late, however slow the machine is. On a GPU one may
    # be, and then shows the spikes before it.
    expected = program("quickstart")
    on_host = Context(context -> properties(context).backend === :host)
    if on_host || occursin(", 0 late", output) && occursin(", 0 late", expected)
        @test output == expected
    else
        @test parse(Int, match(r": (\d+) spikes", output).captures[1]) > 0
    end
end

@testset "hear" begin
    mktempdir() do folder
        sound = ENV["SYNFIRE_SOUND"]
        output, good = example("hear", sound, joinpath(folder, "julia"))
        @test good
        run(pipeline(`$(joinpath(ENV["SYNFIRE_PROGRAMS"], "hear")) $sound --backend host --output $(joinpath(folder, "c"))`;
                     stdout=devnull))
        ours, theirs = (read(joinpath(folder, language, "spikes.npy")) for language in ("julia", "c"))
        println("hear: ", chomp(output), "; spikes.npy of ", length(ours), " bytes")
        @test ours == theirs && length(ours) > 100_000
    end
end

@testset "train" begin
    output, good = example("train")
    @test good && output == program("bindings-train")
    losses = [parse(Int, split(line)[2]) for line in lines_of(output) if occursin(' ', line)]
    println("train: the loss falls from $(losses[1]) to $(losses[end])")
    @test length(losses) == 60 && losses[1] >= 10 * losses[end]
end

@testset "own neuron" begin
    output, good = example("own_neuron")
    @test good && output == program("bindings-own_neuron")
    @test length(lines_of(output)) == 95
end

# Without mpirun there is one rank.
@testset "ranks" begin
    output, good = example("ranks")
    alone = last(lines_of(output))
    @test good && first(lines_of(output)) == replace(alone, "alone" => "rank 0 of 1")
end

@testset "network" begin
    mktempdir() do folder
        cd(folder) do
            output, good = example("network")
            file = read("network.safetensors")
            @test good && output == program("network")
            @test file == read("network.safetensors")
        end
    end
end

@testset "a body with a new head" begin
    mktempdir() do folder
        cd(folder) do
            output, good = example("tuning")
            @test good && output == program("tuning")
        end
    end
end

# The last line; the others say how far it is.
@testset "a network that one watches" begin
    mktempdir() do folder
        cd(folder) do
            output, good = example("watch")
            @test good && last(split(chomp(output), '\n')) == last(split(chomp(program("watch")), '\n'))
        end
    end
end

@testset "networks that branch, and a policy" begin
    for name in ("senses", "pictures", "policy")
        output, good = example(name)
        @test good && output == program(name)
    end
end

@testset "classifier" begin
    output, good = example("classifier")
    @test good && output == program("classifier")
    @test occursin(r"^39 [0-9a-f]{8} 30$"m, output)    # all thirty samples are right at the end
end

@testset "realtime" begin
    output, good = example("realtime", 500)
    @test good
    expected = program("bindings-realtime", 500)
    print("realtime, Julia: ", lines_of(output)[end], "\nrealtime, C:     ", lines_of(expected)[end], "\n")
    # On the host a replay is done when launch! returns, so no tick finds one that is not, however slow the machine is.
    @test lines_of(output)[1] == lines_of(expected)[1]
    @test occursin(r"p50 [\d.]+ us, p99 [\d.]+ us, max [\d.]+ us; 0 late", output)
end
