# loaded.jl - models and surrogates that are loaded as text at run time, and the kernels of a layer as text.
#
# The C library hears of progress through one function, which catches what the program's throws: no exception crosses a
# frame of C. It ends the load, which then throws it.
#
# SPDX-License-Identifier: MIT

"What [`LoadedModel`](@ref) and [`LoadedSurrogate`](@ref) have in common."
abstract type Loaded <: Handle end

"""
    LoadedModel(context, name, text; cache="", cache_bytes=0, no_cache=false, timeout=60, progress=nothing)
    LoadedModel(context, path; ...)
    LoadedModel(f, context, ...; ...)

A neuron model that is loaded as text, the header that `synfire_add_model` takes, from a string or from a file. It is used
wherever the symbol of a built-in model is. Layers and networks that use it stay valid when it is closed; its name is free
from then on. **Loading runs its author's code in this process, with all its rights.**

- `name`: what the file of the text would be called without `.hpp`, which names the struct: `"klif"` has `struct Klif`
- `cache`: the folder of compiled code, an absolute path; without it that of the environment variable `SYNFIRE_CACHE`, else
  `synfire` in the user's cache folder
- `cache_bytes`: above these, entries that were not used for the longest time are removed; 0: 256 MiB
- `no_cache=true`: no compiled code is read from the cache or stored in it
- `timeout`: seconds after which a compiler that is still at work is ended
- `progress(stage, seconds)`: hears of each stage, `:check`, `:compile` and `:finish`, and about ten times a second while a
  compiler is at work. `false` ends the compiler, and the load fails; anything else goes on. It must not call the library.

A compiler runs unless the cache has the text; its errors have the line numbers of the text.

```julia
klif = LoadedModel(context, "klif.hpp")
layer = Layer(context; model=klif, steps=16, neurons=128, relu_k=1.5)
```
"""
mutable struct LoadedModel <: Loaded
    handle::LibSynfire.synfire_model
    is_open::Threads.Atomic{Int}
    context::Context

    LoadedModel(context::Context, words::AbstractString...; keywords...) =
        adopt(new(load_text(LoadedModel, context, words...; keywords...), Threads.Atomic{Int}(1), context))
end

"""
    LoadedSurrogate(context, name, text; cache="", cache_bytes=0, no_cache=false, timeout=60, progress=nothing)
    LoadedSurrogate(context, path; ...)
    LoadedSurrogate(f, context, ...; ...)

A surrogate that is loaded as text, as [`LoadedModel`](@ref) is a model. It is used wherever the
symbol of a built-in surrogate is.
"""
mutable struct LoadedSurrogate <: Loaded
    handle::LibSynfire.synfire_surrogate
    is_open::Threads.Atomic{Int}
    context::Context

    LoadedSurrogate(context::Context, words::AbstractString...; keywords...) =
        adopt(new(load_text(LoadedSurrogate, context, words...; keywords...), Threads.Atomic{Int}(1), context))
end

LoadedModel(f, context::Context, words::AbstractString...; keywords...) =
    with_handle(f, LoadedModel(context, words...; keywords...))
LoadedSurrogate(f, context::Context, words::AbstractString...; keywords...) =
    with_handle(f, LoadedSurrogate(context, words...; keywords...))

destroy(::LoadedModel, handle) = LibSynfire.synfire_model_destroy(handle)
destroy(::LoadedSurrogate, handle) = LibSynfire.synfire_surrogate_destroy(handle)

Base.show(io::IO, loaded::Loaded) =
    print(io, nameof(typeof(loaded)), " ", isopen(loaded) ? load_info(loaded).name : "(closed)")

# Who hears of a load, and what that threw.
mutable struct Hearing
    progress::Any
    failure::Any
end

# Called by C, on the thread that loads.
function hear(user::Ptr{Cvoid}, stage::Int32, nanoseconds::UInt64)::Int32
    hearing = unsafe_pointer_to_objref(user)::Hearing
    try
        return hearing.progress(constant_name(LibSynfire.load_names, stage), nanoseconds * 1e-9) === false
    catch problem
        hearing.failure = problem
        return 1
    end
end

call_load(::Type{LoadedModel}, arguments...) = LibSynfire.synfire_model_load(arguments...)
call_load(::Type{LoadedSurrogate}, arguments...) = LibSynfire.synfire_surrogate_load(arguments...)

# The handle of a text that was loaded, or of a file.
load_text(T, context::Context, name::AbstractString, text::AbstractString; keywords...) =
    load_text(T, context, text, nothing, name; keywords...)
load_text(T, context::Context, path::AbstractString; keywords...) =
    load_text(T, context, nothing, path, nothing; keywords...)
function load_text(T, context::Context, text, file, name; cache::AbstractString="", cache_bytes::Integer=0,
                   no_cache::Bool=false, timeout::Real=60, progress=nothing)
    timeout > 0 || throw(ArgumentError("timeout = $timeout; allowed: seconds above 0"))
    for (what, given) in (("name", name), ("path", file), ("cache", cache))
        given !== nothing && occursin('\0', given) && throw(ArgumentError("$what has a null character"))
    end
    # A C string of each; null for what was not given.
    texts = map(given -> given === nothing ? nothing : String(given), (text, file, name, isempty(cache) ? nothing : cache))
    hearing = Hearing(progress, nothing)
    handle = Ref{fieldtype(T, :handle)}(C_NULL)
    GC.@preserve texts hearing begin
        of(text) = text === nothing ? Ptr{UInt8}(C_NULL) : pointer(text)
        desc = Ref(LibSynfire.synfire_load_desc(
            no_cache=no_cache, text=of(texts[1]), text_bytes=text === nothing ? 0 : sizeof(texts[1]), file=of(texts[2]),
            name=of(texts[3]), time_out=timeout >= 1.8e10 ? typemax(UInt64) : max(1, round(UInt64, timeout * 1e9)),
            cache=of(texts[4]), cache_bytes=cache_bytes,
            progress=progress === nothing ? C_NULL : @cfunction(hear, Int32, (Ptr{Cvoid}, Int32, UInt64)),
            user=pointer_from_objref(hearing)))
        status = call_load(T, context, desc, handle)
    end
    hearing.failure === nothing || throw(hearing.failure)
    check(status)
    return handle[]
end

get_info(model::LoadedModel, info) = LibSynfire.synfire_model_get_info(model, info)
get_info(surrogate::LoadedSurrogate, info) = LibSynfire.synfire_surrogate_get_info(surrogate, info)

"""
    load_info(loaded) -> NamedTuple

How a [`LoadedModel`](@ref) or [`LoadedSurrogate`](@ref) was loaded: `id`, the number that stands for it in its context;
`states` and `parameters`, how many it has (a surrogate has 0 states); `from_cache`, whether no compiler ran; `seconds` that
loading took; `name`.
"""
function load_info(loaded::Loaded)
    out = Ref(LibSynfire.synfire_load_info())
    check(get_info(loaded, out))
    info = out[]
    return (id=Int(info.id), states=Int(info.n_states), parameters=Int(info.n_parameters),
            from_cache=info.from_cache != 0, seconds=info.nanoseconds * 1e-9, name=text_of(info.name))
end

run_check(model::LoadedModel, arguments...) = LibSynfire.synfire_model_check(model, arguments...)
run_check(surrogate::LoadedSurrogate, arguments...) = LibSynfire.synfire_surrogate_check(surrogate, arguments...)

"""
    check_derivatives(loaded; seed=0, samples=1000) -> NamedTuple

Runs the functions of a [`LoadedModel`](@ref) or [`LoadedSurrogate`](@ref) on random states, inputs and parameters, and
compares each derivative with a central difference. The same seed gives the same report. On the host a compiler runs once
more.

- `largest_error`: the largest difference, in f64, divided by 1 plus the derivative. Below 1e-6 unless a derivative is wrong;
  at a corner of the formula, the two differ.
- `non_finite`: values and derivatives in f32 that were infinite or not a number, of `samples`
- `wrong_slope_reads_input`, `wrong_slope_reads_w`: whether the model says that no derivative depends on X, or on a further
  variable, but one does: its gradients are wrong
- `loops`, `vectorized`: loops over neurons in the code for the host, and how many of them the compiler vectorised; 0 where it
  does not say
- `text`: the same for people to read
"""
function check_derivatives(loaded::Loaded; seed::Integer=0, samples::Integer=1000)
    out = Ref(LibSynfire.synfire_check_report())
    check(run_check(loaded, seed, whole_size("samples", samples), out))
    r = out[]
    return (largest_error=r.largest_error, non_finite=Int(r.n_non_finite), samples=Int(r.n_samples),
            wrong_slope_reads_input=r.wrong_slope_reads_input != 0, wrong_slope_reads_w=r.wrong_slope_reads_w != 0,
            loops=Int(r.n_loops), vectorized=Int(r.n_vectorized), text=text_of(r.text))
end

# It is used wherever a symbol is. A `ccall` takes its number, and keeps it alive meanwhile; who puts the number into a
# descriptor does that itself.
function constant(what::String, names::Tuple, value::Loaded)
    own = value isa LoadedModel ? LibSynfire.model_names : LibSynfire.surrogate_names
    names === own || throw(ArgumentError("$what = $value; allowed: no $(nameof(typeof(value)))"))
    return value
end
Base.convert(::Type{Int32}, loaded::Loaded) = Int32(load_info(loaded).id)
Base.cconvert(::Type{Int32}, loaded::Loaded) = loaded
Base.unsafe_convert(::Type{Int32}, loaded::Loaded) = convert(Int32, loaded)

"""
    set_value!(network, stage, :surrogate, loaded)

Sets the surrogate of a stage to one that was loaded.
"""
set_value!(network::Network, stage, name::Union{Symbol,AbstractString}, value::LoadedSurrogate) =
    GC.@preserve value set_value!(network, stage, name, load_info(value).id)

"""
    source(layer) -> String

The CUDA C++ of a layer's forward and backward kernels: one readable text that nvcc compiles without Synfire, with how to
compile and launch it. A layer of any context has one, also in a library without CUDA.
"""
function source(layer::Layer)
    bytes = Ref{UInt64}(0)
    check(LibSynfire.synfire_layer_source(layer, C_NULL, bytes))
    text = Vector{UInt8}(undef, bytes[])
    check(LibSynfire.synfire_layer_source(layer, text, bytes))
    return String(resize!(text, Int(bytes[]) - 1))
end
