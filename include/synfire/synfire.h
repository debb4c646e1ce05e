/* synfire.h - the complete C ABI of Synfire: spiking-neuron layers whose forward and backward passes through time are
 * recorded once and replayed as one graph. It includes only <stddef.h> and <stdint.h> and compiles as C89.
 *
 * It has every type, constant and function that a caller in any language needs. The C++ wrapper is synfire.hpp. No CUDA
 * type appears: a stream is a pointer to an incomplete struct.
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
 * - The result is a ::synfire_status: zero means success, a positive value means success with a note, and a negative
 *   value means an error. After an error, synfire_last_error() returns a text that begins with a stable rule id in
 *   brackets and names the argument, the value received and the values allowed. A failed call changes nothing and
 *   creates nothing.
 * - Descriptors begin with `struct_size` and are initialised with their `_INIT` macro, which sets the size and zeroes
 *   everything else. A zero field has its documented default. Later versions append fields, and the library accepts
 *   every version: fields that a smaller structure lacks are taken as zero on input and are not written on output.
 *   Nothing beyond `struct_size` is read or written. A structure larger than the library knows, up to 4096 bytes, is
 *   accepted if the unknown tail is all zero. Structures without `struct_size`, which are elements of lists, never
 *   grow.
 * - Handles are generation-checked: a handle that is null, stale, of the wrong type or of another context is never
 *   dereferenced, and the call returns ::SYNFIRE_ERROR_INVALID_HANDLE. Objects may be destroyed in any order: children
 *   keep alive what they need.
 * - Arrays are row-major and time-major: `[T, B, N]` is T steps of B batch rows of N neurons.
 * - Results do not depend on the caller's floating-point environment (rounding mode, flush-to-zero, traps), and every
 *   call leaves it unchanged, including the sticky exception flags. Callbacks run in the caller's environment.
 * - On a host context, no function needs more than 32 KiB of the calling thread's stack, whatever the model, the type
 *   and the shape, and neither does a part of a task (synfire_task). What callbacks take is not counted. On a CUDA
 *   context, this holds for launches and waits. Other functions call CUDA's driver, which was measured to take 30 KiB
 *   to initialise a device, 25 KiB to load kernels and 15 KiB to instantiate a graph (CUDA 13.0 on Linux): 64 KiB are
 *   enough. The compiler of a GPU's code runs on a thread of the library.
 * - No function throws, aborts or exits. No function changes the caller's current CUDA device or last CUDA error.
 * - A callback is any function of the caller's that the library calls. It must return normally: leaving it by a C++
 *   exception, `longjmp()`, `pthread_exit()` or thread cancellation is undefined behaviour. The library has its own C++
 *   runtime, which cannot unwind the program's exceptions, and skipping its frames leaves its objects in use forever.
 *   synfire.hpp and the bindings for other languages catch exceptions that callbacks throw.
 */

/** @defgroup version Version and errors */
/** @defgroup context Contexts */
/** @defgroup memory Memory and log
 * The program's own functions for host memory and for messages, and how much memory an object holds. */
/** @defgroup buffer Buffers */
/** @defgroup layer Layers */
/** @defgroup model Models of your own
 * Neurons and surrogates that are given as text at run time. Loading a text compiles it and runs its author's code in
 * this process: load only what you would also run as a program. */
/** @defgroup spikes Spikes
 * Converting spikes between formats, counting them, encoding rates as spikes, and binning events of cameras:
 * immediately, or recorded into a graph. */
/** @defgroup data Data sets
 * Batches of a data set, chosen and gathered on the device, and numbers of inputs that are not finite, replaced and
 * counted: immediately, or recorded into a graph. */
/** @defgroup loss Reductions and losses
 * Readouts such as sums and means, what training minimises with its gradient, and how many predictions are correct:
 * immediately, or recorded into a graph. */
/** @defgroup combine Branches
 * Where branches of a network meet: sums, AND and IAND of spikes, concatenations, and means over groups, with their
 * gradients: immediately, or recorded into a graph. */
/** @defgroup graph Graphs */
/** @defgroup synapse Synapses
 * Weights between layers: products with spikes or values, and their gradients; immediately, or recorded into a graph. */
/** @defgroup optimizer Optimisers
 * Steps of stochastic gradient descent and Adam over synapses and parameters of layers: immediately, or recorded into a
 * graph. */
/** @defgroup communicator Communicators
 * Ranks that train one network together, in one process or in many: the same bits for any number of them. */
/** @defgroup network Networks
 * The short way: stages that are added by name, and everything between them made, recorded and run. */

/** @addtogroup version
 * @{ */

/** ABI major version; equals the digit in the library's file name. */
#define SYNFIRE_ABI_MAJOR 0
/** ABI minor version; incremented when functions, constants or trailing descriptor fields are added. */
#define SYNFIRE_ABI_MINOR 3
/** Major and minor version in one number, for comparison with synfire_abi_version(). */
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
 * SYNFIRE_WITH(other)     one that is given exactly if another field, which may be null, is given
 * SYNFIRE_UNLESS(other)   one that is given exactly if that field is null
 * SYNFIRE_REQUIRED        a number that has no default
 * SYNFIRE_OPTIONAL        a number at the end of a function's parameters whose default is 0
 * SYNFIRE_OPTIONAL_NAN    the same with NaN
 * SYNFIRE_READ(shape)     a buffer that the operation reads, with its shape as written in the documentation
 * SYNFIRE_WRITTEN(shape)  a buffer that it writes
 * SYNFIRE_UPDATED(shape)  a buffer that it reads and writes
 * SYNFIRE_ONE_OF(prefix)  a number that is one of the constants `prefix_*`
 * SYNFIRE_ANY_OF(prefix)  a number that is a sum of such constants
 * SYNFIRE_FLAG            a number that is 0 or 1
 * SYNFIRE_LENGTH_OF(list) the number of entries of another field or parameter
 * SYNFIRE_FIELD(field, marks) on the descriptor that a function takes: the marks of a field in this function */
#ifndef SYNFIRE_NULLABLE
#define SYNFIRE_NULLABLE
#define SYNFIRE_WITH(other)
#define SYNFIRE_UNLESS(other)
#define SYNFIRE_REQUIRED
#define SYNFIRE_OPTIONAL
#define SYNFIRE_OPTIONAL_NAN
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

/** Values of ::synfire_status. */
enum {
  /** Success. */
  SYNFIRE_OK = 0,
  /** Success so far: the replay has not finished yet (poll), or did not finish before the time-out (wait). */
  SYNFIRE_PENDING = 1,
  /** Success: automatic selection found no usable GPU, so the context runs on the host;
   *  synfire_context_properties::fallback_reason says why. */
  SYNFIRE_HOST_FALLBACK = 2,
  /** Success: the caller is capturing the stream, so the work became part of the capture instead of running now. */
  SYNFIRE_CAPTURED = 3,
  /** An argument has a value that is not allowed; the text names it. */
  SYNFIRE_ERROR_INVALID_ARGUMENT = -1,
  /** A handle is null, stale, of the wrong type or of another context. */
  SYNFIRE_ERROR_INVALID_HANDLE = -2,
  /** A descriptor is too small, or has non-zero fields that this library does not know. */
  SYNFIRE_ERROR_STRUCT_SIZE = -3,
  /** Host or device memory is exhausted, the request exceeds the memory of the machine or of the process's control
   *  group, or the size cannot be represented. */
  SYNFIRE_ERROR_OUT_OF_MEMORY = -4,
  /** No driver, no visible GPU, a device number that does not exist, or a library built without CUDA. */
  SYNFIRE_ERROR_NO_DEVICE = -5,
  /** The graph is in use on another thread, or all its slots are in flight. */
  SYNFIRE_ERROR_BUSY = -6,
  /** The call is not legal while the stream (or this thread) is capturing. */
  SYNFIRE_ERROR_CAPTURING = -7,
  /** The tape that a backward needs does not exist, belongs to an older forward, or predates a change of parameters. */
  SYNFIRE_ERROR_STALE_TAPE = -8,
  /** Calls were made in the wrong order: for example, launch before instantiate. */
  SYNFIRE_ERROR_WRONG_ORDER = -9,
  /** The device failed permanently (a sticky CUDA error). The context can only be destroyed. */
  SYNFIRE_ERROR_DEVICE_LOST = -10,
  /** The combination is meaningful but not supported in this version. */
  SYNFIRE_ERROR_UNSUPPORTED = -11,
  /** A CUDA call failed for another reason; the text and the CUDA error number say which. */
  SYNFIRE_ERROR_CUDA = -12,
  /** The callback of a native node failed or broke the capture in which it was called (the text names the node), or the
   *  context's job system did not run a task that it accepted. */
  SYNFIRE_ERROR_CALLBACK = -13,
  /** A rank of a communicator has ended, has given up or did not appear in time; the text says which, as far as that is
   *  known. The communicator can only be destroyed. Since ABI 0.3. */
  SYNFIRE_ERROR_PEER_LOST = -14,
  /** A defect in Synfire itself. */
  SYNFIRE_ERROR_INTERNAL = -99
};

/** A CUDA stream of the context's device: `cudaStream_t` and `CUstream` convert without a cast. Null means the
 *  context's own stream. A stream of another device is refused (::SYNFIRE_ERROR_INVALID_ARGUMENT). CUDA's handles
 *  `cudaStreamLegacy` (1) and `cudaStreamPerThread` (2) refer to those streams of the device's primary context; the
 *  latter is that of the calling thread. */
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
 * Human-readable version and build facts, such as `"0.2.0 (cuda 13.0; host: pool)"`.
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
 * Copies the text of the last error on this thread. The copy is null-terminated whenever `capacity` > 0; a text that
 * does not fit is cut between characters. The text is UTF-8 without control characters: in names that it quotes, other
 * bytes appear as `\x1b` and the like.
 *
 * The text remains until the next failing call on the same thread; destroy functions never change it.
 *
 * @param[out] text       Receives the text; may be null when `capacity` is 0.
 * @param capacity        Size of `text` in bytes.
 * @param[out] cuda_error Receives the `cudaError_t` that caused the error, or 0; may be null.
 * @return The size of the whole text in bytes, including the terminating null.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any (per-thread text). @since ABI 0.1
 */
SYNFIRE_API uint64_t SYNFIRE_CALL synfire_last_error(char *text SYNFIRE_NULLABLE, uint64_t capacity,
                                                     int32_t *cuda_error SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup context
 * @{ */

/** One device, a CUDA GPU or the host, and everything created on it. */
typedef struct synfire_context_s *synfire_context;

/** Where a context may run: synfire_context_desc::backend. */
enum {
  /** CUDA if there is a usable GPU, else the host (with ::SYNFIRE_HOST_FALLBACK). */
  SYNFIRE_BACKEND_AUTO = 0,
  /** The host backend: the same mathematics, and the same bits in f32. */
  SYNFIRE_BACKEND_HOST = 1,
  /** An NVIDIA GPU. */
  SYNFIRE_BACKEND_CUDA = 2
};

/** Why automatic selection chose the host: synfire_context_properties::fallback_reason. */
enum {
  /** No fallback happened. */
  SYNFIRE_FALLBACK_NONE = 0,
  /** The library was built without CUDA. */
  SYNFIRE_FALLBACK_NOT_BUILT = 1,
  /** There is no working NVIDIA driver. */
  SYNFIRE_FALLBACK_NO_DRIVER = 2,
  /** The driver is older than the CUDA runtime in this library requires. */
  SYNFIRE_FALLBACK_DRIVER_TOO_OLD = 3,
  /** The driver works but reports no GPU. */
  SYNFIRE_FALLBACK_NO_DEVICE = 4,
  /** A GPU was found but could not be used; synfire_context_properties::name of the host context is still valid. */
  SYNFIRE_FALLBACK_DEVICE_FAILED = 5
};

/**
 * Runs part of a task that the library gave to a job system: the items [first, end).
 *
 * The job system runs every item of the task exactly once, in any order, on any threads and in parts of any size. The
 * function returns when its items are done. It does not throw, wait, allocate or lock. It needs 32 KiB of stack.
 *
 * @param argument The `argument` that synfire_enqueue_task received with the task.
 * @param first    First item, 0 or more.
 * @param end      One past the last item; at most the number of items of the task.
 */
typedef void(SYNFIRE_CALL *synfire_task)(void *argument, int32_t first, int32_t end);

/**
 * Adds a task to the caller's job system: synfire_context_desc::enqueue_task.
 *
 * The library calls it on the thread that runs synfire_graph_launch() or an eager call, when there is work for several
 * threads. If several threads launch at once, they may call it at once. It may run all or part of the task before it
 * returns, or leave the task to other threads. It must not throw, `longjmp` or call the library.
 *
 * @param user      synfire_context_desc::job_system.
 * @param task      The task. It is to be called with `argument` until every item has run once.
 * @param argument  Passed to `task`.
 * @param n_items   Number of items, from 2 to four times synfire_context_desc::n_threads.
 * @param min_range The smallest number of items that is worth running as a separate part; 1 or more.
 * @return A handle that is passed to synfire_finish_task to wait for the task; null if all items have already run, in
 *         which case synfire_finish_task is not called.
 */
typedef void *(SYNFIRE_CALL *synfire_enqueue_task)(void *user SYNFIRE_NULLABLE, synfire_task task, void *argument,
                                                   int32_t n_items, int32_t min_range);

/**
 * Waits until a task is done: synfire_context_desc::finish_task.
 *
 * The library calls it right after synfire_enqueue_task, on the same thread. It returns when every item has run;
 * meanwhile it may run parts of this task or of others. After it has returned, the task must not be called again. It
 * must not throw, `longjmp` or call the library.
 *
 * @param user   synfire_context_desc::job_system.
 * @param handle What synfire_enqueue_task returned; never null.
 */
typedef void(SYNFIRE_CALL *synfire_finish_task)(void *user SYNFIRE_NULLABLE, void *handle);

/** How to create a context. Zero means the default in every field except `struct_size`. */
typedef struct synfire_context_desc {
  /** `sizeof(synfire_context_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_BACKEND_*`. Default: automatic. */
  int32_t backend SYNFIRE_ONE_OF(SYNFIRE_BACKEND);
  /** CUDA device ordinal among the visible devices. Default: 0. The host backend accepts only 0. */
  int32_t device;
  /** Threads of the host backend, up to 1024. 0 (default): the value of the environment variable `OMP_NUM_THREADS`,
   *  else the number of processors on which the calling thread may run. 1: only the calling thread; no other is ever
   *  created. Small amounts of work stay on the calling thread. The other threads belong to the context: they are
   *  created when a graph with work for them is instantiated, or by the first eager call with such work, and end with
   *  the context. If the system refuses to create one, there are fewer. With a job system: the number of its threads,
   *  including the calling one. */
  int32_t n_threads;
  /** Priority of the context's own CUDA stream, in CUDA's numbering (lower is more urgent). Default: 0. Values outside
   *  the device's range are clamped to it. Kernels of the context's graphs have this priority on whichever stream they
   *  are launched; eager calls have the priority of their stream. */
  int32_t stream_priority;
  /** Must be zero. */
  uint32_t reserved;
  /** Adds a task to the caller's job system, which replaces the context's own threads. Null (default): no job system;
   *  `finish_task` must be null as well. The host backend uses the job system unless `n_threads` is 1; a CUDA context
   *  accepts it and never calls it. If an item of a task does not run exactly once, the call that issued the task fails
   *  with ::SYNFIRE_ERROR_CALLBACK. Both functions must stay callable until the context and everything created on it
   *  are freed. They are called only in launches and eager calls. */
  synfire_enqueue_task enqueue_task SYNFIRE_NULLABLE;
  /** Waits for a task that `enqueue_task` accepted. */
  synfire_finish_task finish_task SYNFIRE_NULLABLE;
  /** Passed to both functions. */
  void *job_system SYNFIRE_NULLABLE;
} synfire_context_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_CONTEXT_DESC_INIT \
  { (uint32_t)sizeof(synfire_context_desc), 0, 0, 0, 0, 0u, 0, 0, 0 }

/** Properties of a context and of the device that it runs on. */
typedef struct synfire_context_properties {
  /** `sizeof(synfire_context_properties)`; set before the call. */
  uint32_t struct_size;
  /** ::SYNFIRE_BACKEND_HOST or ::SYNFIRE_BACKEND_CUDA. */
  int32_t backend SYNFIRE_ONE_OF(SYNFIRE_BACKEND);
  /** CUDA device ordinal; -1 on the host. */
  int32_t device;
  /** One of `SYNFIRE_FALLBACK_*`: why automatic selection chose the host. */
  int32_t fallback_reason SYNFIRE_ONE_OF(SYNFIRE_FALLBACK);
  /** Threads the host backend may use; 0 on CUDA. */
  int32_t n_threads;
  /** Compute capability, major; 0 on the host. */
  int32_t compute_major;
  /** Compute capability, minor; 0 on the host. */
  int32_t compute_minor;
  /** Multiprocessors of the GPU; 0 on the host. */
  int32_t n_multiprocessors;
  /** CUDA driver version (e.g. 13000); 0 without a driver. */
  int32_t driver_version;
  /** CUDA runtime version inside this library; 0 if built without CUDA. */
  int32_t runtime_version;
  /** Bytes of device memory; 0 on the host. */
  uint64_t memory_bytes;
  /** Name of the GPU, or name, instruction level and threading of the host backend (e.g. `"host avx512, pool"`). */
  char name[128];
} synfire_context_properties;

/** All zeros except for `struct_size`. */
/* clang-format off */
#define SYNFIRE_CONTEXT_PROPERTIES_INIT \
  { (uint32_t)sizeof(synfire_context_properties), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0u, { 0 } }
/* clang-format on */

/**
 * Creates a context.
 *
 * @param desc         What to create; null means all defaults.
 * @param[out] context Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_HOST_FALLBACK if automatic selection chose the host; ::SYNFIRE_ERROR_NO_DEVICE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks yes (first use of a GPU initialises CUDA). @allocates yes. @enqueues no.
 * @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_context_create(const synfire_context_desc *desc SYNFIRE_NULLABLE,
                                                               synfire_context *context) SYNFIRE_NOEXCEPT;

/**
 * Destroys a context. Objects created on it stay valid until they are destroyed too; the last one releases the device.
 *
 * @param context A context, or null (nothing happens). A stale handle is ignored.
 * @blocks no (it queues; later create and reclaim calls, and blocking waits without a time-out, free the memory).
 * @allocates no. @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.1
 */
SYNFIRE_API void SYNFIRE_CALL synfire_context_destroy(synfire_context context SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Frees what earlier destroy calls queued. Create calls and blocking waits without a time-out do so too; call this
 * function to free at a time of your choosing, or after the last context has been destroyed.
 *
 * Release functions of borrowed memory (synfire_buffer_desc::release) are also called here: when `still_queued` is 0,
 * those of all destroyed buffers have returned. A call from inside a release function frees nothing; the outer call
 * does.
 *
 * @param context           A context, or null for everything queued in the process.
 * @param[out] still_queued Receives the number of objects that are still in use or in flight; may be null.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks until GPU work that uses the freed objects is done and the threads of freed contexts have ended.
 * @allocates no. @enqueues no. @capture legal (it leaves other captures alone). @threads any. @since ABI 0.1
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
 * Describes what a context runs on.
 *
 * @param context            A context.
 * @param[in,out] properties In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_context_get_properties(synfire_context context,
                                                                       synfire_context_properties *properties)
    SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup memory
 * @{ */

/** Kinds of objects that memory is for: the tag of ::synfire_allocate_callback and
 *  ::synfire_release_memory_callback; each kind is a number of ::synfire_memory_use. */
enum {
  /** The library itself, outside of any context, such as what waits to be freed. */
  SYNFIRE_TAG_LIBRARY = 0,
  /** A context: its threads' work lists, and what all objects on it share. */
  SYNFIRE_TAG_CONTEXT = 1,
  /** A buffer. */
  SYNFIRE_TAG_BUFFER = 2,
  /** A layer: state, parameters, and the tape and sums of passes that run now. */
  SYNFIRE_TAG_LAYER = 3,
  /** A graph: operations, slots, arena, tapes, and values that change. */
  SYNFIRE_TAG_GRAPH = 4,
  /** A synapse: weights, what is derived from them, and gradients. */
  SYNFIRE_TAG_SYNAPSE = 5,
  /** An optimiser. */
  SYNFIRE_TAG_OPTIMIZER = 6,
  /** A network, without the objects that it consists of. */
  SYNFIRE_TAG_NETWORK = 7,
  /** A loaded model or surrogate, with its compiled code. */
  SYNFIRE_TAG_MODEL = 8
};

/**
 * Gives host memory to the library: synfire_memory_desc::allocate.
 *
 * It is called on a thread that calls the library, in functions that allocate: never in a launch, a wait or a replay.
 * Several threads may call it at once. The library may hold locks: the function must not call the library, throw or
 * `longjmp`. The memory may have any contents.
 *
 * @param user      synfire_memory_desc::user.
 * @param bytes     Size, at least 1, with the 16 bytes or more that the library adds for itself.
 * @param alignment A power of two, at least 16. The address must be a multiple of it.
 * @param tag       What the memory is for: one of `SYNFIRE_TAG_*`.
 * @return The memory, or null if there is none: the call of the library then fails with ::SYNFIRE_ERROR_OUT_OF_MEMORY and
 *         has changed nothing. Memory that is not aligned is given back at once, and the call fails alike
 *         (SYN-MEMORY-ALIGNMENT).
 */
typedef void *(SYNFIRE_CALL *synfire_allocate_callback)(void *user SYNFIRE_NULLABLE, uint64_t bytes, uint64_t alignment,
                                                        int32_t tag);

/**
 * Takes back what ::synfire_allocate_callback gave: synfire_memory_desc::release.
 *
 * Each block is given back once, on any thread that calls the library or the deleter of a tensor of
 * synfire_buffer_to_dlpack(). The function must not call the library, throw or `longjmp`.
 *
 * @param user      synfire_memory_desc::user.
 * @param memory    The address.
 * @param bytes     Size, alignment and tag of the request.
 * @param alignment See `bytes`.
 * @param tag       See `bytes`.
 */
typedef void(SYNFIRE_CALL *synfire_release_memory_callback)(void *user SYNFIRE_NULLABLE, void *memory, uint64_t bytes,
                                                            uint64_t alignment, int32_t tag);

/** Where the library gets host memory from. */
typedef struct synfire_memory_desc {
  /** `sizeof(synfire_memory_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Gives memory. Null (default): the C library does; `release` must then be null as well. */
  synfire_allocate_callback allocate SYNFIRE_NULLABLE;
  /** Takes it back. Null exactly if `allocate` is. */
  synfire_release_memory_callback release SYNFIRE_NULLABLE;
  /** Passed to both functions. */
  void *user SYNFIRE_NULLABLE;
} synfire_memory_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_MEMORY_DESC_INIT \
  { (uint32_t)sizeof(synfire_memory_desc), 0u, NULL, NULL, NULL }

/**
 * Sets the functions that give host memory to the library and take it back, for the whole process: before the first
 * context, or when everything is destroyed and freed. It frees first what earlier destroy calls queued. While the library
 * holds memory, it is refused, and the text says how much: that is a leak, or something that is still in use.
 *
 * The functions give all host memory of the library, the containers of its C++ code included, except: what CUDA, the
 * system's threads and loader, a compiler and the C library take for themselves (such as an open file's buffer), exceptions
 * on their way inside of the library, and the table of handles, which has 128 KiB for each 4096 handles that were ever alive
 * at once and is kept. A static library and a build with sanitizers share the C++ runtime with the program, and take by the
 * functions the memory of buffers, states, tapes, arenas and weights, but not containers
 * (synfire_memory_use::has_containers).
 *
 * @param desc The functions; null, or without functions: those of the C library.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE; ::SYNFIRE_ERROR_WRONG_ORDER if the
 *         library holds memory (SYN-MEMORY-IN-USE).
 * @blocks until GPU work that uses the freed objects is done. @allocates no. @enqueues no. @capture legal.
 * @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_memory_set_functions(const synfire_memory_desc *desc SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/** Memory that an object holds now, in bytes, with everything that belongs to it: that of a network includes its layers,
 *  synapses and graphs, that of a context all objects on it. An object that was destroyed counts until it is freed. */
typedef struct synfire_memory_use {
  /** `sizeof(synfire_memory_use)`; set before the call. */
  uint32_t struct_size;
  /** 1: the containers of the library's C++ code count. 0: only larger blocks do (synfire_memory_set_functions()). */
  int32_t has_containers SYNFIRE_FLAG;
  /** Ordinary host memory, as ::synfire_allocate_callback was asked for it or would have been. */
  uint64_t host_bytes;
  /** Number of blocks of it. */
  uint64_t host_blocks;
  /** Page-locked host memory; 0 on the host. */
  uint64_t pinned_bytes;
  /** Memory of the GPU; 0 on the host. Without what CUDA takes for itself. */
  uint64_t device_bytes;
  /** The part of the sum of these three that belongs to no context (::SYNFIRE_TAG_LIBRARY). */
  uint64_t library_bytes;
  /** The part that belongs to contexts themselves. */
  uint64_t context_bytes;
  /** The part that belongs to buffers. */
  uint64_t buffer_bytes;
  /** The part that belongs to layers. */
  uint64_t layer_bytes;
  /** The part that belongs to graphs. */
  uint64_t graph_bytes;
  /** The part that belongs to synapses. */
  uint64_t synapse_bytes;
  /** The part that belongs to optimisers. */
  uint64_t optimizer_bytes;
  /** The part that belongs to networks themselves. */
  uint64_t network_bytes;
  /** The part that belongs to loaded models and surrogates. */
  uint64_t model_bytes;
} synfire_memory_use;

/** All zeros except for `struct_size`. */
#define SYNFIRE_MEMORY_USE_INIT \
  { (uint32_t)sizeof(synfire_memory_use), 0, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u }

/**
 * Reports the memory that the library holds in this process.
 *
 * @param[in,out] use In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_memory_get_use(synfire_memory_use *use) SYNFIRE_NOEXCEPT;

/**
 * Reports the memory that a context and all objects on it hold.
 *
 * @param context     A context.
 * @param[in,out] use In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_context_get_memory_use(synfire_context context, synfire_memory_use *use)
    SYNFIRE_NOEXCEPT;

/** Levels of messages: ::synfire_log_callback. */
enum {
  /** Something works, but not as the program may expect: no GPU was found, or the system refused a thread. */
  SYNFIRE_LOG_WARNING = 1,
  /** Something was chosen: processor, instructions and threads of a context, slots and memory of a graph, size of a network,
   *  where the code of a loaded model came from. */
  SYNFIRE_LOG_CHOICE = 2
};

/**
 * Hears messages: synfire_log_desc::log.
 *
 * It is called on a thread that calls the library, in functions that create, build, instantiate or load: never in a launch,
 * a wait or a replay. Several threads may call it at once. It must not call the library, throw or `longjmp`.
 *
 * @param user  synfire_log_desc::user.
 * @param level One of `SYNFIRE_LOG_*`.
 * @param text  One line, UTF-8 without control characters and null-terminated, such as `"context: host avx2, 8 threads"`;
 *              valid until the function returns. Its first word names the kind of object. Meant for people: the wording may
 *              change.
 */
typedef void(SYNFIRE_CALL *synfire_log_callback)(void *user SYNFIRE_NULLABLE, int32_t level, const char *text);

/** Who hears messages. */
typedef struct synfire_log_desc {
  /** `sizeof(synfire_log_desc)`. */
  uint32_t struct_size;
  /** The most detailed level that is heard, one of `SYNFIRE_LOG_*`. Default 0: all. */
  int32_t level;
  /** Hears messages. Null (default): nobody does. */
  synfire_log_callback log SYNFIRE_NULLABLE;
  /** Passed to `log`. */
  void *user SYNFIRE_NULLABLE;
} synfire_log_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_LOG_DESC_INIT \
  { (uint32_t)sizeof(synfire_log_desc), 0, NULL, NULL }

/**
 * Sets the function that hears the library's messages in this process; at first there is none. When it returns, the
 * function before is no longer running and is not called again.
 *
 * @param desc The function; null, or without one: none.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks while another thread is in the function before. @allocates no. @enqueues no. @capture legal. @threads any.
 * @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_log_set_function(const synfire_log_desc *desc SYNFIRE_NULLABLE)
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
  /** Page-locked host memory that the GPU can read and write: the kind for data that enters or leaves a graph. On a
   *  host context: ordinary memory. */
  SYNFIRE_MEMORY_PINNED = 1,
  /** Ordinary (pageable) host memory. On a CUDA context it can be uploaded and downloaded, but no operation can use
   *  it. */
  SYNFIRE_MEMORY_HOST = 2,
  /** No memory of its own: an array that operations of a graph pass on to others. Each graph that records the buffer
   *  gives it memory of the device during a replay, which it shares with buffers that are not in use at the same time.
   *  Before and after a replay its contents are undefined. An operation that reads it must come after one that writes
   *  it, and a launch is refused while the reader is enabled and all writers before it are disabled
   *  (SYN-TRANSIENT-DISABLED, ::SYNFIRE_ERROR_WRONG_ORDER). Uploads, downloads, fills, native nodes, calls that run now
   *  and re-binding refuse it (::SYNFIRE_ERROR_INVALID_ARGUMENT), synfire_buffer_get_data() returns null for it, and
   *  `data` must be null. @since ABI 0.3 */
  SYNFIRE_MEMORY_TRANSIENT = 3
};

/** Element types: synfire_buffer_desc::dtype and synfire_layer_desc::dtype. */
enum {
  /** IEEE binary32. */
  SYNFIRE_DTYPE_F32 = 0,
  /** IEEE binary64: the reference mode. */
  SYNFIRE_DTYPE_F64 = 1,
  /** Neuron-packed spikes: `uint32` words `[T, B, ceil(N/32)]`. Bit i of word w is neuron 32w+i; tail bits are zero.
   *  The bytes are those of a little-endian packbits of each row. One element is one word. */
  SYNFIRE_DTYPE_BITS = 2,
  /** IEEE binary16, as storage: arithmetic and state are f32. */
  SYNFIRE_DTYPE_F16 = 3,
  /** bfloat16, the upper half of an f32, as storage: arithmetic and state are f32. */
  SYNFIRE_DTYPE_BF16 = 4,
  /** One byte per spike, 0 or 1. For spikes only. */
  SYNFIRE_DTYPE_U8 = 5,
  /** Time-packed spikes: `uint32` words `[ceil(T/32), B, N]`. Bit t mod 32 of word t / 32 is step t; tail bits are
   *  zero. One element is one word. For spikes only. */
  SYNFIRE_DTYPE_TIME_BITS = 6,
  /** Unsigned 32-bit integers: counts of spikes. */
  SYNFIRE_DTYPE_U32 = 7,
  /** Unsigned 64-bit integers: counts of spikes. */
  SYNFIRE_DTYPE_U64 = 8
};

/**
 * Called when the library no longer needs borrowed memory: synfire_buffer_desc::release.
 *
 * It is called once, on the thread that frees the buffer. That thread is inside a create call,
 * synfire_context_reclaim() or a blocking wait without a time-out, on any context of the process. The library holds no
 * lock, so the function may call the library, including create and destroy functions; what it destroys is freed before
 * the outer call returns. It must return normally: it must not throw, `longjmp` or end the thread.
 *
 * @param user synfire_buffer_desc::release_user.
 */
typedef void(SYNFIRE_CALL *synfire_release_callback)(void *user SYNFIRE_NULLABLE);

/** How to create a buffer. Zero means the default in every field except `struct_size`. Either `n_elements` or `shape`
 *  must be given. */
typedef struct synfire_buffer_desc {
  /** `sizeof(synfire_buffer_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_MEMORY_*`. Default: device. */
  int32_t memory SYNFIRE_ONE_OF(SYNFIRE_MEMORY);
  /** One of `SYNFIRE_DTYPE_*`. Default: f32. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** Must be zero. */
  uint32_t reserved;
  /** Number of elements (words for packed spikes), at least 1. 0 (default): as many as `shape` and `row_pitch` need. */
  uint64_t n_elements;
  /** Null (default): the library allocates memory, zero-filled and aligned to 256 bytes. Otherwise: memory to borrow.
   *  It must be of the kind that `memory` names (checked on CUDA), aligned to its elements, and valid until its last
   *  use by the buffer, by a graph that uses it, or by a layer whose tape was made from it. `release` reports the last
   *  use. */
  void *data SYNFIRE_NULLABLE;
  /** Elements (words for packed spikes) from one step to the next, where a layer reads or writes the buffer as
   *  `[T, ...]`: at least the number of elements of one step. Elements in between are not touched, and where T is 1 it
   *  has no effect. 0 (default): steps are contiguous. */
  uint64_t row_pitch;
  /** Called once, after the last use of borrowed memory, when no GPU work enqueued before still reads or writes it.
   *  Null (default): nothing is called. Refused without `data`. If the buffer could not be created, it is never called
   *  and the memory still belongs to the caller. */
  synfire_release_callback release SYNFIRE_NULLABLE;
  /** Passed to `release`. */
  void *release_user SYNFIRE_NULLABLE;
  /** Set to 1, by an atomic store with release order, after `release` has returned or, without one, when it would have
   *  been called. For programs whose functions must not run on arbitrary threads, such as those with an interpreter or
   *  a garbage collector: they can poll it instead. Null (default): nothing is set. Refused without `data`. Not set if
   *  the buffer could not be created. */
  uint32_t *release_flag SYNFIRE_NULLABLE;
  /** The shape: up to four lengths, slowest dimension first, such as `[T, B, N]`; unused lengths at the end are 0. For
   *  packed spikes, the last or first length is in words. An operation refuses a buffer whose shape differs from the
   *  one that it needs (::SYNFIRE_ERROR_INVALID_ARGUMENT). Lengths of 1 are ignored. A buffer with at most one other
   *  length is a plain array, and only its size is checked. With `row_pitch`, the first length is the number of steps.
   *  All 0 (default): no shape; only the size is checked. */
  uint64_t shape[4];
} synfire_buffer_desc;

/** All zeros except for `struct_size`. */
/* clang-format off */
#define SYNFIRE_BUFFER_DESC_INIT \
  { (uint32_t)sizeof(synfire_buffer_desc), 0, 0, 0u, 0u, NULL, 0u, NULL, NULL, NULL, { 0u, 0u, 0u, 0u } }
/* clang-format on */

/**
 * Creates a buffer over memory that the library allocates, zero-filled, or borrows. Borrowed memory is released through
 * its release function when nothing needs it any more: the buffer is destroyed, no graph uses it, and no layer has a
 * tape made from it.
 *
 * A request for more host memory than the machine, or the control group of the process, can provide fails with
 * ::SYNFIRE_ERROR_OUT_OF_MEMORY before any memory is touched. This holds for every function that allocates. The
 * operating system provides large blocks of ordinary memory page by page, when they are first touched.
 *
 * @param context     The context it belongs to.
 * @param desc        What to create.
 * @param[out] buffer Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes. @allocates yes, unless borrowed. @enqueues a fill, and waits for it. @capture legal. @threads any.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_create(synfire_context context, const synfire_buffer_desc *desc,
                                                              synfire_buffer *buffer) SYNFIRE_NOEXCEPT;

/**
 * Destroys a buffer. Graphs that use it keep its memory until they are destroyed too. A tape made from it keeps the
 * memory until its next forward leaves it with another X, or until it is freed. The tape that a layer's latest forward
 * left lives until the layer's next forward, in a graph or eager, or until the layer is destroyed. Borrowed memory is
 * never freed; a later call calls synfire_buffer_desc::release, at the latest the synfire_context_reclaim() that
 * reports nothing queued.
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
 * @param[out] data  Receives the address: a device address for device memory, null for a transient buffer. May be null.
 * @param[out] bytes Receives the size in bytes. May be null.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_get_data(synfire_buffer buffer, void **data SYNFIRE_NULLABLE,
                                                                uint64_t *bytes SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Describes a buffer: what a program needs that has only its handle, such as that of a part of a network. With `data`
 * set to null, another buffer like it can be created from the result.
 *
 * @param buffer       A buffer.
 * @param[in,out] desc In: `struct_size`. Out: everything else, defaults filled in. `data` is the address if the host can
 *                     access the memory, else null; what would report the release of borrowed memory is null.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_get_desc(synfire_buffer buffer, synfire_buffer_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Copies host memory into a buffer, after everything already enqueued on the context's own stream.
 *
 * @param buffer A buffer of any kind.
 * @param offset First byte in the buffer.
 * @param source `bytes` bytes of host memory.
 * @param bytes  Number of bytes; `offset + bytes` must not exceed the size of the buffer.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until the copy is done. @allocates no. @enqueues a copy on the context's own stream. @capture legal (it does
 * not become part of a capture). @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_upload(synfire_buffer buffer, uint64_t offset,
                                                              const void *source, uint64_t bytes) SYNFIRE_NOEXCEPT;

/**
 * Copies a buffer into host memory, after everything already enqueued on the context's own stream.
 *
 * @param buffer      A buffer of any kind.
 * @param offset      First byte in the buffer.
 * @param destination `bytes` bytes of host memory.
 * @param bytes       Number of bytes; `offset + bytes` must not exceed the size of the buffer.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until the copy is done. @allocates no. @enqueues a copy on the context's own stream. @capture legal (it does
 * not become part of a capture). @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_download(synfire_buffer buffer, uint64_t offset,
                                                                void *destination, uint64_t bytes) SYNFIRE_NOEXCEPT;

/**
 * Sets every element of a buffer to one value.
 *
 * @param buffer A buffer of any kind.
 * @param value  The value, rounded to the buffer's type. For packed spikes: any integer in [0, 2^32), written to
 *               each word; 0 clears all spikes. For ::SYNFIRE_DTYPE_U8, ::SYNFIRE_DTYPE_U32 and ::SYNFIRE_DTYPE_U64:
 *               any integer that the type can hold.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until the fill is done. @allocates no. @enqueues a fill on the context's own stream. @capture legal (it does
 * not become part of a capture). @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_fill(synfire_buffer buffer, double value) SYNFIRE_NOEXCEPT;

/**
 * Reports that a buffer's memory was written behind the library's back: by the host through its address, or by a kernel
 * of the caller's.
 *
 * A tape that recomputes needs the X from which it was made. After a reported write, a backward returns
 * ::SYNFIRE_ERROR_STALE_TAPE instead of computing a gradient from different numbers. Uploads, fills, recorded copies
 * and outputs of other layers are reported automatically.
 *
 * @param buffer A buffer of any kind.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_mark_written(synfire_buffer buffer) SYNFIRE_NOEXCEPT;

/** A tensor of another library: synfire_buffer_from_dlpack(). Zero means the default in every field except `struct_size`. */
typedef struct synfire_from_dlpack_desc {
  /** `sizeof(synfire_from_dlpack_desc)`. */
  uint32_t struct_size;
  /** 0 (default): `tensor` is a `DLManagedTensorVersioned` of DLPack 1; in Python, what a capsule `"dltensor_versioned"`
   *  holds. 1: a `DLManagedTensor`, as in a capsule `"dltensor"`. */
  int32_t unversioned SYNFIRE_FLAG;
  /** The tensor: one whose device the context can use, of 1 or more dimensions and no length of 0. Its steps may lie further
   *  apart than they are long (synfire_buffer_desc::row_pitch); apart from that it is row-major and compact. */
  void *tensor;
  /** The stream on which the owner has made the data ready, the one that was passed to `__dlpack__`. The context's own stream
   *  waits for it, on the GPU; work on other streams, and inside a capture, is ordered by the caller. Null (default): the
   *  data is ready, or is written on the context's own stream. */
  synfire_stream stream SYNFIRE_NULLABLE;
  /** The type of 32-bit integers: ::SYNFIRE_DTYPE_U32 (default), ::SYNFIRE_DTYPE_BITS or ::SYNFIRE_DTYPE_TIME_BITS.
   *  Ignored for other elements. */
  int32_t words;
  /** Must be zero. */
  uint32_t reserved;
} synfire_from_dlpack_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_FROM_DLPACK_DESC_INIT \
  { (uint32_t)sizeof(synfire_from_dlpack_desc), 0, NULL, NULL, 0, 0u }

/**
 * Creates a buffer over the memory of a tensor of another library, without a copy, by the structures of DLPack
 * (https://dmlc.github.io/dlpack).
 *
 * Elements of 32 and 64 bits become ::SYNFIRE_DTYPE_F32 and ::SYNFIRE_DTYPE_F64 if they are floats, and
 * ::SYNFIRE_DTYPE_U32 (or `words`) and ::SYNFIRE_DTYPE_U64 if they are integers, with a sign or without, because some
 * libraries have no others; f16, bf16, u8 and bool become ::SYNFIRE_DTYPE_F16, ::SYNFIRE_DTYPE_BF16 and ::SYNFIRE_DTYPE_U8.
 * The shape is that of the tensor. Of more than four lengths, the third to the last become one: `[T, B, C, H, W]` is
 * `[T, B, N]`.
 *
 * Memory of a GPU becomes ::SYNFIRE_MEMORY_DEVICE, page-locked memory ::SYNFIRE_MEMORY_PINNED, and memory of processors
 * ::SYNFIRE_MEMORY_HOST on a CUDA context. On a host context all of them but the first become ::SYNFIRE_MEMORY_DEVICE.
 *
 * A tensor that is marked read-only becomes a buffer that is only read: what would write it is refused
 * (SYN-BUFFER-READ-ONLY).
 *
 * @param context     The context that the buffer belongs to.
 * @param desc        The tensor. If the call succeeds, the buffer owns it, and calls its deleter once, when and where
 *                    synfire_buffer_desc::release would be called; else it still belongs to the caller.
 * @param[out] buffer Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_UNSUPPORTED (a version, a device, a type or strides that no buffer can have),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CAPTURING.
 * @blocks no, beyond freeing as all create calls do. @allocates host memory. @enqueues on a GPU, a wait for `stream` on the
 * context's own stream, unless either is capturing. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_from_dlpack(synfire_context context,
                                                                   const synfire_from_dlpack_desc *desc,
                                                                   synfire_buffer *buffer) SYNFIRE_NOEXCEPT;

/** A tensor for another library: synfire_buffer_to_dlpack(). Zero means the default in every field except
 *  `struct_size`. */
typedef struct synfire_to_dlpack_desc {
  /** `sizeof(synfire_to_dlpack_desc)`. */
  uint32_t struct_size;
  /** 0 (default): a `DLManagedTensorVersioned` of DLPack 1. 1: a `DLManagedTensor`, for libraries that know no other. */
  int32_t unversioned SYNFIRE_FLAG;
  /** The stream on which the other library uses the tensor first. It waits, on the GPU, for what is enqueued on the context's
   *  own stream; work on other streams, and inside a capture, is ordered by the caller. Null (default): nothing waits. */
  synfire_stream stream SYNFIRE_NULLABLE;
  /** 1: integers of 32 and 64 bits are given as those with a sign, for libraries that have no others. Default 0. */
  int32_t with_sign SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
} synfire_to_dlpack_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_TO_DLPACK_DESC_INIT \
  { (uint32_t)sizeof(synfire_to_dlpack_desc), 0, NULL, 0, 0u }

/**
 * Gives the memory of a buffer to another library as a tensor, without a copy, by the structures of DLPack
 * (https://dmlc.github.io/dlpack). The memory stays valid until the tensor's deleter is called, also if the buffer is
 * destroyed before; the deleter may be called on any thread.
 *
 * The tensor has the buffer's shape, or is a plain array without one; packed spikes are words. What the other library writes
 * is reported by synfire_buffer_mark_written(). A buffer that is only read is marked read-only, which a `DLManagedTensor`
 * cannot say (SYN-BUFFER-READ-ONLY).
 *
 * @param buffer      A buffer; not a transient one.
 * @param desc        What the tensor is like; null means all defaults.
 * @param[out] tensor Receives the `DLManagedTensorVersioned *` or `DLManagedTensor *`, or null on failure. Its deleter must be
 *                    called once.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CAPTURING.
 * @blocks no. @allocates host memory. @enqueues on a GPU, a wait for the context's own stream on `stream`, unless either is
 * capturing. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_to_dlpack(synfire_buffer buffer,
                                                                 const synfire_to_dlpack_desc *desc SYNFIRE_NULLABLE,
                                                                 void **tensor) SYNFIRE_NOEXCEPT;

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
  /** Parametric LIF: LIF that stores 1/tau, the parameter that learns, instead of tau. Parameters `reciprocal_tau`
   *  (also set and read as `tau`), `v_rest`, `v_threshold`, `v_reset`. */
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
  SYNFIRE_MODEL_IZHIKEVICH = 6,
  /** Leaky integrator: LIF's H without spikes and without reset, \f$V[t] = H[t]\f$; the readout of a network. V begins
   *  at 0. Parameters `tau`, `v_rest`. Such a layer has no surrogate and no rules of reset; passes refuse `spikes` and
   *  `grad_spike_seq`, and a backward reads X again only for gradients of parameters. */
  SYNFIRE_MODEL_LI = 7,
  /** LIF, solved exactly for an X that is constant during the step, with a gain:
   *  \f$H[t] = e^{-1/\tau} V[t-1] + (1 - e^{-1/\tau})(V_{rest} + g X[t])\f$; with undecayed input the last term is
   *  \f$g X[t]\f$. Parameters `tau`, `v_rest`, `gain`, `v_threshold`, `v_reset`. Since ABI 0.3, as the models below. */
  SYNFIRE_MODEL_LIF_EXACT = 8,
  /** ::SYNFIRE_MODEL_LIF_EXACT without spikes, as ::SYNFIRE_MODEL_LI. Parameters `tau`, `v_rest`, `gain`. */
  SYNFIRE_MODEL_LI_EXACT = 9,
  /** Current-based LIF: X drives a current I, the second variable (`"current"`, also `"w"`), and I drives V:
   *  \f$I[t] = I[t-1] + (g_{in} X[t] - I[t-1])/\tau_{syn}\f$,
   *  \f$H[t] = V[t-1] + (g \tilde{I} - (V[t-1] - V_{rest}))/\tau\f$ with
   *  \f$\tilde{I} = (1 - c) I[t-1] + c I[t]\f$: c = 1, the default, updates the current before the membrane, 0 after it.
   *  With undecayed input \f$g_{in} X\f$ is not divided by \f$\tau_{syn}\f$, and \f$g \tilde{I}\f$ not by \f$\tau\f$. A
   *  spike does not change I. Parameters `tau`, `tau_syn` (both at least 1), `v_rest`, `gain`, `input_gain`,
   *  `current_first` (c, from 0 to 1), `v_threshold`, `v_reset`. */
  SYNFIRE_MODEL_CUBA_LIF = 10,
  /** ::SYNFIRE_MODEL_CUBA_LIF without spikes and without reset, \f$V[t] = H[t]\f$. As ::SYNFIRE_MODEL_LI, but a backward
   *  reads X again. Parameters as of ::SYNFIRE_MODEL_CUBA_LIF without the last two. */
  SYNFIRE_MODEL_CUBA_LI = 11,
  /** LIF with an adaptive threshold: LIF's H, which fires at \f$\theta[t] = V_{threshold} + \beta_a\, a[t-1]\f$ with
   *  \f$a[t] = \rho\, a[t-1] + (1 - \rho) S[t]\f$; a soft reset subtracts \f$\theta[t]\f$. The second variable is
   *  `"a"`, also `"w"`; it begins at 0. Parameters `tau`, `v_rest`, `rho` (0 to 1), `beta_a`, `v_threshold`,
   *  `v_reset`. Since ABI 0.3. */
  SYNFIRE_MODEL_ALIF = 12,
  /** ::SYNFIRE_MODEL_CUBA_LIF, solved exactly during the step, with X as a jump of I: \f$I[t] = \alpha I[t-1] + g_{in}
   *  (1 - \alpha) X[t]\f$, \f$H[t] = \beta V[t-1] + (1 - \beta) V_{rest} + g \kappa \tilde{I}\f$ with
   *  \f$\alpha = e^{-1/\tau_{syn}}\f$, \f$\beta = e^{-1/\tau}\f$,
   *  \f$\kappa = \frac{1}{\tau} \int_0^1 e^{-(1-s)/\tau} e^{-s/\tau_{syn}} ds\f$. With undecayed input there is neither
   *  the \f$1 - \alpha\f$ nor the \f$1/\tau\f$ before the integral. Time constants need only be greater than 0. */
  SYNFIRE_MODEL_CUBA_LIF_EXACT = 13,
  /** ::SYNFIRE_MODEL_CUBA_LIF_EXACT without spikes, as ::SYNFIRE_MODEL_CUBA_LI. */
  SYNFIRE_MODEL_CUBA_LI_EXACT = 14,
  /** Integrator: ::SYNFIRE_MODEL_LI without a leak, \f$H[t] = V[t-1] + g X[t]\f$. Parameter `gain`. */
  SYNFIRE_MODEL_INTEGRATOR = 15
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
  SYNFIRE_SURROGATE_RECT = 16,
  /** \f$g'(x) = (1 + h)\, N(x; 0, \sigma) - h\, N(x; \sigma, s\sigma) - h\, N(x; -\sigma, s\sigma)\f$ with the normal
   *  density \f$N(x; \mu, \sigma)\f$; `sigma` = 0.5, `h` = 0.15, `s` = 6. Since ABI 0.3. */
  SYNFIRE_SURROGATE_MULTI_GAUSSIAN = 17
};

/**
 * Finds the id of a model by its name; the name of ::SYNFIRE_MODEL_LIF is `"lif"`. Models that were added to this build
 * of the library have ids from 1000 on. Their ids depend on the order in which they were added; their names do not.
 *
 * @param name    The model's name.
 * @param[out] id Receives the value for synfire_layer_desc::model; untouched on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT if there is no model of this name; the text lists the known
 *         ones.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_model_id(const char *name, int32_t *id) SYNFIRE_NOEXCEPT;

/**
 * Finds the id of a surrogate by its name; the name of ::SYNFIRE_SURROGATE_SUPER_SPIKE is `"super_spike"`. Like added
 * models, added surrogates have ids from 1000 on; the two are numbered separately.
 *
 * @param name    The surrogate's name.
 * @param[out] id Receives the value for synfire_layer_desc::surrogate; untouched on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT if there is no surrogate of this name; the text lists the
 *         known ones.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_surrogate_id(const char *name, int32_t *id) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup model
 * @{ */

/** A neuron model that was loaded at run time. */
typedef struct synfire_model_s *synfire_model;

/** A surrogate that was loaded at run time. */
typedef struct synfire_surrogate_s *synfire_surrogate;

/** Stages of loading: ::synfire_load_progress. */
enum {
  /** The text is being read and checked, and looked for in the cache. */
  SYNFIRE_LOAD_CHECK = 0,
  /** A compiler is at work. */
  SYNFIRE_LOAD_COMPILE = 1,
  /** The compiled code is being loaded and stored in the cache. */
  SYNFIRE_LOAD_FINISH = 2
};

/**
 * Hears how loading goes on: synfire_load_desc::progress. Called on the thread that loads, at the beginning of each
 * stage and, while a compiler is at work, about ten times a second where the compiler lets it. It must not throw,
 * `longjmp` or call the library.
 *
 * @param user        synfire_load_desc::user.
 * @param stage       One of `SYNFIRE_LOAD_*`.
 * @param nanoseconds Since the call began.
 * @return 0 to go on; anything else ends the compiler and makes the call fail.
 */
typedef int32_t(SYNFIRE_CALL *synfire_load_progress)(void *user SYNFIRE_NULLABLE, int32_t stage, uint64_t nanoseconds);

/** A text to load: the header that `synfire_add_model` takes, as memory or as a file. Zero means the default in every
 *  field except `struct_size`. */
typedef struct synfire_load_desc {
  /** `sizeof(synfire_load_desc)`. */
  uint32_t struct_size;
  /** 1: no compiled code is read from the cache or stored in it. Default 0. */
  int32_t no_cache SYNFIRE_FLAG;
  /** The text, UTF-8, at most 1 MiB, of `text_bytes` bytes or, with 0, null-terminated. Given exactly if `file` is not. */
  const char *text SYNFIRE_UNLESS(file);
  /** Bytes of `text`. Default 0: up to its terminating null. */
  uint64_t text_bytes;
  /** Path of a file with the text, UTF-8. */
  const char *file SYNFIRE_NULLABLE;
  /** The name of the file without `.hpp`, real or supposed; it names the struct: `"klif"` is of `struct Klif`,
   *  `"multi_gaussian"` of `struct MultiGaussian`. Needed with `text`. Default with `file`: its own. */
  const char *name SYNFIRE_NULLABLE;
  /** Nanoseconds of processor time after which a compiler that is still at work is ended. Time in which it waits for a
   *  processor does not count, time in which it has nothing to do does. Default 0: 120 seconds. */
  uint64_t time_out;
  /** Folder of the cache. Default: the environment variable `SYNFIRE_CACHE`, else `synfire` in the user's cache folder
   *  (`XDG_CACHE_HOME`, else `.cache` in `HOME`). A folder that cannot be used is an error if this field names it; else
   *  there is no cache. */
  const char *cache SYNFIRE_NULLABLE;
  /** Bytes of the cache above which entries that were not used for the longest time are removed. Default 0: 256 MiB. */
  uint64_t cache_bytes;
  /** Hears how loading goes on and may end it. Default: none. */
  synfire_load_progress progress SYNFIRE_NULLABLE;
  /** Passed to `progress`. */
  void *user SYNFIRE_NULLABLE;
} synfire_load_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_LOAD_DESC_INIT \
  { (uint32_t)sizeof(synfire_load_desc), 0, NULL, 0u, NULL, NULL, 0u, NULL, 0u, NULL, NULL }

/** Properties of a loaded model or surrogate. */
typedef struct synfire_load_info {
  /** `sizeof(synfire_load_info)`; set before the call. */
  uint32_t struct_size;
  /** For synfire_layer_desc::model or synfire_layer_desc::surrogate, in the context of the load. Ids are never used again. */
  int32_t id;
  /** State variables of a model; 0 of a surrogate. */
  int32_t n_states;
  /** Parameters of its own. */
  int32_t n_parameters;
  /** 1: the compiled code came from the cache, and no compiler ran. On a GPU, kernels are compiled for layers and come
   *  later. */
  int32_t from_cache SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
  /** Nanoseconds that loading took. */
  uint64_t nanoseconds;
  /** The text's `name`. */
  char name[64];
} synfire_load_info;

/** All zeros except for `struct_size`. */
#define SYNFIRE_LOAD_INFO_INIT                                 \
  {                                                            \
    (uint32_t)sizeof(synfire_load_info), 0, 0, 0, 0, 0u, 0u, { \
      0                                                        \
    }                                                          \
  }

/** The result of a check of a text's functions. */
typedef struct synfire_check_report {
  /** `sizeof(synfire_check_report)`; set before the call. */
  uint32_t struct_size;
  /** 1: the model says that no derivative depends on X (`slope_reads_input`), but one does. Its gradients are wrong. */
  int32_t wrong_slope_reads_input SYNFIRE_FLAG;
  /** 1: the same for further variables (`slope_reads_w`). */
  int32_t wrong_slope_reads_w SYNFIRE_FLAG;
  /** Loops over neurons in the code for the host, and how many of them the compiler vectorised; 0 where it does not say. */
  int32_t n_loops;
  /** See `n_loops`. A loop that is not vectorised has a branch. */
  int32_t n_vectorized;
  /** Must be zero. */
  uint32_t reserved;
  /** Random samples that were taken. */
  uint64_t n_samples;
  /** Values and derivatives in f32 that were infinite or not a number. */
  uint64_t n_non_finite;
  /** The largest difference between a derivative and its central difference, in f64, divided by 1 plus the derivative.
   *  Below 1e-6 unless a derivative is wrong; at a corner of the formula, the two differ. */
  double largest_error;
  /** The same for people to read: which derivative has the largest error, and which loops are not vectorised. */
  char text[512];
} synfire_check_report;

/** All zeros except for `struct_size`. */
#define SYNFIRE_CHECK_REPORT_INIT                                          \
  {                                                                        \
    (uint32_t)sizeof(synfire_check_report), 0, 0, 0, 0, 0u, 0u, 0u, 0.0, { \
      0                                                                    \
    }                                                                      \
  }

/**
 * Loads a neuron model from text: the header that `synfire_add_model` takes. Its id serves in every layer and network
 * of the context, like those of the built-in models, and gives the bits that the library would give if it were built in.
 *
 * The text runs in this process, on the host and on the GPU, with all rights of the program.
 *
 * @param context    A context.
 * @param desc       The text.
 * @param[out] model Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT (the text; errors of the compiler have its line numbers),
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (no compiler; the
 *         text says what to install), ::SYNFIRE_ERROR_CALLBACK (the caller ended it), ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes, while a compiler is at work. @allocates yes. @enqueues no. @capture legal. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_model_load(synfire_context context, const synfire_load_desc *desc,
                                                           synfire_model *model) SYNFIRE_NOEXCEPT;

/**
 * Destroys a model. Layers and networks that use it stay valid, and its code is unloaded with the last of them. Its name
 * is free from then on.
 *
 * @param model A model, or null (nothing happens). A stale handle is ignored.
 * @blocks no (it queues). @allocates no. @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.2
 */
SYNFIRE_API void SYNFIRE_CALL synfire_model_destroy(synfire_model model SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Reads the id of a loaded model and how it was loaded.
 *
 * @param model        A model.
 * @param[in,out] info In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_model_get_info(synfire_model model, synfire_load_info *info)
    SYNFIRE_NOEXCEPT;

/**
 * Runs a model's functions on random states, inputs and parameters, and compares each derivative that training uses
 * with a central difference.
 *
 * @param model          A model.
 * @param seed           The same seed gives the same report.
 * @param n_samples      How many; 1 to 10,000,000. 1000 take a few milliseconds.
 * @param[in,out] report In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, whatever was found; ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (on a CUDA context: no compiler for the host),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes; on a CUDA context a compiler for the host runs, unless the cache has the code, to say which loops it
 * vectorises. @allocates yes. @enqueues no. @capture legal. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_model_check(synfire_model model, uint64_t seed, uint64_t n_samples,
                                                            synfire_check_report *report) SYNFIRE_NOEXCEPT;

/**
 * Loads a surrogate from text, as synfire_model_load() does a model. The struct has `derivative(constants, x)`, or
 * `primitive(constants, x)`, a smooth spike, which is then differentiated by dual numbers.
 *
 * @param context        A context.
 * @param desc           The text.
 * @param[out] surrogate Receives the handle, or null on failure.
 * @return As synfire_model_load().
 * @blocks yes, while a compiler is at work. @allocates yes. @enqueues no. @capture legal.
 * @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_surrogate_load(synfire_context context, const synfire_load_desc *desc,
                                                               synfire_surrogate *surrogate) SYNFIRE_NOEXCEPT;

/**
 * Destroys a surrogate, as synfire_model_destroy() does a model.
 *
 * @param surrogate A surrogate, or null (nothing happens). A stale handle is ignored.
 * @blocks no (it queues). @allocates no. @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.2
 */
SYNFIRE_API void SYNFIRE_CALL synfire_surrogate_destroy(synfire_surrogate surrogate SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Reads the id of a loaded surrogate and how it was loaded.
 *
 * @param surrogate    A surrogate.
 * @param[in,out] info In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_surrogate_get_info(synfire_surrogate surrogate, synfire_load_info *info)
    SYNFIRE_NOEXCEPT;

/**
 * Checks a surrogate as synfire_model_check() does a model: that it is finite everywhere and 0 for a NaN and, if the text
 * has a primitive, that the derivative is that of it.
 *
 * @param surrogate      A surrogate.
 * @param seed           The same seed gives the same report.
 * @param n_samples      How many; 1 to 10,000,000.
 * @param[in,out] report In: `struct_size`. Out: everything else.
 * @return As synfire_model_check().
 * @blocks yes; on a CUDA context a compiler for the host runs, unless the cache has the code, to say which loops it
 * vectorises. @allocates yes. @enqueues no.
 * @capture legal. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_surrogate_check(synfire_surrogate surrogate, uint64_t seed,
                                                                uint64_t n_samples, synfire_check_report *report)
    SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup layer
 * @{ */

/** The effect of a spike on V: synfire_layer_desc::reset. */
enum {
  /** \f$V = V_{reset}\f$ after a spike, else \f$V = H\f$. */
  SYNFIRE_RESET_HARD = 0,
  /** \f$V = H - V_{threshold}\f$ after a spike, else \f$V = H\f$. */
  SYNFIRE_RESET_SOFT = 1,
  /** \f$V = H\f$ after every step; the step after a spike takes the threshold off after its leak: with the model's
   *  \f$H = f(V, X)\f$, \f$H[t+1] = f(V[t], X[t+1]) - V_{threshold} S[t]\f$. The last spike is state: the variable
   *  `"countdown"` (synfire_layer_desc::refractory_steps). Since ABI 0.3. */
  SYNFIRE_RESET_SOFT_DELAYED = 2
};

/** Contents of the tape that a forward keeps for its backwards: synfire_forward_desc::tape. Each recorded forward has a
 *  tape of its own. The eager forwards of a layer share one tape, which each of them overwrites. */
enum {
  /** The forward keeps V at every 32nd step; H is recomputed from X, which must stay unchanged until the backward has
   *  run (see synfire_buffer_mark_written()). */
  SYNFIRE_TAPE_RECOMPUTE = 0,
  /** Inference: the forward keeps nothing, and no backward can follow it. */
  SYNFIRE_TAPE_NONE = 1,
  /** The forward also keeps H of every step, in f32 (f64 in f64 layers). Gradients are the same, bit for bit. X may be
   *  reused after the forward, unless gradients of parameters are requested. */
  SYNFIRE_TAPE_STORE = 2,
  /** Like ::SYNFIRE_TAPE_STORE, but the forward keeps H in the layer's 16-bit dtype, and time-packed spikes beside it.
   *  Spikes stay exact; gradients carry the rounding error of H. f16 and bf16 layers only. */
  SYNFIRE_TAPE_STORE_NARROW = 3
};

/** How to create a layer. Zero means the default in every field except `struct_size`, `n_steps` and `n_neurons`. */
typedef struct synfire_layer_desc {
  /** `sizeof(synfire_layer_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_MODEL_*`, or an id from synfire_model_id() or synfire_model_get_info(). Default: LIF. */
  int32_t model SYNFIRE_ONE_OF(SYNFIRE_MODEL);
  /** Steps T of one forward, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N of one batch row, at least 1. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B that share the parameters. Default: 1. */
  int64_t batch;
  /** Storage type of the sequences `[T, B, N]`: one of `SYNFIRE_DTYPE_F32` (default), `SYNFIRE_DTYPE_F16`,
   *  `SYNFIRE_DTYPE_BF16` (with all three, state, arithmetic, parameters and their gradients are f32) and
   *  `SYNFIRE_DTYPE_F64` (f64 throughout). In a 16-bit layer, each sequence may also be f32. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** One of `SYNFIRE_RESET_*`. Default: hard; LI takes only 0. */
  int32_t reset SYNFIRE_ONE_OF(SYNFIRE_RESET);
  /** One of `SYNFIRE_SURROGATE_*`, or an id from synfire_surrogate_id() or synfire_surrogate_get_info(). Default:
   *  sigmoid; LI takes only 0. */
  int32_t surrogate SYNFIRE_ONE_OF(SYNFIRE_SURROGATE);
  /** 1: the gradient does not flow through the spike inside the reset. Default 0: it does; LI takes only 0. */
  int32_t detach_reset SYNFIRE_FLAG;
  /** 1: models that divide X by a time constant (LIF, PLIF, LI, those with a current or solved exactly) add it without
   *  this division. Default 0: they divide it. Other models take only 0. */
  int32_t undecayed_input SYNFIRE_FLAG;
  /** CUDA threads per block of the layer's kernels, for measurements: 32, 64, 96 or 128; a backward uses at most 64.
   *  Default 0: the number that measured best. Does not change results. Ignored on the host. */
  uint32_t threads_per_block;
  /** 1: a neuron fires above its threshold, \f$H > V_{threshold}\f$. Default 0: at it too, \f$H \ge V_{threshold}\f$; LI
   *  takes only 0. Since ABI 0.3. */
  int32_t strict_threshold SYNFIRE_FLAG;
  /** Steps after a spike in which a neuron is refractory: V stays as the reset left it and ignores X, and nothing fires;
   *  further variables of the model go on. Then \f$\partial H/\partial X = 0\f$, \f$\partial H/\partial V = 1\f$ and the
   *  surrogate derivative is 0. 0 to 1,000,000. Default 0: none; LI takes only 0. A layer with refractory steps or the
   *  delayed reset has one state variable more, the last, `"countdown"`: `refractory_steps` + 1 after a step with a
   *  spike, and one less after each further step, down to 0. Its gradient is that of the last spike. Since ABI 0.3. */
  int32_t refractory_steps;
  /** Steps D of its own spikes that the layer keeps as a part of its state, in packed rows `[D, B, ceil(N/32)]`: at least
   *  the synfire_forward_desc::recurrent_delay of every forward. They are 0 after a reset. A forward with a recurrent
   *  synapse that starts from the layer's state reads them and advances them; other forwards leave them as they are. 0 to
   *  65,535. Default 0: none; LI takes only 0. Since ABI 0.3. */
  int64_t history_steps;
} synfire_layer_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_LAYER_DESC_INIT \
  { (uint32_t)sizeof(synfire_layer_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0u, 0, 0, 0 }

/** Bytes that a layer needs on its device, known before anything is allocated. Sizes of a tape are per tape: every
 *  recorded forward with a tape has one until its graph is destroyed, and the layer's eager forwards share one. */
typedef struct synfire_layer_memory {
  /** `sizeof(synfire_layer_memory)`; set before the call. */
  uint32_t struct_size;
  /** Steps between two checkpoints of V on the tape. */
  uint32_t checkpoint_interval;
  /** State V `[B, N]` (and W, the countdown of a delayed reset or refractory steps, and the spikes of
   *  synfire_layer_desc::history_steps), each rounded up to 256 bytes. */
  uint64_t state_bytes;
  /** Parameters, one number each, and the constants derived from them. */
  uint64_t parameter_bytes;
  /** Constants per neuron; added once, with the first parameter that becomes one number per channel or neuron. */
  uint64_t per_neuron_parameter_bytes;
  /** One tape: V (and W) as `[ceil(T/checkpoint_interval), B, N]`. Not needed for inference. */
  uint64_t tape_bytes;
  /** Sums over steps of the gradients of parameters: allocated with the first eager backward that computes one. Recorded
   *  backwards have theirs in the memory of their graph, which they share with other temporary arrays. */
  uint64_t gradient_bytes;
  /** Added once, when gradients of parameters are computed and parameters are one number per channel or neuron. */
  uint64_t per_neuron_gradient_bytes;
  /** H of ::SYNFIRE_TAPE_STORE; added to the tape of such a forward, unless H is written over X. */
  uint64_t stored_tape_bytes;
  /** H of ::SYNFIRE_TAPE_STORE_NARROW; added to the tape of such a forward, unless H is written over X. 0 in f32 and
   *  f64. */
  uint64_t narrow_tape_bytes;
  /** Spikes beside the H of ::SYNFIRE_TAPE_STORE_NARROW; added to the tape of such a forward. 0 in f32 and f64. */
  uint64_t narrow_tape_spike_bytes;
  /** Values in f64; added with each parameter that becomes one number per channel or neuron. Each change of the parameter
   *  that is in flight takes the same amount of page-locked host memory, at most eight times in all. */
  uint64_t per_neuron_value_bytes;
  /** X of a synapse; added to the tape of a forward with a synapse and ::SYNFIRE_TAPE_RECOMPUTE. 0 in LI. */
  uint64_t synapse_tape_bytes;
  /** V (and W) before every step, X, and packed spikes of all steps: one tape of a forward with a recurrent synapse, in
   *  place of `tape_bytes` and `synapse_tape_bytes`. ::SYNFIRE_TAPE_STORE_NARROW then takes a word of spikes for each neuron
   *  and step, T * B * N * 4 bytes, in place of `narrow_tape_spike_bytes`. 0 without synfire_layer_desc::history_steps. */
  uint64_t recurrent_tape_bytes;
} synfire_layer_memory;

/** All zeros except for `struct_size`. */
#define SYNFIRE_LAYER_MEMORY_INIT \
  { (uint32_t)sizeof(synfire_layer_memory), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u }

/** One parameter of a layer. */
typedef struct synfire_parameter_info {
  /** `sizeof(synfire_parameter_info)`; set before the call. */
  uint32_t struct_size;
  /** 1 if the minimum itself is not allowed: `minimum < value <= maximum`. */
  int32_t open_range SYNFIRE_FLAG;
  /** Number of values held now: 1, C or N, as in synfire_layer_set_parameter(). */
  uint64_t length;
  /** The value in a new layer. */
  double default_value;
  /** Smallest value allowed. */
  double minimum;
  /** Largest value allowed. */
  double maximum;
  /** The name, a constant string that lives as long as the library. */
  const char *name;
} synfire_parameter_info;

/** All zeros except for `struct_size`. */
#define SYNFIRE_PARAMETER_INFO_INIT \
  { (uint32_t)sizeof(synfire_parameter_info), 0, 0u, 0.0, 0.0, 0.0, NULL }

/** A synapse between two layers: arrays such as weights and a bias, and a product with an input. */
typedef struct synfire_synapse_s *synfire_synapse;

/** A state variable and its buffer, in lists for models with three or four variables. */
typedef struct synfire_state_buffer {
  /** A variable of the model, such as `"g_inhibitory"`; not V. W has fields of its own and is accepted here too, as
   *  `"w"` or by the model's name for it. */
  const char *name;
  /** The values, of the type and shape of the fields for W. */
  synfire_buffer buffer SYNFIRE_UPDATED("[B, N] or [T, B, N]");
} synfire_state_buffer;

/** One forward pass through time. Buffers marked optional may be null. Sequences `[T, B, N]` have the layer's dtype; in
 *  a 16-bit layer, each sequence may also be f32. States `[B, N]` are f32, or f64 in an f64 layer.
 *
 * With `synapse`, X is the product of the synapse with `synapse_input` and needs no buffer. It is f32 (f64 in an f64
 * layer), in 16-bit layers too, and all results have the bits of synfire_graph_record_synapse_forward() before a forward
 * of that X. X is memory of the tape if every backward of the tape reads it: with ::SYNFIRE_TAPE_RECOMPUTE, except in LI.
 * Otherwise it is memory that the operations of a graph share; a backward that reads X for gradients of parameters then
 * computes it again.
 *
 * With `recurrent_synapse`, the layer also reads its own spikes: X[t] is the sum, rounded once, of `x` or the product of
 * `synapse`, and of the product of `recurrent_synapse` with the spikes of step t - `recurrent_delay`, in this order. Both
 * products, and X in 16-bit layers too, are f32 (f64 in an f64 layer). Steps before the first one are those of the layer's
 * history (synfire_layer_desc::history_steps) or, with `v_init`, `spikes_init`. The pass is recorded step by step, for at
 * most 4,096 steps, and has the bits of forwards of one step, each after its product; X is memory of the tape if a tape
 * is kept. `in_place` must be 0. */
typedef struct synfire_forward_desc {
  /** `sizeof(synfire_forward_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_TAPE_*`. Default: recompute. */
  int32_t tape SYNFIRE_ONE_OF(SYNFIRE_TAPE);
  /** X `[T, B, N]`, read. Given exactly if `synapse` is not. */
  synfire_buffer x SYNFIRE_READ("[T, B, N]") SYNFIRE_UNLESS(synapse);
  /** S, written: dense `[T, B, N]` of 0 and 1 (of the type of other sequences, or ::SYNFIRE_DTYPE_U8),
   *  ::SYNFIRE_DTYPE_BITS `[T, B, ceil(N/32)]`, or ::SYNFIRE_DTYPE_TIME_BITS `[ceil(T/32), B, N]`. Optional; LI has
   *  none. */
  synfire_buffer spikes SYNFIRE_WRITTEN("spikes [T, B, N]") SYNFIRE_NULLABLE;
  /** V before the first step `[B, N]`, read. Null (default): the forward starts from the layer's own state and advances
   *  it, so that the next forward continues from there. If given, the layer's state is neither read nor written. */
  synfire_buffer v_init SYNFIRE_READ("[B, N]") SYNFIRE_NULLABLE;
  /** V after the last step `[B, N]`, written. Optional. */
  synfire_buffer v_final SYNFIRE_WRITTEN("[B, N]") SYNFIRE_NULLABLE;
  /** V after the reset of every step `[T, B, N]`, written. Optional. */
  synfire_buffer v_seq SYNFIRE_WRITTEN("[T, B, N]") SYNFIRE_NULLABLE;
  /** H, the charged potential before firing `[T, B, N]`, written. Optional. */
  synfire_buffer h_seq SYNFIRE_WRITTEN("[T, B, N]") SYNFIRE_NULLABLE;
  /** W before the first step `[B, N]`, read. Given together with `v_init`, or both null. The w fields are for models
   *  with a second variable only, which they call W whatever name the model gives it. */
  synfire_buffer w_init SYNFIRE_READ("[B, N]") SYNFIRE_NULLABLE;
  /** W after the last step `[B, N]`, written. Optional. */
  synfire_buffer w_final SYNFIRE_WRITTEN("[B, N]") SYNFIRE_NULLABLE;
  /** W after every step `[T, B, N]`, written. Optional. */
  synfire_buffer w_seq SYNFIRE_WRITTEN("[T, B, N]") SYNFIRE_NULLABLE;
  /** 1: a tape mode that stores H writes it over X, which must have the type in which H is stored. Gradients of
   *  parameters cannot then be computed, except after a synapse. Default 0: H has memory of its own. */
  int32_t in_place SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
  /** A synapse with N outputs that makes X: an f32 one, or f64 for an f64 layer. Default: null, `x` is X. */
  synfire_synapse synapse SYNFIRE_NULLABLE;
  /** The synapse's input, as synfire_synapse_forward_desc::input. Given exactly if `synapse` is. The backward reads
   *  it again for gradients of weights, so it must not change until then. */
  synfire_buffer synapse_input SYNFIRE_READ("spikes [T, B, K]") SYNFIRE_WITH(synapse);
  /** As synfire_synapse_forward_desc::n_active: X of other rows is +0, and they count in no gradient of the synapse, nor
   *  do rows that are not active in the layer (synfire_layer_set_n_active()). The same holds for the recurrent synapse.
   *  Only with `synapse`. */
  synfire_buffer n_active SYNFIRE_READ("[1]") SYNFIRE_NULLABLE;
  /** As `w_init`, of the variables beyond V and W that a model with three or four has: all of them if `v_init` is given,
   *  else none. Default: none. */
  const synfire_state_buffer *state_init SYNFIRE_NULLABLE;
  /** How many `state_init` there are. Default: 0. */
  uint64_t n_state_init SYNFIRE_LENGTH_OF(state_init);
  /** As `w_final`, of those variables. Default: none. */
  const synfire_state_buffer *state_final SYNFIRE_NULLABLE;
  /** How many `state_final` there are. Default: 0. */
  uint64_t n_state_final SYNFIRE_LENGTH_OF(state_final);
  /** As `w_seq`, of those variables. Default: none. */
  const synfire_state_buffer *state_seq SYNFIRE_NULLABLE;
  /** How many `state_seq` there are. Default: 0. */
  uint64_t n_state_seq SYNFIRE_LENGTH_OF(state_seq);
  /** A synapse from the layer's spikes to its X: of spikes, with N inputs, N outputs and the type of the layer's
   *  arithmetic. It may be `synapse` itself. Default: null, no recurrence; LI has none. Since ABI 0.3. */
  synfire_synapse recurrent_synapse SYNFIRE_NULLABLE;
  /** Steps from a spike to its effect, with `recurrent_synapse`: 1 to synfire_layer_desc::history_steps. Otherwise 0.
   *  Since ABI 0.3. */
  int64_t recurrent_delay;
  /** Spikes of the `recurrent_delay` steps before the first, the earliest step first, read: ::SYNFIRE_DTYPE_BITS
   *  `[recurrent_delay, B, ceil(N/32)]`. Given exactly if `v_init` and `recurrent_synapse` are; the layer's history is then
   *  neither read nor written. Since ABI 0.3. */
  synfire_buffer spikes_init SYNFIRE_READ("[D, B, N]") SYNFIRE_NULLABLE;
  /** Spikes of the last `recurrent_delay` steps likewise, written: the `spikes_init` of the window that follows. Optional;
   *  only with `recurrent_synapse`. Since ABI 0.3. */
  synfire_buffer spikes_final SYNFIRE_WRITTEN("[D, B, N]") SYNFIRE_NULLABLE;
} synfire_forward_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_FORWARD_DESC_INIT                                                                                 \
  {                                                                                                               \
    (uint32_t)sizeof(synfire_forward_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0u, NULL, \
        NULL, NULL, NULL, 0u, NULL, 0u, NULL, 0u, NULL, 0, NULL, NULL                                             \
  }

/** A parameter whose gradient a backward computes. */
typedef struct synfire_parameter_gradient {
  /** A parameter of the model, `v_threshold` or `v_reset`; not a parameter of the surrogate. A second name (`tau` of
   *  PLIF) selects the gradient with respect to that quantity. */
  const char *name;
  /** dL/dp, replaced or added to (synfire_backward_desc::add_parameter_gradients): a buffer of f32 (f64 in an f64
   *  layer) with one element, the sum over all neurons, batch rows and steps, with N elements, the sum over batch rows
   *  and steps for each neuron, or, since ABI 0.3, with C elements, a divisor of N: the sum for each channel, of which
   *  neuron i is in channel i mod C. In f32, the sums over the steps are rounded to f32 and added as integers, on a grid
   *  of 32 bits for the largest of each element; in f64 they are added in a fixed order. Both give the same bits
   *  everywhere. */
  synfire_buffer gradient SYNFIRE_UPDATED("[1], [C] or [N]");
} synfire_parameter_gradient;

/** One backward pass through time, for one forward with a tape. A null input gradient counts as zero. Types are those
 *  of ::synfire_forward_desc.
 *
 * If the forward had a synapse, gradients of its weights and bias are computed too, unless it is frozen or
 * `skip_synapse_gradients` is 1. They become its `"weight_gradient"` and `"bias_gradient"`, with the bits of
 * synfire_graph_record_synapse_backward() after a backward with a `grad_x_seq` of f32 (f64). The synapse's weights and
 * its input must be as in the forward.
 *
 * If the forward had a recurrent synapse, gradients go back through its spikes too: dL/dS[t] is `grad_spike_seq`[t] +
 * dL/dx of the recurrent product at step t + `recurrent_delay`, in f32 (f64 in an f64 layer). The gradients of its weights
 * are computed as those of `synapse`, from all steps at once after the last of them, with the spikes before the first step
 * among their inputs. `grad_x_seq` is f32 in 16-bit layers too, and `in_place` must be 0. Gradients of parameters are added
 * up in the type of their buffer from the last step to the first. */
typedef struct synfire_backward_desc {
  /** `sizeof(synfire_backward_desc)`. */
  uint32_t struct_size;
  /** 1: `grad_x_seq` may use the memory of `grad_spike_seq`, with the same type and pitch. Default 0: this is
   *  refused. */
  int32_t in_place SYNFIRE_FLAG;
  /** dL/dS `[T, B, N]`, read. Optional; LI has none. */
  synfire_buffer grad_spike_seq SYNFIRE_READ("[T, B, N]") SYNFIRE_NULLABLE;
  /** dL/dV of every step `[T, B, N]`, read. Optional. */
  synfire_buffer grad_v_seq SYNFIRE_READ("[T, B, N]") SYNFIRE_NULLABLE;
  /** dL/dV of the final state `[B, N]`, read; added to that of the last step. It is the `grad_v_init` of the window
   *  that follows. Optional. */
  synfire_buffer grad_v_final SYNFIRE_READ("[B, N]") SYNFIRE_NULLABLE;
  /** dL/dX `[T, B, N]`, written. Optional; at least one output is needed. After a synapse, it is f32 in 16-bit layers,
   *  and gradients of the synapse need no buffer here. */
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
   *  reset and keeps direct terms. */
  const synfire_parameter_gradient *parameter_gradients SYNFIRE_NULLABLE;
  /** How many `parameter_gradients` there are. Default: 0. */
  uint64_t n_parameter_gradients SYNFIRE_LENGTH_OF(parameter_gradients);
  /** In a graph: the forward to which this backward belongs, as 1 + its number from synfire_graph_get_last_operation().
   *  A layer may thus occur several times in a graph, for shared weights or consecutive windows. Default 0: the layer's
   *  newest forward in the graph or, if there is none, the forward that was recorded or run last anywhere. A backward
   *  that runs now belongs to the forward that ran last, and accepts only 0. */
  uint32_t forward;
  /** 1: gradients of parameters are added to the contents of their buffers, in f64, and rounded once. Default 0: they
   *  replace the contents. */
  int32_t add_parameter_gradients SYNFIRE_FLAG;
  /** dL/d(input) of the forward's synapse, written: f32 (f64 in an f64 layer). Optional. */
  synfire_buffer grad_synapse_input SYNFIRE_UPDATED("[T, B, K]") SYNFIRE_NULLABLE;
  /** 1: gradients of weights and bias are added to what the synapse, and the recurrent one, holds. Default 0: they replace
   *  it. If both are the same synapse, the recurrent gradients are added to the others. */
  int32_t add_synapse_gradients SYNFIRE_FLAG;
  /** 1: dL/d(input) is added to what `grad_synapse_input` holds. Default 0: it replaces it. */
  int32_t add_input_gradient SYNFIRE_FLAG;
  /** 1: gradients of weights and bias are not computed, and those of the synapse, and of the recurrent one, are left as they
   *  are. Default 0. */
  int32_t skip_synapse_gradients SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
  /** As `grad_w_seq`, of the variables beyond V and W that a model with three or four has. Default: none. */
  const synfire_state_buffer *grad_state_seq SYNFIRE_NULLABLE;
  /** How many `grad_state_seq` there are. Default: 0. */
  uint64_t n_grad_state_seq SYNFIRE_LENGTH_OF(grad_state_seq);
  /** As `grad_w_final`, of those variables. Default: none. */
  const synfire_state_buffer *grad_state_final SYNFIRE_NULLABLE;
  /** How many `grad_state_final` there are. Default: 0. */
  uint64_t n_grad_state_final SYNFIRE_LENGTH_OF(grad_state_final);
  /** As `grad_w_init`, of those variables. Default: none. */
  const synfire_state_buffer *grad_state_init SYNFIRE_NULLABLE;
  /** How many `grad_state_init` there are. Default: 0. */
  uint64_t n_grad_state_init SYNFIRE_LENGTH_OF(grad_state_init);
  /** dL/dS of the last `recurrent_delay` steps, read; added to that of these steps: the `grad_spikes_init` of the window that
   *  follows. f32 (f64 in an f64 layer). Optional; only after a forward with a recurrent synapse. Since ABI 0.3. */
  synfire_buffer grad_spikes_final SYNFIRE_READ("[D, B, N]") SYNFIRE_NULLABLE;
  /** dL/dS of the `recurrent_delay` steps before the first one, written: +0 where no step reads them. f32 (f64 in an f64
   *  layer). Optional; only after a forward with a recurrent synapse. Since ABI 0.3. */
  synfire_buffer grad_spikes_init SYNFIRE_WRITTEN("[D, B, N]") SYNFIRE_NULLABLE;
} synfire_backward_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_BACKWARD_DESC_INIT                                                                                     \
  {                                                                                                                    \
    (uint32_t)sizeof(synfire_backward_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0u, 0u, 0, NULL, \
        0, 0, 0, 0u, NULL, 0u, NULL, 0u, NULL, 0u, NULL, NULL                                                          \
  }

/**
 * Computes how much memory a layer would take, before anything is allocated.
 *
 * @param desc           The layer.
 * @param[in,out] memory In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (a
 *         size that cannot be represented).
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_query_memory(const synfire_layer_desc *desc,
                                                                   synfire_layer_memory *memory) SYNFIRE_NOEXCEPT;

/**
 * Writes the CUDA C++ of a layer's forward and backward kernels: one readable text that nvcc compiles without Synfire, with
 * the layer's shape, rules and constants, its launch configuration and the layout of its arguments explained. The text
 * begins with how to compile it, and its last part, `namespace layer`, is what a program calls. Its kernels give the bits of
 * the library's. A layer of any context has one, also in a library without CUDA.
 *
 * @param layer         A layer of a model that is built in, or was loaded as text.
 * @param[out] text     Receives the text, null-terminated; null to get only its size.
 * @param[in,out] bytes In: the size of `text`. Out: the size of the whole text, including its terminating null;
 *                      untouched on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT if `text` is too small; nothing is then written;
 *         ::SYNFIRE_ERROR_UNSUPPORTED (a model or surrogate that synfire_add_model added to the library),
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_OUT_OF_MEMORY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_source(synfire_layer layer, char *text SYNFIRE_NULLABLE,
                                                             uint64_t *bytes) SYNFIRE_NOEXCEPT;

/**
 * Creates a layer with default parameters and a reset state. A request for too much memory fails as in
 * synfire_buffer_create().
 *
 * @param context    The context it belongs to.
 * @param desc       What to create.
 * @param[out] layer Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes. @allocates yes. @enqueues a state reset, and waits for it. @capture legal. @threads any. @since ABI 0.1
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
 * Describes a layer: what a program needs that has only its handle, such as that of a part of a network. Another layer
 * like it can be created with the answer; parameters and state are not part of it.
 *
 * @param layer        A layer.
 * @param[in,out] desc In: `struct_size`. Out: everything else, defaults filled in. A model that never fires has no
 *                     surrogate: ::SYNFIRE_SURROGATE_DEFAULT.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_desc(synfire_layer layer, synfire_layer_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Reports the memory that a layer holds: state, parameters, and the tape and sums of its passes that ran now. Those of
 * recorded passes belong to their graph.
 *
 * @param layer      A layer.
 * @param[in,out] use In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_memory_use(synfire_layer layer, synfire_memory_use *use)
    SYNFIRE_NOEXCEPT;

/**
 * Sets a parameter: one number for the whole layer, one per neuron (shared across the batch) or, since ABI 0.3, one per
 * channel: of C values, neuron i has value i mod C, as in maps `[H, W, C]`.
 *
 * The change takes effect with the next launch or eager call; replays already launched are not affected. Graphs need
 * not be recorded again. The tape of an earlier forward becomes stale. All values are checked before any is stored.
 *
 * @param layer  A layer.
 * @param name   The parameter's name, e.g. `"tau"`; parameters of the surrogate have names such as `"alpha"`.
 * @param values `count` finite values inside the parameter's range (synfire_layer_get_parameter_info()); `tau` is in
 *               steps, potentials are in the units of the threshold.
 * @param count  1, N, or another number C that divides N.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks no, with two exceptions. The first per-neuron or per-channel values of a parameter, which allocate, wait until earlier work
 * on the context's own stream is done. While eight changes of a parameter are in flight, another one waits until the
 * first has reached the device. @allocates host memory; with those first values, also device
 * and page-locked memory; later, page-locked memory whenever more changes of a parameter are in flight than ever
 * before. @enqueues no. @capture legal (it does not become part of a capture). @threads any; not while another thread
 * launches a graph with this layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_set_parameter(synfire_layer layer, const char *name,
                                                                    const double *values,
                                                                    uint64_t count SYNFIRE_LENGTH_OF(values))
    SYNFIRE_NOEXCEPT;

/**
 * Reads a parameter, exactly as it was set or as the latest replay that updates it left it
 * (synfire_graph_record_update_parameter()). A second name reads the reciprocal of the stored value.
 *
 * @param layer       A layer.
 * @param name        The parameter's name.
 * @param[out] values Receives `count` values; with `count` N, a number that several neurons share is repeated.
 * @param count       How many the parameter holds (synfire_parameter_info::length), or N.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks no; once a graph that updates the parameter has been launched, until every earlier replay with this layer is
 * done. @allocates no; in that case, host memory. @enqueues no; in that case, a copy. @capture legal. @threads any;
 * while another thread launches a graph that updates the parameter, values of two replays may be mixed. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_parameter(synfire_layer layer, const char *name,
                                                                    double *values,
                                                                    uint64_t count SYNFIRE_LENGTH_OF(values))
    SYNFIRE_NOEXCEPT;

/** Values for one parameter: an element of the list that synfire_layer_set_parameters() takes. */
typedef struct synfire_parameter_values {
  /** The parameter's name. */
  const char *name;
  /** `count` values. */
  const double *values;
  /** 1, C or N. */
  uint64_t count;
} synfire_parameter_values;

/**
 * Sets several parameters: all of them or, if one is refused, none. They take effect together with the next launch or
 * eager call; replays already launched are not affected. Everything else is as for synfire_layer_set_parameter(), which
 * sets one.
 *
 * @param layer    A layer.
 * @param list     `n_values` entries, each for a different parameter.
 * @param n_values Number of entries, at least 1.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks as synfire_layer_set_parameter(). @allocates as synfire_layer_set_parameter(). @enqueues no. @capture legal
 * (it does not become part of a capture). @threads any; not while another thread launches a graph with this layer.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_set_parameters(synfire_layer layer,
                                                                     const synfire_parameter_values *list,
                                                                     uint64_t n_values SYNFIRE_LENGTH_OF(list))
    SYNFIRE_NOEXCEPT;

/**
 * Sets how many batch rows of a layer are active: the first `n_rows`. The change takes effect with the next launch or
 * eager call, together with parameters that were set; replays already launched are not affected. Graphs need not be
 * recorded again. The tape of an earlier forward becomes stale.
 *
 * Forward and backward neither read nor write the other rows: their state is kept, their part of every output is
 * untouched, and gradients of parameters are those of the active rows, with the same bits as in a layer with only these
 * rows. Operations on the state, on spikes and on elements are not affected.
 *
 * @param layer  A layer.
 * @param n_rows 0 to B. In a new layer, it is B.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT.
 * @blocks no. @allocates no. @enqueues no. @capture legal (it does not become part of a capture). @threads any; not
 * while another thread launches a graph with this layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_set_n_active(synfire_layer layer, int64_t n_rows)
    SYNFIRE_NOEXCEPT;

/**
 * Describes one parameter of a layer.
 *
 * @param layer        A layer.
 * @param index        0, 1, 2 ...: the parameters in the model's documented order, then those of the surrogate.
 * @param[in,out] info In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT if `index` is past the last one (`info` is then untouched);
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_parameter_info(synfire_layer layer, uint32_t index,
                                                                         synfire_parameter_info *info) SYNFIRE_NOEXCEPT;

/**
 * Resets the state to its initial values: V = `v_reset` with hard reset, 0 with soft reset; every other variable 0, and
 * no spikes in the history (synfire_layer_desc::history_steps).
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
 * Reads the state, after everything enqueued on the context's own stream. Work on other streams must already be done.
 *
 * @param layer  A layer.
 * @param name   The state variable: `"v"`, or `"w"` in models with two variables.
 * @param[out] values Receives B·N elements, f32 (f64 in an f64 layer), in host memory.
 * @param bytes  Size of `values` in bytes: exactly B·N elements.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until done. @allocates no. @enqueues a copy on the context's own stream. @capture legal (it does not become
 * part of a capture). @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_read_state(synfire_layer layer, const char *name, void *values,
                                                                 uint64_t bytes) SYNFIRE_NOEXCEPT;

/**
 * Writes the state, after everything enqueued on the context's own stream. Work on other streams must already be done.
 *
 * @param layer  A layer.
 * @param name   The state variable: `"v"`, or `"w"` in models with two variables.
 * @param values B·N elements, f32 (f64 in an f64 layer), in host memory.
 * @param bytes  Size of `values` in bytes: exactly B·N elements.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until done. @allocates no. @enqueues a copy on the context's own stream. @capture legal (it does not become
 * part of a capture). @threads one at a time per layer. @since ABI 0.1
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
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_UNSUPPORTED
 *         (a tape, or a way to write H over X, that this layer does not have; a layer for which the library has no
 *         kernels), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates a tape, with the first taped eager forward of a layer; on the
 * host and with a synapse, memory for the time of the call; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream` (two after a parameter change), and with a recurrent synapse several for each step.
 * @capture legal: on a captured stream it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's
 * own stream. @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_forward(synfire_layer layer, const synfire_forward_desc *desc,
                                                              synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Runs one backward pass through time now, for the layer's latest forward, which must have left a tape.
 *
 * With \f$g_s = g'(H[t]-V_{threshold})\f$ and \f$D = 1\f$ when the reset is detached:
 * \f{eqnarray*}{
 *   \partial V/\partial H &=& 1 - S[t] + (1-D)\,(V_{reset}-H[t])\,g_s \quad \textrm{(hard)} \qquad
 *                             1 - (1-D)\,V_{threshold}\,g_s \quad \textrm{(soft)} \\
 *   G_H[t] &=& G_S[t]\,g_s + (G_V[t] + G_H[t+1]\,\partial H[t+1]/\partial V[t])\,\partial V/\partial H \\
 *   G_X[t] &=& G_H[t]\,\partial H[t]/\partial X[t] \qquad G_{V_{init}} = G_H[1]\,\partial H[1]/\partial V[0]
 * \f}
 * The terms of W and the gradients of parameters follow by the chain rule. Derivatives of the charge function are
 * computed with dual numbers. The formulas are those of backpropagation through time with a surrogate derivative
 * (Neftci, Mostafa and Zenke 2019).
 *
 * @param layer  A layer.
 * @param desc   What to read and write.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_STALE_TAPE, ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_CAPTURING (the capture is
 *         invalid), ::SYNFIRE_ERROR_UNSUPPORTED (gradients of a synapse over 2^31 rows or more, or of the input of one
 *         with more than 132,106 outputs; a layer for which the library has no kernels), ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates with the first parameter gradient of a layer; on the host,
 * memory for the time of the call; a host context's threads, with the first work for them. @enqueues one kernel on
 * `stream`, and one or two more for each parameter gradient. @capture legal: on a captured stream it becomes part of
 * the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads one at a time per layer.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_backward(synfire_layer layer, const synfire_backward_desc *desc,
                                                               synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/** A forward leaves it beside its tape for synfire_layer_run_backward(). It says what the tape was made of. A copy is as
 *  good as the original. It never grows, and the numbers in it are the library's own. */
typedef struct synfire_tape_stamp {
  /** Numbers that only the library reads. All 0: no forward has left a tape. */
  uint64_t words[8];
} synfire_tape_stamp;

/** A parameter whose gradient synfire_layer_run_backward() computes. */
typedef struct synfire_gradient_pointer {
  /** As synfire_parameter_gradient::name. */
  const char *name;
  /** dL/dp, `length` elements of f32 (f64 in an f64 layer), written as in ::synfire_parameter_gradient. */
  void *gradient;
  /** 1, the sum over all neurons, C, one sum for each channel, or N, one for each neuron. */
  uint64_t length;
} synfire_gradient_pointer;

/** A forward or a backward over addresses: for callers that have memory of their own for every call, such as an
 *  automatic differentiation with an allocator. A backward takes what its forward took, with gradients added.
 *
 * Here T and B are `n_steps` and `batch`. Every array is contiguous and row-major, aligned to its elements, and in
 * memory that the layer's device can read and write: device memory on CUDA, ordinary memory on a host context. Sequences
 * `[T, B, N]` have the layer's dtype; states `[B, N]` are f32, or f64 in an f64 layer. F is the number of the model's
 * variables beside V: W comes first, then the others in the model's order, and where F is 0 the w fields must be null.
 *
 * Addresses are not checked: one that is wrong, or memory that is too small, is undefined behaviour. Nothing keeps the
 * memory alive either. It must be valid until the work enqueued on `stream` is done. An array that is written must not
 * overlap another one. */
typedef struct synfire_pointers_desc {
  /** `sizeof(synfire_pointers_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_TAPE_*`. Default: recompute. The backward reads `x` again where that of ::synfire_backward_desc
   *  does. */
  int32_t tape SYNFIRE_ONE_OF(SYNFIRE_TAPE);
  /** Steps T, from 1 to the layer's. Default: the layer's. */
  int64_t n_steps;
  /** Batch rows B, from 1 to the layer's. Default: the layer's. */
  int64_t batch;
  /** The type of `spikes`: ::SYNFIRE_DTYPE_BITS, ::SYNFIRE_DTYPE_TIME_BITS or ::SYNFIRE_DTYPE_U8. Default 0: the layer's
   *  dtype. */
  int32_t spike_dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** Backward. As synfire_backward_desc::add_parameter_gradients. */
  int32_t add_parameter_gradients SYNFIRE_FLAG;
  /** X `[T, B, N]`, read. */
  const void *x;
  /** Forward: S, written, in one of the formats of synfire_forward_desc::spikes. Optional; LI has none. */
  void *spikes SYNFIRE_NULLABLE;
  /** Forward: V before the first step `[B, N]`, read. Null (default): the forward starts from the first B rows of the
   *  layer's own state and advances them. If given, the layer's state is neither read nor written. */
  const void *v_init SYNFIRE_NULLABLE;
  /** Forward: V after the last step `[B, N]`, written. Optional. */
  void *v_final SYNFIRE_NULLABLE;
  /** Forward: V after the reset of every step `[T, B, N]`, written. Optional. */
  void *v_seq SYNFIRE_NULLABLE;
  /** Forward: H, the charged potential before firing `[T, B, N]`, written. Optional. */
  void *h_seq SYNFIRE_NULLABLE;
  /** Forward: the other variables before the first step `[F, B, N]`, read. Given together with `v_init`, or both null. */
  const void *w_init SYNFIRE_NULLABLE;
  /** Forward: the other variables after the last step `[F, B, N]`, written. Optional. */
  void *w_final SYNFIRE_NULLABLE;
  /** Forward: the other variables after every step `[F, T, B, N]`, written. Optional. */
  void *w_seq SYNFIRE_NULLABLE;
  /** The tape: `tape_bytes` bytes, aligned to 16. The forward writes it and the backward reads it; between them it must
   *  stay unchanged. Null with ::SYNFIRE_TAPE_NONE. */
  void *tape_memory SYNFIRE_NULLABLE;
  /** The size of `tape_memory`: at least what synfire_layer_get_run_memory() gives. */
  uint64_t tape_bytes;
  /** In host memory: the forward writes it before it returns, and the backward compares it. Null with
   *  ::SYNFIRE_TAPE_NONE. */
  synfire_tape_stamp *stamp SYNFIRE_NULLABLE;
  /** Backward: dL/dS `[T, B, N]`, read. Optional; LI has none. */
  const void *grad_spike_seq SYNFIRE_NULLABLE;
  /** Backward: dL/dV of every step `[T, B, N]`, read. Optional. */
  const void *grad_v_seq SYNFIRE_NULLABLE;
  /** Backward: dL/dV of the final state `[B, N]`, read. Optional. */
  const void *grad_v_final SYNFIRE_NULLABLE;
  /** Backward: dL/dX `[T, B, N]`, written. Optional; at least one output is needed. It may be `grad_spike_seq`. */
  void *grad_x_seq SYNFIRE_NULLABLE;
  /** Backward: dL/dV_init `[B, N]`, written. Optional; at least one output is needed. */
  void *grad_v_init SYNFIRE_NULLABLE;
  /** Backward: gradients with respect to the other variables of every step `[F, T, B, N]`, read. Optional. */
  const void *grad_w_seq SYNFIRE_NULLABLE;
  /** Backward: gradients with respect to the other variables of the final state `[F, B, N]`, read. Optional. */
  const void *grad_w_final SYNFIRE_NULLABLE;
  /** Backward: gradients with respect to the other variables before the first step `[F, B, N]`, written. Optional. */
  void *grad_w_init SYNFIRE_NULLABLE;
  /** Backward: `n_gradient_pointers` gradients of parameters to compute. Default: none. */
  const synfire_gradient_pointer *gradient_pointers SYNFIRE_NULLABLE;
  /** How many `gradient_pointers` there are. Default: 0. */
  uint64_t n_gradient_pointers SYNFIRE_LENGTH_OF(gradient_pointers);
  /** Backward: memory for sums, `scratch_bytes` bytes, aligned to 16. Its contents do not matter. Needed only with
   *  `gradient_pointers`. */
  void *scratch SYNFIRE_NULLABLE;
  /** The size of `scratch`: at least what synfire_layer_get_run_memory() gives. */
  uint64_t scratch_bytes;
} synfire_pointers_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_POINTERS_DESC_INIT                                                                                \
  {                                                                                                               \
    (uint32_t)sizeof(synfire_pointers_desc), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, 0u, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0u, NULL, 0u                        \
  }

/**
 * How much memory synfire_layer_run_forward() and synfire_layer_run_backward() need from the caller.
 *
 * @param layer               A layer.
 * @param tape                One of `SYNFIRE_TAPE_*`.
 * @param n_steps             Steps T of the call, from 1 to the layer's; 0: the layer's.
 * @param batch               Batch rows B of the call, from 1 to the layer's; 0: the layer's.
 * @param n_gradients         Gradients of parameters that the backward computes.
 * @param[out] tape_bytes     Receives the size for synfire_pointers_desc::tape_memory. 0 with ::SYNFIRE_TAPE_NONE.
 * @param[out] scratch_bytes  Receives the size for synfire_pointers_desc::scratch. 0 without gradients of parameters.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_UNSUPPORTED (a
 *         tape that this layer does not have).
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_run_memory(synfire_layer layer,
                                                                     int32_t tape SYNFIRE_ONE_OF(SYNFIRE_TAPE),
                                                                     int64_t n_steps, int64_t batch,
                                                                     uint64_t n_gradients, uint64_t *tape_bytes,
                                                                     uint64_t *scratch_bytes) SYNFIRE_NOEXCEPT;

/**
 * Runs one forward now, over addresses: synfire_layer_forward() with the same bits, for up to as many steps and batch
 * rows as the layer has. The tape is the caller's. Several forwards of one layer may thus be waiting for their
 * backwards, and the layer's own tape stays as it is.
 *
 * @param layer  A layer.
 * @param desc   What to read and write. Fields for the backward are not looked at.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_UNSUPPORTED
 *         (a tape that this layer does not have; a layer for which the library has no kernels),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the
 *         context's job system).
 * @blocks no on CUDA, until done on the host. @allocates on the host, memory for the time of the call; a host context's
 * threads, with the first work for them. @enqueues one kernel on `stream` (two after a parameter change). @capture
 * legal: on a captured stream it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own
 * stream. @threads one at a time per layer. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_run_forward(synfire_layer layer,
                                                                  const synfire_pointers_desc *desc,
                                                                  synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Runs one backward now, over addresses: synfire_layer_backward() with the same bits, for the forward that left
 * `desc->stamp` and the tape. It may run several times for one forward, and for forwards of one layer in any order.
 *
 * Refused as ::SYNFIRE_ERROR_STALE_TAPE: a stamp of another layer, or of other steps, batch rows, tape or addresses of X
 * and of the tape than the descriptor's, or one from before a change of a parameter. The library does not know whether X
 * or the tape was written in between.
 *
 * @param layer  A layer.
 * @param desc   What to read and write. Results of the forward are not looked at.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_STALE_TAPE, ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_CAPTURING (the capture is
 *         invalid), ::SYNFIRE_ERROR_UNSUPPORTED (a layer for which the library has no kernels),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the
 *         context's job system).
 * @blocks no on CUDA, until done on the host. @allocates once with the first parameter gradient of a layer; on the host,
 * memory for the time of the call; a host context's threads, with the first work for them. @enqueues one kernel on
 * `stream`, and one or two more for each parameter gradient. @capture legal: on a captured stream it becomes part of
 * the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads one at a time per layer.
 * @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_run_backward(synfire_layer layer,
                                                                   const synfire_pointers_desc *desc,
                                                                   synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/** Rows of the state of a layer, and a buffer, for synfire_layer_reset_rows() and the functions that follow it. A row
 *  is a batch row: N values of each state variable, and the spikes of its history (synfire_layer_desc::history_steps),
 *  which are reset, copied to other layers, and in snapshots. */
typedef struct synfire_state_desc {
  /** `sizeof(synfire_state_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** First batch row. Default: 0. */
  int64_t first_row;
  /** How many batch rows. 0 (default): all from `first_row` on. */
  int64_t n_rows;
  /** The state variable to read or write, `"v"` or `"w"`. Default: `"v"`. Only functions that read or write rows use
   *  it. */
  const char *name SYNFIRE_NULLABLE;
  /** As the function defines it. */
  synfire_buffer buffer SYNFIRE_UPDATED("any") SYNFIRE_NULLABLE;
} synfire_state_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_STATE_DESC_INIT \
  { (uint32_t)sizeof(synfire_state_desc), 0u, 0, 0, NULL, NULL }

/** Rows of the state of one layer to copy to another. */
typedef struct synfire_copy_rows_desc {
  /** `sizeof(synfire_copy_rows_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** The layer to read, of the same model, number of neurons, arithmetic and number of steps in its history. It may be the
   *  layer that is written: its rows can be copied to other rows of it. */
  synfire_layer source;
  /** First batch row of `source`. Default: 0. */
  int64_t first_row;
  /** How many batch rows. 0 (default): all of `source` from `first_row` on. */
  int64_t n_rows;
  /** First batch row to write. Default: 0. */
  int64_t destination_row;
} synfire_copy_rows_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_COPY_ROWS_DESC_INIT \
  { (uint32_t)sizeof(synfire_copy_rows_desc), 0u, NULL, 0, 0, 0 }

/**
 * Resets rows of the state to their initial values, all of them or those that a mask selects.
 * synfire_layer_reset_state() resets the whole state.
 *
 * @param layer  A layer.
 * @param desc   The rows. `buffer`: null, or a mask, ::SYNFIRE_DTYPE_U8 `[B]`, which is read when the call runs. Rows
 *               whose byte is not 0 are reset. On a CUDA context it is a device or pinned buffer.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_WRONG_ORDER (a graph's replay with the layer is in flight on
 *         another stream), ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks no. @allocates no. @enqueues one kernel on `stream`, two with a history. @capture legal: on a captured
 * stream it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream.
 * @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_reset_rows(
    synfire_layer layer, const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_READ("[B]") SYNFIRE_NULLABLE),
    synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Copies rows of a state variable into a buffer.
 *
 * @param layer  A layer.
 * @param desc   The rows and the variable. `buffer`: `[n_rows, N]` of f32 (f64 in an f64 layer), written from its
 *               start. On a CUDA context it is a device or pinned buffer.
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
 * @param desc   The rows and the variable. `buffer`: as for synfire_layer_read_rows(), but read.
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
 * Copies rows of the state of one layer, all state variables, to another.
 *
 * @param layer  The layer to write.
 * @param desc   The layer to read, and the rows.
 * @param stream The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_WRONG_ORDER (a graph's replay with the layer is in flight on
 *         another stream), ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks no. @allocates no. @enqueues a copy for each state variable on `stream`, and one for a history. @capture legal: on a
 * captured stream it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream.
 * @threads one at a time per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_copy_rows(synfire_layer layer, const synfire_copy_rows_desc *desc,
                                                                synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Takes a snapshot of rows of the state: a header that describes them, followed by their values. Parameters are not
 * included.
 *
 * @param layer         A layer.
 * @param desc          The rows; null means all. `buffer` must be null.
 * @param[out] data     Receives the snapshot; null to get only its size.
 * @param[in,out] bytes In: the size of `data`. Out: the size of the snapshot.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks until the copy is done and earlier work on the context's own stream has finished. @allocates no.
 * @enqueues copies, and waits for them. @capture legal (it does not become part of a capture). @threads one at a time
 * per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_snapshot(synfire_layer layer,
                                                               const synfire_state_desc *desc SYNFIRE_NULLABLE,
                                                               void *data SYNFIRE_NULLABLE, uint64_t *bytes)
    SYNFIRE_NOEXCEPT;

/**
 * Restores a snapshot. Data that is not a snapshot, is of another model, type or shape, or has changed since the
 * snapshot was taken is refused, and the state is left unchanged.
 *
 * @param layer A layer with the model, arithmetic, number of neurons and number of steps in the history from which the
 *              snapshot was taken. The rows may be different ones.
 * @param desc  The rows, as many as the snapshot has; null means all. `buffer` must be null.
 * @param data  The snapshot. One that a replay took (synfire_graph_record_snapshot()) is accepted too; it has no
 *              checksum.
 * @param bytes Size of `data` in bytes.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks until the copy is done and earlier work on the context's own stream has finished. @allocates no.
 * @enqueues copies, and waits for them. @capture legal (it does not become part of a capture). @threads one at a time
 * per layer. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_restore(synfire_layer layer,
                                                              const synfire_state_desc *desc SYNFIRE_NULLABLE,
                                                              const void *data, uint64_t bytes) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup spikes
 * @{ */

/** Spikes `[T, B, N]` to convert from one format to another: packed, unpacked, transposed or as another type. The types
 * of the two buffers select the conversion. The `row_pitch` of a buffer applies as in the passes of a layer. */
typedef struct synfire_convert_spikes_desc {
  /** `sizeof(synfire_convert_spikes_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N of one batch row, at least 1. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read. Dense `[T, B, N]` in f32, f64, f16, bf16 or u8, where every non-zero element is a spike: NaNs and subnormal
   *  numbers are spikes, -0 is not. Or packed, ::SYNFIRE_DTYPE_BITS or ::SYNFIRE_DTYPE_TIME_BITS; tail bits are
   *  ignored. */
  synfire_buffer source SYNFIRE_READ("spikes [T, B, N]");
  /** Written, in any of these types: 1 and 0 if dense; all words, with tail bits zero, if packed. Must not overlap
   *  `source`. */
  synfire_buffer destination SYNFIRE_WRITTEN("spikes [T, B, N]");
} synfire_convert_spikes_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_CONVERT_SPIKES_DESC_INIT \
  { (uint32_t)sizeof(synfire_convert_spikes_desc), 0u, 0, 0, 0, NULL, NULL }

/** Kinds of counts: synfire_count_spikes_desc::kind. */
enum {
  /** Spikes of each neuron over all steps: `[B, N]`. */
  SYNFIRE_COUNT_PER_NEURON = 0,
  /** Spikes of each step, of all neurons of all batch rows: `[T]`. */
  SYNFIRE_COUNT_PER_STEP = 1,
  /** All spikes: one element. */
  SYNFIRE_COUNT_TOTAL = 2
};

/** Spikes `[T, B, N]` to count. Counts are exact. */
typedef struct synfire_count_spikes_desc {
  /** `sizeof(synfire_count_spikes_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_COUNT_*`. Default: per neuron. */
  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_COUNT);
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N of one batch row, at least 1. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read, in any format that synfire_convert_spikes_desc::source may have. */
  synfire_buffer spikes SYNFIRE_READ("spikes [T, B, N]");
  /** Written, not added to: ::SYNFIRE_DTYPE_U32 or ::SYNFIRE_DTYPE_U64. The type must be able to hold the largest count
   *  that the shape allows. Must not overlap `spikes`. */
  synfire_buffer counts SYNFIRE_WRITTEN("[B, N], [T] or [1]");
} synfire_count_spikes_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_COUNT_SPIKES_DESC_INIT \
  { (uint32_t)sizeof(synfire_count_spikes_desc), 0, 0, 0, 0, NULL, NULL }

/** Rates to encode as spikes `[T, B, N]`: in each step, each neuron spikes with a probability equal to its rate,
 * independently of all others.
 *
 * The spike of neuron n of batch row b in step t depends only on its rate, `seed`, `offset` + t, b and n. It is the
 * same for all T, B and N, in every format, on every backend and with any number of threads. It is drawn with
 * Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC '11). The key is
 * `seed`, low word first. The counter consists of the words n / 4, b, and the low and the high word of `offset` + t
 * (modulo 2^64). The neuron spikes if word n mod 4 of the result is below rate * 2^32, rounded down. A rate of 0 or
 * less, or NaN, never spikes; a rate of 1 or more always does. */
typedef struct synfire_encode_bernoulli_desc {
  /** `sizeof(synfire_encode_bernoulli_desc)`. */
  uint32_t struct_size;
  /** 0 (default): `rates` is `[B, N]`, the same in every step. 1: `rates` is `[T, B, N]`. */
  int32_t rates_per_step SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N of one batch row, at least 1, at most 2^34. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B, at most 2^32. Default: 1. */
  int64_t batch;
  /** Read: f32, f16 or bf16. */
  synfire_buffer rates SYNFIRE_READ("[B, N] or [T, B, N]");
  /** Written, in any format that synfire_convert_spikes_desc::destination may have. Must not overlap `rates`. */
  synfire_buffer spikes SYNFIRE_WRITTEN("spikes [T, B, N]");
  /** Any number. Different seeds give independent spikes. The operation's value `"seed"`. */
  uint64_t seed;
  /** Number of the first step in the sequence of the seed. In a graph, this is the first step of the first replay; each
   *  replay begins T steps after the one before it. The operation's value `"offset"`. */
  uint64_t offset;
} synfire_encode_bernoulli_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_ENCODE_BERNOULLI_DESC_INIT \
  { (uint32_t)sizeof(synfire_encode_bernoulli_desc), 0, 0, 0, 0, NULL, NULL, 0u, 0u }

/** Ways to find the step of an event: synfire_bin_events_desc::split. Since ABI 0.3. */
enum {
  /** Its time. */
  SYNFIRE_EVENTS_BY_TIME = 0,
  /** How many events come before it. */
  SYNFIRE_EVENTS_BY_COUNT = 1
};

/** Which events a full buffer holds: synfire_bin_events_desc::keep. Since ABI 0.3. */
enum {
  /** The oldest: event i is at index i, and those beyond the capacity were not written. */
  SYNFIRE_EVENTS_KEEP_OLDEST = 0,
  /** The newest: event i is at index i mod capacity, as in a ring. */
  SYNFIRE_EVENTS_KEEP_NEWEST = 1
};

/** Columns of synfire_bin_events_desc::faults: each counts one kind of fault. Since ABI 0.3. */
enum {
  /** Events outside the sensor, or with a polarity other than 0 and 1. They are left out. */
  SYNFIRE_EVENTS_FAULT_SENSOR = 0,
  /** Events that belong to no step: before the first one, or after the last one. They are left out. */
  SYNFIRE_EVENTS_FAULT_WINDOW = 1,
  /** Events that the buffer does not hold, because there were more than its capacity. */
  SYNFIRE_EVENTS_FAULT_CAPACITY = 2,
  /** By count without `sort`: events that are older than the one before them. They keep their place in the order. */
  SYNFIRE_EVENTS_FAULT_ORDER = 3,
  /** Elements of the result whose count was above the bound, and is the bound. Spikes are not counted here. */
  SYNFIRE_EVENTS_FAULT_BOUND = 4
};

/** Events of a camera to bin into spikes or counts `[T, B, H, W, 2]`, N = H * W * 2. Element (y, x, p) of a step has the
 * events of polarity p in cell (y, x): 0 where it became darker, 1 where it became brighter.
 *
 * An event is one ::SYNFIRE_DTYPE_U64, in the layout of the 8 bytes of a record in Prophesee's DAT files: bits 0 to 31 are
 * its time t, 32 to 45 its column x, 46 to 59 its row y, and 60 to 63 its polarity. So it is
 * t | x << 32 | y << 46 | polarity << 60. The unit of time, the tick, is the caller's, usually a microsecond. Times are
 * compared after the start of the row's window is subtracted, modulo 2^32: a clock that wraps during a window does no harm.
 *
 * Row b holds n = min(`event_counts[b]`, capacity) events. The step of an event is
 *
 * - by time: floor(d / ticks), where d is its time after the start, modulo 2^32;
 * - by count: floor(i / `events_per_step`), or floor(i * T / n) if that is 0, where i is the number of events before it:
 *   in the order of the array, or, with `sort`, of d, and of the array where d is the same.
 *
 * Its cell is ((y - top) / `downsample_y`, (x - left) / `downsample_x`), rounded down, where top and left are the corner of
 * the cropped rectangle. Events of the sensor outside the rectangle are left out. H is `crop_height` / `downsample_y`,
 * rounded up, and W likewise.
 *
 * The result is the number of events, at most `count_bound`. With a bound of 1 it is spikes: wherever there is an event. With
 * `bilinear`, an event counts in two steps, by its distance from the beginnings of both: with w = floor(64 * (d mod ticks)
 * / ticks + 1/2), the event adds 64 - w to its own step and w to the next one, if there is one. The result is the sum of
 * these integers, divided by 64 and rounded to f32 once. All sums are of integers: the result does not depend on the order
 * of the events by time, on the backend or on the number of threads.
 *
 * Rows are augmented with random numbers that depend only on `seed`, `offset` and b. The four words of Philox4x32-10 (see
 * ::synfire_encode_bernoulli_desc) with key `seed` and the counter 0x746E7665, b, low word of `offset`, high word of
 * `offset` decide in this order: the result is mirrored left to right if word 0 is below `flip_x` * 2^32, rounded down,
 * and top to bottom if word 1 is below that of `flip_y`; top is `crop_top` + floor(word 2 * (`crop_range_y` + 1) / 2^32),
 * and left likewise with word 3.
 *
 * A call that runs now on a host context looks at everything first. It refuses, with the row and the event, what a replay
 * or a GPU counts in `faults`, except events that belong to no step. @since ABI 0.3 */
typedef struct synfire_bin_events_desc {
  /** `sizeof(synfire_bin_events_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_EVENTS_BY_*`. Default: by time. */
  int32_t split SYNFIRE_ONE_OF(SYNFIRE_EVENTS_BY);
  /** Steps T, 1 to 2^31 - 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Events that a row of the buffer can hold, 1 to 2^31 - 1; with `bilinear`, at most 2^26 - 1. */
  int64_t capacity SYNFIRE_REQUIRED;
  /** Rows of the sensor, 1 to 16384. */
  int64_t sensor_height SYNFIRE_REQUIRED;
  /** Columns of the sensor, 1 to 16384. */
  int64_t sensor_width SYNFIRE_REQUIRED;
  /** Batch rows B, at most 2^32 - 1. Default: 1. */
  int64_t batch;
  /** By time: ticks of a step, 1 to 2^32 - 1. Default: 1000, a millisecond of microseconds. Must be 0 if `window` is given,
   *  and by count. */
  int64_t ticks_per_step;
  /** By count: events of a step. Default: the events of a row are divided evenly among the steps. Must be 0 by time. */
  int64_t events_per_step;
  /** First row of the cropped rectangle. */
  int64_t crop_top;
  /** First column of the cropped rectangle. */
  int64_t crop_left;
  /** Rows of the cropped rectangle. Default: all that are left. */
  int64_t crop_height;
  /** Columns of the cropped rectangle. Default: all that are left. */
  int64_t crop_width;
  /** The first row is drawn from this many more rows. Default 0: it is `crop_top`. */
  int64_t crop_range_y;
  /** The first column is drawn from this many more columns. Default 0: it is `crop_left`. */
  int64_t crop_range_x;
  /** Rows of the sensor in one cell. Default: 1. */
  int64_t downsample_y;
  /** Columns of the sensor in one cell. Default: 1. */
  int64_t downsample_x;
  /** The probability with which a batch row is mirrored top to bottom, from 0 (default) to 1, which is always. */
  double flip_y;
  /** The probability with which a batch row is mirrored left to right, from 0 (default) to 1, which is always. */
  double flip_x;
  /** One of `SYNFIRE_EVENTS_KEEP_*`. Default: the oldest. */
  int32_t keep SYNFIRE_ONE_OF(SYNFIRE_EVENTS_KEEP);
  /** 1: by count, events are taken in the order of their times. Default 0: in the order of the array. By time, the order
   *  does not matter. */
  int32_t sort SYNFIRE_FLAG;
  /** 1: an event counts in two steps, by its time. By time only, into f32. Default: 0. */
  int32_t bilinear SYNFIRE_FLAG;
  /** The largest count. In ::SYNFIRE_DTYPE_U8, 1 to 255; default 1, the result is spikes. In f32, 1 to 2^24; default:
   *  counts are not bounded. In ::SYNFIRE_DTYPE_BITS, 1. */
  int32_t count_bound;
  /** Read: ::SYNFIRE_DTYPE_U64. */
  synfire_buffer events SYNFIRE_READ("[B, capacity]");
  /** Read: ::SYNFIRE_DTYPE_U32, how many events of each row there were, also of those that the buffer does not hold. It may
   *  differ in every replay. */
  synfire_buffer event_counts SYNFIRE_READ("[B]");
  /** Read: ::SYNFIRE_DTYPE_U32, for each row the time at which its first step begins and, by time, the ticks of a step.
   *  With 0 ticks, no event belongs to a step. It may differ in every replay. Null: all begin at time 0, and have
   *  `ticks_per_step`. */
  synfire_buffer window SYNFIRE_READ("[B, 2]") SYNFIRE_NULLABLE;
  /** Written: spikes in ::SYNFIRE_DTYPE_BITS, spikes or counts in ::SYNFIRE_DTYPE_U8, or counts in f32. A `row_pitch` is the
   *  distance from one step to the next. Must not overlap the others. */
  synfire_buffer destination SYNFIRE_WRITTEN("[T, B, N]");
  /** Written: ::SYNFIRE_DTYPE_U32, for each row how often each of `SYNFIRE_EVENTS_FAULT_*` happened. Must not overlap the
   *  others. */
  synfire_buffer faults SYNFIRE_WRITTEN("[B, 5]");
  /** Any number. Different seeds give independent augmentations. The operation's value `"seed"`. */
  uint64_t seed;
  /** Number of the augmentation in the sequence of the seed. In a graph, this is that of the first replay; each replay
   *  draws the next one. The operation's value `"offset"`. */
  uint64_t offset;
} synfire_bin_events_desc;

/** All zeros except for `struct_size`. */
/* clang-format off */
#define SYNFIRE_BIN_EVENTS_DESC_INIT \
  { (uint32_t)sizeof(synfire_bin_events_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0, 0, 0, 0, \
    NULL, NULL, NULL, NULL, NULL, 0u, 0u }
/* clang-format on */

/**
 * Converts spikes from one format to another now: the same operation that synfire_graph_record_convert_spikes()
 * records.
 *
 * @param context The context of both buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
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
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers. Counts in device memory are
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
 * advance the offset: to continue the sequence, increase `offset` by `n_steps` for the next call.
 *
 * @param context The context of both buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (more neurons or batch rows than can be
 *         distinguished), ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed), ::SYNFIRE_ERROR_CAPTURING (the
 *         capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the
 *         context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream; each run of the captured graph uses the `offset` of
 * this call. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_encode_bernoulli(synfire_context context,
                                                                 const synfire_encode_bernoulli_desc *desc,
                                                                 synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Bins events of a camera now: the same operation that synfire_graph_record_bin_events() records. Calls do not advance the
 * offset: to continue the sequence, increase `offset` by 1 for the next call.
 *
 * @param context The context of the buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (also, on a
 *         host context: events outside the sensor, in the wrong order or beyond the capacity, and counts above the
 *         bound), ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_CAPTURING (the capture is
 *         invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the context's job
 *         system).
 * @blocks no on CUDA, until done on the host. @allocates yes. @enqueues kernels on `stream`. @capture legal: on a captured
 * stream it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream; each run of the
 * captured graph uses the `offset` of this call. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_bin_events(synfire_context context, const synfire_bin_events_desc *desc,
                                                           synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup data
 * @{ */

/** Rows of a data set to gather into a batch. The source has R rows of T steps of N elements; row b of the batch is the
 * row of the source whose number is `indices[b]`. The batch is time-major, as layers read it: the transposition is part
 * of the operation. The bits of elements are copied unchanged.
 *
 * Rows b >= `n_active[0]` are zero, and so are rows whose index is R or more: no index can make the operation access
 * memory outside of its buffers. Zero means all bits 0. With `lengths`, so are the steps from `lengths[b]` on of row b,
 * whatever the source holds there; of time-packed spikes, which have 32 steps in a word, the bits of these steps.
 *
 * Packed spikes keep their format: R rows of ::SYNFIRE_DTYPE_BITS are `[R, T, ceil(N/32)]` words, and R rows of
 * ::SYNFIRE_DTYPE_TIME_BITS `[R, ceil(T/32), N]` words. `n_steps` and `n_elements` are always the unpacked T and N. */
typedef struct synfire_gather_rows_desc {
  /** `sizeof(synfire_gather_rows_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Rows R of the data set, at least 1. */
  int64_t n_rows SYNFIRE_REQUIRED;
  /** Steps T of a row. Default: 1. */
  int64_t n_steps;
  /** Elements N of one step of a row, at least 1. */
  int64_t n_elements SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read, of any type. A `row_pitch` is the distance from one row to the next. On a CUDA context, device memory or,
   *  for a data set that the device cannot hold, pinned memory: a replay then transfers only the rows that it gathers.
   *  In a graph with several slots the source has no copies: all replays read the buffer's own memory. */
  synfire_buffer source SYNFIRE_READ("[R, T, N]");
  /** Read: ::SYNFIRE_DTYPE_U32. */
  synfire_buffer indices SYNFIRE_READ("[B]");
  /** Read: ::SYNFIRE_DTYPE_U32, how many rows of the batch there are; more than B counts as B. Null: B. */
  synfire_buffer n_active SYNFIRE_READ("[1]") SYNFIRE_NULLABLE;
  /** Written, of the source's type. A `row_pitch` is the distance from one step to the next. Must not overlap the
   *  others. */
  synfire_buffer destination SYNFIRE_WRITTEN("[T, B, N]");
  /** Read: ::SYNFIRE_DTYPE_U32, how many steps of each row of the batch there are; more than T counts as T. Null: T.
   *  Since ABI 0.3. */
  synfire_buffer lengths SYNFIRE_READ("[B]") SYNFIRE_NULLABLE;
} synfire_gather_rows_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_GATHER_ROWS_DESC_INIT \
  { (uint32_t)sizeof(synfire_gather_rows_desc), 0u, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL }

/** The rows of a batch to draw: indices into a data set of R rows, such that each row appears once in every epoch, in
 * an order that depends on the seed and the epoch only.
 *
 * Batch number `offset` is batch j of epoch e: with P batches per epoch, e = `offset` / P and j = `offset` mod P. P is
 * R / B, rounded up or, with `drop_last`, down. The batch has n_active = min(B, R - j * B) rows. Index i of it is
 * row(j * B + i) for i < n_active, and 0, which is the number of a row, for the others. With `in_order`, row(p) = p.
 * Otherwise row(p) is a permutation of 0 ... R - 1, computed as follows on unsigned 32-bit integers, modulo 2^32:
 *
 * - C is the smallest even number with C * C >= R, and D = ceil(R / C).
 * - The 32 keys of the epoch: k[4i] to k[4i+3] are the four words of Philox4x32-10 (see synfire_encode_bernoulli_desc)
 *   with key `seed`, low word first, and the counter i, 0x66756873, low word of e, high word of e.
 * - amount(x, k, limit): x = x * 0x9E3779B9 + k; x = (x ^ (x >> 16)) * 0x7FEB352D; x = (x ^ (x >> 15)) * 0x846CA68B;
 *   x = x ^ (x >> 16); the amount is (x * limit) >> 32, with a product of 64 bits.
 * - permute(p): line = p / C, column = p mod C. For r = 0, 2, 4 ... 30:
 *   column = (column + amount(line, k[r], C)) mod C, then line = (line + amount(column, k[r+1], D)) mod D.
 *   The result is line * C + column.
 * - row(p) = permute(p), repeated with its result until that is less than R.
 *
 * The indices are the same on every backend, and the order is no secret: the permutation is made for statistics, not
 * for cryptography. */
typedef struct synfire_shuffle_desc {
  /** `sizeof(synfire_shuffle_desc)`. */
  uint32_t struct_size;
  /** 1: rows are not permuted, as for an evaluation. Default: 0. */
  int32_t in_order SYNFIRE_FLAG;
  /** Rows R of the data set, at least 1, at most 2^32 - 1. */
  int64_t n_rows SYNFIRE_REQUIRED;
  /** Rows B of a batch, at most 2^32 - 1. Default: 1. */
  int64_t batch;
  /** 1: every batch is full, and an epoch leaves out the R mod B rows that come last in its order; B must not exceed R.
   *  0 (default): the last batch of an epoch has the rows that are left. */
  int32_t drop_last SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
  /** Written: ::SYNFIRE_DTYPE_U32, each less than R. */
  synfire_buffer indices SYNFIRE_WRITTEN("[B]");
  /** Written: ::SYNFIRE_DTYPE_U32, how many rows the batch has. Other operations read it as their `n_active`. Null: not
   *  written. */
  synfire_buffer n_active SYNFIRE_WRITTEN("[1]") SYNFIRE_NULLABLE;
  /** Any number. Different seeds give independent orders. The operation's value `"seed"`. */
  uint64_t seed;
  /** Number of the batch, counted from the beginning of epoch 0. In a graph, this is the batch of the first replay;
   *  each replay draws the batch after the one before it, epoch after epoch. The operation's value `"offset"`. */
  uint64_t offset;
} synfire_shuffle_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_SHUFFLE_DESC_INIT \
  { (uint32_t)sizeof(synfire_shuffle_desc), 0, 0, 0, 0, 0u, NULL, NULL, 0u, 0u }

/** Numbers `[T, B, N]` to copy, with 0 in the place of those that are not finite: NaN, infinity and minus infinity. The
 * bits of all others are copied unchanged. A NaN that reaches a neuron stays in its state, and the neuron does not fire
 * again until that is reset; with this operation before it, a broken frame of a sensor is one with zeros.
 *
 * `count` receives how many there were: each call and each replay writes it anew, or adds to it with `accumulate`. */
typedef struct synfire_replace_nonfinite_desc {
  /** `sizeof(synfire_replace_nonfinite_desc)`. */
  uint32_t struct_size;
  /** 1: the number is added to `count`. Default 0: it is written. */
  int32_t accumulate SYNFIRE_FLAG;
  /** Steps T. Default: 1. */
  int64_t n_steps;
  /** Elements N of one batch row of a step, at least 1. */
  int64_t n_elements SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read: f32, f64, f16 or bf16. A `row_pitch` is the distance from one step to the next. */
  synfire_buffer source SYNFIRE_READ("[T, B, N]");
  /** Written, with `accumulate` also read: ::SYNFIRE_DTYPE_U64. Must not overlap the others. */
  synfire_buffer count SYNFIRE_UPDATED("[1]");
  /** Written, of the source's type. It may be `source` itself, and must not overlap it otherwise. */
  synfire_buffer destination SYNFIRE_WRITTEN("[T, B, N]");
} synfire_replace_nonfinite_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_REPLACE_NONFINITE_DESC_INIT \
  { (uint32_t)sizeof(synfire_replace_nonfinite_desc), 0, 0, 0, 0, NULL, NULL, NULL }

/**
 * Gathers rows of a data set into a batch now: the same operation that synfire_graph_record_gather_rows() records.
 *
 * @param context The context of the buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_gather_rows(synfire_context context,
                                                            const synfire_gather_rows_desc *desc,
                                                            synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Draws the rows of a batch now: the same operation that synfire_graph_record_shuffle() records. Calls do not advance
 * the offset: for the next batch, increase `offset` by 1.
 *
 * @param context The context of the buffers.
 * @param desc    What to write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream; each run of the captured graph draws the batch
 * `offset` of this call. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_shuffle(synfire_context context, const synfire_shuffle_desc *desc,
                                                        synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Replaces what is not finite now: the same operation that synfire_graph_record_replace_nonfinite() records.
 *
 * @param context The context of the buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one or two kernels on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_replace_nonfinite(synfire_context context,
                                                                  const synfire_replace_nonfinite_desc *desc,
                                                                  synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup loss
 * @{ */

/** How entries are reduced to one: synfire_reduce_desc::reduction. */
enum {
  /** Their sum. */
  SYNFIRE_REDUCE_SUM = 0,
  /** Their sum, divided by how many count. */
  SYNFIRE_REDUCE_MEAN = 1,
  /** The largest. */
  SYNFIRE_REDUCE_MAX = 2,
  /** The last one that counts. */
  SYNFIRE_REDUCE_LAST = 3
};

/** The axis of a reduction: synfire_reduce_desc::axis. */
enum {
  /** The steps: the result is `[B, N]`. */
  SYNFIRE_AXIS_STEPS = 0,
  /** The batch: the result is `[T, N]`. */
  SYNFIRE_AXIS_BATCH = 1
};

/** A reduction of `[T, B, N]` over the steps or over the batch, such as a readout: the sum of the spikes of each neuron,
 * or its mean, largest or last potential.
 *
 * Step t of batch row b counts if t < `lengths[b]` and b < `n_active[0]`, whatever the axis. Where nothing counts, the
 * result is +0. Host and GPU give the same bits.
 *
 * - Sums of u32 and of spikes are exact 64-bit integers, rounded to the type of `destination` once. A mean is that sum
 *   divided by the number of entries that count, both as f64, rounded once more if the result is f32.
 * - Sums of f32, f64, f16 and bf16 are f64 sums in a fixed order, rounded at the end; a mean divides the f64 sum. Entry
 *   i (the step or the batch row) is added to running sum i mod 128 of chunk i / 1024, in ascending order, from +0. The
 *   128 running sums of a chunk are joined by a binary tree: sum j and sum j + 64, then j and j + 32, and so on. If there
 *   are several chunks, their sums are summed in 128 running sums and a tree in the same way. Entries that do not count
 *   are left out, and move no other.
 * - The maximum is that of IEEE 754-2019: a NaN is above every number, and -0 below +0.
 *
 * All results are f32, also those of 16-bit sources, or f64: as the states of a layer, they are small and have a range
 * that 16-bit types lack. */
typedef struct synfire_reduce_desc {
  /** `sizeof(synfire_reduce_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_REDUCE_*`. Default: the sum. */
  int32_t reduction SYNFIRE_ONE_OF(SYNFIRE_REDUCE);
  /** One of `SYNFIRE_AXIS_*`. Default: the steps. */
  int32_t axis SYNFIRE_ONE_OF(SYNFIRE_AXIS);
  /** Must be zero. */
  uint32_t reserved;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N of one batch row, at least 1. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read: numbers `[T, B, N]` in f32, f64, f16, bf16 or u32 (counts), or spikes `[T, B, N]` in ::SYNFIRE_DTYPE_U8,
   *  where every non-zero element counts as 1, ::SYNFIRE_DTYPE_BITS or ::SYNFIRE_DTYPE_TIME_BITS. Dense spikes of 0 and
   *  1 in f32, f64, f16 or bf16 are numbers, and give the same results. */
  synfire_buffer source SYNFIRE_READ("spikes [T, B, N]");
  /** Written: `[B, N]` over the steps, `[T, N]` over the batch. f64 for an f64 source, f32 for f32, f16 and bf16, either
   *  one for u32 and packed or u8 spikes. Must not overlap another buffer of the operation. */
  synfire_buffer destination SYNFIRE_WRITTEN("[B, N] or [T, N]");
  /** How many steps of each batch row count, from the first on: u32, read in every run. Above T counts as T. Null
   *  (default): all T. */
  synfire_buffer lengths SYNFIRE_READ("[B]") SYNFIRE_NULLABLE;
  /** How many batch rows count, from the first on: u32, read in every run. Above B counts as B. Null (default): all
   *  B. */
  synfire_buffer n_active SYNFIRE_READ("[1]") SYNFIRE_NULLABLE;
} synfire_reduce_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_REDUCE_DESC_INIT \
  { (uint32_t)sizeof(synfire_reduce_desc), 0, 0, 0u, 0, 0, 0, NULL, NULL, NULL, NULL }

/** The gradient of a reduction with respect to its source. Fields that ::synfire_reduce_desc has too are those of the
 * reduction.
 *
 * Every entry that counts receives the gradient of its result (sum), that gradient divided by the number of entries that
 * count (mean), or the gradient if it is the largest one (of several, that with the lowest index) or the last one. All
 * others receive +0. The arithmetic is f32, or f64 with f64 buffers. */
typedef struct synfire_reduce_backward_desc {
  /** `sizeof(synfire_reduce_backward_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_REDUCE_*`. Default: the sum. */
  int32_t reduction SYNFIRE_ONE_OF(SYNFIRE_REDUCE);
  /** One of `SYNFIRE_AXIS_*`. Default: the steps. */
  int32_t axis SYNFIRE_ONE_OF(SYNFIRE_AXIS);
  /** 1: gradients are added to what `grad_source` holds; elements that receive nothing are not touched. Default 0: all
   *  elements are written. */
  int32_t accumulate SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N of one batch row, at least 1. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read: dL/d(destination), `[B, N]` over the steps, `[T, N]` over the batch; f32 or f64. */
  synfire_buffer grad_destination SYNFIRE_READ("[B, N] or [T, N]");
  /** Read: synfire_reduce_desc::source, for a maximum, which needs it. Other reductions do not use it. */
  synfire_buffer source SYNFIRE_READ("spikes [T, B, N]") SYNFIRE_NULLABLE;
  /** As in the reduction. */
  synfire_buffer lengths SYNFIRE_READ("[B]") SYNFIRE_NULLABLE;
  /** As in the reduction. */
  synfire_buffer n_active SYNFIRE_READ("[1]") SYNFIRE_NULLABLE;
  /** Written, or added to: dL/d(source) `[T, B, N]`, such as synfire_backward_desc::grad_spike_seq or
   *  synfire_backward_desc::grad_v_seq. f64 if `grad_destination` is f64, otherwise f32, f16 or bf16. Must not overlap
   *  another buffer of the operation. */
  synfire_buffer grad_source SYNFIRE_UPDATED("[T, B, N]");
} synfire_reduce_backward_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_REDUCE_BACKWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_reduce_backward_desc), 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL }

/** Results of a window: synfire_pool_desc::kind. */
enum {
  /** The largest. Of spikes: whether one of them is 1. */
  SYNFIRE_POOL_MAX = 0,
  /** The sum. */
  SYNFIRE_POOL_SUM = 1,
  /** The sum, divided by the number of places of the window. */
  SYNFIRE_POOL_MEAN = 2
};

/** A pool over maps `[H, W, C]` with the channels fastest, N = H * W * C: the maximum, the sum or the mean of the places of
 * a window, for each channel. Outputs are maps `[Ho, Wo, C]`, M = Ho * Wo * C, with Ho = floor((H + 2 * padding_y -
 * kernel_height) / stride_y) + 1, and Wo likewise: windows, strides and paddings mean what they mean in PyTorch without
 * `ceil_mode`. Windows are scanned row by row. A maximum leaves out places outside the map; in sums they count as 0.
 * Means divide by kernel_height * kernel_width everywhere.
 *
 * A maximum of values is the first one, replaced by those that are above it, or NaN. Sums of spikes and counts are
 * integers: u8 with a bound of count_bound * kernel_height * kernel_width, at most 255, or f32, below 2^24. Means of
 * them are f32(sum) / f32(kernel_height * kernel_width). Sums of values are added from +0 in their type. @since ABI 0.3 */
typedef struct synfire_pool_desc {
  /** `sizeof(synfire_pool_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_POOL_*`. Default: the maximum. */
  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_POOL);
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Channels C, at least 1. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Height H of the map. Default: 1. */
  int64_t height;
  /** Width W of the map. Default: 1. */
  int64_t width;
  /** Height of the window. Default: the whole map. */
  int64_t kernel_height;
  /** Width of the window. Default: the whole map. */
  int64_t kernel_width;
  /** Rows from one window to the next. Default: the window's. */
  int64_t stride_y;
  /** Columns from one window to the next. Default: the window's. */
  int64_t stride_x;
  /** Rows outside the map, on both sides, at most half of the window's. Default: 0. */
  int64_t padding_y;
  /** Columns likewise. Default: 0. */
  int64_t padding_x;
  /** The largest count of a source in u8, 1 to 255; larger ones count as it. Default: 1, the source is spikes. */
  int32_t count_bound;
  /** Must be zero. */
  uint32_t reserved;
  /** Read: values in f32 or f64, counts or spikes in ::SYNFIRE_DTYPE_U8, or spikes in ::SYNFIRE_DTYPE_BITS. Dense spikes of
   *  0 and 1 in f32 or f64 are values, and their maxima are the same. */
  synfire_buffer source SYNFIRE_READ("[T, B, N]");
  /** Written, of the source's type; sums of spikes and counts in u8 or f32, their means in f32. Must not overlap `source`. */
  synfire_buffer destination SYNFIRE_WRITTEN("[T, B, M]");
} synfire_pool_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_POOL_DESC_INIT \
  { (uint32_t)sizeof(synfire_pool_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0u, NULL, NULL }

/** The gradient of a pool with respect to its source. Fields that ::synfire_pool_desc has too are those of the pool.
 *
 * The gradient of a maximum goes to the place that has it: to the last one that replaced the maximum, so of spikes to the
 * first one that is 1, or, without one, to the first place of the window inside the map. A sum gives its gradient to all
 * places, and a mean does, divided by kernel_height * kernel_width. A place adds what its windows give, ascending, from +0.
 * The arithmetic is that of the gradients' type. @since ABI 0.3 */
typedef struct synfire_pool_backward_desc {
  /** `sizeof(synfire_pool_backward_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_POOL_*`. Default: the maximum. */
  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_POOL);
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Channels C, at least 1. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Height H of the map. Default: 1. */
  int64_t height;
  /** Width W of the map. Default: 1. */
  int64_t width;
  /** Height of the window. Default: the whole map. */
  int64_t kernel_height;
  /** Width of the window. Default: the whole map. */
  int64_t kernel_width;
  /** Rows from one window to the next. Default: the window's. */
  int64_t stride_y;
  /** Columns from one window to the next. Default: the window's. */
  int64_t stride_x;
  /** Rows outside the map, on both sides, at most half of the window's. Default: 0. */
  int64_t padding_y;
  /** Columns likewise. Default: 0. */
  int64_t padding_x;
  /** The largest count of a source in u8, 1 to 255; larger ones count as it. Default: 1, the source is spikes. */
  int32_t count_bound;
  /** 1: gradients are added to what `grad_source` holds. Default 0: they replace it. */
  int32_t accumulate SYNFIRE_FLAG;
  /** Read: dL/d(destination), f32 or f64. */
  synfire_buffer grad_destination SYNFIRE_READ("[T, B, M]");
  /** Read: synfire_pool_desc::source, for a maximum, which needs it. Others do not use it. */
  synfire_buffer source SYNFIRE_READ("[T, B, N]") SYNFIRE_NULLABLE;
  /** Written, or added to: dL/d(source), of the type of `grad_destination`. Must not overlap another buffer of the
   *  operation. */
  synfire_buffer grad_source SYNFIRE_UPDATED("[T, B, N]");
} synfire_pool_backward_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_POOL_BACKWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_pool_backward_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL }

/** A nearest upsampling of maps `[H, W, C]` with the channels fastest, N = H * W * C, to maps
 * `[H * scale_y, W * scale_x, C]` of M elements: element (y, x) of a channel is that of (y / scale_y, x / scale_x).
 * @since ABI 0.3 */
typedef struct synfire_upsample_desc {
  /** `sizeof(synfire_upsample_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Channels C, at least 1. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Height H of the map. Default: 1. */
  int64_t height;
  /** Width W of the map. Default: 1. */
  int64_t width;
  /** How many rows of the result a row of the map becomes. Default: 2, also with
   *  H = 1: maps of sequences need 1. */
  int64_t scale_y;
  /** Columns likewise. Default: 2. */
  int64_t scale_x;
  /** Read: values in f32 or f64, counts or spikes in ::SYNFIRE_DTYPE_U8, or spikes in ::SYNFIRE_DTYPE_BITS. */
  synfire_buffer source SYNFIRE_READ("[T, B, N]");
  /** Written, of the source's type. Must not overlap `source`. */
  synfire_buffer destination SYNFIRE_WRITTEN("[T, B, M]");
} synfire_upsample_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_UPSAMPLE_DESC_INIT \
  { (uint32_t)sizeof(synfire_upsample_desc), 0u, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }

/** The gradient of an upsampling with respect to its source. Fields that ::synfire_upsample_desc has too are those of the
 * upsampling. An element adds the gradients of its scale_y * scale_x results row by row, from +0, in the gradients' type.
 * @since ABI 0.3 */
typedef struct synfire_upsample_backward_desc {
  /** `sizeof(synfire_upsample_backward_desc)`. */
  uint32_t struct_size;
  /** 1: gradients are added to what `grad_source` holds. Default 0: they replace it. */
  int32_t accumulate SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Channels C, at least 1. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Height H of the map. Default: 1. */
  int64_t height;
  /** Width W of the map. Default: 1. */
  int64_t width;
  /** How many rows of the result a row of the map becomes. Default: 2. */
  int64_t scale_y;
  /** Columns likewise. Default: 2. */
  int64_t scale_x;
  /** Read: dL/d(destination), f32 or f64. */
  synfire_buffer grad_destination SYNFIRE_READ("[T, B, M]");
  /** Written, or added to: dL/d(source), of the type of `grad_destination`, which it must not overlap. */
  synfire_buffer grad_source SYNFIRE_UPDATED("[T, B, N]");
} synfire_upsample_backward_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_UPSAMPLE_BACKWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_upsample_backward_desc), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }

/** A border of zeros around maps `[H, W, C]` with the channels fastest, N = H * W * C: the result is a map
 * `[top + H + bottom, left + W + right, C]` of M elements. A negative number leaves out as many rows or columns on its side;
 * at least one row and one column of the map must stay. The order of the four numbers is that of PyTorch's `ZeroPad2d`.
 * @since ABI 0.3 */
typedef struct synfire_pad_desc {
  /** `sizeof(synfire_pad_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Channels C, at least 1. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Height H of the map. Default: 1. */
  int64_t height;
  /** Width W of the map. Default: 1. */
  int64_t width;
  /** Columns of zeros before the first column. Default: 0. */
  int64_t left;
  /** Columns of zeros after the last column. Default: 0. */
  int64_t right;
  /** Rows of zeros above the first row. Default: 0. */
  int64_t top;
  /** Rows of zeros below the last row. Default: 0. */
  int64_t bottom;
  /** Read: values in f32 or f64, counts or spikes in ::SYNFIRE_DTYPE_U8, or spikes in ::SYNFIRE_DTYPE_BITS. */
  synfire_buffer source SYNFIRE_READ("[T, B, N]");
  /** Written, of the source's type. Must not overlap `source`. */
  synfire_buffer destination SYNFIRE_WRITTEN("[T, B, M]");
} synfire_pad_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_PAD_DESC_INIT \
  { (uint32_t)sizeof(synfire_pad_desc), 0u, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }

/** The gradient of a border with respect to its source. Fields that ::synfire_pad_desc has too are those of the border.
 * Elements that were left out have the gradient +0. @since ABI 0.3 */
typedef struct synfire_pad_backward_desc {
  /** `sizeof(synfire_pad_backward_desc)`. */
  uint32_t struct_size;
  /** 1: gradients are added to what `grad_source` holds. Default 0: they replace it. */
  int32_t accumulate SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Channels C, at least 1. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Height H of the map. Default: 1. */
  int64_t height;
  /** Width W of the map. Default: 1. */
  int64_t width;
  /** Columns of zeros before the first column. Default: 0. */
  int64_t left;
  /** Columns of zeros after the last column. Default: 0. */
  int64_t right;
  /** Rows of zeros above the first row. Default: 0. */
  int64_t top;
  /** Rows of zeros below the last row. Default: 0. */
  int64_t bottom;
  /** Read: dL/d(destination), f32 or f64. */
  synfire_buffer grad_destination SYNFIRE_READ("[T, B, M]");
  /** Written, or added to: dL/d(source), of the type of `grad_destination`, which it must not overlap. */
  synfire_buffer grad_source SYNFIRE_UPDATED("[T, B, N]");
} synfire_pad_backward_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_PAD_BACKWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_pad_backward_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }

/** Whose statistics a normalisation takes: synfire_normalize_desc::mode. */
enum {
  /** The elements that count give the statistics, and the running ones move towards them. */
  SYNFIRE_NORMALIZE_TRAINING = 0,
  /** The running ones, which stay: for an evaluation, or to train with frozen statistics. */
  SYNFIRE_NORMALIZE_EVALUATION = 1
};

/** A batch normalisation of y `[T, B, N]`, N = H * W * C: element i belongs to channel c = i mod C of a map `[H, W, C]`.
 * With H = W = 1, the default, every element of a row is a channel, as after a dense synapse.
 *
 * Step t of batch row b counts if t < `lengths[b]` and b < `n_active[0]`; n is the number of elements of a channel that
 * count, below 2^32. With their mean and variance, or the running ones,
 *
 *     r = 1 / sqrt(var + epsilon)                                     in f64
 *     a = f32(gamma * r)        b = f32(fma(-mean, a, beta))          in f64, rounded once
 *     X = fma(y, a, b)                                                in f32; +0 for elements that do not count
 *
 * In training and f32, the statistics are exact: Y = round(y / 2^p), ties to even, where 2^p is the smallest power, p at
 * least -149, for which no |Y| of the channel is above 2^30; M1 and M2 are the sums of Y and Y * Y, integers, and
 *
 *     mean = f64(M1) / f64(n) * 2^p        var = f64(n * M2 - M1 * M1) / (f64(n) * f64(n)) * 2^(2 p)
 *
 * so they depend on no order, and a constant channel has the variance 0. If n is 0, both are 0. In f64, both are sums of
 * f64 in the order of steps, batch rows and places, the variance is that of y - mean, and a, b and X are f64.
 *
 * In training, the running statistics become m = f32(fma(momentum, mean - m, m)) and v = f32(fma(momentum, w - v, v)), with
 * w = var * n / (n - 1), or var if n is 1. Both stay where one of the new ones would not be finite, and if n is 0. A y
 * that is not finite makes its channel NaN in training, and its own X in an evaluation.
 *
 * A threshold-dependent normalisation (tdBN) is one whose gamma begins as alpha * V_th. @since ABI 0.3 */
typedef struct synfire_normalize_desc {
  /** `sizeof(synfire_normalize_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_NORMALIZE_*`. Default: training. */
  int32_t mode SYNFIRE_ONE_OF(SYNFIRE_NORMALIZE);
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Channels C, at least 1. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Height H of the map. Default: 1. */
  int64_t height;
  /** Width W of the map. Default: 1. */
  int64_t width;
  /** The number above 0 that is added to the variance. 0 (default): 1e-5. */
  double epsilon;
  /** How far the running statistics move, above 0 and at most 1. 0 (default): 0.1. Training only. */
  double momentum;
  /** Read: y, f32 or f64. All others are of this type, except for `saved`, `lengths` and `n_active`. */
  synfire_buffer source SYNFIRE_READ("[T, B, N]");
  /** Written: X. Must not overlap another buffer of the operation; nor must any buffer that is written. */
  synfire_buffer destination SYNFIRE_WRITTEN("[T, B, N]");
  /** Read. Null (default): 1. */
  synfire_buffer gamma SYNFIRE_READ("[C]") SYNFIRE_NULLABLE;
  /** Read. Null (default): 0. */
  synfire_buffer beta SYNFIRE_READ("[C]") SYNFIRE_NULLABLE;
  /** The running mean m, 0 at the start of a training. Read, and in training written too. An evaluation needs it; null
   *  (default) in training: no running statistics. */
  synfire_buffer running_mean SYNFIRE_UPDATED("[C]") SYNFIRE_NULLABLE;
  /** The running variance v, 1 at the start of a training. Given exactly if `running_mean` is. */
  synfire_buffer running_variance SYNFIRE_UPDATED("[C]") SYNFIRE_WITH(running_mean);
  /** Written for the backward: ::SYNFIRE_DTYPE_U64, for each channel the bits of mean and r as f64, M1, and n * 2^32 + p
   *  (as 32 bits in two's complement). M1 and p are 0 in an evaluation and in f64. Null (default): there is no backward. */
  synfire_buffer saved SYNFIRE_WRITTEN("[4, C]") SYNFIRE_NULLABLE;
  /** Written: a. Null (default): it is not given. */
  synfire_buffer factor SYNFIRE_WRITTEN("[C]") SYNFIRE_NULLABLE;
  /** Written: b. Null (default): it is not given. */
  synfire_buffer addend SYNFIRE_WRITTEN("[C]") SYNFIRE_NULLABLE;
  /** How many steps of each batch row count, from the first on: u32, read in every run. Above T counts as T. Null
   *  (default): all T. */
  synfire_buffer lengths SYNFIRE_READ("[B]") SYNFIRE_NULLABLE;
  /** How many batch rows count, from the first on: u32, read in every run. Above B counts as B. Null (default): all
   *  B. */
  synfire_buffer n_active SYNFIRE_READ("[1]") SYNFIRE_NULLABLE;
} synfire_normalize_desc;

/** All zeros except for `struct_size`. */
/* clang-format off */
#define SYNFIRE_NORMALIZE_DESC_INIT \
  { (uint32_t)sizeof(synfire_normalize_desc), 0, 0, 0, 0, 0, 0, 0.0, 0.0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL }
/* clang-format on */

/** The gradients of a normalisation. Fields that ::synfire_normalize_desc has too are those of the normalisation; gamma and
 * `source` must hold what they held then.
 *
 * In training and f32, g is dz = dL/dX on a grid of 32 bits, 2^e, for the channel's largest, and G0 and G1 are the sums of g
 * and g * Y over the elements that count, integers. With A = n * G1 - M1 * G0, in f64,
 *
 *     u = A / n * r * 2^(e + p)        dL/dgamma = f32(u)        dL/dbeta = f32(G0 * 2^e)
 *     k1 = f32(-a * r * u / n)         k0 = f32(fma(-k1, mean, -a * (G0 * 2^e) / n))
 *     dL/dy = fma(a, dz, fma(k1, y, k0))        in f32
 *
 * In an evaluation dL/dy = a * dz, and u = fma(-mean, G0, G1 * 2^p) * r * 2^e with p for the channel's largest |y|. In f64,
 * the sums of dz and dz * (y - mean) are sums of f64 in the order of steps, batch rows and places, and u = r times the
 * second one.
 *
 * A y or dz that is not finite makes all gradients of its channel NaN in training. In an evaluation it makes NaN of the
 * channel's dL/dgamma, a dz of its dL/dbeta and of its own dL/dy. Elements that do not count have the gradient +0; if n is
 * 0, so have gamma and beta. @since ABI 0.3 */
typedef struct synfire_normalize_backward_desc {
  /** `sizeof(synfire_normalize_backward_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_NORMALIZE_*`. Default: training. */
  int32_t mode SYNFIRE_ONE_OF(SYNFIRE_NORMALIZE);
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Channels C, at least 1. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Height H of the map. Default: 1. */
  int64_t height;
  /** Width W of the map. Default: 1. */
  int64_t width;
  /** 1: dL/dgamma and dL/dbeta are added to what their buffers hold. Default 0: they replace it. */
  int32_t add_gradients SYNFIRE_FLAG;
  /** 1: dL/dy is added to what `grad_source` holds; elements that do not count are not touched. Default 0: all elements are
   *  written. */
  int32_t accumulate SYNFIRE_FLAG;
  /** Read: dL/dX, f32 or f64, of the type of `source`. */
  synfire_buffer grad_destination SYNFIRE_READ("[T, B, N]");
  /** Read: synfire_normalize_desc::source. In an evaluation it may be null without `grad_gamma`. */
  synfire_buffer source SYNFIRE_READ("[T, B, N]") SYNFIRE_NULLABLE;
  /** Read: synfire_normalize_desc::saved, as the forward wrote it. */
  synfire_buffer saved SYNFIRE_READ("[4, C]");
  /** Read: synfire_normalize_desc::gamma. */
  synfire_buffer gamma SYNFIRE_READ("[C]") SYNFIRE_NULLABLE;
  /** Written, or added to: dL/dy. Null (default): it is not computed. Must not overlap another buffer of the operation; nor
   *  must any buffer that is written. At least one of the three is needed. */
  synfire_buffer grad_source SYNFIRE_UPDATED("[T, B, N]") SYNFIRE_NULLABLE;
  /** Written, or added to: dL/dgamma, also without `gamma`. Null (default): it is not computed. */
  synfire_buffer grad_gamma SYNFIRE_UPDATED("[C]") SYNFIRE_NULLABLE;
  /** Written, or added to: dL/dbeta. Null (default): it is not computed. */
  synfire_buffer grad_beta SYNFIRE_UPDATED("[C]") SYNFIRE_NULLABLE;
  /** As in the normalisation. */
  synfire_buffer lengths SYNFIRE_READ("[B]") SYNFIRE_NULLABLE;
  /** As in the normalisation. */
  synfire_buffer n_active SYNFIRE_READ("[1]") SYNFIRE_NULLABLE;
} synfire_normalize_backward_desc;

/** All zeros except for `struct_size`. */
/* clang-format off */
#define SYNFIRE_NORMALIZE_BACKWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_normalize_backward_desc), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL }
/* clang-format on */

/** A loss that draws the firing rates of a layer towards a target, with its gradient: a regulariser beside the loss of a
 * task, against neurons that are silent or always active.
 *
 * Step t of batch row b counts if t < `lengths[b]` and b < `n_active[0]`. With M such pairs (t, b), the rate of neuron n
 * is its number of spikes in them, divided by M:
 * \f{eqnarray*}{
 *   L &=& \textrm{strength} \cdot \frac{1}{N} \sum_n (\textrm{rate}_n - \textrm{target})^2, \qquad
 *   \frac{\partial L}{\partial S[t,b,n]} = \frac{2 \cdot \textrm{strength} \cdot
 *   (\textrm{rate}_n - \textrm{target})}{N M} \quad \textrm{(each neuron)} \\
 *   L &=& \textrm{strength} \cdot (\overline{\textrm{rate}} - \textrm{target})^2, \qquad
 *   \frac{\partial L}{\partial S[t,b,n]} = \frac{2 \cdot \textrm{strength} \cdot
 *   (\overline{\textrm{rate}} - \textrm{target})}{N M} \quad \textrm{(whole layer)}
 * \f}
 * The first is, up to its factor, the firing-rate regularisation of Bellec et al., "A solution to the learning dilemma
 * for recurrent networks of spiking neurons", Nature Communications 11, 3625 (2020).
 *
 * All arithmetic is f64, from exact counts of spikes; squares are summed over the neurons in the order that
 * ::synfire_reduce_desc states, each added with a fused multiply-add. Host and GPU give the same bits. Where nothing
 * counts, the loss is +0, and so are all gradients. */
typedef struct synfire_rate_loss_desc {
  /** `sizeof(synfire_rate_loss_desc)`. */
  uint32_t struct_size;
  /** 0 (default): the rate of each neuron is drawn to the target. 1: the mean rate of the layer is. */
  int32_t whole_layer SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N of one batch row, at least 1. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Spikes per step, finite. The operation's value `"target"`. */
  double target SYNFIRE_REQUIRED;
  /** Factor of the loss, finite. The operation's value `"strength"`. */
  double strength SYNFIRE_REQUIRED;
  /** Read, in any format that synfire_convert_spikes_desc::source may have. */
  synfire_buffer spikes SYNFIRE_READ("spikes [T, B, N]");
  /** How many steps of each batch row count, from the first on: u32, read in every run. Above T counts as T. Null
   *  (default): all T. */
  synfire_buffer lengths SYNFIRE_READ("[B]") SYNFIRE_NULLABLE;
  /** How many batch rows count, from the first on: u32, read in every run. Above B counts as B. Null (default): all
   *  B. */
  synfire_buffer n_active SYNFIRE_READ("[1]") SYNFIRE_NULLABLE;
  /** Written, or added to: L, in f32 or f64. Optional; at least one output is needed. */
  synfire_buffer loss SYNFIRE_UPDATED("[1]") SYNFIRE_NULLABLE;
  /** Written, or added to: dL/dS, in f32, f64, f16 or bf16, such as synfire_backward_desc::grad_spike_seq. Optional; at
   *  least one output is needed. */
  synfire_buffer grad_spike_seq SYNFIRE_UPDATED("[T, B, N]") SYNFIRE_NULLABLE;
  /** 1: the loss is added to what `loss` holds, in f64, and rounded once. Default 0: it replaces that. */
  int32_t accumulate_loss SYNFIRE_FLAG;
  /** 1: the gradient is added to what `grad_spike_seq` holds, in f32 (f64 in f64); elements that do not count are not
   *  touched. Default 0: it replaces that, and is +0 where nothing counts. */
  int32_t accumulate SYNFIRE_FLAG;
} synfire_rate_loss_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_RATE_LOSS_DESC_INIT \
  { (uint32_t)sizeof(synfire_rate_loss_desc), 0, 0, 0, 0, 0.0, 0.0, NULL, NULL, NULL, NULL, NULL, 0, 0 }

/** Losses: synfire_loss_desc::kind. */
enum {
  /** Cross-entropy of the softmax of the predictions. */
  SYNFIRE_LOSS_CROSS_ENTROPY = 0,
  /** Mean of the squares of the differences. */
  SYNFIRE_LOSS_MEAN_SQUARED_ERROR = 1
};

/** A loss of predictions x `[T, B, C]` against labels or targets, with its gradient and the number of correct
 * predictions. Each step t of each batch row b is one sample. The definitions are those of PyTorch's `CrossEntropyLoss`
 * and `MSELoss`; what differs from them says so.
 *
 * A sample counts if t < `lengths[b]`, b < `n_active[0]`, and its label is not the one to ignore. All others have a
 * loss of +0, a gradient of +0, and no part in any sum. A label of C or more that is not the one to ignore cannot be
 * refused, because it is on the device: the sample then counts nowhere and its gradient is +0, but its loss is NaN, and
 * so is the loss of the whole.
 *
 * With the target y of class c (for a label: 1 for the class of the label, 0 for others), the smoothing e
 * (`label_smoothing`), the class weight w (1 if not given) and the weight s of the batch row (1 if not given), the loss
 * of a sample is
 *
 * - cross-entropy: s * sum of w[c] * y'[c] * -log softmax(x)[c] over all c, where y' = (1 - e) * y + e / C.
 * - squared error: s * sum of w[c] * (x[c] - y[c])^2 over all c.
 *
 * The loss is the sum of these over all samples that count or, by default, their mean: the sum divided by
 *
 * - for a cross-entropy with labels, the sum of s * w[label];
 * - for a cross-entropy with targets, the sum of s (their number, without sample weights);
 * - for squared errors, the sum of s times the sum of w (the number of elements, without weights).
 *
 * If that divisor is 0, for example because no sample counts, the mean and its gradient are +0 (PyTorch: NaN).
 *
 * The gradient is that of the sum or mean, times `gradient_scale`. For a cross-entropy it is
 * f * (m * softmax(x)[c] - w[c] * y'[c]), where m is the sum of w * y' over the classes of the sample, and
 * f = gradient_scale * s / divisor.
 *
 * Non-finite numbers: a prediction that is NaN or +infinity, or predictions that are all -infinity, make the loss and
 * the gradient of their sample NaN. A class with a prediction of -infinity has probability 0; its loss is +infinity,
 * unless its y' is 0: then it contributes nothing (PyTorch, with targets: NaN). A sample whose sample weight is 0
 * contributes +0, whatever its predictions are. Targets and weights are not checked.
 *
 * The arithmetic is f32, or f64 for f64 predictions: the largest prediction is subtracted, then
 * y'[c] = fma(y[c], 1 - e, e / C), the product with w[c], exponentials and logarithm by the library's own functions,
 * softmax as the exponential times the reciprocal of their sum, and fma(m, softmax, -w * y'); f is computed in f64 and
 * rounded once. Sums over classes have one order: value i is added to running sum i mod 128 of chunk i / 1024, from +0;
 * the sums of a chunk are joined by a binary tree (sum j and sum j + 64, then j and j + 32, and so on), those of several
 * chunks likewise. In f32, the losses of the samples and their shares s (or s * w) in the divisor, one f32 each, are added
 * as integers on a grid of 32 bits for the largest of them; in f64, in the order of classes. The bits are the same on every
 * backend, for any number of threads. */
typedef struct synfire_loss_desc {
  /** `sizeof(synfire_loss_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_LOSS_*`. Default: cross-entropy. */
  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_LOSS);
  /** Steps T. Default: 1. T * B must be below 2^32. */
  int64_t n_steps;
  /** Classes C, or outputs, at least 1 and below 2^31. */
  int64_t n_classes SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Predictions (for a cross-entropy: logits), read: f32, f64, f16, bf16 or u32 (counts of spikes, rounded to f32). */
  synfire_buffer source SYNFIRE_READ("[T, B, C]");
  /** The class of each row, or of each step with `targets_per_step`, read: u32. Given exactly if `targets` are
   *  not. */
  synfire_buffer labels SYNFIRE_READ("[B] or [T, B]") SYNFIRE_UNLESS(targets);
  /** The target of each element, or with `targets_per_step` of each step, read: f32, or f64 with an f64 source. For a
   *  cross-entropy they are the probabilities of the classes. */
  synfire_buffer targets SYNFIRE_READ("[B, C] or [T, B, C]") SYNFIRE_NULLABLE;
  /** How many steps of each batch row count, from the first on, read: u32. Above T counts as T. Null (default): all
   *  T. */
  synfire_buffer lengths SYNFIRE_READ("[B]") SYNFIRE_NULLABLE;
  /** How many batch rows count, from the first on, read: u32. Above B counts as B. Null (default): all B. */
  synfire_buffer n_active SYNFIRE_READ("[1]") SYNFIRE_NULLABLE;
  /** The weight of each batch row, read: f32. Null (default): all 1. */
  synfire_buffer sample_weights SYNFIRE_READ("[B]") SYNFIRE_NULLABLE;
  /** The weight of each class, read: f32. Null (default): all 1. */
  synfire_buffer class_weights SYNFIRE_READ("[C]") SYNFIRE_NULLABLE;
  /** The loss, written, or added to with `accumulate`: f32 or f64. It is computed in f64 and rounded once. Optional, as
   *  are all outputs; at least one is needed. */
  synfire_buffer loss SYNFIRE_UPDATED("[1]") SYNFIRE_NULLABLE;
  /** The loss of each sample, as above, not divided by anything, written: f32, or f64 with an f64 source. */
  synfire_buffer losses SYNFIRE_WRITTEN("[T, B]") SYNFIRE_NULLABLE;
  /** How many samples that count have a prediction equal to their label, written, or added to with `accumulate`: u32,
   *  which stays at the largest number once it is reached. Needs `labels`. */
  synfire_buffer n_correct SYNFIRE_UPDATED("[1]") SYNFIRE_NULLABLE;
  /** How many samples count, likewise. */
  synfire_buffer n_counted SYNFIRE_UPDATED("[1]") SYNFIRE_NULLABLE;
  /** The class with the largest prediction, written: u32. Of several, the lowest one; a NaN is above every number, as
   *  in PyTorch. 0 for steps beyond `lengths` and rows beyond `n_active`. */
  synfire_buffer predictions SYNFIRE_WRITTEN("[T, B]") SYNFIRE_NULLABLE;
  /** dL/dx, written, or added to with `add_gradient`: f32, or f64 with an f64 source. It may be
   *  synfire_backward_desc::grad_v_seq or synfire_backward_desc::grad_spike_seq of the layer that made `source`. */
  synfire_buffer gradient SYNFIRE_UPDATED("[T, B, C]") SYNFIRE_NULLABLE;
  /** From 0 (default) to 1; cross-entropy only. The operation's value `"label_smoothing"`. */
  double label_smoothing;
  /** A finite factor of the gradient, not of the loss, such as for 16-bit layers. 0 (default): 1. The operation's value
   *  `"gradient_scale"`, for which 0 is 0. */
  double gradient_scale;
  /** 1: `labels` are `[T, B]`, or `targets` are `[T, B, C]`. Default 0: they are `[B]` or `[B, C]` and the same in
   *  every step. */
  int32_t targets_per_step SYNFIRE_FLAG;
  /** 1: samples whose label is `ignored_label` do not count. Default 0: every label is a class. */
  int32_t ignores_label SYNFIRE_FLAG;
  /** Any number, a class or not; used with `ignores_label`. */
  uint32_t ignored_label;
  /** 1: the loss and its gradient are those of the sum over samples. Default 0: of the mean. */
  int32_t sum SYNFIRE_FLAG;
  /** 1: the loss, `divisor`, `n_correct` and `n_counted` are added to what their buffers hold, so that an epoch can be
   *  summed on the device: with `sum`, the mean of the epoch is its loss divided by its `divisor`. Default 0: they are
   *  replaced. */
  int32_t accumulate SYNFIRE_FLAG;
  /** 1: the gradient is added to what its buffer holds; elements of samples that do not count are not touched. Default
   *  0: all elements are written. */
  int32_t add_gradient SYNFIRE_FLAG;
  /** The divisor of the mean, as above, also with `sum`; written, or added to with `accumulate`: f32 or f64, computed in
   *  f64 and rounded once. Since ABI 0.3. */
  synfire_buffer divisor SYNFIRE_UPDATED("[1]") SYNFIRE_NULLABLE;
} synfire_loss_desc;

/** All zeros except for `struct_size`. */
/* clang-format off */
#define SYNFIRE_LOSS_DESC_INIT \
  { (uint32_t)sizeof(synfire_loss_desc), 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, 0.0, 0.0, 0, 0, 0u, 0, 0, 0, NULL }
/* clang-format on */

/**
 * Computes a pool now: the same operation that synfire_graph_record_pool() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (sums of 2^24 or more in f32),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for
 * them. @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_pool(synfire_context context, const synfire_pool_desc *desc,
                                                     synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Computes the gradient of a pool now: the same operation that synfire_graph_record_pool_backward() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates on the host, memory for the time of the call if
 * gradients are added; a host context's threads, with the first work for
 * them. @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_pool_backward(synfire_context context,
                                                              const synfire_pool_backward_desc *desc,
                                                              synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Computes an upsampling now: the same operation that synfire_graph_record_upsample() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_upsample(synfire_context context, const synfire_upsample_desc *desc,
                                                         synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Computes the gradient of an upsampling now: the same operation that synfire_graph_record_upsample_backward() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_upsample_backward(synfire_context context,
                                                                  const synfire_upsample_backward_desc *desc,
                                                                  synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Computes maps with a border of zeros now: the same operation that synfire_graph_record_pad() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_pad(synfire_context context, const synfire_pad_desc *desc,
                                                    synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Computes the gradient of a border of zeros now: the same operation that synfire_graph_record_pad_backward() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_pad_backward(synfire_context context,
                                                             const synfire_pad_backward_desc *desc,
                                                             synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Computes a batch normalisation now: the same operation that synfire_graph_record_normalize() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks on CUDA for the memory, until done on the host. @allocates memory for the time of the call; a host context's
 * threads, with the first work for them.
 * @enqueues up to five kernels on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_normalize(synfire_context context, const synfire_normalize_desc *desc,
                                                          synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Computes the gradients of a batch normalisation now: the same operation that
 * synfire_graph_record_normalize_backward() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks on CUDA for the memory, until done on the host. @allocates memory for the time of the call; a host context's
 * threads, with the first work for them.
 * @enqueues up to five kernels on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_normalize_backward(synfire_context context,
                                                                   const synfire_normalize_backward_desc *desc,
                                                                   synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Reduces an array over its steps or its batch now: the same operation that synfire_graph_record_reduce() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks with more than 1,024 entries on CUDA, else no, until done on the host. @allocates memory for the time of the
 * call: on CUDA with more than 1,024 entries, on the host for sums and means of numbers; a host context's threads, with
 * the first work for them. @enqueues one kernel, or two for more than 1,024 steps or batch rows, on `stream`. @capture
 * legal: on a captured stream it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own
 * stream. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_reduce(synfire_context context, const synfire_reduce_desc *desc,
                                                       synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Computes the gradient of a reduction now: the same operation that synfire_graph_record_reduce_backward() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks for a maximum on CUDA, else no, until done on the host. @allocates
 * temporary device memory, for a maximum; a host context's threads, with the first work for them.
 * @enqueues one kernel, or two for a maximum, on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_reduce_backward(synfire_context context,
                                                                const synfire_reduce_backward_desc *desc,
                                                                synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Computes a rate loss and its gradient now: the same operation that synfire_graph_record_rate_loss() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks until done, unless `stream` is captured. @allocates temporary device memory; a host context's threads, with
 * the first work for them. @enqueues three kernels on `stream`, one more for the gradient and one more for over 1,024
 * neurons. @capture legal: on a captured stream it becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for
 * the context's own stream. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_rate_loss(synfire_context context, const synfire_rate_loss_desc *desc,
                                                          synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Computes a loss now: the same operation that synfire_graph_record_loss() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (also if the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks with more than 1,024 samples or 16,384 elements until done, else no on CUDA, until done on the host.
 * @allocates temporary memory with more than 1,024 samples or 16,384 elements, which a capture keeps; a host context's
 * threads, with the first work for them. @enqueues one kernel on `stream`, or two with more than 1,024 samples or
 * 16,384 elements. @capture legal: on a captured stream it becomes part of the capture (::SYNFIRE_CAPTURED), after
 * waiting for the context's own stream. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_loss(synfire_context context, const synfire_loss_desc *desc,
                                                     synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup combine
 * @{ */

/** How arrays become one: synfire_combine_desc::kind. */
enum {
  /** Their sum, element by element: of numbers, or of spikes and counts. */
  SYNFIRE_COMBINE_SUM = 0,
  /** Spikes a * b, of two arrays. */
  SYNFIRE_COMBINE_AND = 1,
  /** Spikes a * (1 - b), of two arrays: those of the first that the second does not have. */
  SYNFIRE_COMBINE_IAND = 2,
  /** Their channels side by side. */
  SYNFIRE_COMBINE_CONCATENATE = 3
};

/** Several arrays `[T, B, ..]` that become one, where branches of a network meet: the type of `destination` and `kind`
 * say what is computed.
 *
 * - **Numbers** (`destination` in f32, f16, bf16 or f64): the sum is taken from left to right in the order of `sources`,
 *   in f32 (f64 in f64), each addition rounded; the result is rounded to the type of `destination` once. Sources are
 *   numbers in f32, f16 or bf16 (f64 with an f64 destination), spikes in ::SYNFIRE_DTYPE_U8, ::SYNFIRE_DTYPE_BITS or
 *   ::SYNFIRE_DTYPE_TIME_BITS, which are 0 and 1, and counts, which are the integers that they are.
 * - **Counts** (`destination` in ::SYNFIRE_DTYPE_U8): integers, of sources with spikes in any format that
 *   synfire_convert_spikes_desc::source may have, and of counts. The largest sum, with 1 for spikes and the bound of
 *   each source with counts, is at most 255; larger ones are refused, so that no sum is ever saturated. A concatenation
 *   of spikes alone has spikes; with counts among the sources it has counts, with their largest bound.
 * - **Spikes** (`destination` in any format, for AND and IAND; in ::SYNFIRE_DTYPE_BITS or ::SYNFIRE_DTYPE_TIME_BITS, for
 *   concatenations): 1 and 0 if dense; all words, with tail bits zero, if packed. Sources are spikes in any format.
 *
 * A concatenation has maps `[H, W, C]` with the channels fastest: at each of the H * W positions, the channels of the
 * first source are followed by those of the second. Features without a place have H = W = 1. Numbers are converted as by
 * a sum. The `row_pitch` of a buffer applies as in the passes of a layer. Host and GPU give the same bits, except that a
 * NaN is any NaN. */
typedef struct synfire_combine_desc {
  /** `sizeof(synfire_combine_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_COMBINE_*`. Default: the sum. */
  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_COMBINE);
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N of one batch row of `destination`, at least 1: H * W * C. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read: `[T, B, N]`, or in a concatenation `[T, B, H * W * C_i]`, where C_i is entry i of `channels`. The same buffer
   *  may occur several times. */
  const synfire_buffer *sources SYNFIRE_READ("spikes [T, B, N]");
  /** How many `sources` there are: 2 for AND and IAND, else 1 to 16. A single one is converted. */
  uint64_t n_sources SYNFIRE_LENGTH_OF(sources);
  /** Channels of each source, each at least 1, for a concatenation, which needs them: N is a multiple of their sum C.
   *  Default: none. */
  const int64_t *channels SYNFIRE_NULLABLE;
  /** How many `channels` there are: as many as `sources`, or none. */
  uint64_t n_channels SYNFIRE_LENGTH_OF(channels);
  /** For each source that holds counts in ::SYNFIRE_DTYPE_U8, the largest count, 1 to 255; elements above it count as
   *  it. For others 0: in ::SYNFIRE_DTYPE_U8, every non-zero element is then a spike. AND and IAND take no counts.
   *  Default: no source holds counts. */
  const int32_t *bounds SYNFIRE_NULLABLE;
  /** How many `bounds` there are: as many as `sources`, or none. */
  uint64_t n_bounds SYNFIRE_LENGTH_OF(bounds);
  /** Written. Must not overlap a source. */
  synfire_buffer destination SYNFIRE_WRITTEN("spikes [T, B, N]");
} synfire_combine_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_COMBINE_DESC_INIT \
  { (uint32_t)sizeof(synfire_combine_desc), 0, 0, 0, 0, NULL, 0u, NULL, 0u, NULL, 0u, NULL }

/** The gradient of a combination with respect to one of its sources, from g = dL/d(destination). Fields that
 * ::synfire_combine_desc has too are those of the combination.
 *
 * - Sum: g.
 * - AND of a and b: g * b for a, g * a for b.
 * - IAND of a and b: g * (1 - b) for a, -g * a for b.
 * - Concatenation: the channels of g that are the source's.
 *
 * Counts have gradients as numbers have, in units of one count. The arithmetic is f32, or f64 with f64 buffers. A g that
 * is infinite or NaN gives NaN where it is multiplied by 0.
 *
 * A sum needs no gradient of its own where nothing else reads the source: the buffer of g is the gradient of each. The
 * same holds for a concatenation with B = 1 and H * W = 1 where a buffer with a `row_pitch` of N shows the source's
 * channels of g. */
typedef struct synfire_combine_backward_desc {
  /** `sizeof(synfire_combine_backward_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_COMBINE_*`. Default: the sum. */
  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_COMBINE);
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N of one batch row of the destination, at least 1. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Channels of each source, for a concatenation, which needs them. Default: none. */
  const int64_t *channels SYNFIRE_NULLABLE;
  /** How many `channels` there are: 2 to 16, or none. */
  uint64_t n_channels SYNFIRE_LENGTH_OF(channels);
  /** Number of the source whose gradient is computed, from 0. Default: 0. */
  int32_t source;
  /** 1: the gradient is added to what `grad_source` holds. Default 0: it replaces that. */
  int32_t accumulate SYNFIRE_FLAG;
  /** g, read: f32, f16 or bf16, or f64 with an f64 `grad_source`. */
  synfire_buffer grad_destination SYNFIRE_READ("[T, B, N]");
  /** Read: the other source, b for the gradient of a, in any format that synfire_convert_spikes_desc::source may have.
   *  For AND and IAND, which need it. */
  synfire_buffer other SYNFIRE_READ("spikes [T, B, N]") SYNFIRE_NULLABLE;
  /** Written, or added to: dL/d(source) `[T, B, N]`, or in a concatenation `[T, B, H * W * C_i]`; f32, f16 or bf16, or
   *  f64 with an f64 `grad_destination`. Must not overlap another buffer of the operation. */
  synfire_buffer grad_source SYNFIRE_UPDATED("[T, B, N]");
} synfire_combine_backward_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_COMBINE_BACKWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_combine_backward_desc), 0, 0, 0, 0, NULL, 0u, 0, 0, NULL, NULL, NULL }

/** Means over groups of neighbours: several outputs vote for each class. Group j of a row has the elements j * M to
 * j * M + M - 1, M being `group_size`.
 *
 * The elements of a group are added in f32 (f64 in f64) in ascending order, from +0, and the sum is divided by M: one
 * division. The result is rounded to the type of `destination` once. Host and GPU give the same bits. */
typedef struct synfire_group_mean_desc {
  /** `sizeof(synfire_group_mean_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Groups G of one batch row, at least 1. */
  int64_t n_groups SYNFIRE_REQUIRED;
  /** Elements M of one group, 1 to 2^24. */
  int64_t group_size SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read: f32, f16 or bf16, or f64 with an f64 destination. */
  synfire_buffer source SYNFIRE_READ("[T, B, G * M]");
  /** Written: f32, f16 or bf16, not necessarily the type of `source`, or f64 with an f64 source. Must not overlap
   *  `source`. */
  synfire_buffer destination SYNFIRE_WRITTEN("[T, B, G]");
} synfire_group_mean_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_GROUP_MEAN_DESC_INIT \
  { (uint32_t)sizeof(synfire_group_mean_desc), 0u, 0, 0, 0, 0, NULL, NULL }

/** The gradient of means over groups: each element of a group receives the gradient of its mean, divided by M, in f32 (f64
 * in f64). Fields that ::synfire_group_mean_desc has too are those of the means. */
typedef struct synfire_group_mean_backward_desc {
  /** `sizeof(synfire_group_mean_backward_desc)`. */
  uint32_t struct_size;
  /** 1: gradients are added to what `grad_source` holds. Default 0: they replace that. */
  int32_t accumulate SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Groups G of one batch row, at least 1. */
  int64_t n_groups SYNFIRE_REQUIRED;
  /** Elements M of one group, 1 to 2^24. */
  int64_t group_size SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read: f32, f16 or bf16, or f64 with an f64 `grad_source`. */
  synfire_buffer grad_destination SYNFIRE_READ("[T, B, G]");
  /** Written, or added to: f32, f16 or bf16, or f64 with an f64 `grad_destination`. Must not overlap
   *  `grad_destination`. */
  synfire_buffer grad_source SYNFIRE_UPDATED("[T, B, G * M]");
} synfire_group_mean_backward_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_GROUP_MEAN_BACKWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_group_mean_backward_desc), 0, 0, 0, 0, 0, NULL, NULL }

/**
 * Combines several arrays into one now: the same operation that synfire_graph_record_combine() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_combine(synfire_context context, const synfire_combine_desc *desc,
                                                        synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Computes the gradient of a combination with respect to one of its sources now: the same operation that synfire_graph_record_combine_backward() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_combine_backward(synfire_context context,
                                                                 const synfire_combine_backward_desc *desc,
                                                                 synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Computes means over groups of neighbours now: the same operation that synfire_graph_record_group_mean() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_group_mean(synfire_context context, const synfire_group_mean_desc *desc,
                                                           synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Computes the gradient of means over groups now: the same operation that synfire_graph_record_group_mean_backward() records.
 *
 * @param context The context of all buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed),
 *         ::SYNFIRE_ERROR_CAPTURING (the capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_group_mean_backward(synfire_context context,
                                                                    const synfire_group_mean_backward_desc *desc,
                                                                    synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup graph
 * @{ */

/** An ordered list of operations, recorded once, instantiated once, replayed many times. */
typedef struct synfire_graph_s *synfire_graph;

/** How synfire_graph_wait() waits. */
enum {
  /** Poll continuously: the lowest latency, one busy processor. */
  SYNFIRE_WAIT_SPIN = 0,
  /** Poll, and yield the processor to other threads in between. */
  SYNFIRE_WAIT_YIELD = 1,
  /** Sleep until done: the lowest load, the highest latency. */
  SYNFIRE_WAIT_BLOCK = 2
};

/** Special values of synfire_graph_desc::n_slots. */
enum {
  /** One copy of the pinned buffers, their own memory, without protection against concurrent replays. */
  SYNFIRE_SLOTS_SHARED = 0x7fffffff
};

/** How to create a graph. Zero means the default in every field except `struct_size`. */
typedef struct synfire_graph_desc {
  /** `sizeof(synfire_graph_desc)`. */
  uint32_t struct_size;
  /** Number of copies of the pinned buffers that the graph reads and writes, at most 64: that many replays can be in
   *  flight, each with its own data, and one more launch returns ::SYNFIRE_ERROR_BUSY. If there is not enough memory
   *  for the copies, instantiation fails with ::SYNFIRE_ERROR_OUT_OF_MEMORY. Replay number t uses copy (t - 1) mod
   *  n_slots; synfire_graph_get_slot() returns its address. Copy 0 is the buffers' own memory. A buffer that is only
   *  the source of gathers (synfire_gather_rows_desc::source) has no copies and does not count as a pinned buffer here.
   *  0 (default): 1 or, if the graph has no pinned buffer, any number of replays in flight. ::SYNFIRE_SLOTS_SHARED: one
   *  copy, and launches are not refused; the caller must ensure that replays in flight do not conflict. */
  uint32_t n_slots;
} synfire_graph_desc;

/** All zeros except for `struct_size`. */
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
  /** Written; must not overlap what is read. */
  synfire_buffer destination SYNFIRE_WRITTEN("any");
  /** First byte in `source`. */
  uint64_t source_offset;
  /** First byte in `destination`. */
  uint64_t destination_offset;
  /** Number of bytes. 0 (default): all of `source` from `source_offset` on. */
  uint64_t bytes;
} synfire_copy_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_COPY_DESC_INIT \
  { (uint32_t)sizeof(synfire_copy_desc), 0u, NULL, NULL, 0u, 0u, 0u }

/** A range of memory. */
typedef struct synfire_memory {
  /** Its address; a device address for device memory. */
  void *data;
  /** Its size in bytes. */
  uint64_t bytes;
} synfire_memory;

/** The arguments of a call of a native node's callback. */
typedef struct synfire_native_call {
  /** `sizeof(synfire_native_call)` of the library. */
  uint32_t struct_size;
  /** The slot of the graph to which the addresses belong. */
  uint32_t slot;
  /** On CUDA, the stream to enqueue on; the context's device is current. Null on the host. */
  synfire_stream stream SYNFIRE_NULLABLE;
  /** How many `reads` there are. */
  uint64_t n_reads SYNFIRE_LENGTH_OF(reads);
  /** The memory of synfire_native_desc::reads, in the order of the descriptor. */
  const synfire_memory *reads SYNFIRE_NULLABLE;
  /** How many `writes` there are. */
  uint64_t n_writes SYNFIRE_LENGTH_OF(writes);
  /** The memory of synfire_native_desc::writes, in the order of the descriptor. */
  const synfire_memory *writes SYNFIRE_NULLABLE;
} synfire_native_call;

/** All zeros except for `struct_size`. */
#define SYNFIRE_NATIVE_CALL_INIT \
  { (uint32_t)sizeof(synfire_native_call), 0u, NULL, 0u, NULL, 0u, NULL }

/**
 * The function of a native node.
 *
 * On CUDA, it is called inside synfire_graph_instantiate() and synfire_graph_rebind(), once for each slot, with a
 * stream that is being captured. Kernels, copies and fills that it enqueues there become part of the graph and read and
 * write the memory in `call`. It may fork to other streams if it joins them again. It must not end the capture,
 * synchronise, allocate or free in stream order, or enqueue host functions. Kernels should already be loaded. Without a
 * capture (environment variable `SYNFIRE_GRAPH=0`), it is called by each launch. On the host, it is called by each
 * launch, on the launching thread, and does its work before it returns.
 *
 * What a callback does to a layer of the graph during a launch takes effect at its position in the replay. Parameters
 * that it sets take effect with the next launch or eager call. A backward after the callback, in this replay or a later
 * one, whose forward came before the callback fails with ::SYNFIRE_ERROR_STALE_TAPE if the callback applied other
 * parameters to the layer through an eager call, or wrote an X that the backward reads again. Running the layer does
 * not matter to a forward of the graph, which has a tape of its own; it replaces the tape of the eager forwards.
 *
 * @param user synfire_native_desc::user.
 * @param call Where to enqueue and what to read and write; valid only during the call.
 * @return 0 or more for success. A negative value makes the call in which the callback runs fail with
 *         ::SYNFIRE_ERROR_CALLBACK. The callback must return normally: it must not throw or end the thread.
 */
typedef synfire_status(SYNFIRE_CALL *synfire_native_callback)(void *user SYNFIRE_NULLABLE,
                                                              const synfire_native_call *call);

/** A native node: the caller's own code as an operation of a graph. */
typedef struct synfire_native_desc {
  /** `sizeof(synfire_native_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** The function. It must stay callable as long as the graph exists. */
  synfire_native_callback callback;
  /** Passed to the function. */
  void *user SYNFIRE_NULLABLE;
  /** Its name in error texts and pictures, in UTF-8; copied. Null: only its number is shown. */
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

/** All zeros except for `struct_size`. */
#define SYNFIRE_NATIVE_DESC_INIT \
  { (uint32_t)sizeof(synfire_native_desc), 0u, NULL, NULL, NULL, NULL, 0u, NULL, 0u }

/** Counts and times of a graph since it was created or its statistics were reset. Times run from the call of a launch
 *  to the first wait or poll that found the replay done; percentiles are at most 3.2 % above the exact values. */
typedef struct synfire_graph_statistics {
  /** `sizeof(synfire_graph_statistics)`; set before the call. */
  uint32_t struct_size;
  /** Zero. */
  uint32_t reserved;
  /** Launches that returned a ticket. */
  uint64_t n_replays;
  /** Waits that returned ::SYNFIRE_PENDING after a time-out greater than 0. */
  uint64_t n_late_waits;
  /** Replays whose times are included in the percentiles: those waited for in order, within 256 launches. */
  uint64_t n_seen;
  /** Half of the replays took at most this many nanoseconds. */
  uint64_t p50_ns;
  /** 99 % of the replays took at most this many nanoseconds. */
  uint64_t p99_ns;
  /** 99.9 % of the replays took at most this many nanoseconds. */
  uint64_t p999_ns;
  /** The longest time in nanoseconds, exactly. */
  uint64_t max_ns;
} synfire_graph_statistics;

/** All zeros except for `struct_size`. */
#define SYNFIRE_GRAPH_STATISTICS_INIT \
  { (uint32_t)sizeof(synfire_graph_statistics), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u }

/** A fill of a buffer with one value. */
typedef struct synfire_fill_desc {
  /** `sizeof(synfire_fill_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Every element is written. */
  synfire_buffer buffer SYNFIRE_WRITTEN("any");
  /** The new value of every element, rounded to the buffer's type as by synfire_buffer_fill(). The operation's value
   *  `"value"`. */
  double value SYNFIRE_REQUIRED;
} synfire_fill_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_FILL_DESC_INIT \
  { (uint32_t)sizeof(synfire_fill_desc), 0u, NULL, 0.0 }

/** destination = keep * destination + scale * source, element by element. */
typedef struct synfire_scale_add_desc {
  /** `sizeof(synfire_scale_add_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Read: f32, f16 or bf16, or f64 with an f64 destination. */
  synfire_buffer source SYNFIRE_READ("any");
  /** Read and written: f32, f16 or bf16, not necessarily the type of `source`, or f64 with an f64 source. It has as
   *  many elements and the same row pitch as `source`. It may be the same buffer as `source`, but must not overlap it
   *  otherwise. */
  synfire_buffer destination SYNFIRE_UPDATED("that of source");
  /** Finite; rounded to the type of the arithmetic. The operation's value `"scale"`. */
  double scale SYNFIRE_REQUIRED;
  /** Finite; rounded to the type of the arithmetic. With 0, `destination` is not read, so that a NaN in it does not
   *  persist. The operation's value `"keep"`. */
  double keep SYNFIRE_REQUIRED;
} synfire_scale_add_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_SCALE_ADD_DESC_INIT \
  { (uint32_t)sizeof(synfire_scale_add_desc), 0u, NULL, NULL, 0.0, 0.0 }

/** Which bounds are given: synfire_update_parameter_desc::bounds. */
enum {
  /** `lower` applies. */
  SYNFIRE_BOUND_LOWER = 1,
  /** `upper` applies. */
  SYNFIRE_BOUND_UPPER = 2
};

/** One step of gradient descent on a parameter of a layer. */
typedef struct synfire_update_parameter_desc {
  /** `sizeof(synfire_update_parameter_desc)`. */
  uint32_t struct_size;
  /** `SYNFIRE_BOUND_*`, added up. Default: none. */
  uint32_t bounds SYNFIRE_ANY_OF(SYNFIRE_BOUND);
  /** A parameter of the model, `v_threshold` or `v_reset`; not a parameter of the surrogate. With a second name (`tau`
   *  of PLIF), the step is taken in that quantity. */
  const char *name;
  /** dL/dp, read: f32 (f64 in an f64 layer), with as many elements as the parameter has values. */
  synfire_buffer gradient SYNFIRE_READ("[1], [C] or [N]");
  /** Finite. The operation's value `"learning_rate"`. */
  double learning_rate SYNFIRE_REQUIRED;
  /** The smallest value that the parameter may take, in addition to its own range. Since ABI 0.3, minus infinity is none,
   *  and NaN is the default of training, as in synfire_optimizer_add_parameter(). Used with ::SYNFIRE_BOUND_LOWER. */
  double lower;
  /** The largest value likewise: infinity is none. Used with ::SYNFIRE_BOUND_UPPER. */
  double upper;
} synfire_update_parameter_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_UPDATE_PARAMETER_DESC_INIT \
  { (uint32_t)sizeof(synfire_update_parameter_desc), 0u, NULL, NULL, 0.0, 0.0, 0.0 }

/**
 * Computes destination = keep * destination + scale * source now: the same operation that
 * synfire_graph_record_scale_add() records.
 *
 * The arithmetic is f32, or f64 with f64 buffers: keep * destination is rounded, then scale * source is added to it
 * with one rounding (a fused multiply-add), then the sum is rounded to the type of `destination`. Host and GPU give the
 * same bits.
 *
 * @param context The context of both buffers.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
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
 * Appends a forward pass. All checks happen here, none at launch. A layer may occur in a graph any number of times:
 * each forward that starts from the layer's state continues from the state that the previous one left.
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (a tape, or a way
 *         to write H over X, that this layer does not have), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory; a tape, unless it is for inference. @enqueues no. @capture legal. @threads one at
 * a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_forward(synfire_graph graph, synfire_layer layer,
                                                                     const synfire_forward_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Appends a backward pass through time for a forward of the layer: the one that `desc.forward` names, else the one
 * recorded last in this graph, else the one that was recorded or run last anywhere. If that forward does not run in the
 * same replay, because it is not in the graph or is disabled, each launch checks that its tape is still valid.
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_STALE_TAPE (no taped forward of this layer was ever recorded or run, or the
 *         latest one was recorded for inference), ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated),
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_UNSUPPORTED (as synfire_layer_backward()), ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
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
 * @param desc  What to copy; on a CUDA context, between device and pinned buffers.
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
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
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
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
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
 * Appends an encoding of rates as spikes; synfire_encode_bernoulli_desc says how. The first replay begins at
 * synfire_encode_bernoulli_desc::offset, and each later one where the one before it ended, without involving the host:
 * replays never draw the same numbers again. A replay in which the operation is disabled does not advance. Setting the
 * operation's value `"offset"` makes the next launch begin there, even if an earlier one already did.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (more neurons or
 *         batch rows than can be distinguished), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory and device memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_encode_bernoulli(synfire_graph graph,
                                                                              const synfire_encode_bernoulli_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a binning of events of a camera; synfire_bin_events_desc says how. How many events there are, and where the
 * window begins, may differ in every replay. The first replay augments with the numbers of synfire_bin_events_desc::offset,
 * and each later one with the next, without involving the host. A replay in which the operation is disabled does not
 * advance. Setting the operation's value `"offset"` makes the next launch begin there, even if an earlier one already did.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory and device memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_bin_events(synfire_graph graph,
                                                                        const synfire_bin_events_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a gather of rows of a data set into a batch.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_gather_rows(synfire_graph graph,
                                                                         const synfire_gather_rows_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a draw of the rows of a batch; synfire_shuffle_desc says which. The first replay draws batch
 * synfire_shuffle_desc::offset, and each later one the batch after the one before it, without involving the host: after
 * the last batch of an epoch comes the first one of the next epoch, in another order. A replay in which the operation
 * is disabled does not advance. Setting the operation's value `"offset"` makes the next launch draw that batch, even if
 * an earlier one already did.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory and device memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_shuffle(synfire_graph graph,
                                                                     const synfire_shuffle_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Appends a replacement of what is not finite.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers. A pinned `count` is read in the slot
 *              of the replay (synfire_graph_get_slot()).
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_replace_nonfinite(
    synfire_graph graph, const synfire_replace_nonfinite_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Appends a reduction; synfire_reduce_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_reduce(synfire_graph graph,
                                                                    const synfire_reduce_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Appends the gradient of a reduction; synfire_reduce_backward_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_reduce_backward(synfire_graph graph,
                                                                             const synfire_reduce_backward_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a pool; synfire_pool_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (sums of 2^24 or more in
 *         f32), ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_pool(synfire_graph graph, const synfire_pool_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends the gradient of a pool; synfire_pool_backward_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_pool_backward(synfire_graph graph,
                                                                           const synfire_pool_backward_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends an upsampling; synfire_upsample_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_upsample(synfire_graph graph,
                                                                      const synfire_upsample_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends the gradient of an upsampling; synfire_upsample_backward_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_upsample_backward(
    synfire_graph graph, const synfire_upsample_backward_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Appends a border of zeros; synfire_pad_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_pad(synfire_graph graph, const synfire_pad_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends the gradient of a border of zeros; synfire_pad_backward_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_pad_backward(synfire_graph graph,
                                                                          const synfire_pad_backward_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a batch normalisation; synfire_normalize_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_normalize(synfire_graph graph,
                                                                       const synfire_normalize_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends the gradients of a batch normalisation; synfire_normalize_backward_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_normalize_backward(
    synfire_graph graph, const synfire_normalize_backward_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Appends a rate loss; synfire_rate_loss_desc says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory; device memory for the first values of a graph. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_rate_loss(synfire_graph graph,
                                                                       const synfire_rate_loss_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a loss; synfire_loss_desc says what is computed. The operation's values are `"gradient_scale"` and, of a
 * cross-entropy, `"label_smoothing"`.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory; device memory for the first values of a graph. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_loss(synfire_graph graph, const synfire_loss_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a native node: the caller's own kernels or library calls on CUDA, the caller's own function on the host.
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
 * @param desc  The buffer and the value; on a CUDA context, a device or pinned buffer.
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
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
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
 * Appends a combination of several arrays into one; synfire_combine() says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_combine(synfire_graph graph,
                                                                     const synfire_combine_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Appends the gradient of a combination with respect to one of its sources; synfire_combine_backward() says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_combine_backward(synfire_graph graph,
                                                                              const synfire_combine_backward_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends means over groups of neighbours; synfire_group_mean() says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_group_mean(synfire_graph graph,
                                                                        const synfire_group_mean_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends the gradient of means over groups; synfire_group_mean_backward() says what is computed.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_group_mean_backward(
    synfire_graph graph, const synfire_group_mean_backward_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Appends one step of gradient descent on a parameter: p = clamp(p - learning_rate * gradient).
 *
 * Values are f64, even in f32 layers; the step is rounded once. The result is clamped to the parameter's range and the
 * given bounds, and then to the nearest value for which every derived constant, such as 1/tau, is finite in the layer's
 * arithmetic. If the minimum itself is not allowed, the smallest value is the next larger f64. An infinite or NaN
 * gradient changes nothing. The constants are derived again as by synfire_layer_set_parameter(), so that setting the
 * value that synfire_layer_get_parameter() returns changes no bit. Host and GPU give the same bits.
 *
 * Operations after this one see the new value. Tapes of forwards before it become stale, and a backward of such a
 * forward cannot be recorded after it. A value that the host sets takes effect between two replays: after the updates
 * of replays launched before, and ahead of replays launched later. As long as such a graph exists, the number of
 * values that the parameter has cannot change.
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
 * Appends a reset of rows of a state; as synfire_layer_reset_rows(). Every replay reads the mask.
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
 * Appends a copy of rows of the state of one layer to another; as synfire_layer_copy_rows().
 *
 * @param graph A graph that is not instantiated.
 * @param layer The layer to write, of the same context.
 * @param desc  The layer to read, of the same context, and the rows.
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
 * Appends a snapshot of rows of a state into a buffer. It has the size of a snapshot from synfire_layer_snapshot(), and
 * synfire_layer_restore() accepts it. It has no checksum.
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  The rows. `buffer`: ::SYNFIRE_DTYPE_U8, written from its start, at an address that is a multiple of 8.
 *              On a CUDA context it is a device or pinned buffer.
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
 * Appends a restore of a snapshot from a buffer. A replay that finds no snapshot of this layout in the buffer leaves
 * the state unchanged.
 *
 * @param graph A graph that is not instantiated.
 * @param layer A layer of the same context.
 * @param desc  The rows, as many as the snapshot has. `buffer`: as for synfire_graph_record_snapshot(), but read.
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
 * Returns the number of the operation recorded last. Calls that change an operation between replays need it.
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
 * that touches no data, capture on a private stream, upload). A graph is instantiated once. If the environment variable
 * `SYNFIRE_GRAPH` is `0` during this call, no CUDA graph is created and each launch enqueues the operations themselves:
 * slower, with the same bits, for debuggers.
 *
 * @param graph A graph with at least one operation.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (empty, or already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY, ::SYNFIRE_ERROR_CALLBACK, ::SYNFIRE_ERROR_UNSUPPORTED,
 *         ::SYNFIRE_ERROR_CAPTURING (inside the callback of a native node), ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks yes. @allocates yes. @enqueues an upload, and waits for it. @capture legal (it leaves other captures alone).
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_instantiate(synfire_graph graph) SYNFIRE_NOEXCEPT;

/**
 * Enables or disables an operation in later replays: for example, a backward that runs only while training, or a count
 * that runs only when it is read. Buffers that a disabled operation would have written keep their contents. All changes
 * since the last launch take effect together with the next one; replays in flight are not affected.
 *
 * A backward whose forward in the same graph is disabled reads the tape of an earlier replay; the launch returns
 * ::SYNFIRE_ERROR_STALE_TAPE if there is no matching one.
 *
 * @param graph     A graph, instantiated or not.
 * @param operation The operation's number; 0 is the operation recorded first.
 * @param enabled   1: it runs. 0: it does not.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_BUSY,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks no. @allocates no. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_set_enabled(synfire_graph graph, int32_t operation,
                                                                  int32_t enabled SYNFIRE_FLAG) SYNFIRE_NOEXCEPT;

/**
 * Replaces one buffer of the graph with another one, in all operations. This is slow: on CUDA, the graph is captured
 * again, and callbacks of native nodes are called again. Replays in flight finish first, with the old buffer.
 *
 * @param graph      A graph, instantiated or not.
 * @param old_buffer A buffer that an operation of the graph reads or writes. Operations recorded through other buffers
 *                   over the same memory change too.
 * @param new_buffer A buffer of the same dtype, size, kind of memory and row pitch. It must not overlap anything else
 *                   that the same operations use.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY, ::SYNFIRE_ERROR_CALLBACK, ::SYNFIRE_ERROR_CAPTURING,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA. After an error, the graph is unchanged.
 * @blocks until the replays in flight are done. @allocates yes. @enqueues an upload, and waits for it. @capture legal
 * (it leaves other captures alone). @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_rebind(synfire_graph graph, synfire_buffer old_buffer,
                                                             synfire_buffer new_buffer) SYNFIRE_NOEXCEPT;

/**
 * Changes a number that an operation uses, without recording the graph again. The change takes effect with the next
 * launch, together with everything else that was set since the previous launch; replays already launched are not
 * affected.
 *
 * @param graph     A graph, instantiated or not.
 * @param operation Its number, from synfire_graph_get_last_operation().
 * @param name      `"value"` of a fill, `"scale"` or `"keep"` of a scale-and-add, `"learning_rate"` of an update or
 *                  of a step of an optimiser, `"weight_decay"`, `"clip_norm"` or those of the schedule of such a step, `"seed"` or `"offset"` of an encoding, a binning of events, a shuffle or a dropout, `"probability"` of a dropout,
 *                  `"gradient_scale"` or `"label_smoothing"` of a loss, `"target"` or `"strength"` of a rate loss.
 * @param value     A value that the operation's descriptor allows; for a seed or offset, an integer from 0 to 2^53.
 *                  Setting the offset makes the operation begin there again, even if the value is the same as before.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates no. @enqueues no; the next launch enqueues one additional kernel for every 64 values of the
 * graph that it transfers. @capture legal. @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_set_value(synfire_graph graph, int32_t operation,
                                                                const char *name, double value) SYNFIRE_NOEXCEPT;

/**
 * Replays the graph once.
 *
 * On CUDA, the call enqueues the replay and returns; several replays may be in flight and run in order. On the host,
 * the replay runs before the call returns. Replays of one graph, and replays that share a layer, must be ordered, by
 * one stream or by waiting. A launch is refused while a replay of this graph, or of another graph that shares a layer
 * with it, is in flight on another stream or runs on another thread of the host. Ordering by events is not recognised.
 *
 * On a stream that the caller is capturing, the graph becomes a child node of that capture. The call returns
 * ::SYNFIRE_CAPTURED and no ticket. The child reads and writes the buffers' own memory (slot 0) and uses the parameters
 * that are on the device when it runs; changed parameters are written there before this call returns. For tapes, each
 * run of the child counts like this call. The graph, its layers and its buffers must outlive the captured graph; later
 * changes by synfire_graph_set_enabled() and synfire_graph_rebind() do not affect it. If an operation is disabled, the
 * nodes of the others are added instead of a child.
 *
 * @param graph       An instantiated graph.
 * @param stream      The CUDA stream; null is the context's own. Must be null on the host.
 * @param[out] ticket Receives the number of this replay: 1, 2, 3 ..., or 0 with ::SYNFIRE_CAPTURED; may be null.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_WRONG_ORDER (not instantiated, or this graph or a layer of
 *         it is in use on another stream or, on the host, on another thread), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STALE_TAPE, ::SYNFIRE_ERROR_CAPTURING (a child cannot be
 *         added to the capture, because it was invalidated or its last operation is a programmatic launch; the capture
 *         is unchanged), ::SYNFIRE_ERROR_BUSY, ::SYNFIRE_ERROR_CALLBACK, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks no on CUDA, until done on the host; in a capture, until the context's own stream is idle and, if something
 * has changed, replays launched before are done. @allocates no; in a capture, what CUDA needs for the node.
 * @enqueues the graph on `stream`, and before it a kernel for each layer whose parameters changed and one for values of
 * operations that changed. @capture legal: it becomes part of a capture of `stream` and leaves other captures alone.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_launch(synfire_graph graph,
                                                             synfire_stream stream SYNFIRE_NULLABLE,
                                                             uint64_t *ticket SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Waits for a replay and returns its result. After ::SYNFIRE_OK, everything that it wrote is visible to the host.
 *
 * It polls a number in memory, and queries CUDA only after 1 ms (0.7 ms if it does not spin), then every half
 * millisecond, and when the time is up. A device that CUDA knows to have failed is thus reported as lost within 1 ms,
 * never as a late replay. CUDA itself may take longer to detect a failure: 0.15 s after a kernel fault (H200, driver
 * 580).
 *
 * @param graph      An instantiated graph.
 * @param ticket     A ticket that a launch of this graph returned.
 * @param policy     One of `SYNFIRE_WAIT_*`.
 * @param timeout_ns The longest wait in nanoseconds; 0 checks once, a negative value waits for ever.
 * @return ::SYNFIRE_OK when done; ::SYNFIRE_PENDING if the time was up first; ::SYNFIRE_ERROR_INVALID_ARGUMENT (a
 *         ticket that was never returned, an unknown policy), ::SYNFIRE_ERROR_WRONG_ORDER (not instantiated),
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes, by `policy`. @allocates no. @enqueues no. @capture legal with ::SYNFIRE_WAIT_SPIN and
 * ::SYNFIRE_WAIT_YIELD. @threads any, also while another thread launches. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_wait(synfire_graph graph, uint64_t ticket,
                                                           int32_t policy SYNFIRE_ONE_OF(SYNFIRE_WAIT),
                                                           int64_t timeout_ns) SYNFIRE_NOEXCEPT;

/**
 * Checks whether a replay is done. Never blocks.
 *
 * @param graph  An instantiated graph.
 * @param ticket A ticket that a launch of this graph returned.
 * @return As synfire_graph_wait() with a time-out of 0.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_poll(synfire_graph graph, uint64_t ticket) SYNFIRE_NOEXCEPT;

/**
 * Returns the memory of a pinned buffer that the host may access. For ticket 0, this is the copy that the next launch
 * reads and writes; for any other ticket, the copy that its replay read and wrote. The host may access it until the
 * launch that takes the slot.
 *
 * @param graph      An instantiated graph.
 * @param ticket     0 (the next launch), or one of the last `n_slots` tickets (the last one, when `n_slots` is 0 or
 *                   ::SYNFIRE_SLOTS_SHARED).
 * @param buffer     A pinned buffer that the graph was recorded with.
 * @param[out] data  Receives the address; null with ::SYNFIRE_PENDING.
 * @param[out] bytes Receives the size. May be null.
 * @return ::SYNFIRE_OK; ::SYNFIRE_PENDING while the replay that has the slot is in flight, even after a wait for it has
 *         timed out; ::SYNFIRE_ERROR_INVALID_ARGUMENT (a ticket that was never returned, or whose slot a later launch
 *         has taken; a buffer that is not pinned or does not belong to the graph), ::SYNFIRE_ERROR_WRONG_ORDER (not
 *         instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks no; while another thread rebinds a buffer, until that is done. @allocates no. @enqueues no. @capture legal.
 * @threads any, also while another thread launches. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_get_slot(synfire_graph graph, uint64_t ticket,
                                                               synfire_buffer buffer, void **data,
                                                               uint64_t *bytes SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Writes the graph as text in the DOT language of Graphviz: a node for each operation with its number, model, direction
 * and shape, and an edge wherever one operation reads or overwrites what another one wrote. Disabled operations are
 * drawn dashed.
 *
 * @param graph          A graph, instantiated or not.
 * @param[out] text      Receives the text, null-terminated; null to get only its size.
 * @param[in,out] bytes  In: the size of `text`. Out: the size of the whole text, including its terminating null;
 *                       untouched on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT if `text` is too small; nothing is then written;
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_write_dot(synfire_graph graph, char *text SYNFIRE_NULLABLE,
                                                                uint64_t *bytes) SYNFIRE_NOEXCEPT;

/**
 * Reports how many replays there were, how many waits were late, and how long replays took. The statistics need a
 * constant amount of memory; for them, each launch and each wait reads the clock once.
 *
 * @param graph              A graph.
 * @param[in,out] statistics In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any, also while others launch and wait.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_get_statistics(synfire_graph graph,
                                                                     synfire_graph_statistics *statistics)
    SYNFIRE_NOEXCEPT;

/**
 * Reports the memory that a graph holds: operations, slots, tapes, values and its arena. Buffers and layers that it uses
 * count where they were created.
 *
 * @param graph      A graph.
 * @param[in,out] use In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_get_memory_use(synfire_graph graph, synfire_memory_use *use)
    SYNFIRE_NOEXCEPT;

/**
 * Resets the statistics of synfire_graph_get_statistics(). Replays in flight are counted when they are found to be
 * done.
 *
 * @param graph A graph.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_reset_statistics(synfire_graph graph) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup synapse
 * @{ */

/** Formats of a synapse's input. */
enum {
  /** Spikes, in any format that synfire_convert_spikes_desc::source may have. In f32 the product is an exact sum: its
   *  bits depend neither on the order of the additions nor on the format, the batch or the machine. */
  SYNFIRE_INPUT_SPIKES = 0,
  /** Numbers. The product is a sum in a fixed order. */
  SYNFIRE_INPUT_VALUES = 1,
  /** Integers from 0 to a bound of at most 255, ::SYNFIRE_DTYPE_U8 `[T, B, K]`; larger ones count as the bound. In f32
   *  the product is an exact sum, as that of spikes. Dense synapses and convolutions take them. @since ABI 0.3 */
  SYNFIRE_INPUT_COUNTS = 2
};

/** How the weights and biases of a new synapse are chosen. K is the number of inputs, g synfire_synapse_desc::gain. */
enum {
  /** Uniform between -g/sqrt(K) and g/sqrt(K): the default of PyTorch's `Linear`. */
  SYNFIRE_INITIALIZATION_UNIFORM = 0,
  /** Normal with standard deviation g/sqrt(K); biases are 0. */
  SYNFIRE_INITIALIZATION_NORMAL = 1,
  /** All 0. */
  SYNFIRE_INITIALIZATION_ZERO = 2
};

/** How to create a synapse. Zero means the default in every field except `struct_size` and the two lengths. */
typedef struct synfire_synapse_desc {
  /** `sizeof(synfire_synapse_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_INPUT_*`. Default: spikes. */
  int32_t input_kind SYNFIRE_ONE_OF(SYNFIRE_INPUT);
  /** Inputs K, 1 to 2^29; of counts, whose bound is 255, at most 4,210,752. */
  int64_t n_inputs SYNFIRE_REQUIRED;
  /** Outputs N, at least 1. */
  int64_t n_outputs SYNFIRE_REQUIRED;
  /** Type of weights, bias, outputs and gradients: `SYNFIRE_DTYPE_F32` (default) or `SYNFIRE_DTYPE_F64`. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** 1: with a bias. Default 0: without. */
  int32_t bias SYNFIRE_FLAG;
  /** 1: without gradients of weights and bias. Default 0: with. */
  int32_t frozen SYNFIRE_FLAG;
  /** Bits of the grid on which dL/dy is rounded for the gradients of weights and bias in f32: 24, 32 or 0. Default 0: 24
   *  for spikes and counts, 32 for values. With 24, a weight whose input is active only where the gradient is below
   *  2^-24 of its output's largest gets exactly 0. Ignored in f64. */
  int32_t gradient_bits;
  /** One of `SYNFIRE_INITIALIZATION_*`. Default: uniform. */
  int32_t initialization SYNFIRE_ONE_OF(SYNFIRE_INITIALIZATION);
  /** 1: no connection from input i to output i, as with a mask whose diagonal is 0: for a recurrent synapse whose neurons
   *  do not read themselves. K must be N. Default: 0. Since ABI 0.3; before, it had to be 0. */
  int32_t no_self_connections SYNFIRE_FLAG;
  /** A factor on the initial weights, at most 1e30. Default: 1. */
  double gain;
  /** Any number. Different seeds give independent weights. */
  uint64_t seed;
  /** Connections `[N, K]`: 1 where there is one; weights elsewhere stay 0, and so do their gradients. Read during the
   *  call. Default: all. */
  const uint8_t *mask SYNFIRE_NULLABLE;
  /** How many bytes `mask` has: N * K, or 0 without one. */
  uint64_t mask_length SYNFIRE_LENGTH_OF(mask);
  /** Bits of the weights on their grid in f32 (::synfire_synapse_forward_desc): 8, 16, 24 or 0. Default 0: 24. Training
   *  keeps the weights in f32, and products, dL/dx too, read those on the grid: weights of 8 bits are integers of one
   *  byte, synfire_synapse_read_integers(). Must be 0 in f64. Since ABI 0.3. */
  int32_t weight_bits;
  /** As synfire_conv2d_desc::count_scale: the value of a count of 1. 0 or 1 unless the input is counts. Default: 1. Since
   *  ABI 0.3. */
  float count_scale;
} synfire_synapse_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_SYNAPSE_DESC_INIT \
  { (uint32_t)sizeof(synfire_synapse_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0u, NULL, 0u, 0, 0.0f }

/** Who shares an entry of an array. */
enum {
  /** Nobody: each neuron has its own, H * W * C entries. */
  SYNFIRE_SCOPE_NEURON = 0,
  /** The neurons of a channel: C entries, and neuron i has entry i mod C. */
  SYNFIRE_SCOPE_CHANNEL = 1,
  /** All neurons: one entry. */
  SYNFIRE_SCOPE_LAYER = 2
};

/** How to create a one-to-one synapse. Zero means the default in every field except `struct_size` and `channels`.
 *
 * Each output has one input, a weight and possibly a bias: y = fma(w, x, b). Rows are maps `[H, W, C]` with the channels
 * fastest, N = H * W * C. The arrays `"weight"` and, with a bias, `"bias"` have E entries each: N, C or 1, as `scope`
 * says. It takes neither a mask nor dropout. */
typedef struct synfire_one_to_one_desc {
  /** `sizeof(synfire_one_to_one_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_INPUT_*`. Default: spikes. */
  int32_t input_kind SYNFIRE_ONE_OF(SYNFIRE_INPUT);
  /** Channels C, at least 1: the number of neurons if they have no map. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Height H of the map. Default: 1. */
  int64_t height;
  /** Width W of the map. Default: 1. */
  int64_t width;
  /** Who shares a weight and a bias: one of `SYNFIRE_SCOPE_*`. Default: nobody. */
  int32_t scope SYNFIRE_ONE_OF(SYNFIRE_SCOPE);
  /** Type of weights, bias, outputs and gradients: `SYNFIRE_DTYPE_F32` (default) or `SYNFIRE_DTYPE_F64`. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** 1: with a bias, which is 0 at first. Default 0: without; b is +0. */
  int32_t bias SYNFIRE_FLAG;
  /** 1: without gradients of weights and bias. Default 0: with. */
  int32_t frozen SYNFIRE_FLAG;
  /** As synfire_synapse_desc::gradient_bits: 24 or 32. Default 0: 32. */
  int32_t gradient_bits;
  /** Must be zero. */
  uint32_t reserved;
  /** The weights of a new synapse, finite in its type. Default: 1. */
  double initial_weight;
} synfire_one_to_one_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_ONE_TO_ONE_DESC_INIT \
  { (uint32_t)sizeof(synfire_one_to_one_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0u, 0.0 }

/** How to create a convolution. Zero means the default in every field except `struct_size` and the two numbers of channels.
 *
 * Rows are maps `[H, W, C]` with the channels fastest, K = H * W * C inputs; outputs are maps `[Ho, Wo, output_channels]`.
 * An output at (oy, ox) reads, for each place (ky, kx) of the kernel, the input at (oy * stride_y + ky * dilation_y -
 * padding_y, ox * stride_x + kx * dilation_x - padding_x), or +0 outside the map, so that Ho = floor((H + 2 * padding_y -
 * dilation_y * (kernel_height - 1) - 1) / stride_y) + 1, and Wo likewise. A transposed convolution exchanges inputs and
 * outputs in this rule: an input is read by the outputs at (iy * stride_y + ky * dilation_y - padding_y, ..), and Ho =
 * (H - 1) * stride_y - 2 * padding_y + dilation_y * (kernel_height - 1) + 1 + output_padding_y. With H = 1 both are
 * convolutions of sequences. The array `"weight"` is `[output_channels, kernel_height, kernel_width, C / groups]`,
 * `"bias"`, with a bias, `[output_channels]`. @since ABI 0.3 */
typedef struct synfire_conv2d_desc {
  /** `sizeof(synfire_conv2d_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_INPUT_*`. Default: spikes. */
  int32_t input_kind SYNFIRE_ONE_OF(SYNFIRE_INPUT);
  /** Channels C of the input, at least 1. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Channels of the output, at least 1. */
  int64_t output_channels SYNFIRE_REQUIRED;
  /** Height H of the input. Default: 1. */
  int64_t height;
  /** Width W of the input. Default: 1. */
  int64_t width;
  /** Height of the kernel. Default: 1. */
  int64_t kernel_height;
  /** Width of the kernel. Default: 1. */
  int64_t kernel_width;
  /** Rows from one output to the next. Default: 1. */
  int64_t stride_y;
  /** Columns from one output to the next. Default: 1. */
  int64_t stride_x;
  /** Rows outside the map, on both sides. Default: 0. */
  int64_t padding_y;
  /** Columns outside the map, on both sides. Default: 0. */
  int64_t padding_x;
  /** Rows from one row of the kernel to the next. Default: 1. */
  int64_t dilation_y;
  /** Columns from one column of the kernel to the next. Default: 1. */
  int64_t dilation_x;
  /** Groups of channels, which must divide both numbers of channels: outputs of a group read the inputs of that group, in
   *  blocks of neighbouring channels. As many groups as channels: each has its own kernel. Default: 1. */
  int64_t groups;
  /** Rows that are added at the end of the output of a transposed convolution, below its stride or its dilation. Default:
   *  0. */
  int64_t output_padding_y;
  /** Columns likewise. Default: 0. */
  int64_t output_padding_x;
  /** 1: a transposed convolution. Default 0: not. */
  int32_t transposed SYNFIRE_FLAG;
  /** Type of weights, bias, outputs and gradients: `SYNFIRE_DTYPE_F32` (default) or `SYNFIRE_DTYPE_F64`. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** 1: with a bias. Default 0: without. */
  int32_t bias SYNFIRE_FLAG;
  /** 1: without gradients of weights and bias. Default 0: with. */
  int32_t frozen SYNFIRE_FLAG;
  /** Bits of the grid of dL/dy in the gradients of weights and bias in f32: 24 or 32. Default: 32, because after a
   *  normalisation or a pool many places have the same dL/dy, whose errors add up. Ignored in f64. */
  int32_t gradient_bits;
  /** Bits of the grid of dL/dy in the gradient of the input in f32: 16, 24 or 32. With 24 its error is about 6e-7 of the
   *  root mean square of the gradients of a row, with 16 about 1.5e-4. Default: 24. Ignored in f64. */
  int32_t input_gradient_bits;
  /** One of `SYNFIRE_INITIALIZATION_*`; the number of inputs in their formulas is that of one output, kernel_height *
   *  kernel_width * C / groups. Default: uniform. */
  int32_t initialization SYNFIRE_ONE_OF(SYNFIRE_INITIALIZATION);
  /** The largest count of the input, 1 to 255. Ignored for other inputs. Default: 255. */
  int32_t count_bound;
  /** The value of a count of 1, above 0 and at most 1: weights are multiplied by it, and rounded to f32, before they are
   *  put on their grid. 0 or 1 unless the input is counts. Default: 1. */
  float count_scale;
  /** As synfire_synapse_desc::weight_bits: 8, 16, 24 or 0. Default 0: 24. Must be 0 in f64. */
  int32_t weight_bits;
  /** A factor on the initial weights, at most 1e30. Default: 1. */
  double gain;
  /** Any number. Different seeds give independent weights. */
  uint64_t seed;
  /** Connections in the shape of the weights: 1 where there is one; weights elsewhere stay 0, and so do their gradients.
   *  Read during the call. Default: all. */
  const uint8_t *mask SYNFIRE_NULLABLE;
  /** How many bytes `mask` has: as many as there are weights, or 0 without one. */
  uint64_t mask_length SYNFIRE_LENGTH_OF(mask);
} synfire_conv2d_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_CONV2D_DESC_INIT                                                                                   \
  {                                                                                                                \
    (uint32_t)sizeof(synfire_conv2d_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        0.0f, 0, 0.0, 0u, NULL, 0u                                                                                 \
  }

/** How to create a population code. Zero means the default in every field except `struct_size`, `channels` and `n_cells`.
 *
 * Each input x[i] has P cells with a place mu and a width sigma of their own, and drives cell p by how near it is:
 * y[i * P + p] = exp(-(x[i] - mu[i, p])^2 / (2 * sigma[i, p]^2)), a number from 0 to 1. Neurons make spikes of it, or
 * synfire_encode_bernoulli() takes it as rates. The encoder of Tang et al., "Deep reinforcement learning with
 * population-coded spiking neural network for continuous control" (CoRL 2020), is this code before IF neurons with a soft
 * reset.
 *
 * Inputs are values. Rows are maps `[H, W, C]` with the channels fastest, K = H * W * C inputs; outputs are maps `[H, W,
 * C * P]`. The arrays `"mu"` and `"sigma"` are `[K, P]`. It takes neither a mask nor dropout. @since ABI 0.3 */
typedef struct synfire_population_desc {
  /** `sizeof(synfire_population_desc)`. */
  uint32_t struct_size;
  /** Type of mu, sigma, outputs and gradients: `SYNFIRE_DTYPE_F32` (default) or `SYNFIRE_DTYPE_F64`. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** Channels C, at least 1: the number of inputs if they have no map. */
  int64_t channels SYNFIRE_REQUIRED;
  /** Cells P of each input, at least 1. */
  int64_t n_cells SYNFIRE_REQUIRED;
  /** Height H of the map. Default: 1. */
  int64_t height;
  /** Width W of the map. Default: 1. */
  int64_t width;
  /** The mu of the first cell of each input at the start. Finite in its type. Default, if `upper` is 0 too: -3. */
  double lower;
  /** The mu of the last cell, above `lower`; those between are at equal distances, and a single cell is in the middle.
   *  Default, if `lower` is 0 too: 3. */
  double upper;
  /** The sigma of all cells at the start, above 0. Default: the distance between the mu of neighbouring cells, or
   *  `upper` - `lower` of a single one. */
  double sigma;
  /** 1: without gradients of mu and sigma. Default 0: with. */
  int32_t frozen SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
} synfire_population_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_POPULATION_DESC_INIT \
  { (uint32_t)sizeof(synfire_population_desc), 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0, 0u }

/** The parts of a synapse with delays that have a delay of their own. @since ABI 0.3 */
enum {
  /** Each connection: D[n, k]. */
  SYNFIRE_DELAYS_OF_CONNECTIONS = 0,
  /** Each input, for all its connections: D[n, k] = D[k]. */
  SYNFIRE_DELAYS_OF_INPUTS = 1,
  /** Each output, for all its connections: D[n, k] = D[n]. */
  SYNFIRE_DELAYS_OF_OUTPUTS = 2
};

/** How to create a synapse with delays. Zero means the default in every field except `struct_size`, the two lengths and
 * `max_delay`.
 *
 * A spike of input k at step t reaches output n at step t + D[n, k], in whole steps from 0 to `max_delay`, M. Inputs are
 * spikes. The arrays are `"weight"` `[N, K]`, `"delay"`, `"bias"` `[N]` with a bias and, with learnt delays, `"width"`
 * `[1]`. Delays are `[N, K]`; those of inputs are `[K]` and those of outputs `[N]` (`delays_of`), which are fixed, may be
 * longer, and take neither the memory nor the time of planes for all delays.
 *
 * Learnt delays are dilated convolutions with learnable spacings: Hammouamri, Khalfaoui-Hassani and Masquelier, "Learning
 * delays in spiking neural networks using dilated convolutions with learnable spacings" (ICLR 2024). A connection then has
 * a weight at every delay d, from 0 to M, the more the nearer d is to D[n, k], which need not be whole:
 *
 *     w[n, k, d] = W[n, k] * G(d - D[n, k])        G(d - D) = exp(-(d - D)^2 / (2 * width^2)) / c
 *
 * with c such that the G of a connection add up to 1. A training begins with a large width, and writes smaller ones as it
 * goes on: synfire_synapse_write() of `"width"`. Evaluation rounds D to the nearest step
 * (synfire_synapse_forward_desc::round_delays). @since ABI 0.3 */
typedef struct synfire_delayed_desc {
  /** `sizeof(synfire_delayed_desc)`. */
  uint32_t struct_size;
  /** Type of the arrays, outputs and gradients: `SYNFIRE_DTYPE_F32` (default) or `SYNFIRE_DTYPE_F64`. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** Inputs K, at least 1. (M + 1) * (K rounded up to a multiple of 32) is at most 2^29; with delays of inputs or of
   *  outputs, K rounded up is. */
  int64_t n_inputs SYNFIRE_REQUIRED;
  /** Outputs N, at least 1. */
  int64_t n_outputs SYNFIRE_REQUIRED;
  /** The longest delay M in steps, 1 to 255 of connections and 1 to 65,535 of inputs and of outputs. */
  int32_t max_delay SYNFIRE_REQUIRED;
  /** 1: delays are learnt, those of connections. Default 0: they are fixed, whole, and have no gradient. */
  int32_t learn_delays SYNFIRE_FLAG;
  /** The width of learnt delays at the start, in steps, at least 1e-3 and at most 1e6. Default: M / 2. Must be 0 with fixed
   *  delays. */
  double width;
  /** 1: with a bias. Default 0: without. */
  int32_t bias SYNFIRE_FLAG;
  /** 1: without gradients. Default 0: with. */
  int32_t frozen SYNFIRE_FLAG;
  /** As synfire_synapse_desc::gradient_bits. */
  int32_t gradient_bits;
  /** As synfire_synapse_desc::initialization, of weights and bias. */
  int32_t initialization SYNFIRE_ONE_OF(SYNFIRE_INITIALIZATION);
  /** As synfire_synapse_desc::weight_bits, of the w[n, k, d]. */
  int32_t weight_bits;
  /** One of `SYNFIRE_DELAYS_OF_*`. Default: connections. */
  int32_t delays_of SYNFIRE_ONE_OF(SYNFIRE_DELAYS_OF);
  /** A factor on the initial weights, at most 1e30. Default: 1. */
  double gain;
  /** Any number. Different seeds give independent weights and delays. */
  uint64_t seed;
  /** The delays `[N, K]`, `[K]` or `[N]` at the start, each from 0 to M, and whole if they are fixed. Read during the call.
   *  Default: drawn with `seed`, uniform from 0 to M. */
  const double *delays SYNFIRE_NULLABLE;
  /** How many numbers `delays` has: N * K, K or N, or 0 without them. */
  uint64_t delays_length SYNFIRE_LENGTH_OF(delays);
  /** As synfire_synapse_desc::mask: connections `[N, K]`. */
  const uint8_t *mask SYNFIRE_NULLABLE;
  /** How many bytes `mask` has: N * K, or 0 without one. */
  uint64_t mask_length SYNFIRE_LENGTH_OF(mask);
} synfire_delayed_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_DELAYED_DESC_INIT \
  { (uint32_t)sizeof(synfire_delayed_desc), 0, 0, 0, 0, 0, 0.0, 0, 0, 0, 0, 0, 0, 0.0, 0u, NULL, 0u, NULL, 0u }

/** Memory of a synapse, in bytes of device memory: synfire_synapse_query_memory(). */
typedef struct synfire_synapse_memory {
  /** `sizeof(synfire_synapse_memory)`; set before the call. */
  uint32_t struct_size;
  /** Always 0. */
  uint32_t reserved;
  /** Weights, bias and mask. */
  uint64_t weight_bytes;
  /** Memory that products use: the weights on their grid, in the orders of both directions. Counts the copies for
   *  tensor cores too, which only a CUDA context allocates: 3 bytes for each weight and direction, padded. */
  uint64_t derived_bytes;
  /** Gradients of weights and bias; allocated when the first backward that needs them is recorded or run, or when one is
   *  read. */
  uint64_t gradient_bytes;
} synfire_synapse_memory;

/** All zeros except for `struct_size`. */
#define SYNFIRE_SYNAPSE_MEMORY_INIT \
  { (uint32_t)sizeof(synfire_synapse_memory), 0u, 0u, 0u, 0u }

/** The shapes and types of a synapse, as synfire_synapse_get_info() returns them.
 *
 * A row, one step of one batch row, is a map `[H, W, C]`: element (h, w, c) is number (h * W + w) * C + c. Features
 * without a place have H = W = 1. */
typedef struct synfire_synapse_info {
  /** `sizeof(synfire_synapse_info)`; set before the call. */
  uint32_t struct_size;
  /** Its inputs: one of `SYNFIRE_INPUT_*`. */
  int32_t input_kind SYNFIRE_ONE_OF(SYNFIRE_INPUT);
  /** Height of a row of the input. */
  int64_t input_height;
  /** Width of a row of the input. */
  int64_t input_width;
  /** Channels of a row of the input. The number of inputs K is the product of the three. */
  int64_t input_channels;
  /** Height of a row of the output. */
  int64_t output_height;
  /** Width of a row of the output. */
  int64_t output_width;
  /** Channels of a row of the output. The number of outputs N is the product of the three. */
  int64_t output_channels;
  /** Multiplications and additions that the product of one row takes, as pairs. */
  uint64_t row_operations;
  /** Type of outputs and gradients: `SYNFIRE_DTYPE_F32` or `SYNFIRE_DTYPE_F64`. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** How many arrays it has: synfire_synapse_get_array_info(). */
  uint32_t n_arrays;
  /** 1: its arrays have no gradients. */
  int32_t frozen SYNFIRE_FLAG;
  /** 1: a synapse of this kind can be created with a mask of connections. */
  int32_t takes_mask SYNFIRE_FLAG;
  /** 1: its products take dropout: synfire_synapse_forward_desc::input_mask. */
  int32_t takes_dropout SYNFIRE_FLAG;
  /** The bits of the grid in gradients of its arrays, 24 or 32: those that were asked for, or the default. */
  int32_t gradient_bits;
  /** The kind: `"dense"`, `"one_to_one"`, `"conv2d"`, `"population"`, `"delayed"` or `"normalization"`. A constant string
   *  that lives as long as the library. */
  const char *kind;
  /** The bits of its weights on their grid, 8, 16 or 24; 0 if they have none. */
  int32_t weight_bits;
  /** 1: it was created with a mask of connections. */
  int32_t has_mask SYNFIRE_FLAG;
} synfire_synapse_info;

/** All zeros except for `struct_size`. */
#define SYNFIRE_SYNAPSE_INFO_INIT \
  { (uint32_t)sizeof(synfire_synapse_info), 0, 0, 0, 0, 0, 0, 0, 0u, 0, 0u, 0, 0, 0, 0, NULL, 0, 0 }

/** An array of a synapse, as synfire_synapse_get_array_info() returns it. */
typedef struct synfire_synapse_array_info {
  /** `sizeof(synfire_synapse_array_info)`; set before the call. */
  uint32_t struct_size;
  /** Type of the array and of its gradient: `SYNFIRE_DTYPE_F32` or `SYNFIRE_DTYPE_F64`. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** 1: it is trained. Unless the synapse is frozen, it has a gradient, whose name is that of the array and
   *  `"_gradient"`, and an optimiser takes it. 0: the synapse changes it as it runs. */
  int32_t trained SYNFIRE_FLAG;
  /** Number of dimensions, 1 to 4. */
  uint32_t n_dimensions;
  /** The lengths, row-major; 0 beyond the last one. */
  int64_t shape[4];
  /** The name, a constant string that lives as long as the library. */
  const char *name;
} synfire_synapse_array_info;

/* clang-format off */
/** All zeros except for `struct_size`. */
#define SYNFIRE_SYNAPSE_ARRAY_INFO_INIT \
  { (uint32_t)sizeof(synfire_synapse_array_info), 0, 0, 0u, { 0, 0, 0, 0 }, NULL }
/* clang-format on */

/** How far the weights of a synapse are from their grid, as synfire_synapse_get_rounding() returns it. Since ABI 0.3. */
typedef struct synfire_synapse_rounding {
  /** `sizeof(synfire_synapse_rounding)`; set before the call. */
  uint32_t struct_size;
  /** 1: each output has a grid to which its weights are rounded: those of dense synapses, synapses with delays and
   *  convolutions in f32, for all their products with spikes and counts, with synfire_synapse_desc::weight_bits below 24
   *  also for those with values, and for dL/dx of values. 0: there is none, and everything below is 0. */
  int32_t has_grid SYNFIRE_FLAG;
  /** How many weights are not 0. */
  uint64_t n_weights;
  /** How many of these become 0 on the grid. */
  uint64_t n_lost;
  /** The largest relative error of a weight w that is not 0 and lies at q on the grid 2^s, |q * 2^s - w| / |w|: 1 if one
   *  becomes 0. */
  double largest_error;
  /** The same of the biases. 0 for values, whose biases have no grid. */
  double largest_bias_error;
  /** The output that has the largest error of a weight; of several, the lowest one. */
  int64_t output;
} synfire_synapse_rounding;

/** All zeros except for `struct_size`. */
#define SYNFIRE_SYNAPSE_ROUNDING_INIT \
  { (uint32_t)sizeof(synfire_synapse_rounding), 0, 0u, 0u, 0.0, 0.0, 0 }

/** The product of a synapse with its input: y = W x + b for every step and batch row.
 *
 * Spikes in f32: each output n has a grid 2^s, the finest with s >= -149 on which its largest weight is at most
 * 8,355,711 and its bias at most 2^31 - 1. Weights and bias are rounded to it, ties to even, and added as integers; the
 * sum is rounded once. The error against the weights as they are is at most (fired + 1) * 1.2e-7 * max|w| as long as
 * |b| <= 256 max|w|. A weight that is 1,000 times larger than the others of its output leaves those 14 bits.
 *
 * With synfire_synapse_desc::weight_bits 16 or 8, weights are multiples of 2^(s + 8) or 2^(s + 16): the integer of a
 * weight is 2^(24 - bits) * round(w / 2^(s + 24 - bits)), and s the finest, at least -149, on which the largest is at most
 * 0x7F7F00 or 0x7F0000. All else is the same: the bias stays on the grid 2^s. A weight that is rounded to 2^128 counts as
 * infinite in products with values.
 *
 * Values, and all products in f64: chains of 64 fused multiply-adds in the order of the inputs, each from +0; the sums of
 * the chains are added within blocks of 1,024 inputs, and the blocks in f64; then the bias is added, and the result is
 * rounded once. Weights of values are taken as they are, in f32 too, unless they have fewer than 24 bits: then those on
 * their grid are read, as numbers.
 *
 * With `input_mask`, inputs whose bit is 0 count as +0, and the sum of the others is multiplied by c = `input_scale[0]`.
 * Spikes in f32: y = fma(f32(S), f32(2^s * c), bias), where S is the sum of integers without the bias, which is added as
 * it is stored (+0 if there is none); where S is 0, y = bias + 0. Otherwise, with the sum S of the blocks in f64: S * c,
 * or fma(S, c, bias), in f64, rounded once more in f32. With a mask of ones and c = 1 the results of spikes in f32 may
 * differ in rounding from those without a mask, because the bias is not on the grid. */
typedef struct synfire_synapse_forward_desc {
  /** `sizeof(synfire_synapse_forward_desc)`. */
  uint32_t struct_size;
  /** 1: a synapse with learnt delays rounds each D[n, k] to the nearest step, half-way ones up: w[n, k, d] is W[n, k]
   *  there and 0 elsewhere, as in an evaluation. Default 0. Has no effect on other synapses. Since ABI 0.3. */
  int32_t round_delays SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read. Spikes in any format, counts in u8, or values: f32, f16 or bf16 (f64 in an f64 synapse). */
  synfire_buffer input SYNFIRE_READ("spikes [T, B, K]");
  /** Written: f32 (f64 in an f64 synapse). Must not overlap `input`. */
  synfire_buffer output SYNFIRE_WRITTEN("[T, B, N]");
  /** u32, read: only this many batch rows, from the first on, are active; the outputs of others are +0. More than B
   *  count as B. Default: all rows are active. */
  synfire_buffer n_active SYNFIRE_READ("[1]") SYNFIRE_NULLABLE;
  /** Dropout: inputs `[B, K]` that count in every step, ::SYNFIRE_DTYPE_BITS (`[B, ceil(K/32)]` words), as
   *  synfire_dropout() draws them, read. Others count as +0. Default: all inputs count, and nothing is scaled. */
  synfire_buffer input_mask SYNFIRE_READ("[B, K]") SYNFIRE_NULLABLE;
  /** The factor on W x, f32 (f64 in an f64 synapse), read. Needed with `input_mask`, and only with it. */
  synfire_buffer input_scale SYNFIRE_READ("[1]") SYNFIRE_WITH(input_mask);
  /** Dropout of whole channels: `input_mask` is `[B, mask_channels]`, and input i uses bit i mod `mask_channels`, which
   *  must divide K. With the channels of a map, all places of a channel are kept or dropped together. 0 without a mask.
   *  Default: K, a bit for each input. Since ABI 0.3. */
  int64_t mask_channels;
  /** The spikes of the last M steps before step 0, the earliest one first, for a synapse with delays; any other one
   *  refuses it. ::SYNFIRE_DTYPE_BITS (`[M, B, ceil(K/32)]` words), read. Default: there were none. Since ABI 0.3. */
  synfire_buffer history SYNFIRE_READ("[M, B, K]") SYNFIRE_NULLABLE;
  /** The `history` of the next T steps, likewise, written; rows that are not active get theirs of `history`. Must not
   *  overlap `history`, which the backward reads: copy it there after that. Since ABI 0.3. */
  synfire_buffer next_history SYNFIRE_WRITTEN("[M, B, K]") SYNFIRE_NULLABLE;
} synfire_synapse_forward_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_SYNAPSE_FORWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_synapse_forward_desc), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL }

/** The gradients of a product, from dL/dy.
 *
 * dL/dW and dL/db become the synapse's `"weight_gradient"` and `"bias_gradient"`. In f32, dL/dy of each output is rounded
 * to a grid for its largest magnitude over all steps and active rows, values to one of 24 bits for the largest of their
 * input, and the terms, or their products, are added as integers; an output with a dL/dy, or an input with a value, that
 * is not finite has NaN. In f64, terms are added in the order of ::synfire_synapse_forward_desc, step by step, row by row.
 *
 * dL/dx is the product of dL/dy with the weights on their grid, also for values. In f32, dL/dy[n] * 2^s[n] of
 * each row is rounded to a grid of 24 bits for its largest magnitude, and the products with the weights are added as
 * integers; of a row with a term that is not finite, dL/dx is NaN. In f64 they are added in the fixed order.
 *
 * With `input_mask`, dropped inputs count as +0 in dL/dW, and their dL/dx is +0. All other elements of dL/dW and dL/dx
 * are multiplied by c = `input_scale[0]`: what would be rounded to f32 without a mask, the integer sum times the power
 * of two of its grid or the sum of the blocks, is multiplied in f64 before. dL/db is not scaled. */
typedef struct synfire_synapse_backward_desc {
  /** `sizeof(synfire_synapse_backward_desc)`. */
  uint32_t struct_size;
  /** 1: gradients of weights and bias are added to what the synapse holds. Default 0: they replace it. */
  int32_t add_gradients SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** dL/dy, read: f32 (f64 in an f64 synapse). */
  synfire_buffer grad_output SYNFIRE_READ("[T, B, N]");
  /** The input of the forward, read, for the gradients of weights and bias. Null: these are not computed. A population
   *  code needs it for `grad_input` too, also if it is frozen. */
  synfire_buffer input SYNFIRE_READ("spikes [T, B, K]") SYNFIRE_NULLABLE;
  /** dL/dx, written: f32 (f64 in an f64 synapse). Null: it is not computed. At least one of the two is needed. */
  synfire_buffer grad_input SYNFIRE_UPDATED("[T, B, K]") SYNFIRE_NULLABLE;
  /** As synfire_synapse_forward_desc::n_active: other rows count nowhere, and their dL/dx is +0. */
  synfire_buffer n_active SYNFIRE_READ("[1]") SYNFIRE_NULLABLE;
  /** 1: dL/dx is added to what `grad_input` holds. Default 0: it replaces it. */
  int32_t add_input_gradient SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
  /** As synfire_synapse_forward_desc::input_mask, and the same as in the forward. */
  synfire_buffer input_mask SYNFIRE_READ("[B, K]") SYNFIRE_NULLABLE;
  /** As synfire_synapse_forward_desc::input_scale, and the same as in the forward. */
  synfire_buffer input_scale SYNFIRE_READ("[1]") SYNFIRE_WITH(input_mask);
  /** As synfire_synapse_forward_desc::mask_channels, and the same as in the forward. Since ABI 0.3. */
  int64_t mask_channels;
  /** As synfire_synapse_forward_desc::history, and the same as in the forward: its spikes count in the gradients of the
   *  arrays, and have no dL/dx. Since ABI 0.3. */
  synfire_buffer history SYNFIRE_READ("[M, B, K]") SYNFIRE_NULLABLE;
} synfire_synapse_backward_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT \
  { (uint32_t)sizeof(synfire_synapse_backward_desc), 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0u, NULL, NULL, 0, NULL }

/** Draws which neurons of each batch row dropout keeps, for all steps of a sequence: a mask and a factor, which products
 * of synapses take (synfire_synapse_forward_desc::input_mask and synfire_synapse_forward_desc::input_scale).
 *
 * A neuron is dropped with the probability p, independently of all others; the factor is 1 / (1 - p), computed in f64.
 * With p = 0, as in an evaluation, all are kept and the factor is 1. Which neurons are kept depends only on p, `seed`,
 * `offset`, the batch row b and the neuron n, and not on N, B or the backend. It is drawn with the generator of
 * ::synfire_encode_bernoulli_desc: the key of Philox4x32-10 is `seed`, and the counter consists of the words n / 4, b,
 * and the low and the high word of `offset`. The neuron is dropped if word n mod 4 of the result is below p * 2^32,
 * rounded down. An encoding with the same seed draws the same numbers, so the seeds should differ. */
typedef struct synfire_dropout_desc {
  /** `sizeof(synfire_dropout_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Neurons N of one batch row, at least 1, at most 2^34. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B, at most 2^32. Default: 1. */
  int64_t batch;
  /** The probability p with which a neuron is dropped, from 0 (default) to less than 1. The operation's value
   *  `"probability"`. */
  double probability;
  /** Written: `[B, N]` of ::SYNFIRE_DTYPE_BITS, `[B, ceil(N/32)]` words: 1 is kept. Bits beyond N are 0. */
  synfire_buffer mask SYNFIRE_WRITTEN("[B, N]");
  /** Written, f32 or f64: 1 / (1 - p). Must not overlap `mask`. */
  synfire_buffer scale SYNFIRE_WRITTEN("[1]");
  /** Any number. Different seeds give independent masks. The operation's value `"seed"`. */
  uint64_t seed;
  /** Number of the mask in the sequence of the seed. In a graph, this is the mask of the first replay; each replay draws
   *  the next one. The operation's value `"offset"`. */
  uint64_t offset;
} synfire_dropout_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_DROPOUT_DESC_INIT \
  { (uint32_t)sizeof(synfire_dropout_desc), 0u, 0, 0, 0.0, NULL, NULL, 0u, 0u }

/**
 * Computes how much memory a synapse would take, before anything is allocated.
 *
 * @param desc           The synapse.
 * @param[in,out] memory In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY (a
 *         size that cannot be represented).
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_query_memory(const synfire_synapse_desc *desc,
                                                                     synfire_synapse_memory *memory) SYNFIRE_NOEXCEPT;

/**
 * Creates a synapse with initial weights.
 *
 * @param context      The context it belongs to.
 * @param desc         What to create.
 * @param[out] synapse Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes. @allocates yes. @enqueues copies and a kernel, and waits for them. @capture legal (they do not become part
 * of a capture). @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_create(synfire_context context,
                                                               const synfire_synapse_desc *desc,
                                                               synfire_synapse *synapse) SYNFIRE_NOEXCEPT;

/**
 * Computes how much memory a one-to-one synapse would take, before anything is allocated.
 *
 * @param desc           The synapse.
 * @param[in,out] memory In: `struct_size`. Out: everything else.
 * @return As synfire_synapse_query_memory().
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_query_memory_one_to_one(const synfire_one_to_one_desc *desc,
                                                                                synfire_synapse_memory *memory)
    SYNFIRE_NOEXCEPT;

/**
 * Creates a one-to-one synapse.
 *
 * Its product is y[i] = fma(w[e], x[i], b[e]) in the type of the synapse for element i and its entry e, where x is 0 or 1
 * for spikes; nothing is rounded to a grid. dL/dx[i] is w[e] * dL/dy[i].
 *
 * dL/dw[e] and dL/db[e] are sums over the steps, the active rows and the elements i of entry e: of dL/dy[i] * x[i], and
 * of dL/dy[i]. Spikes in f32: dL/dy is rounded to a grid for the largest magnitude of the entry and added as integers, as
 * in ::synfire_synapse_backward_desc. Values in f32: the sum over the steps of each element, from the last step back in
 * f64, is rounded to f32, and these are added as integers on a grid of 32 bits. An entry with a term that is not finite
 * is NaN. In f64, terms are added in the order of ::synfire_synapse_backward_desc, the elements of a row ascending.
 *
 * @param context      The context it belongs to.
 * @param desc         What to create.
 * @param[out] synapse Receives the handle, or null on failure.
 * @return As synfire_synapse_create().
 * @blocks yes. @allocates yes. @enqueues copies, and waits for them. @capture legal (they do not become part of a
 * capture). @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_create_one_to_one(synfire_context context,
                                                                          const synfire_one_to_one_desc *desc,
                                                                          synfire_synapse *synapse) SYNFIRE_NOEXCEPT;

/**
 * Computes how much memory a population code would take, before anything is allocated.
 *
 * @param desc           The population code.
 * @param[in,out] memory In: `struct_size`. Out: everything else.
 * @return As synfire_synapse_query_memory().
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_query_memory_population(const synfire_population_desc *desc,
                                                                                synfire_synapse_memory *memory)
    SYNFIRE_NOEXCEPT;

/**
 * Creates a population code, a synapse whose arrays are the places and widths of its cells.
 *
 * In the type of the synapse, each operation rounded once, for input i and its cell p, output n = i * P + p:
 *
 *     z = (x[i] - mu[i, p]) / sigma[i, p]        y[n] = exp(-0.5 * (z * z))
 *     h = y[n] * z / sigma[i, p]                 w = h * z
 *
 * exp is the library's own, the same bits on every machine. dy/dmu = h, dy/dsigma = w and dy/dx = -h. The sign of sigma
 * makes no difference to y. With a sigma of 0, y is +0, or NaN where x = mu; nothing keeps a training from it. An x that is
 * infinite has y = +0 and gradients that are NaN.
 *
 * dL/dx[i] is the sum of -dL/dy[n] * h over the cells of i, from +0, the first cell first, in f64, rounded once.
 * dL/dmu and dL/dsigma are sums of dL/dy[n] * h and dL/dy[n] * w over the steps and the active rows. For each row and
 * cell, the steps are added in f64, from the last one back, and the sum is rounded to the type of the synapse. In f32
 * these are added over the rows as integers on a grid of 32 bits for the largest magnitude of the cell, and a cell with
 * one that is not finite has NaN; in f64, in the order of the rows.
 *
 * @param context      The context it belongs to.
 * @param desc         What to create.
 * @param[out] synapse Receives the handle, or null on failure.
 * @return As synfire_synapse_create().
 * @blocks yes. @allocates yes. @enqueues copies, and waits for them. @capture legal (they do not become part of a
 * capture). @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_create_population(synfire_context context,
                                                                          const synfire_population_desc *desc,
                                                                          synfire_synapse *synapse) SYNFIRE_NOEXCEPT;

/**
 * Computes how much memory a synapse with delays would take, before anything is allocated.
 *
 * @param desc           The synapse.
 * @param[in,out] memory In: `struct_size`. Out: everything else.
 * @return As synfire_synapse_query_memory().
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_query_memory_delayed(const synfire_delayed_desc *desc,
                                                                             synfire_synapse_memory *memory)
    SYNFIRE_NOEXCEPT;

/**
 * Creates a synapse with delays of its connections, inputs or outputs.
 *
 * Its product is that of a dense synapse (::synfire_synapse_forward_desc) over the inputs x[t - d, k] of all delays d from
 * 0 to M, with the weights w[n, k, d]: in f32 an exact sum, on one grid for each output. With fixed delays w[n, k, d] is
 * W[n, k] where d = D[n, k], and 0 elsewhere; with learnt ones as ::synfire_delayed_desc says, computed in f64 and rounded
 * once to the type of the synapse.
 *
 * dL/dw[n, k, d] and dL/db[n] are the gradients of that dense synapse (::synfire_synapse_backward_desc). In f64, over
 * ascending d from +0, each rounded once:
 *
 *     dL/dW[n, k] = sum of dL/dw[n, k, d] * G(d - D)
 *     dL/dD[n, k] = W[n, k] / width^2 * sum of dL/dw[n, k, d] * G(d - D) * (d - m)        m = sum of d * G(d - D)
 *
 * dL/dx[t, k] is the sum of the dL/dx of that dense synapse at the steps t + d of the pass, over ascending d, in the type of
 * the synapse; with `add_input_gradient`, the sum begins with what `grad_input` holds. The backward is that of a forward
 * without synfire_synapse_forward_desc::round_delays.
 *
 * With delays of inputs or of outputs (synfire_delayed_desc::delays_of) there is one plane, W: the dense synapse has
 * K inputs, and reads x[t - D[k], k], or gives output n its y of step t - D[n]. In f32, where dL/dy is finite, all results are
 * those of delays of connections with D[n, k] = D[k] or D[n], but for dL/dx with delays of outputs: that of a dense synapse
 * whose dL/dy at step t is dL/dy[t + D[n], n], +0 beyond the pass, on one grid for each row of the input. With delays of
 * outputs, a pass of T steps takes the product of M + T steps.
 *
 * A delay that a training moves below 0 or above M becomes 0 or M. synfire_synapse_write() refuses `"delay"` outside of
 * these bounds, fixed ones that are not whole, and a `"width"` below 1e-3 or above 1e6. Delays where the mask has no
 * connection have no effect, and their gradients are 0. It takes no dropout, and no layer's pass takes it
 * (synfire_forward_desc::synapse): its product is an operation of its own.
 *
 * @param context      The context it belongs to.
 * @param desc         What to create.
 * @param[out] synapse Receives the handle, or null on failure.
 * @return As synfire_synapse_create().
 * @blocks yes. @allocates yes. @enqueues copies and kernels, and waits for them. @capture legal (they do not become part of
 * a capture). @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_create_delayed(synfire_context context,
                                                                       const synfire_delayed_desc *desc,
                                                                       synfire_synapse *synapse) SYNFIRE_NOEXCEPT;

/**
 * Computes how much memory a convolution would take, before anything is allocated.
 *
 * @param desc           The convolution.
 * @param[in,out] memory In: `struct_size`. Out: everything else.
 * @return As synfire_synapse_query_memory(), or ::SYNFIRE_ERROR_UNSUPPORTED (more inputs of an output than can be added
 *         exactly).
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_query_memory_conv2d(const synfire_conv2d_desc *desc,
                                                                            synfire_synapse_memory *memory)
    SYNFIRE_NOEXCEPT;

/**
 * Creates a convolution with initial weights.
 *
 * Each output channel is a row of weights, with the grid and the product of ::synfire_synapse_forward_desc; the order of
 * the inputs of an output is that of the weights, and inputs outside the map count in the chains as +0. A kernel of the
 * size of the map gives the bits of a synapse of synfire_synapse_create(). Gradients of weights and bias are those of
 * ::synfire_synapse_backward_desc over all places of all steps and active rows: each output channel has one grid, values
 * have one for each input channel, and in f64 the places of a row are ordered after the rows. The gradient of the input
 * has one grid for each row, for the largest |dL/dy[n] * 2^s[n]| of all its places; in f64, the terms of an input are
 * ordered by the places of the kernel, then by output channels. The gradients of weights that `count_scale` multiplied
 * are multiplied by it too.
 *
 * @param context      The context it belongs to.
 * @param desc         What to create.
 * @param[out] synapse Receives the handle, or null on failure.
 * @return As synfire_synapse_create(), or ::SYNFIRE_ERROR_UNSUPPORTED (more inputs of an output than can be added
 *         exactly).
 * @blocks yes. @allocates yes. @enqueues copies and kernels, and waits for them. @capture legal (they do not become part
 * of a capture). @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_create_conv2d(synfire_context context,
                                                                      const synfire_conv2d_desc *desc,
                                                                      synfire_synapse *synapse) SYNFIRE_NOEXCEPT;

/**
 * Destroys a synapse. Graphs that use it keep it until they are destroyed too.
 *
 * @param synapse A synapse, or null (nothing happens). A stale handle is ignored.
 * @blocks no (it queues). @allocates no. @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.2
 */
SYNFIRE_API void SYNFIRE_CALL synfire_synapse_destroy(synfire_synapse synapse SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Describes a synapse.
 *
 * @param synapse      A synapse.
 * @param[in,out] info In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_get_info(synfire_synapse synapse, synfire_synapse_info *info)
    SYNFIRE_NOEXCEPT;

/**
 * Describes an array of a synapse.
 *
 * @param synapse      A synapse.
 * @param index        0, 1, 2 ...: below synfire_synapse_info::n_arrays.
 * @param[in,out] info In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT if `index` is past the last one (`info` is then untouched);
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_get_array_info(synfire_synapse synapse, uint32_t index,
                                                                       synfire_synapse_array_info *info)
    SYNFIRE_NOEXCEPT;

/**
 * Says how far the weights of a synapse, or of one of its outputs, are from the grid on which products add them, after
 * every replay that uses it and was launched before. A weight that is far smaller than the largest one of its output
 * loses bits there, or becomes 0.
 *
 * @param synapse          A synapse.
 * @param output           The number of an output, or -1 for all of them.
 * @param[in,out] rounding In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks until done. @allocates host memory for the time of the call. @enqueues copies on the context's own stream.
 * @capture legal (they do not become part of a capture). @threads one at a time per synapse. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_get_rounding(synfire_synapse synapse, int64_t output,
                                                                     synfire_synapse_rounding *rounding)
    SYNFIRE_NOEXCEPT;

/**
 * Reads the integers that products of a synapse add, for a device that computes them itself, after every replay that uses
 * the synapse and was launched before. With B = synfire_synapse_info::weight_bits, the outputs of spikes and counts x are
 * y[n] = f32(b[n] + 2^(24 - B) * sum(w[n, k] * x[k])) * 2^s[n]: the sum and the bias as integers, rounded once to f32, and
 * multiplied in f32. An output with a weight or a bias that is not finite has none of these.
 *
 * @param synapse A synapse in f32 of the kind `"dense"` or `"conv2d"`.
 * @param name    `"weight"`: w in the shape of that array, from -127 to 127 with 8 bits, from -32,639 to 32,639 with 16.
 *                `"exponent"`: s, one for each row of `"weight"`, of which there are N in a dense synapse and
 *                `output_channels` in a convolution. `"bias"`: b, one for each row; only of synapses of spikes and
 *                counts that have a bias.
 * @param[out] values Receives `count` integers, in host memory.
 * @param count   Exactly as many as there are: synfire_synapse_get_array_info() has the shape of `"weight"`.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_UNSUPPORTED
 *         (weights of this synapse have no grid), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA. After a failure `values` is untouched.
 * @blocks until done. @allocates host memory for the time of the call. @enqueues copies on the context's own stream.
 * @capture legal (they do not become part of a capture). @threads one at a time per synapse. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_read_integers(synfire_synapse synapse, const char *name,
                                                                      int32_t *values,
                                                                      uint64_t count SYNFIRE_LENGTH_OF(values))
    SYNFIRE_NOEXCEPT;

/**
 * Reads an array of a synapse, after every replay that uses it and was launched before.
 *
 * @param synapse A synapse.
 * @param name    That of an array, or of its gradient. Those that synfire_synapse_create() makes have `"weight"` and
 *                `"weight_gradient"`, `[N, K]`, and with a bias `"bias"` and `"bias_gradient"`, `[N]`. Since ABI 0.3
 *                `"weights"`, as in a file, is another name of `"weight"`.
 * @param[out] values Receives f32 (f64 in an f64 synapse), in host memory; weights as written or learnt, not on their grid.
 * @param bytes   Size of `values` in bytes: exactly that of the array.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (gradients of a frozen synapse), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until done. @allocates the gradients, if one is read before the first backward. @enqueues a copy on the
 * context's own stream. @capture legal (it does not become part of a capture). @threads one at a time per synapse.
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_read(synfire_synapse synapse, const char *name, void *values,
                                                             uint64_t bytes) SYNFIRE_NOEXCEPT;

/**
 * Replaces an array or a gradient, after every replay that uses the synapse and was launched before.
 *
 * @param synapse A synapse.
 * @param name    As in synfire_synapse_read().
 * @param values  f32 (f64 in an f64 synapse), finite, in host memory. Weights without a connection are set to 0.
 * @param bytes   Size of `values` in bytes: exactly that of the array.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (nothing is changed),
 *         ::SYNFIRE_ERROR_WRONG_ORDER (gradients of a frozen synapse), ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks until done. @allocates the gradients, if one is written before the first backward. @enqueues a copy and a
 * kernel on the context's own stream. @capture legal (they do not become part of a capture).
 * @threads one at a time per synapse, and while no other thread launches a graph with it. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_write(synfire_synapse synapse, const char *name,
                                                              const void *values, uint64_t bytes) SYNFIRE_NOEXCEPT;

/**
 * Computes a product now: the same operation that synfire_graph_record_synapse_forward() records.
 *
 * @param synapse A synapse.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_WRONG_ORDER (a replay that writes the synapse is in flight on
 *         another stream), ::SYNFIRE_ERROR_UNSUPPORTED (dropout of a kind of synapse that takes none),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_CAPTURING (the capture is invalid),
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, except where it allocates; until done on the host. @allocates memory for the time of the call; a
 * host context's threads, with the first work for them. @enqueues up to two kernels on `stream`, and some more for a
 * synapse with delays. @capture legal: on a captured stream it becomes part of the capture (::SYNFIRE_CAPTURED), after
 * waiting for the context's own stream. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_forward(synfire_synapse synapse,
                                                                const synfire_synapse_forward_desc *desc,
                                                                synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Computes the gradients of a product now: the same operation that synfire_graph_record_synapse_backward() records.
 *
 * @param synapse A synapse. Its weights must still be those of the forward.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_WRONG_ORDER (gradients of a frozen synapse; a replay that uses
 *         the synapse is in flight on another stream), ::SYNFIRE_ERROR_UNSUPPORTED (gradients of weights over 2^31 rows
 *         or more, or more places than a convolution can add; of an input that more than 132,106 outputs read, except in
 *         f64; dropout of a kind of synapse that takes none),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_CAPTURING (the capture is invalid),
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, except where it allocates; until done on the host. @allocates scratch memory, and the gradients
 * at the first call. @enqueues kernels on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream. @threads one at a time per synapse. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_synapse_backward(synfire_synapse synapse,
                                                                 const synfire_synapse_backward_desc *desc,
                                                                 synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Appends the product of a synapse with its input.
 *
 * Graphs that only read a synapse may run at the same time on different streams. What writes it, such as a backward
 * that computes gradients of weights, must be ordered with every other use: a launch that is not returns
 * ::SYNFIRE_ERROR_WRONG_ORDER.
 *
 * @param graph   A graph that is not instantiated.
 * @param synapse A synapse of the same context.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (as
 *         synfire_synapse_forward()), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_synapse_forward(synfire_graph graph,
                                                                             synfire_synapse synapse,
                                                                             const synfire_synapse_forward_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends the gradients of a product of a synapse with its input. A synapse may occur several times in a graph; with
 * synfire_synapse_backward_desc::add_gradients its gradients add up.
 *
 * @param graph   A graph that is not instantiated.
 * @param synapse A synapse of the same context.
 * @param desc    What to read and write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated; gradients of a frozen synapse),
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_UNSUPPORTED (as synfire_synapse_backward()), ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory, and the synapse's gradients at the first call. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_synapse_backward(synfire_graph graph,
                                                                              synfire_synapse synapse,
                                                                              const synfire_synapse_backward_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Draws a mask of dropout now: the same operation that synfire_graph_record_dropout() records. Calls do not advance the
 * offset: for the next mask, increase `offset` by 1.
 *
 * @param context The context of both buffers.
 * @param desc    What to write; on a CUDA context, device or pinned buffers.
 * @param stream  The CUDA stream; null is the context's own. Must be null on the host, where the call returns when done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (more neurons or batch rows than can be
 *         distinguished), ::SYNFIRE_ERROR_OUT_OF_MEMORY (the shape cannot be addressed), ::SYNFIRE_ERROR_CAPTURING (the
 *         capture is invalid), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the
 *         context's job system).
 * @blocks no on CUDA, until done on the host. @allocates no; a host context's threads, with the first work for them.
 * @enqueues one kernel on `stream`. @capture legal: on a captured stream it becomes part of the capture
 * (::SYNFIRE_CAPTURED), after waiting for the context's own stream; each run of the captured graph draws the mask
 * `offset` of this call. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_dropout(synfire_context context, const synfire_dropout_desc *desc,
                                                        synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Appends a draw of a mask of dropout. The first replay draws mask synfire_dropout_desc::offset, and each later one the
 * mask after the one before it, without involving the host. A replay in which the operation is disabled does not
 * advance. Setting the operation's value `"offset"` makes the next launch draw that mask, even if an earlier one already
 * did; setting `"probability"` to 0 and back changes between evaluation and training.
 *
 * @param graph A graph that is not instantiated.
 * @param desc  What to write; on a CUDA context, device or pinned buffers.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (more neurons or
 *         batch rows than can be distinguished), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory and device memory. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_dropout(synfire_graph graph,
                                                                     const synfire_dropout_desc *desc) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup optimizer
 * @{ */

/** Takes steps against gradients: its members are arrays of synapses, and parameters of layers. */
typedef struct synfire_optimizer_s *synfire_optimizer;

/** Schedules of the learning rate: synfire_optimizer_step_desc::schedule. A step multiplies its learning rate by a factor
 *  that depends on t, the number of steps taken before: the first step has t = 0, and what is left out counts no step.
 *  With W = `warmup_steps`, the factor of the first W steps is (t + 1) / W, with every schedule. Then, with s = t - W,
 *  N = `schedule_steps` and e = `schedule_factor`, it is as below; all of it in f64, in this order of operations, by the
 *  same code on the host and on GPUs. Since ABI 0.3. */
enum {
  /** The factor is 1. */
  SYNFIRE_SCHEDULE_CONSTANT = 0,
  /** Half a wave of a cosine, from 1 at s = 0 to e at s = N: fma(1 - e, a * a, e), where a is the sine of
   *  pi * (0.5 * (1 - s / N)). From s = N on the factor is e. */
  SYNFIRE_SCHEDULE_COSINE = 1,
  /** A factor e every N steps: e^k, where k is the integer part of s / N, as a product of the powers e^1, e^2, e^4, ...
   *  that k has as binary digits, the smallest first. */
  SYNFIRE_SCHEDULE_STEP = 2
};

/** Kinds of optimisers: synfire_optimizer_desc::kind. The formulas are those of PyTorch, element by element. */
enum {
  /** Stochastic gradient descent: d = g + decay * w, u = momentum * u + d, w = w - rate * u. With
   *  synfire_optimizer_desc::nesterov, w = w - rate * (d + momentum * u). Without momentum there is no u:
   *  w = w - rate * d. */
  SYNFIRE_OPTIMIZER_KIND_SGD = 0,
  /** Adam: d = g + decay * w, m = m + (1 - beta1) * (d - m), v = beta2 * v + (1 - beta2) * (d * d) and
   *  w = w - (rate / (1 - beta1^t)) * (m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)), where t counts the steps from 1.
   *  No step is longer than these formulas allow: synfire_graph_record_optimizer_step() states the bound. */
  SYNFIRE_OPTIMIZER_KIND_ADAM = 1,
  /** Adam with decoupled decay: w is first multiplied by 1 - rate * decay, and d = g. */
  SYNFIRE_OPTIMIZER_KIND_ADAMW = 2
};

/** How to create an optimiser. Zero means the default in every field except `struct_size`. */
typedef struct synfire_optimizer_desc {
  /** `sizeof(synfire_optimizer_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_OPTIMIZER_KIND_*`. Default: stochastic gradient descent. */
  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_OPTIMIZER_KIND);
  /** 1: Nesterov's momentum; `momentum` must be positive. Default 0: without. Ignored by Adam. */
  int32_t nesterov SYNFIRE_FLAG;
  /** How many batches each step is taken for, n: every step operation adds the gradients of its batch to their mean, and
   *  every n-th takes the step (synfire_graph_record_optimizer_step()). With more than 1, the mean takes as much memory as
   *  the gradients. At most 2^20. Default: 1. Since ABI 0.3; before, it had to be 0. */
  uint32_t batches_per_step;
  /** Positive and finite. Default: 1e-3. */
  double learning_rate;
  /** Finite, at least 0. Default: 0; 1e-2 of ::SYNFIRE_OPTIMIZER_KIND_ADAMW. */
  double weight_decay;
  /** Finite, at least 0. Default: 0, which allocates nothing. Ignored by Adam. */
  double momentum;
  /** Adam only: at least 0 and below 1. Default: 0.9. */
  double beta1;
  /** Adam only: at least 0 and below 1. Default: 0.999. */
  double beta2;
  /** Adam only: finite, at least 0. Default: 1e-8. */
  double epsilon;
  /** All members' gradients are multiplied by clip_norm / (norm + 1e-6) where that is below 1; the norm is that of all
   *  of them together. Finite, at least 0. Default 0: never. */
  double clip_norm;
} synfire_optimizer_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_OPTIMIZER_DESC_INIT \
  { (uint32_t)sizeof(synfire_optimizer_desc), 0, 0, 0u, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 }

/** A step of an optimiser. Zero means the default in every field except `struct_size`. */
typedef struct synfire_optimizer_step_desc {
  /** `sizeof(synfire_optimizer_step_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_SCHEDULE_*`. Default: ::SYNFIRE_SCHEDULE_CONSTANT. The operation's value `"schedule"`. Since ABI 0.3;
   *  before, it had to be 0. */
  int32_t schedule SYNFIRE_ONE_OF(SYNFIRE_SCHEDULE);
  /** Positive and finite. Default: that of the optimiser. The operation's value `"learning_rate"`. */
  double learning_rate;
  /** Finite, at least 0. Default: that of the optimiser. The operation's value `"weight_decay"`. */
  double weight_decay;
  /** Finite, at least 0. Default: that of the optimiser. The operation's value `"clip_norm"`. */
  double clip_norm;
  /** Steps of the linear warm-up, 0 to 2^53. Default: 0. The operation's value `"warmup_steps"`. Since ABI 0.3. */
  int64_t warmup_steps;
  /** The steps N of the schedule, 1 to 2^53; needed unless the schedule is constant. Default: 0. The operation's value
   *  `"schedule_steps"`. Since ABI 0.3. */
  int64_t schedule_steps;
  /** The factor e of the schedule, 0 to 1. 0: 0 of a cosine, 0.1 of ::SYNFIRE_SCHEDULE_STEP. The operation's value
   *  `"schedule_factor"`. Since ABI 0.3. */
  double schedule_factor;
} synfire_optimizer_step_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_OPTIMIZER_STEP_DESC_INIT \
  { (uint32_t)sizeof(synfire_optimizer_step_desc), 0, 0.0, 0.0, 0.0, 0, 0, 0.0 }

/** Memory of an optimiser, in bytes of device memory: synfire_optimizer_query_memory(). */
typedef struct synfire_optimizer_memory {
  /** `sizeof(synfire_optimizer_memory)`; set before the call. */
  uint32_t struct_size;
  /** Always 0. */
  uint32_t reserved;
  /** Momentum, or the two moments of Adam, of all members so far; with synfire_optimizer_desc::batches_per_step above 1,
   *  also their mean gradients. */
  uint64_t moment_bytes;
  /** The counters, a list of the members, and 8 bytes for every 1,024 elements. */
  uint64_t state_bytes;
} synfire_optimizer_memory;

/** All zeros except for `struct_size`. */
#define SYNFIRE_OPTIMIZER_MEMORY_INIT \
  { (uint32_t)sizeof(synfire_optimizer_memory), 0u, 0u, 0u }

/**
 * Creates an optimiser without members.
 *
 * @param context        The context it belongs to.
 * @param desc           What to create.
 * @param[out] optimizer Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes. @allocates yes. @enqueues a copy, and waits for it. @capture legal (it does not become part of a
 * capture).
 * @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_optimizer_create(synfire_context context,
                                                                 const synfire_optimizer_desc *desc,
                                                                 synfire_optimizer *optimizer) SYNFIRE_NOEXCEPT;

/**
 * Destroys an optimiser. Graphs that use it keep it until they are destroyed too, and it keeps its synapses, layers and
 * buffers.
 *
 * @param optimizer An optimiser, or null (nothing happens). A stale handle is ignored.
 * @blocks no (it queues). @allocates no. @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.2
 */
SYNFIRE_API void SYNFIRE_CALL synfire_optimizer_destroy(synfire_optimizer optimizer SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Adds an array of a synapse. Members are numbered in the order in which they are added, from 0 on.
 *
 * A step uses the gradient of the array, as backwards leave it; weights without a connection stay 0. All members must
 * be added before the first step is taken or recorded.
 *
 * @param optimizer            An optimiser.
 * @param synapse              A synapse of the same context that is not frozen.
 * @param name                 A trained array of the synapse, by its name in synfire_synapse_read(): `"weight"`.
 * @param learning_rate_factor What the learning rate is multiplied by for this member: 1 unless there is a reason.
 *                             Finite, at least 0.
 * @param weight_decay_factor  The same for the weight decay: usually 1 for weights, and 0, for none, for everything
 *                             else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (the synapse is frozen; a step was taken or recorded), ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks yes. @allocates moments, and the gradients of the synapse. @enqueues no. @capture legal.
 * @threads one at a time per optimiser. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_optimizer_add_array(synfire_optimizer optimizer,
                                                                    synfire_synapse synapse, const char *name,
                                                                    double learning_rate_factor,
                                                                    double weight_decay_factor) SYNFIRE_NOEXCEPT;

/**
 * Adds the weights of a synapse: synfire_optimizer_add_array() with `"weight"`.
 *
 * @param optimizer            An optimiser.
 * @param synapse              A synapse of the same context that is not frozen.
 * @param learning_rate_factor As in synfire_optimizer_add_array().
 * @param weight_decay_factor  As in synfire_optimizer_add_array().
 * @return As synfire_optimizer_add_array().
 * @blocks yes. @allocates moments, and the gradients of the synapse. @enqueues no. @capture legal.
 * @threads one at a time per optimiser. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_optimizer_add_weights(synfire_optimizer optimizer,
                                                                      synfire_synapse synapse,
                                                                      double learning_rate_factor,
                                                                      double weight_decay_factor) SYNFIRE_NOEXCEPT;

/**
 * Adds the bias of a synapse: synfire_optimizer_add_array() with `"bias"`.
 *
 * @param optimizer            An optimiser.
 * @param synapse              A synapse of the same context that is not frozen and has a bias.
 * @param learning_rate_factor As in synfire_optimizer_add_array().
 * @param weight_decay_factor  As in synfire_optimizer_add_array(); 0 unless there is a reason.
 * @return As synfire_optimizer_add_array().
 * @blocks yes. @allocates moments, and the gradients of the synapse. @enqueues no. @capture legal.
 * @threads one at a time per optimiser. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_optimizer_add_bias(synfire_optimizer optimizer, synfire_synapse synapse,
                                                                   double learning_rate_factor,
                                                                   double weight_decay_factor) SYNFIRE_NOEXCEPT;

/**
 * Adds a parameter of a layer.
 *
 * The gradient, the moments and the direction of a step are in the layer's arithmetic, but the parameter and its step
 * are f64: p = clamp(p - rate * u), where u is the direction, or for Adam (m / (...)) / (1 - beta1^t); decoupled decay
 * adds decay * p to it. The clamp and the derived constants are those of synfire_graph_record_update_parameter(). As
 * long as the optimiser exists, the number of values that the parameter has cannot change.
 *
 * @param optimizer            An optimiser.
 * @param layer                A layer of the same context.
 * @param name                 As synfire_update_parameter_desc::name.
 * @param gradient             dL/dp, read in each step: f32 (f64 in an f64 layer), with as many elements as the
 *                             parameter has values; on a CUDA context a device or pinned buffer.
 * @param learning_rate_factor As in synfire_optimizer_add_array().
 * @param weight_decay_factor  As in synfire_optimizer_add_array(); 0 unless there is a reason.
 * @param lower                The smallest value that the parameter may take, in addition to its own range; minus
 *                             infinity for none; NaN for a default. A parameter that must be positive has one, because
 *                             one step that is too large would leave it where no gradient brings it back from: a time
 *                             in steps stays from 1 to 10,000 (its reciprocal from 1/10,000 to 1), any other from a
 *                             thousandth of its default value to 1,000 times that. Others have none.
 * @param upper                The largest value; infinity for none; NaN for a default.
 * @return As synfire_optimizer_add_array().
 * @blocks yes. @allocates moments. @enqueues no. @capture legal. @threads one at a time per optimiser. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_optimizer_add_parameter(
    synfire_optimizer optimizer, synfire_layer layer, const char *name, synfire_buffer gradient,
    double learning_rate_factor, double weight_decay_factor, double lower SYNFIRE_OPTIONAL_NAN,
    double upper SYNFIRE_OPTIONAL_NAN) SYNFIRE_NOEXCEPT;

/**
 * Changes the factors of a member, or freezes it, from the next step on.
 *
 * A frozen member takes no part in steps: it keeps its values and moments, and its gradient, which is still computed,
 * counts neither in the norm of all gradients nor as one that is not finite. A factor of 0 alone keeps the values; moments
 * and norm go on.
 *
 * @param optimizer            An optimiser.
 * @param member               The number of the member.
 * @param learning_rate_factor As in synfire_optimizer_add_array().
 * @param weight_decay_factor  As in synfire_optimizer_add_array().
 * @param frozen               1: the member is frozen. 0: it is not, as at first.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (nothing is changed),
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks until replays that use the optimiser and were launched before are done. @allocates no. @enqueues a copy on the
 * context's own stream. @capture legal (it does not become part of a capture). @threads one at a time per optimiser, and
 * while no other thread launches a graph with it. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_optimizer_set_factors(synfire_optimizer optimizer, int32_t member,
                                                                      double learning_rate_factor,
                                                                      double weight_decay_factor,
                                                                      int32_t frozen SYNFIRE_FLAG) SYNFIRE_NOEXCEPT;

/**
 * Says how much memory an optimiser takes with the members that it has.
 *
 * @param optimizer      An optimiser.
 * @param[in,out] memory In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads one at a time per optimiser. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_optimizer_query_memory(synfire_optimizer optimizer,
                                                                       synfire_optimizer_memory *memory)
    SYNFIRE_NOEXCEPT;

/**
 * Reads a number or an array of an optimiser, after every replay that uses it and was launched before.
 *
 * The optimiser itself has `"step_count"` and `"skipped"` (u64: steps taken, and steps left out because a gradient was
 * not finite or too large), `"accumulated_batches"` (u64: batches since the last step, below
 * synfire_optimizer_desc::batches_per_step), `"beta1_power"` and `"beta2_power"` (f64: beta^t, as products), and
 * `"gradient_norm"` and `"learning_rate"` (f64: of the last step, before clipping, and with the factor of the schedule). A
 * member has `"momentum"`, or `"moment1"` and `"moment2"` of Adam, and with more than one batch for each step
 * `"accumulated"`, the part of the mean gradient that those batches have given, in the type of its gradient.
 *
 * @param optimizer   An optimiser.
 * @param member      The number of the member; -1 for the optimiser itself.
 * @param name        What to read.
 * @param[out] values Receives it, in host memory.
 * @param bytes       Size of `values` in bytes: exactly that of the number or array.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_DEVICE_LOST,
 *         ::SYNFIRE_ERROR_CUDA.
 * @blocks until done. @allocates no. @enqueues a copy on the context's own stream. @capture legal (it does not become
 * part of a capture). @threads one at a time per optimiser. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_optimizer_read(synfire_optimizer optimizer, int32_t member,
                                                               const char *name, void *values, uint64_t bytes)
    SYNFIRE_NOEXCEPT;

/**
 * Writes what synfire_optimizer_read() reads, so that training continues where it stopped, with the same bits; also
 * after every replay that uses the optimiser and was launched before.
 *
 * @param optimizer An optimiser.
 * @param member    The number of the member; -1 for the optimiser itself.
 * @param name      As in synfire_optimizer_read().
 * @param values    Finite, in host memory; `"moment2"`, `"gradient_norm"` and `"learning_rate"` at least 0, powers from
 *                  0 to 1, `"accumulated_batches"` below synfire_optimizer_desc::batches_per_step; `"accumulated"` may have
 *                  any numbers.
 * @param bytes     Size of `values` in bytes: exactly that of the number or array.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (nothing is changed),
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA.
 * @blocks until done. @allocates no. @enqueues a copy on the context's own stream. @capture legal (it does not become
 * part of a capture). @threads one at a time per optimiser, and while no other thread launches a graph with it.
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_optimizer_write(synfire_optimizer optimizer, int32_t member,
                                                                const char *name, const void *values, uint64_t bytes)
    SYNFIRE_NOEXCEPT;

/**
 * Takes a step now: the same operation that synfire_graph_record_optimizer_step() records.
 *
 * @param optimizer An optimiser with at least one member.
 * @param desc      The values of this step.
 * @param stream    The CUDA stream; null is the context's own. Must be null on the host, where the call returns when
 *                  done.
 * @return ::SYNFIRE_OK, ::SYNFIRE_CAPTURED, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT,
 *         ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_WRONG_ORDER (no members; a replay that uses a member is in
 *         flight on another stream), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_CAPTURING (the capture is invalid),
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK (the context's job system).
 * @blocks no on CUDA, except where it allocates; until done on the host. @allocates the list of members, at the first
 * call. @enqueues three kernels on `stream`, and one for each parameter. @capture legal: on a captured stream it
 * becomes part of the capture (::SYNFIRE_CAPTURED), after waiting for the context's own stream.
 * @threads one at a time per optimiser, synapse and layer. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_optimizer_step(synfire_optimizer optimizer,
                                                               const synfire_optimizer_step_desc *desc,
                                                               synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Appends a step of an optimiser, with the values `"learning_rate"`, `"weight_decay"` and `"clip_norm"` (at least 0), and
 * those of its schedule: `"schedule"`, `"warmup_steps"`, `"schedule_steps"` and `"schedule_factor"`.
 *
 * Weights, moments and directions are in the type of the gradient, f32 or f64, with correctly rounded division and
 * square root. Of the formulas of `SYNFIRE_OPTIMIZER_KIND_*`, g + decay * w, momentum * u + d, d + momentum * u,
 * m + (...) * (d - m), (1 - beta2) * (d * d) + beta2 * v and w - (...) * (...) are fused multiply-adds; every
 * other operation is rounded. All that is the same for a whole member is computed in f64 and then rounded, beta^t as a
 * product of t factors. The norm is the square root of a sum in f64: 128 running sums in each 1,024 elements of a
 * member, joined by a binary tree; then the same over those sums, in the order of the members. Host and GPU give the
 * same bits.
 *
 * If a gradient of any member is not finite, or the norm of all, after clipping, is above 2^63 (2^511 if all members
 * are f64), weights, moments and the number of steps stay as they are, and `"skipped"` grows by one: the squares of
 * larger gradients may not be finite, and a step from them would mean nothing. Moments never exceed the largest number
 * of their type. A weight of which the new value would not be finite keeps its old one.
 *
 * With n = synfire_optimizer_desc::batches_per_step above 1, the operation first adds the gradients g of a batch to their
 * mean: a = fma(g, 1 / n, a), from +0 on, element by element, in the type of the gradient, with 1 / n rounded to that type.
 * In n - 1 of n times that is all, and nothing else changes. The last one takes the step, with a for g. Every batch has
 * the same share, also one with fewer rows. The results are the same on every machine, but not the bits of one batch with n
 * times as many rows: the gradients of each batch are rounded on grids of their own. If the gradient of one batch is not
 * finite, the step of all n is left out.
 *
 * A step of Adam, but for decoupled decay, is at most
 * rate * (1 - beta1) / (1 - beta1^t) * sqrt((1 - beta2^t) / ((1 - beta2) * (1 - beta1^2 / beta2))) long, which follows
 * from the formulas by the inequality of Cauchy and Schwarz: 7.3 * rate with the default betas, and 2.3 * rate at first.
 * Only moments that were written, or squares that underflow beside a tiny epsilon, could break it: m / (...) is cut where
 * it is more than 1/1024 above the bound, if beta1^2 < beta2. No other bit depends on that.
 *
 * Operations after this one see the new weights, and all that is derived from them. For parameters of layers, tapes and
 * values that the host sets are as in synfire_graph_record_update_parameter(). A replay must be ordered with all other
 * work that uses the optimiser or one of its synapses; a launch that is not returns ::SYNFIRE_ERROR_WRONG_ORDER.
 *
 * @param graph     A graph that is not instantiated.
 * @param optimizer An optimiser of the same context with at least one member.
 * @param desc      The values of the step, which can change between replays.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_WRONG_ORDER (already instantiated; no members), ::SYNFIRE_ERROR_INVALID_HANDLE,
 *         ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY.
 * @blocks no, except where it allocates. @allocates host memory; the list of members, at the first call; device memory
 * for the first values of a graph. @enqueues no. @capture legal.
 * @threads one at a time per graph, else ::SYNFIRE_ERROR_BUSY; one at a time per optimiser. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_optimizer_step(synfire_graph graph,
                                                                            synfire_optimizer optimizer,
                                                                            const synfire_optimizer_step_desc *desc)
    SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup communicator
 * @{ */

/** One rank of a group that trains a network together: synfire_network_desc::communicator. Since ABI 0.3. */
typedef struct synfire_communicator_s *synfire_communicator;

/** How the ranks of a group reach each other: synfire_communicator_desc::transport. Since ABI 0.3. */
enum {
  /** ::SYNFIRE_TRANSPORT_MPI. */
  SYNFIRE_TRANSPORT_AUTO = 0,
  /** Ranks of one process, each with its own context and on its own thread. */
  SYNFIRE_TRANSPORT_LOOPBACK = 1,
  /** The processes of `MPI_COMM_WORLD`. The library `libsynfire_mpi.so` is loaded, which belongs to one MPI; it initialises
   *  MPI unless the program has done so, with `MPI_THREAD_SERIALIZED` at least. */
  SYNFIRE_TRANSPORT_MPI = 2
};

/** How to create a communicator. Zero means the default in every field except `struct_size`. Since ABI 0.3. */
typedef struct synfire_communicator_desc {
  /** `sizeof(synfire_communicator_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_TRANSPORT_*`. */
  int32_t transport SYNFIRE_ONE_OF(SYNFIRE_TRANSPORT);
  /** This rank, 0 to `size` - 1; another one on every thread or process of the group. 0 if `size` is 0. */
  int32_t rank;
  /** How many ranks the group has, at most 65,536. Default 0: rank and size are those of the environment, from the first
   *  of these pairs of variables that is there: `SYNFIRE_RANK` and `SYNFIRE_WORLD_SIZE`, `OMPI_COMM_WORLD_RANK` and
   *  `OMPI_COMM_WORLD_SIZE`, `PMI_RANK` and `PMI_SIZE`, `SLURM_PROCID` and `SLURM_NTASKS`; without any, those of MPI.
   *  What MPI says must agree with both. */
  int32_t size;
  /** The name of the group among those of the process, 1 to 64 bytes: ranks of one name belong together. Null: the group
   *  without a name. For ::SYNFIRE_TRANSPORT_LOOPBACK alone. */
  const char *id SYNFIRE_NULLABLE;
  /** The longest wait for the other ranks, in nanoseconds. Default: 60 seconds. A negative value waits for ever. */
  int64_t timeout_ns;
} synfire_communicator_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_COMMUNICATOR_DESC_INIT \
  { (uint32_t)sizeof(synfire_communicator_desc), 0, 0, 0, NULL, 0 }

/** The properties of a communicator: synfire_communicator_get_properties(). Since ABI 0.3. */
typedef struct synfire_communicator_properties {
  /** `sizeof(synfire_communicator_properties)`; set before the call. */
  uint32_t struct_size;
  /** One of `SYNFIRE_TRANSPORT_*`, but ::SYNFIRE_TRANSPORT_AUTO. */
  int32_t transport SYNFIRE_ONE_OF(SYNFIRE_TRANSPORT);
  /** This rank. */
  int32_t rank;
  /** How many ranks there are. */
  int32_t size;
} synfire_communicator_properties;

/** All zeros except for `struct_size`. */
#define SYNFIRE_COMMUNICATOR_PROPERTIES_INIT \
  { (uint32_t)sizeof(synfire_communicator_properties), 0, 0, 0 }

/**
 * Creates a communicator: every rank of the group makes this call, and it returns when all have. The page "Many machines"
 * has programs.
 *
 * A rank whose process has ended or was killed is found within 10 seconds: calls of the other ranks that wait for it
 * return ::SYNFIRE_ERROR_PEER_LOST, and so does every later call that would need it. A call
 * that fails between two exchanges gives up the group for all ranks, as synfire_communicator_abort() does.
 *
 * @param context           The context it belongs to, of the host backend.
 * @param desc              What to create; null means all defaults.
 * @param[out] communicator Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (also: the environment has no
 *         such rank, or the rank is taken), ::SYNFIRE_ERROR_STRUCT_SIZE, ::SYNFIRE_ERROR_UNSUPPORTED (a CUDA context, no
 *         MPI, or no library for it), ::SYNFIRE_ERROR_PEER_LOST (not all ranks came in time),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY.
 * @blocks until all ranks have called it, or the time-out. @allocates host memory. @enqueues no. @capture legal.
 * @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_communicator_create(
    synfire_context context, const synfire_communicator_desc *desc SYNFIRE_NULLABLE, synfire_communicator *communicator)
    SYNFIRE_NOEXCEPT;

/**
 * Destroys a communicator. It lives on as long as networks that use it. Other ranks are told when it is freed; where they
 * may be waiting for this one, synfire_communicator_abort() tells them at once.
 *
 * @param communicator A communicator, or null (nothing happens). A stale handle is ignored.
 * @blocks no (it queues). @allocates no. @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.3
 */
SYNFIRE_API void SYNFIRE_CALL synfire_communicator_destroy(synfire_communicator communicator SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Returns which rank this is, and of how many.
 *
 * @param communicator        A communicator.
 * @param[in,out] properties  In: `struct_size`. Out: everything else; untouched on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_communicator_get_properties(synfire_communicator communicator,
                                                                            synfire_communicator_properties *properties)
    SYNFIRE_NOEXCEPT;

/**
 * Waits until every rank has made this call: for example, until rank 0 has written a file that the others read.
 *
 * @param communicator A communicator.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_PEER_LOST, ::SYNFIRE_ERROR_INVALID_ARGUMENT (other
 *         ranks make another call, such as synfire_network_train()), ::SYNFIRE_ERROR_BUSY.
 * @blocks until all ranks have called it. @allocates no. @enqueues no. @capture legal.
 * @threads one call at a time that exchanges something, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_communicator_barrier(synfire_communicator communicator)
    SYNFIRE_NOEXCEPT;

/**
 * Gives up a group: calls of all ranks that wait for each other, also of this one on another thread, and all later ones
 * return ::SYNFIRE_ERROR_PEER_LOST. For a program that cannot go on.
 *
 * @param communicator A communicator.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_communicator_abort(synfire_communicator communicator) SYNFIRE_NOEXCEPT;

/** @} */
/** @addtogroup network
 * @{ */

/** Stages from an input to a readout, a loss and an optimiser, and all that they need: synapses, layers, buffers and
 * graphs. It uses nothing but the functions above, so its results have the bits of what they would give by hand. */
typedef struct synfire_network_s *synfire_network;

/** Formats of a network's input: synfire_network_add_input(). */
enum {
  /** Spikes `[T, B, K]`, by default as ::SYNFIRE_DTYPE_BITS. */
  SYNFIRE_NETWORK_INPUT_SPIKES = 0,
  /** Numbers `[T, B, K]`, by default f32 (f64 in an f64 network). */
  SYNFIRE_NETWORK_INPUT_VALUES = 1,
  /** Rates `[B, K]`, by default f32, which become new spikes in every replay as by synfire_encode_bernoulli(). */
  SYNFIRE_NETWORK_INPUT_RATES = 2,
  /** Counts `[T, B, K]`: integers from 0 to the input's value `"bound"`, in u8. A larger element counts as the bound.
   *  Since ABI 0.3. */
  SYNFIRE_NETWORK_INPUT_COUNTS = 3
};

/** Kinds of readouts, which combine the steps of the last neurons: synfire_network_add_readout(). The first four are
 *  `SYNFIRE_REDUCE_*` over the steps. */
enum {
  /** The sum over the steps, `[B, C]`. */
  SYNFIRE_READOUT_SUM = 0,
  /** The mean over the steps, `[B, C]`. */
  SYNFIRE_READOUT_MEAN = 1,
  /** The largest over the steps, `[B, C]`. */
  SYNFIRE_READOUT_MAX = 2,
  /** The value of the last step, `[B, C]`. */
  SYNFIRE_READOUT_LAST = 3,
  /** Every step, `[T, B, C]`. In the loss, each step is a sample. */
  SYNFIRE_READOUT_STEPS = 4
};

/** The data sets of a network: synfire_network_set_data(). */
enum {
  /** The rows that are learnt. */
  SYNFIRE_DATA_TRAINING = 0,
  /** The rows on which synfire_network_evaluate() tests. */
  SYNFIRE_DATA_EVALUATION = 1
};

/** Roles of an array of rows in a network: ::synfire_network_array. Since ABI 0.3. */
enum {
  /** The rows of an input, of its `"dtype"`: `[R, T, K]`, or rates `[R, K]`. */
  SYNFIRE_ARRAY_INPUTS = 0,
  /** The labels of a loss: u32 `[R]`, or `[R, T]` with its value `"per_step"`. */
  SYNFIRE_ARRAY_LABELS = 1,
  /** The targets of a loss: f32 (f64 in an f64 network) `[R, C]`, or `[R, T, C]` with its value `"per_step"`. */
  SYNFIRE_ARRAY_TARGETS = 2,
  /** The lengths of the rows: u32 `[R]`, as in synfire_network_set_data(). They belong to no stage. */
  SYNFIRE_ARRAY_LENGTHS = 3,
  /** The weights of the rows: f32 `[R]`, as in synfire_network_set_data(). They belong to no stage. */
  SYNFIRE_ARRAY_SAMPLE_WEIGHTS = 4,
  /** The output of a readout, or of neurons that nothing reads, as in synfire_network_infer(). */
  SYNFIRE_ARRAY_OUTPUTS = 5
};

/** The graphs of a network: synfire_network_get_graph(). */
enum {
  /** From the buffer `"input"` to the buffer `"output"`, both page-locked: all B rows, without data sets. The state of
   *  the neurons continues from replay to replay. */
  SYNFIRE_NETWORK_GRAPH_INFERENCE = 0,
  /** One training step: the next batch of the training data, forward, backward, and a step of the optimiser. */
  SYNFIRE_NETWORK_GRAPH_TRAINING = 1,
  /** One batch of the evaluation data, in order, and what the loss makes of it. */
  SYNFIRE_NETWORK_GRAPH_EVALUATION = 2,
  /** For a loss of the program's own: a forward of the input buffers, all B rows, which keeps what the
   *  backward needs, draws dropout masks as training does, and writes the outputs. Since ABI 0.3. */
  SYNFIRE_NETWORK_GRAPH_FORWARD = 3,
  /** The backward of the last forward: from the buffers `"STAGE.gradient"`, and from the losses that the network has,
   *  which read `"STAGE.labels"` or `"STAGE.targets"`; and a step of the optimiser. Its launch returns
   *  ::SYNFIRE_ERROR_STALE_TAPE if the last of the network's graphs that ran is another than the forward graph, or if a
   *  file was loaded since. Since ABI 0.3. */
  SYNFIRE_NETWORK_GRAPH_BACKWARD = 4
};

/** Graphs for a program that computes gradients itself: synfire_network_desc::own_loss. Since ABI 0.3. */
enum {
  /** All gradients are those of losses that the network has. */
  SYNFIRE_OWN_LOSS_NONE = 0,
  /** The network has the graphs ::SYNFIRE_NETWORK_GRAPH_FORWARD and ::SYNFIRE_NETWORK_GRAPH_BACKWARD; the state of the
   *  neurons continues from replay to replay. */
  SYNFIRE_OWN_LOSS_CONTINUES = 1,
  /** The same, but each forward begins with the state of new neurons. */
  SYNFIRE_OWN_LOSS_STARTS = 2
};

/** How to create a network. Zero means the default in every field except `struct_size` and `n_steps`. */
typedef struct synfire_network_desc {
  /** `sizeof(synfire_network_desc)`. */
  uint32_t struct_size;
  /** Type of weights, states and arithmetic: `SYNFIRE_DTYPE_F32` (default) or `SYNFIRE_DTYPE_F64`. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** Steps T of one replay, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Batch rows B, at most 2^32 - 1. Default: 1. */
  int64_t batch;
  /** Any number. It is mixed with the name of each stage, and with what is drawn, to the seed from which that stage
   *  draws, unless the stage's value `"seed"` says otherwise; and to the seed of the order of the training rows. So
   *  networks of different seeds have no numbers in common. The page "Networks" states the function. */
  uint64_t seed;
  /** 1: an epoch of the training leaves out the rows after its last full batch. Default 0: the last batch is
   *  smaller. */
  int32_t drop_last SYNFIRE_FLAG;
  /** As synfire_graph_desc::n_slots, of the inference graph. Default: 0. */
  uint32_t n_slots;
  /** 1: spikes and potentials between the stages and their gradients are transient (::SYNFIRE_MEMORY_TRANSIENT), which
   *  takes less memory, and synfire_network_get_buffer() gives out only those that the program has asked for
   *  (synfire_network_keep()). Where a layer of the network has fewer active rows than the batch
   *  (synfire_layer_set_n_active()), what belongs to other rows is then undefined. A network that is made of a file has
   *  0. Default: 0. @since ABI 0.3 */
  int32_t transient_arrays SYNFIRE_FLAG;
  /** One of `SYNFIRE_OWN_LOSS_*`: a program may compute gradients itself. The network then needs an optimiser, and
   *  no loss, and `transient_arrays` must be 0, because the two graphs pass arrays on to each other. Default:
   *  ::SYNFIRE_OWN_LOSS_NONE. Since ABI 0.3. */
  int32_t own_loss SYNFIRE_ONE_OF(SYNFIRE_OWN_LOSS);
  /** The ranks that train and evaluate the network together, each a part of the rows of every batch: rank r of W ranks has
   *  the rows from the integer part of r B / W to that of (r + 1) B / W. Each rank makes the same calls with the same
   *  stages, values and data; building, new data, training and evaluation are calls that wait for the other ranks, and
   *  compare. Results and files have the bits of one rank. Inference is each rank's own, with all B rows. `batch` must be at
   *  least W, `own_loss` 0, and graphs of training and evaluation are not given out. Null: none. Since ABI 0.3. */
  synfire_communicator communicator SYNFIRE_NULLABLE;
} synfire_network_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_NETWORK_DESC_INIT \
  { (uint32_t)sizeof(synfire_network_desc), 0, 0, 0, 0u, 0, 0u, 0, 0, NULL }

/** Memory of a network, in bytes: synfire_network_query_memory(). On a host context, device memory is ordinary memory.
 * */
typedef struct synfire_network_memory {
  /** `sizeof(synfire_network_memory)`; set before the call. */
  uint32_t struct_size;
  /** Always 0. */
  uint32_t reserved;
  /** Device memory of the synapses: weights, and what is derived from them. */
  uint64_t synapse_bytes;
  /** Device memory of the layers: states and parameters. */
  uint64_t layer_bytes;
  /** Device memory between the stages: spikes, potentials and their gradients. */
  uint64_t buffer_bytes;
  /** Device memory of the optimiser, with the gradients of synapses. */
  uint64_t optimizer_bytes;
  /** Device memory of the graphs: tapes, a batch of the data, and one arena for the temporary arrays of all of them.
   *  Without the executable CUDA graphs, which the driver decides. */
  uint64_t graph_bytes;
  /** The sum of these. */
  uint64_t device_bytes;
  /** Page-locked memory: input and output of the inference graph. */
  uint64_t pinned_bytes;
  /** The data sets that the network has now, in device memory, or in page-locked memory with the input's value
   *  `"pinned"`. Of data in files (synfire_network_open_data()), what is in memory, page-locked too. */
  uint64_t data_bytes;
} synfire_network_memory;

/** All zeros except for `struct_size`. */
#define SYNFIRE_NETWORK_MEMORY_INIT \
  { (uint32_t)sizeof(synfire_network_memory), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u }

/** The result of synfire_network_train() or synfire_network_evaluate(). */
typedef struct synfire_network_result {
  /** `sizeof(synfire_network_result)`; set before the call. */
  uint32_t struct_size;
  /** Always 0. */
  uint32_t reserved;
  /** The loss that training minimises: the mean over all samples of the call that count, as ::synfire_loss_desc defines
   *  it with class weights, sample weights and label smoothing, that is the sum of their losses divided by the sum of the
   *  divisors of all batches; and `rate_loss`. With one batch it is the loss whose gradient the step takes. Of several
   *  losses, each is multiplied by its value `"weight"`. `"gradient_scale"` and weight decay do not count in it. In training, each batch is computed with the weights before
   *  its step. */
  double loss;
  /** How many samples counted, as synfire_loss_desc::n_counted; of several losses, the sum. */
  uint64_t n_counted;
  /** How many of them had a prediction equal to their label; 0 with targets. */
  uint64_t n_correct;
  /** How many batches there were. */
  uint64_t n_batches;
  /** How many of them changed nothing, because a gradient was not finite or too large
   *  (synfire_graph_record_optimizer_step()). */
  uint64_t n_skipped;
  /** The epoch in which the training goes on, from 0 on. */
  uint64_t epoch;
  /** The batch of that epoch with which it goes on, from 0 on. */
  uint64_t batch;
  /** With the input's value `"replace_nonfinite"`, how many numbers of the inputs were replaced by 0. Since ABI 0.3. */
  uint64_t n_replaced;
  /** The part of `loss` that draws rates to a target (the value `"rate_strength"` of neurons): of each batch, the losses
   *  that ::synfire_rate_loss_desc defines; the mean over the batches of the call. Since ABI 0.3. */
  double rate_loss;
} synfire_network_result;

/** All zeros except for `struct_size`. */
#define SYNFIRE_NETWORK_RESULT_INIT \
  { (uint32_t)sizeof(synfire_network_result), 0u, 0.0, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0.0 }

/**
 * Creates a network without stages.
 *
 * Stages are added one by one in the order in which data passes them: an input; then synapses and neurons, each synapse
 * possibly after a dropout; a readout; a loss; an optimiser. synfire_network_add_stage() also adds those of networks that
 * branch. A network for inference may end with neurons or a readout. At most 4,096 stages can be added. Each has a name of 1 to 64 letters, digits, dots, underscores and hyphens,
 * and values, which synfire_network_set_value() sets by name.
 *
 * A call that uses graphs of the network holds them until it returns: meanwhile, launches and changes of these graphs
 * return ::SYNFIRE_ERROR_BUSY, and so does such a call while one of them is being launched or changed. A graph that other
 * data have replaced (synfire_network_set_data()) counts as one of the network. Training, evaluation, inference, a reset
 * of the state, saving and loading use all graphs; new data, the graph of these data; a value, the graphs that read it.
 *
 * @param context      The context it belongs to.
 * @param desc         What to create.
 * @param[out] network Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST.
 * @blocks yes. @allocates host memory. @enqueues no. @capture legal. @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_create(synfire_context context,
                                                               const synfire_network_desc *desc,
                                                               synfire_network *network) SYNFIRE_NOEXCEPT;

/**
 * Destroys a network. Its parts live on as long as handles of them, or graphs.
 *
 * @param network A network, or null (nothing happens). A stale handle is ignored.
 * @blocks no (it queues). @allocates no. @enqueues no. @capture legal. @threads any, also finalizers. @since ABI 0.2
 */
SYNFIRE_API void SYNFIRE_CALL synfire_network_destroy(synfire_network network SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Adds an input. Its values:
 *
 * - `"dtype"`: one of `SYNFIRE_DTYPE_*`, the type of the data: any format of spikes; of values f32, f16 or bf16 (f64 in
 *   an f64 network); of rates f32, f16 or bf16.
 * - `"seed"`: from which rates are encoded in the training. Default: a number from synfire_network_desc::seed and the
 *   name of the stage, as of all stages that draw.
 * - `"per_step"`: 1 for rates `[T, B, K]`, a rate of its own for each step. Default: 0.
 * - `"pinned"`: 1 to keep the data sets in page-locked memory, of which a replay transfers only a batch. Default: 0.
 * - `"any_number"`: 1 if synfire_network_set_data() takes all numbers that the type has: what is not 0 counts as 1 in
 *   spikes, values may be NaN or infinite, and rates are taken as synfire_encode_bernoulli() takes them. Default 0: it
 *   refuses them. It can change after the network was built. Since ABI 0.3.
 * - `"replace_nonfinite"`: 1 to replace numbers that are not finite by 0 and to count them, as
 *   synfire_replace_nonfinite() does, in every replay of each graph; for f32, f64, f16 and bf16. The count is
 *   synfire_network_result::n_replaced and, of the inference graph, the buffer `"n_replaced"`. Default 0: nothing is
 *   added to the graphs. Since ABI 0.3.
 *
 * @param network    A network. Each input has data of its own.
 * @param name       The name of the stage.
 * @param kind       One of `SYNFIRE_NETWORK_INPUT_*`, but for counts, which need a bound (synfire_network_add_stage()).
 * @param n_features Inputs K, at least 1.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (such a stage cannot be added now), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_add_input(synfire_network network, const char *name,
                                                                  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_NETWORK_INPUT),
                                                                  int64_t n_features) SYNFIRE_NOEXCEPT;

/**
 * Adds dropout of what the next synapse reads, as by synfire_dropout(): in the training each replay draws a new mask, in
 * evaluation and inference all inputs are kept. Its values: `"probability"`, which can change between replays,
 * `"seed"`, and `"by_channel"`: 1 if the places of a channel of a map are kept or dropped together, as
 * synfire_synapse_forward_desc::mask_channels. Default: 0. Since ABI 0.3.
 *
 * @param network     A network that ends with an input or with neurons that fire.
 * @param name        The name of the stage.
 * @param probability From 0 to less than 1.
 * @return As synfire_network_add_input().
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_add_dropout(synfire_network network, const char *name,
                                                                    double probability) SYNFIRE_NOEXCEPT;

/**
 * Adds a synapse. What it reads follows from the stages before. Its values:
 *
 * - `"bias"`: 1 (default) or 0.
 * - `"frozen"`: 1 if it is not trained. Default: 0. What is frozen when the network is built has no gradients and no
 *   moments, and stays frozen. Later, 1 freezes as synfire_optimizer_set_factors() does, and 0 goes on with the moments
 *   of before.
 * - `"gradient_bits"`, `"initialization"`, `"gain"`, `"seed"` and, since ABI 0.3, `"weight_bits"` and
 *   `"no_self_connections"`, as in ::synfire_synapse_desc.
 * - `"learning_rate_factor"` and `"weight_decay_factor"` of the weights, both 1 by default, and
 *   `"bias_learning_rate_factor"` and `"bias_weight_decay_factor"` of the bias, 1 and 0. They can change after the network
 *   was built, since ABI 0.3.
 *
 * @param network   A network that ends with an input, a dropout or neurons that fire.
 * @param name      The name of the stage.
 * @param n_outputs Outputs N, at least 1.
 * @return As synfire_network_add_input().
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_add_synapse(synfire_network network, const char *name,
                                                                    int64_t n_outputs) SYNFIRE_NOEXCEPT;

/**
 * Adds neurons, one for each output of the synapse. Each replay of training and evaluation begins with a reset state.
 * Their values:
 *
 * - `"dtype"`, `"reset"`, `"surrogate"`, `"detach_reset"`, `"undecayed_input"`, `"strict_threshold"` and
 *   `"refractory_steps"`, as in ::synfire_layer_desc.
 * - `"tape"`: as synfire_forward_desc::tape, of the training; not ::SYNFIRE_TAPE_NONE.
 * - Each parameter by its name, such as `"tau"`: one number for all neurons, which can change between replays, unless
 *   synfire_network_set_scope() makes it several.
 * - `"rate_target"` and `"rate_strength"`: with a strength other than 0 when the network is built, the training draws
 *   the rates of the neurons towards the target, as synfire_rate_loss() does. Both can change between replays.
 * - `"rate_of_layer"`: 1 to draw the mean rate of the layer. Default 0: that of each neuron.
 * - `"frozen"`: 1 if the parameters of synfire_network_train_parameter() are not trained; as of a synapse. Default: 0. Since
 *   ABI 0.3.
 *
 * @param network A network that ends with a synapse.
 * @param name    The name of the stage.
 * @param model   One of `SYNFIRE_MODEL_*`, or an id from synfire_model_id().
 * @return As synfire_network_add_input().
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_add_neurons(synfire_network network, const char *name,
                                                                    int32_t model SYNFIRE_ONE_OF(SYNFIRE_MODEL))
    SYNFIRE_NOEXCEPT;

/**
 * Adds the readout. Its value:
 *
 * - `"continues"`: 1: in the inference graph, the readout goes on over the replays since the last reset of the state: with
 *   T = 1, the mean of frame after frame is that of the sequence. For a sum, a mean or a maximum. Spikes give the same bits as
 *   one replay of all steps; V is added in f64 in the order of the steps, whatever the number of steps of a replay. What it
 *   has added up is a part of the state, which files have, and 0 after a reset. The other graphs begin with each replay.
 *   Default: 0. Since ABI 0.3.
 *
 * @param network   A network that ends with neurons.
 * @param name      The name of the stage.
 * @param reduction One of `SYNFIRE_READOUT_*`.
 * @param of_spikes 0: of V. 1: of spikes; the neurons must fire.
 * @return As synfire_network_add_input().
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_add_readout(synfire_network network, const char *name,
                                                                    int32_t reduction SYNFIRE_ONE_OF(SYNFIRE_READOUT),
                                                                    int32_t of_spikes SYNFIRE_FLAG SYNFIRE_OPTIONAL)
    SYNFIRE_NOEXCEPT;

/**
 * Adds the loss of what the readout gives, as by synfire_loss(): the mean over the samples of a batch. Its values:
 *
 * - `"targets"`: 0 for labels, the default of a cross-entropy; 1 for targets, the default of squared errors.
 * - `"per_step"`: 1 for labels or targets of every step. Default 0: the same in all steps.
 * - `"ignores_label"` and `"ignored_label"`, as in ::synfire_loss_desc.
 * - `"label_smoothing"` and `"gradient_scale"` (default 1), which can change between replays.
 * - `"any_number"`: 1 if synfire_network_set_data() takes targets and sample weights that are not finite. Default 0. It
 *   can change after the network was built. Since ABI 0.3.
 *
 * @param network A network that ends with a readout.
 * @param name    The name of the stage.
 * @param kind    One of `SYNFIRE_LOSS_*`.
 * @return As synfire_network_add_input().
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_add_loss(synfire_network network, const char *name,
                                                                 int32_t kind SYNFIRE_ONE_OF(SYNFIRE_LOSS))
    SYNFIRE_NOEXCEPT;

/**
 * Adds the optimiser. Its members are the weights and biases of all synapses that are not frozen, and the parameters of
 * synfire_network_train_parameter(), pair after pair of synapse and neurons. Its values are the fields of
 * ::synfire_optimizer_desc from `"nesterov"` on, with the same defaults; here, a weight decay of 0 is none.
 * `"learning_rate"`, `"weight_decay"` and `"clip_norm"` can change between replays. So can those of the schedule, which are
 * the fields of ::synfire_optimizer_step_desc, since ABI 0.3: `"warmup_steps"`, `"schedule"`, `"schedule_steps"` and
 * `"schedule_factor"`. A schedule other than the constant one needs `"schedule_steps"`. A cosine has an end:
 * synfire_network_train() refuses batches that would go beyond it.
 *
 * @param network       A network that ends with a loss.
 * @param name          The name of the stage.
 * @param kind          One of `SYNFIRE_OPTIMIZER_KIND_*`.
 * @param learning_rate Finite, at least 0. 0: 1e-3.
 * @return As synfire_network_add_input().
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_add_optimizer(
    synfire_network network, const char *name, int32_t kind SYNFIRE_ONE_OF(SYNFIRE_OPTIMIZER_KIND),
    double learning_rate SYNFIRE_OPTIONAL) SYNFIRE_NOEXCEPT;

/** A stage that another one reads: ::synfire_stage_desc. Since ABI 0.3. */
typedef struct synfire_stage_input {
  /** The name of a stage that was added before. With a delay, a synapse (also one with delays of its own), a
   *  convolution or a scale may also name neurons that are added later. */
  const char *stage;
  /** `"spikes"` or `"v"` of neurons. Null: V for a readout, unless it is of spikes, and else the output. */
  const char *port SYNFIRE_NULLABLE;
  /** Steps from 0 to 65,535: step t of the stage reads step t - delay. Only spikes of neurons can be read with a delay.
   *  Default: 0. */
  int64_t delay;
} synfire_stage_input;

/** A value of a stage: ::synfire_stage_desc. Since ABI 0.3. */
typedef struct synfire_stage_value {
  /** The name of the value. */
  const char *name;
  /** A constant by its name: in lower case and without its prefix, such as `"mean"` for ::SYNFIRE_READOUT_MEAN. Models
   *  and surrogates have the names that synfire_model_id() and synfire_surrogate_id() take, and a stage has its own. Null:
   *  `number` is the value. */
  const char *text SYNFIRE_NULLABLE;
  /** The value, if `text` is null. Constants and flags are numbers too. */
  double number;
} synfire_stage_value;

/** A stage of a network: synfire_network_add_stage(). Since ABI 0.3. */
typedef struct synfire_stage_desc {
  /** `sizeof(synfire_stage_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** `"input"`, `"dropout"`, `"synapse"`, `"conv2d"`, `"scale"`, `"population"`, `"delayed"`, `"normalization"`, `"pool"`,
   *  `"upsample"`, `"pad"`, `"sum"`, `"and"`, `"iand"`, `"concatenate"`, `"group_mean"`, `"flatten"`, `"neurons"`, `"readout"`, `"loss"`
   *  or `"optimizer"`. */
  const char *kind;
  /** The name of the stage. */
  const char *name;
  /** The stages that it reads. Default: the stage that was added last; nothing, of an input; all losses, of an
   *  optimiser. */
  const synfire_stage_input *inputs SYNFIRE_NULLABLE;
  /** How many `inputs` there are. Default: 0. */
  uint64_t n_inputs SYNFIRE_LENGTH_OF(inputs);
  /** Its values, in any order, each at most once. */
  const synfire_stage_value *values SYNFIRE_NULLABLE;
  /** How many `values` there are, at most 256. Default: 0. */
  uint64_t n_values SYNFIRE_LENGTH_OF(values);
} synfire_stage_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_STAGE_DESC_INIT \
  { (uint32_t)sizeof(synfire_stage_desc), 0u, NULL, NULL, NULL, 0u, NULL, 0u }

/**
 * Adds a stage of any kind. synfire_network_add_input() and the other functions that add stages are short forms: the
 * values of a stage are their parameters after the name, by the names of these, and the values that they list.
 * `"kind"` and `"n_features"` of an input, `"n_outputs"` of a synapse, `"model"` of neurons, `"reduction"` of a readout
 * and `"kind"` of a loss and of an optimiser are needed, and are chosen once. `"of_spikes"` of a readout is 0 by default.
 *
 * A stage may read any stage before it that it can follow, and several stages may read one. Neurons are read at their
 * spikes, or at their V if the port `"v"` is named.
 *
 * An edge may have a delay (synfire_stage_input::delay). Neurons that are read with one keep their last spikes, as many
 * steps as the longest delay: the history of the layer (synfire_layer_desc::history_steps), a part of its state, which
 * continues from replay to replay, is 0 after a reset, and is in files and snapshots. Rows that are not active in the
 * layer (synfire_layer_set_n_active()) keep theirs. Until the neurons that a stage names have been added, only sums can
 * read a convolution or a scale that names them. A cycle is recorded step by step, so that a network with cycles has at
 * most 4,096 steps. Synapses, with and without delays, convolutions, scales, sums, AND, IAND, concatenations, flattened
 * maps, dropouts and neurons can be in a cycle. What is in no cycle takes all steps at once. The X of recurrent neurons is a sum in the
 * order of its inputs, the recurrent one last. Gradients go back through the cycle to the first step of the replay, and
 * not beyond it.
 *
 * These kinds have no function of their own. `[T, B, N]` is the shape of what they read:
 *
 * - `"sum"` of 2 to 16 stages of one shape, in their order. Spikes and counts give counts, whose bounds add up to at most
 *   255; with values among them, all are added as numbers in f32 (f64 in an f64 network).
 * - `"and"`, `"iand"` of two stages with spikes: a * b, and a * (1 - b).
 * - `"concatenate"`: 2 to 16 stages, side by side along features or channels. Spikes stay spikes; beside counts they are
 *   counts; with values among them, all are numbers.
 * - `"scale"`: a one-to-one synapse (::synfire_one_to_one_desc). Values: `"scope"`, `"bias"`, `"frozen"`,
 *   `"gradient_bits"`, `"initial_weight"`, `"weights_of"`, and the factors of the learning rate and the weight decay; what
 *   can change after the network was built is as of a synapse, here and below.
 * - `"population"`: a population code (::synfire_population_desc), `[T, B, N * n_cells]`, which neurons read as they read a
 *   synapse. It needs `"n_cells"`, unless it has `"weights_of"`, the name of another one whose mu and sigma it uses. Values:
 *   `"lower"`, `"upper"`, `"sigma"`, `"frozen"`; the factors of the learning rate and the weight decay as of a synapse, of mu
 *   (1 and 0) and, with `"sigma_"`, of sigma (1 and 0).
 * - `"delayed"`: a synapse with delays (::synfire_delayed_desc), of spikes, which neurons read as they read a synapse. It
 *   needs `"n_outputs"` and `"max_delay"`. Values: `"delays_of"` (`"connections"` by default, `"inputs"` or `"outputs"`),
 *   `"learn_delays"`, `"width"`, which can change between replays and is at the start as in the descriptor, `"bias"`
 *   (default 1), `"frozen"`, `"gradient_bits"`,
 *   `"initialization"`, `"gain"`, `"seed"` and `"weight_bits"`; the factors of the learning rate and the weight decay as of
 *   a synapse, of the weights (1 and 1), with `"bias_"` of the bias (1 and 0), and with `"delay_"` of the delays (1 and 0).
 *   Training computes with the width; evaluation and inference round the delays. The spikes of the last `max_delay` steps
 *   are a part of the state. In a cycle its delays are added to those of the edge.
 * - `"group_mean"`: the means of groups of `"group_size"` neighbours, `[T, B, N / group_size]` (::synfire_group_mean_desc).
 * - `"flatten"`: a map as features, in the order height, width, channels. It takes no time.
 * - `"conv2d"`: a convolution of maps (::synfire_conv2d_desc), which neurons read as they read a synapse. It needs
 *   `"output_channels"`, unless it has `"weights_of"`. Numbers for both axes: `"kernel"`, `"stride"`, `"padding"`,
 *   `"dilation"` and `"output_padding"`; or for one, which counts before that for both: `"kernel_height"`,
 *   `"kernel_width"`, `"stride_y"`, `"stride_x"` and so on. `"groups"`, `"transposed"`, `"bias"` (default 1), `"frozen"`,
 *   `"gradient_bits"`, `"input_gradient_bits"`, `"initialization"`, `"gain"` and `"seed"`; the factors of the learning rate
 *   and the weight decay as of a synapse. `"weights_of"` names a convolution with as many channels, inputs and outputs,
 *   whose kernel it then has; its map may have another size.
 * - `"pool"` of maps (::synfire_pool_desc). `"kind"` is needed: `"max"`, `"sum"` or `"mean"`. Numbers for both axes, or for
 *   one: `"window"` (default: the whole map), `"window_height"`, `"window_width"`; `"stride"` (default: the window) and
 *   `"padding"` as of a convolution. Maxima of spikes are spikes. Sums of spikes and counts are counts if a byte holds
 *   them, or else values, below 2^24. Means of them are too, and a synapse or a convolution that reads such counts
 *   multiplies its weights by f32(1 / window), so that its sums are exact.
 * - `"normalization"`: a batch normalisation, for each channel of a map, or for each feature (::synfire_normalize_desc);
 *   evaluation and inference take the running statistics, which files hold. Values: `"momentum"`, `"epsilon"`; `"affine"`
 *   (default 1) 0: gamma is 1 and beta 0, and neither is trained; `"threshold"` (default 1): gamma at the start; `"freeze"`
 *   (default 0) 1: the training takes the running statistics too, and leaves them as they are; the factors of the learning
 *   rate and the weight decay as of a synapse, of gamma (1 and 0) and, with `"bias_"`, of beta (1 and 0); `"frozen"`, as of
 *   a synapse, of both, which leaves the running statistics to `"freeze"`. Its synapse
 *   (synfire_network_get_synapse()) has the arrays `"weight"` (gamma), `"bias"` (beta), `"running_mean"` and
 *   `"running_variance"`, and no product.
 * - `"upsample"` of maps (::synfire_upsample_desc). Values: `"scale"` (default 2), or `"scale_y"` and `"scale_x"`.
 * - `"pad"`: zeros around a map (::synfire_pad_desc): `"padding"` on all sides, or `"left"`, `"right"`, `"top"` and
 *   `"bottom"`, which count before that.
 *
 * What is made of readouts alone is a readout, which a loss can follow. Neurons read these kinds and, if they name them,
 * inputs, spikes, V and readouts, as numbers. A synapse adds counts exactly, also with a mask and after a dropout.
 *
 * Values of kinds with a function of their own that only this function gives:
 *
 * - of an input: `"height"`, `"width"`, `"channels"`: a map, in place of `"n_features"`. `"n_steps"` 1: rows have one step,
 *   `[R, 1, K]`, which neurons take as that of every step; their gradient is the sum over the steps from +0, the last
 *   step first, in the type of the network. `"bound"`, 1 to 255: of counts.
 * - of a synapse: `"weights_of"`, the name of a synapse that was added before, with as many inputs and outputs: the stage
 *   uses its weights, and the gradients of both uses add up. It then has no values of its own, and needs no `"n_outputs"`.
 * - of a loss: `"weight"`, the factor of this loss and of its gradient in the training. Default: 1. It can change after the
 *   network was built. With a weight of 0 the loss has no part in the training, and its result is computed.
 *
 * An optimiser reads all losses. Two losses cannot read one readout.
 *
 * @param network A network that is not built.
 * @param desc    The stage.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (also: a kind, a value, a
 *         constant or a stage of this name does not exist, or a value is given twice), ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_WRONG_ORDER (the network is built, or such a stage cannot follow those that it reads),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY. After a failure, nothing has changed.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_add_stage(synfire_network network,
                                                                  const synfire_stage_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Sets a value of a stage; the function that adds the stage says which there are.
 *
 * @param network A network. Once it is built, only values that can change between replays; they take effect with the
 *                next launch of a graph.
 * @param stage   The name of the stage.
 * @param name    The name of the value.
 * @param value   A number that the value may have. Constants such as `SYNFIRE_DTYPE_*` and flags are numbers too.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (the network is built), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY (also: a graph that reads the value
 *         is being launched). After a failure, nothing has changed.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_set_value(synfire_network network, const char *stage,
                                                                  const char *name, double value) SYNFIRE_NOEXCEPT;

/**
 * Reads a value of a stage.
 *
 * @param network    A network.
 * @param stage      The name of the stage.
 * @param name       The name of the value.
 * @param[out] value Receives it; untouched on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (also for a parameter that is
 *         one number per channel or neuron), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal. @threads one at a time per network, else
 * ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_get_value(synfire_network network, const char *stage,
                                                                  const char *name, double *value) SYNFIRE_NOEXCEPT;

/**
 * Lets the optimiser train a parameter of neurons, as synfire_optimizer_add_parameter() does.
 *
 * @param network              A network that is not built.
 * @param stage                The name of the neurons' stage.
 * @param parameter            As synfire_update_parameter_desc::name.
 * @param per_neuron           1: one number for each neuron. 0: one for all, or as synfire_network_set_scope() says.
 * @param learning_rate_factor What the learning rate is multiplied by: 1 unless there is a reason. Finite, at least 0.
 * @param weight_decay_factor  The same for the weight decay: 0 unless there is a reason.
 * @param lower                The smallest value that the parameter may take, in addition to its own range; minus
 *                             infinity for none; NaN for the default of synfire_optimizer_add_parameter().
 * @param upper                The largest value; infinity for none; NaN for the default.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (the network is built), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_train_parameter(
    synfire_network network, const char *stage, const char *parameter, int32_t per_neuron SYNFIRE_FLAG,
    double learning_rate_factor, double weight_decay_factor, double lower SYNFIRE_OPTIONAL_NAN,
    double upper SYNFIRE_OPTIONAL_NAN) SYNFIRE_NOEXCEPT;

/**
 * Says how many numbers a parameter of neurons is: one for each neuron, one for each channel of their map, or one for the
 * layer, as it is at first. All begin with the value of the stage. The optimiser trains as many, if it trains the parameter
 * (synfire_network_train_parameter(), where a `per_neuron` of 1 says ::SYNFIRE_SCOPE_NEURON too, and one of 0 says nothing;
 * the last of several calls counts). Files have all of them. The stage's layer gives and takes them one by one
 * (synfire_network_get_layer(), synfire_layer_set_parameter()).
 *
 * @param network   A network that is not built.
 * @param stage     The name of the neurons' stage.
 * @param parameter The name of the parameter, or its second name; also one of the surrogate.
 * @param scope     One of `SYNFIRE_SCOPE_*`. Neurons without a map have as many channels as neurons.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (the network is built), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_set_scope(synfire_network network, const char *stage,
                                                                  const char *parameter,
                                                                  int32_t scope SYNFIRE_ONE_OF(SYNFIRE_SCOPE))
    SYNFIRE_NOEXCEPT;

/**
 * Sets the connections of a synapse, as synfire_synapse_desc::mask.
 *
 * @param network A network that is not built.
 * @param stage   The name of the synapse's stage.
 * @param mask    `[N, K]`: 1 where there is a connection. Copied.
 * @param length  How many bytes `mask` has: N * K.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (the network is built), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_set_mask(synfire_network network, const char *stage,
                                                                 const uint8_t *mask,
                                                                 uint64_t length SYNFIRE_LENGTH_OF(mask))
    SYNFIRE_NOEXCEPT;

/**
 * Sets the weights of the classes in a loss, as synfire_loss_desc::class_weights.
 *
 * @param network   A network that is not built.
 * @param stage     The name of the loss's stage.
 * @param weights   `[C]`, finite. Copied.
 * @param n_weights How many: C.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (the network is built), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_set_class_weights(synfire_network network, const char *stage,
                                                                          const float *weights,
                                                                          uint64_t n_weights SYNFIRE_LENGTH_OF(weights))
    SYNFIRE_NOEXCEPT;

/**
 * Asks for arrays that training, evaluation and inference shall leave behind: synfire_network_get_buffer() gives them out.
 * Each replay overwrites them with those of its own rows. A network keeps nothing that nobody asks for and no stage reads,
 * and what is kept changes no bit of any result. A name is that of a stage, a dot and one of:
 *
 * - of neurons: `"spikes"` and `"v"` `[T, B, N]`, and what the loss makes of them, `"grad_spikes"` and `"grad_v"`; `"counts"`
 *   `[B, N]`, the number of spikes in the steps that count, in the type of the network. Of neurons that are read with a
 *   delay, `"grad_initial_spikes"` `[D, B, N]`: the gradient of the spikes of the D steps before the first, the earliest
 *   step first, through all that reads them, where D is the longest delay.
 * - of other stages between inputs and losses, but for those that only pass on what they read (a dropout, a flattened map, a
 *   readout of every step): `"output"`, and its gradient `"grad_output"`. The output of a synapse is the X of the neurons,
 *   which is otherwise computed inside their operation. The output of a readout that leaves the network is page-locked, as
 *   without this call, and training and evaluation then write it too.
 * - `"monitor"` of neurons, and of stages with weights: what synfire_network_get_monitor() returns.
 *
 * The whole network decides where gradients arrive, so synfire_network_build() refuses those that nothing computes. Files do not have what was asked for.
 *
 * @param network A network that is not built.
 * @param names   One name, or several with spaces between them. One that was asked for before is kept once.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (also: no name, or one that no
 *         stage has), ::SYNFIRE_ERROR_WRONG_ORDER (the network is built), ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_BUSY. After a failure, nothing has changed.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_keep(synfire_network network, const char *names)
    SYNFIRE_NOEXCEPT;

/**
 * Computes how much memory a network takes, before anything of it is allocated: all parts are made and all graphs
 * recorded, for data without lengths and sample weights, on a device that only counts.
 *
 * @param network        A network with neurons at least.
 * @param[in,out] memory In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_WRONG_ORDER (stages are missing), ::SYNFIRE_ERROR_OUT_OF_MEMORY (a size that cannot be
 *         represented), ::SYNFIRE_ERROR_UNSUPPORTED, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory for the time of the call. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_query_memory(synfire_network network,
                                                                     synfire_network_memory *memory) SYNFIRE_NOEXCEPT;

/**
 * Writes a table of the stages, with their shapes and how many numbers each of them has to learn, and the bytes that
 * the parts of the network take. If the network is built, it also has a line for each synapse whose weights are on a
 * grid: what synfire_synapse_get_rounding() says of all of them.
 *
 * @param network       A network.
 * @param[out] text     Receives the text, null-terminated; null to get only its size.
 * @param[in,out] bytes In: the size of `text`. Out: the size of the whole text, including its terminating null;
 *                      untouched on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT if `text` is too small; nothing is then written;
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_WRONG_ORDER, ::SYNFIRE_ERROR_UNSUPPORTED,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_BUSY.
 * @blocks until replays launched before are done, if the network is built. @allocates host memory. @enqueues copies of
 * weights, if it is built, and waits for them. @capture legal (they do not become part of a capture).
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_write_summary(synfire_network network,
                                                                      char *text SYNFIRE_NULLABLE, uint64_t *bytes)
    SYNFIRE_NOEXCEPT;

/**
 * Writes the stages as text in the DOT language of Graphviz. synfire_graph_write_dot() draws the operations of a graph.
 *
 * @param network       A network.
 * @param[out] text     Receives the text, null-terminated; null to get only its size.
 * @param[in,out] bytes In: the size of `text`. Out: the size of the whole text, including its terminating null;
 *                      untouched on failure.
 * @return ::SYNFIRE_OK; ::SYNFIRE_ERROR_INVALID_ARGUMENT if `text` is too small; nothing is then written;
 *         ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_write_dot(synfire_network network, char *text SYNFIRE_NULLABLE,
                                                                  uint64_t *bytes) SYNFIRE_NOEXCEPT;

/**
 * Makes all parts of a network: synapses, layers, buffers, the optimiser and the inference graph. The other graphs are
 * recorded with their data. Everything is made on a device that only counts first, so that what cannot work is refused before
 * anything is allocated.
 *
 * @param network A network with neurons at least, that is not built.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_WRONG_ORDER (stages are missing, nothing is to be
 *         trained, or the network is built), ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_UNSUPPORTED,
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_BUSY,
 *         ::SYNFIRE_ERROR_PEER_LOST.
 * @blocks yes. @allocates yes. @enqueues copies and kernels, and waits for them. @capture legal (they do not become part
 * of a capture). @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_build(synfire_network network) SYNFIRE_NOEXCEPT;

/**
 * Sets a data set of R rows. The arrays are copied; they may be in memory of any kind. Their rows follow each other
 * without gaps. The graph of the data is recorded by the first call, and again if the number of rows or the arrays given
 * differ from before. With another number of rows, the training begins with batch 0 of epoch 0.
 *
 * Every element is looked at before the data change. What cannot be meant is refused, with its row, its value and
 * what is allowed (::SYNFIRE_ERROR_INVALID_ARGUMENT, and the data are as before): a label that is neither a class, 0 to
 * C - 1, nor the ignored one; a dense spike that is neither 0 nor 1; a value that is not finite; a rate outside 0 to 1; a
 * target or a sample weight that is not finite. The values `"any_number"` of the input and of the loss allow all but the
 * first, and the input's `"replace_nonfinite"` allows numbers that are not finite. Steps beyond a row's length count for
 * nothing and may hold anything.
 *
 * @param network        A built network with a loss, and for training data with an optimiser.
 * @param set            One of `SYNFIRE_DATA_*`.
 * @param n_rows         Rows R, 1 to 2^32 - 1.
 * @param inputs         Of the input's `"dtype"`: `[R, T, K]`, or rates `[R, K]`. Packed spikes are as in
 *                       ::synfire_gather_rows_desc.
 * @param labels         u32 `[R]`, or `[R, T]` with the loss's `"per_step"`. Given exactly if the loss's `"targets"` is 0.
 * @param targets        f32 (f64 in an f64 network) `[R, C]`, or `[R, T, C]` with `"per_step"`. Given exactly if
 *                       `"targets"` is 1.
 * @param lengths        u32 `[R]`: how many steps of each row count in the readout, the loss and the rates of neurons; more
 *                       than T counts as T. The inputs, labels and targets of the other steps are taken as 0. Null: all.
 * @param sample_weights f32 `[R]`: the weight of each row in the loss. Null: all 1.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (not built, no loss, no optimiser), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_PEER_LOST, ::SYNFIRE_ERROR_BUSY (also: the graph of these data is being launched). The data are
 *         then as before, or, where the text says so because a copy to a GPU into the same arrays failed, there are none
 *         until a call succeeds.
 * @blocks until replays of the data's graph that were launched before are done, and the copies. @allocates yes.
 * @enqueues copies and kernels, and waits for them. @capture legal (they do not become part of a capture).
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_set_data(
    synfire_network network, int32_t set SYNFIRE_ONE_OF(SYNFIRE_DATA), int64_t n_rows, synfire_buffer inputs,
    synfire_buffer labels SYNFIRE_NULLABLE, synfire_buffer targets SYNFIRE_NULLABLE,
    synfire_buffer lengths SYNFIRE_NULLABLE, synfire_buffer sample_weights SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/** Rows of an array for a stage of a network: synfire_network_set_arrays() and synfire_network_infer_arrays(). Since ABI
 *  0.3. */
typedef struct synfire_network_array {
  /** The name of a stage. Null for arrays of the rows, and where one stage takes an array of the role. */
  const char *stage SYNFIRE_NULLABLE;
  /** One of `SYNFIRE_ARRAY_*`. */
  int32_t role SYNFIRE_ONE_OF(SYNFIRE_ARRAY);
  /** Must be zero. */
  uint32_t reserved;
  /** R rows without gaps, in memory of any kind. Outputs are written, all others read. */
  synfire_buffer buffer SYNFIRE_UPDATED("[R, ...]");
} synfire_network_array;

/**
 * Sets a data set of R rows, as synfire_network_set_data(), with an array of its own for each stage that needs one: for
 * each input its inputs, and for each loss its labels or its targets. All arrays are taken, or none of them.
 *
 * @param network  A built network with a loss, and for training data with an optimiser.
 * @param set      One of `SYNFIRE_DATA_*`.
 * @param n_rows   Rows R, 1 to 2^32 - 1.
 * @param arrays   The arrays, in any order. Stages may share a buffer.
 * @param n_arrays How many there are, at most 4,098.
 * @return As synfire_network_set_data(); ::SYNFIRE_ERROR_INVALID_ARGUMENT also if an array is missing, given twice, or for
 *         a stage that takes none.
 * @blocks until replays of the data's graph that were launched before are done, and the copies. @allocates yes.
 * @enqueues copies and kernels, and waits for them. @capture legal (they do not become part of a capture).
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_set_arrays(synfire_network network,
                                                                   int32_t set SYNFIRE_ONE_OF(SYNFIRE_DATA),
                                                                   int64_t n_rows, const synfire_network_array *arrays,
                                                                   uint64_t n_arrays SYNFIRE_LENGTH_OF(arrays))
    SYNFIRE_NOEXCEPT;

/** Rows of an array of a data set in a file: synfire_network_open_data(). Since ABI 0.3. */
typedef struct synfire_data_file {
  /** The path, in UTF-8: of a safetensors file; of the index of its shards, which ends in `".json"`; or of an array of
   *  NumPy, which ends in `".npy"`. */
  const char *path;
  /** The name of the tensor `[r, ...]` in the file, of any r rows. Null: of a `".npy"` file, which has one array. */
  const char *tensor SYNFIRE_NULLABLE;
  /** The name of a stage, as synfire_network_array::stage. */
  const char *stage SYNFIRE_NULLABLE;
  /** One of `SYNFIRE_ARRAY_*`, but not ::SYNFIRE_ARRAY_OUTPUTS. */
  int32_t role SYNFIRE_ONE_OF(SYNFIRE_ARRAY);
  /** Must be zero. */
  uint32_t reserved;
} synfire_data_file;

/** How to read a data set that stays in files: synfire_network_open_data(). Zero means the default in every field except
 *  `struct_size`.
 *
 * A block is S rows of the data set that follow each other; the last one has those that are left. The training rows of
 * an epoch are in this order, where M is the number of blocks and W that of a window:
 *
 * - If W is less than M, the blocks are permuted: at place b of epoch e is block row(b) of ::synfire_shuffle_desc, with
 *   R = M, the seed of the order, and keys from the counters i, 0x6B636C62, low word of e, high word of e. Otherwise
 *   block b is at place b.
 * - W places in turn are a window, w = 0, 1, 2 ... The last one has those that are left. Its rows are those of its
 *   blocks, one block after the other.
 * - The rows of each window are permuted: at place p of the window is its row row(p), with R = the rows of the window, the
 *   same seed, and keys from the counters 8w + i, 0x66756873, low word of e, high word of e.
 * - Window follows window, and batches are cut from the rows of the epoch.
 *
 * If one window has all rows, that is the order of data that are given by synfire_network_set_data(). The order depends
 * on nothing else: not on the files, the threads or the batch. Evaluation data are in the order of the files.
 * @since ABI 0.3 */
typedef struct synfire_network_data_desc {
  /** `sizeof(synfire_network_data_desc)`. */
  uint32_t struct_size;
  /** Threads that read ahead, at most 64. Default: 2 on a CUDA context, and on a host context with threads of its own; on a
   *  host context with one thread or with the program's job system none, and the calling thread reads when it needs
   *  rows. */
  uint32_t n_readers;
  /** Rows S of a block, at most 2^32 - 1. Default: as many as have 1 MiB together in all arrays, at least 1. */
  int64_t block_rows;
  /** Blocks W of a window, whose rows are permuted together. Default: 32. */
  int64_t window_blocks;
} synfire_network_data_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_NETWORK_DATA_DESC_INIT \
  { (uint32_t)sizeof(synfire_network_data_desc), 0u, 0, 0 }

/**
 * Sets a data set of rows that stay in files, in place of synfire_network_set_data(): it may be larger than memory.
 * Training and evaluation read the rows that they need and some ahead, window by window
 * (::synfire_network_data_desc), and compute the bits of the same rows in memory in the same order. In memory are three
 * windows, and more of them if a batch has more rows than a window; of a data set of one window, its rows. On a CUDA
 * context that memory is page-locked, and replays read it there.
 *
 * Each array has one entry or several, whose rows follow each other in the order of the entries. All arrays have as many
 * rows. An element in the file has the type and the bits that the array has in memory: F32, F16, BF16, F64 or U8 as the
 * `"dtype"` says, U32 for packed spikes, labels and lengths; and the tensor has the shape of the array after its rows,
 * with axes of length 1 or without. Rows in `".npy"` files are in C order and little-endian.
 *
 * The files stay open, and must not change, until other data are set or the network is destroyed. Of them, only headers are
 * read in this call, and with a communicator a few rows. Elements are looked at when they are read, as synfire_network_set_data() does. What is refused
 * then, and a file that cannot be read or has become shorter, is an error of the call that needs the rows, before the
 * batch with them begins: training has learnt the batches before it, and goes on with that batch once the rows can be
 * read.
 *
 * With a communicator (synfire_network_desc::communicator), every rank opens files with the same rows, and reads those that
 * it has of each batch. The ranks compare the number of rows, the order, and up to 64 rows of each array; rows that differ
 * elsewhere are not found. A rank that cannot read its rows gives up the group: it has the error of the file, and the
 * others ::SYNFIRE_ERROR_PEER_LOST.
 *
 * The place in the order is part of a file of the network. A training that is loaded goes on where it stopped, with the
 * same bits, once the network has data of as many rows in the same order; otherwise it begins with batch 0 of epoch 0, as
 * it does when data are set. The graphs of such data are launched by synfire_network_train() and
 * synfire_network_evaluate() alone: synfire_network_get_graph() does not give them out.
 *
 * @param network A built network with a loss, and for training data with an optimiser.
 * @param set     One of `SYNFIRE_DATA_*`.
 * @param files   The arrays. A file may be in several entries.
 * @param n_files How many entries there are, 1 to 65,536.
 * @param desc    How to read them. Null: all defaults.
 * @return As synfire_network_set_arrays(), and ::SYNFIRE_ERROR_STRUCT_SIZE; ::SYNFIRE_ERROR_INVALID_ARGUMENT also if a file
 *         cannot be opened, is damaged, or has no such tensor, or one of another type or shape.
 * @blocks until replays of the data's graph that were launched before are done, and the headers are read. @allocates yes,
 * and makes threads. @enqueues nothing but a warm-up of the graph, and waits for it. @capture legal (they do not become
 * part of a capture). @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_open_data(
    synfire_network network, int32_t set SYNFIRE_ONE_OF(SYNFIRE_DATA), const synfire_data_file *files,
    uint64_t n_files SYNFIRE_LENGTH_OF(files), const synfire_network_data_desc *desc SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Trains: launches the training graph once for each batch, and waits at the end. Each epoch has an order of its own, as
 * synfire_shuffle_desc says; its last batch may be smaller. Afterwards the state of the neurons is reset.
 *
 * @param network        A built network with an optimiser and training data.
 * @param n_batches      How many batches, also beyond the end of an epoch. 0: those that are left of the epoch.
 * @param[in,out] result In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (also: as many batches would go
 *         beyond the end of the optimiser's schedule, even if steps are left out; or rows of a file cannot be read or have an
 *         element that is not allowed, synfire_network_open_data()), ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_WRONG_ORDER (not built, no optimiser, no data, or a replay with a part of the network is in
 *         flight on another stream), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK,
 *         ::SYNFIRE_ERROR_PEER_LOST (batches may have been learnt), ::SYNFIRE_ERROR_BUSY (also: a graph of the network is
 *         being launched), ::SYNFIRE_ERROR_OUT_OF_MEMORY (nothing has been learnt). After an error of the device, of the
 *         context's job system or of a file, batches may have been learnt: the text says how many were launched
 *         before the one that failed, with which the training goes on, or that the step of that one had begun, so that it
 *         has been learnt in part. The states of the neurons are then as they were.
 * @blocks until done. @allocates host memory. @enqueues the graph, once for each batch, on the context's own stream.
 * @capture refused by CUDA while this thread captures. @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY.
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_train(synfire_network network,
                                                              int64_t n_batches SYNFIRE_OPTIONAL,
                                                              synfire_network_result *result) SYNFIRE_NOEXCEPT;

/**
 * Evaluates: computes the loss of all rows of the evaluation data, in order, without dropout. Rates are encoded from the
 * same random numbers in every call. Afterwards the state of the neurons is reset.
 *
 * @param network        A built network with a loss and evaluation data.
 * @param[in,out] result In: `struct_size`. Out: everything else.
 * @return As synfire_network_train(). After a failure, the network is as it was.
 * @blocks until done. @allocates host memory. @enqueues the graph, once for each batch, on the context's own stream.
 * @capture refused by CUDA while this thread captures. @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY.
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_evaluate(synfire_network network,
                                                                 synfire_network_result *result) SYNFIRE_NOEXCEPT;

/** The result of one loss of a network: synfire_network_train_stages(), synfire_network_evaluate_stages(). Since ABI
 *  0.3. */
typedef struct synfire_stage_result {
  /** The name of the loss; set before the call. */
  const char *stage;
  /** As synfire_network_result::loss, of this loss, without its value `"weight"`. */
  double loss;
  /** As synfire_network_result::n_counted. */
  uint64_t n_counted;
  /** As synfire_network_result::n_correct. */
  uint64_t n_correct;
} synfire_stage_result;

/**
 * Trains, as synfire_network_train(), and returns the results of single losses too.
 *
 * @param network        A built network with an optimiser and training data.
 * @param n_batches      How many batches, also beyond the end of an epoch. 0: those that are left of the epoch.
 * @param[in,out] losses In: `stage` of each entry. Out: everything else; untouched on failure.
 * @param n_losses       How many there are, at most 4,096.
 * @param[in,out] result In: `struct_size`. Out: everything else, the sums over all losses of the network.
 * @return As synfire_network_train(); ::SYNFIRE_ERROR_INVALID_ARGUMENT also if a stage is not a loss.
 * @blocks until done. @allocates host memory. @enqueues the graph, once for each batch, on the context's own stream.
 * @capture refused by CUDA while this thread captures. @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY.
 * @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_train_stages(synfire_network network, int64_t n_batches,
                                                                     synfire_stage_result *losses,
                                                                     uint64_t n_losses SYNFIRE_LENGTH_OF(losses),
                                                                     synfire_network_result *result) SYNFIRE_NOEXCEPT;

/**
 * Evaluates, as synfire_network_evaluate(), and returns the results of single losses too.
 *
 * @param network        A built network with a loss and evaluation data.
 * @param[in,out] losses In: `stage` of each entry. Out: everything else; untouched on failure.
 * @param n_losses       How many there are, at most 4,096.
 * @param[in,out] result In: `struct_size`. Out: everything else, the sums over all losses of the network.
 * @return As synfire_network_evaluate(); ::SYNFIRE_ERROR_INVALID_ARGUMENT also if a stage is not a loss.
 * @blocks until done. @allocates host memory. @enqueues the graph, once for each batch, on the context's own stream.
 * @capture refused by CUDA while this thread captures. @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY.
 * @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_evaluate_stages(synfire_network network,
                                                                        synfire_stage_result *losses,
                                                                        uint64_t n_losses SYNFIRE_LENGTH_OF(losses),
                                                                        synfire_network_result *result)
    SYNFIRE_NOEXCEPT;

/**
 * Computes the output for rows of inputs, B at a time, with the inference graph. The state of the neurons is reset
 * before each batch and afterwards, so that rows do not depend on each other; rates are encoded from the same random
 * numbers in every call. A loop that continues from frame to frame launches the graph itself
 * (synfire_network_get_graph()).
 *
 * @param network A built network.
 * @param inputs  R rows, as in synfire_network_set_data(), in memory of any kind.
 * @param n_rows  Rows R, at least 1.
 * @param outputs Receives R rows, in memory of any kind: `[R, C]` of f32 (f64 in an f64 network), or `[R, T, C]` with a
 *                readout of every step. Without a readout: spikes `[R, T, N]` as ::SYNFIRE_DTYPE_BITS, or V of neurons
 *                that never fire.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (not built, or a replay with a part of the network is in flight on another stream),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK,
 *         ::SYNFIRE_ERROR_BUSY (also: a graph of the network is being launched, or its slots are in flight). After a
 *         failure, the network is as it was, unless the device is lost; the first rows of `outputs`, and the buffers
 *         `"input"` and `"output"`, may have been written.
 * @blocks until done. @allocates host memory. @enqueues the graph, once for each B rows, on the context's own stream.
 * @capture refused by CUDA while this thread captures. @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY.
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_infer(synfire_network network, synfire_buffer inputs,
                                                              int64_t n_rows, synfire_buffer outputs) SYNFIRE_NOEXCEPT;

/**
 * Computes outputs for rows of inputs, as synfire_network_infer(), with an array for each input and for any of the outputs.
 *
 * @param network  A built network.
 * @param n_rows   Rows R, at least 1.
 * @param arrays   The inputs of each input, and the outputs of one stage at least. Outputs overlap no other array.
 * @param n_arrays How many there are, at most 4,098.
 * @return As synfire_network_infer(); ::SYNFIRE_ERROR_INVALID_ARGUMENT also if an array is missing, given twice, or for a
 *         stage that takes none.
 * @blocks until done. @allocates host memory. @enqueues the graph, once for each B rows, on the context's own stream.
 * @capture refused by CUDA while this thread captures. @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY.
 * @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_infer_arrays(synfire_network network, int64_t n_rows,
                                                                     const synfire_network_array *arrays,
                                                                     uint64_t n_arrays SYNFIRE_LENGTH_OF(arrays))
    SYNFIRE_NOEXCEPT;

/**
 * Resets the state of all neurons, as synfire_layer_reset_state().
 *
 * @param network A built network.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_WRONG_ORDER (not built, or a replay with a layer
 *         of the network is in flight on another stream), ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA,
 *         ::SYNFIRE_ERROR_CALLBACK, ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY (also: a graph of the network is
 *         being launched). After a failure, nothing has changed.
 * @blocks until done. @allocates host memory. @enqueues fills on the context's own stream. @capture refused by CUDA while this
 * thread captures. @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_reset_state(synfire_network network) SYNFIRE_NOEXCEPT;

/**
 * Resets the state of all neurons in some batch rows, as synfire_layer_reset_rows(): these rows begin anew, and the others
 * go on. A loop with several agents calls it for one that starts over.
 *
 * @param network   A built network.
 * @param first_row The first row, 0 to B - 1.
 * @param n_rows    How many, at least 1.
 * @return As synfire_network_reset_state(); ::SYNFIRE_ERROR_INVALID_ARGUMENT also for rows that the network does not have.
 * @blocks until done. @allocates host memory. @enqueues kernels on the context's own stream. @capture refused by CUDA while
 * this thread captures. @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_reset_rows(synfire_network network, int64_t first_row,
                                                                   int64_t n_rows) SYNFIRE_NOEXCEPT;

/**
 * Returns the synapse of a stage: a handle of its own, which keeps the synapse alive, also beyond the network, until it
 * is destroyed.
 *
 * @param network      A built network.
 * @param stage        The name of a stage of kind synapse or scale. One that uses the weights of another stage has its
 *                     synapse.
 * @param[out] synapse Receives the handle, or null on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_WRONG_ORDER
 *         (not built), ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_BUSY.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_get_synapse(synfire_network network, const char *stage,
                                                                    synfire_synapse *synapse) SYNFIRE_NOEXCEPT;

/**
 * Returns the layer of a stage, as synfire_network_get_synapse() returns a synapse. The layer of neurons in a cycle has
 * one step, and its state is without the last spikes of the neurons, which the network keeps.
 *
 * @param network    A built network.
 * @param stage      The name of a stage of neurons.
 * @param[out] layer Receives the handle, or null on failure.
 * @return As synfire_network_get_synapse().
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_get_layer(synfire_network network, const char *stage,
                                                                  synfire_layer *layer) SYNFIRE_NOEXCEPT;

/**
 * Returns the optimiser, as synfire_network_get_synapse() returns a synapse.
 *
 * @param network        A built network.
 * @param stage          The name of the optimiser's stage.
 * @param[out] optimizer Receives the handle, or null on failure.
 * @return As synfire_network_get_synapse().
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_get_optimizer(synfire_network network, const char *stage,
                                                                      synfire_optimizer *optimizer) SYNFIRE_NOEXCEPT;

/**
 * Returns a graph, as synfire_network_get_synapse() returns a synapse. Data of another shape
 * (synfire_network_set_data()) gives the network another graph; this one then continues with the old data.
 *
 * @param network    A built network.
 * @param kind       One of `SYNFIRE_NETWORK_GRAPH_*`.
 * @param[out] graph Receives the handle, or null on failure.
 * @return As synfire_network_get_synapse(); ::SYNFIRE_ERROR_WRONG_ORDER also if the network has no data for the graph,
 *         has them in files (synfire_network_open_data()), or has no loss of the program's own.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_get_graph(synfire_network network,
                                                                  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_NETWORK_GRAPH),
                                                                  synfire_graph *graph) SYNFIRE_NOEXCEPT;

/**
 * Returns a buffer, as synfire_network_get_synapse() returns a synapse.
 *
 * @param network     A built network.
 * @param name        `"input"` or `"output"` of the inference graph, both page-locked and of B rows, time-major: inputs
 *                    `[T, B, K]` or rates `[B, K]`, outputs `[B, C]` or `[T, B, C]`. Each also has the name of its
 *                    stage and `".input"` or `".output"`, and only this name if there are several. With a loss of the
 *                    program's own, page-locked too and 0 at first: for an output without a loss, the name of its stage and
 *                    `".gradient"`, of the same shape; for a loss, `".labels"` or `".targets"`. Or what training and evaluation leave in device
 *                    memory: the name of a stage of neurons and `".spikes"`, `".v"`, `".grad_spikes"` or `".grad_v"`,
 *                    as far as the network needs it, and all that synfire_network_keep() was asked for. With the
 *                    input's value `"replace_nonfinite"`, `"n_replaced"`, page-locked: one u64, how many numbers each replay of the inference graph replaced (in the slot of
 *                    the replay), and after synfire_network_infer() how many that call did.
 * @param[out] buffer Receives the handle, or null on failure.
 * @return As synfire_network_get_synapse(); ::SYNFIRE_ERROR_WRONG_ORDER also for an array that the network could have kept,
 *         but was not asked for.
 * @blocks no. @allocates host memory. @enqueues no. @capture legal.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_get_buffer(synfire_network network, const char *name,
                                                                   synfire_buffer *buffer) SYNFIRE_NOEXCEPT;

/** The monitor of one stage of a network: synfire_network_get_monitor(). Numbers that the stage does not have are NaN. Since
 *  ABI 0.3. */
typedef struct synfire_network_monitor {
  /** `sizeof(synfire_network_monitor)`; set before the call. */
  uint32_t struct_size;
  /** Always 0. */
  uint32_t reserved;
  /** How many replays it covers: all of neurons; those that compute gradients of weights. */
  uint64_t n_replays;
  /** The spikes of neurons per neuron and step, 0 to 1; 0 without a replay. Steps beyond a row's length and rows that are
   *  not in the batch do not count. */
  double rate;
  /** The fraction of the neurons that have not fired in any of the replays, 0 to 1; 0 without a replay. */
  double silent;
  /** The Euclidean norm of the weights that the stage has now, without the bias: gamma of a normalisation, mu of a
   *  population code. */
  double weight_norm;
  /** The root of the mean, over the replays, of the squared Euclidean norm of their gradient; 0 without a replay. NaN too if
   *  they are not trained. With one replay, the norm of its gradient. */
  double gradient_norm;
} synfire_network_monitor;

/** All zeros except for `struct_size`. */
#define SYNFIRE_NETWORK_MONITOR_INIT \
  { (uint32_t)sizeof(synfire_network_monitor), 0u, 0u, 0.0, 0.0, 0.0, 0.0 }

/**
 * Reads the monitor of a stage, which adds up inside the replays (synfire_network_keep()). Counts are integers and sums are in
 * f64 in a fixed order, so that the numbers are the same on every machine. A call that trains, evaluates or infers begins
 * anew; replays that the program launches itself are added. A call that fails may have changed what was added up.
 *
 * @param network          A built network.
 * @param stage            The name of a stage that is monitored.
 * @param restart          1: the monitor of this stage begins anew afterwards. 0: it goes on.
 * @param[in,out] monitor  In: `struct_size`. Out: everything else; untouched on failure.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE,
 *         ::SYNFIRE_ERROR_WRONG_ORDER (not built, or synfire_network_keep() was not asked for it),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_CALLBACK,
 *         ::SYNFIRE_ERROR_BUSY (also: a graph of the network is being launched).
 * @blocks until replays launched before are done, and the copies. @allocates host memory. @enqueues a sum over the weights
 * and copies, on the context's own stream, and waits for them. @capture refused by CUDA while this thread captures.
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_get_monitor(synfire_network network, const char *stage,
                                                                    int32_t restart SYNFIRE_FLAG SYNFIRE_OPTIONAL,
                                                                    synfire_network_monitor *monitor) SYNFIRE_NOEXCEPT;

/**
 * Reports the memory that a network holds, with the layers, synapses, buffers, graphs and the optimiser that it made.
 * synfire_network_query_memory() says before what it will need.
 *
 * @param network    A network.
 * @param[in,out] use In: `struct_size`. Out: everything else.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT, ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks no. @allocates no. @enqueues no. @capture legal. @threads any. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_get_memory_use(synfire_network network, synfire_memory_use *use)
    SYNFIRE_NOEXCEPT;

/** Settings of synfire_network_create_from_file() that replace those of the file. Zero means that of the file in every
 *  field except `struct_size`. */
typedef struct synfire_network_file_desc {
  /** `sizeof(synfire_network_file_desc)`. */
  uint32_t struct_size;
  /** 1: without the loss and the optimiser of the file, and without all that only training needs. */
  int32_t inference SYNFIRE_FLAG;
  /** Steps T of one replay. */
  int64_t n_steps;
  /** Batch rows B. */
  int64_t batch;
  /** As synfire_network_desc::n_slots. */
  uint32_t n_slots;
  /** 1: the input has the value `"replace_nonfinite"`, even if the input of the file does not have it. Since ABI 0.3;
   *  before, it had to be 0. */
  int32_t replace_nonfinite SYNFIRE_FLAG;
  /** Arrays to keep: the names of synfire_network_keep(). Null: none. Since ABI 0.3. */
  const char *keep SYNFIRE_NULLABLE;
  /** 1: every readout that is a sum, a mean or a maximum has the value `"continues"`, even if that of the file does not have
   *  it. Since ABI 0.3. */
  int32_t continues SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
} synfire_network_file_desc;

/** All zeros except for `struct_size`. */
#define SYNFIRE_NETWORK_FILE_DESC_INIT \
  { (uint32_t)sizeof(synfire_network_file_desc), 0, 0, 0, 0u, 0, NULL, 0, 0u }

/**
 * Saves a network as a safetensors file, which replaces the one at the path as a whole or not at all. It has all that the
 * network needs to continue with the same bits, also in another process and on another backend: the stages with their
 * values, weights, masks, parameters and states of neurons, what the optimiser remembers, the offsets of random numbers
 * and the batch with which the training goes on. The page "Files" has its layout. Data sets are not in it, nor are
 * gradients, which every step computes anew, nor values that were changed on a graph by its own handle. The same
 * network gives the same bytes on every backend.
 *
 * @param network A built network.
 * @param path    The path of the file, in UTF-8.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (also: the file cannot be
 *         written), ::SYNFIRE_ERROR_WRONG_ORDER (not built), ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_BUSY (also: a graph of the network is being
 *         launched).
 * @blocks until replays launched before are done and the file is on the disk. @allocates host memory. @enqueues copies,
 * and waits for them. @capture legal (they do not become part of a capture).
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_save(synfire_network network, const char *path)
    SYNFIRE_NOEXCEPT;

/**
 * Saves a network in files of limited size, as other tools do with large models. If its tensors have at most `shard_bytes`
 * bytes, this is synfire_network_save(). Otherwise the tensors are divided among N files beside the path
 * `"NAME.safetensors"`, `"NAME-00001-of-0000N.safetensors"` and so on, each a safetensors file of at most that many bytes of
 * tensors, or with one larger tensor; and `"NAME.safetensors.index.json"` says which file has which tensor. Functions that
 * load take the path of the index in place of that of a file.
 *
 * All files are complete on the disk before the first one gets its name, and the index gets its name last. If the
 * program ends in between, the index and its files may be of two saves; loading then says so. Files of earlier saves with
 * other names stay.
 *
 * @param network       A built network.
 * @param path          The path, in UTF-8, which ends in `".safetensors"`.
 * @param shard_bytes   Bytes of tensors in a file, at most. 0: 5,000,000,000.
 * @param[out] n_shards Receives N; 1 if the file at `path` was written, without an index. Null: not needed.
 * @return As synfire_network_save(); ::SYNFIRE_ERROR_INVALID_ARGUMENT also if there would be more than 99,999 files.
 * @blocks until replays launched before are done and the files are on the disk. @allocates host memory. @enqueues copies,
 * and waits for them. @capture legal (they do not become part of a capture).
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_save_shards(synfire_network network, const char *path,
                                                                    uint64_t shard_bytes,
                                                                    uint64_t *n_shards SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Saves a network to memory: the bytes of synfire_network_save().
 *
 * @param network       A built network.
 * @param[out] data     Receives the file; null to get only its size.
 * @param[in,out] bytes In: the size of `data`. Out: the size of the file; untouched on failure.
 * @return As synfire_network_save(); ::SYNFIRE_ERROR_INVALID_ARGUMENT if `data` is too small; nothing is then written.
 * @blocks until replays launched before are done, and the copies. @allocates host memory. @enqueues copies, and waits
 * for them. @capture legal (they do not become part of a capture).
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_save_to_memory(synfire_network network,
                                                                       void *data SYNFIRE_NULLABLE, uint64_t *bytes)
    SYNFIRE_NOEXCEPT;

/**
 * Loads a file that synfire_network_save() has written, into a network with the same stages: the same names, kinds,
 * widths, masks, class weights and values, but for those that can change between replays, which become those of the
 * file, and those that say only where memory lies or how weights began. A value that the file lacks has its default. The
 * seeds of stages and that of the order of the training rows become those of the file, unless the program has set one for
 * the stage. Bounds of trained parameters are compared where both sides say them. The network may lack the file's loss and
 * optimiser; then nothing that concerns training needs to agree. Everything is checked before anything changes, and
 * after a failure the network is as it was, unless the device is lost; without memory, once a call finds some for it.
 *
 * T and B may differ. With another B, the state of the neurons is reset, and the training goes on with batch 0 of the
 * file's epoch. The training data are set as before, by synfire_network_set_data(), before or after; with another number
 * of rows than in the file, it begins with batch 0 of epoch 0. If the number of that batch would be beyond 2^64, the file
 * is refused.
 *
 * @param network A built network.
 * @param path    The path of the file, or of the index of its shards (synfire_network_save_shards()), in UTF-8.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (also: the file cannot be read, is
 *         damaged or of another network; the text has the first difference), ::SYNFIRE_ERROR_WRONG_ORDER (not built, or
 *         a replay with a part of the network is in flight on another stream), ::SYNFIRE_ERROR_OUT_OF_MEMORY,
 *         ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_BUSY (also: a graph of the network is being
 *         launched).
 * @blocks until replays launched before are done, and the copies. @allocates yes. @enqueues copies and kernels, and
 * waits for them. @capture legal (they do not become part of a capture).
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_load(synfire_network network, const char *path)
    SYNFIRE_NOEXCEPT;

/**
 * Loads a file that is in memory; as synfire_network_load().
 *
 * @param network A built network.
 * @param data    The file, at any address.
 * @param bytes   Its size.
 * @return As synfire_network_load().
 * @blocks until replays launched before are done, and the copies. @allocates yes. @enqueues copies and kernels, and
 * waits for them. @capture legal (they do not become part of a capture).
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_load_from_memory(synfire_network network, const void *data,
                                                                         uint64_t bytes) SYNFIRE_NOEXCEPT;

/**
 * Creates the network of a file: with the stages of the file, built, and with all that the file has. T, B and slots may
 * be others, so that a network that was trained with B = 64 runs with B = 1 in a loop.
 *
 * @param context      The context it belongs to.
 * @param path         The path of the file, or of the index of its shards (synfire_network_save_shards()), in UTF-8.
 * @param desc         What is not as in the file. Null: nothing.
 * @param[out] network Receives the handle, or null on failure.
 * @return As synfire_network_build() and synfire_network_load(), and ::SYNFIRE_ERROR_STRUCT_SIZE.
 * @blocks yes. @allocates yes. @enqueues copies and kernels, and waits for them. @capture legal (they do not become part
 * of a capture). @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_create_from_file(
    synfire_context context, const char *path, const synfire_network_file_desc *desc SYNFIRE_NULLABLE,
    synfire_network *network) SYNFIRE_NOEXCEPT;

/**
 * Creates the network of a file that is in memory; as synfire_network_create_from_file().
 *
 * @param context      The context it belongs to.
 * @param data         The file, at any address.
 * @param bytes        Its size.
 * @param desc         What is not as in the file. Null: nothing.
 * @param[out] network Receives the handle, or null on failure.
 * @return As synfire_network_create_from_file().
 * @blocks yes. @allocates yes. @enqueues copies and kernels, and waits for them. @capture legal (they do not become part
 * of a capture). @threads any. @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_create_from_memory(
    synfire_context context, const void *data, uint64_t bytes, const synfire_network_file_desc *desc SYNFIRE_NULLABLE,
    synfire_network *network) SYNFIRE_NOEXCEPT;

/** An array of a file for an array of a network: synfire_network_load_arrays(). Since ABI 0.3. */
typedef struct synfire_array_source {
  /** The name of the tensor in the file. */
  const char *theirs;
  /** The name of the array, as in a file of the network: the name of a stage and `".weights"`, `".bias"`, `".weight"`,
   *  `".mu"`, `".sigma"`, `".running_mean"`, `".running_variance"`, or `".parameter.NAME"`. Null: `theirs`. */
  const char *ours SYNFIRE_NULLABLE;
  /** The order of the elements in the file, a word of synfire_network_load_arrays(). Null: that of the network. */
  const char *layout SYNFIRE_NULLABLE;
  /** Out: 1 if it was loaded, 0 if it was left out. */
  int32_t is_loaded;
  /** Must be zero. */
  uint32_t reserved;
} synfire_array_source;

/**
 * Loads arrays of any safetensors file by their names, such as weights from another tool, or those of another network of
 * which this one has a part. All others stay as they are, and so do states and what the optimiser remembers.
 *
 * Tensors are of F32, F16, BF16 or F64. Each number becomes the nearest one of the array's type, ties to even; all must be
 * finite then, and a running variance at least 0. Weights without a connection stay 0. A parameter of neurons is one
 * number, `[]` or `[1]`, one for each channel of a map, `[C]`, or for each neuron, `[N]`; if it is trained, as many as it has.
 *
 * Layouts of the file:
 *
 * - `"oi"`: weights of a synapse, `[N, K]`, as the network has them.
 * - `"oihw"`: weights of a convolution, `[O, C / groups, kh, kw]`.
 * - `"iohw"`: weights of a transposed convolution, `[C, O / groups, kh, kw]`.
 * - `"chw-flatten"`: weights of a synapse that reads a map or a flatten of it, `[N, C * H * W]`, whose inputs are in the
 *   order channels, height, width.
 *
 * Everything is checked before anything changes, and after a failure the network is as it was, unless the device is lost;
 * without memory, once a call finds some for it.
 *
 * @param network         A built network.
 * @param path            The path of the file, or of an index of shards, which ends in `".json"`, in UTF-8.
 * @param[in,out] sources Which arrays, each of the network at most once. Out: `is_loaded` of each; untouched on failure.
 * @param n_sources       How many there are, 1 to 65,536.
 * @param leave_out       1: a tensor that the file does not have, or has in another shape, is left out. 0: it is refused,
 *                        with both shapes.
 * @return ::SYNFIRE_OK, ::SYNFIRE_ERROR_INVALID_HANDLE, ::SYNFIRE_ERROR_INVALID_ARGUMENT (also: the file cannot be read or
 *         is damaged; an array or a layout of this name does not exist, or a layout is not for the array),
 *         ::SYNFIRE_ERROR_WRONG_ORDER (not built, or a replay with a part of the network is in flight on another stream),
 *         ::SYNFIRE_ERROR_OUT_OF_MEMORY, ::SYNFIRE_ERROR_DEVICE_LOST, ::SYNFIRE_ERROR_CUDA, ::SYNFIRE_ERROR_BUSY (also: a
 *         graph of the network is being launched).
 * @blocks until replays launched before are done, and the copies. @allocates yes. @enqueues copies and kernels, and
 * waits for them. @capture legal (they do not become part of a capture).
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_load_arrays(synfire_network network, const char *path,
                                                                    synfire_array_source *sources,
                                                                    uint64_t n_sources SYNFIRE_LENGTH_OF(sources),
                                                                    int32_t leave_out SYNFIRE_FLAG SYNFIRE_OPTIONAL)
    SYNFIRE_NOEXCEPT;

/**
 * Loads arrays of a safetensors file that is in memory; as synfire_network_load_arrays().
 *
 * @param network         A built network.
 * @param data            The file, at any address.
 * @param bytes           Its size.
 * @param[in,out] sources As in synfire_network_load_arrays().
 * @param n_sources       How many there are, 1 to 65,536.
 * @param leave_out       As in synfire_network_load_arrays().
 * @return As synfire_network_load_arrays().
 * @blocks until replays launched before are done, and the copies. @allocates yes. @enqueues copies and kernels, and
 * waits for them. @capture legal (they do not become part of a capture).
 * @threads one at a time per network, else ::SYNFIRE_ERROR_BUSY. @since ABI 0.3
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_network_load_arrays_from_memory(
    synfire_network network, const void *data, uint64_t bytes, synfire_array_source *sources,
    uint64_t n_sources SYNFIRE_LENGTH_OF(sources), int32_t leave_out SYNFIRE_FLAG SYNFIRE_OPTIONAL) SYNFIRE_NOEXCEPT;

/** @} */
/** @cond PLATFORM */
#ifdef __cplusplus
}
#endif
/** @endcond */

#endif /* SYNFIRE_SYNFIRE_H */
