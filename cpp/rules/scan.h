// The best condition of every feature, given the residuals of some rows: all ramps between two knots and their
// complements, or all words, from sums over bins; sets of categories from sums over categories.
#pragma once

#include <cstdint>
#include <vector>

#include "core/thread_pool.h"
#include "core/types.h"
#include "rules/knots.h"
#include "rules/rule.h"
#include "rules/tuning.h"

namespace ferl::rules {

inline constexpr std::size_t kMaxGradients = 32;  // more classes are projected on random directions

// The best condition of a feature, and the best among complements: "down". Categories have sets on either side in "up".
// A word is the one at the index `low` of "up"; words have no complements.
struct Found {
  BestPair up, down;
  std::vector<double> category;  // membership of each; empty: a number
};

Condition condition_of(const Feature& feature, const Found& found, bool up);
// The simplest conditions on a feature: its full ramp, each category, each word.
std::vector<Condition> single_conditions(const Feature& feature);
Condition ramp(const Feature& feature, std::size_t low, std::size_t high);
Condition single_category(const Feature& feature, std::size_t category);

// Rows that are scanned, their columns gathered.
class Scanner {
 public:
  Scanner(const Grid& grid, std::vector<int> monotone, const Tuning& tuning)
      : grid_(grid), monotone_(std::move(monotone)), tuning_(tuning) {}

  void set_rows(const std::vector<Row>& rows);  // of the sample
  // gradient: [row][channel], weighted, sums zero over the rows; several channels are classes or projections of them.
  // unit: by what squares of the gradient count. The rows stand for `scale` times as many.
  void set_residuals(const std::vector<float>& gradient, std::size_t n_channels, const std::vector<float>& hessian,
                     double unit, int n_classes, double scale);

  std::size_t n_rows() const { return rows_.size(); }
  const std::vector<Row>& rows() const { return rows_; }

  // Scans for rules whose conditions so far fire by `base` ([row]; empty: no condition yet) and whose weight must have
  // `sign` (0: any). Features not listed are not scanned. Only the n_best features by "up" and by "down", the first of
  // equals first, are searched in full: for other features, the result may be less than the best.
  std::vector<Found> scan(const std::vector<float>& base, int sign, const std::vector<std::size_t>& features,
                          std::size_t n_best, ThreadPool& pool) const;

 private:
  struct Rows {  // the rows with a firing, and what they add to sums
    std::vector<Row> index;
    const float* value;          // [row][channel], padded to a multiple of four channels
    std::vector<float> weighed;  // what value points to, unless all rows fire fully
    bool all = false;
  };
  // A feature that gains less than these bounds is not among the best; earlier features set the bounds.
  struct Bounds {
    double up = -1, down = -1;
  };
  struct Bins {  // sums of a feature's bins, as the kernel lays them out: [bin][four channels][v, v x]
    const float* at = nullptr;
    std::size_t n_padded = 0;
    double sum(std::size_t q, std::size_t c) const { return at[2 * (q * n_padded + c / 4 * 4) + c % 4]; }
    double sum_x(std::size_t q, std::size_t c) const { return at[2 * (q * n_padded + c / 4 * 4) + 4 + c % 4]; }
    double sum_x2(std::size_t q) const { return sum_x(q, n_padded - 1); }  // of h w^2
  };
  Rows weigh(const std::vector<float>& base) const;
  // Fills the bins of some features, without sets of categories; the sums stay until the next call.
  void fill(const std::size_t* features, std::size_t n_features, const Rows& rows, Bins* bins) const;
  Found best_ramp(std::size_t feature, const Bins& bins, int sign, const Bounds& bounds) const;
  Found best_word(std::size_t feature, const Bins& bins, int sign) const;
  Found best_set(std::size_t feature, const Rows& rows, int sign) const;

  const Grid& grid_;
  std::vector<int> monotone_;
  const Tuning& tuning_;
  std::vector<Row> rows_;
  std::vector<std::uint8_t> bin_;
  std::vector<float> offset_;
  std::vector<std::int32_t> code_;
  std::vector<std::size_t> code_of_feature_;
  std::vector<float> value_;  // [row][channel], padded: the gradient, h twice, and h again at the end
  std::size_t n_gradients_ = 0, n_padded_ = 0;
  double sum_h_ = 0;
  double unit_ = 1, smoothing_ = 0, least_weight_ = 0;  // of gains, on rows that stand for more
  int n_classes_ = 2;
};

}  // namespace ferl::rules
