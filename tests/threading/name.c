/* Prints the name of a host context's device, which says how the library uses several processors. */
#include <synfire/synfire.h>

#include <stdio.h>

int main(void) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_context context;
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  if (synfire_context_create(&desc, &context) < 0 || synfire_context_get_properties(context, &properties) < 0) return 1;
  printf("%s\n", properties.name);
  synfire_context_destroy(context);
  return 0;
}
