# network.jl - what networks have beside the functions of the C library: data from arrays, results as fractions, texts.
#
# SPDX-License-Identifier: MIT

"""
    set_data!(network, set, inputs, labels; first_label=nothing)

Sets the `:training` or `:evaluation` data from arrays with rows as their last dimension: `inputs` `[K, R]` of rates, or
`[K, T, R]`; one label for each row, or `[T, R]`. Both are copied. Packed spikes are `UInt32`.

The labels are the numbers of classes from `first_label` on: 0, or 1 as Julia counts. It is subtracted from every label,
from the one to ignore too. `nothing` is 0, but training data whose labels have no 0 are refused, because they look like
labels that count from 1: `first_label` says what is meant.
"""
function set_data!(network::Network, set, inputs::AbstractArray, labels::AbstractArray{<:Integer}; first_label=nothing)
    n_rows = size(inputs, ndims(inputs))
    size(labels, ndims(labels)) == n_rows ||
        throw(DimensionMismatch("inputs of size $(size(inputs)) and labels of size $(size(labels)); allowed: as many " *
                                "rows, which are the last dimension"))
    first_label === nothing && Symbol(set) === :training && !isempty(labels) && minimum(labels) > 0 &&
        throw(ArgumentError("labels from $(minimum(labels)) to $(maximum(labels)), without a 0; allowed: " *
                            "first_label=1 if they count from 1, first_label=0 if class 0 does not occur"))
    shifted = something(first_label, 0) == 0 ? labels : labels .- first_label
    Buffer(network.context, inputs; memory=:host) do rows
        Buffer(network.context, convert(Array{UInt32}, shifted); memory=:host, dtype=:u32) do numbers
            set_data!(network, set, n_rows, rows; labels=numbers)
        end
    end
    return network
end

"""
    evaluate(network, inputs, labels; first_label=nothing) -> NamedTuple

Evaluates rows with one label each, from arrays as [`set_data!`](@ref) takes them; they become the evaluation data.
"""
evaluate(network::Network, inputs::AbstractArray, labels::AbstractArray{<:Integer}; first_label=nothing) =
    evaluate(set_data!(network, :evaluation, inputs, labels; first_label=first_label))

"""
    infer(network, inputs) -> Array

Computes the output for rows of inputs, which are the last dimension of the array, and returns `[C, R]`, or `[C, T, R]` with a
readout of every step. Packed spikes are `UInt32`.
"""
function infer(network::Network, inputs::AbstractArray)
    input, output = Buffer(network, :input), Buffer(network, :output)
    n_rows, row = size(inputs, ndims(inputs)), size(input, 1) * size(input, 3)
    n_rows > 0 && length(inputs) == n_rows * row ||
        throw(DimensionMismatch("inputs of size $(size(inputs)); allowed: rows of $row elements, which are the last " *
                                "dimension"))
    n_steps = size(output, 3)
    outputs = zeros(eltype(output), (n_steps == 1 ? (size(output, 1),) : (size(output, 1), n_steps))..., n_rows)
    Buffer(network.context, inputs; memory=:host) do rows
        Buffer(network.context, outputs; memory=:host) do results
            infer!(network, rows, n_rows, results)
            copyto!(outputs, results)
        end
    end
    return outputs
end

"""
    set_value!(network, stage, name, symbol)

Sets a value of a stage to a constant: `set_value!(network, :hidden, :surrogate, :atan)`.
"""
function set_value!(network::Network, stage, name::Union{Symbol,AbstractString}, value::Symbol)
    names = (dtype=LibSynfire.dtype_names, reset=LibSynfire.reset_names, surrogate=LibSynfire.surrogate_names,
             tape=LibSynfire.tape_names, initialization=LibSynfire.initialization_names,
             schedule=LibSynfire.schedule_names)
    haskey(names, Symbol(name)) ||
        throw(ArgumentError("$name = :$value; allowed: a number; symbols for $(join(keys(names), ", "))"))
    return set_value!(network, stage, name, constant(String(name), names[Symbol(name)], value))
end

has_delay(source) = source isa Pair && source.second isa Integer

"""
    add_stage!(network, kind, name; reads=nothing, values...)

Adds a stage of any kind, with its values as keywords:

    add_stage!(network, :synapse, :second; reads=:hidden, n_outputs=3, initialization=:normal)
    add_stage!(network, :readout, :mean; reads=:hidden => :spikes, reduction=:mean)
    add_stage!(network, :synapse, :back; reads=:hidden => 1, n_outputs=3)

The functions that add one kind of stage say which values there are; what they take by position has the name that it has
there, `kind`, `n_features`, `n_outputs`, `model`, `reduction` and `of_spikes`. `reads` is the name of a stage that was
added before, or a name and a port (`:spikes` or `:v` of neurons), or a name and a delay in steps, or a tuple of these. With
a delay, a synapse, a convolution or a scale may name neurons that are added later. Default: the stage before. A value is a
number, a `Bool`, or the name of a constant.
"""
function add_stage!(network::Network, kind::Union{Symbol,AbstractString}, name::Union{Symbol,AbstractString};
                    reads=nothing, values...)
    operands = Operands(network.context)
    sources = reads === nothing ? () : reads isa Union{Symbol,AbstractString,Pair} ? (reads,) : reads
    inputs = list!(operands, LibSynfire.synfire_stage_input,
                   [LibSynfire.synfire_stage_input(
                        stage=text!(operands, source isa Pair ? source.first : source),
                        port=text!(operands, has_delay(source) || !(source isa Pair) ? nothing : source.second),
                        delay=has_delay(source) ? source.second : 0)
                    for source in sources])
    given = list!(operands, LibSynfire.synfire_stage_value,
                  [LibSynfire.synfire_stage_value(
                       name=text!(operands, own),
                       text=text!(operands, value isa Union{Symbol,AbstractString} ? value : nothing),
                       number=value isa Union{Symbol,AbstractString} ? 0.0 : Float64(value))
                   for (own, value) in pairs(values)])
    desc = Ref(LibSynfire.synfire_stage_desc(kind=text!(operands, kind), name=text!(operands, name),
                                             inputs=pointer_or_null(inputs), n_inputs=length(inputs),
                                             values=pointer_or_null(given), n_values=length(given)))
    GC.@preserve operands check(LibSynfire.synfire_network_add_stage(network, desc))
    return network
end

"""
    train_stages!(network, losses, n_batches=0) -> NamedTuple

Trains, as [`train!`](@ref), and returns its result with one more member, `losses`: the `stage`, `loss`, `counted` and
`correct` of each of these losses.
"""
train_stages!(network::Network, losses, n_batches::Integer=0) =
    results_of(network, losses) do list, result
        LibSynfire.synfire_network_train_stages(network, whole_size("n_batches", n_batches), list, length(list), result)
    end

"""
    evaluate_stages(network, losses) -> NamedTuple

Evaluates, as [`evaluate`](@ref), and returns its result with one more member, `losses`: the `stage`, `loss`, `counted` and
`correct` of each of these losses.
"""
evaluate_stages(network::Network, losses) =
    results_of(network, losses) do list, result
        LibSynfire.synfire_network_evaluate_stages(network, list, length(list), result)
    end

function results_of(call, network::Network, losses)
    operands = Operands(network.context)
    list = [LibSynfire.synfire_stage_result(stage=text!(operands, loss), loss=0.0, n_counted=0, n_correct=0)
            for loss in losses]
    result = Ref(LibSynfire.synfire_network_result())
    GC.@preserve operands check(call(list, result))
    of_losses = [(stage=Symbol(loss), loss=one.loss, counted=Int(one.n_counted), correct=Int(one.n_correct))
                 for (loss, one) in zip(losses, list)]
    whole = result[]
    return (loss=whole.loss, counted=Int(whole.n_counted), correct=Int(whole.n_correct), batches=Int(whole.n_batches),
            skipped=Int(whole.n_skipped), epoch=Int(whole.epoch), batch=Int(whole.batch),
            replaced=Int(whole.n_replaced), rate_loss=whole.rate_loss, losses=of_losses)
end

"""
    Network(context, path; inference=false, replace_nonfinite=false, continues=false, keep="", steps=0, batch=0, slots=0)
    Network(context, file; ...)

The network of a file that [`save`](@ref) has written, or of the bytes that [`save_to_memory`](@ref) has returned: built,
and with all that the file has. `inference=true` leaves the loss and the optimiser out; `replace_nonfinite=true`
gives the input this value, even if the input of the file does not have it, and `continues=true` the readouts theirs.
`keep` has the names of arrays to keep, as [`network_keep!`](@ref) takes them. The others may differ from the file; 0 is
that of the file.
"""
function Network(context::Context, path::AbstractString; keywords...)
    network = Ref(LibSynfire.synfire_network(C_NULL))
    with_file_desc(; keywords...) do desc
        check(LibSynfire.synfire_network_create_from_file(context, String(path), desc, network))
    end
    return Network(context, network[])
end
function Network(context::Context, file::Vector{UInt8}; keywords...)
    network = Ref(LibSynfire.synfire_network(C_NULL))
    with_file_desc(; keywords...) do desc
        check(LibSynfire.synfire_network_create_from_memory(context, file, length(file), desc, network))
    end
    return Network(context, network[])
end
# The descriptor has the address of a text, which lives as long as the call.
function with_file_desc(create; inference::Bool=false, replace_nonfinite::Bool=false, continues::Bool=false,
                        keep::Union{Symbol,AbstractString}="", steps::Integer=0, batch::Integer=0, slots::Integer=0)
    names = String(keep)
    '\0' in names && throw(ArgumentError("keep contains a null character"))
    GC.@preserve names begin
        create(Ref(LibSynfire.synfire_network_file_desc(
            inference=inference, replace_nonfinite=replace_nonfinite, continues=continues,
            keep=isempty(names) ? C_NULL : pointer(names), n_steps=whole_size("steps", steps),
            batch=whole_size("batch", batch), n_slots=whole_size("slots", slots))))
    end
end

"""
    save_to_memory(network) -> Vector{UInt8}

The bytes of the file that [`save`](@ref) writes.
"""
function save_to_memory(network::Network)
    bytes = Ref{UInt64}(0)
    check(LibSynfire.synfire_network_save_to_memory(network, C_NULL, bytes))
    file = Vector{UInt8}(undef, bytes[])
    check(LibSynfire.synfire_network_save_to_memory(network, file, bytes))
    return file
end

"""
    load_from_memory!(network, file)

Loads what [`save_to_memory`](@ref) has returned into a network with the same stages.
"""
function load_from_memory!(network::Network, file::Vector{UInt8})
    check(LibSynfire.synfire_network_load_from_memory(network, file, length(file)))
    return network
end

"""
    open_data!(network, set, files; readers=0, block_rows=0, window_blocks=0)

Sets data that stay in files, and that may be larger than memory. `files` is a collection of named tuples of `role`, `path`
and, if need be, `tensor` and `stage`; the rows of several files of an array follow each other. A path is that of an array of
NumPy, or that of a safetensors file or of the index of its shards, of which `tensor` names an array.

A block is `block_rows` rows that follow each other; the training rows of an epoch are permuted in windows of `window_blocks`
blocks. `readers` threads (`n_readers` of the C ABI) read ahead. 0 is the default of each.

    open_data!(network, :training, [(role=:inputs, path="rows.npy"),
                                    (role=:labels, path="rows.safetensors", tensor="labels")])
"""
function open_data!(network::Network, set, files; readers::Integer=0, block_rows::Integer=0, window_blocks::Integer=0)
    operands = Operands(network.context)
    list = list!(operands, LibSynfire.synfire_data_file, [
        LibSynfire.synfire_data_file(path=text!(operands, entry.path), tensor=text!(operands, get(entry, :tensor, nothing)),
                                     stage=text!(operands, get(entry, :stage, nothing)),
                                     role=constant("role", LibSynfire.array_names, entry.role))
        for entry in files])
    desc = Ref(LibSynfire.synfire_network_data_desc(n_readers=whole_size("readers", readers),
                                                    block_rows=whole_size("block_rows", block_rows),
                                                    window_blocks=whole_size("window_blocks", window_blocks)))
    GC.@preserve operands check(LibSynfire.synfire_network_open_data(network, constant("set", LibSynfire.data_names, set),
                                                                     list, length(list), desc))
    return network
end

"""
    load_arrays!(network, path, sources; leave_out=false) -> Vector{String}
    load_arrays!(network, file, sources; ...)

Loads arrays of any safetensors file, or of its bytes, such as what [`save_to_memory`](@ref) of another network has returned.
Each of the sources is a name that both have, or `theirs => ours`; with a layout, `(theirs, layout) => ours`; `sources` may be
a single one. All other arrays stay as they are, and everything is checked before anything changes. With `leave_out=true`,
tensors that the file does not have, or has in another shape, are left out; returns the names of the arrays of the network
that they were for.

    load_arrays!(network, "torch.safetensors", ["fc.weight" => "hidden.weights", ("conv.weight", :oihw) => "conv.weights"])
"""
load_arrays!(network::Network, path::AbstractString, sources; leave_out::Bool=false) =
    take_arrays(network, sources) do list
        LibSynfire.synfire_network_load_arrays(network, String(path), list, length(list), leave_out)
    end
load_arrays!(network::Network, file::Vector{UInt8}, sources; leave_out::Bool=false) =
    take_arrays(network, sources) do list
        LibSynfire.synfire_network_load_arrays_from_memory(network, file, length(file), list, length(list), leave_out)
    end

const Word = Union{Symbol,AbstractString}

# Theirs, the layout and ours. The values decide: in a list of several kinds of pairs, their types are Pair{Any,String}.
array_names(source) = source isa Pair ? array_names(source, source.first, source.second) : array_names(source, source, source)
array_names(::Any, theirs::Word, ours::Word) = (theirs, nothing, ours)
array_names(::Any, theirs::Tuple{Word,Word}, ours::Word) = (theirs..., ours)
array_names(source, theirs, ours) =
    throw(ArgumentError("a source is $(repr(source)); allowed: a name, theirs => ours, and (theirs, layout) => ours"))

function take_arrays(call, network::Network, sources)
    operands = Operands(network.context)
    # A Pair and a text are collections too, of other things.
    names = [array_names(source) for source in (sources isa Union{Word,Pair} ? (sources,) : sources)]
    list = LibSynfire.synfire_array_source[]
    for (theirs, layout, ours) in names
        push!(list, LibSynfire.synfire_array_source(theirs=text!(operands, theirs), ours=text!(operands, ours),
                                                    layout=text!(operands, layout), is_loaded=0))
    end
    GC.@preserve operands check(call(list))
    return String[String(ours) for ((_, _, ours), one) in zip(names, list) if one.is_loaded == 0]
end

"""
    accuracy(result) -> Float64

The part of the samples that were predicted right, from what [`train!`](@ref) or [`evaluate`](@ref) returned; 0 if no
sample counted.
"""
accuracy(result::NamedTuple) = result.counted == 0 ? 0.0 : result.correct / result.counted

function network_text(write, network::Network)
    bytes = Ref{UInt64}(0)
    check(write(network, C_NULL, bytes))
    text = Vector{UInt8}(undef, bytes[])
    check(write(network, text, bytes))
    return String(resize!(text, max(0, Int(bytes[]) - 1)))
end

"""
    summary_of(network) -> String

A table of the stages, and the bytes that the parts of the network take.
"""
summary_of(network::Network) = network_text(LibSynfire.synfire_network_write_summary, network)

"""
    dot(network) -> String

The stages as text in the DOT language of Graphviz.
"""
dot(network::Network) = network_text(LibSynfire.synfire_network_write_dot, network)
