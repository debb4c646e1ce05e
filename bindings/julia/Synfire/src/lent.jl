# lent.jl - arrays whose memory the C library borrows: each stays until no buffer, graph or tape needs it any more.
#
# The library tells that on whichever thread frees the buffer, which may be one that Julia does not know: no Julia may run
# there, so no function of Julia's is its `release` with a `release_user`. It sets a flag in memory of C, `release_flag`,
# and Julia looks at the flags when it lends again.
#
# SPDX-License-Identifier: MIT

const lent = Dict{Ptr{UInt32},Any}()    # the array of each flag
const lent_lock = ReentrantLock()

# Keeps an array until its flag is set. Returns the flag.
function lend(array)
    take_back()
    flag = Ptr{UInt32}(Libc.calloc(1, sizeof(UInt32)))
    flag == C_NULL && throw(OutOfMemoryError())
    lock(() -> lent[flag] = array, lent_lock)
    return flag
end

# The library does not have it.
function unlend(flag::Ptr{UInt32})
    flag == C_NULL && return nothing
    lock(() -> delete!(lent, flag), lent_lock)
    Libc.free(flag)
    return nothing
end

# Lets go of the arrays that were given back. Finalizers never come here, so the lock is nobody's who waits for itself.
function take_back()
    given_back = lock(lent_lock) do
        flags = [flag for flag in keys(lent) if unsafe_load(flag) != 0]
        Threads.atomic_fence()
        foreach(flag -> delete!(lent, flag), flags)
        flags
    end
    foreach(Libc.free, given_back)
    return nothing
end
