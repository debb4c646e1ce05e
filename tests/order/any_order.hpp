// A host backend that runs entries in any order which their operands allow (any_order.cpp).
#ifndef SYNFIRE_TESTS_ORDER_ANY_ORDER_HPP
#define SYNFIRE_TESTS_ORDER_ANY_ORDER_HPP

#include <cstdint>

namespace synfire_test {

// How many entries have run elsewhere than at their place in the list.
uint64_t n_reordered();
// Bytes of device memory that have been allocated so far, released ones included.
uint64_t allocated_device_bytes();

}  // namespace synfire_test

#endif
