# Networks: their parts, which outlive them, data from arrays, wrong names and orders, the collector, tasks.
#
# SPDX-License-Identifier: MIT

function network_stages(context)
    network = Network(context; steps=4, batch=3)
    add_input!(network, :rates, :rates, 5)
    add_synapse!(network, :first, 6)
    add_neurons!(network, :hidden, :lif)
    add_synapse!(network, :second, 2)
    add_neurons!(network, :potentials, :li)
    add_readout!(network, :scores, :mean)
    add_loss!(network, :loss, :cross_entropy)
    add_optimizer!(network, :adam, :adam)
    return network
end

function built_network(context)
    network = build!(network_stages(context))
    rates, labels = [Float32((5r + k) % 4) / 4 for k in 0:4, r in 0:6], collect(0:6) .% 2
    set_data!(network, :training, rates, labels)
    return set_data!(network, :evaluation, rates, labels)
end

@testset "stages are described by names" begin
    Context(backend=:host) do context
        network = Network(context; steps=4, batch=3)
        add_stage!(network, :input, :rates; kind=:rates, n_features=5)
        add_stage!(network, :synapse, "first"; n_outputs=6)
        add_stage!(network, :neurons, :hidden; reads=:first, model=:lif, detach_reset=false)
        add_stage!(network, :synapse, :second; reads=:hidden => :spikes, n_outputs=2)
        add_stage!(network, :neurons, :potentials; model="li")
        add_stage!(network, :readout, :scores; reads=(:potentials => :v,), reduction=:mean)
        add_stage!(network, :loss, :loss; kind=:cross_entropy)
        add_stage!(network, :optimizer, :adam; kind=:adam)
        @test dot(network) == dot(network_stages(context))
        refused = failure(() -> add_stage!(network, :readout, :early; reads=:early, reduction=:mean))
        @test refused.rule == "SYN-NETWORK-READS" && occursin("the stage itself", refused.text)
        build!(network)
        inputs, labels, scores = zeros(Float32, 5, 7), zeros(UInt32, 7), zeros(Float32, 2, 7)
        Buffer(context, labels; memory=:host, dtype=:u32) do numbers
            set_arrays!(network, :evaluation, 7, [(stage=:loss, role=:labels, buffer=numbers),
                                                  (stage=nothing, role=:inputs, buffer=inputs)])
            given = [(stage=:scores, role=:labels, buffer=numbers)]
            @test failure(() -> set_arrays!(network, :evaluation, 7, given)).rule == "SYN-NETWORK-ARRAY"
        end
        result = evaluate_stages(network, [:loss])
        @test result.losses[1].loss == result.loss && result.losses[1].counted == 7
        @test evaluate(network) == Base.structdiff(result, (losses=nothing,))
        infer_arrays!(network, 7, [(stage=:rates, role=:inputs, buffer=inputs),
                                   (stage=:scores, role=:outputs, buffer=scores)])
        @test all(isfinite, scores)
    end
end

# Arrays of NumPy: their shapes are those of Julia in reverse.
function write_npy(path, descr, array)
    lengths = join(reverse(size(array)), ", ") * (ndims(array) == 1 ? "," : "")
    dictionary = "{'descr': '$descr', 'fortran_order': False, 'shape': ($lengths), }"
    write(path, vcat(UInt8[0x93], Vector{UInt8}("NUMPY"), UInt8[1, 0, 118, 0], Vector{UInt8}(rpad(dictionary, 118)),
                     reinterpret(UInt8, vec(array))))
    return path
end

@testset "rows stay in files" begin
    Context(backend=:host) do context
        network = built_network(context)
        expected = evaluate(network)
        rates, labels = [Float32((5r + k) % 4) / 4 for k in 0:4, r in 0:6], UInt32.(collect(0:6) .% 2)
        mktempdir() do folder
            files = [(role=:inputs, path=write_npy(joinpath(folder, "rates.npy"), "<f4", rates), stage=:rates),
                     (role=:labels, path=write_npy(joinpath(folder, "labels.npy"), "<u4", labels))]
            open_data!(network, :evaluation, files)
            @test evaluate(network) == expected
            open_data!(network, :training, files; block_rows=2, window_blocks=1, readers=1)
            @test train!(network).epoch == 1
            @test failure(() -> open_data!(network, :training, files[1:1])).rule == "SYN-NETWORK-ARRAY"
            set_data!(network, :training, rates, labels)  # Windows deletes no open files
            set_data!(network, :evaluation, rates, labels)
        end
    end
end

# Rows in arrays: each has its output, whatever rows are beside it.
@testset "takes and gives arrays" begin
    Context(backend=:host) do context
        network = built_network(context)
        rates, labels = [Float32((5r + k) % 3) / 3 for k in 0:4, r in 0:6], collect(0:6) .% 2
        all = infer(network, rates)
        @test size(all) == (2, 7)
        @test infer(network, rates[:, 1:1]) == all[:, 1:1]
        @test evaluate(network, rates, labels).counted == 7
        @test_throws DimensionMismatch infer(network, rates[1:4, :])
        @test_throws DimensionMismatch infer(network, rates[:, 1:0])
        @test_throws DimensionMismatch evaluate(network, rates, labels[1:6])
    end
end

# Arrays of other files, frozen stages and schedules: the wrong ones are refused, and change nothing.
@testset "tuning is checked" begin
    Context(backend=:host) do context
        network, other, more = built_network(context), network_stages(context), network_stages(context)
        set_value!(other, :adam, :schedule, :cosine)
        set_value!(other, :adam, :schedule_steps, 2)
        build!(other)
        before, file = save_to_memory(network), save_to_memory(other)
        says(words, call) = occursin(words, sprint(showerror, failure(call)))
        wrong(words, source) = says(words, () -> load_arrays!(network, file, [source]))
        @test wrong("did you mean \"first.weights\"", "first.weights" => "first.weight")
        @test wrong("did you mean \"first.bias\"", "first.bios" => "first.bias")
        @test wrong("[6, 5]", "first.weights" => "second.weights")
        @test wrong("SYN-FILE-DTYPE", "adam.step_count" => "first.bias")
        @test wrong("SYN-NETWORK-LAYOUT", ("first.weights", :io) => "first.weights")
        for source in (1, ("first.bias", "first.bias"), "first.bias" => 2, "first.bias" => ("first.bias", :oi))
            said = try load_arrays!(network, file, [source]); "nothing" catch problem; sprint(showerror, problem) end
            @test occursin("a source is $(repr(source)); allowed", said)
        end
        for one in ("first.bos" => "first.bias", Dict("first.bos" => "first.bias"))
            @test says("did you mean \"first.bias\"", () -> load_arrays!(network, file, one))
        end
        @test load_arrays!(network, before, "first.bias") == String[]
        @test says("SYN-FILE", () -> load_arrays!(network, zeros(UInt8, 100), ["first.bias"]))
        @test says("SYN-FILE-OPEN", () -> load_arrays!(network, "no such file", ["first.bias"]))
        set_value!(network, :first, :frozen, true)
        set_value!(network, :first, :frozen, false)
        @test save_to_memory(network) == before
        sources = [("first.weights", :oi) => "first.weights", "second.bias" => "first.bias"]
        @test load_arrays!(network, file, sources; leave_out=true) == ["first.bias"]
        load_from_memory!(network, file)    # with its schedule
        train!(network, 2)
        @test says("2 were taken", () -> train!(network, 1))
        add_stage!(more, :readout, :extra; reads=:hidden, reduction=:sum)    # the best weights of another network
        build!(more)
        @test says("SYN-NETWORK-OTHER", () -> load_from_memory!(network, save_to_memory(more)))
    end
end

# A branch that cannot be is refused, and named.
@testset "branches are checked" begin
    Context(backend=:host) do context
        network, more = network_stages(context), network_stages(context)
        says(words, call) = occursin(words, sprint(showerror, failure(call)))
        @test says("SYN-NETWORK-READS", () -> add_stage!(network, :sum, :a; reads=(:hidden, :later)))
        @test says("SYN-NETWORK-SHAPE", () -> add_stage!(network, :sum, :a; reads=(:hidden, :rates)))
        @test says("SYN-COUNT-BOUND", () -> add_stage!(network, :input, :a; kind=:counts, n_features=2, bound=256))
        open = Network(context; steps=4, batch=3)
        add_input!(open, :rates, :rates, 5)
        add_synapse!(open, :first, 6)
        @test says("SYN-NETWORK-INCOMPLETE", () -> build!(open))
        add_neurons!(open, :hidden, :lif)
        add_stage!(open, :input, :c; kind=:counts, n_features=6, bound=255)
        @test says("SYN-COUNT-BOUND", () -> add_stage!(open, :sum, :a; reads=(:hidden, :c)))
        add_stage!(more, :readout, :extra; reads=:hidden, reduction=:sum)    # a head more than the network has
        build!(more)
        build!(network)
        @test says("SYN-NETWORK-OTHER", () -> load_from_memory!(network, save_to_memory(more)))
    end
end

# Stages of maps that cannot be are refused, and their names stay free.
@testset "maps are checked" begin
    Context(backend=:host) do context
        network, large = Network(context; steps=2), Network(context; steps=2)
        says(words, call) = occursin(words, sprint(showerror, failure(call)))
        add_stage!(network, :input, :x; kind=:spikes, height=3, width=4, channels=6)
        @test says("SYN-CONV-KERNEL", () -> add_stage!(network, :conv2d, :y; output_channels=4, kernel=5))
        @test says("SYN-CONV-GROUPS", () -> add_stage!(network, :conv2d, :y; output_channels=4, groups=4))
        @test says("SYN-POOL-WINDOW", () -> add_stage!(network, :pool, :y; kind=:sum, window=5))
        add_stage!(network, :conv2d, :y; output_channels=4, kernel=3)
        @test says("[2, 1, 3x4x6] of stage \"x\" and [2, 1, 1x2x4] of stage \"y\"",
                   () -> add_stage!(network, :sum, :z; reads=(:x, :y)))
        @test says("SYN-SYNAPSE-MASK", () -> set_mask!(network, :y, zeros(UInt8, 10)))
        add_stage!(large, :input, :x; kind=:counts, bound=255, height=300, width=300, channels=1)
        @test says("SYN-POOL-BOUND", () -> add_stage!(large, :pool, :y; kind=:sum))
    end
end

# V = (X + v_rest) / 2 with a v_rest for each channel. The loss is the mean of V^2 over four neurons, and a step of SGD takes
# off the sum of V / 4 over the places of a channel.
@testset "channels have parameters of their own" begin
    Context(backend=:host) do context
        network = Network(context; steps=1)
        add_stage!(network, :input, :x; kind=:values, height=2, channels=2)
        add_stage!(network, :neurons, :v; reads=:x, model=:li, tau=2)
        set_scope!(network, :v, :v_rest, :channel)
        train_parameter!(network, :v, :v_rest, false, 1, 0)
        add_stage!(network, :readout, :out; reads=:v => :v, reduction=:last)
        add_loss!(network, :loss, :mean_squared_error)
        add_optimizer!(network, :sgd, :sgd, 1)
        build!(network)
        numbers(values) = Buffer(context, Float32.(values); memory=:host)
        set_arrays!(network, :training, 1, [(stage=:x, role=:inputs, buffer=numbers(1:4)),
                                            (stage=:loss, role=:targets, buffer=numbers(zeros(4)))])
        @test train!(network, 1).loss == 1.875
        @test Layer(network, :v)[:v_rest] == [-0.5, -0.75]
    end
end

@testset "parts are the network's own" begin
    Context(backend=:host) do context
        network = built_network(context)
        first, second = Synapse(network, :first), Synapse(network, "second")
        before = read!(first, :weight, zeros(Float32, 6, 5))
        @test train!(network).batches == 3
        @test read!(first, :weight, zeros(Float32, 6, 5)) != before
        # Weights that are written by hand are those of the next evaluation: without any, both classes are as likely.
        write(second, :weight, zeros(Float32, 2, 6))
        write(second, :bias, zeros(Float32, 2))
        result = evaluate(network)
        @test result.loss ≈ log(2) atol = 1e-6
        @test accuracy(result) == result.correct / 7
        @test accuracy((counted=0, correct=0)) == 0
        hidden = Layer(network, :hidden)
        @test (hidden.neurons, hidden.steps, hidden.batch, hidden.model) == (6, 4, 3, :lif)
        hidden[:tau] = 5
        @test value(network, :hidden, :tau) == 5
        # The tape is the network's: gradients of layer(x) would be those of its forward.
        @test_throws ArgumentError hidden(zeros(Float32, 6, 3, 4))
        @test read!(Optimizer(network, :adam), nothing, :step_count, zeros(UInt64, 1)) == [3]
        input = Buffer(network, :input)
        @test size(input) == (5, 3, 1) && eltype(input) === Float32 && input.dtype === :f32
        @test_throws DimensionMismatch set_data!(network, :training, zeros(Float32, 5, 7), zeros(Int, 6))
    end
end

@testset "parts outlive the network" begin
    Context(backend=:host) do context
        network = built_network(context)
        train!(network)
        first, adam = Synapse(network, :first), Optimizer(network, :adam)
        input, output = Buffer(network, :input), Buffer(network, :output)
        inference, training = Graph(network, :inference), Graph(network, :training)
        close(network)
        for _ in 1:2
            hostarray(input) .= 0.5
            wait(inference, launch!(inference))
            @test all(isfinite, hostarray(output))
            wait(training, launch!(training))
        end
        @test read!(adam, nothing, :step_count, zeros(UInt64, 1)) == [5]
        read!(first, :bias, zeros(Float32, 6))
        @test failure(() -> evaluate(network)).rule == "JULIA-CLOSED"
        @test !isopen(network) && string(network) == "Network (closed)"
    end
end

# In a function of its own, so that nothing on the stack refers to what it made.
@noinline function abandoned_networks()
    context = Context(backend=:host)
    for i in 1:20
        network = built_network(context)
        Synapse(network, :first), Graph(network, :training)
        hostarray(Buffer(network, :output)) .= i
        train!(network, 1)
    end
end

@testset "the collector closes networks and parts" begin
    before = live_handles()
    abandoned_networks()
    collect_all()
    @test live_handles() - before <= 6    # registers may still hold the last ones
end

@testset "wrong names and orders" begin
    Context(backend=:host) do context
        network = network_stages(context)
        says(problem, name, word) = status_name(problem.status) == name && occursin(word, sprint(showerror, problem))
        early, wrong = "SYNFIRE_ERROR_WRONG_ORDER", "SYNFIRE_ERROR_INVALID_ARGUMENT"
        @test says(failure(() -> Synapse(network, :first)), early, "SYN-NETWORK")
        @test says(failure(() -> train!(network)), early, "SYN-NETWORK")
        @test says(failure(() -> add_synapse!(network, :third, 2)), early, "SYN-NETWORK")
        @test says(failure(() -> set_value!(network, :hiden, :tau, 3)), wrong, "hidden")
        @test says(failure(() -> set_value!(network, :hidden, :tua, 3)), wrong, "tau")
        set_value!(network, :hidden, :surrogate, :atan)
        set_value!(network, :hidden, :detach_reset, true)
        @test value(network, :hidden, :surrogate) == Synfire.LibSynfire.SYNFIRE_SURROGATE_ATAN
        @test value(network, :hidden, :detach_reset) == 1
        @test_throws ArgumentError set_value!(network, :hidden, :surrogate, :atam)
        @test_throws ArgumentError set_value!(network, :hidden, :tau, :atan)
        build!(network)
        @test says(failure(() -> build!(network)), early, "SYN-NETWORK")
        @test says(failure(() -> Synapse(network, :firts)), wrong, "first")
        @test says(failure(() -> Synapse(network, :hidden)), wrong, "hidden")
        @test says(failure(() -> Buffer(network, :inputs)), wrong, "input")
        @test says(failure(() -> Graph(network, :training)), early, "SYN-NETWORK")
        @test_throws ArgumentError Graph(network, :learning)
        # Rows that do not fit the labels or the inputs.
        @test says(failure(() -> set_data!(network, :training, zeros(Float32, 3, 2), [0, 1])), wrong, "SYN-BUFFER-SHAPE")
        @test says(failure(() -> set_data!(network, :training, zeros(Float32, 6, 2), [0, 1])), wrong, "SYN-BUFFER-SHAPE")
        @test_throws DimensionMismatch set_data!(network, :training, zeros(Float32, 11), [0, 1])
        @test_throws DimensionMismatch set_data!(network, :training, zeros(Float32, 5, 3), [0, 1])
        # Labels that are not classes, and those that count from 1.
        rates = zeros(Float32, 5, 2)
        @test says(failure(() -> set_data!(network, :training, rates, [0, 2])), wrong, "row 1")
        @test_throws ArgumentError set_data!(network, :training, rates, [1, 2])
        @test_throws ArgumentError set_data!(network, :training, rates, [1, 1])
        set_data!(network, :training, rates, [1, 1]; first_label=0)
        set_data!(network, :training, rates, [1, 2]; first_label=1)
        set_data!(network, :evaluation, rates, [1, 1])
        @test_throws InexactError set_data!(network, :training, rates, [0, 1]; first_label=1)
        @test occursin("hidden", summary_of(network)) && startswith(dot(network), "digraph")
    end
end

@testset "files" begin
    Context(backend=:host) do context
        network, other = built_network(context), built_network(context)
        train!(network, 2)
        expected, file = evaluate(network).loss, save_to_memory(network)
        wrong = Synfire.LibSynfire.SYNFIRE_ERROR_INVALID_ARGUMENT
        @test failure(() -> load_from_memory!(other, file[2:end])).status == wrong
        @test evaluate(other).loss != expected
        @test evaluate(load_from_memory!(other, file)).loss == expected
        mktempdir() do folder
            path = joinpath(folder, "n"^150)
            save(network, path)
            @test read(path) == file
            @test save_to_memory(Network(context, path)) == file
            @test save_to_memory(Network(context, file)) == file
            @test length(Buffer(Network(context, path; inference=true, batch=1), :output)) == 2
            # A network for a loop, which replaces what is not finite and counts it.
            looped = Network(context, file; replace_nonfinite=true)
            broken, scores = Float32[0.5, NaN, 0, Inf, 1], zeros(Float32, 2)
            infer!(looped, Buffer(context, broken; memory=:host), 1, Buffer(context, scores; memory=:host))
            @test hostarray(Buffer(looped, :n_replaced)) == [2]
            # A program asks for arrays, monitors, and readouts that continue.
            watched = Network(context, file; keep="hidden.v hidden.counts hidden.monitor", continues=true)
            @test length(Buffer(watched, "hidden.v")) > 0
            hidden = monitor(watched, :hidden, true)
            @test hidden.replays == 0 && isnan(hidden.weight_norm)
            for (call, rule) in ((() -> Buffer(network, "hidden.v"), "SYN-NETWORK-NOT-KEPT"),
                                 (() -> network_keep!(network, "hidden.v"), "SYN-NETWORK-BUILT"),
                                 (() -> monitor(watched, :scores), "SYN-NETWORK-MONITOR"))
                @test failure(call).rule == rule
            end
            @test occursin("did you mean \"hidden.spikes\"", failure(() -> Network(context, file; keep="hidden.spike")).text)
            train!(network, 2)
            @test save_to_memory(load!(network, path)) == file
            @test failure(() -> load!(network, path * "m")).status == wrong
        end
    end
end

# The file with another header, in which a text stands for another.
function with_header(file, change)
    last = 8 + Int(reinterpret(UInt64, file[1:8])[1])
    header = String(file[9:last])
    changed = replace(header, change; count=1)
    @test changed != header
    return vcat(collect(reinterpret(UInt8, [UInt64(sizeof(changed))])), codeunits(changed), file[last+1:end])
end

@testset "bad files change nothing" begin
    Context(backend=:host) do context
        network = built_network(context)
        train!(network, 1)
        file = save_to_memory(network)
        other = Network(context; steps=4, batch=3)
        add_input!(other, :rates, :rates, 5)
        says(problem, name, word) = status_name(problem.status) == name && occursin(word, sprint(showerror, problem))
        early, wrong = "SYNFIRE_ERROR_WRONG_ORDER", "SYNFIRE_ERROR_INVALID_ARGUMENT"
        # Stages that do not chain.
        @test says(failure(() -> add_neurons!(other, :hidden, :lif)), early, "rates")
        @test says(failure(() -> add_loss!(other, :loss, :cross_entropy)), early, "SYN-NETWORK")
        add_synapse!(other, :first, 7)
        add_neurons!(other, :hidden, :lif)
        build!(other)
        for (bytes, rule) in ((save_to_memory(other), "SYN-NETWORK-OTHER"), (file[1:end-1], "SYN-FILE-"),
                              (file[1:100], "SYN-FILE-"), (vcat(fill(0xff, 8), file[9:end]), "SYN-FILE-LENGTH"),
                              (with_header(file, "\"shape\":[6,5]" => "\"shape\":[4611686018427387904,4]"), "SYN-FILE-"),
                              (with_header(file, "kind=neurons" => "kind=words"), "SYN-NETWORK-FILE"))
            @test says(failure(() -> load_from_memory!(network, bytes)), wrong, rule)
            @test save_to_memory(network) == file
            rule == "SYN-NETWORK-OTHER" || @test says(failure(() -> Network(context, bytes)), wrong, rule)
        end
        # The list of words that a network names is that after which its last neurons are called.
        @test says(failure(() -> Layer(network, :digits)), wrong, "potentials")
    end
end

@testset "two tasks" begin
    Context(backend=:host) do context
        network = built_network(context)
        function train_often()
            problems = Any[]
            for _ in 1:20
                try
                    train!(network)
                catch problem
                    push!(problems, problem)
                end
            end
            return problems
        end
        tasks = map(_ -> Threads.@spawn(train_often()), 1:2)
        problems = vcat(fetch.(tasks)...)
        @test all(problem -> problem isa SynfireError && status_name(problem.status) == "SYNFIRE_ERROR_BUSY", problems)
        @test evaluate(network).counted == 7
    end
end
