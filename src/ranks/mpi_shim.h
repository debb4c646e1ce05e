/* The interface of libsynfire_mpi.so. It is compiled with the mpicc of one MPI and has nothing of that MPI in its
 * interface, so the library, which loads it (mpi_posix.cpp), belongs to none. All functions return 0, or an error of
 * MPI. */
#ifndef SYNFIRE_RANKS_MPI_SHIM_H
#define SYNFIRE_RANKS_MPI_SHIM_H

/* C, which C++ includes. */
/* NOLINTBEGIN(modernize-deprecated-headers, modernize-redundant-void-arg, modernize-use-using) */
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Changes whenever a function does. */
#define SYNFIRE_MPI_SHIM_VERSION 2

/* Initialises MPI unless the program has, and begins to duplicate MPI_COMM_WORLD: a call of all ranks, which ends when
 * synfire_mpi_test() says so. */
typedef int (*synfire_mpi_begin)(int *rank, int *size, void **state);
/* Begins to join the elements of all ranks in place: maxima of u32 (sums of u64 if `sum` is 1). One at a time. */
typedef int (*synfire_mpi_start)(void *state, int sum, void *elements, int count);
/* Lets it progress. */
typedef int (*synfire_mpi_test)(void *state, int *done);
/* Not after an exchange that did not end. If MPI was initialised here, it ends with the process. */
typedef int (*synfire_mpi_end)(void *state);
/* MPI is not ended with the process: a rank is lost, which would be waited for. */
typedef int (*synfire_mpi_abandon)(void *state);
/* The text of an error; at most `size` bytes with the null. */
typedef void (*synfire_mpi_text)(int error, char *text, int size);

struct synfire_mpi_shim {
  int32_t version;
  const char *library; /* the MPI that it belongs to */
  synfire_mpi_begin begin;
  synfire_mpi_start start;
  synfire_mpi_test test;
  synfire_mpi_end end;
  synfire_mpi_abandon abandon;
  synfire_mpi_text text;
};

/* The one symbol: "synfire_mpi". */
typedef const struct synfire_mpi_shim *(*synfire_mpi_get)(void);

#if defined(__cplusplus)
}
#endif
/* NOLINTEND(modernize-deprecated-headers, modernize-redundant-void-arg, modernize-use-using) */

#endif
