#include <cstdio>
#include <value.h>

int main() { std::printf("%d\n", VALUE); }
