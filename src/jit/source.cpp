#include "source.hpp"

#include "embedded.hpp"

namespace synfire::jit {
namespace {

// The name in `#include "name"` or `#include <name>`, or nothing.
std::string_view included_name(std::string_view line) {
  const auto skip = [&] {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  };
  skip();
  if (line.empty() || line.front() != '#') return {};
  line.remove_prefix(1);
  skip();
  constexpr std::string_view word = "include";
  if (line.substr(0, word.size()) != word) return {};
  line.remove_prefix(word.size());
  skip();
  if (line.empty() || (line.front() != '"' && line.front() != '<')) return {};
  const char end = line.front() == '"' ? '"' : '>';
  line.remove_prefix(1);
  const size_t length = line.find(end);
  return length == std::string_view::npos ? std::string_view() : line.substr(0, length);
}

// "a/b/../c" is "a/c".
std::string normalized(std::string path) {
  for (size_t at = path.find("/../"); at != std::string::npos; at = path.find("/../")) {
    const size_t before = at == 0 ? std::string::npos : path.rfind('/', at - 1);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    path.erase(begin, at + 4 - begin);
  }
  return path;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

}  // namespace

void Source::give(std::string path, std::string text, std::string known_as) {
  given_[std::move(path)] = {std::move(text), std::move(known_as)};
}

bool Source::find(const std::string& path, Found& found) const {
  if (const auto given = given_.find(path); given != given_.end()) {
    found = {path, given->second.text, given->second.known_as};
    return true;
  }
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == path) {
      found = {path, file.text, file.path};
      return true;
    }
  return false;
}

// Looks next to the including file first, as a compiler does.
bool Source::resolve(std::string_view name, std::string_view from, Found& found) const {
  const size_t folder = from.rfind('/');
  if (folder != std::string_view::npos && find(normalized(std::string(from.substr(0, folder + 1)).append(name)), found))
    return true;
  return find(normalized(std::string(name)), found);
}

void Source::mark(int line, std::string_view known_as) {
  if (marks_ == Marks::lines)
    text_.append("#line ").append(std::to_string(line)).append(" \"").append(escaped(known_as)).append("\"\n");
  else if (line == 1)
    text_.append("// ======== ").append(known_as).append("\n");
}

void Source::add(std::string_view path) {
  Found file;
  if (find(std::string(path), file)) add(file);
}

void Source::add(const Found& file) {
  if (!added_.insert(file.path).second) return;
  mark(1, file.known_as);
  std::string_view left = file.text;
  for (int line = 1; !left.empty(); ++line) {
    const size_t end = left.find('\n');
    const std::string_view now = left.substr(0, end);
    left = end == std::string_view::npos ? std::string_view() : left.substr(end + 1);
    const std::string_view name = included_name(now);
    Found included;
    if (name.empty()) {
      text_.append(now).append("\n");
    } else if (resolve(name, file.path, included)) {
      if (added_.count(included.path) != 0) {
        text_.append("\n");
        continue;
      }
      add(included);
      mark(line + 1, file.known_as);
    } else {
      text_.append(standard_ == Standard::kept ? now : std::string_view()).append("\n");
    }
  }
}

}  // namespace synfire::jit
