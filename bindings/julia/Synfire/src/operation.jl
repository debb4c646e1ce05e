# operation.jl - how an operation reaches the C library: its descriptor, and everything that the descriptor points to.
#
# operations.jl, which is generated, says what each operation takes.
#
# SPDX-License-Identifier: MIT

# Values that a descriptor points to.
struct Operands
    context::Context
    neurons::Int               # N, 0 for an operation that has none
    handles::Vector{Handle}    # buffers, layers and other objects
    borrowed::Vector{Buffer}   # the buffers among them that were made for arrays
    memory::Vector{Any}        # texts and lists
    Operands(context::Context, neurons=0) = new(context, whole_size("neurons", neurons), Handle[], Buffer[], Any[])
end

# A descriptor that is ready for the C library.
struct Request{D}
    desc::Base.RefValue{D}
    operands::Operands
end
Request(operands::Operands, desc) = Request(Ref(desc), operands)

# `ccall` keeps the result of cconvert alive during the call: the descriptor and all that it points to.
Base.cconvert(::Type{Ptr{D}}, request::Request{D}) where {D} = request
Base.unsafe_convert(::Type{Ptr{D}}, request::Request{D}) where {D} = Base.unsafe_convert(Ptr{D}, request.desc)

# Records an operation of a graph, or of a graph and an object, such as a layer.
function record!(call, request::Request, graph::Graph, object::Handle...)
    check(call(graph, object..., request))
    count_forward!(request, graph, object...)
    close_borrowed(request.operands)
    return keep!(graph, object..., request.operands.handles...)
end

# Runs an operation now, on a context or an object, such as a layer.
function run!(call, request::Request, stream, owner::Handle)
    check(call(owner, request, stream_pointer(stream)))
    count_forward!(request, owner)
    close_borrowed(request.operands)
    return owner
end

# Forwards are counted, to tell whose tape a layer has.
count_forward!(::Request, owners...) = nothing
count_forward!(::Request{LibSynfire.synfire_forward_desc}, layer::Layer) = (layer.n_forwards += 1; nothing)
count_forward!(::Request{LibSynfire.synfire_forward_desc}, graph::Graph, layer::Layer) =
    (layer in graph.layers || push!(graph.layers, layer); nothing)

# Buffers that were made for an operation are not needed after it: the library keeps what it still reads. On a GPU,
# giving memory back waits for the device, so there the garbage collector does it.
close_borrowed(operands::Operands) = (operands.context.is_host && foreach(close, operands.borrowed); nothing)

# ---- From keywords to fields -----------------------------------------------------------------------------------------

# Each of these returns what goes into the descriptor, and has the operands keep what that points to.

buffer!(::Operands, ::Nothing) = LibSynfire.synfire_buffer(C_NULL)
function buffer!(operands::Operands, buffer::Buffer)
    push!(operands.handles, buffer)
    return raw(buffer)
end
function buffer!(operands::Operands, array::AbstractArray)
    buffer = borrow(operands.context, array, operands.neurons)
    push!(operands.borrowed, buffer)
    return buffer!(operands, buffer)
end
buffer!(::Operands, other) = throw(ArgumentError("a $(typeof(other)); allowed: a Buffer or an array"))

handle!(::Operands, ::Nothing) = C_NULL
function handle!(operands::Operands, object::Handle)
    push!(operands.handles, object)
    return raw(object)
end

text!(::Operands, ::Nothing) = Ptr{UInt8}(C_NULL)
function text!(operands::Operands, name::Union{Symbol,AbstractString})
    text = String(name)
    occursin('\0', text) && throw(ArgumentError("a name with a null character"))
    push!(operands.memory, text)
    return pointer(text)
end

function list!(operands::Operands, E::Type, values)
    list = collect(E, values)
    push!(operands.memory, list)
    return list
end
buffers!(operands::Operands, buffers) =
    list!(operands, LibSynfire.synfire_buffer, [buffer!(operands, buffer) for buffer in buffers])
handles!(operands::Operands, E::Type, objects) = list!(operands, E, [handle!(operands, object) for object in objects])

# Buffers by name, `(tau=buffer,)`, as a list of structures of a name and a buffer.
named_buffers!(operands::Operands, Entry::Type, buffers) =
    list!(operands, Entry, [Entry(text!(operands, name), buffer!(operands, buffer))
                            for (name, buffer) in pairs((; buffers...))])

pointer_or_null(list::Vector{E}) where {E} = isempty(list) ? Ptr{E}(C_NULL) : pointer(list)

# Numbers in an array of a fixed length: those that are not given are 0.
function fixed_list(what::String, n::Int, numbers)
    length(numbers) <= n || throw(ArgumentError("$what has $(length(numbers)) numbers; allowed: at most $n"))
    list = collect(numbers)
    return ntuple(i -> i <= length(list) ? list[i] : 0, n)
end

sum_of_constants(what::String, names::Tuple, values) =
    reduce(|, (constant(what, names, value) for value in values); init=Int32(0))

# Rows as the C library counts them: the first, from 0, and how many, 0 for all that follow.
first_and_count(what::String, ::Colon) = (0, 0)
first_and_count(what::String, row::Integer) = first_and_count(what, row:row)
function first_and_count(what::String, rows::AbstractUnitRange{<:Integer})
    isempty(rows) && throw(ArgumentError("$what = $rows; allowed: one row or more"))
    return (row_index(what, first(rows)), length(rows))
end
first_and_count(what::String, rows) =
    throw(ArgumentError("$what = $rows; allowed: a number, a range such as 2:5, or :"))

function row_index(what::String, row::Integer)
    row >= 1 || throw(ArgumentError("$what = $row; allowed: rows from 1 on"))
    return row - 1
end

@noinline function throw_unknown(unknown, allowed)
    name = first(keys(unknown))
    throw(ArgumentError("keyword $name$(suggestion(name, allowed)); allowed: $(join(allowed, ", "))"))
end
