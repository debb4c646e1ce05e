# LibSynfire.jl - the raw layer: synfire.h as it is, and the one place where the C library is found and loaded.
#
# It searches for the library and checks its version. The functions themselves are in libsynfire_api.jl (generated).
#
# SPDX-License-Identifier: MIT

"""
Every type, constant and function of the C ABI under its own name, for what the idiomatic layer does not cover.

The functions take what `ccall` takes: handles of the idiomatic layer, pointers, `Ref`s, arrays. They answer statuses
and throw only when the library was not found. Structures have a constructor by keywords, where all is zero but what is
given and `struct_size` is filled in: `synfire_layer_desc(n_steps=16, n_neurons=128)`.
"""
module LibSynfire

using Libdl

include("libsynfire_api.jl")

# Where the library was loaded from, or why it was not.
mutable struct Loading
    handle::Ptr{Cvoid}
    path::String
    failure::String
end
const loading = Loading(C_NULL, "", "the library was not looked for yet")

@noinline not_loaded() = throw(ErrorException(loading.failure))

# The names a library of this ABI's major version may have, the exact one first.
function library_names()
    base = "libsynfire$(SYNFIRE_ABI_MAJOR)"
    Sys.iswindows() && return ["synfire$(SYNFIRE_ABI_MAJOR).dll"]
    Sys.isapple() && return ["$base.$(SYNFIRE_ABI_MAJOR).dylib", "$base.dylib"]
    return ["$base.so.$(SYNFIRE_ABI_MAJOR)", "$base.so"]
end

# The library that Pkg has installed with this package: a published one has an Artifacts.toml, the repository's has none. Read here,
# because Julia's own reader is a standard library only from 1.6 on.
function installed_with_package(file=joinpath(dirname(@__DIR__), "Artifacts.toml"))
    isfile(file) || return String[]
    system = Sys.iswindows() ? "windows" : Sys.isapple() ? "macos" : "linux"
    for entry in split(read(file, String), "[[synfire]]")
        value(key) = (found = match(Regex("^\\s*$key\\s*=\\s*\"([^\"]*)\"", "m"), entry); found === nothing ? "" : found.captures[1])
        (value("os") == system && value("arch") == string(Sys.ARCH)) || continue
        for depot in DEPOT_PATH
            folder = joinpath(depot, "artifacts", value("git-tree-sha1"), Sys.iswindows() ? "bin" : "lib")
            found = filter(isfile, [joinpath(folder, name) for name in library_names()])
            isempty(found) || return found
        end
    end
    return String[]
end

# The file or folder that SYNFIRE_LIBRARY names, and nothing else if it is set; else the library of the package; else the one
# that the system's loader finds.
function candidates()
    wanted = get(ENV, "SYNFIRE_LIBRARY", "")
    if isempty(wanted)
        installed = installed_with_package()
        return isempty(installed) ? library_names() : installed
    end
    isdir(wanted) && return [joinpath(wanted, name) for name in library_names()]
    return [wanted]
end

version_text(version) = string(version >> 16, '.', version & 0xffff)

# Opens the library at `path` and fills the table of functions; returns an empty string, or what is wrong with it.
function try_load(path)
    handle = try
        dlopen(path)
    catch problem
        return problem isa ErrorException ? problem.msg : sprint(showerror, problem)
    end
    file = dlpath(handle)
    address = dlsym_e(handle, :synfire_abi_version)
    address == C_NULL && return "$file is not a Synfire library: it has no synfire_abi_version"
    version = ccall(address, UInt32, ())
    if version >> 16 != SYNFIRE_ABI_MAJOR || version < SYNFIRE_ABI_VERSION
        return "$file has ABI $(version_text(version)); this package needs $(SYNFIRE_ABI_MAJOR).x " *
               "with x at least $(SYNFIRE_ABI_MINOR)"
    end
    for name in fieldnames(FunctionTable)
        found = dlsym_e(handle, name)
        found == C_NULL && return "$file says ABI $(version_text(version)), but has no $name"
    end
    for name in fieldnames(FunctionTable)
        setfield!(functions, name, dlsym(handle, name))
    end
    loading.handle, loading.path, loading.failure = handle, file, ""
    return ""
end

# Looks for the library. When none is usable, every later call throws the text that says where it was looked for.
function load()
    problems = String[]
    for path in candidates()
        problem = try_load(path)
        isempty(problem) && return true
        push!(problems, "  $path: $problem")
    end
    where = !isempty(get(ENV, "SYNFIRE_LIBRARY", "")) ? "SYNFIRE_LIBRARY is set, so nothing else was tried." :
            "SYNFIRE_LIBRARY is not set, so the system's loader was asked; set it to the library or to its folder."
    loading.failure = string("Synfire's C library could not be loaded. Tried:\n", join(problems, '\n'), '\n', where)
    return false
end

end # module
