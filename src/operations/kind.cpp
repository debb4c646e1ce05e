// The failure of a capture that went wrong, for kinds of the library.
#include "kind.hpp"

#include <base/error.hpp>

namespace synfire::operations {

void fail_own_capture(const char* name, core::CaptureFault fault, const char* detail) {
  switch (fault) {
    case core::CaptureFault::node_type:
      core::fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODE-TYPE", "\"%s\" became a node of type %s", name, detail);
    case core::CaptureFault::empty:
      core::fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODES", "\"%s\" became no node of the graph", name);
    case core::CaptureFault::count:
      core::fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODES",
                 "\"%s\" became %s nodes of the graph, not as many as it enqueued", name, detail);
    case core::CaptureFault::not_joined:
      core::fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODES", "\"%s\" forked and did not join again", name);
    case core::CaptureFault::broken:
      break;
  }
  core::fail(SYNFIRE_ERROR_INTERNAL, "SYN-GRAPH-NODES", "\"%s\" broke the capture", name);
}

}  // namespace synfire::operations
