// The tables of all kinds.
#include "kinds.hpp"

#include <operations/kind.hpp>

namespace synfire::core {

#define SYNFIRE_DEFINE_KIND(Name) \
  template <>                     \
  constinit const OperationKind KindOf<operations::Name>::table = operations::make_kind<operations::Name>();
SYNFIRE_OPERATION_KINDS(SYNFIRE_DEFINE_KIND)
#undef SYNFIRE_DEFINE_KIND

}  // namespace synfire::core
