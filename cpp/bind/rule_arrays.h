// Rules as arrays of Python, in both directions; for the module of the core and the module of the tests.
#pragma once

#include <optional>
#include <vector>

#include "bind/array.h"
#include "core/tree.h"
#include "rows/sample.h"
#include "rules/packed_firing.h"
#include "rules/refit.h"
#include "rules/rule.h"

namespace ferl::python {

inline bool is_sign(int sign) { return sign >= -1 && sign <= 1; }

// None, or a tuple of the column and the trapezoid of each word.
std::optional<std::vector<Condition>> words_of(const nb::object& given);

// Refuses words of columns that are not there.
void check_words(const std::optional<std::vector<Condition>>& words, const Sample& sample);

// A chain of nodes from the root for each rule.
nb::dict chains(const std::vector<rules::Rule>& rules);

// Weights and prior of each class.
nb::dict weights_by_class(const rules::Weights& weights, std::size_t n_rules, int n_classes);

// Arrays of rows and rules as the core's refits take them.
class FitArrays {
 public:
  FitArrays(const CMatrix& firing, const CMatrix& target, const Vector& weight, const Codes& sign);
  // Scores to which the scores of the rules are added: [row][class].
  void set_offset(const CMatrix& offset);
  void pack();
  rules::FitRows rows() const {
    return {n_, n_classes_, weight_.data(), nullptr, target_.data(), offset_.empty() ? nullptr : offset_.data()};
  }
  std::vector<rules::RuleColumn> columns;

 private:
  int n_classes_;
  std::size_t n_;
  std::vector<float> weight_, target_, offset_;
  std::vector<std::vector<float>> firing_;
  std::vector<rules::PackedFiring> packed_;
};

}  // namespace ferl::python
