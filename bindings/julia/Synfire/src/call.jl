# call.jl - a layer as a function of an array, and what automatic differentiation needs of it.
#
# layer(x) and its pullback work on plain arrays; the rule for ChainRulesCore is in ext/.
#
# SPDX-License-Identifier: MIT

# The buffers of layer(x), made with the first call: f32, which 16-bit layers take too, or f64.
struct Workspace
    x::Buffer
    spikes::Buffer
    grad_spikes::Buffer
    grad_x::Buffer
end

function workspace(layer::Layer)
    layer.workspace === nothing && (layer.workspace = Workspace(
        ntuple(_ -> sequence_buffer(layer; dtype=layer.dtype === :f64 ? :f64 : :f32), 4)...))
    return layer.workspace::Workspace
end

function require_sequence(layer::Layer, what, array)
    if length(array) != prod(sequence_dims(layer)) || ndims(array) == 0 || size(array, ndims(array)) != layer.steps
        throw(DimensionMismatch("$what has size $(size(array)); allowed: $(layer.steps) steps last, with " *
                                "$(layer.neurons * layer.batch) elements each, as $(sequence_dims(layer))"))
    end
end

# Buffers take dense arrays of their element type. Other arrays of real numbers are converted.
dense(E, array::AbstractArray) =
    eltype(array) === E && array isa StridedArray && is_dense(array) ? array : convert(Array{E}, array)

"""
    layer(x) -> spikes
    layer(x, parameters) -> spikes

Returns the spikes, 0 or 1, of a layer at rest with the input `x`, an array of any rank with time as its last dimension. They
come back in the shape of `x`. `parameters`, such as `(tau=2.0, v_threshold=ones(128))`, are set first.

With ChainRulesCore loaded (Zygote and Flux load it) this can be differentiated, by `x` and by `parameters`: the
gradient of a spike is the layer's surrogate. A layer has one tape: in one training step call each layer once, or use
several layers; a pullback whose tape is gone throws [`SynfireError`](@ref) (stale tape) instead of answering a wrong
gradient.
"""
function (layer::Layer)(x::AbstractArray{<:Real}, parameters::NamedTuple=NamedTuple())
    return first(call(layer, x, parameters))
end

# The spikes, and which forward made them.
function call(layer::Layer, x::AbstractArray, parameters::NamedTuple)
    layer.is_part && throw(ArgumentError("layer(x) of a layer whose tape is a network's; allowed: forward!"))
    require_sequence(layer, "x", x)
    space = workspace(layer)
    E = eltype(space.x)
    for (name, value) in pairs(parameters)
        layer[name] = value
    end
    copyto!(space.x, dense(E, x))
    reset_state!(layer)
    forward!(layer; x=space.x, spikes=space.spikes)
    return reshape(Array(space.spikes), size(x)), layer.n_forwards
end

# The gradients of the forward number `n_forwards` by x and by the named parameters.
function pull_back(layer::Layer, n_forwards::Int, grad_spikes::AbstractArray, parameters::NamedTuple)
    if layer.n_forwards != n_forwards
        throw(SynfireError(LibSynfire.SYNFIRE_ERROR_STALE_TAPE, "JULIA-TAPE",
                           "the layer ran forward again after the call that is being differentiated", 0))
    end
    require_sequence(layer, "the gradient of the spikes", grad_spikes)
    space = workspace(layer)
    E = eltype(space.x)
    copyto!(space.grad_spikes, dense(E, grad_spikes))
    outputs = map(value -> Buffer{state_type(layer)}(layer.context, length(value)), parameters)
    try
        backward!(layer; grad_spike_seq=space.grad_spikes, grad_x_seq=space.grad_x, parameter_gradients=outputs)
        grads = map(parameters, outputs) do value, buffer
            grad = convert(Vector{Float64}, Array(buffer))
            value isa Real ? grad[1] : grad
        end
        return reshape(Array(space.grad_x), size(grad_spikes)), grads
    finally
        foreach(close, outputs)
    end
end
