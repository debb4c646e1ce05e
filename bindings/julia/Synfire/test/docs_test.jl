# Every exported name has a docstring, and the first program of the README is the one that runs.
#
# SPDX-License-Identifier: MIT
documented = Base.Docs.meta(Synfire)
for name in names(Synfire)
    found = haskey(documented, Base.Docs.Binding(Synfire, name))
    found || println("no documentation: ", name)
    @test found
end
@test length(names(Synfire)) > 30

# So does every function of the raw layer.
raw_documented = Base.Docs.meta(Synfire.LibSynfire)
@test haskey(raw_documented, Base.Docs.Binding(Synfire, :LibSynfire))
for name in fieldnames(Synfire.LibSynfire.FunctionTable)
    @test haskey(raw_documented, Base.Docs.Binding(Synfire.LibSynfire, name))
end

# The docs of methods that this package adds to functions of Base say so.
for f in (:close, :copyto!, :fill!, :wait, :getindex, :setindex!)
    @test haskey(documented, Base.Docs.Binding(Base, f))
end

readme = read(joinpath(@__DIR__, "..", "README.md"), String)
program_text = read(joinpath(@__DIR__, "..", "examples", "quickstart.jl"), String)
body = match(r"    # \[quickstart\]\n(.*?)\n    # \[quickstart\]"s, program_text).captures[1]
@test occursin(replace(body, r"^    "m => ""), readme)
