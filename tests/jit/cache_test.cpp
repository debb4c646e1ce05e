// The cache of compiled texts: what is found in it, what is not trusted, its limits, several processes at once.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "texts.hpp"

namespace synfire_test {
namespace {

namespace fs = std::filesystem;

class CompiledCache : public testing::Test {
 protected:
  CompiledCache() : context_(make_context()) {
    std::string name = fs::temp_directory_path() / "synfire-cache-test-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name + "/cache";
    outer_ = name;
    EXPECT_EQ(::mkdir(folder_.c_str(), 0700), 0);
    fs::create_directories(fs::path(SYNFIRE_TEST_CACHE).parent_path());
    // A compiler that compiles once for all tests: what they load differs in comments only.
    real_ = std::getenv("SYNFIRE_CXX") ? std::getenv("SYNFIRE_CXX") : "c++";
    const std::string compiler = outer_ + "/compiler";
    {
      std::ofstream script(compiler);
      script << "#!/bin/sh\nfor out; do case $out in *.cpp) source=$out ;; esac; done\n"
             << "if [ \"$out\" = --version ]; then exec " << real_ << " --version; fi\n"
             << "once=" << SYNFIRE_TEST_CACHE << "-once-$(grep -v '^//' \"$source\" | cksum | tr ' ' -).so\n"
             << "if [ ! -f $once ]; then " << real_
             << " \"$@\" || exit 1; cp \"$out\" $once.$$; mv $once.$$ $once; fi\n"
             << "cp $once \"$out\"\n";
    }
    EXPECT_EQ(::chmod(compiler.c_str(), 0755), 0);
    set_environment("SYNFIRE_CXX", compiler.c_str());
  }
  ~CompiledCache() override {
    set_environment("SYNFIRE_CXX", real_.c_str());
    ::chmod(folder_.c_str(), 0700);
    fs::remove_all(outer_);
  }

  // Loads and tells whether it came from the cache.
  bool from_cache(const std::string& text = twin_text, const char* name = "twin") {
    synfire_load_desc desc = load_desc(text, name);
    desc.cache = folder_.c_str();
    desc.cache_bytes = cache_bytes_;
    const Model model = load_model(context_, desc);
    return model.get() && info_of(model).from_cache == 1;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) names.push_back(entry.path());
    return names;
  }

  Context context_;
  std::string folder_, outer_, real_;
  uint64_t cache_bytes_ = 0;
};

TEST_F(CompiledCache, HasATextOnceItWasCompiled) {
  EXPECT_FALSE(from_cache());
  ASSERT_EQ(files().size(), 1u);
  EXPECT_TRUE(from_cache());
  // A comment is another text, because messages name its lines.
  EXPECT_FALSE(from_cache("// another\n" + twin_text));
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(CompiledCache, LoadsWithoutACompilerAtWork) {
  EXPECT_FALSE(from_cache());
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.cache = folder_.c_str();
  static int compiling;
  compiling = 0;
  desc.progress = [](void*, int32_t stage, uint64_t) -> int32_t {
    compiling += stage == SYNFIRE_LOAD_COMPILE;
    return 0;
  };
  const Model model = load_model(context_, desc);
  EXPECT_EQ(compiling, 0);
  EXPECT_EQ(info_of(model).from_cache, 1);
}

// A check reports loops as they were found when the text was compiled: no compiler runs again.
TEST_F(CompiledCache, ChecksNeedNoCompiler) {
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.cache = folder_.c_str();
  if (!on_host()) GTEST_SKIP() << "on a GPU, the first check compiles the kernels for the host";
  const FullCompiler compiler;
  for (const bool cached : {false, true}) {
    const Model model = load_model(context_, desc);
    EXPECT_EQ(info_of(model).from_cache, cached ? 1 : 0);
    const std::string real = std::getenv("SYNFIRE_CXX") ? std::getenv("SYNFIRE_CXX") : "c++";
    set_environment("SYNFIRE_CXX", "/nowhere/c++");
    synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
    EXPECT_OK(synfire_model_check(model, 1, 100, &report));
    set_environment("SYNFIRE_CXX", real.c_str());
    EXPECT_EQ(report.n_loops, 8);
    EXPECT_EQ(report.n_vectorized, 8) << report.text;
  }
}

// A folder, or a file that would fill the memory, is not an entry.
TEST_F(CompiledCache, TakesNothingElseForAnEntry) {
  EXPECT_FALSE(from_cache());
  const std::string path = files().at(0);
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_FALSE(from_cache());
  EXPECT_TRUE(fs::is_regular_file(path));  // an empty folder makes room
  fs::remove(path);
  fs::create_directory(path);
  std::ofstream(path + "/kept") << "text";
  EXPECT_FALSE(from_cache());
  EXPECT_TRUE(fs::exists(path + "/kept"));
  fs::remove_all(path);
  std::ofstream(path) << "text";
  fs::resize_file(path, uintmax_t{1} << 42);
  EXPECT_FALSE(from_cache());
  EXPECT_LT(fs::file_size(path), uintmax_t{1} << 26);
  EXPECT_TRUE(from_cache());
}

// A damaged entry is compiled again and replaced.
TEST_F(CompiledCache, DoesNotTrustDamagedEntries) {
  EXPECT_FALSE(from_cache());
  const std::string path = files().at(0), whole = text_at(path);
  const auto put = [&](const std::string& bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << bytes;
  };
  std::string changed = whole;
  changed[whole.size() / 2] = static_cast<char>(changed[whole.size() / 2] ^ 1);
  for (const std::string& damaged : {std::string(), whole.substr(0, 40), whole.substr(0, whole.size() - 1), changed,
                                     std::string(4096, 'x'), whole + "x"}) {
    put(damaged);
    EXPECT_FALSE(from_cache());
    EXPECT_EQ(text_at(path).size(), whole.size());
    EXPECT_TRUE(from_cache());
  }
}

// An entry that is a link, even to a good one, is not followed.
TEST_F(CompiledCache, DoesNotFollowLinks) {
  EXPECT_FALSE(from_cache());
  const std::string path = files().at(0), elsewhere = folder_ + "/elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  EXPECT_FALSE(from_cache());
  EXPECT_FALSE(fs::is_symlink(path));
  EXPECT_TRUE(fs::exists(elsewhere));
}

TEST_F(CompiledCache, IsForOneUserOnly) {
  EXPECT_FALSE(from_cache());
  struct stat status = {};
  ::chmod(folder_.c_str(), 0777);
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.cache = folder_.c_str();
  synfire_model model = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-CACHE", "others"),
               synfire_model_load(context_, &desc, &model));
  ::chmod(folder_.c_str(), 0700);
  const std::string inner = folder_ + "/a/b";
  desc.cache = inner.c_str();
  { const Model made = load_model(context_, desc); }
  ASSERT_EQ(::stat(inner.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  if (::geteuid() != 0) return;
  // The folder belongs to another user, then an entry does.
  ASSERT_EQ(::chown(inner.c_str(), 12345, 12345), 0);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-CACHE", "another"),
               synfire_model_load(context_, &desc, &model));
  const std::string entry = [&] {
    for (const std::string& path : files())
      if (path.ends_with(".synfire")) return path;
    return std::string();
  }();
  ASSERT_EQ(::chown(entry.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(from_cache());
  ASSERT_EQ(::stat(entry.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0u);
}

TEST_F(CompiledCache, FoldersThatCannotBeUsed) {
  synfire_load_desc desc = load_desc(twin_text, "twin");
  synfire_model model = nullptr;
  for (const char* const folder : {"", "relative", "/dev/null", "/dev/null/below"}) {
    desc.cache = folder;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MODEL-CACHE", "desc.cache"),
                 synfire_model_load(context_, &desc, &model));
  }
  // Those that the environment names are left alone.
  desc.cache = nullptr;
  set_environment("SYNFIRE_CACHE", "/dev/null/below");
  {
    const Model loaded = load_model(context_, desc);
    EXPECT_EQ(info_of(loaded).from_cache, 0);
  }
  set_environment("SYNFIRE_CACHE", folder_.c_str());
  {
    const Model loaded = load_model(context_, desc);
    EXPECT_EQ(info_of(loaded).from_cache, 0);
  }
  {
    const Model loaded = load_model(context_, desc);
    EXPECT_EQ(info_of(loaded).from_cache, 1);
  }
  desc.no_cache = 1;
  {
    const Model loaded = load_model(context_, desc);
    EXPECT_EQ(info_of(loaded).from_cache, 0);
  }
  set_environment("SYNFIRE_CACHE", nullptr);
}

TEST_F(CompiledCache, KeepsWhatWasUsedLast) {
  EXPECT_FALSE(from_cache());
  const uint64_t bytes = fs::file_size(files().at(0));
  cache_bytes_ = 2 * bytes + bytes / 2;
  const auto other = [](int i) { return "// " + std::to_string(i) + "\n" + twin_text; };
  EXPECT_FALSE(from_cache(other(1)));
  EXPECT_TRUE(from_cache());  // used again
  EXPECT_FALSE(from_cache(other(2)));
  EXPECT_EQ(files().size(), 2u);
  EXPECT_TRUE(from_cache());
  EXPECT_FALSE(from_cache(other(1)));
}

// The disk becomes full while an entry is written: its last byte does not fit.
TEST_F(CompiledCache, AFullDiskLeavesNoEntry) {
  EXPECT_FALSE(from_cache());
  struct Disk {
    rlimit before, full;
  } disk = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &disk.before), 0);
  disk.full = {static_cast<rlim_t>(fs::file_size(files().at(0)) - 1), disk.before.rlim_max};
  fs::remove(files().at(0));
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  synfire_load_desc desc = load_desc(twin_text, "twin");
  desc.cache = folder_.c_str();
  desc.user = &disk;
  desc.progress = [](void* user, int32_t stage, uint64_t) -> int32_t {
    if (stage == SYNFIRE_LOAD_FINISH) {
      EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &static_cast<Disk*>(user)->full), 0);
    }
    return 0;
  };
  synfire_model model = nullptr;
  const synfire_status status = synfire_model_load(context_, &desc, &model);
  const std::string text = last_error_text();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &disk.before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status, SYNFIRE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(text.find("[SYN-MODEL-CACHE]"), std::string::npos) << text;
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(files(), std::vector<std::string>());
  EXPECT_FALSE(from_cache());
  EXPECT_EQ(files().size(), 1u);
}

// Processes that load the same text at the same time: each gets it, and the entry is whole.
TEST_F(CompiledCache, IsSharedByProcesses) {
  if (backend() == SYNFIRE_BACKEND_CUDA) GTEST_SKIP() << "CUDA does not work in the child of a process that used it";
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const Context context = make_context();
      synfire_load_desc desc = load_desc(twin_text, "twin");
      desc.cache = folder_.c_str();
      synfire_model model = nullptr;
      ::_exit(synfire_model_load(context, &desc, &model) == SYNFIRE_OK ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(from_cache());
}

}  // namespace
}  // namespace synfire_test
