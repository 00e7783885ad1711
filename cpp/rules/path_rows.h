// The rows that a path is learned from, and what all its stages read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "core/thread_pool.h"
#include "rows/hash.h"
#include "rows/sample.h"
#include "rules/knots.h"
#include "rules/refit.h"
#include "rules/tuning.h"

namespace ferl::rules {

// What is the same for all paths of a fit.
struct Task {
  const Sample& sample;
  const Grid& grid;
  const Tuning& tuning;
  ThreadPool& pool;
  std::size_t max_conditions = 3;
  std::vector<int> monotone = {};  // [column], of the second class's score; empty: none
  bool single_words = false;       // every rule is one given word

  int n_classes() const { return sample.n_classes; }
  std::size_t n_channels() const { return rules::n_channels(sample.n_classes); }
};

// Rows to fit, then the others, which validate; each part is padded with rows that have no weight.
struct PathRows {
  std::vector<Row> row;  // of the sample
  std::size_t n_fit, n_fit_padded, n_other, n_other_padded;
  std::size_t n_path;  // rows that the path itself is fitted on: the first ones
  bool is_packed;      // whether the firings of rules are; the other rows then begin at a multiple of kBlock
  AlignedVector<float> weight;
  AlignedVector<Label> label;
  int n_classes;

  // The part of the rows to fit that the path is fitted on.
  double path_part() const { return std::min(1.0, static_cast<double>(n_path) / static_cast<double>(n_fit)); }
  // Whether a row is of the class whose score a channel holds, as a number.
  double is_class(std::size_t i, std::size_t channel) const {
    return static_cast<std::size_t>(label[i]) == (n_classes == 2 ? 1 : channel) ? 1.0 : 0.0;
  }
};

PathRows path_rows(const Task& task, const std::vector<Row>& fit_rows, const std::vector<Row>& other_rows);

// The scores of the classes without any rule: logarithms of their shares, [channel].
std::vector<double> prior_scores(const PathRows& rows, double least_share);

// Numbers for the random choices of a step.
struct Dice {
  std::uint64_t seed;
  std::size_t step;
  std::uint64_t operator()(std::uint64_t purpose) const {
    return mix(mix(seed) ^ mix((static_cast<std::uint64_t>(step) << 8) + purpose));
  }
};

}  // namespace ferl::rules
