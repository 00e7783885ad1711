// Sums of the products of two firings over rows: what counts the training rows behind an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tree.h"
#include "core/types.h"

namespace ferl {

// Firings are rounded to 2^-kFiringBits: as integers their products and sums are exact, in any order of the rows.
inline constexpr int kFiringBits = 10;

// Adds the sums over the rows of x to out, [1 + n_rules][1 + n_rules]; the first firing is constant one. rule_of: [node],
// the rule that ends there, or -1.
void add_products(const Tree& tree, const std::vector<std::int32_t>& rule_of, std::size_t n_rules, const MatrixView& x,
                  int n_threads, double* out);

}  // namespace ferl
