#include <cstdio>
#include <warploom/hw/occupancy.hpp>

int main() { std::printf("%zu architectures\n", warploom::hw::architectures().size()); }
