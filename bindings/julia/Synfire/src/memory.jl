# memory.jl - how much memory the library holds in this process, and who hears its messages.
#
# Functions of the program's own for memory (synfire_memory_set_functions, with `allocate` and `release`) are not offered: the
# library may need memory on a thread that Julia does not know. Tensors of other libraries are for programs that have such a
# library: LibSynfire.synfire_buffer_from_dlpack with a synfire_from_dlpack_desc (`tensor`, `unversioned`, `stream`, `words`),
# and LibSynfire.synfire_buffer_to_dlpack with a synfire_to_dlpack_desc (`with_sign`).
#
# SPDX-License-Identifier: MIT

"""
    memory_use() -> NamedTuple

The memory that the library holds in this process, as `memory_use(context)` gives that of a context.
"""
function memory_use()
    use = Ref(LibSynfire.synfire_memory_use())
    check(LibSynfire.synfire_memory_get_use(use))
    names = Tuple(name for name in fieldnames(LibSynfire.synfire_memory_use) if name != :struct_size)
    return NamedTuple{names}(Tuple(name === :has_containers ? use[].has_containers != 0 : Int(getfield(use[], name))
                                   for name in names))
end

# Who hears messages; kept as long as C may call it.
const listener = Ref{Any}(nothing)

# Called by C, on the thread that calls the library.
function hear_message(::Ptr{Cvoid}, level::Int32, text::Ptr{UInt8})::Cvoid
    try
        listener[](constant_name(LibSynfire.log_names, level), unsafe_string(text))
    catch problem
        @warn "a listener of Synfire's messages failed" exception = problem
    end
    return nothing
end

"""
    set_log!(f; level=:choice)

Lets `f(level, text)` hear the library's messages in this process: warnings, and what was chosen. `level` is the most
detailed one that is heard, `:warning` or `:choice`. `f` is called inside of calls of the library, never in a launch or a
wait, and must not use it.
"""
function set_log!(f; level=:choice)
    reset_log!()
    listener[] = f
    desc = Ref(LibSynfire.synfire_log_desc(level=constant("level", LibSynfire.log_names, level),
                                           log=@cfunction(hear_message, Cvoid, (Ptr{Cvoid}, Int32, Ptr{UInt8}))))
    check(LibSynfire.synfire_log_set_function(desc))
    return nothing
end

"""
    reset_log!()

Nobody hears messages, as at first.
"""
function reset_log!()
    check(LibSynfire.synfire_log_set_function(Ptr{LibSynfire.synfire_log_desc}(C_NULL)))
    listener[] = nothing
    return nothing
end
