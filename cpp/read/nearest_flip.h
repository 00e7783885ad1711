// The nearest values of one column that alter a row's label: found on the tree, proven from below.
//
// Moving away from the row's value, intervals on which the label provably stays are passed over; the others are divided
// until the first value with another label stands next to a proven interval.
#pragma once

#include <array>
#include <vector>

#include "core/tree.h"
#include "core/types.h"
#include "read/evidence.h"
#include "read/label_proof.h"

namespace ferl {

// What is found in one direction.
struct Flip {
  double at;      // the nearest value with another label; infinite: none was found
  double proven;  // the label provably stays up to here; infinite: everywhere
};

class FlipSearch {
 public:
  // The first row of x is the row, and `label` its label.
  FlipSearch(const Tree& tree, const Sources& sources, const MatrixView& x, Label label);

  // Below and above the row's value in a column of numbers. Intervals of this width are not divided.
  std::array<Flip, 2> along(Column column, double width);

 private:
  struct Stretch {
    double near, far;  // from the row's value
  };

  void find_corners();
  void add_corners(const Node& node);
  std::vector<Stretch> stretches(int outward) const;
  Flip first_flip(int outward, double width);
  bool keeps_label(Stretch stretch);
  Label label_at(double value);

  const Tree& tree_;
  const Sources& sources_;
  std::vector<double> row_;
  Label label_;
  LabelProof proof_;
  std::vector<double> belief_;  // [class]

  Column column_ = 0;            // that moves
  double value_ = 0;             // of the row, in it
  bool matters_ = false;         // whether it decides how strongly any source fires
  std::vector<double> corners_;  // where memberships and gates bend
  double reach_ = 0;             // of the widest gate
};

}  // namespace ferl
