// One self-contained text out of the embedded files, files that are made at run time, and a user's model: what a
// compiler gets, and what a user may read. Includes of embedded and given files are replaced by their text, once each.
#ifndef SYNFIRE_JIT_SOURCE_HPP
#define SYNFIRE_JIT_SOURCE_HPP

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace synfire::jit {

class Source {
 public:
  // How the text is marked where it goes on in another file: by #line, so that messages name file and line, or by a
  // comment for a reader.
  enum class Marks { lines, comments };
  // Whether other includes, which are those of a standard library, stay in the text.
  enum class Standard { kept, dropped };

  Source(Marks marks, Standard standard) noexcept : marks_(marks), standard_(standard) {}

  // A file beside the embedded ones, or in the place of one. Messages call it `known_as`.
  void give(std::string path, std::string text, std::string known_as);
  // Appends a file with everything that it includes, or a text as it is.
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
