# Texts about networks.
#
# The parts of a network have handles in LibSynfire: synfire_network_get_synapse, synfire_network_get_layer,
# synfire_network_get_optimizer, synfire_network_get_buffer and synfire_network_get_graph.
#
# SPDX-License-Identifier: MIT

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
