// Texts and circumstances in which nothing can be loaded: each is refused with a rule and a text that help, and leaves
// no file and no object behind.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>

#include "texts.hpp"

namespace synfire_test {
namespace {

namespace fs = std::filesystem;

// A folder for the temporary files of this test, which must be empty at its end.
class LoadRefused : public testing::Test {
 protected:
  LoadRefused() : context_(make_context()) {
    std::string name = fs::temp_directory_path() / "synfire-jit-test-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    before_ = std::getenv("TMPDIR") ? std::optional<std::string>(std::getenv("TMPDIR")) : std::nullopt;
    set_environment("TMPDIR", folder_.c_str());
  }
  ~LoadRefused() override {
    set_environment("TMPDIR", before_ ? before_->c_str() : nullptr);
    EXPECT_TRUE(fs::is_empty(folder_)) << "temporary files were left";
    fs::remove_all(folder_);
    uint64_t queued = 1;
    EXPECT_OK(synfire_context_reclaim(context_, &queued));
    EXPECT_EQ(queued, 0u);
  }

  void refused(synfire_status status, std::initializer_list<std::string_view> words, const synfire_load_desc& desc) {
    synfire_model model = reinterpret_cast<synfire_model>(uintptr_t{1});
    EXPECT_FAILS(status, words, synfire_model_load(context_, &desc, &model));
    EXPECT_EQ(model, nullptr);
  }
  void refused(std::initializer_list<std::string_view> words, const std::string& text, const char* name = "twin") {
    synfire_load_desc desc = load_desc(text, name);
    desc.no_cache = 1;
    desc.cache = nullptr;
    refused(SYNFIRE_ERROR_INVALID_ARGUMENT, words, desc);
  }
  // A program in place of the compiler.
  void with_compiler(const std::string& script, const std::function<void()>& body) {
    const std::string path = std::string(SYNFIRE_TEST_CACHE) + "-compiler-" + std::to_string(::getpid());
    {
      std::ofstream file(path);
      file << "#!/bin/sh\n" << script << "\n";
    }
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    const std::string real = std::getenv("SYNFIRE_CXX") ? std::getenv("SYNFIRE_CXX") : "c++";
    set_environment("SYNFIRE_CXX", path.c_str());
    body();
    set_environment("SYNFIRE_CXX", real.c_str());
    fs::remove(path);
  }

  Context context_;
  std::string folder_;
  std::optional<std::string> before_;
};

// ---- texts ----------------------------------------------------------------------------------------------------------

TEST_F(LoadRefused, TextsThatAreNone) {
  refused(WORDS("SYN-MODEL-TEXT", "empty"), "");
  refused(WORDS("SYN-MODEL-TEXT", "empty"), " \n\t\n");
  refused(WORDS("SYN-MODEL-TEXT", "UTF-8"), twin_text + "// \xff\n");
  refused(WORDS("SYN-MODEL-TEXT", "UTF-8"), twin_text + "// \xc3");
  refused(WORDS("SYN-MODEL-TEXT", "1048576"), twin_text + "//" + std::string(1 << 20, ' '));
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.text_bytes = uint64_t{1} << 40;
  refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-TEXT", "1048576"), desc);
  const std::string with_null = twin_text + std::string("// \0", 4);
  desc = load_desc(with_null, "twin");
  desc.text_bytes = with_null.size();
  refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-TEXT", "null"), desc);
  desc = load_desc(twin_text, "twin");
  desc.file = "twin.hpp";
  refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-TEXT", "text", "file"), desc);
  desc.text = nullptr;
  refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-FILE-OPEN", "twin.hpp"), desc);
  desc.file = nullptr;
  refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-TEXT", "null"), desc);
  desc = load_desc(twin_text, "twin");
  desc.no_cache = 2;
  refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-FLAG", "2"), desc);
}

TEST_F(LoadRefused, NamesThatNameNoStruct) {
  for (const char* const name : {"", "Twin", "twin model", "_twin", "twin_", "two__twins", "2twin", "../twin"})
    refused(WORDS("SYN-MODEL-TEXT", "desc.name"), twin_text, name);
  refused(WORDS("SYN-MODEL-TEXT", "desc.name"), twin_text, nullptr);
  refused(WORDS("SYN-MODEL-STRUCT", "OtherTwin"), twin_text, "other_twin");
  refused(WORDS("SYN-MODEL-STRUCT", "Twin"),
          "// struct Twin {\n/* struct Twin { */ const char* a = \"struct Twin {\";");
  refused(WORDS("SYN-MODEL-STRUCT", "Twin"), "struct Twins { int a; }; struct Twin;");
}

TEST_F(LoadRefused, MistakesOfTheFormulaWithTheirLines) {
  // Line 1 of the text is a comment; the formula is on line 30.
  refused(WORDS("SYN-MODEL-COMPILE", "twin.hpp:30", "y"), replaced(twin_text, "constants[0], v,", "constants[0], y,"));
  refused(WORDS("SYN-MODEL-COMPILE", "twin.hpp:3|twin.hpp:7"),
          replaced(twin_text, "struct Twin {", "struct Twin { int 3;"));
  refused(WORDS("SYN-MODEL-COMPILE", "nowhere.hpp"), "#include <nowhere.hpp>\n" + twin_text);
  const std::string path = folder_ + "/broken.hpp";
  {
    std::ofstream file(path);
    file << replaced(replaced(twin_text, "struct Twin", "struct Broken"), "one - reciprocal_tau",
                     "two - reciprocal_tau");
  }
  synfire_load_desc desc = load_desc("", nullptr);
  desc.text = nullptr;
  desc.file = path.c_str();
  refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-COMPILE", path + ":23"), desc);
  fs::remove(path);
}

TEST_F(LoadRefused, MembersThatAreNotAllowed) {
  refused(WORDS("SYN-MODEL-COMPILE", "n_states"), replaced(twin_text, "n_states = 1", "n_states = 5"));
  refused(WORDS("SYN-MODEL-COMPILE", "states"), replaced(twin_text, "n_states = 1", "n_states = 3"));
  refused(WORDS("SYN-MODEL-COMPILE", "constants"), replaced(twin_text, "n_constants = 3", "n_constants = 9"));
  refused(WORDS("SYN-MODEL-COMPILE", "charge"), replaced(twin_text, "auto charge(", "auto charges("));
  refused(WORDS("SYN-MODEL-COMPILE", "range"), replaced(twin_text, "\"tau\", 2.0", "\"tau\", -2.0"));
  std::string many = replaced(twin_text, "n_parameters = 2", "n_parameters = 9");
  for (int i = 0; i < 7; ++i)
    many = replaced(many, "      {\"v_rest\"",
                    "      {\"p" + std::to_string(i) + "\", 0.0, -1.0, 1.0, false},\n      {\"v_rest\"");
  refused(WORDS("SYN-MODEL-COMPILE", "parameters"), many);
}

TEST_F(LoadRefused, NamesThatAreTakenAndTheOtherKind) {
  refused(WORDS("SYN-MODEL-EXISTS", "lif"), replaced(twin_text, "\"twin\"", "\"lif\""));
  // A surrogate is not a model, and the other way round.
  refused(WORDS("SYN-MODEL-COMPILE", "surrogate"), smooth_text, "smooth");
  synfire_load_desc desc = load_desc(twin_text, "twin");
  synfire_surrogate surrogate = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-COMPILE", "model"),
               synfire_surrogate_load(context_, &desc, &surrogate));
  // A name that was loaded.
  const Model twin = load_model(context_, load_desc(twin_text, "twin"));
  refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-EXISTS", "twin"), load_desc(twin_text, "twin"));
}

TEST_F(LoadRefused, TemplatesWithoutEnd) {
  // Each instance needs two more, so that no limit of depth is reached for a very long time.
  const std::string endless =
      replaced(twin_text, "struct Twin {",
               "template <int depth, int path> struct Endless {\n"
               "  static constexpr int value = Endless<depth - 1, 2 * path>::value + "
               "Endless<depth - 1, 2 * path + 1>::value;\n};\n"
               "template <int path> struct Endless<0, path> { static constexpr int value = 1; };\n"
               "static_assert(Endless<26, 0>::value > 0);\nstruct Twin {");
  synfire_load_desc desc = load_desc(endless, "twin");
  desc.time_out = 500000000u;
  refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-TIME", "0.500"), desc);
}

// ---- compilers ------------------------------------------------------------------------------------------------------

TEST_F(LoadRefused, WithoutACompiler) {
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.no_cache = 1;
  const std::string real = std::getenv("SYNFIRE_CXX") ? std::getenv("SYNFIRE_CXX") : "c++", path = std::getenv("PATH");
  set_environment("SYNFIRE_CXX", "/nowhere/c++");
  refused(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-MODEL-COMPILER", "SYNFIRE_CXX"), desc);
  set_environment("SYNFIRE_CXX", nullptr);
  set_environment("PATH", folder_.c_str());
  refused(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-MODEL-COMPILER", "install", "g++", "SYNFIRE_CXX"), desc);
  set_environment("PATH", path.c_str());
  set_environment("SYNFIRE_CXX", real.c_str());
}

TEST_F(LoadRefused, CompilersThatFail) {
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.no_cache = 1;
  with_compiler("kill -SEGV $$", [&] {
    refused(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-MODEL-COMPILER", "signal", "11", "nothing"), desc);
  });
  with_compiler("echo; exit 1", [&] {
    refused(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-MODEL-COMPILER", "the compiler", "status 1", "printed nothing"),
            desc);
  });
  with_compiler("echo 'internal compiler error: oh'; exit 4",
                [&] { refused(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-MODEL-COMPILER", "internal", "4"), desc); });
  with_compiler("exit 0", [&] { refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-FILES", "model.so"), desc); });
  // The compiler's output is not a shared object; files that it leaves beside it are removed too.
  with_compiler(
      "touch \"$TMPDIR/left.s\"; mkdir \"$TMPDIR/deep\"; touch \"$TMPDIR/deep/left\"\n"
      "while [ \"$1\" != -o ]; do shift; done; echo nonsense > \"$2\"",
      [&] { refused(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-MODEL-LOADED"), desc); });
}

// The compiler's whole process group ends, also those that it has started. Such a one holds the writing end of a pipe:
// its end is the end of what can be read, and it would say so if it lived on.
TEST_F(LoadRefused, CompilersThatHang) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.no_cache = 1;
  std::string heard;
  // A longer time-out where the machine was too busy to start it.
  for (desc.time_out = 250000000u; heard.empty() && desc.time_out < 300000000000u; desc.time_out *= 2) {
    const int reading = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reading, 0);
    with_compiler("(exec >'" + pipe + "'; echo started; sleep 100; echo alive) & sleep 100",
                  [&] { refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-TIME"), desc); });
    ASSERT_EQ(::fcntl(reading, F_SETFL, 0), 0);
    char bytes[64];
    for (ssize_t n = 0; (n = ::read(reading, bytes, sizeof bytes)) > 0;) heard.append(bytes, static_cast<size_t>(n));
    ::close(reading);
  }
  EXPECT_EQ(heard, "started\n");
  fs::remove(pipe);
}

// A check's compiler has the time of the load. On the host, a check runs none (CompiledCache.ChecksNeedNoCompiler).
TEST_F(LoadRefused, CompilersThatHangInACheck) {
  if (on_host()) GTEST_SKIP() << "a check on the host runs no compiler";
  static_cast<void>(load_model(context_, load_desc(twin_text, "twin")));  // now the cache has it
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.time_out = 200000000u;
  const Model twin = load_model(context_, desc);
  with_compiler("sleep 100", [&] {
    synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-TIME", "0.200"),
                 synfire_model_check(twin, 1, 10, &report));
  });
}

// The limit counts processor time, and time in which there is nothing to do.
TEST_F(LoadRefused, CompilersThatWorkForEver) {
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.no_cache = 1;
  desc.time_out = 1000000000u;
  with_compiler("while :; do :; done",
                [&] { refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-TIME", "1.000", "processor"), desc); });
  with_compiler("sleep 100",
                [&] { refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-TIME", "1.000", "waits"), desc); });
}

// A program that is stopped stands for one for which a busy machine has no time.
TEST_F(LoadRefused, ABusyMachineIsNoReason) {
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.no_cache = 1;
  desc.time_out = 1000000000u;
  with_compiler("(sleep 3; kill -CONT $$) & kill -STOP $$; echo 'twin.hpp:1:1: error: it was late'; exit 1",
                [&] { refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-COMPILE", "late"), desc); });
}

TEST_F(LoadRefused, TheCallerEndsTheLoad) {
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.no_cache = 1;
  int calls = 0;
  desc.user = &calls;
  desc.progress = [](void* user, int32_t stage, uint64_t) -> int32_t {
    return stage == SYNFIRE_LOAD_COMPILE && ++*static_cast<int*>(user) == 3;
  };
  with_compiler("sleep 100", [&] { refused(SYNFIRE_ERROR_CALLBACK, WORDS("SYN-MODEL-CANCELLED", "progress"), desc); });
  EXPECT_EQ(calls, 3);
}

// ---- disks ----------------------------------------------------------------------------------------------------------

TEST_F(LoadRefused, AFullDisk) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = before;
  limited.rlim_cur = 1000;
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.no_cache = 1;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  synfire_model model = nullptr;
  const synfire_status status = synfire_model_load(context_, &desc, &model);
  const std::string text = last_error_text();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status, SYNFIRE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(text.find("[SYN-MODEL-FILES]"), std::string::npos) << text;
}

TEST_F(LoadRefused, NoPlaceForTemporaryFiles) {
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.no_cache = 1;
  set_environment("TMPDIR", "/nowhere");
  refused(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-FILES", "/nowhere"), desc);
  set_environment("TMPDIR", folder_.c_str());
}

}  // namespace
}  // namespace synfire_test
