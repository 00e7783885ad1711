// Boosting of curves and maps from given probabilities: rounds over all terms, few at a time. A term takes a step if
// that gains enough. The threshold is halved when hardly any term moves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/thread_pool.h"
#include "rules/grid_bins.h"
#include "rules/grid_steps.h"
#include "rules/refit.h"
#include "rules/tuning.h"

namespace ferl::rules {

// A curve, or a map of two columns.
struct GridTerm {
  std::size_t first, second;  // of the binned columns
  bool is_map = false, is_categorical = false;
  int sign = 0;  // which way a curve may go; 0: any
  std::size_t n_first, n_second;

  std::size_t n_cells() const { return n_first * n_second; }
};
GridTerm curve_of(const std::vector<BinnedColumn>& columns, std::size_t column, int sign);
GridTerm map_of(const std::vector<BinnedColumn>& columns, std::size_t first, std::size_t second);

using GridTable = std::vector<double>;  // [cell][channel]: what a term adds to the scores

// Rows with their classes, weights, bins and probabilities.
struct GridRows {
  std::size_t n = 0, n_channels = 1;
  std::vector<float> weight, p;  // p: [row][channel], of the second class where there is one channel
  std::vector<Label> label;
  std::vector<std::vector<std::uint16_t>> bin;     // [column]
  std::vector<std::vector<std::uint8_t>> map_bin;  // [column]

  // The chance of a row's own class.
  double own_chance(std::size_t i) const {
    const auto label_ = static_cast<std::size_t>(label[i]);
    if (n_channels > 1) return p[i * n_channels + label_];
    return label_ == 1 ? p[i] : 1.0 - static_cast<double>(p[i]);
  }
};

// Rows of the sample, in this order; p is given for them.
GridRows grid_rows(const Sample& sample, const std::vector<BinnedColumn>& columns, const std::vector<Row>& rows,
                   std::vector<float> p, ThreadPool& pool);

// The first rows of the sample. Takes the bins out of the columns, so that they are there only once.
GridRows first_grid_rows(const Sample& sample, std::vector<BinnedColumn>& columns, std::size_t n, std::vector<float> p);

// Residuals and curvature in the cells of a term.
GridSums sum_cells(const GridRows& rows, const GridTerm& term);

// Changes the probabilities by what the terms add.
void apply(GridRows& rows, const std::vector<GridTerm>& terms, const std::vector<GridTable>& tables, ThreadPool& pool);

// Log-loss of each row, at most `most`.
std::vector<double> row_losses(const GridRows& rows, double most);

// How far boosting went: the threshold's number, and rounds with it.
struct Reached {
  std::size_t level = 0, round = 0;
};

struct BoostOptions {
  double rate = 0.1;
  std::size_t n_levels = 5;
  std::size_t n_thresholds = 1000;  // at most this number of the first thresholds
};
BoostOptions boost_options(double weight, const Tuning& tuning);

class GridBoost {
 public:
  // Tables that boosting begins with must have been applied to the rows already.
  GridBoost(std::vector<GridTerm> terms, std::vector<GridTable> tables, GridRows& rows, BoostOptions options,
            const Tuning& tuning, ThreadPool& pool);

  // Boosts until validation no longer improves, then returns to the tables of the best round. Changes both rows'
  // probabilities.
  Reached until_best(GridRows& other);
  // Boosts again, up to round `end`.
  void up_to(Reached end);

  // The gain of the first step of each term, a map.
  std::vector<double> map_gains() const;

  const std::vector<GridTerm>& terms() const { return terms_; }
  const std::vector<GridTable>& tables() const { return tables_; }

 private:
  struct Validation;
  void run(std::optional<Reached> end, Validation* validation);
  std::size_t round(std::size_t number, double threshold, GridRows* other);
  std::size_t step(const std::size_t* first, std::size_t n, double threshold, GridRows* other);
  std::size_t n_each(std::size_t n) const;
  bool find_step(std::size_t t, const GridSums& sums, double threshold, std::vector<double>& step) const;
  StepOptions step_options(double threshold) const;
  std::vector<GridSums> sums_of(const std::size_t* first, std::size_t n) const;
  void set_residuals();

  std::vector<GridTerm> terms_;
  std::vector<GridTable> tables_;
  GridRows& rows_;
  BoostOptions options_;
  const Tuning& tuning_;
  ThreadPool& pool_;
  std::vector<float> residual_;           // two classes: [row]: residual and curvature
  std::vector<std::size_t> rest_, wait_;  // [term]: it is left out before this round; rounds of the next rest
  std::vector<char> has_moved_;           // [term]: in its last turn
};

}  // namespace ferl::rules
