# Synfire.jl - spiking-neuron layers, recorded once and replayed as one graph: the package's own words.
#
# What lives here: what is exported, and what happens when the package is loaded. Each file beside this one is one
# concern.
#
# SPDX-License-Identifier: MIT

"""
Spiking-neuron layers whose forward and backward passes through time are recorded once and replayed as one graph.

```julia
using Synfire

context = Context()                                     # a GPU if one is usable, else the host
lif = Layer(context; steps=16, neurons=128, tau=20.0)
x = sequence_buffer(lif; memory=:pinned)                # Float32 [128, 16]
spikes = spike_buffer(lif; memory=:pinned)              # UInt32 [4, 16], 32 neurons a word
step = record(graph -> forward!(graph, lif; x=x, spikes=spikes), context)

hostarray(x) .= 2 .* rand.(Float32)
ticket = launch!(step)
wait(step, ticket; timeout=1e-3) && hostarray(spikes)
```

Arrays are column-major: `[N, T]` here is the C library's `[T, N]`, the same memory.
"""
module Synfire

export Context, ContextProperties, Buffer, BFloat16, HostArray, Layer, ParameterInfo, Graph, Handle, SynfireError
export properties, synchronize, reclaim, hostarray, mark_written!
export query_memory, parameters, reset_state!, state, state!, sequence_buffer, state_buffer, spike_buffer, isspike
export model_id, surrogate_id
export record, instantiate!, launch!, isdone
export last_operation, set_enabled!, set_value!, rebind!, slot, statistics, reset_statistics!, dot
export accuracy, infer, save_to_memory, load_from_memory!, load_arrays!, open_data!, add_stage!, train_stages!, evaluate_stages
export native!, NativeCall, set_parameters!, set_active_rows!, snapshot, run_forward!, run_backward!
export LoadedModel, LoadedSurrogate, load_info, check_derivatives, source
export memory_use, set_log!, reset_log!
export summary_of, abi_version, version_string, library_path, status_name, live_handles, extension_file

include("LibSynfire.jl")
include("errors.jl")
include("handles.jl")
include("lent.jl")
include("context.jl")
include("buffer.jl")
include("layer.jl")
include("graph.jl")
include("operation.jl")
include("operations.jl")
include("learning.jl")
include("network.jl")
include("loaded.jl")
include("changes.jl")
include("native.jl")
include("spikes.jl")
include("steps.jl")
include("state.jl")
include("call.jl")
include("memory.jl")

"""
    abi_version() -> VersionNumber

The version of the C ABI that the loaded library has.
"""
function abi_version()
    version = LibSynfire.synfire_abi_version()
    return VersionNumber(version >> 16, version & 0xffff)
end

"""
    model_id(name) -> Int
    surrogate_id(name) -> Int

The number of a neuron model, or of a surrogate, by its name in the library: `"lif"`, `"super_spike"`. Those that were
added to the loaded library have no symbol: give the name, a string, or the number to [`Layer`](@ref).
"""
model_id(name::AbstractString) = id_of(LibSynfire.synfire_model_id, name)
surrogate_id(name::AbstractString) = id_of(LibSynfire.synfire_surrogate_id, name)
@doc (@doc model_id) surrogate_id

function id_of(find, name)
    id = Ref{Int32}(0)
    check(find(name, id))
    return Int(id[])
end

"""
    version_string() -> String

Version and build facts of the loaded library.
"""
version_string() = unsafe_string(LibSynfire.synfire_version_string())

"""
    library_path() -> String

The file that the C library was loaded from. The environment variable `SYNFIRE_LIBRARY`, a file or a folder, chooses it;
without that the system's loader does. Throws what was tried when no usable library was found.
"""
function library_path()
    isempty(LibSynfire.loading.path) && LibSynfire.not_loaded()
    return LibSynfire.loading.path
end

"""
    extension_file(package) -> String

The file that makes Synfire work with `"CUDA"` or `"ChainRulesCore"`. From Julia 1.9 on it is loaded by itself with that
package; before, include it after both: `include(extension_file("ChainRulesCore"))`.
"""
function extension_file(package::AbstractString)
    file = normpath(joinpath(@__DIR__, "..", "ext", "Synfire$(package)Ext.jl"))
    isfile(file) || throw(ArgumentError("package = \"$package\"; allowed: \"CUDA\", \"ChainRulesCore\""))
    return file
end

# A missing library is no reason to fail here: a program may want to go on without. The first call tells.
__init__() = (LibSynfire.load(); nothing)

end # module
