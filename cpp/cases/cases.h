// Similar cases: known rows whose classes are evidence for the class of a new row, the more the nearer they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "core/types.h"
#include "novelty/units.h"

namespace ferl {

// A place is a distinct row. Equal rows of several classes are several cases at one place.
struct NearPlace {
  double distance;
  std::int32_t index;
};

// What the search of one thread needs, kept from row to row.
struct CaseSearch {
  AlignedVector<float> units;   // of the row
  std::vector<float> distance;  // [place], in single precision
  std::vector<float> least;     // a heap of the least distances
  std::vector<NearPlace> near;  // exact, the nearest first
  std::vector<double> vote, evidence;
};

// How the nearest places vote: for each number of them, how strongly their vote counts.
struct VoteWeights {
  std::vector<std::int32_t> n_nearest;  // ascending
  std::vector<double> strength;
};

class Cases {
 public:
  // row: [place][column], NaN where a value is missing; start: [place], and the end: where its cases begin in label and
  // weight; frequency: [class], above zero.
  Cases(std::vector<double> row, std::vector<std::int32_t> start, std::vector<Label> label, std::vector<double> weight,
        Scale scale, std::vector<double> frequency, VoteWeights votes);

  std::size_t n_places() const { return start_.size() - 1; }
  std::size_t n_columns() const { return units_of_.n_columns(); }
  std::size_t n_classes() const { return frequency_.size(); }
  std::size_t n_votes() const { return votes_.n_nearest.size(); }

  // Fills search.near with at least the `n` nearest places, and with all at distance 0; equally near ones by their index.
  // others_alone: without the place that has the values of the row, so that a training row does not see itself.
  void find_nearest(const double* x, std::ptrdiff_t stride, std::size_t n, bool others_alone, CaseSearch& search) const;

  // What each column adds to the distance of a row from some places: column j to out[j * out_stride], one place after the
  // other from there.
  void away(const double* x, std::ptrdiff_t stride, const std::int32_t* place, std::size_t n, double* out,
            std::size_t out_stride) const;

  // Evidence of the votes of the cases at the nearest places, [number of places][class]; the sum over the classes is zero.
  void vote(const double* x, std::ptrdiff_t stride, bool others_alone, CaseSearch& search, double* out) const;

  // What the cases add to the scores of a row, [class]: the evidence of each vote times its strength.
  void add(const double* x, std::ptrdiff_t stride, CaseSearch& search, double* out) const;

 private:
  double away(double value, std::size_t index, std::size_t j) const;
  double known_share(const double* x, std::ptrdiff_t stride) const;
  double distance(const double* x, std::ptrdiff_t stride, std::size_t index, double share) const;
  bool is_equal(const double* x, std::ptrdiff_t stride, std::size_t index) const;

  std::vector<double> row_;
  std::vector<std::int32_t> start_;
  std::vector<Label> label_;
  std::vector<double> weight_;
  Units units_of_;
  std::vector<double> frequency_;
  VoteWeights votes_;
  AlignedVector<float> lanes_;  // [vector of places][column, numbers first][lane], in units
};

}  // namespace ferl
