#include "rules/rule_products.h"

#include <algorithm>
#include <mutex>

#include "core/aligned.h"
#include "core/kernels.h"
#include "core/walk.h"
#include "rules/kernels.h"

namespace ferl {

static_assert(rules::kBlock == kBlockRows);

void add_products(const Tree& tree, const std::vector<std::int32_t>& rule_of, std::size_t n_rules, const MatrixView& x,
                  int n_threads, double* out) {
  constexpr double kOne = 1 << kFiringBits;
  constexpr std::size_t kBlocksAtOnce = 32;  // the sums of so many blocks go to all sums together
  const std::size_t width = 1 + n_rules;
  const std::size_t n_terms = (width + rules::kProductTerms - 1) / rules::kProductTerms * rules::kProductTerms;
  const std::size_t n_blocks = (x.n_rows + kBlockRows - 1) / kBlockRows;
  std::vector<std::int64_t> total(n_terms * n_terms, 0);
  std::mutex mutex;
  const auto task = [&](std::size_t t) {
    Levels level;
    AlignedVector<std::int16_t> firing(n_terms * kBlockRows);
    std::vector<std::int64_t> sum(n_terms * n_terms, 0);
    for (std::size_t b = t * kBlocksAtOnce; b < std::min((t + 1) * kBlocksAtOnce, n_blocks); ++b) {
      const Block block{x, b * kBlockRows, std::min(kBlockRows, x.n_rows - b * kBlockRows)};
      std::fill(firing.begin(), firing.end(), std::int16_t{0});
      std::fill_n(firing.begin(), block.size, static_cast<std::int16_t>(kOne));
      walk(tree, block, false, level, [&](std::size_t o, const Firing& own) {
        if (rule_of[o] < 0) return;
        std::int16_t* to = firing.data() + (1 + static_cast<std::size_t>(rule_of[o])) * kBlockRows;
        for (std::size_t k = 0; k < own.size; ++k)
          to[own.row[k]] = static_cast<std::int16_t>(to_integer(own.phi[k] * kOne));
      });
      rules::kernels().add_products(firing.data(), n_terms, sum.data());
    }
    const std::lock_guard<std::mutex> lock(mutex);
    for (std::size_t k = 0; k < sum.size(); ++k) total[k] += sum[k];
  };
  parallel_for((n_blocks + kBlocksAtOnce - 1) / kBlocksAtOnce, n_threads, task, [] {});
  for (std::size_t j = 0; j < width; ++j)
    for (std::size_t k = 0; k < width; ++k)
      out[j * width + k] += static_cast<double>(total[std::max(j, k) * n_terms + std::min(j, k)]) / (kOne * kOne);
}

}  // namespace ferl
