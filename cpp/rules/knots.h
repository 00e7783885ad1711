// Knots of the columns: the values where conditions may begin and end, and where each row lies between them. They come
// from the whole sample, so that all paths of inner validation share them; they do not depend on the classes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/thread_pool.h"
#include "core/tree.h"
#include "rows/sample.h"
#include "rules/kernels.h"
#include "rules/tuning.h"

namespace ferl::rules {

// A condition that is fixed before learning. Between two knots its membership is linear.
struct Word {
  Condition condition;
  std::vector<double> base, slope;  // [bin]: membership at the knot below, and what it gains up to the one above
};

// A column with at least two values.
struct Feature {
  Column column = -1;
  bool has_missing = false;
  // Numbers:
  std::vector<double> knots;  // ascending; values beyond the first and the last count as these
  // position, share_below and share_below_x are padded to kMaxKnots for the kernels; the padding is finite.
  std::vector<double> position;                    // of the knots, from 0 to 1
  std::vector<double> share_below, share_below_x;  // of the known weight; sums of weight times position
  // Categories:
  std::vector<double> category_share;  // of the known weight; 0: not seen
  // Words, of numbers and of categories alike; all other candidates are then left out. Bin 0 is below the first knot,
  // the last but one above the last knot, and the last one holds missing values.
  std::vector<Word> words;

  bool has_words() const { return !words.empty(); }
  bool is_categorical() const { return !category_share.empty(); }
  double share_of_ramp(std::size_t low, std::size_t high) const;  // weighted mean membership of the rising ramp
};

struct Grid {
  std::size_t n_rows = 0;  // rows that scans may use
  std::vector<Feature> features;
  std::vector<std::uint8_t> bin;             // [feature][row]: the knot below; the last one where the value is missing
  std::vector<float> offset;                 // [feature][row]: from the knot below (0) to the one above (1)
  std::vector<std::int32_t> code;            // [feature][row] of categorical features, -1: missing
  std::vector<std::size_t> code_of_feature;  // where a categorical feature's codes begin
};

// The most knots of a number.
std::size_t knots_per_feature(const Sample& sample, const Tuning& tuning);

// Weighted quantiles with both ends, or all values if they are few; without ends that lie very far out. Empty: the
// column is constant.
std::vector<double> choose_knots(const Sample& sample, Column column, std::size_t most, const Tuning& tuning);

// The grid holds the positions of the first n_located rows. It leaves out the columns whose entry in `is_left_out` is
// not zero; empty: none.
Grid make_grid(const Sample& sample, std::size_t n_located, const std::vector<int>& is_left_out, const Tuning& tuning,
               ThreadPool& pool);

}  // namespace ferl::rules
