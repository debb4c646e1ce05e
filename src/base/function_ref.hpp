// A non-owning reference to a callable object: a pointer to it and a pointer to a function that calls it.
#ifndef SYNFIRE_BASE_FUNCTION_REF_HPP
#define SYNFIRE_BASE_FUNCTION_REF_HPP

#include <memory>
#include <type_traits>
#include <utility>

namespace synfire::core {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
  FunctionRef(F&& function)
  noexcept
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Arguments>(arguments)...);
        }) {}
  Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace synfire::core

#endif
