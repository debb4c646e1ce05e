// Who holds which memory. The library, each context, layer, graph and network have an account, below that of whoever
// made them. What is allocated is charged to the account of the thread's current scope and to all above it, by kinds of
// objects. An account lives until all that was charged to it is freed, so memory may outlive the object for which it
// was allocated.
#ifndef SYNFIRE_BASE_ACCOUNT_HPP
#define SYNFIRE_BASE_ACCOUNT_HPP

#include <synfire/synfire.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace synfire::core {

enum class MemoryKind : uint8_t { host, pinned, device };

class Account {
 public:
  static constexpr int32_t n_tags = SYNFIRE_TAG_MODEL + 1;

  constexpr Account() noexcept = default;
  explicit Account(Account& parent) noexcept : parent_(&parent) { parent.retain(); }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;
  ~Account() = default;

  // The account of the library, above all others.
  static Account& of_library() noexcept;
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory) noexcept;

  void retain() noexcept { uses_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  // Adds a block of this size, or removes it if the size is negative.
  void charge(MemoryKind memory, int32_t tag, int64_t bytes) noexcept {
    for (Account* account = this; account; account = account->parent_) {
      account->bytes_[static_cast<int>(memory)][tag].fetch_add(bytes, std::memory_order_relaxed);
      if (memory == MemoryKind::host) account->host_blocks_.fetch_add(bytes < 0 ? -1 : 1, std::memory_order_relaxed);
    }
  }
  void read(synfire_memory_use& use) const noexcept;

 private:
  Account* parent_ = nullptr;
  std::atomic<int64_t> uses_{1};  // objects, accounts below and blocks
  std::atomic<int64_t> host_blocks_{0};
  std::atomic<int64_t> bytes_[3][n_tags] = {};
};

// An account and a kind of object: what allocations are charged to.
class Charge {
 public:
  Charge() = default;
  Charge(Account& account, int32_t tag) noexcept : account_(&account), tag_(tag) { account_->retain(); }
  Charge(const Charge& other) noexcept : account_(other.account_), tag_(other.tag_) {
    if (account_) account_->retain();
  }
  Charge(Charge&& other) noexcept : account_(std::exchange(other.account_, nullptr)), tag_(other.tag_) {}
  Charge& operator=(Charge other) noexcept {
    std::swap(account_, other.account_);
    std::swap(tag_, other.tag_);
    return *this;
  }
  ~Charge() {
    if (account_) account_->release();
  }

  // The charge of this thread: that of the innermost Charging.
  static Charge current() noexcept;
  // The same account with another kind of object.
  Charge with_tag(int32_t tag) const noexcept { return {*account_, tag}; }
  // A new account below that of this charge.
  Charge with_account(int32_t tag) const;

  Account& account() const noexcept { return *account_; }
  int32_t tag() const noexcept { return tag_; }

 private:
  Account* account_ = nullptr;
  int32_t tag_ = SYNFIRE_TAG_LIBRARY;
};

// Memory that this thread allocates is charged to it while this lives. The charge must outlive this.
class Charging {
 public:
  explicit Charging(const Charge& charge) noexcept;
  ~Charging();
  Charging(const Charging&) = delete;
  Charging& operator=(const Charging&) = delete;

 private:
  const Charge* const before_;
};

// The same, unless something is charged already on this thread: for the first object that a call of the C ABI uses.
class OutermostCharging {
 public:
  OutermostCharging() = default;
  OutermostCharging(OutermostCharging&& other) noexcept : charges_(std::exchange(other.charges_, false)) {}
  OutermostCharging& operator=(OutermostCharging&&) = delete;
  ~OutermostCharging() { end(); }
  // At most once. The charge must outlive this.
  void begin(const Charge& charge) noexcept;
  void end() noexcept;

 private:
  bool charges_ = false;
};

// Calls `make`, charged to the account that is current, as memory of an object of this kind.
template <class Make>
auto charged_as(int32_t tag, Make make) {
  const Charge charge = Charge::current().with_tag(tag);
  const Charging charging(charge);
  return make();
}
// The same with a new account below it, which the object that is made keeps.
template <class Make>
auto charged_to_new_account(int32_t tag, Make make) {
  const Charge charge = Charge::current().with_account(tag);
  const Charging charging(charge);
  return make();
}

}  // namespace synfire::core

#endif
