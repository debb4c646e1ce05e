// Shared by the files of this suite: the context under test, and a check of thrown errors.
#ifndef SYNFIRE_TESTS_HPP_SUPPORT_HPP
#define SYNFIRE_TESTS_HPP_SUPPORT_HPP

#include <gtest/gtest.h>
#include <synfire/synfire.hpp>

#include <cstdlib>
#include <string>
#include <string_view>

namespace synfire_test {

// The backend that SYNFIRE_TEST_BACKEND selects: host, the default, or cuda.
inline synfire::Context make_context() {
  const char* asked = std::getenv("SYNFIRE_TEST_BACKEND");
  const bool cuda = asked != nullptr && std::string_view(asked) == "cuda";
  return synfire::Context(synfire::context_desc(cuda ? SYNFIRE_BACKEND_CUDA : SYNFIRE_BACKEND_HOST, 1));
}

// True if `call` throws a synfire::error with this status and rule, whose text contains `word`.
template <class Call>
testing::AssertionResult throws(synfire_status status, std::string_view rule, std::string_view word, Call&& call) {
  try {
    call();
  } catch (const synfire::error& error) {
    const std::string text = error.what();
    if (error.status() != status || error.rule() != rule || text.find(word) == std::string::npos)
      return testing::AssertionFailure() << error.status_name() << ", rule \"" << error.rule() << "\": " << text;
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "nothing was thrown";
}

}  // namespace synfire_test

#endif
