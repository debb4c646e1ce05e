# SynfireChainRulesCoreExt.jl - Synfire with ChainRulesCore: layer(x) can be differentiated, so Zygote and Flux train
# through it.
#
# The rule for ChainRulesCore; the arithmetic is in src/call.jl.
#
# SPDX-License-Identifier: MIT
module SynfireChainRulesCoreExt

using Synfire, ChainRulesCore

function ChainRulesCore.rrule(layer::Layer, x::AbstractArray{<:Real}, parameters::NamedTuple)
    spikes, n_forwards = Synfire.call(layer, x, parameters)
    function layer_pullback(grad)
        grad = unthunk(grad)
        grad isa AbstractZero && return (NoTangent(), ZeroTangent(), ZeroTangent())
        grad_x, grads = Synfire.pull_back(layer, n_forwards, grad, parameters)
        tangent = isempty(parameters) ? NoTangent() : Tangent{typeof(parameters)}(; grads...)
        return (NoTangent(), ProjectTo(x)(grad_x), tangent)
    end
    return spikes, layer_pullback
end

function ChainRulesCore.rrule(layer::Layer, x::AbstractArray{<:Real})
    spikes, full_pullback = ChainRulesCore.rrule(layer, x, NamedTuple())
    layer_pullback(grad) = full_pullback(grad)[1:2]
    return spikes, layer_pullback
end

end # module
