#include "loaded.hpp"

#include <base/error.hpp>

#include <mutex>
#include <new>
#include <vector>

namespace synfire::core {
namespace {

// Ids of loaded models and surrogates; those that a build added begin at 1000.
constexpr int32_t first_loaded_id = 100000;

template <class Loaded>
class Registry {
 public:
  int32_t enroll(Loaded& loaded, const char* rule) {
    const std::lock_guard lock(mutex_);
    const auto& row = loaded.row();
    for (const Member& other : members_)
      if (other.named && other.loaded->context() == loaded.context() &&
          std::string_view(other.loaded->row().name) == row.name)
        fail_argument(rule, "the text's `name` is \"%s\", which another one that was loaded into this context has",
                      row.name);
    members_.push_back({&loaded, true});
    return next_++;
  }
  void strike_off(const Loaded& loaded) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(members_, [&](const Member& member) { return member.loaded == &loaded; });
    if (members_.empty()) members_ = {};  // nothing of it stays on the heap
  }
  void free_name(const Loaded& loaded) noexcept {
    const std::lock_guard lock(mutex_);
    for (Member& member : members_)
      if (member.loaded == &loaded) member.named = false;
  }
  template <class Predicate>
  Ref<Loaded> find(Predicate predicate) {
    const std::lock_guard lock(mutex_);
    for (const Member& member : members_)
      if (predicate(*member.loaded, member.named) && member.loaded->retain_if_used())
        return Ref<Loaded>::adopt(member.loaded);
    return {};
  }

 private:
  struct Member {
    Loaded* loaded;
    bool named;  // its handle lives, so that it is found by its name
  };
  std::mutex mutex_;
  std::vector<Member> members_;
  int32_t next_ = first_loaded_id;
};

// Never destroyed, so that nothing runs when the process ends.
template <class Loaded>
Registry<Loaded>& the_registry() {
  alignas(Registry<Loaded>) static unsigned char memory[sizeof(Registry<Loaded>)];
  static auto* const registry = new (memory) Registry<Loaded>;
  return *registry;
}
Registry<LoadedModel>& model_registry() {
  return the_registry<LoadedModel>();
}
Registry<LoadedSurrogate>& surrogate_registry() {
  return the_registry<LoadedSurrogate>();
}

template <class Found, class Loaded>
Found found_of(Ref<Loaded> loaded) {
  Found result;
  if (!loaded) return result;
  result.row = &loaded->row();
  result.loaded = std::move(loaded);
  return result;
}

}  // namespace

FoundModel find_model(int32_t id) {
  if (const ModelRow* const row = find_listed_model(id)) return {row, {}};
  if (id < first_loaded_id) return {};
  return found_of<FoundModel>(
      model_registry().find([id](const LoadedModel& model, bool) { return model.row().id == id; }));
}

FoundSurrogate find_surrogate(int32_t id) {
  if (const SurrogateRow* const row = find_listed_surrogate(id)) return {row, {}};
  if (id < first_loaded_id) return {};
  return found_of<FoundSurrogate>(
      surrogate_registry().find([id](const LoadedSurrogate& surrogate, bool) { return surrogate.row().id == id; }));
}

FoundModel find_model(std::string_view name, const Context& context) {
  if (const ModelRow* const row = find_model(name)) return {row, {}};
  return found_of<FoundModel>(model_registry().find([&](const LoadedModel& model, bool named) {
    return named && model.context() == &context && name == model.row().name;
  }));
}

FoundSurrogate find_surrogate(std::string_view name, const Context& context) {
  if (const SurrogateRow* const row = find_surrogate(name)) return {row, {}};
  return found_of<FoundSurrogate>(surrogate_registry().find([&](const LoadedSurrogate& surrogate, bool named) {
    return named && surrogate.context() == &context && name == surrogate.row().name;
  }));
}

int32_t enroll(LoadedModel& model) {
  if (find_model(std::string_view(model.row().name)))
    fail_argument("SYN-MODEL-EXISTS", "the text's `name` is \"%s\", which a model of this library has",
                  model.row().name);
  return model_registry().enroll(model, "SYN-MODEL-EXISTS");
}

int32_t enroll(LoadedSurrogate& surrogate) {
  if (find_surrogate(std::string_view(surrogate.row().name)))
    fail_argument("SYN-MODEL-EXISTS", "the text's `name` is \"%s\", which a surrogate of this library has",
                  surrogate.row().name);
  return surrogate_registry().enroll(surrogate, "SYN-MODEL-EXISTS");
}

void strike_off(const LoadedModel& model) noexcept {
  model_registry().strike_off(model);
}
void strike_off(const LoadedSurrogate& surrogate) noexcept {
  surrogate_registry().strike_off(surrogate);
}

void free_name(const LoadedModel& model) noexcept {
  model_registry().free_name(model);
}
void free_name(const LoadedSurrogate& surrogate) noexcept {
  surrogate_registry().free_name(surrogate);
}

void check_loaded(const LoadedCode* code, const Context& context, int32_t id, const char* field) {
  if (code && code->context() != &context)
    fail(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-FOREIGN",
         "%s is %d, which was loaded into another context; everything in one call must belong to one", field, id);
}

}  // namespace synfire::core
