// Prints the best instruction level of the machine that builds (HostLevels.cmake), found as the library finds it.
#include "../src/backends/host/level.cpp"

#include <cstdio>

int main() {
  std::puts(synfire::host::name_of_level(synfire::host::level()));
}
