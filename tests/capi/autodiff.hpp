// Reverse-mode automatic differentiation in double: a tape of operations, each with the partial derivatives along its
// operands. Independent of the library.
#ifndef SYNFIRE_TESTS_CAPI_AUTODIFF_HPP
#define SYNFIRE_TESTS_CAPI_AUTODIFF_HPP

#include <cmath>
#include <cstddef>
#include <vector>

namespace synfire_test {

class Tape;

/// A number on a tape, or a constant.
class Number {
 public:
  Number(double value = 0) : value_(value) {}
  double value() const { return value_; }

 private:
  friend class Tape;
  Number(double value, Tape* tape, size_t node) : value_(value), tape_(tape), node_(node) {}

  double value_;
  Tape* tape_ = nullptr;  // null for a constant
  size_t node_ = 0;
};

class Tape {
 public:
  Number variable(double value) { return push(value, {}, {}); }

  /// A number that depends on a and b with these partial derivatives, on the tape of whichever operand has one.
  static Number result(double value, const Number& a, double slope_a, const Number& b = 0, double slope_b = 0) {
    Tape* const tape = a.tape_ != nullptr ? a.tape_ : b.tape_;
    if (tape == nullptr) return value;
    return tape->push(value, link(a, slope_a), link(b, slope_b));
  }

  /// Computes d(of)/d(every number), which gradient() then returns.
  void differentiate(const Number& of) {
    gradients_.assign(nodes_.size(), 0);
    if (of.tape_ != this) return;
    gradients_[of.node_] = 1;
    for (size_t i = of.node_ + 1; i-- > 0;)
      for (const Link& link : nodes_[i].links)
        if (link.slope != 0) gradients_[link.node] += gradients_[i] * link.slope;
  }
  double gradient(const Number& number) const { return number.tape_ == this ? gradients_[number.node_] : 0; }

 private:
  struct Link {
    size_t node = 0;
    double slope = 0;
  };
  struct Node {
    Link links[2];
  };

  static Link link(const Number& number, double slope) {
    return number.tape_ != nullptr ? Link{number.node_, slope} : Link{};
  }
  Number push(double value, Link a, Link b) {
    nodes_.push_back({{a, b}});
    return Number(value, this, nodes_.size() - 1);
  }

  std::vector<Node> nodes_;
  std::vector<double> gradients_;
};

inline Number operator+(const Number& a, const Number& b) {
  return Tape::result(a.value() + b.value(), a, 1, b, 1);
}
inline Number operator-(const Number& a, const Number& b) {
  return Tape::result(a.value() - b.value(), a, 1, b, -1);
}
inline Number operator*(const Number& a, const Number& b) {
  return Tape::result(a.value() * b.value(), a, b.value(), b, a.value());
}
inline Number operator/(const Number& a, const Number& b) {
  return Tape::result(a.value() / b.value(), a, 1 / b.value(), b, -a.value() / (b.value() * b.value()));
}
inline Number exp(const Number& a) {
  return Tape::result(std::exp(a.value()), a, std::exp(a.value()));
}

/// max(0, a), with derivative 0 at 0.
inline double rectified(double a) {
  return a > 0 ? a : 0;
}
inline Number rectified(const Number& a) {
  return Tape::result(rectified(a.value()), a, a.value() > 0 ? 1 : 0);
}

}  // namespace synfire_test

#endif
