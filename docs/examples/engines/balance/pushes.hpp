// pushes.hpp - pushes against the top of the pole, drawn at random.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "cart.hpp"
#include "random.hpp"

namespace balance {

/// From `least` to less than `most`.
inline double draw(learning::Random& random, double least, double most) {
  return least + (most - least) * static_cast<double>(random.number());
}

/// Between two pushes are one to three seconds.
class Pushes {
 public:
  Pushes(learning::Random& random, double weakest, double strongest_push)
      : random_(random), weakest_(weakest), strongest_(strongest_push) {}

  /// The push of the next step, in newtons.
  double next() {
    if (left_ == 0) {
      pushing_ = !pushing_;
      const double seconds = pushing_ ? draw(random_, 0.05, 0.15) : draw(random_, 1, 3);
      left_ = static_cast<std::size_t>(seconds * steps_per_second);
      const double size = draw(random_, weakest_, strongest_);
      push_ = !pushing_ ? 0 : (random_.below(2) == 0 ? size : -size);
    }
    --left_;
    return push_;
  }

 private:
  learning::Random& random_;
  double weakest_, strongest_;
  std::size_t left_ = 0;
  bool pushing_ = true;  // so that it begins with a pause
  double push_ = 0;
};

}  // namespace balance
