# Every structure, handle type and constant of the raw layer is what the C compiler says, and nothing is missing on
# either side.
#
# SPDX-License-Identifier: MIT
const Raw = Synfire.LibSynfire

number(text) = parse(Int128, text)
lines = split.(split(chomp(program("bindings-layout")), '\n'), '\t')
seen = Set{Symbol}()
n_compared = 0

for line in lines
    name = line[2]
    if line[1] == "struct"
        @test sizeof(getfield(Raw, Symbol(name))) == number(line[3])
        push!(seen, Symbol(name))
    elseif line[1] == "field"
        struct_name, field = Symbol.(split(name, '.'))
        T = getfield(Raw, struct_name)
        index = findfirst(==(field), collect(fieldnames(T)))
        @test index !== nothing
        @test fieldoffset(T, index) == number(line[3])
        @test sizeof(fieldtype(T, index)) == number(line[4])
        push!(seen, Symbol(struct_name, '.', field))
    elseif line[1] == "type"
        # A status has no type of its own: functions answer an Int32.
        T = name == "synfire_status" ? Int32 : getfield(Raw, Symbol(name))
        @test sizeof(T) == number(line[3])
        push!(seen, Symbol(name))
    elseif line[1] == "constant"
        @test getfield(Raw, Symbol(name)) == number(line[3])
        push!(seen, Symbol(name))
    else
        @test "line" == line
    end
    global n_compared += 1
end
println("$n_compared sizes, offsets and constants agree with the C compiler")
@test n_compared > 150

# Nothing in the raw layer that C does not have.
for name in names(Raw; all=true)
    text = string(name)
    value = getfield(Raw, name)
    startswith(text, "SYNFIRE_") && @test name in seen
    if startswith(text, "synfire_") && value isa DataType && isstructtype(value) && isbitstype(value)
        @test name in seen
        for field in fieldnames(value)
            @test Symbol(name, '.', field) in seen
        end
        # The constructor by keywords: all zero but the size.
        bytes = reinterpret(UInt8, [value()])
        if hasfield(value, :struct_size)
            @test value().struct_size == sizeof(value)
            @test all(iszero, bytes[5:end])
        else
            @test all(iszero, bytes)
        end
    end
end

# Every function is there, and the table that the loader fills has each of them.
exported = filter(name -> startswith(string(name), "synfire_") && getfield(Raw, name) isa Function, names(Raw; all=true))
@test Set(exported) == Set(fieldnames(Raw.FunctionTable))
@test all(name -> getfield(Raw.functions, name) != C_NULL, fieldnames(Raw.FunctionTable))
