# errors.jl - the C library's errors as exceptions, and names of constants as symbols.
#
# SPDX-License-Identifier: MIT

"""
    SynfireError <: Exception

An error that a call of the C library returned.

- `status`: the `SYNFIRE_ERROR_*` number; [`status_name`](@ref) names it
- `rule`: the stable id of the rule that was broken, such as `"SYN-LAYER-STEPS"`; empty when there is none
- `text`: what was received, and what is allowed; shapes are written as Julia writes them
- `cuda_error`: the `cudaError_t` that caused it, or 0
"""
struct SynfireError <: Exception
    status::Int32
    rule::String
    text::String
    cuda_error::Int32
end

function Base.showerror(io::IO, problem::SynfireError)
    print(io, "SynfireError: ", status_name(problem.status))
    isempty(problem.rule) || print(io, " [", problem.rule, "]")
    print(io, ": ", problem.text)
    problem.cuda_error == 0 || print(io, " (CUDA error ", problem.cuda_error, ")")
end

"""
    status_name(status) -> String

The name of a status, such as `"SYNFIRE_ERROR_STALE_TAPE"`; `"SYNFIRE_UNKNOWN_STATUS"` for numbers that the loaded
library does not know.
"""
status_name(status::Integer) = unsafe_string(LibSynfire.synfire_status_name(status))

# Throws for an error, else hands the status back: 0, or a note.
@inline function check(status::Int32)
    status < 0 && throw_last_error(status)
    return status
end

# The text belongs to this thread: nothing here switches tasks before it is read, and destroy functions never touch it.
@noinline function throw_last_error(status::Int32)
    text = Vector{UInt8}(undef, 4096)
    cuda_error = Ref{Int32}(0)
    needed = LibSynfire.synfire_last_error(text, length(text), cuda_error)
    message = String(resize!(text, clamp(Int(needed) - 1, 0, 4095)))
    found = match(r"^\[([^\]]+)\] (.*)$"s, message)
    found === nothing && throw(SynfireError(status, "", message, cuda_error[]))
    rule, message = found.captures
    is_about_shapes = startswith(rule, "SYN-BUFFER-") || rule == "SYN-REBIND-SHAPE"
    throw(SynfireError(status, rule, is_about_shapes ? in_julia_order(message) : message, cuda_error[]))
end

# Shapes in a text of the C library as Julia writes them: "[20, 1, 2 words]" is "[2 words, 1, 20]".
in_julia_order(message) = replace(message, r"\[\d+( words)?(, \d+( words)?)+\]" => reversed_shape)
reversed_shape(shape) = string('[', join(reverse(split(shape[2:(end - 1)], ", ")), ", "), ']')

# The number of a constant: looked up by its symbol, or taken as it is, so that a newer library's constants can be used.
constant(what::String, names::Tuple, value::Integer) = Int32(value)
function constant(what::String, names::Tuple, value::Symbol)
    for (name, number) in names
        name === value && return number
    end
    suggested = suggestion(value, (name for (name, _) in names); mark=":")
    throw(ArgumentError("$what = :$value$suggested; allowed: $(join((string(':', name) for (name, _) in names), ", "))"))
end

# " (did you mean ...?)" with the closest of the known names, or nothing where none is close: one letter of a short name,
# one of every three of a longer one, as in the texts of the C library.
function suggestion(name, known; mark="")
    closest, least = nothing, typemax(Int)
    for one in known
        apart = edits(lowercase(string(name)), string(one))
        if apart < least && apart <= max(1, min(length(string(name)), length(string(one))) ÷ 3)
            closest, least = one, apart
        end
    end
    return closest === nothing ? "" : " (did you mean $mark$closest?)"
end

# How many letters must be inserted, left out, replaced or swapped with their neighbour to turn one name into the other.
function edits(from::String, to::String)
    a, b = collect(from), collect(to)
    cost = [i == 0 ? j : i for i in 0:length(a), j in 0:length(b)]
    for i in 1:length(a), j in 1:length(b)
        least = min(cost[i, j + 1] + 1, cost[i + 1, j] + 1, cost[i, j] + (a[i] != b[j]))
        is_swapped = i > 1 && j > 1 && a[i] == b[j - 1] && a[i - 1] == b[j]
        cost[i + 1, j + 1] = is_swapped ? min(least, cost[i - 1, j - 1] + 1) : least
    end
    return cost[end, end]
end

# The symbol of a number; the number itself when this package does not know it.
function constant_name(names::Tuple, value::Integer)
    for (name, number) in names
        number == value && return name
    end
    return Symbol("unknown(", value, ")")
end

# The symbols of the constants that a number is the sum of.
constant_names(names::Tuple, value::Integer) =
    Symbol[name for (name, number) in names if number != 0 && value & number == number]

# A size as the C library takes it, which would see a negative one as a huge one. A tuple is a shape: its product.
function whole_size(what::String, value::Integer)
    value >= 0 || throw(ArgumentError("$what = $value; allowed: 1 or more"))
    return Int64(value)
end
whole_size(what::String, values::Tuple) =
    reduce(Base.checked_mul, map(value -> whole_size(what, value), values); init=Int64(1))
