// One self-contained text made of embedded files, generated files and a user's model, for a compiler or a reader.
// Includes of embedded and given files are replaced by their text, once each.
#ifndef SYNFIRE_JIT_SOURCE_HPP
#define SYNFIRE_JIT_SOURCE_HPP

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace synfire::jit {

class Source {
 public:
  // Marks of a change of file in the text: #line for messages, or a comment for a reader.
  enum class Marks { lines, comments };
  // Other includes, those of a standard library, stay in the text or are dropped.
  enum class Standard { kept, dropped };

  Source(Marks marks, Standard standard) noexcept : marks_(marks), standard_(standard) {}

  // Adds a file to the embedded ones, or replaces one. Messages call it `known_as`.
  void give(std::string path, std::string text, std::string known_as);
  // Appends a file with all that it includes, or a text as it is.
  void add(std::string_view path);
  void add_text(std::string_view text) { text_.append(text); }

  const std::string& text() const noexcept { return text_; }

 private:
  struct Given {
    std::string text, known_as;
  };
  struct Found {
    std::string path;
    std::string_view text, known_as;
  };
  bool find(const std::string& path, Found& found) const;
  bool resolve(std::string_view name, std::string_view from, Found& found) const;
  void add(const Found& file);
  void mark(int line, std::string_view known_as);

  Marks marks_;
  Standard standard_;
  std::map<std::string, Given, std::less<>> given_;
  std::set<std::string, std::less<>> added_;
  std::string text_;
};

}  // namespace synfire::jit

#endif
