/* Prints the layout of every structure and the value of every constant of synfire.h, one per line, tab-separated;
 * layout.tsv is the record of this output. What there is comes from the header (generate.py). Fields must tile their
 * structure: the program exits with 1 if one is missing or there is padding. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <synfire/synfire.h>

static int n_failed = 0;
static const char *struct_name;
static size_t struct_bytes, next_offset;

static void begin_struct(const char *name, size_t bytes) {
  struct_name = name;
  struct_bytes = bytes;
  next_offset = 0;
  printf("struct\t%s\t%u\n", name, (unsigned)bytes);
}

static void field(const char *name, size_t offset, size_t bytes) {
  printf("field\t%s.%s\t%u\t%u\n", struct_name, name, (unsigned)offset, (unsigned)bytes);
  if (offset != next_offset) {
    fprintf(stderr, "%s.%s begins at %u, but the field before it ends at %u\n", struct_name, name, (unsigned)offset,
            (unsigned)next_offset);
    ++n_failed;
  }
  next_offset = offset + bytes;
}

static void end_struct(void) {
  if (next_offset != struct_bytes) {
    fprintf(stderr, "%s has %u bytes, but its fields end at %u\n", struct_name, (unsigned)struct_bytes,
            (unsigned)next_offset);
    ++n_failed;
  }
}

int main(void) {
#define STRUCT(type) begin_struct(#type, sizeof(type));
#define FIELD(type, name) field(#name, offsetof(type, name), sizeof(((type *)0)->name));
#define END_STRUCT(type) end_struct();
#define TYPE(type) printf("type\t" #type "\t%u\n", (unsigned)sizeof(type));
#define CONSTANT(name) printf("constant\t" #name "\t%ld\n", (long)(name));
#include "synfire_abi.def"
  return n_failed == 0 ? 0 : 1;
}
