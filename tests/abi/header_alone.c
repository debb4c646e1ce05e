/* Nothing but the header, included twice, and every initialiser. It must compile at any language level with every
 * warning enabled: the tests of this folder build it as C89, C99, C11, C++11, C++17 and C++20. */
#include <synfire/synfire.h>

extern const synfire_context_desc context_desc;
extern const synfire_context_properties context_properties;
extern const synfire_buffer_desc buffer_desc;
extern const synfire_layer_desc layer_desc;
extern const synfire_layer_memory layer_memory;
extern const synfire_parameter_info parameter_info;
extern const synfire_forward_desc forward_desc;
extern const synfire_backward_desc backward_desc;
extern const synfire_graph_desc graph_desc;
extern const synfire_copy_desc copy_desc;

const synfire_context_desc context_desc = SYNFIRE_CONTEXT_DESC_INIT;
const synfire_context_properties context_properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
const synfire_buffer_desc buffer_desc = SYNFIRE_BUFFER_DESC_INIT;
const synfire_layer_desc layer_desc = SYNFIRE_LAYER_DESC_INIT;
const synfire_layer_memory layer_memory = SYNFIRE_LAYER_MEMORY_INIT;
const synfire_parameter_info parameter_info = SYNFIRE_PARAMETER_INFO_INIT;
const synfire_forward_desc forward_desc = SYNFIRE_FORWARD_DESC_INIT;
const synfire_backward_desc backward_desc = SYNFIRE_BACKWARD_DESC_INIT;
const synfire_graph_desc graph_desc = SYNFIRE_GRAPH_DESC_INIT;
const synfire_copy_desc copy_desc = SYNFIRE_COPY_DESC_INIT;

typedef char abi_version_is_a_constant[SYNFIRE_ABI_VERSION == ((SYNFIRE_ABI_MAJOR << 16) | SYNFIRE_ABI_MINOR) ? 1 : -1];
