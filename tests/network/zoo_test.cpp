// The networks of docs/examples/zoo/ in a small size: each is made, infers and takes two steps of training, with the
// same bits on the backend under test as on the host.
#include <sstream>

#include "network_file.hpp"

#include "../../docs/examples/zoo/zoo.h"

namespace synfire_test {
namespace {

template <class Handle, class Get>
Owned<Handle> part(Get get) {
  Handle handle = nullptr;
  require_ok(get(&handle));
  return Owned<Handle>(handle);
}

// Random elements of the buffer's type; labels are below the number of classes.
void fill(synfire_network network, const std::string& name, uint64_t seed, int n_labels = 0) {
  const Buffer buffer =
      part<synfire_buffer>([&](auto* out) { return synfire_network_get_buffer(network, name.c_str(), out); });
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  require_ok(synfire_buffer_get_desc(buffer, &desc));
  const uint64_t count = desc.shape[0] * desc.shape[1] * desc.shape[2];
  Random random(seed);
  const auto upload = [&]<class Element>(Element, auto draw) {
    std::vector<Element> elements(count);
    for (Element& one : elements) one = static_cast<Element>(draw());
    require_ok(synfire_buffer_upload(buffer, 0, elements.data(), elements.size() * sizeof(Element)));
  };
  if (desc.dtype == SYNFIRE_DTYPE_BITS)
    upload(uint32_t{}, [&] { return random.next() & random.next(); });
  else if (desc.dtype == SYNFIRE_DTYPE_U32)
    upload(uint32_t{}, [&] { return random.whole(0, n_labels - 1); });
  else if (desc.dtype == SYNFIRE_DTYPE_U8)
    upload(uint8_t{}, [&] { return random.whole(0, 255); });
  else
    upload(float{}, [&] { return random.uniform(-1, 1); });
}

void replay_of(synfire_network network, int32_t kind) {
  replay(part<synfire_graph>([&](auto* out) { return synfire_network_get_graph(network, kind, out); }));
}

File trained_on(synfire_context context, const zoo_entry& entry, File* before) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = std::min(entry.n_steps, 3);
  desc.batch = 2;
  desc.seed = 3;
  desc.own_loss = SYNFIRE_OWN_LOSS_STARTS;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  const Network network(made);
  entry.describe(network, entry.small);
  require_ok(synfire_network_build(network));
  *before = saved(network);
  for (uint64_t step = 0; step < 2; ++step) {
    fill(network, "input", 10 + step);
    replay_of(network, SYNFIRE_NETWORK_GRAPH_INFERENCE);
    replay_of(network, SYNFIRE_NETWORK_GRAPH_FORWARD);
    std::istringstream heads(entry.heads);
    if (entry.heads[0] == '\0') fill(network, "loss.labels", 20 + step, 10);
    for (std::string head; heads >> head;) fill(network, head + ".gradient", 20 + step);
    replay_of(network, SYNFIRE_NETWORK_GRAPH_BACKWARD);
  }
  return saved(network);
}

TEST(Zoo, HasTheSameBitsOnEveryBackend) {
  const Context host = make_context_on(SYNFIRE_BACKEND_HOST), other = on_host() ? make_context(3) : make_context();
  for (int i = 0; i < n_zoo; ++i) {
    SCOPED_TRACE(zoo[i].name);
    File before, same;
    const File here = trained_on(host, zoo[i], &before), there = trained_on(other, zoo[i], &same);
    EXPECT_TRUE(before == same);
    EXPECT_TRUE(here == there);
    EXPECT_FALSE(here == before);
    // Its file makes the same network again.
    EXPECT_TRUE(saved(created(host, here)) == here);
  }
}

}  // namespace
}  // namespace synfire_test
