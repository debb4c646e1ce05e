# runtests.jl - the tests of the Julia binding: all of them, or those named as arguments.
#
#   julia test/runtests.jl [layout lifetime ...]
#
# What lives here: the list. Each file beside this one is one concern. The C programs that some compare with are found
# through SYNFIRE_PROGRAMS, the folder they were built in (bindings/CMakeLists.txt sets it).
#
# SPDX-License-Identifier: MIT
using Synfire
using Test

const all_tests = ["layout", "docs", "arrays", "shapes", "layers", "operations", "graphs", "changes", "steps",
                   "errors", "networks", "loaded", "lifetime", "threads", "loading", "extensions", "overhead",
                   "examples"]

# A C program's output.
program(name, arguments...) = read(`$(joinpath(ENV["SYNFIRE_PROGRAMS"], name)) $(collect(string.(arguments)))`, String)

# A Julia of its own: its output (both streams), and whether it ended well.
function run_julia(arguments...; environment...)
    output = IOBuffer()
    command = addenv_to(`$(Base.julia_cmd()) --startup-file=no $(collect(string.(arguments)))`, environment)
    process = run(pipeline(ignorestatus(command); stdout=output, stderr=output))
    return String(take!(output)), success(process)
end
addenv_to(command, environment) =
    setenv(command, merge(Dict(ENV), Dict(string(name) => string(value) for (name, value) in environment)))

# Closes what nobody refers to any more.
collect_all() = foreach(_ -> GC.gc(), 1:4)

# What f throws, which must be a SynfireError.
function failure(f)
    try
        f()
    catch problem
        problem isa SynfireError && return problem
        rethrow()
    end
    error("nothing was thrown")
end

for name in (isempty(ARGS) ? all_tests : ARGS)
    @testset "$name" begin
        include("$(name)_test.jl")
    end
end
