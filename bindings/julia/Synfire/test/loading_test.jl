# Where the C library comes from: what is said when it is missing, of another version, or no library at all.
#
# SPDX-License-Identifier: MIT
const attempt = """
    using Synfire
    try
        Context(backend=:host)
        println("worked: ", library_path())
    catch problem
        showerror(stdout, problem)
    end
    """
real = library_path()

output, good = run_julia("-O0", "--compile=min", "-e", attempt; SYNFIRE_LIBRARY=real)
@test good && occursin("worked: ", output) && occursin(basename(real), output)
output, good = run_julia("-O0", "--compile=min", "-e", attempt; SYNFIRE_LIBRARY=dirname(real))
@test good && occursin("worked: ", output)

output, good = run_julia("-O0", "--compile=min", "-e", attempt; SYNFIRE_LIBRARY="/no/such/libsynfire0.so")
@test good && occursin("could not be loaded", output) && occursin("/no/such/libsynfire0.so", output)
@test occursin("SYNFIRE_LIBRARY is set", output)

mktempdir() do folder
    output, good = run_julia("-O0", "--compile=min", "-e", attempt; SYNFIRE_LIBRARY=folder)
    @test good && occursin(joinpath(folder, "libsynfire0.so.0"), output) && occursin(joinpath(folder, "libsynfire0.so:"), output)
end

# Without the variable the system's loader is asked; it looks where LD_LIBRARY_PATH says too.
output, good = run_julia("-O0", "--compile=min", "-e", attempt; SYNFIRE_LIBRARY="")
@test good && (occursin("worked: ", output) || occursin("libsynfire0.so.0", output) && occursin("is not set", output))
output, good = run_julia("-O0", "--compile=min", "-e", attempt; SYNFIRE_LIBRARY="", LD_LIBRARY_PATH=dirname(real) * ":" * get(ENV, "LD_LIBRARY_PATH", ""))
@test good && occursin("worked: $(dirname(real))", output)

# A library of another version, or another file: the text names the file that was loaded.
for (kind, words) in (("newer_major", "has ABI 99.0; this package needs"), ("older_minor", "; this package needs"),
                      ("incomplete", "but has no synfire_version_string"))
    file = joinpath(ENV["SYNFIRE_FOREIGN_LIBRARIES"], "libbindings-$kind.so")
    @test isfile(file)
    local output, good = run_julia("-O0", "--compile=min", "-e", attempt; SYNFIRE_LIBRARY=file)
    @test good && occursin(file, output) && occursin(words, output)
end
output, good = run_julia("-O0", "--compile=min", "-e", attempt; SYNFIRE_LIBRARY="libm.so.6")
@test good && occursin("is not a Synfire library", output)

@test abi_version() >= v"0.1" && startswith(version_string(), "0.")
