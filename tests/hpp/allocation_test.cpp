// Launching, waiting and polling through the wrapper allocate nothing. A separate program, because it replaces the
// global operator new. A shared library has its own operator new; its allocations are tested for the C ABI.
#include <atomic>
#include <cstdlib>
#include <new>

#include "support.hpp"

namespace {
std::atomic<unsigned long> allocations{0};

void* allocate(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace synfire_test {
namespace {

TEST(Allocation, NoneInTheLoop) {
  using namespace std::chrono_literals;
  const synfire::Context context = make_context();
  synfire::Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, synfire::steps{16}, synfire::neurons{128}));
  synfire::Buffer x(context, synfire::buffer_desc<float>(16 * 128, SYNFIRE_MEMORY_PINNED));
  synfire::Buffer spikes(context, synfire::buffer_desc<std::uint32_t>(16 * 4, SYNFIRE_MEMORY_PINNED));
  synfire::Graph graph(context);
  graph.record_forward(layer, synfire::forward_desc(x, spikes));
  graph.instantiate();

  const unsigned long before = allocations;
  std::uint64_t n_done = 0;
  for (int frame = 0; frame < 100; ++frame) {
    for (float& value : x.data<float>()) value = 1.5f;
    const synfire::Ticket ticket = graph.launch();
    n_done += graph.poll(ticket) == synfire::Waited::done;
    n_done += graph.wait(ticket, 1ms) == synfire::Waited::done;
    n_done += graph.wait(ticket, 0.5s, synfire::WaitPolicy::yield) == synfire::Waited::done;
    graph.wait(ticket);
    graph.wait(ticket, synfire::WaitPolicy::block);
    n_done += spikes.data<std::uint32_t>()[63] != 0;
  }
  const unsigned long after = allocations;
  EXPECT_EQ(after - before, 0u);
  EXPECT_GE(n_done, 100u);

  // The counter works.
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-GRAPH-TICKET", "ticket", [&] { graph.wait(0); }));
  EXPECT_GT(allocations, after);
}

}  // namespace
}  // namespace synfire_test
