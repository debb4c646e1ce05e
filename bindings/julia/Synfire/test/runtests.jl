# runtests.jl - the tests of the Julia binding: all of them, or those named as arguments.
#
#   julia test/runtests.jl [layout lifetime ...]
#
# All run in this process, and each says how it ended.
#
# What lives here: the list. Each file beside this one is one concern. The C programs that some compare with are found
# through SYNFIRE_PROGRAMS, the folder they were built in (bindings/CMakeLists.txt sets it).
#
# SPDX-License-Identifier: MIT
using Synfire
using Test

const all_tests = ["layout", "docs", "arrays", "shapes", "layers", "operations", "graphs", "changes", "steps",
                   "errors", "networks", "loaded", "lifetime", "threads", "loading", "extensions",
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

# Returns the exception of f, which must be a SynfireError.
function failure(f)
    try
        f()
    catch problem
        problem isa SynfireError && return problem
        rethrow()
    end
    error("nothing was thrown")
end

has_failed(result) = result isa Union{Test.Fail,Test.Error}
has_failed(set::Test.DefaultTestSet) = any(has_failed, set.results)

# Each in a module of its own, so that none meets another's names; all inside one set, so that those after a failure run too.
@testset "Synfire" begin
    for name in (isempty(ARGS) ? all_tests : ARGS)
        print(name, ": "); flush(stdout)
        space = Core.eval(Main, :(module $(Symbol("Tests_", name))
                                      using Synfire, Test
                                      import ..program, ..run_julia, ..collect_all, ..failure
                                  end))
        seconds = @elapsed set = @testset "$name" begin
            Base.include(space, joinpath(@__DIR__, "$(name)_test.jl"))
        end
        println(name, has_failed(set) ? ": FAILED, " : ": passed, ", round(seconds; digits=1), " s")
    end
end
