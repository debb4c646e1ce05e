// Room in a list for elements that are added where nothing may fail.
#ifndef SYNFIRE_BASE_MAKE_ROOM_HPP
#define SYNFIRE_BASE_MAKE_ROOM_HPP

#include <algorithm>
#include <cstddef>
#include <vector>

namespace synfire::core {

// Grows as push_back() would. reserve() with the exact size would copy the list every time.
template <class T>
void make_room(std::vector<T>& list, size_t n_more) {
  if (list.capacity() - list.size() < n_more) list.reserve(std::max(list.size() + n_more, 2 * list.capacity()));
}

}  // namespace synfire::core

#endif
