// From a feature to a candidate split: the cuts of all resamples, the band they span, the gain of its ramp.
#pragma once

#include <vector>

#include "core/ramp.h"
#include "core/thread_pool.h"
#include "core/tree.h"
#include "core/types.h"
#include "trees/bootstrap.h"
#include "trees/category.h"
#include "trees/split.h"

namespace ferl {

enum class BandForm { mean_std, median_mad };
enum class Criterion { gini, entropy, cci };

struct BandOptions {
  BandForm form = BandForm::mean_std;
  Criterion criterion = Criterion::gini;
  double scale = 1;
  bool two_mode = true;
  double min_leaf_weight = 2;
};

// What a split gains, in units of weight so that gains compare across nodes. Candidates compare by `first`, then
// `second`: Gini decrease and nothing, or decrease of entropy or CCI and the Gini decrease.
struct Gain {
  double first = 0, second = 0;
  bool better_than(const Gain& other) const {
    if (first > other.first * kBetter) return true;
    return first * kBetter >= other.first && second > other.second * kBetter;
  }
};

struct Candidate {
  Column column = -1;  // -1: none
  Band band{};
  std::vector<double> category;  // of a categorical feature: how much of each category goes left, NaN: not seen
  double rise = 0;               // two classes: of the second one's share, from the left side to the right one
  double share = 0.5;            // of the weight with a value that goes left: where a missing value goes
  CutSpread cuts = kNoCuts;
  Gain gain;

  // Left membership of a value.
  double left(double x, const Ramp& ramp) const {
    if (is_missing(x)) return share;
    if (category.empty()) return ramp(x);
    const double membership = category[static_cast<std::size_t>(x)];
    return is_missing(membership) ? share : membership;
  }
};

// The rows of a node in the order of one feature, gathered once and then read in sequence by every pass.
struct SortedRows {
  std::vector<Row> row;
  std::vector<Label> y;
  std::vector<double> value, weight;
  std::vector<double> occurrence;  // weight of one occurrence in a resample
  void gather(const NodeView& node, const Row* order, std::size_t n_rows, const double* x, const Resamples& resamples);
};

// The largest gain of any split of a node: the gain of a split that leaves no impurity.
Gain most_gain(const std::vector<double>& class_weight, double weight, Criterion criterion);

// Gain of a complementary fuzzy split with these left class weights; never negative.
Gain gain_of(const std::vector<double>& class_weight, double weight, const std::vector<double>& left_class_weight,
             Criterion criterion);

// The Gini-optimal cut of each resample, between two adjacent values present in it; NaN where nothing separates.
std::vector<double> resampled_cuts(const SortedRows& rows, const Resamples& resamples, int n_classes,
                                   double min_leaf_weight, ThreadPool& pool);

// An interval that leaves out 5 % of the cuts on either side, at least one, and reaches to the next of the sorted
// values beyond them: no row determines where a cut lies in the gap between two values. The share in the band
// counts all resamples, including resamples without a cut.
CutSpread cut_spread(std::vector<double> cuts, const std::vector<double>& values, Band band, int n_resamples);

// The candidate of one categorical feature, with the gain of the cross-fitted cut; column -1 as below.
Candidate category_candidate(const CategoryRows& rows, Column column, int n_categories, const Cut& cut,
                             const Resamples& resamples, const BandOptions& options);

// The candidate of one feature; column -1 when either child would be lighter than the minimum.
Candidate band_candidate(const NodeView& node, Column column, const SortedRows& rows, const Cut& cut,
                         const Resamples& resamples, const BandOptions& options, ThreadPool& pool);

}  // namespace ferl
