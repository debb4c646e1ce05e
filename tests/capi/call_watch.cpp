#include "call_watch.hpp"

#include <iterator>
#include <set>

namespace synfire_test {
namespace {

thread_local CallWatch* watching = nullptr;

const char* const functions[] = {
#define FUNCTION(name) #name,
#include "synfire_abi.def"
};
const char* const places[] = {
#define PLACE(function, path) #function ": " path,
#include "synfire_abi.def"
};

}  // namespace

bool CallWatch::is_possible = false;

CallWatch::CallWatch() : functions_(std::size(functions)), places_(std::size(places)) {
  watching = this;
}
CallWatch::~CallWatch() {
  watching = nullptr;
}
CallWatch* CallWatch::current() {
  return watching;
}

std::vector<std::string> CallWatch::functions_not_called() const {
  std::vector<std::string> missing;
  for (size_t i = 0; i < functions_.size(); ++i)
    if (!functions_[i]) missing.emplace_back(functions[i]);
  return missing;
}

std::vector<std::string> CallWatch::makers_not_called() const {
  const std::set<std::string> makers = {
#define OPERATION(record, run) #record,
#define CREATE(name, destroy) #name,
#include "synfire_abi.def"
  };
  std::vector<std::string> missing = functions_not_called();
  std::erase_if(missing, [&](const std::string& name) { return !makers.contains(name); });
  return missing;
}

std::vector<std::string> CallWatch::places_not_seen() const {
  std::vector<std::string> missing;
  for (size_t i = 0; i < places_.size(); ++i)
    if (!places_[i]) missing.emplace_back(places[i]);
  return missing;
}

}  // namespace synfire_test
