// The nearest values of one column that alter a row's label: found on the model, proven from below.
//
// Moving away from the row's value, intervals on which the label provably stays are passed over; the others are divided
// until the first value with another label stands next to a proven interval.
#pragma once

#include <array>
#include <vector>

#include "core/types.h"
#include "proofs/row_proof.h"

namespace ferl {

// What is found in one direction.
struct Flip {
  double at;      // the nearest value with another label; infinite: none was found
  double proven;  // the label provably stays up to here; infinite: everywhere
};

class FlipSearch {
 public:
  FlipSearch(RowProof& row, Label label) : row_(row), label_(label) {}

  // Below and above the row's value in a column of numbers. Intervals of this width are not divided.
  std::array<Flip, 2> along(Column column, double value, double width);

 private:
  struct Stretch {
    double near, far;       // from the row's value
    bool is_whole = false;  // from a corner to the next one
  };

  std::vector<Stretch> stretches(int outward) const;
  void pass_over_proven(std::vector<Stretch>& open);
  Flip first_flip(int outward, double width);
  bool keeps_label(Stretch stretch);
  Label label_at(double value) { return row_.label_at(column_, value); }

  RowProof& row_;
  Label label_;

  Column column_ = 0;  // that moves
  double value_ = 0;   // of the row, in it
  Corners corners_;
};

}  // namespace ferl
