/* The only file that knows MPI. */
#include "mpi_shim.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct state {
  MPI_Comm communicator;
  MPI_Request request;
  int is_ready; /* the communicator is there */
};

/* MPI has no number below 0. */
enum { already_finalized = -1 };

static volatile int is_abandoned = 0;
static long process; /* that has initialised MPI */

/* A process that has initialised MPI ends it, or its launcher takes it for one that has failed. A child after fork()
 * does not. */
static void end_mpi(void) {
  int is_finalized = 0;
  if (is_abandoned || (long)getpid() != process || MPI_Finalized(&is_finalized) != MPI_SUCCESS || is_finalized) return;
  MPI_Finalize();
}

static int begin(int *rank, int *size, void **made) {
  int is_there = 0, is_finalized = 0, provided = 0, error = MPI_Initialized(&is_there);
  struct state *state;
  if (error == MPI_SUCCESS) error = MPI_Finalized(&is_finalized);
  if (error != MPI_SUCCESS) return error;
  if (is_finalized) return already_finalized;
  if (!is_there) {
    error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (error != MPI_SUCCESS) return error;
    process = (long)getpid();
    atexit(end_mpi);
  } else {
    MPI_Query_thread(&provided);
  }
  if (provided < MPI_THREAD_SERIALIZED) return MPI_ERR_UNSUPPORTED_OPERATION;
  state = malloc(sizeof *state);
  if (!state) return MPI_ERR_NO_MEM;
  state->is_ready = 0;
  error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (error == MPI_SUCCESS) error = MPI_Comm_size(MPI_COMM_WORLD, size);
  if (error == MPI_SUCCESS) error = MPI_Comm_idup(MPI_COMM_WORLD, &state->communicator, &state->request);
  if (error != MPI_SUCCESS) {
    free(state);
    return error;
  }
  *made = state;
  return 0;
}

static int start(void *of, int sum, void *elements, int count) {
  struct state *const state = of;
  return MPI_Iallreduce(MPI_IN_PLACE, elements, count, sum ? MPI_UINT64_T : MPI_UINT32_T, sum ? MPI_SUM : MPI_MAX,
                        state->communicator, &state->request);
}

static int test(void *of, int *done) {
  struct state *const state = of;
  const int error = MPI_Test(&state->request, done, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS || !*done || state->is_ready) return error;
  state->is_ready = 1;
  return MPI_Comm_set_errhandler(state->communicator, MPI_ERRORS_RETURN);
}

/* MPI_Comm_free() would wait for other ranks: the duplicate ends with MPI. */
static int end(void *of) {
  free(of);
  return 0;
}

static int abandon(void *of) {
  (void)of; /* MPI may still write to what it points to */
  is_abandoned = 1;
  return 0;
}

static void text(int error, char *to, int size) {
  char all[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (error == already_finalized) {
    snprintf(to, (size_t)size, "the program has called MPI_Finalize()");
    return;
  }
  if (MPI_Error_string(error, all, &length) != MPI_SUCCESS) length = 0;
  snprintf(to, (size_t)size, "%.*s", length, all);
}

static char library[MPI_MAX_LIBRARY_VERSION_STRING];

__attribute__((visibility("default"))) const struct synfire_mpi_shim *synfire_mpi(void);

const struct synfire_mpi_shim *synfire_mpi(void) {
  static const struct synfire_mpi_shim shim = {
      SYNFIRE_MPI_SHIM_VERSION, library, begin, start, test, end, abandon, text};
  int length = 0;
  if (library[0] == '\0' && MPI_Get_library_version(library, &length) == MPI_SUCCESS)
    library[strcspn(library, "\n,")] = '\0';
  return &shim;
}
