# layer.jl - a neuron model with a fixed shape, its parameters, its state, and buffers that fit it.
#
# SPDX-License-Identifier: MIT

"""
    Layer(context; steps, neurons, batch=1, model=:lif, dtype=:f32, reset=:hard, surrogate=:default, detach_reset=false,
          undecayed_input=false, strict_threshold=false, refractory_steps=0, history_steps=0, threads_per_block=0,
          parameters...)
    Layer(f, context; ...)

A neuron model with a fixed shape: `steps` T of one forward, `neurons` N, `batch` rows that share the parameters.

- `model`: `:if`, `:lif`, `:plif`, `:qif`, `:eif`, `:izhikevich`, `:li`, `:lif_exact`, `:li_exact`, `:cuba_lif`, `:cuba_li`,
  `:cuba_lif_exact`, `:cuba_li_exact`, `:integrator`, `:alif`; one that was added to the library by its name, a string;
  a [`LoadedModel`](@ref)
- `surrogate`: `:sigmoid` (the default), `:atan` and fifteen others, or a [`LoadedSurrogate`](@ref); its parameters are
  parameters of the layer
- `reset`: `:hard`, `:soft` or `:soft_delayed`; `detach_reset=true` keeps gradients from flowing through the reset
- `strict_threshold=true`: a neuron fires above its threshold, not at it
- `refractory_steps`: steps after a spike in which V stays as the reset left it, and nothing fires
- `history_steps`: steps of its own spikes that the layer keeps as a part of its state, for a recurrent synapse
- `dtype`: the type of the sequences, as a symbol ([`Buffer`](@ref) lists them)
- `threads_per_block`: CUDA threads of one block of its kernels, to measure with: 32, 64, 96 or 128; 0: as was measured best
- every other keyword is a parameter: `tau=20.0`, or one value per neuron

`neurons` may be a tuple, the shape of one step: calls then take and give arrays of that shape, time last.

Parameters are read and set by indexing, at any time, without recording again:

```julia
layer = Layer(context; steps=16, neurons=128, tau=20.0)
layer[:tau] = 10.0                 # one number
layer[:v_threshold] = ones(128)    # one per neuron
layer[:tau]
```
"""
mutable struct Layer <: Handle
    handle::LibSynfire.synfire_layer
    is_open::Threads.Atomic{Int}
    context::Context
    neurons::Int
    steps::Int
    batch::Int
    model::Symbol
    dtype::Symbol
    n_forwards::Int     # changes with each forward that this package starts: tells whose tape it is
    workspace::Any      # of call.jl; nothing before the first call
    is_part::Bool       # of another object, whose graphs run it too

    function Layer(context::Context; steps::Integer, neurons, batch::Integer=1, model=:lif, dtype=:f32, reset=:hard,
                   surrogate=:default, detach_reset::Bool=false, undecayed_input::Bool=false,
                   strict_threshold::Bool=false, refractory_steps::Integer=0, history_steps::Integer=0,
                   threads_per_block::Integer=0, parameters...)
        desc = layer_desc(neurons, steps, model, batch, dtype, reset, surrogate, detach_reset, undecayed_input,
                          strict_threshold, refractory_steps, history_steps, threads_per_block)
        handle = Ref(LibSynfire.synfire_layer(C_NULL))
        GC.@preserve model surrogate check(LibSynfire.synfire_layer_create(context, desc, handle))
        layer = adopt(new(handle[], Threads.Atomic{Int}(1), context, prod(neurons), steps, batch,
                          constant_name(LibSynfire.model_names, desc[].model),
                          constant_name(LibSynfire.dtype_names, desc[].dtype), 0, nothing, false))
        try
            set_keywords!(layer, parameters)
            isempty(parameters) || reset_state!(layer)    # a v_reset given here is where V starts
        catch
            close(layer)
            rethrow()
        end
        return layer
    end

    # Takes over a handle that another object gave.
    function Layer(context::Context, handle::LibSynfire.synfire_layer)
        desc = Ref(LibSynfire.synfire_layer_desc())
        check(LibSynfire.synfire_layer_get_desc(handle, desc))
        return adopt(new(handle, Threads.Atomic{Int}(1), context, desc[].n_neurons, desc[].n_steps, desc[].batch,
                         constant_name(LibSynfire.model_names, desc[].model),
                         constant_name(LibSynfire.dtype_names, desc[].dtype), 0, nothing, true))
    end
end

const layer_options = (:steps, :neurons, :batch, :model, :dtype, :reset, :surrogate, :detach_reset, :undecayed_input,
                       :strict_threshold, :refractory_steps, :history_steps, :threads_per_block)

# Every keyword that is not an option is a parameter; the error for one that is neither lists both.
function set_keywords!(layer::Layer, parameters)
    for (name, value) in pairs(parameters)
        try
            layer[name] = value
        catch thrown
            thrown isa SynfireError && thrown.rule == "SYN-PARAMETER-NAME" || rethrow()
            throw_unknown((; name => value), (layer_options..., keys(layer)...))
        end
    end
end

Layer(f, context::Context; keywords...) = with_handle(f, Layer(context; keywords...))

# Which of two numbers is which can be read from a name only.
Layer(context::Context, neurons, steps; keywords...) = throw_unnamed("Layer", "context", neurons, steps)
Layer(f, context::Context, neurons, steps; keywords...) = throw_unnamed("Layer", "f, context", neurons, steps)
function throw_unnamed(call, first, neurons, steps)
    before = isempty(first) ? "" : "$first, "
    throw(ArgumentError("$call($before$neurons, $steps) does not name its numbers; allowed: " *
                        "$call($first; steps=$steps, neurons=$neurons)"))
end

function layer_desc(neurons, steps, model, batch, dtype, reset, surrogate, detach_reset, undecayed_input,
                    strict_threshold, refractory_steps, history_steps, threads_per_block)
    model isa AbstractString && (model = model_id(model))
    surrogate isa AbstractString && (surrogate = surrogate_id(surrogate))
    return Ref(LibSynfire.synfire_layer_desc(
        model=constant("model", LibSynfire.model_names, model), n_steps=whole_size("steps", steps),
        n_neurons=whole_size("neurons", neurons), batch=whole_size("batch", batch),
        dtype=constant("dtype", LibSynfire.dtype_names, dtype),
        reset=constant("reset", LibSynfire.reset_names, reset),
        surrogate=constant("surrogate", LibSynfire.surrogate_names, surrogate), detach_reset=detach_reset,
        undecayed_input=undecayed_input, threads_per_block=threads_per_block, strict_threshold=strict_threshold,
        refractory_steps=refractory_steps, history_steps=history_steps))
end

destroy(::Layer, handle) = LibSynfire.synfire_layer_destroy(handle)

"""
    query_memory(; steps, neurons, batch=1, model=:lif, ...) -> NamedTuple

The bytes a [`Layer`](@ref) with these arguments takes on its device, before anything is allocated: `state_bytes`,
`parameter_bytes` and `tape_bytes`; added when first needed, `per_neuron_parameter_bytes`, `gradient_bytes`,
`per_neuron_gradient_bytes`, `stored_tape_bytes`, `narrow_tape_bytes`, `narrow_tape_spike_bytes`,
`synapse_tape_bytes` and `recurrent_tape_bytes`; added with each parameter that becomes one number per neuron, `per_neuron_value_bytes`. And
`checkpoint_interval`, the steps between two checkpoints of V on the tape.
"""
function query_memory(; steps::Integer, neurons, batch::Integer=1, model=:lif, dtype=:f32, reset=:hard,
                      surrogate=:default, detach_reset::Bool=false, undecayed_input::Bool=false,
                      strict_threshold::Bool=false, refractory_steps::Integer=0, history_steps::Integer=0,
                      threads_per_block::Integer=0)
    desc = layer_desc(neurons, steps, model, batch, dtype, reset, surrogate, detach_reset, undecayed_input,
                      strict_threshold, refractory_steps, history_steps, threads_per_block)
    memory = Ref(LibSynfire.synfire_layer_memory())
    GC.@preserve model surrogate check(LibSynfire.synfire_layer_query_memory(desc, memory))
    names = filter(name -> name !== :struct_size, fieldnames(LibSynfire.synfire_layer_memory))
    return NamedTuple{names}(map(name -> Int(getfield(memory[], name)), names))
end

query_memory(neurons, steps; keywords...) = throw_unnamed("query_memory", "", neurons, steps)

# ---- Parameters and state --------------------------------------------------------------------------------------------

"""
    layer[name] = value

Sets a parameter to one number, or to one per channel or per neuron. The next launch sees it; a tape left by an earlier
forward becomes stale.
"""
function Base.setindex!(layer::Layer, value::Real, name::Union{Symbol,AbstractString})
    check(LibSynfire.synfire_layer_set_parameter(layer, String(name), Ref(Float64(value)), 1))
    return layer
end
function Base.setindex!(layer::Layer, values::AbstractVector{<:Real}, name::Union{Symbol,AbstractString})
    numbers = convert(Vector{Float64}, values)
    check(LibSynfire.synfire_layer_set_parameter(layer, String(name), numbers, length(numbers)))
    return layer
end

"""
    layer[name]

A parameter: a `Float64`, or a `Vector{Float64}` when it is one number per channel or per neuron.
"""
function Base.getindex(layer::Layer, name::Union{Symbol,AbstractString})
    one = Ref(0.0)
    LibSynfire.synfire_layer_get_parameter(layer, String(name), one, 1) >= 0 && return one[]
    # A second name of a parameter, as tau of PLIF, is not listed.
    lengths = [info.length for info in parameters(layer) if info.name === Symbol(name)]
    many = Vector{Float64}(undef, isempty(lengths) ? layer.neurons : lengths[1])
    check(LibSynfire.synfire_layer_get_parameter(layer, String(name), many, length(many)))
    return many
end

"""
    ParameterInfo

One parameter of a layer: `name`, `length` (1, C or N values held), `default`, `minimum`, `maximum` and `is_open`, true
when the minimum itself is not allowed.
"""
struct ParameterInfo
    name::Symbol
    length::Int
    default::Float64
    minimum::Float64
    maximum::Float64
    is_open::Bool
end

"""
    parameters(layer) -> Vector{ParameterInfo}

The parameters of a layer, in the model's documented order, the surrogate's last.
"""
function parameters(layer::Layer)
    found = ParameterInfo[]
    info = Ref(LibSynfire.synfire_parameter_info())
    raw(layer)
    while LibSynfire.synfire_layer_get_parameter_info(layer, length(found), info) >= 0
        p = info[]
        push!(found, ParameterInfo(Symbol(unsafe_string(p.name)), p.length, p.default_value, p.minimum, p.maximum,
                                   p.open_range != 0))
    end
    return found
end

Base.keys(layer::Layer) = Symbol[info.name for info in parameters(layer)]

"""
    reset_state!(layer; stream=nothing)

Puts the state back to its start: V = `v_reset` under hard reset, 0 under soft reset; W = 0.
"""
function reset_state!(layer::Layer; stream=nothing)
    check(LibSynfire.synfire_layer_reset_state(layer, stream_pointer(stream)))
    return layer
end

state_type(layer::Layer) = layer.dtype === :f64 ? Float64 : Float32
state_dims(layer::Layer) = layer.batch == 1 ? (layer.neurons,) : (layer.neurons, layer.batch)

"""
    state(layer, name=:v) -> Array

A copy of the state `:v`, or `:w` in models with two variables: `[N]`, or `[N, batch]`.
"""
function state(layer::Layer, name=:v)
    values = Array{state_type(layer)}(undef, state_dims(layer))
    check(LibSynfire.synfire_layer_read_state(layer, String(name), values, sizeof(values)))
    return values
end

"""
    state!(layer, name, values)

Writes the state `:v`, or `:w` in models with two variables.
"""
function state!(layer::Layer, name, values::AbstractArray)
    eltype(values) === state_type(layer) ||
        throw(ArgumentError("a state of $(eltype(values)); allowed: $(state_type(layer))"))
    GC.@preserve values check(LibSynfire.synfire_layer_write_state(layer, String(name), memory_pointer(values),
                                                                   sizeof(eltype(values)) * length(values)))
    return layer
end

function Base.show(io::IO, layer::Layer)
    print(io, "Layer :", layer.model, ", ", layer.neurons, " neurons, ", layer.steps, " steps")
    layer.batch == 1 || print(io, ", batch of ", layer.batch)
    isopen(layer) || print(io, " (closed)")
end

# ---- Buffers that fit ------------------------------------------------------------------------------------------------

sequence_dims(layer::Layer) = (state_dims(layer)..., layer.steps)

"""
    sequence_buffer(layer; memory=:device, dtype=..., row_pitch=0) -> Buffer

A buffer for a sequence of a layer, `[N, T]` or `[N, batch, T]`: X, V, H, their gradients.
"""
sequence_buffer(layer::Layer; memory=:device, dtype=layer.dtype, row_pitch=0) =
    Buffer{element_type(dtype)}(layer.context, sequence_dims(layer)...; memory=memory, dtype=dtype, row_pitch=row_pitch)

"""
    state_buffer(layer; memory=:device) -> Buffer

A buffer for a state of a layer, `[N]` or `[N, batch]`.
"""
state_buffer(layer::Layer; memory=:device) =
    Buffer{state_type(layer)}(layer.context, state_dims(layer)...; memory=memory)

"""
    spike_buffer(layer; memory=:device, dtype=:bits) -> Buffer

A buffer for the spikes of a layer. As `:bits` it has `cld(N, 32)` words of 32 neurons a step, `[words, T]` or `[words,
batch, T]`: bit i of word w (both counted from 0) is neuron 32w + i. As `:time_bits` it has `cld(T, 32)` words of 32
steps for each neuron, `[N, words]`. With any other `dtype` it is as long as X.
"""
function spike_buffer(layer::Layer; memory=:device, dtype=:bits)
    dims = sequence_dims(layer)
    dtype === :bits && (dims = (cld(layer.neurons, 32), Base.tail(dims)...))
    dtype === :time_bits && (dims = (Base.front(dims)..., cld(layer.steps, 32)))
    return Buffer{element_type(dtype)}(layer.context, dims...; memory=memory, dtype=dtype)
end

"""
    isspike(words, neuron, step, row=1) -> Bool

True if a neuron fired, from words of 32 neurons as [`spike_buffer`](@ref) has them; all counted from 1.
"""
Base.@propagate_inbounds isspike(words::AbstractMatrix{UInt32}, neuron::Integer, step::Integer) =
    isodd(words[(neuron - 1) >> 5 + 1, step] >> ((neuron - 1) & 31))
Base.@propagate_inbounds isspike(words::AbstractArray{UInt32,3}, neuron::Integer, step::Integer, row::Integer=1) =
    isodd(words[(neuron - 1) >> 5 + 1, row, step] >> ((neuron - 1) & 31))
