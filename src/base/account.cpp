#include "account.hpp"

#include "heap.hpp"

namespace synfire::core {
namespace {

constinit Account library_account;
// Null: the library's.
thread_local constinit const Charge* current_charge = nullptr;

}  // namespace

Account& Account::of_library() noexcept {
  return library_account;
}

void* Account::operator new(std::size_t bytes) {
  return heap_allocate(bytes, heap_alignment);
}
void Account::operator delete(void* memory) noexcept {
  heap_release(memory);
}

void Account::release() noexcept {
  Account* account = this;
  while (account && account->uses_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Account* const parent = account->parent_;
    delete account;
    account = parent;
  }
}

void Account::read(synfire_memory_use& use) const noexcept {
  uint64_t of_memory[3] = {}, of_tag[n_tags] = {};
  for (int memory = 0; memory < 3; ++memory)
    for (int32_t tag = 0; tag < n_tags; ++tag) {
      const auto bytes = static_cast<uint64_t>(bytes_[memory][tag].load(std::memory_order_relaxed));
      of_memory[memory] += bytes;
      of_tag[tag] += bytes;
    }
  use.has_containers = heap_has_containers() ? 1 : 0;
  use.host_bytes = of_memory[static_cast<int>(MemoryKind::host)];
  use.pinned_bytes = of_memory[static_cast<int>(MemoryKind::pinned)];
  use.device_bytes = of_memory[static_cast<int>(MemoryKind::device)];
  use.host_blocks = static_cast<uint64_t>(host_blocks_.load(std::memory_order_relaxed));
  use.library_bytes = of_tag[SYNFIRE_TAG_LIBRARY];
  use.context_bytes = of_tag[SYNFIRE_TAG_CONTEXT];
  use.buffer_bytes = of_tag[SYNFIRE_TAG_BUFFER];
  use.layer_bytes = of_tag[SYNFIRE_TAG_LAYER];
  use.graph_bytes = of_tag[SYNFIRE_TAG_GRAPH];
  use.synapse_bytes = of_tag[SYNFIRE_TAG_SYNAPSE];
  use.optimizer_bytes = of_tag[SYNFIRE_TAG_OPTIMIZER];
  use.network_bytes = of_tag[SYNFIRE_TAG_NETWORK];
  use.model_bytes = of_tag[SYNFIRE_TAG_MODEL];
}

Charge Charge::current() noexcept {
  return current_charge ? *current_charge : Charge(library_account, SYNFIRE_TAG_LIBRARY);
}

Charge Charge::with_account(int32_t tag) const {
  // The account's own memory belongs to the object too.
  const Charge charge = with_tag(tag);
  const Charging charging(charge);
  auto* const account = new Account(*account_);
  Charge made(*account, tag);
  account->release();
  return made;
}

Charging::Charging(const Charge& charge) noexcept : before_(current_charge) {
  current_charge = &charge;
}
Charging::~Charging() {
  current_charge = before_;
}

void OutermostCharging::begin(const Charge& charge) noexcept {
  if (current_charge) return;
  current_charge = &charge;
  charges_ = true;
}
void OutermostCharging::end() noexcept {
  if (std::exchange(charges_, false)) current_charge = nullptr;
}

}  // namespace synfire::core
