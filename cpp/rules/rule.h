// A rule: a product of conditions on different columns.
#pragma once

#include <algorithm>
#include <vector>

#include "core/tree.h"
#include "rows/sample.h"
#include "rules/kernels.h"

namespace ferl::rules {

using Rule = std::vector<Condition>;

inline bool same_condition(const Condition& a, const Condition& b) {
  return a.column == b.column && a.ends == b.ends && a.category.size() == b.category.size() &&
         std::equal(a.category.begin(), a.category.end(), b.category.begin(),
                    [](double u, double v) { return u == v || (is_missing(u) && is_missing(v)); });
}

// The same conditions, in whatever order they were found.
inline bool same_rule(const Rule& a, const Rule& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Condition& own) {
           return std::any_of(b.begin(), b.end(), [&](const Condition& other) { return same_condition(own, other); });
         });
}

inline bool asks(const Rule& rule, Column column) {
  return std::any_of(rule.begin(), rule.end(), [&](const Condition& own) { return own.column == column; });
}

inline bool same_columns(const Rule& a, const Rule& b) {
  return a.size() == b.size() &&
         std::all_of(a.begin(), a.end(), [&](const Condition& own) { return asks(b, own.column); });
}

// The condition that is true where this one is false.
inline Condition complement(const Condition& own) {
  Condition other = own;
  other.share = 1 - own.share;
  for (double& membership : other.category) membership = 1 - membership;  // NaN, not seen, stays
  if (!own.category.empty()) return other;
  const bool rises = own.ends[2] == kInfinity;
  other.ends = rises ? Ends{-kInfinity, -kInfinity, own.ends[0], own.ends[1]}
                     : Ends{own.ends[2], own.ends[3], kInfinity, kInfinity};
  return other;
}

// Which way the membership goes with the value: 1 up, -1 down, 0: it rises and falls, as a word does that ends on both
// sides.
inline int direction(const Condition& own) {
  return static_cast<int>(own.ends[3] == kInfinity) - static_cast<int>(own.ends[0] == -kInfinity);
}

// Multiplies `firing` by the membership of rows, as inference will.
inline void multiply_membership(const Sample& sample, const Condition& condition, const std::vector<Row>& rows,
                                float* firing) {
  const double* x = sample.column(static_cast<std::size_t>(condition.column));
  if (condition.category.empty()) {
    const Trapezoid trapezoid(condition.ends[0], condition.ends[1], condition.ends[2], condition.ends[3]);
    kernels().multiply_trapezoid(x, rows.data(), rows.size(), trapezoid, condition.share, firing);
    return;
  }
  Node node;
  node.share = condition.share;
  node.category = condition.category;
  for (std::size_t i = 0; i < rows.size(); ++i) firing[i] *= static_cast<float>(node.fits(x[rows[i]]));
}

}  // namespace ferl::rules
