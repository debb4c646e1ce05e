#include <value.h>
#include <cstdio>

int main() {
  std::printf("%d\n", VALUE);
}
