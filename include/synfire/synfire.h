/* synfire.h - the whole C ABI of Synfire: spiking-neuron layers whose forward and backward passes through time
 * are recorded once and replayed as one graph.  Needs <stddef.h> and <stdint.h>, nothing else; C89-clean.
 *
 * What lives here: every type, constant and function a caller in any language needs.
 * What does not: C++ (synfire.hpp), CUDA types (a stream is a pointer to an incomplete struct), the mathematics
 * (model/).
 *
 * SPDX-License-Identifier: MIT */
#ifndef SYNFIRE_SYNFIRE_H
#define SYNFIRE_SYNFIRE_H

#include <stddef.h>
#include <stdint.h>

#if !defined(_WIN64) && !defined(__LP64__)
#error "Synfire supports 64-bit platforms only: a handle carries a type tag, a slot and a generation in 64 bits"
#endif

/**
 * @file
 * @brief The C ABI of Synfire.
 *
 * Conventions that hold for every function:
 *
 * - The result is a ::synfire_status: 0 is success, a positive value is success with a note, a negative value is an
 *   error. After an error, synfire_last_error() holds a text that names the argument, the value received and what is
 *   allowed, and begins with a stable rule id in brackets. A failed call changes nothing and creates nothing.
 * - Descriptors begin with `struct_size` and are initialised with their `_INIT` macro, which is all zeros plus the
 *   size. A zero field means its documented default. Later versions append fields, and every version is accepted: the
 *   fields that a smaller structure lacks are zero, those that it lacks in an answer are not written. Nothing beyond
 *   `struct_size` is read or written. A structure larger than the library knows, up to 4096 bytes, is accepted when the
 *   unknown tail is all zero. Structures without `struct_size`, which stand in lists, never grow.
 * - Handles are generation-checked: a null, stale or wrong-type handle, or one of another context, answers
 *   ::SYNFIRE_ERROR_INVALID_HANDLE and is never dereferenced. Any destroy order is legal: children keep what they need.
 * - Arrays are row-major and time-major: `[T, B, N]` is T steps of B batch rows of N neurons.
 * - Results do not depend on the caller's floating-point environment (rounding mode, flush-to-zero, traps), and every
 *   call leaves it as found, sticky exception flags included. Callbacks are called in the caller's environment.
 * - Nothing throws, aborts or exits. No function changes the caller's current CUDA device or last CUDA error.
 * - A callback, any function of the caller's that the library calls, ends by returning. A C++ exception, `longjmp()`,
 *   `pthread_exit()` or the cancellation of its thread must not leave it: what then happens is undefined. The library
 *   brings its own C++ runtime, which cannot unwind the program's exceptions, and whoever skips its frames leaves its
 *   objects in use for good. synfire.hpp and the bindings for other languages catch what a callback throws.
 */

/** @defgroup version Version and errors */
/** @defgroup context Contexts */
/** @defgroup buffer Buffers */
/** @defgroup layer Layers */
/** @defgroup spikes Spikes
 * Conversions between the formats of spikes, counts of them, and rates encoded as spikes: at once, or recorded into a
 * graph. */
/** @defgroup graph Graphs */

/** @addtogroup version
 * @{ */

/** ABI major version; equals the digit in the library's file name. */
#define SYNFIRE_ABI_MAJOR 0
/** ABI minor version; grows when functions, constants or trailing descriptor fields are added. */
#define SYNFIRE_ABI_MINOR 1
/** Major and minor in one number, comparable with synfire_abi_version(). */
#define SYNFIRE_ABI_VERSION (((uint32_t)SYNFIRE_ABI_MAJOR << 16) | (uint32_t)SYNFIRE_ABI_MINOR)

/** @cond PLATFORM */
#if defined(_WIN32)
#define SYNFIRE_CALL __cdecl
#if defined(SYNFIRE_BUILDING)
#define SYNFIRE_API __declspec(dllexport)
#elif defined(SYNFIRE_STATIC)
#define SYNFIRE_API
#else
#define SYNFIRE_API __declspec(dllimport)
#endif
#else
#define SYNFIRE_CALL
#if defined(__GNUC__)
#define SYNFIRE_API __attribute__((visibility("default")))
#else
#define SYNFIRE_API
#endif
#endif
#ifdef __cplusplus
#if __cplusplus >= 201103L || (defined(_MSC_VER) && _MSC_VER >= 1900)
#define SYNFIRE_NOEXCEPT noexcept
#else
#define SYNFIRE_NOEXCEPT throw()
#endif
#else
#define SYNFIRE_NOEXCEPT
#endif
/* Marks for tools that read this header, such as the generators of the bindings; they expand to nothing.
 *
 * SYNFIRE_NULLABLE        a pointer or handle that may be null
 * SYNFIRE_READ(shape)     a buffer that the operation reads; its shape, as the documentation writes it
 * SYNFIRE_WRITTEN(shape)  a buffer that it writes
 * SYNFIRE_UPDATED(shape)  a buffer that it reads and writes
 * SYNFIRE_ONE_OF(prefix)  a number that is one of the constants `prefix_*`
 * SYNFIRE_ANY_OF(prefix)  a number that is a sum of such constants
 * SYNFIRE_FLAG            a number that is 0 or 1
 * SYNFIRE_LENGTH_OF(list) the number of entries of another field or parameter
 * SYNFIRE_FIELD(field, marks) on the descriptor that a function takes: the marks of a field in this function */
#ifndef SYNFIRE_NULLABLE
#define SYNFIRE_NULLABLE
#define SYNFIRE_READ(shape)
#define SYNFIRE_WRITTEN(shape)
#define SYNFIRE_UPDATED(shape)
#define SYNFIRE_ONE_OF(prefix)
#define SYNFIRE_ANY_OF(prefix)
#define SYNFIRE_FLAG
#define SYNFIRE_LENGTH_OF(list)
#define SYNFIRE_FIELD(field, marks)
#endif
#ifdef __cplusplus
extern "C" {
#endif
/** @endcond */

/** Result of a call: 0 success, > 0 success with a note, < 0 error. Values are never reused. */
typedef int32_t synfire_status;

/** Every ::synfire_status. */
enum {
  /** Success. */
  SYNFIRE_OK = 0,
  /** Success so far: the replay has not finished yet (poll), or not before the time-out (wait). */
  SYNFIRE_PENDING = 1,
  /** Success: automatic selection found no usable GPU, so the context runs on the host;
   *  synfire_context_properties::fallback_reason says why. */
  SYNFIRE_HOST_FALLBACK = 2,
  /** Success: the caller captures the stream, so the work became part of that capture instead of being run now. */
  SYNFIRE_CAPTURED = 3,
  /** An argument is outside what is allowed; the text names it. */
  SYNFIRE_ERROR_INVALID_ARGUMENT = -1,
  /** A handle is null, stale, of the wrong type or of another context. */
  SYNFIRE_ERROR_INVALID_HANDLE = -2,
  /** A descriptor is too small, or carries non-zero fields that this library does not know. */
  SYNFIRE_ERROR_STRUCT_SIZE = -3,
  /** Host or device memory is exhausted, the machine or the process's control group has less than is asked for, or the
   *  size cannot be represented. */
  SYNFIRE_ERROR_OUT_OF_MEMORY = -4,
  /** No driver, no visible GPU, a device number that does not exist, or a library built without CUDA. */
  SYNFIRE_ERROR_NO_DEVICE = -5,
  /** The graph is in use on another thread, or all its slots are in flight. */
  SYNFIRE_ERROR_BUSY = -6,
  /** The call is not legal while the stream (or this thread) is capturing. */
  SYNFIRE_ERROR_CAPTURING = -7,
  /** The tape that backward needs does not exist, was left by an older forward, or parameters changed since. */
  SYNFIRE_ERROR_STALE_TAPE = -8,
  /** Calls came in an order that is not allowed: for example launch before instantiate. */
  SYNFIRE_ERROR_WRONG_ORDER = -9,
  /** The device failed for good (a sticky CUDA error): the context can only be destroyed. */
  SYNFIRE_ERROR_DEVICE_LOST = -10,
  /** The combination is meaningful but not built in this version. */
  SYNFIRE_ERROR_UNSUPPORTED = -11,
  /** A CUDA call failed for another reason; the text and the CUDA error number say which. */
  SYNFIRE_ERROR_CUDA = -12,
  /** The callback of a native node failed, or broke the capture it was called in; the text names the node. Or the
   *  context's job system did not run what it took. */
  SYNFIRE_ERROR_CALLBACK = -13,
  /** A defect in Synfire itself. */
  SYNFIRE_ERROR_INTERNAL = -99
};

/** A CUDA stream of the context's device: `cudaStream_t` and `CUstream` convert without a cast. Null means the
 *  context's own stream. One of another device is refused (::SYNFIRE_ERROR_INVALID_ARGUMENT). CUDA's handles
 *  `cudaStreamLegacy` (1) and `cudaStreamPerThread` (2) mean those streams of the device's primary context, the latter
 *  that of the calling thread. */
typedef struct CUstream_st *synfire_stream;

/**
 * Version of the loaded library, as `(major << 16) | minor`.
 *
 * A caller compiled against this header works with a library of the same major and an equal or greater minor.
 *
 * @return ::SYNFIRE_ABI_VERSION of the library that was loaded.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API uint32_t SYNFIRE_CALL synfire_abi_version(void) SYNFIRE_NOEXCEPT;

/**
 * Human-readable version and build facts, such as `"0.1.0 (cuda 13.0; host: pool)"`.
 *
 * @return A constant string that lives as long as the library.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API const char *SYNFIRE_CALL synfire_version_string(void) SYNFIRE_NOEXCEPT;

/**
 * The name of a status, such as `"SYNFIRE_ERROR_STALE_TAPE"`.
 *
 * @param status Any value.
 * @return A constant string; `"SYNFIRE_UNKNOWN_STATUS"` for values this library does not know.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API const char *SYNFIRE_CALL synfire_status_name(synfire_status status) SYNFIRE_NOEXCEPT;

/**
 * Copies the text of the last error on this thread, always null-terminated when `capacity` > 0. It is UTF-8 without
 * control characters, whatever names it quotes (other bytes appear as `\x1b` and the like), and is cut between
 * characters.
 *
 * The text stays until the next failing call on the same thread; destroy functions never touch it.
 *
 * @param[out] text       Receives the text; may be null when `capacity` is 0.
 * @param capacity        Bytes at `text`.
 * @param[out] cuda_error Receives the `cudaError_t` behind the error, or 0; may be null.
 * @return Bytes the whole text needs, including the terminating null.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any (per-thread text). @since ABI 0.1
 */
SYNFIRE_API uint64_t SYNFIRE_CALL synfire_last_error(char *text SYNFIRE_NULLABLE, uint64_t capacity,
                                                     int32_t *cuda_error SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup context
 * @{ */

/** One device, a CUDA GPU or the host, and everything created on it. */
typedef struct synfire_context_s *synfire_context;

/** What a context may run on: synfire_context_desc::backend. */
enum {
  /** CUDA when a usable GPU answers, else the host (with ::SYNFIRE_HOST_FALLBACK). */
  SYNFIRE_BACKEND_AUTO = 0,
  /** The host backend: same mathematics, same bits in f32. */
  SYNFIRE_BACKEND_HOST = 1,
  /** An NVIDIA GPU. */
  SYNFIRE_BACKEND_CUDA = 2
};

/** Why automatic selection ended on the host: synfire_context_properties::fallback_reason. */
enum {
  /** No fallback happened. */
  SYNFIRE_FALLBACK_NONE = 0,
  /** The library was built without CUDA. */
  SYNFIRE_FALLBACK_NOT_BUILT = 1,
  /** No NVIDIA driver answers. */
  SYNFIRE_FALLBACK_NO_DRIVER = 2,
  /** The driver is older than the CUDA runtime in this library needs. */
  SYNFIRE_FALLBACK_DRIVER_TOO_OLD = 3,
  /** The driver answers but shows no GPU. */
  SYNFIRE_FALLBACK_NO_DEVICE = 4,
  /** A GPU was found but could not be used; synfire_context_properties::name of the host context still answers. */
  SYNFIRE_FALLBACK_DEVICE_FAILED = 5
};

/**
 * A part of a task that the library hands to a job system: runs the items [first, end).
 *
 * Every item of the task is run once, in any order, on any threads, in parts of any size. It returns when they are
 * done, throws nothing, waits for nothing, and neither allocates nor locks. Its stack needs 256 KiB.
 *
 * @param argument What synfire_enqueue_task was given beside it.
 * @param first    First item, 0 or more.
 * @param end      One beyond the last item, at most the task's number of items.
 */
typedef void(SYNFIRE_CALL *synfire_task)(void *argument, int32_t first, int32_t end);

/**
 * Takes a task into the caller's job system: synfire_context_desc::enqueue_task.
 *
 * It is called on the thread that is in synfire_graph_launch(), or in an eager call, when there is work for several
 * threads; by several threads at once where several launch. It may run the task, or parts of it, before it returns, or
 * leave it to other threads. It must not throw, `longjmp` or call the library.
 *
 * @param user      synfire_context_desc::job_system.
 * @param task      To be called, with `argument`, until every item has been run once.
 * @param argument  For `task`.
 * @param n_items   Items: from 2 to four times synfire_context_desc::n_threads.
 * @param min_range The smallest number of items that is worth a part of its own; 1 or more.
 * @return What synfire_finish_task is given to wait for it; null when all items have been run already, and then it is
 *         not called.
 */
typedef void *(SYNFIRE_CALL *synfire_enqueue_task)(void *user SYNFIRE_NULLABLE, synfire_task task, void *argument,
                                                   int32_t n_items, int32_t min_range);

/**
 * Waits until a task is done: synfire_context_desc::finish_task.
 *
 * It is called right after synfire_enqueue_task, on the same thread, and returns when every item has been run. It may
 * run parts of this task or of others meanwhile. From then on the library must not be called by this task any more. It
 * must not throw, `longjmp` or call the library.
 *
 * @param user   synfire_context_desc::job_system.
 * @param handle What synfire_enqueue_task returned; never null.
 */
typedef void(SYNFIRE_CALL *synfire_finish_task)(void *user SYNFIRE_NULLABLE, void *handle);

/** How to create a context. Zero means default in every field but `struct_size`. */
typedef struct synfire_context_desc {
  /** `sizeof(synfire_context_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_BACKEND_*`. Default: automatic. */
  int32_t backend SYNFIRE_ONE_OF(SYNFIRE_BACKEND);
  /** CUDA device ordinal, as CUDA numbers the visible devices. Default: 0. Ignored by the host backend when 0,
   *  refused otherwise. */
  int32_t device;
  /** Threads of the host backend: 1 is the calling thread only and no other is ever created; 0 (default) is automatic:
   *  what the environment variable `OMP_NUM_THREADS` says, else the processors that the calling thread may run on; up
   *  to 1024. Small work never leaves the calling thread. The others are the context's own: they are created when a
   *  graph with work for them is instantiated, or by the first eager call that has such, and end with the context.
   *  Where the system refuses one there are fewer. With a job system: how many threads that has, the calling one
   *  included. */
  int32_t n_threads;
  /** Priority of the context's own CUDA stream, as CUDA counts (lower is more urgent). Default: 0. Values outside
   *  the device's range are clamped to it. Kernels of the context's graphs carry it, whatever stream they are launched
   *  on; eager calls have that of the stream they are given. */
  int32_t stream_priority;
  /** Must be zero. */
  uint32_t reserved;
  /** The caller's job system, in the place of threads of the context's own: takes a task. Null (default), as
   *  `finish_task` then is too: none. Used by the host backend, with `n_threads` of 1 never; on CUDA it is accepted and
   *  never called. A task whose items it does not run once each fails the call that brought it, with
   *  ::SYNFIRE_ERROR_CALLBACK. Both functions must stay callable until the context and everything created on it is
   *  freed: they are called in launches and eager calls only. */
  synfire_enqueue_task enqueue_task SYNFIRE_NULLABLE;
  /** Waits for a task that `enqueue_task` took. */
  synfire_finish_task finish_task SYNFIRE_NULLABLE;
  /** Handed to both. */
  void *job_system SYNFIRE_NULLABLE;
} synfire_context_desc;

/** All zeros plus the size. */
#define SYNFIRE_CONTEXT_DESC_INIT \
  { (uint32_t)sizeof(synfire_context_desc), 0, 0, 0, 0, 0u, 0, 0, 0 }

/** What a context runs on. */
typedef struct synfire_context_properties {
  /** `sizeof(synfire_context_properties)`; set before the call. */
  uint32_t struct_size;
  /** ::SYNFIRE_BACKEND_HOST or ::SYNFIRE_BACKEND_CUDA. */
  int32_t backend SYNFIRE_ONE_OF(SYNFIRE_BACKEND);
  /** CUDA device ordinal; -1 on the host. */
  int32_t device;
  /** One of `SYNFIRE_FALLBACK_*`: why automatic selection ended on the host. */
  int32_t fallback_reason SYNFIRE_ONE_OF(SYNFIRE_FALLBACK);
  /** Threads the host backend may use; 0 on CUDA. */
  int32_t n_threads;
  /** Compute capability, major; 0 on the host. */
  int32_t compute_major;
  /** Compute capability, minor; 0 on the host. */
  int32_t compute_minor;
  /** Multiprocessors of the GPU; 0 on the host. */
  int32_t n_multiprocessors;
  /** CUDA driver version (e.g. 13000); 0 when none answers. */
  int32_t driver_version;
  /** CUDA runtime version inside this library; 0 when built without CUDA. */
  int32_t runtime_version;
  /** Bytes of device memory; 0 on the host. */
  uint64_t memory_bytes;
  /** Name of the GPU, or of the host backend, its instruction level and its threading (e.g.
   *  `"host avx512, pool"`). */
  char name[128];
} synfire_context_properties;

/** All zeros plus the size. */
/* clang-format off */
#define SYNFIRE_CONTEXT_PROPERTIES_INIT \
  { (uint32_t)sizeof(synfire_context_properties), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0u, { 0 } }
/* clang-format on */

/**
 * Creates a context.
 *
 * @param desc         What to create; null means all defaults.
 * @param[out] context Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_HOST_FALLBACK when automatic selection ended on the host;
 *         ::SYNFIRE_ERROR_NO_DEVICE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes (first use of a GPU initialises CUDA). @allocates yes. @enqueues no.
 * @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_context_create(const synfire_context_desc *desc SYNFIRE_NULLABLE,
                                                               synfire_context *context) SYNFIRE_NOEXCEPT;

/**
 * Destroys a context. Objects created on it stay valid until they are destroyed too; the last one releases the device.
 *
 * @param context A context, or null (nothing happens). A stale handle is ignored.
 * @blocks no (it queues; later create and reclaim calls, and blocking waits without a time-out, free). @allocates no.
 * @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.1
 */
SYNFIRE_API void SYNFIRE_CALL synfire_context_destroy(synfire_context context SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Frees what earlier destroy calls queued. Create calls and blocking waits without a time-out do the same in passing;
 * call this to free at a time of your choosing, or after the last context was destroyed.
 *
 * Release functions of borrowed memory (synfire_buffer_desc::release) are called here too: when `still_queued` is 0,
 * each of a destroyed buffer has returned. From inside a release function nothing is freed: the outer call does that.
 *
 * @param context           A context, or null for everything queued in the process.
 * @param[out] still_queued Receives how many objects are still in use or in flight, may be null.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks until GPU work that uses the freed objects is done, and the threads of freed contexts have ended. @allocates
 * no. @enqueues no.
 * @capture legal (it leaves other captures alone). @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_context_reclaim(synfire_context context SYNFIRE_NULLABLE,
                                                                uint64_t *still_queued SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Waits until everything enqueued on the context's own stream is done. Returns at once on the host.
 *
 * @param context A context.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes. @allocates no. @enqueues no. @capture refused by CUDA while this thread captures.
 * @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_context_synchronize(synfire_context context) SYNFIRE_NOEXCEPT;

/**
 * Tells what a context runs on.
 *
 * @param context            A context.
 * @param[in,out] properties `struct_size` in, everything else out.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_context_get_properties(synfire_context context,
                                                                       synfire_context_properties *properties)
    SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup buffer
 * @{ */

/** Typed memory of a context, owned or borrowed. */
typedef struct synfire_buffer_s *synfire_buffer;

/** Kinds of memory: synfire_buffer_desc::memory. */
enum {
  /** Memory of the device. On a host context: ordinary memory. */
  SYNFIRE_MEMORY_DEVICE = 0,
  /** Page-locked host memory that the GPU reads and writes: the kind for frames in and out of a graph.
   *  On a host context: ordinary memory. */
  SYNFIRE_MEMORY_PINNED = 1,
  /** Ordinary (pageable) host memory. On a CUDA context it can be uploaded from and downloaded to, not recorded. */
  SYNFIRE_MEMORY_HOST = 2
};

/** Types of elements: synfire_buffer_desc::dtype and synfire_layer_desc::dtype. */
enum {
  /** IEEE binary32. */
  SYNFIRE_DTYPE_F32 = 0,
  /** IEEE binary64: the reference mode. */
  SYNFIRE_DTYPE_F64 = 1,
  /** Neuron-packed spikes: `uint32` words `[T, B, ceil(N/32)]`, bit i of word w is neuron 32w+i, tail bits zero; its
   *  bytes are what a little-endian packbits of each row gives. One element is one word. */
  SYNFIRE_DTYPE_BITS = 2,
  /** IEEE binary16, as storage: arithmetic and state are f32. */
  SYNFIRE_DTYPE_F16 = 3,
  /** bfloat16, the upper half of an f32, as storage: arithmetic and state are f32. */
  SYNFIRE_DTYPE_BF16 = 4,
  /** One byte a spike, 0 or 1. For spikes only. */
  SYNFIRE_DTYPE_U8 = 5,
  /** Time-packed spikes: `uint32` words `[ceil(T/32), B, N]`, bit t mod 32 of word t / 32 is step t, tail bits zero.
   *  One element is one word. For spikes only. */
  SYNFIRE_DTYPE_TIME_BITS = 6,
  /** Unsigned whole numbers of 32 bits: counts of spikes. */
  SYNFIRE_DTYPE_U32 = 7,
  /** Unsigned whole numbers of 64 bits: counts of spikes. */
  SYNFIRE_DTYPE_U64 = 8
};

/**
 * What the library calls when it has given up borrowed memory: synfire_buffer_desc::release.
 *
 * It is called once, by the thread that frees the buffer: one inside a create call, inside synfire_context_reclaim(),
 * or inside a blocking wait without a time-out, on any context of the process. No lock of the library is held, so it
 * may call the library, also to create and destroy; what it destroys is freed before that outer call returns. It has no
 * result, and nothing may leave it but by returning: no exception, no `longjmp`, no end of the thread.
 *
 * @param user synfire_buffer_desc::release_user.
 */
typedef void(SYNFIRE_CALL *synfire_release_callback)(void *user SYNFIRE_NULLABLE);

/** How to create a buffer. Zero means default in every field but `struct_size`; `n_elements` or `shape` is needed. */
typedef struct synfire_buffer_desc {
  /** `sizeof(synfire_buffer_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_MEMORY_*`. Default: device. */
  int32_t memory SYNFIRE_ONE_OF(SYNFIRE_MEMORY);
  /** One of `SYNFIRE_DTYPE_*`. Default: f32. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** Must be zero. */
  uint32_t reserved;
  /** Number of elements (words for packed spikes), at least 1. 0 (default): as many as `shape` takes, at its
   *  `row_pitch`. */
  uint64_t n_elements;
  /** Null (default): the library allocates, zero-filled and aligned to 256 bytes. Otherwise memory to borrow: it must
   *  be of the stated kind (on CUDA this is checked), aligned to its element, and stay until its last use: by the
   *  buffer, by a graph that uses it, and by a layer whose tape was made from it. `release` tells when that was. */
  void *data SYNFIRE_NULLABLE;
  /** Elements (words for packed spikes) from one step to the next, where a layer reads or writes the buffer as
   *  `[T, ...]`: at least one step's elements. What lies between is left alone. 0 (default): steps follow each other
   *  directly. */
  uint64_t row_pitch;
  /** Called once when borrowed memory has had its last use, and no GPU work that was enqueued before reads or writes
   *  it. Null (default): nothing is called. Refused without `data`. When the buffer could not be created it is never
   *  called, and the memory is still the caller's. */
  synfire_release_callback release SYNFIRE_NULLABLE;
  /** Handed to `release`. */
  void *release_user SYNFIRE_NULLABLE;
  /** Set to 1 when `release` would be called, or has returned: by an atomic store with release order. For programs
   *  whose own functions must not run on any thread that calls the library, such as those of an interpreter or of a
   *  garbage collector: they look at it when they like. Null (default): nothing is set. Refused without `data`; not set
   *  when the buffer could not be created. */
  uint32_t *release_flag SYNFIRE_NULLABLE;
  /** The shape: up to four lengths, the slowest dimension first, such as `[T, B, N]`; unused ones at the end are 0.
   *  Packed spikes have their last or first length in words. An operation refuses a buffer of another shape than it
   *  needs (::SYNFIRE_ERROR_INVALID_ARGUMENT). Lengths of 1 are ignored, and a buffer with one length is a plain array,
   *  of which only the size is checked. With `row_pitch`, the first length is the number of steps. All 0 (default): no
   *  shape; only the size is checked. */
  uint64_t shape[4];
} synfire_buffer_desc;

/** All zeros plus the size. */
/* clang-format off */
#define SYNFIRE_BUFFER_DESC_INIT \
  { (uint32_t)sizeof(synfire_buffer_desc), 0, 0, 0u, 0u, NULL, 0u, NULL, NULL, NULL, { 0u, 0u, 0u, 0u } }
/* clang-format on */

/**
 * Creates a buffer, allocated (zero-filled) or borrowed. Memory that is lent with a release function is given back when
 * nothing needs it any more: the buffer is destroyed, no graph uses it, and no layer has a tape of it.
 *
 * More host memory than the machine, or the control group that the process runs in, can give is refused before any of
 * it is touched: ::SYNFIRE_ERROR_OUT_OF_MEMORY, as for everything here that allocates. Large blocks of ordinary memory
 * are given by the operating system page by page, when they are first touched.
 *
 * @param context     The context it belongs to.
 * @param desc        What to create.
 * @param[out] buffer Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes. @allocates yes, unless borrowed. @enqueues a fill, waited for. @capture legal.
 * @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_create(synfire_context context, const synfire_buffer_desc *desc,
                                                              synfire_buffer *buffer) SYNFIRE_NOEXCEPT;

/**
 * Destroys a buffer. Graphs that use it keep its memory until they are destroyed too, and so does a layer whose latest
 * forward left a tape of it: until its next forward with another X or for inference, or until it is destroyed. Borrowed
 * memory is never freed; synfire_buffer_desc::release is called by a later call, at the latest by the
 * synfire_context_reclaim() that answers that nothing is queued.
 *
 * @param buffer A buffer, or null (nothing happens). A stale handle is ignored.
 * @blocks no (it queues). @allocates no. @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.1
 */
SYNFIRE_API void SYNFIRE_CALL synfire_buffer_destroy(synfire_buffer buffer SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * The address and size of a buffer's memory. The host may read and write pinned and host memory (and, on a host
 * context, all kinds) while no replay uses it.
 *
 * @param buffer     A buffer.
 * @param[out] data  Receives the address: a device address for device memory. May be null.
 * @param[out] bytes Receives the size in bytes. May be null.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_get_data(synfire_buffer buffer, void **data SYNFIRE_NULLABLE,
                                                                uint64_t *bytes SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Copies host memory into a buffer, after everything already enqueued on the context's own stream.
 *
 * @param buffer A buffer of any kind.
 * @param offset First byte in the buffer.
 * @param source `bytes` bytes of host memory.
 * @param bytes  How many bytes; `offset + bytes` must not exceed the buffer.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until the copy is done. @allocates no. @enqueues a copy on the context's own stream.
 * @capture legal (it does not enter a capture). @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_upload(synfire_buffer buffer, uint64_t offset,
                                                              const void *source, uint64_t bytes) SYNFIRE_NOEXCEPT;

/**
 * Copies a buffer into host memory, after everything already enqueued on the context's own stream.
 *
 * @param buffer      A buffer of any kind.
 * @param offset      First byte in the buffer.
 * @param destination `bytes` bytes of host memory.
 * @param bytes       How many bytes; `offset + bytes` must not exceed the buffer.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until the copy is done. @allocates no. @enqueues a copy on the context's own stream.
 * @capture legal (it does not enter a capture). @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_download(synfire_buffer buffer, uint64_t offset,
                                                                void *destination, uint64_t bytes) SYNFIRE_NOEXCEPT;

/**
 * Sets every element of a buffer to one value.
 *
 * @param buffer A buffer of any kind.
 * @param value  Rounded to the buffer's type; for packed spikes, 0 clears and any whole number in [0, 2^32) is written
 *               to each word; ::SYNFIRE_DTYPE_U8, ::SYNFIRE_DTYPE_U32 and ::SYNFIRE_DTYPE_U64 take whole numbers that
 *               they hold.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until the fill is done. @allocates no. @enqueues a fill on the context's own stream.
 * @capture legal (it does not enter a capture). @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_fill(synfire_buffer buffer, double value) SYNFIRE_NOEXCEPT;

/**
 * Reports that a buffer's memory was written behind the library's back: by the host through its address, or by a kernel
 * of the caller's own.
 *
 * A tape that recomputes needs the X it was made from: after a reported write, a backward answers
 * ::SYNFIRE_ERROR_STALE_TAPE instead of a gradient of other numbers. Uploads, fills, recorded copies and outputs of
 * other layers report themselves.
 *
 * @param buffer A buffer of any kind.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_mark_written(synfire_buffer buffer) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup layer
 * @{ */

/** A neuron model with a fixed shape, its parameters, its state and its tape. */
typedef struct synfire_layer_s *synfire_layer;

/** Neuron models: synfire_layer_desc::model. */
enum {
  /** The default model: ::SYNFIRE_MODEL_LIF. */
  SYNFIRE_MODEL_DEFAULT = 0,
  /** Integrate and fire: \f$H[t] = V[t-1] + X[t]\f$. Parameters `v_threshold`, `v_reset`. */
  SYNFIRE_MODEL_IF = 1,
  /** Leaky integrate and fire: \f$H[t] = V[t-1] + (X[t] - (V[t-1] - V_{rest}))/\tau\f$; with undecayed input
   *  \f$H[t] = V[t-1] - (V[t-1] - V_{rest})/\tau + X[t]\f$. Parameters `tau`, `v_rest`, `v_threshold`, `v_reset`. */
  SYNFIRE_MODEL_LIF = 2,
  /** Parametric LIF: LIF whose one stored value is 1/tau, the parameter that learns. Parameters `reciprocal_tau` (also
   *  set and read as `tau`), `v_rest`, `v_threshold`, `v_reset`. */
  SYNFIRE_MODEL_PLIF = 3,
  /** Quadratic integrate and fire: \f$H[t] = V[t-1] + (X[t] + a_0 (V[t-1]-V_{rest})(V[t-1]-V_c))/\tau\f$. Parameters
   *  `tau`, `v_c`, `a0`, `v_rest`, `v_threshold`, `v_reset`. */
  SYNFIRE_MODEL_QIF = 4,
  /** Exponential integrate and fire:
   *  \f$H[t] = V[t-1] + (X[t] - V[t-1] + V_{rest} + \Delta_T e^{(V[t-1]-\theta_{rh})/\Delta_T})/\tau\f$. Parameters
   *  `tau`, `delta_T`, `theta_rh`, `v_rest`, `v_threshold`, `v_reset`. */
  SYNFIRE_MODEL_EIF = 5,
  /** Izhikevich's adaptive quadratic neuron, with a second variable W:
   *  \f$H[t] = V[t-1] + (X[t] + a_0 (V[t-1]-V_{rest})(V[t-1]-V_c) - W[t-1])/\tau\f$,
   *  \f$W[t] = W[t-1] + (a (H[t]-V_{rest}) - W[t-1])/\tau_w + b S[t]\f$. Parameters `tau`, `v_c`, `a0`, `v_rest`,
   *  `tau_w`, `a`, `b`, `v_threshold`, `v_reset`. */
  SYNFIRE_MODEL_IZHIKEVICH = 6
};

/** Surrogate derivatives of the spike: synfire_layer_desc::surrogate. */
enum {
  /** The default surrogate: ::SYNFIRE_SURROGATE_SIGMOID. */
  SYNFIRE_SURROGATE_DEFAULT = 0,
  /** \f$g'(x) = \alpha\,\sigma(\alpha x)(1-\sigma(\alpha x))\f$, `alpha` = 4. */
  SYNFIRE_SURROGATE_SIGMOID = 1,
  /** \f$g'(x) = \alpha / (2(1 + (\pi\alpha x/2)^2))\f$, `alpha` = 2. */
  SYNFIRE_SURROGATE_ATAN = 2,
  /** \f$g'(x) = \max(0, \alpha - \alpha^2 |x|)\f$, `alpha` = 1. */
  SYNFIRE_SURROGATE_PIECEWISE_QUADRATIC = 3,
  /** \f$g'(x) = \frac{\alpha}{2} e^{-\alpha |x|}\f$, `alpha` = 1. */
  SYNFIRE_SURROGATE_PIECEWISE_EXP = 4,
  /** \f$g'(x) = \alpha / (2(1 + \alpha |x|)^2)\f$, `alpha` = 2. */
  SYNFIRE_SURROGATE_SOFT_SIGN = 5,
  /** \f$g'(x) = \alpha / (1 + |x|)^2\f$, `alpha` = 1. */
  SYNFIRE_SURROGATE_SUPER_SPIKE = 6,
  /** \f$g'(x) = \frac{\alpha}{\sqrt\pi} e^{-\alpha^2 x^2}\f$, `alpha` = 2. */
  SYNFIRE_SURROGATE_ERF = 7,
  /** \f$g'(x) = 1/(2w)\f$ for \f$|x| < w\f$, else c; `w` = 1, `c` = 0.01. */
  SYNFIRE_SURROGATE_PIECEWISE_LEAKY_RELU = 8,
  /** \f$g'(x) = \alpha\,\sigma(\alpha x)(1-\sigma(\alpha x))\f$ for x < 0, else \f$\beta/(x+1)\f$; `alpha` = 4,
   *  `beta` = 1. */
  SYNFIRE_SURROGATE_S2NN = 9,
  /** \f$g'(x) = (1 + 2|x|/(\alpha-1))^{-\alpha}\f$, `alpha` = 2; alpha > 1. */
  SYNFIRE_SURROGATE_Q_PSEUDO_SPIKE = 10,
  /** \f$g'(x) = k\f$ for x >= 0, else leak; `leak` = 0, `k` = 1. */
  SYNFIRE_SURROGATE_LEAKY_K_RELU = 11,
  /** \f$g'(x) = \min(1/|x|, \alpha)\f$, `alpha` = 0.3. */
  SYNFIRE_SURROGATE_FAKE_NUMERICAL_GRADIENT = 12,
  /** \f$g'(x) = \alpha\f$ for x <= 0, 1 for 0 < x <= 1, \f$1/x\f$ for x > 1; `alpha` = 0. */
  SYNFIRE_SURROGATE_LOG_TAILED_RELU = 13,
  /** \f$g'(x) = 1/(1/\alpha + |x|)\f$, `alpha` = 1. */
  SYNFIRE_SURROGATE_NONZERO_SIGN_LOG_ABS = 14,
  /** \f$g'(x) = \frac{4}{T} \sum_{i=1}^{n-1} \cos((2i-1) 2\pi x/T)\f$, `n` = 2, T = `T_period` = 8. */
  SYNFIRE_SURROGATE_SQUAREWAVE_FOURIER_SERIES = 15,
  /** \f$g'(x) = \alpha\f$ for \f$|x| < 1/(2\alpha)\f$, else 0; `alpha` = 1. */
  SYNFIRE_SURROGATE_RECT = 16
};

/**
 * The id of a model by its name: that of ::SYNFIRE_MODEL_LIF is `"lif"`. Models that were added to this build of the
 * library have ids from 1000 on, which depend on the order of addition; their names do not.
 *
 * @param name    The model's name.
 * @param[out] id Receives what synfire_layer_desc::model takes; untouched on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT, with a text that lists the known ones, when there is none of
 *         this name.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_model_id(const char *name, int32_t *id) SYNFIRE_NOEXCEPT;

/**
 * The id of a surrogate by its name: that of ::SYNFIRE_SURROGATE_SUPER_SPIKE is `"super_spike"`. Added ones have ids
 * from 1000 on, as models have; the two do not share their ids.
 *
 * @param name    The surrogate's name.
 * @param[out] id Receives what synfire_layer_desc::surrogate takes; untouched on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT, with a text that lists the known ones, when there is none of
 *         this name.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_surrogate_id(const char *name, int32_t *id) SYNFIRE_NOEXCEPT;

/** What a spike does to V: synfire_layer_desc::reset. */
enum {
  /** \f$V = V_{reset}\f$ after a spike, else \f$V = H\f$. */
  SYNFIRE_RESET_HARD = 0,
  /** \f$V = H - V_{threshold}\f$ after a spike, else \f$V = H\f$. */
  SYNFIRE_RESET_SOFT = 1
};

/** What a forward leaves for its backwards: synfire_forward_desc::tape. A tape belongs to a forward: each one that is
 *  recorded in a graph has a tape of its own, and the eager forwards of a layer have one together, which each of them
 *  writes anew. */
enum {
  /** The forward keeps V at every 32nd step; H is recomputed from X, which must stay unchanged until the backward has
   *  run (see synfire_buffer_mark_written()). */
  SYNFIRE_TAPE_RECOMPUTE = 0,
  /** Inference: the forward keeps nothing, and no backward can follow it. */
  SYNFIRE_TAPE_NONE = 1,
  /** The forward also keeps H of every step, in f32 (f64 in f64 layers): the same gradients, bit for bit. X is free
   *  after the forward, unless gradients of parameters are asked for. */
  SYNFIRE_TAPE_STORE = 2,
  /** As ::SYNFIRE_TAPE_STORE with H in the layer's 16-bit dtype beside time-packed spikes: spikes stay exact, gradients
   *  carry the rounding of H. f16 and bf16 layers only. */
  SYNFIRE_TAPE_STORE_NARROW = 3
};

/** How to create a layer. Zero means default in every field but `struct_size`, `n_steps` and `n_neurons`. */
typedef struct synfire_layer_desc {
  /** `sizeof(synfire_layer_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_MODEL_*`, or what synfire_model_id() gave. Default: LIF. */
  int32_t model SYNFIRE_ONE_OF(SYNFIRE_MODEL);
  /** Steps T of one forward, at least 1. */
  int64_t n_steps;
  /** Neurons N of one batch row, at least 1. */
  int64_t n_neurons;
  /** Batch rows B that share the parameters. Default: 1. */
  int64_t batch;
  /** Storage of the sequences `[T, B, N]`: one of `SYNFIRE_DTYPE_F32` (default), `SYNFIRE_DTYPE_F16`,
   *  `SYNFIRE_DTYPE_BF16` (state, arithmetic, parameters and their gradients are f32 with all three) and
   *  `SYNFIRE_DTYPE_F64` (f64 throughout). In a 16-bit layer any single sequence may also be f32. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** One of `SYNFIRE_RESET_*`. Default: hard. */
  int32_t reset SYNFIRE_ONE_OF(SYNFIRE_RESET);
  /** One of `SYNFIRE_SURROGATE_*`, or what synfire_surrogate_id() gave. Default: sigmoid. */
  int32_t surrogate SYNFIRE_ONE_OF(SYNFIRE_SURROGATE);
  /** 1: the gradient does not flow through the spike inside the reset. Default 0: it does. */
  int32_t detach_reset SYNFIRE_FLAG;
  /** LIF and PLIF only. 1: X is added undivided by tau. Default 0: X decays with tau. */
  int32_t undecayed_input SYNFIRE_FLAG;
  /** CUDA threads of one block of the layer's kernels, to measure with: 32, 64, 96 or 128; a backward takes at most 64.
   *  Default 0: as was measured best. Changes no result. Ignored on the host. */
  uint32_t threads_per_block;
} synfire_layer_desc;

/** All zeros plus the size. */
#define SYNFIRE_LAYER_DESC_INIT \
  { (uint32_t)sizeof(synfire_layer_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0u }

/** Bytes a layer needs on its device, known before anything is allocated. What is said of a tape is taken by each tape:
 *  by every recorded forward that leaves one, until its graph is destroyed, and once by the layer's eager forwards. */
typedef struct synfire_layer_memory {
  /** `sizeof(synfire_layer_memory)`; set before the call. */
  uint32_t struct_size;
  /** Steps between two checkpoints of V on the tape. */
  uint32_t checkpoint_interval;
  /** State V `[B, N]` (and W), each rounded up to 256 bytes. */
  uint64_t state_bytes;
  /** Parameters, each one number, and the constants that follow from them. */
  uint64_t parameter_bytes;
  /** Constants per neuron; added once, with the first parameter that becomes one number per neuron. */
  uint64_t per_neuron_parameter_bytes;
  /** A tape, V (and W) as `[ceil(T/checkpoint_interval), B, N]`; never for inference. */
  uint64_t tape_bytes;
  /** Sums over steps of the gradients of parameters; allocated with the first backward that asks for one. */
  uint64_t gradient_bytes;
  /** Added once, when gradients of parameters are asked for and parameters are one number per neuron. */
  uint64_t per_neuron_gradient_bytes;
  /** H of ::SYNFIRE_TAPE_STORE; added to the tape of such a forward, unless H goes over X. */
  uint64_t stored_tape_bytes;
  /** H of ::SYNFIRE_TAPE_STORE_NARROW; added to the tape of such a forward, unless H goes over X. 0 in f32 and f64. */
  uint64_t narrow_tape_bytes;
  /** Spikes beside the H of ::SYNFIRE_TAPE_STORE_NARROW; added to the tape of such a forward. 0 in f32 and f64. */
  uint64_t narrow_tape_spike_bytes;
  /** Values, f64; added with each parameter that becomes one number per neuron. On their way there the values take as
   *  much page-locked host memory: once for each change of the parameter that is in flight, at most eight times. */
  uint64_t per_neuron_value_bytes;
} synfire_layer_memory;

/** All zeros plus the size. */
#define SYNFIRE_LAYER_MEMORY_INIT \
  { (uint32_t)sizeof(synfire_layer_memory), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u }

/** One parameter of a layer. */
typedef struct synfire_parameter_info {
  /** `sizeof(synfire_parameter_info)`; set before the call. */
  uint32_t struct_size;
  /** 1 when the minimum itself is not allowed: `minimum < value <= maximum`. */
  int32_t open_range SYNFIRE_FLAG;
  /** Values held now: 1, or N. */
  uint64_t length;
  /** The value of a fresh layer. */
  double default_value;
  /** Smallest value allowed. */
  double minimum;
  /** Largest value allowed. */
  double maximum;
  /** The name, a constant string that lives as long as the library. */
  const char *name;
} synfire_parameter_info;

/** All zeros plus the size. */
#define SYNFIRE_PARAMETER_INFO_INIT \
  { (uint32_t)sizeof(synfire_parameter_info), 0, 0u, 0.0, 0.0, 0.0, NULL }

/** One forward pass through time. Buffers marked optional may be null. Sequences `[T, B, N]` are of the layer's dtype,
 *  in a 16-bit layer also f32, each on its own; states `[B, N]` are f32, in an f64 layer f64. */
typedef struct synfire_forward_desc {
  /** `sizeof(synfire_forward_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_TAPE_*`. Default: recompute. */
  int32_t tape SYNFIRE_ONE_OF(SYNFIRE_TAPE);
  /** X `[T, B, N]`, read. */
  synfire_buffer x SYNFIRE_READ("[T, B, N]");
  /** S, written: dense `[T, B, N]` of 0 and 1 (as other sequences, or ::SYNFIRE_DTYPE_U8), ::SYNFIRE_DTYPE_BITS
   *  `[T, B, ceil(N/32)]`, or ::SYNFIRE_DTYPE_TIME_BITS `[ceil(T/32), B, N]`. Optional. */
  synfire_buffer spikes SYNFIRE_WRITTEN("spikes [T, B, N]") SYNFIRE_NULLABLE;
  /** V before the first step `[B, N]`, read. Null (default): the layer's own state, which this forward then advances,
   *  so that the next one continues. Given: the layer's state is neither read nor written. */
  synfire_buffer v_init SYNFIRE_READ("[B, N]") SYNFIRE_NULLABLE;
  /** V after the last step `[B, N]`, written. Optional. */
  synfire_buffer v_final SYNFIRE_WRITTEN("[B, N]") SYNFIRE_NULLABLE;
  /** V after reset, every step `[T, B, N]`, written. Optional. */
  synfire_buffer v_seq SYNFIRE_WRITTEN("[T, B, N]") SYNFIRE_NULLABLE;
  /** H, the charged potential before firing `[T, B, N]`, written. Optional. */
  synfire_buffer h_seq SYNFIRE_WRITTEN("[T, B, N]") SYNFIRE_NULLABLE;
  /** W before the first step `[B, N]`, read: given together with `v_init`, or both null. The w fields are for models
   *  with a second variable only. */
  synfire_buffer w_init SYNFIRE_READ("[B, N]") SYNFIRE_NULLABLE;
  /** W after the last step `[B, N]`, written. Optional. */
  synfire_buffer w_final SYNFIRE_WRITTEN("[B, N]") SYNFIRE_NULLABLE;
  /** W after every step `[T, B, N]`, written. Optional. */
  synfire_buffer w_seq SYNFIRE_WRITTEN("[T, B, N]") SYNFIRE_NULLABLE;
  /** 1: a tape mode that stores H writes it over X, which must be of the type H is stored in. No gradients of
   *  parameters can follow. Default 0: H gets memory of its own. */
  int32_t in_place SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
} synfire_forward_desc;

/** All zeros plus the size. */
#define SYNFIRE_FORWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_forward_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0u }

/** A parameter whose gradient a backward shall compute. */
typedef struct synfire_parameter_gradient {
  /** A parameter of the model, `v_threshold` or `v_reset`; not one of the surrogate. A second name (`tau` of PLIF)
   *  gives the gradient along that. */
  const char *name;
  /** dL/dp, replaced, or added to (synfire_backward_desc::add_parameter_gradients): a buffer of f32 (f64 in an f64
   *  layer) with one element, the sum over all neurons, batch rows and steps, or with N, the sum over batch rows and
   *  steps of each neuron. Sums are taken in f64 in a fixed order, so that every run and every machine gives the same
   *  bits. */
  synfire_buffer gradient SYNFIRE_UPDATED("[1] or [N]");
} synfire_parameter_gradient;

/** One backward pass through time, of one taped forward. A null gradient in means zero. Types are those of
 *  ::synfire_forward_desc. */
typedef struct synfire_backward_desc {
  /** `sizeof(synfire_backward_desc)`. */
  uint32_t struct_size;
  /** 1: `grad_x_seq` may be the same memory as `grad_spike_seq`, of the same type and pitch. Default 0: refused. */
  int32_t in_place SYNFIRE_FLAG;
  /** dL/dS `[T, B, N]`, read. Optional. */
  synfire_buffer grad_spike_seq SYNFIRE_READ("[T, B, N]") SYNFIRE_NULLABLE;
  /** dL/dV of every step `[T, B, N]`, read. Optional. */
  synfire_buffer grad_v_seq SYNFIRE_READ("[T, B, N]") SYNFIRE_NULLABLE;
  /** dL/dV of the final state `[B, N]`, read; added to the last step's: the grad_v_init of the window that follows.
   *  Optional. */
  synfire_buffer grad_v_final SYNFIRE_READ("[B, N]") SYNFIRE_NULLABLE;
  /** dL/dX `[T, B, N]`, written. Optional; at least one output is needed. */
  synfire_buffer grad_x_seq SYNFIRE_WRITTEN("[T, B, N]") SYNFIRE_NULLABLE;
  /** dL/dV_init `[B, N]`, written. Optional; at least one output is needed. */
  synfire_buffer grad_v_init SYNFIRE_WRITTEN("[B, N]") SYNFIRE_NULLABLE;
  /** dL/dW of every step `[T, B, N]`, read. Optional. The w fields are for models with a second variable only. */
  synfire_buffer grad_w_seq SYNFIRE_READ("[T, B, N]") SYNFIRE_NULLABLE;
  /** dL/dW of the final state `[B, N]`, read. Optional. */
  synfire_buffer grad_w_final SYNFIRE_READ("[B, N]") SYNFIRE_NULLABLE;
  /** dL/dW_init `[B, N]`, written. Optional. */
  synfire_buffer grad_w_init SYNFIRE_WRITTEN("[B, N]") SYNFIRE_NULLABLE;
  /** `n_parameter_gradients` gradients to compute. Default: none. A detached reset drops the paths through S inside the
   *  reset; direct terms stay. */
  const synfire_parameter_gradient *parameter_gradients SYNFIRE_NULLABLE;
  /** How many. Default: 0. */
  uint64_t n_parameter_gradients SYNFIRE_LENGTH_OF(parameter_gradients);
  /** In a graph: which forward of the layer, by 1 + the number that synfire_graph_get_last_operation() gave for it, so
   *  that a layer may stand in a graph several times: shared weights, windows one after the other. Default 0: the
   *  newest forward of the layer in the graph, or, where it has none, the forward that was recorded or run last
   *  anywhere. A backward that runs now is of the forward that ran last, and takes 0 only. */
  uint32_t forward;
  /** 1: gradients of parameters are added to what their buffers hold, in f64, and rounded once. Default 0: they replace
   *  it. */
  int32_t add_parameter_gradients SYNFIRE_FLAG;
} synfire_backward_desc;

/** All zeros plus the size. */
#define SYNFIRE_BACKWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_backward_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0u, 0u, 0 }

/**
 * Tells what a layer would take, before anything is allocated.
 *
 * @param desc           The layer.
 * @param[in,out] memory `struct_size` in, everything else out.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (a
 *         size that cannot be represented).
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_query_memory(const synfire_layer_desc *desc,
                                                                   synfire_layer_memory *memory) SYNFIRE_NOEXCEPT;

/**
 * Creates a layer with default parameters and a reset state. Memory that cannot be had is refused as by
 * synfire_buffer_create().
 *
 * @param context    The context it belongs to.
 * @param desc       What to create.
 * @param[out] layer Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes. @allocates yes. @enqueues a state reset, waited for. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_create(synfire_context context, const synfire_layer_desc *desc,
                                                             synfire_layer *layer) SYNFIRE_NOEXCEPT;

/**
 * Destroys a layer. Graphs that use it keep it until they are destroyed too.
 *
 * @param layer A layer, or null (nothing happens). A stale handle is ignored.
 * @blocks no (it queues). @allocates no. @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.1
 */
SYNFIRE_API void SYNFIRE_CALL synfire_layer_destroy(synfire_layer layer SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Sets a parameter: one number for the whole layer, or one per neuron (shared across the batch).
 *
 * The next launch or eager call sees it; replays already launched do not. Graphs need no re-recording. A tape left by
 * an earlier forward becomes stale. All values are checked before any is taken over.
 *
 * @param layer  A layer.
 * @param name   The parameter's name, e.g. `"tau"`; the surrogate's are named `"alpha"` and the like.
 * @param values `count` finite values inside the parameter's range (synfire_layer_get_parameter_info()); `tau` is in
 *               steps, potentials in units of the threshold's.
 * @param count  1, or N.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks no; the first values per neuron of a parameter, which allocate, until earlier work on the context's own
 * stream is done, and while eight changes of it are in flight, another one until the first has reached the device.
 * @allocates host memory; with the first values per neuron of a parameter device and page-locked memory, later
 * page-locked memory when more changes of it are in flight than ever before. @enqueues no. @capture legal (it does not
 * enter a capture). @threads any; not while another thread launches a graph with this layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_set_parameter(synfire_layer layer, const char *name,
                                                                    const double *values,
                                                                    uint64_t count SYNFIRE_LENGTH_OF(values))
    SYNFIRE_NOEXCEPT;

/**
 * Reads a parameter back, exactly as it was set (under a second name: the reciprocal of what is stored), or as the
 * latest replay left it that updates the parameter (synfire_graph_record_update_parameter()).
 *
 * @param layer       A layer.
 * @param name        The parameter's name.
 * @param[out] values Receives `count` values; one number held is repeated.
 * @param count       1 (only when one number is held), or N.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks no; after the launch of a graph that updates the parameter, until every replay with this layer launched
 * before this call is done. @allocates no; then host memory. @enqueues no; then a copy. @capture legal. @threads any;
 * while another thread launches a graph that updates the parameter, numbers of two replays may be mixed. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_parameter(synfire_layer layer, const char *name,
                                                                    double *values,
                                                                    uint64_t count SYNFIRE_LENGTH_OF(values))
    SYNFIRE_NOEXCEPT;

/** Values for one parameter: an entry of the list of synfire_layer_set_parameters(). */
typedef struct synfire_parameter_values {
  /** The parameter's name. */
  const char *name;
  /** `count` values. */
  const double *values;
  /** 1, or N. */
  uint64_t count;
} synfire_parameter_values;

/**
 * Sets several parameters: all of them or, when one is refused, none. The next launch or eager call sees all of them
 * together; replays already launched see none. Otherwise as synfire_layer_set_parameter(), which sets one.
 *
 * @param layer    A layer.
 * @param list     `n_values` entries, each of another parameter.
 * @param n_values How many, at least 1.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks as synfire_layer_set_parameter(). @allocates as synfire_layer_set_parameter(). @enqueues no.
 * @capture legal (it does not enter a capture). @threads any; not while another thread launches a graph with this
 * layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_set_parameters(synfire_layer layer,
                                                                     const synfire_parameter_values *list,
                                                                     uint64_t n_values SYNFIRE_LENGTH_OF(list))
    SYNFIRE_NOEXCEPT;

/**
 * Chooses how many batch rows of a layer are active: the first ones. The next launch or eager call sees it, together
 * with parameters that were set; replays already launched do not. Graphs need no re-recording. A tape left by an
 * earlier forward becomes stale.
 *
 * Forward and backward neither read nor write the other rows: their state is kept, their part of every output is
 * untouched, and gradients of parameters are those of the active rows, with the same bits as in a layer of only these.
 * Operations on the state, on spikes and on elements go on as they were described.
 *
 * @param layer  A layer.
 * @param n_rows 0 to B. B is the value of a fresh layer.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT.
 * @blocks no. @allocates no. @enqueues no. @capture legal (it does not enter a capture). @threads any; not while
 * another thread launches a graph with this layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_set_n_active(synfire_layer layer, int64_t n_rows)
    SYNFIRE_NOEXCEPT;

/**
 * Describes the parameters of a layer, one by one.
 *
 * @param layer        A layer.
 * @param index        0, 1, 2 ... in the model's documented order, the surrogate's last.
 * @param[in,out] info `struct_size` in, everything else out.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT when `index` is past the last one (`info` is then untouched);
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_parameter_info(synfire_layer layer, uint32_t index,
                                                                         synfire_parameter_info *info) SYNFIRE_NOEXCEPT;

/**
 * Puts the state back to its start: V = `v_reset` under hard reset, 0 under soft reset; W = 0.
 *
 * @param layer  A layer.
 * @param stream The stream to use; null is the context's own. Must be null on the host.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks no. @allocates no. @enqueues a fill on `stream`. @capture legal: on a captured stream
 * it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream.
 * @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_reset_state(synfire_layer layer,
                                                                  synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Reads the state, after everything enqueued on the context's own stream. Work given to other streams must be done.
 *
 * @param layer  A layer.
 * @param name   The state variable: `"v"`, or `"w"` in models with two variables.
 * @param[out] values Receives B·N elements, f32 (f64 in an f64 layer), host memory.
 * @param bytes  Size of `values`; exactly B·N elements.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until done. @allocates no. @enqueues a copy on the context's own stream.
 * @capture legal (it does not enter a capture). @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_read_state(synfire_layer layer, const char *name, void *values,
                                                                 uint64_t bytes) SYNFIRE_NOEXCEPT;

/**
 * Writes the state, after everything enqueued on the context's own stream. Work given to other streams must be done.
 *
 * @param layer  A layer.
 * @param name   The state variable: `"v"`, or `"w"` in models with two variables.
 * @param values B·N elements, f32 (f64 in an f64 layer), host memory.
 * @param bytes  Size of `values`; exactly B·N elements.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until done. @allocates no. @enqueues a copy on the context's own stream.
 * @capture legal (it does not enter a capture). @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_write_state(synfire_layer layer, const char *name,
                                                                  const void *values, uint64_t bytes) SYNFIRE_NOEXCEPT;

/**
 * Runs one forward now: the same operation that synfire_graph_record_forward() records.
 *
 * \f{eqnarray*}{
 *   H[t] &=& f(V[t-1], X[t]) \\
 *   S[t] &=& [H[t] \ge V_{threshold}] \qquad \textrm{(a NaN never fires)} \\
 *   V[t] &=& S[t]\ ?\ V_{reset} : H[t] \quad \textrm{(hard)} \qquad H[t] - V_{threshold} S[t] \quad \textrm{(soft)}
 * \f}
 *
 * @param layer  A layer.
 * @param desc   What to read and write.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_CAPTURING (the capture is invalid),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates a tape, with the first taped eager forward of a layer;
 * a host context's threads, with the first work for them. @enqueues one kernel on `stream` (two after a parameter
 * change). @capture legal: on a captured stream it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for
 * the context's own stream. @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_forward(synfire_layer layer, const synfire_forward_desc *desc,
                                                              synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Runs one backward through time now, of the layer's latest forward, which must have left a tape.
 *
 * With \f$g_s = g'(H[t]-V_{threshold})\f$ and \f$D = 1\f$ when the reset is detached:
 * \f{eqnarray*}{
 *   \partial V/\partial H &=& 1 - S[t] + (1-D)\,(V_{reset}-H[t])\,g_s \quad \textrm{(hard)} \qquad
 *                             1 - (1-D)\,V_{threshold}\,g_s \quad \textrm{(soft)} \\
 *   G_H[t] &=& G_S[t]\,g_s + (G_V[t] + G_H[t+1]\,\partial H[t+1]/\partial V[t])\,\partial V/\partial H \\
 *   G_X[t] &=& G_H[t]\,\partial H[t]/\partial X[t] \qquad G_{V_{init}} = G_H[1]\,\partial H[1]/\partial V[0]
 * \f}
 * W's own terms and the gradients of parameters follow by the chain rule; derivatives of the charge function are taken
 * by dual numbers. The formulas are those of backpropagation through time with a surrogate derivative (Neftci, Mostafa
 * and Zenke 2019).
 *
 * @param layer  A layer.
 * @param desc   What to read and write.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_STALE_TAPE, ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_CAPTURING (the capture is
 *         invalid), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates with the first parameter gradient of a layer; a
 * host context's threads, with the first work for them. @enqueues one kernel on `stream`, and one or two more for each
 * parameter gradient. @capture legal: on a captured stream it becomes part of the capture (::SYNFIRE_CAPTURED), after
 * waiting for the context's own stream. @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_backward(synfire_layer layer, const synfire_backward_desc *desc,
                                                               synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/** Rows of the state of a layer, and a buffer: what synfire_layer_reset_rows() and the functions after it work on. A
 *  row is one of the batch: N values of each state variable. */
typedef struct synfire_state_desc {
  /** `sizeof(synfire_state_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** First batch row. Default: 0. */
  int64_t first_row;
  /** How many batch rows. 0 (default): all from `first_row` on. */
  int64_t n_rows;
  /** The state variable that is read or written, `"v"` or `"w"`. Default: `"v"`. Only reading and writing look at
   *  it. */
  const char *name SYNFIRE_NULLABLE;
  /** What the function says. */
  synfire_buffer buffer SYNFIRE_UPDATED("any") SYNFIRE_NULLABLE;
} synfire_state_desc;

/** All zeros plus the size. */
#define SYNFIRE_STATE_DESC_INIT \
  { (uint32_t)sizeof(synfire_state_desc), 0u, 0, 0, NULL, NULL }

/** Rows of the state of one layer that go to another one. */
typedef struct synfire_copy_rows_desc {
  /** `sizeof(synfire_copy_rows_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Read: a layer of the same model, number of neurons and arithmetic. Rows of one layer may be copied to others of
   *  it. */
  synfire_layer source;
  /** First batch row of `source`. Default: 0. */
  int64_t first_row;
  /** How many batch rows. 0 (default): all of `source` from `first_row` on. */
  int64_t n_rows;
  /** First batch row that is written. Default: 0. */
  int64_t destination_row;
} synfire_copy_rows_desc;

/** All zeros plus the size. */
#define SYNFIRE_COPY_ROWS_DESC_INIT \
  { (uint32_t)sizeof(synfire_copy_rows_desc), 0u, NULL, 0, 0, 0 }

/**
 * Sets rows of the state back to their start, or those of them that a mask chooses: what synfire_layer_reset_state()
 * does to all of them.
 *
 * @param layer  A layer.
 * @param desc   The rows. `buffer`: null, or a mask ::SYNFIRE_DTYPE_U8 `[B]`, read when the call runs, of which the
 *               byte of a batch row is not 0 where that row shall be reset; on a CUDA context device or pinned.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_WRONG_ORDER (a graph's replay with the layer is in flight on
 *         another stream), ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks no. @allocates no. @enqueues one kernel on `stream`. @capture legal: on a captured stream
 * it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream.
 * @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_reset_rows(
    synfire_layer layer, const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_READ("[B]") SYNFIRE_NULLABLE),
    synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Copies rows of a state variable into a buffer.
 *
 * @param layer  A layer.
 * @param desc   The rows and the variable. `buffer`: `[n_rows, N]` of f32, in an f64 layer f64, written from its
 *               beginning on; on a CUDA context device or pinned.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_WRONG_ORDER (a graph's replay with the layer is in flight on
 *         another stream), ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks no. @allocates no. @enqueues a copy on `stream`. @capture legal: on a captured stream
 * it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream.
 * @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_read_rows(
    synfire_layer layer, const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_WRITTEN("[n_rows, N]")),
    synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Copies a buffer into rows of a state variable.
 *
 * @param layer  A layer.
 * @param desc   The rows and the variable. `buffer`: as in synfire_layer_read_rows(), read.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_WRONG_ORDER (a graph's replay with the layer is in flight on
 *         another stream), ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks no. @allocates no. @enqueues a copy on `stream`. @capture legal: on a captured stream
 * it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream.
 * @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_write_rows(
    synfire_layer layer, const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_READ("[n_rows, N]")),
    synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Copies rows of the state of one layer to another one, all state variables.
 *
 * @param layer  The layer that is written.
 * @param desc   The layer that is read, and which rows.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_WRONG_ORDER (a graph's replay with the layer is in flight on
 *         another stream), ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks no. @allocates no. @enqueues a copy for each state variable on `stream`. @capture legal: on a captured stream
 * it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream.
 * @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_copy_rows(synfire_layer layer, const synfire_copy_rows_desc *desc,
                                                                synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Takes a snapshot of rows of the state: a header that says what it is of, then their values. Parameters are not in it.
 *
 * @param layer         A layer.
 * @param desc          The rows; null means all. `buffer` is null.
 * @param[out] data     Receives the snapshot; null asks for its size only.
 * @param[in,out] bytes The size of `data`; receives that of the snapshot.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks until the copy is done and earlier work on the context's own stream has finished. @allocates no.
 * @enqueues copies, waited for. @capture legal (it does not enter a capture). @threads one at a time per layer.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_snapshot(synfire_layer layer,
                                                               const synfire_state_desc *desc SYNFIRE_NULLABLE,
                                                               void *data SYNFIRE_NULLABLE, uint64_t *bytes)
    SYNFIRE_NOEXCEPT;

/**
 * Puts a snapshot back. What is not a snapshot, is one of another model, type or shape, or has changed since it was
 * taken is refused, and the state stays as it is.
 *
 * @param layer A layer of the model, arithmetic and number of neurons that the snapshot was taken of; rows may be
 *              others.
 * @param desc  The rows, as many as the snapshot has; null means all. `buffer` is null.
 * @param data  The snapshot, also one that a replay took (synfire_graph_record_snapshot()), which has no checksum.
 * @param bytes Its size.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks until the copy is done and earlier work on the context's own stream has finished. @allocates no.
 * @enqueues copies, waited for. @capture legal (it does not enter a capture). @threads one at a time per layer.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_restore(synfire_layer layer,
                                                              const synfire_state_desc *desc SYNFIRE_NULLABLE,
                                                              const void *data, uint64_t bytes) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup spikes
 * @{ */

/** Spikes `[T, B, N]` in one format, to be written in another: packed, unpacked, transposed or as another type. The
 * types of the two buffers say what is converted. A buffer's `row_pitch` holds as in a layer's passes. */
typedef struct synfire_convert_spikes_desc {
  /** `sizeof(synfire_convert_spikes_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Steps T, at least 1. */
  int64_t n_steps;
  /** Neurons N of one batch row, at least 1. */
  int64_t n_neurons;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read. Dense `[T, B, N]` in f32, f64, f16, bf16 or u8, where every element that is not zero is a spike: a NaN is
   *  one, a subnormal number is one, -0 is none. Or packed, ::SYNFIRE_DTYPE_BITS or ::SYNFIRE_DTYPE_TIME_BITS, whose
   *  tail bits are not looked at. */
  synfire_buffer source SYNFIRE_READ("spikes [T, B, N]");
  /** Written, in any of these types: 1 and 0 when dense; all words, tail bits zero, when packed. May not overlap what
   *  is read. */
  synfire_buffer destination SYNFIRE_WRITTEN("spikes [T, B, N]");
} synfire_convert_spikes_desc;

/** All zeros plus the size. */
#define SYNFIRE_CONVERT_SPIKES_DESC_INIT \
  { (uint32_t)sizeof(synfire_convert_spikes_desc), 0u, 0, 0, 0, NULL, NULL }

/** What is counted: synfire_count_spikes_desc::kind. */
enum {
  /** Spikes of each neuron over all steps: `[B, N]`. */
  SYNFIRE_COUNT_PER_NEURON = 0,
  /** Spikes of each step, of all neurons of all batch rows: `[T]`. */
  SYNFIRE_COUNT_PER_STEP = 1,
  /** All spikes: one element. */
  SYNFIRE_COUNT_TOTAL = 2
};

/** Spikes `[T, B, N]` to be counted, exactly. */
typedef struct synfire_count_spikes_desc {
  /** `sizeof(synfire_count_spikes_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_COUNT_*`. Default: per neuron. */
  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_COUNT);
  /** Steps T, at least 1. */
  int64_t n_steps;
  /** Neurons N of one batch row, at least 1. */
  int64_t n_neurons;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read, in any format that synfire_convert_spikes_desc::source may have. */
  synfire_buffer spikes SYNFIRE_READ("spikes [T, B, N]");
  /** Written, not added to: ::SYNFIRE_DTYPE_U32 or ::SYNFIRE_DTYPE_U64, which must hold the largest count that the
   *  shape allows. May not overlap what is read. */
  synfire_buffer counts SYNFIRE_WRITTEN("[B, N], [T] or [1]");
} synfire_count_spikes_desc;

/** All zeros plus the size. */
#define SYNFIRE_COUNT_SPIKES_DESC_INIT \
  { (uint32_t)sizeof(synfire_count_spikes_desc), 0, 0, 0, 0, NULL, NULL }

/** Rates to be encoded as spikes `[T, B, N]`: in each step each neuron spikes with the probability of its rate,
 * independently of all others.
 *
 * The spike of neuron n of batch row b in step t follows from its rate, `seed`, `offset` + t, b and n, and from nothing
 * else: it is the same whatever T, B and N are, in every format, on every backend and with any number of threads. It is
 * drawn by Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC '11), whose
 * key is `seed`, low word first, and whose counter is the words n / 4, b, low and high word of `offset` + t (modulo
 * 2^64). The neuron spikes where word n mod 4 of what comes out is below rate * 2^32, rounded down. A rate of 0 or less
 * never spikes, nor does a NaN; one of 1 or more always does. */
typedef struct synfire_encode_bernoulli_desc {
  /** `sizeof(synfire_encode_bernoulli_desc)`. */
  uint32_t struct_size;
  /** 0 (default): `rates` are `[B, N]`, the same in every step. 1: `[T, B, N]`. */
  int32_t rates_per_step SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps;
  /** Neurons N of one batch row, at least 1, at most 2^34. */
  int64_t n_neurons;
  /** Batch rows B, at most 2^32. Default: 1. */
  int64_t batch;
  /** Read: f32, f16 or bf16. */
  synfire_buffer rates SYNFIRE_READ("[B, N] or [T, B, N]");
  /** Written, in any format that synfire_convert_spikes_desc::destination may have. May not overlap what is read. */
  synfire_buffer spikes SYNFIRE_WRITTEN("spikes [T, B, N]");
  /** Any number; another one gives other spikes, independent of these. The operation's value `"seed"`. */
  uint64_t seed;
  /** The number of the first step since the seed. In a graph that of the first replay: each replay begins T steps
   *  further on than the one before it. The operation's value `"offset"`. */
  uint64_t offset;
} synfire_encode_bernoulli_desc;

/** All zeros plus the size. */
#define SYNFIRE_ENCODE_BERNOULLI_DESC_INIT \
  { (uint32_t)sizeof(synfire_encode_bernoulli_desc), 0, 0, 0, 0, NULL, NULL, 0u, 0u }

/**
 * Converts spikes from one format to another now: the same operation that synfire_graph_record_convert_spikes()
 * records.
 *
 * @param context The context of both buffers.
 * @param desc    What to read and write; on a CUDA context device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_convert_spikes(synfire_context context,
                                                               const synfire_convert_spikes_desc *desc,
                                                               synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Counts spikes now: the same operation that synfire_graph_record_count_spikes() records.
 *
 * @param context The context of both buffers.
 * @param desc    What to read and write; on a CUDA context device or pinned buffers. Counts in device memory are
 *                faster.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues two kernels on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_count_spikes(synfire_context context,
                                                             const synfire_count_spikes_desc *desc,
                                                             synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Encodes rates as spikes now: the same operation that synfire_graph_record_encode_bernoulli() records. Calls do not
 * count: the next one, to go on, is given an `offset` that is `n_steps` larger.
 *
 * @param context The context of both buffers.
 * @param desc    What to read and write; on a CUDA context device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (more neurons or batch rows than can be told apart),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed), ::SYNFIRE_ERROR_CAPTURING (the capture is
 *         invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the context's job
 *         system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), with the `offset` of this call in each of its runs, after waiting for the context's own stream.
 * @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_encode_bernoulli(synfire_context context,
                                                                 const synfire_encode_bernoulli_desc *desc,
                                                                 synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup graph
 * @{ */

/** An ordered list of operations, recorded once, instantiated once, replayed many times. */
typedef struct synfire_graph_s *synfire_graph;

/** How synfire_graph_wait() waits. */
enum {
  /** Poll without pause: the lowest latency, one busy processor. */
  SYNFIRE_WAIT_SPIN = 0,
  /** Poll, giving the processor to other threads in between. */
  SYNFIRE_WAIT_YIELD = 1,
  /** Sleep until done: the lowest load, the highest latency. */
  SYNFIRE_WAIT_BLOCK = 2
};

/** Values of synfire_graph_desc::n_slots beside numbers of copies. */
enum {
  /** One copy of the pinned buffers, their own memory, which nothing guards. */
  SYNFIRE_SLOTS_SHARED = 0x7fffffff
};

/** How to create a graph. Zero means default in every field but `struct_size`. */
typedef struct synfire_graph_desc {
  /** `sizeof(synfire_graph_desc)`. */
  uint32_t struct_size;
  /** How many copies of the pinned buffers that it reads and writes the graph has, up to 64 and as many as there is
   *  memory for (::SYNFIRE_ERROR_OUT_OF_MEMORY when it is instantiated): that many replays can be
   *  in flight, each with frames of its own, and one more launch answers ::SYNFIRE_ERROR_BUSY. Replay number t has copy
   *  (t - 1) mod n_slots; synfire_graph_get_slot() tells where that is. Copy 0 is the buffers' own memory. 0 (default):
   *  1, or, where the graph has no pinned buffer, any number of replays in flight. ::SYNFIRE_SLOTS_SHARED: one copy,
   *  and launches are not refused: the caller sees to it that replays in flight do not meet in it. */
  uint32_t n_slots;
} synfire_graph_desc;

/** All zeros plus the size. */
#define SYNFIRE_GRAPH_DESC_INIT \
  { (uint32_t)sizeof(synfire_graph_desc), 0u }

/** A copy between two buffers of one context. */
typedef struct synfire_copy_desc {
  /** `sizeof(synfire_copy_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Read. */
  synfire_buffer source SYNFIRE_READ("any");
  /** Written; may not overlap what is read. */
  synfire_buffer destination SYNFIRE_WRITTEN("any");
  /** First byte in `source`. */
  uint64_t source_offset;
  /** First byte in `destination`. */
  uint64_t destination_offset;
  /** How many bytes; 0 (default) means the whole of `source`, from `source_offset`. */
  uint64_t bytes;
} synfire_copy_desc;

/** All zeros plus the size. */
#define SYNFIRE_COPY_DESC_INIT \
  { (uint32_t)sizeof(synfire_copy_desc), 0u, NULL, NULL, 0u, 0u, 0u }

/** A stretch of memory. */
typedef struct synfire_memory {
  /** Its address; a device address for device memory. */
  void *data;
  /** Its size. */
  uint64_t bytes;
} synfire_memory;

/** What the callback of a native node is told. */
typedef struct synfire_native_call {
  /** `sizeof(synfire_native_call)` of the library. */
  uint32_t struct_size;
  /** The slot of the graph whose addresses these are. */
  uint32_t slot;
  /** On CUDA the stream to enqueue on, with the context's device current; null on the host. */
  synfire_stream stream SYNFIRE_NULLABLE;
  /** How many `reads` there are. */
  uint64_t n_reads SYNFIRE_LENGTH_OF(reads);
  /** synfire_native_desc::reads, as memory, in the order of the descriptor. */
  const synfire_memory *reads SYNFIRE_NULLABLE;
  /** How many `writes` there are. */
  uint64_t n_writes SYNFIRE_LENGTH_OF(writes);
  /** synfire_native_desc::writes, as memory, in the order of the descriptor. */
  const synfire_memory *writes SYNFIRE_NULLABLE;
} synfire_native_call;

/** All zeros plus the size. */
#define SYNFIRE_NATIVE_CALL_INIT \
  { (uint32_t)sizeof(synfire_native_call), 0u, NULL, 0u, NULL, 0u, NULL }

/**
 * The function of a native node.
 *
 * On CUDA it is called inside synfire_graph_instantiate() and synfire_graph_rebind(), once for each slot, with a stream
 * that is being captured: kernels, copies and fills that it enqueues there become part of the graph, reading and
 * writing the memory of `call`. It may fork to other streams if it joins them again. It may not end the capture,
 * synchronise, allocate or free in stream order, or enqueue host functions. Kernels should be loaded before. Where
 * there is no capture (environment variable `SYNFIRE_GRAPH=0`) it is called by each launch. On the host it is called by
 * each launch, on the launching thread, and does its work before it returns.
 *
 * What a callback of a launch does to a layer of the graph counts from where it stands in the replay. Parameters that
 * it sets take effect with the next launch or eager call. A backward behind it, in this replay or later, of a forward
 * ahead of it is ::SYNFIRE_ERROR_STALE_TAPE when the callback ran the layer, brought other parameters to it by an eager
 * call, or wrote an X that the backward reads again.
 *
 * @param user synfire_native_desc::user.
 * @param call Where to enqueue and what to read and write; valid during the call only.
 * @return 0 or more for success; anything negative fails the call that it was called in, with ::SYNFIRE_ERROR_CALLBACK.
 *         It must return: no exception may leave it, nor may the thread.
 */
typedef synfire_status(SYNFIRE_CALL *synfire_native_callback)(void *user SYNFIRE_NULLABLE,
                                                              const synfire_native_call *call);

/** A native node: the caller's own code between two operations of a graph. */
typedef struct synfire_native_desc {
  /** `sizeof(synfire_native_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Its function; it must stay callable as long as the graph lives. */
  synfire_native_callback callback;
  /** Handed to the function. */
  void *user SYNFIRE_NULLABLE;
  /** What error texts and pictures call it, in UTF-8; copied. Null: only its number. */
  const char *name SYNFIRE_NULLABLE;
  /** Buffers that the function reads: device or pinned ones on a CUDA context. */
  const synfire_buffer *reads SYNFIRE_READ("any") SYNFIRE_NULLABLE;
  /** How many `reads` there are, at most 64. */
  uint64_t n_reads SYNFIRE_LENGTH_OF(reads);
  /** Buffers that the function writes. */
  const synfire_buffer *writes SYNFIRE_WRITTEN("any") SYNFIRE_NULLABLE;
  /** How many `writes` there are, at most 64. */
  uint64_t n_writes SYNFIRE_LENGTH_OF(writes);
} synfire_native_desc;

/** All zeros plus the size. */
#define SYNFIRE_NATIVE_DESC_INIT \
  { (uint32_t)sizeof(synfire_native_desc), 0u, NULL, NULL, NULL, NULL, 0u, NULL, 0u }

/** What a graph has counted and timed since it was created or reset. Times are from the call of a launch to the first
 *  wait or poll that saw the replay done; percentiles are at most 3.2 % above what they stand for. */
typedef struct synfire_graph_statistics {
  /** `sizeof(synfire_graph_statistics)`; set before the call. */
  uint32_t struct_size;
  /** Zero. */
  uint32_t reserved;
  /** Launches that gave a ticket. */
  uint64_t n_replays;
  /** Waits that answered ::SYNFIRE_PENDING after a time-out greater than 0. */
  uint64_t n_late_waits;
  /** Replays whose times are in the percentiles: those waited for in order, within 256 launches. */
  uint64_t n_seen;
  /** Half of the replays took at most this many nanoseconds. */
  uint64_t p50_ns;
  /** 99 % of the replays. */
  uint64_t p99_ns;
  /** 99.9 % of the replays. */
  uint64_t p999_ns;
  /** The longest, in no bucket. */
  uint64_t max_ns;
} synfire_graph_statistics;

/** All zeros plus the size. */
#define SYNFIRE_GRAPH_STATISTICS_INIT \
  { (uint32_t)sizeof(synfire_graph_statistics), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u }

/** A fill of a graph. */
typedef struct synfire_fill_desc {
  /** `sizeof(synfire_fill_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Written, every element of it. */
  synfire_buffer buffer SYNFIRE_WRITTEN("any");
  /** What every element becomes, rounded to the buffer's type; as synfire_buffer_fill(). The operation's value
   *  `"value"`. */
  double value;
} synfire_fill_desc;

/** All zeros plus the size. */
#define SYNFIRE_FILL_DESC_INIT \
  { (uint32_t)sizeof(synfire_fill_desc), 0u, NULL, 0.0 }

/** destination = keep * destination + scale * source, element by element. */
typedef struct synfire_scale_add_desc {
  /** `sizeof(synfire_scale_add_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Read: f32, f16 or bf16; f64 beside an f64 destination. */
  synfire_buffer source SYNFIRE_READ("any");
  /** Read and written: f32, f16 or bf16, not necessarily the type of `source`; f64 beside an f64 source. As many
   *  elements and the same row_pitch as `source`, which it may be itself, but not overlap otherwise. */
  synfire_buffer destination SYNFIRE_UPDATED("that of source");
  /** Finite; rounded to the arithmetic. The operation's value `"scale"`. */
  double scale;
  /** Finite; rounded to the arithmetic. With 0 `destination` is not read, so that a NaN in it does not stay. The
   *  operation's value `"keep"`. */
  double keep;
} synfire_scale_add_desc;

/** All zeros plus the size. */
#define SYNFIRE_SCALE_ADD_DESC_INIT \
  { (uint32_t)sizeof(synfire_scale_add_desc), 0u, NULL, NULL, 0.0, 0.0 }

/** Which bounds of synfire_update_parameter_desc are given: its `bounds`. */
enum {
  /** `lower` counts. */
  SYNFIRE_BOUND_LOWER = 1,
  /** `upper` counts. */
  SYNFIRE_BOUND_UPPER = 2
};

/** One step of gradient descent on a parameter of a layer. */
typedef struct synfire_update_parameter_desc {
  /** `sizeof(synfire_update_parameter_desc)`. */
  uint32_t struct_size;
  /** `SYNFIRE_BOUND_*`, added up. Default: none. */
  uint32_t bounds SYNFIRE_ANY_OF(SYNFIRE_BOUND);
  /** A parameter of the model, `v_threshold` or `v_reset`; not one of the surrogate. Under a second name (`tau` of
   *  PLIF) the step is along that. */
  const char *name;
  /** dL/dp, read: f32 (f64 in an f64 layer), one element, or N when the parameter is one number per neuron. */
  synfire_buffer gradient SYNFIRE_READ("[1] or [N]");
  /** Finite. The operation's value `"learning_rate"`. */
  double learning_rate;
  /** The smallest value that the parameter may take, beside its own range. */
  double lower;
  /** The largest value that the parameter may take, beside its own range. */
  double upper;
} synfire_update_parameter_desc;

/** All zeros plus the size. */
#define SYNFIRE_UPDATE_PARAMETER_DESC_INIT \
  { (uint32_t)sizeof(synfire_update_parameter_desc), 0u, NULL, NULL, 0.0, 0.0, 0.0 }

/**
 * Computes destination = keep * destination + scale * source now: the same operation that
 * synfire_graph_record_scale_add() records.
 *
 * The arithmetic is f32, with f64 buffers f64: keep * destination is rounded, then scale * source is added to it with
 * one rounding (a fused multiply-add), then the sum is rounded to the type of `destination`. Host and GPU give the same
 * bits.
 *
 * @param context The context of both buffers.
 * @param desc    What to read and write; on a CUDA context device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_scale_add(synfire_context context, const synfire_scale_add_desc *desc,
                                                          synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Creates an empty graph.
 *
 * @param context    The context it belongs to.
 * @param desc       What to create; null means all defaults.
 * @param[out] graph Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST.
 * @blocks yes. @allocates yes. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_create(synfire_context context,
                                                             const synfire_graph_desc *desc SYNFIRE_NULLABLE,
                                                             synfire_graph *graph) SYNFIRE_NOEXCEPT;

/**
 * Destroys a graph.
 *
 * @param graph A graph, or null (nothing happens). A stale handle is ignored. Replays in flight finish first.
 * @blocks no (it queues). @allocates no. @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.1
 */
SYNFIRE_API void SYNFIRE_CALL synfire_graph_destroy(synfire_graph graph SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Appends a forward pass. All checks happen here, none at launch. A layer may stand in a graph any number of times:
 * each forward that begins from the layer's state continues the state that the one before left.
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  What to read and write; on a CUDA context device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory; a tape, unless it is for inference. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_forward(synfire_graph graph, synfire_layer layer,
                                                                     const synfire_forward_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Appends a backward pass through time of a forward of the layer: the one that `desc.forward` names, else the one
 * recorded last in this graph, else the one that was recorded or run last anywhere. Where that does not run in the same
 * replay, because it is not in the graph or is disabled, each launch checks that its tape is still good.
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  What to read and write; on a CUDA context device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_STALE_TAPE (no taped forward of this layer was ever recorded or run, or the
 *         latest one was recorded for inference), ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated),
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory; device memory with the first parameter gradient of a layer. @enqueues no.
 * @capture legal. @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_backward(synfire_graph graph, synfire_layer layer,
                                                                      const synfire_backward_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a copy.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to copy; on a CUDA context between device and pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_copy(synfire_graph graph, const synfire_copy_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a conversion of spikes from one format to another.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_convert_spikes(synfire_graph graph,
                                                                            const synfire_convert_spikes_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a count of spikes.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_count_spikes(synfire_graph graph,
                                                                          const synfire_count_spikes_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends an encoding of rates as spikes; synfire_encode_bernoulli_desc says which. The first replay begins at
 * synfire_encode_bernoulli_desc::offset, and each one behind where the one before it ended, without the host: replays
 * never draw the same numbers again. One in which the operation is disabled does not move on. Setting the operation's
 * value `"offset"` lets the next launch begin there, also where an earlier one began.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (more neurons or
 *         batch rows than can be told apart), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory and device memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_encode_bernoulli(synfire_graph graph,
                                                                              const synfire_encode_bernoulli_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a native node: the caller's own kernels or library calls on CUDA, its own function on the host.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  The function, and which buffers it reads and writes.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_native(synfire_graph graph,
                                                                    const synfire_native_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Appends a fill.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to fill and with what; on a CUDA context a device or pinned buffer.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory; device memory for the first values of a graph. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_fill(synfire_graph graph, const synfire_fill_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a scale-and-add; synfire_scale_add() says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory; device memory for the first values of a graph. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_scale_add(synfire_graph graph,
                                                                       const synfire_scale_add_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends one step of gradient descent on a parameter: p = clamp(p - learning_rate * gradient).
 *
 * Values are f64, also in f32 layers; the step is rounded once. Then it is clamped to the parameter's range and the
 * bounds given, and taken back as far as is needed for every constant that follows, such as 1/tau, to be a finite
 * number of the layer's arithmetic: to the nearest such value. A minimum that is itself not allowed stands for the next
 * larger f64. A gradient that is infinite or a NaN changes nothing. The constants are derived anew as
 * synfire_layer_set_parameter() derives them, so that setting what synfire_layer_get_parameter() gives changes no bit;
 * host and GPU give the same bits.
 *
 * Operations after this one see the new value. Tapes of forwards before it become stale, and a backward of such a
 * forward cannot be recorded after it. A value that the host sets comes between two replays: after the updates of those
 * launched before, ahead of those launched later. While such a graph lives, the parameter stays as it is, one number or
 * one per neuron.
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  The parameter and its gradient; on a CUDA context a device or pinned buffer.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory; device memory with the first update of a layer and for the first values of a
 * graph. @enqueues no. @capture legal. @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_update_parameter(synfire_graph graph, synfire_layer layer,
                                                                              const synfire_update_parameter_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a reset of rows of a state; as synfire_layer_reset_rows(). The mask is read by every replay.
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  The rows, and a mask or null.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_reset_rows(
    synfire_graph graph, synfire_layer layer,
    const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_READ("[B]") SYNFIRE_NULLABLE)) SYNFIRE_NOEXCEPT;

/**
 * Appends a copy of rows of a state variable into a buffer; as synfire_layer_read_rows().
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  The rows, the variable and the buffer.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_read_rows(
    synfire_graph graph, synfire_layer layer,
    const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_WRITTEN("[n_rows, N]"))) SYNFIRE_NOEXCEPT;

/**
 * Appends a copy of a buffer into rows of a state variable; as synfire_layer_write_rows().
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  The rows, the variable and the buffer.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_write_rows(
    synfire_graph graph, synfire_layer layer,
    const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_READ("[n_rows, N]"))) SYNFIRE_NOEXCEPT;

/**
 * Appends a copy of rows of the state of one layer to another one; as synfire_layer_copy_rows().
 *
 * @param graph A graph that is not instantiated.
 * @param layer The layer that is written, of the same context.
 * @param desc  The layer that is read, of the same context, and which rows.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_copy_rows(synfire_graph graph, synfire_layer layer,
                                                                       const synfire_copy_rows_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a snapshot of rows of a state into a buffer. It is as long as that of synfire_layer_snapshot(), and
 * synfire_layer_restore() takes it; it has no checksum.
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  The rows. `buffer`: ::SYNFIRE_DTYPE_U8, written from its beginning on, at an address that is a multiple
 *              of 8; on a CUDA context device or pinned.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_snapshot(
    synfire_graph graph, synfire_layer layer,
    const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_WRITTEN("any"))) SYNFIRE_NOEXCEPT;

/**
 * Appends the restoring of a snapshot from a buffer. A replay that finds no snapshot of this layout there leaves the
 * state as it is.
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  The rows, as many as the snapshot has. `buffer`: as in synfire_graph_record_snapshot(), read.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_restore(
    synfire_graph graph, synfire_layer layer, const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_READ("any")))
    SYNFIRE_NOEXCEPT;

/**
 * The number of the operation recorded last. Calls that change an operation between replays take it.
 *
 * @param graph          A graph with at least one operation.
 * @param[out] operation Receives 0 for the first operation, 1 for the second, and so on; untouched on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (nothing is recorded), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_get_last_operation(synfire_graph graph, int32_t *operation)
    SYNFIRE_NOEXCEPT;

/**
 * Prepares the recorded list for replay: everything slow happens here (one arena allocation, kernel loading, a capture
 * that touches no data, capture on a private stream, upload). Once per graph. Where the environment variable
 * `SYNFIRE_GRAPH` is `0` at this call, no CUDA graph is made and each launch enqueues the list itself: the same bits,
 * slower, for debuggers.
 *
 * @param graph A graph with at least one operation.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (empty, or already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY, ::SYNFIRE_ERROR_CALLBACK, ::SYNFIRE_ERROR_UNSUPPORTED,
 *         ::SYNFIRE_ERROR_CAPTURING (inside the callback of a native node), ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks yes. @allocates yes. @enqueues an upload, waited for. @capture legal (it leaves other captures alone).
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_instantiate(synfire_graph graph) SYNFIRE_NOEXCEPT;

/**
 * Lets an operation run in later replays, or leaves it out: a backward only in frames that teach, a count only when it
 * is looked at. What a disabled operation would have written keeps what it held. All changes since the last launch take
 * effect together with the next one; replays in flight are not changed.
 *
 * A backward whose forward in the same graph is disabled reads the tape of an earlier replay; the launch answers
 * ::SYNFIRE_ERROR_STALE_TAPE where there is none that fits.
 *
 * @param graph     A graph, instantiated or not.
 * @param operation The operation's number: 0 is what was recorded first.
 * @param enabled   1: it runs. 0: it does not.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_BUSY,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks no. @allocates no. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_set_enabled(synfire_graph graph, int32_t operation,
                                                                  int32_t enabled SYNFIRE_FLAG) SYNFIRE_NOEXCEPT;

/**
 * Puts another buffer in the place of one that the graph was recorded with, in all its operations. Slow: on CUDA the
 * graph is captured anew, and callbacks of native nodes are called again. Replays in flight finish with the old buffer
 * first.
 *
 * @param graph      A graph, instantiated or not.
 * @param old_buffer A buffer that an operation of the graph reads or writes. Operations recorded through other buffers
 *                   over the same memory move along.
 * @param new_buffer A buffer of the same dtype, size, kind of memory and row pitch, which overlaps with nothing else
 *                   that the same operations use.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY, ::SYNFIRE_ERROR_CALLBACK, ::SYNFIRE_ERROR_CAPTURING,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA. After an error the graph is what it was.
 * @blocks until the replays in flight are done. @allocates yes. @enqueues an upload, waited for.
 * @capture legal (it leaves other captures alone). @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_rebind(synfire_graph graph, synfire_buffer old_buffer,
                                                             synfire_buffer new_buffer) SYNFIRE_NOEXCEPT;

/**
 * Changes a number that an operation uses, without recording anew. The next launch sees it, together with everything
 * else that was set since the launch before; replays already launched keep theirs.
 *
 * @param graph     A graph, instantiated or not.
 * @param operation Its number, from synfire_graph_get_last_operation().
 * @param name      `"value"` of a fill, `"scale"` or `"keep"` of a scale-and-add, `"learning_rate"` of an update,
 *                  `"seed"` or `"offset"` of an encoding.
 * @param value     What the descriptor of the operation allows there; of a seed or offset, whole numbers from 0 to
 *                  2^53. An encoding begins at its offset again whenever that is set, also to what it was.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates no. @enqueues no; the next launch enqueues one kernel more for every 64 values of the graph
 * that it brings along. @capture legal. @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_set_value(synfire_graph graph, int32_t operation,
                                                                const char *name, double value) SYNFIRE_NOEXCEPT;

/**
 * Replays the graph once.
 *
 * On CUDA this enqueues and returns; several replays may be in flight and run in order. On the host the replay runs
 * before the call returns. Replays of one graph, and those that share a layer, must be ordered: by one stream, or by
 * waiting. While a replay of this graph or of another one with one of its layers is in flight on another stream, or
 * runs on another thread of the host, a launch is refused: an order by events is not recognised.
 *
 * On a stream that the caller captures, the graph becomes a child node of that capture: ::SYNFIRE_CAPTURED, no ticket.
 * The child reads and writes the buffers' own memory (slot 0) and takes parameters as they are on the device when it
 * runs; changed ones are written there before this call returns. Each of its runs counts for tapes as this one call
 * does. The graph, its layers and its buffers must outlive what was captured; later changes by
 * synfire_graph_set_enabled() and synfire_graph_rebind() do not reach it. With an operation disabled, the others' nodes
 * are added instead of a child.
 *
 * @param graph       An instantiated graph.
 * @param stream      The CUDA stream; null is the context's own. Must be null on the host.
 * @param[out] ticket Receives the number of this replay: 1, 2, 3 ..., or 0 with ::SYNFIRE_CAPTURED; may be null.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_WRONG_ORDER (not instantiated, or this graph or a layer
 *         of it is in use on another stream, on the host on another thread), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STALE_TAPE, ::SYNFIRE_ERROR_CAPTURING (a capture that a
 *         child cannot be added to: it was invalidated, or its last operation is a programmatic launch; it stays as it
 *         was), ::SYNFIRE_ERROR_BUSY, ::SYNFIRE_ERROR_CALLBACK, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks no on CUDA, until done on the host; into a capture, until the context's own stream is idle and, where
 * something has changed, replays launched before are done. @allocates no; into a capture, what CUDA needs for the node.
 * @enqueues the graph on `stream`, and before it a kernel for each layer whose parameters changed and one for values of
 * operations that changed. @capture legal: it becomes part of a capture of `stream` and leaves others alone.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_launch(synfire_graph graph,
                                                             synfire_stream stream SYNFIRE_NULLABLE,
                                                             uint64_t *ticket SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Waits for a replay and returns its own verdict. After ::SYNFIRE_OK everything it wrote is visible to the host.
 *
 * It looks at a number in memory, and asks CUDA only after 1 ms (0.7 ms where it does not spin), then every half
 * millisecond and when the time is up: a device that CUDA knows to have failed is reported as lost within 1 ms, never
 * as late. CUDA itself may take longer to know: 0.15 s after a fault of a kernel (H200, driver 580).
 *
 * @param graph      An instantiated graph.
 * @param ticket     A ticket that a launch of this graph returned.
 * @param policy     One of `SYNFIRE_WAIT_*`.
 * @param timeout_ns Nanoseconds to wait at most; 0 looks once, negative waits for ever.
 * @return ::SYNFIRE_OK when done; ::SYNFIRE_PENDING when the time was up first; ::SYNFIRE_ERROR_INVALID_ARGUMENT (a
 *         ticket never handed out, an unknown policy), ::SYNFIRE_ERROR_WRONG_ORDER (not instantiated),
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes, by `policy`. @allocates no. @enqueues no. @capture legal with ::SYNFIRE_WAIT_SPIN and
 * ::SYNFIRE_WAIT_YIELD. @threads any, also while another thread launches. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_wait(synfire_graph graph, uint64_t ticket,
                                                           int32_t policy SYNFIRE_ONE_OF(SYNFIRE_WAIT),
                                                           int64_t timeout_ns) SYNFIRE_NOEXCEPT;

/**
 * Looks whether a replay is done. Never blocks.
 *
 * @param graph  An instantiated graph.
 * @param ticket A ticket that a launch of this graph returned.
 * @return As synfire_graph_wait() with a time-out of 0.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_poll(synfire_graph graph, uint64_t ticket) SYNFIRE_NOEXCEPT;

/**
 * Tells which memory of a pinned buffer the host may touch: for ticket 0 the copy that the next launch reads
 * and writes, for a ticket the copy that its replay read and wrote. It is the host's until the launch that takes the
 * slot.
 *
 * @param graph      An instantiated graph.
 * @param ticket     0 (the next launch), or one of the last `n_slots` tickets (the last one, when `n_slots` is 0 or
 *                   ::SYNFIRE_SLOTS_SHARED).
 * @param buffer     A pinned buffer that the graph was recorded with.
 * @param[out] data  Receives the address; null with ::SYNFIRE_PENDING.
 * @param[out] bytes Receives the size. May be null.
 * @return ::SYNFIRE_OK; ::SYNFIRE_PENDING while the replay that has the slot is in flight, also after a wait for it
 *         timed out; ::SYNFIRE_ERROR_INVALID_ARGUMENT (a ticket never handed out, or whose slot a later launch has
 *         taken; a buffer that is not pinned or not the graph's), ::SYNFIRE_ERROR_WRONG_ORDER (not instantiated),
 *         ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks no; while another thread re-binds, until it is done. @allocates no. @enqueues no. @capture legal.
 * @threads any, also while another thread launches. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_get_slot(synfire_graph graph, uint64_t ticket,
                                                               synfire_buffer buffer, void **data,
                                                               uint64_t *bytes SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Writes the graph as text in the DOT language of Graphviz: a node for each operation with its number, model, direction
 * and shape, and an edge wherever one reads or overwrites what another one left. Disabled operations are drawn dashed.
 *
 * @param graph          A graph, instantiated or not.
 * @param[out] text      Receives the text, null-terminated; null to ask for the size only.
 * @param[in,out] bytes  In: bytes at `text`. Out: bytes that the whole text needs, with its null; untouched on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT when `text` is too small, with nothing written;
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_write_dot(synfire_graph graph, char *text SYNFIRE_NULLABLE,
                                                                uint64_t *bytes) SYNFIRE_NOEXCEPT;

/**
 * Tells how many replays there were, how late and how long. The memory behind it is constant, and keeping it costs a
 * launch and a wait a look at the clock each.
 *
 * @param graph              A graph.
 * @param[in,out] statistics `struct_size` in, everything else out.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any, also while others launch and wait.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_get_statistics(synfire_graph graph,
                                                                     synfire_graph_statistics *statistics)
    SYNFIRE_NOEXCEPT;

/**
 * Forgets what synfire_graph_get_statistics() tells. Replays in flight count when they are seen done.
 *
 * @param graph A graph.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_reset_statistics(synfire_graph graph) SYNFIRE_NOEXCEPT;

/** @} */
/** @cond PLATFORM */
#ifdef __cplusplus
}
#endif
/** @endcond */

#endif /* SYNFIRE_SYNFIRE_H */
