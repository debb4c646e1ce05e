#include "model_text.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/text.hpp>
#include <files/file_io.hpp>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace synfire::jit {
namespace {

using core::fail_argument;

constexpr uint64_t most_bytes = uint64_t{1} << 20;

bool is_small(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_of_word(char c) {
  return is_small(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

// As in cmake/AddModel.cmake: lower-case letters, digits and single underscores.
bool is_stem(std::string_view name) {
  if (name.empty() || name.size() > 63 || !(name[0] >= 'a' && name[0] <= 'z') || name.back() == '_') return false;
  for (size_t i = 0; i < name.size(); ++i)
    if (!is_small(name[i]) && !(name[i] == '_' && name[i - 1] != '_')) return false;
  return true;
}

std::string type_of(std::string_view stem) {
  std::string type;
  bool first = true;
  for (const char c : stem) {
    if (c != '_') type += first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    first = c == '_';
  }
  return type;
}

std::string stem_of(const std::string& path) {
  std::string name = path.substr(path.find_last_of("/\\") + 1);
  return name.substr(0, name.find('.'));
}

std::string text_of(const synfire_load_desc& desc) {
  if ((desc.text != nullptr) == (desc.file != nullptr))
    fail_argument("SYN-MODEL-TEXT", "desc.text and desc.file are both %s; exactly one is needed",
                  desc.text ? "given" : "null");
  if (desc.file && desc.text_bytes != 0)
    fail_argument("SYN-MODEL-TEXT", "desc.text_bytes is %llu, and desc.file is given; 0 is needed",
                  static_cast<unsigned long long>(desc.text_bytes));
  std::string text;
  if (desc.text) {
    // A text without an end is not read beyond the limit.
    const uint64_t bytes = desc.text_bytes != 0 ? desc.text_bytes : ::strnlen(desc.text, most_bytes + 1);
    if (bytes <= most_bytes) text.assign(desc.text, bytes);
    if (bytes > most_bytes)
      fail_argument("SYN-MODEL-TEXT", "the text has more than %llu bytes, which are allowed",
                    static_cast<unsigned long long>(most_bytes));
  } else {
    files::InputFile file(desc.file);
    if (file.size() > most_bytes)
      fail_argument("SYN-MODEL-TEXT", "%s has %llu bytes; at most %llu are allowed",
                    core::quoted(desc.file, 300).c_str(), static_cast<unsigned long long>(file.size()),
                    static_cast<unsigned long long>(most_bytes));
    text.resize(file.size());
    file.read(std::as_writable_bytes(std::span(text.data(), text.size())));
  }
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; }))
    fail_argument("SYN-MODEL-TEXT", "the text is empty");
  if (text.find('\0') != std::string::npos || !core::is_utf8(text))
    fail_argument("SYN-MODEL-TEXT", "the text is not UTF-8, or has a null byte");
  return text;
}

// The text without comments and literals, which define no struct.
std::string code_of(const std::string& text) {
  std::string code;
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest.starts_with("//")) {
      i += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const size_t end = rest.find("*/", 2);
      i = end == std::string_view::npos ? text.size() : i + end + 2;
      code += ' ';
    } else if (rest[0] == '"') {
      size_t end = 1;
      while (end < rest.size() && rest[end] != '"' && rest[end] != '\n') end += rest[end] == '\\' ? 2 : 1;
      i += std::min(end + 1, rest.size());
      code += "\"\"";
    } else {
      code += text[i++];
    }
  }
  return code;
}

// "struct Klif {" or "struct Klif : Base {".
bool defines(const std::string& code, const std::string& type) {
  constexpr std::string_view word = "struct";
  for (size_t at = code.find(word); at != std::string::npos; at = code.find(word, at + 1)) {
    if (at > 0 && is_of_word(code[at - 1])) continue;
    size_t next = at + word.size();
    const size_t name = code.find_first_not_of(" \t\r\n", next);
    if (name == next || name == std::string::npos || code.compare(name, type.size(), type) != 0) continue;
    next = code.find_first_not_of(" \t\r\n", name + type.size());
    if (next != std::string::npos && (code[next] == '{' || code[next] == ':') && !is_of_word(code[name + type.size()]))
      return true;
    if (next != std::string::npos && code.compare(next, 5, "final") == 0) return true;
  }
  return false;
}

void give_constants(Source& source) {
  std::string text = "enum {\n";
  const auto add = [&](const char* name, int value) {
    text.append("  ").append(name).append(" = ").append(std::to_string(value)).append(",\n");
  };
  for (const core::DtypeRow& row : core::dtypes)
    add(std::string("SYNFIRE_DTYPE_").append(row.symbol).c_str(), row.dtype);
#define SYNFIRE_ADD(name) add(#name, name)
  SYNFIRE_ADD(SYNFIRE_MODEL_IF);
  SYNFIRE_ADD(SYNFIRE_MODEL_LIF);
  SYNFIRE_ADD(SYNFIRE_MODEL_PLIF);
  SYNFIRE_ADD(SYNFIRE_MODEL_LIF_EXACT);
  SYNFIRE_ADD(SYNFIRE_SURROGATE_SIGMOID);
  SYNFIRE_ADD(SYNFIRE_SURROGATE_ATAN);
#undef SYNFIRE_ADD
  text.append("};\n");
  source.give("synfire/synfire.h", std::move(text), "synfire/synfire.h");
}

}  // namespace

ModelText::ModelText(TextKind of, const synfire_load_desc& desc) : kind(of), text(text_of(desc)) {
  const std::string name = desc.name ? desc.name : desc.file ? stem_of(desc.file) : "";
  if (!desc.name && !desc.file)
    fail_argument("SYN-MODEL-TEXT", "desc.name is null; with desc.text, it says which struct the text is of");
  if (!is_stem(name))
    fail_argument("SYN-MODEL-TEXT",
                  "%s is %s; 1 to 63 small letters, digits and single underscores are needed, as in \"side_lobes\" "
                  "of struct SideLobes",
                  desc.name ? "desc.name" : "the file's name without its ending", core::quoted(name, 80).c_str());
  type = type_of(name);
  known_as = desc.file ? desc.file : name + ".hpp";
  if (!defines(code_of(text), type))
    fail_argument("SYN-MODEL-STRUCT", "the text defines no struct %s, which the name \"%s\" stands for", type.c_str(),
                  name.c_str());
}

namespace {

constexpr const char* first_lines =
    "#include <synfire/model/added.hpp>\n"
    "#include <synfire/model/built_in.hpp>\n"
    "#include <synfire/model/list.hpp>\n"
    "#include <synfire/model/recursion.hpp>\n"
    "#include <synfire/model/ruled.hpp>\n";

void include(Source& source, std::string& lists, const ModelText* text, const char* path) {
  if (!text) return;
  source.give(path, text->text, text->known_as);
  lists.append("#include <").append(path).append(">\n");
}

std::string checks_of(const ModelText& text) {
  const std::string& type = text.type;
  if (text.kind == TextKind::model)
    return "static_assert(IsAddable<" + type + ">::value && HasCharge<" + type +
           ">, \"the text: a model has charge(constants, v, x); a struct with derivative() or primitive() is a "
           "surrogate\");\nstatic_assert(IsModel<" +
           type + ">::value);\nusing LoadedModelType = " + type + ";\n";
  return "static_assert(IsAddable<" + type + ">::value && HasDerivative<" + type +
         ">, \"the text: a surrogate has derivative(constants, x) or primitive(constants, x); a struct with charge() "
         "is a "
         "model\");\nstatic_assert(IsSurrogate<" +
         type + ">::value);\nusing LoadedSurrogateType = WithDerivative<" + type + ">::type;\n";
}

constexpr const char* lists_path = "synfire/loaded_models.hpp";

}  // namespace

void give_lists(Source& source, const ModelText* model, const ModelText* surrogate) {
  give_constants(source);
  std::string lists = first_lines;
  include(source, lists, model, "synfire/loaded_model.hpp");
  include(source, lists, surrogate, "synfire/loaded_surrogate.hpp");
  lists.append("\nSYNFIRE_MODEL_BEGIN\n\n").append(checks_of(model ? *model : *surrogate));
  if (model)
    lists.append(
        "using Models = List<Entry<loaded_id, LoadedModelType>>;\nusing Surrogates = List<>;\n"
        "using LoadedType = LoadedModelType;\ninline constexpr bool loaded_is_model = true;\n");
  else
    lists.append(
        "using Models = List<>;\nusing Surrogates = List<Entry<loaded_id, LoadedSurrogateType>>;\n"
        "using LoadedType = LoadedSurrogateType;\ninline constexpr bool loaded_is_model = false;\n");
  lists.append("\nSYNFIRE_MODEL_END\n");
  source.give(lists_path, lists, lists_path);
}

void give_kernel_lists(Source& source, const ModelText* model, int32_t model_id, const ModelText* surrogate,
                       int32_t surrogate_id) {
  constexpr int32_t first_added_id = 1000;
  for (const int32_t listed : {model ? 0 : model_id, surrogate ? 0 : surrogate_id})
    if (listed >= first_added_id)
      core::fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-PLATFORM",
                 "on a GPU, what was loaded as text does not go together with what synfire_add_model() added to the "
                 "library; load both as text");
  give_constants(source);
  std::string lists = first_lines;
  include(source, lists, model, "synfire/loaded_model.hpp");
  include(source, lists, surrogate, "synfire/loaded_surrogate.hpp");
  lists.append("\nSYNFIRE_MODEL_BEGIN\n\n");
  const auto listed = [&](const char* name, const char* list, int32_t id) {
    lists.append(std::string("using ") + name + " = typename Find<" + list + ", " + std::to_string(id) + ">::type;\n");
  };
  if (model)
    lists.append(checks_of(*model));
  else
    listed("LoadedModelType", "BuiltInModels", model_id);
  lists.append("using Models = List<Entry<" + (model ? std::string("loaded_id") : std::to_string(model_id)) +
               ", LoadedModelType>>;\n");
  if (surrogate)
    lists.append(checks_of(*surrogate));
  else if (surrogate_id != 0)
    listed("LoadedSurrogateType", "BuiltInSurrogates", surrogate_id);
  if (surrogate || surrogate_id != 0)
    lists.append("using Surrogates = List<Entry<" +
                 (surrogate ? std::string("loaded_id") : std::to_string(surrogate_id)) + ", LoadedSurrogateType>>;\n");
  else
    lists.append("using Surrogates = List<>;\n");
  lists.append("\nSYNFIRE_MODEL_END\n");
  source.give(lists_path, lists, lists_path);
}

std::string errors_in(const std::string& output, const std::string& known_as) {
  std::vector<std::string> own, asserted_ones, others;
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    std::string line = output.substr(at, end - at);
    at = end + 1;
    const size_t error = line.find("error");
    if (error == std::string::npos) continue;
    // Lines that begin with the error's place, not the source quoted below.
    if (line.find(": error") == std::string::npos && line.find("): error") == std::string::npos &&
        line.find("fatal error") == std::string::npos && line.find("internal compiler error") == std::string::npos)
      continue;
    // gcc: "error: static assertion failed: the text: ...".
    if (const size_t asserted = line.find("the text: "); asserted != std::string::npos) {
      asserted_ones.push_back(line.substr(asserted));
      continue;
    }
    (line.starts_with(known_as) ? own : others).push_back(std::move(line));
  }
  // The first assertion helps; later ones may follow from it.
  own.insert(own.end(), asserted_ones.begin(), asserted_ones.end());
  own.insert(own.end(), others.begin(), others.end());
  std::string text;
  constexpr size_t longest = 900;  // of the text of an error (capi/guard.cpp)
  for (const std::string& line : own) {
    if (!text.empty() && text.size() + line.size() > longest) break;
    text.append(text.empty() ? "" : "; ").append(line);
  }
  if (text.empty()) text = output.substr(0, longest);
  for (char& c : text)
    if (c == '\n' || c == '\t') c = ' ';
  return text;
}

}  // namespace synfire::jit
