// Bootstrap resamples, drawn once per fit as multiplicities over the rows.
//
// A row that stands for w equal rows appears Poisson(w) times in a resample (the Poisson bootstrap: what n draws with
// replacement tend to, without making one row's draw depend on another's). The draw is a function of the row's key
// and the resample's number alone.
#pragma once

#include <cstdint>
#include <vector>

#include "core/simd.h"
#include "core/thread_pool.h"
#include "core/types.h"
#include "rows/sample.h"

namespace ferl {

class Resamples {
 public:
  Resamples(const Sample& sample, int n_resamples, ThreadPool& pool);

  int n_resamples() const { return n_resamples_; }
  int n_groups() const { return n_groups_; }  // of kLanes resamples; the lanes past the last resample are all zero

  // The multiplicities of one row in the eight resamples of a group.
  const std::uint8_t* counts(int group, Row row) const {
    return counts_.data() + (static_cast<std::size_t>(group) * n_rows_ + row) * kLanes;
  }
  // Weight of one occurrence of a row in a resample, as a share of the row's weight.
  double occurrence(Row row) const { return occurrence_[row]; }

 private:
  std::size_t n_rows_;
  int n_resamples_, n_groups_;
  std::vector<std::uint8_t> counts_;  // [group][row][lane]
  std::vector<double> occurrence_;
};

}  // namespace ferl
