// What the search for other labels asks about a row while one of its values moves; see nearest_flip.h.
#pragma once

#include <array>
#include <vector>

#include "core/types.h"
#include "proofs/box_walk.h"

namespace ferl {

// Where the answers bend while a column moves.
struct Corners {
  std::vector<double> at;
  double reach = 0;      // of the widest gate
  bool matters = false;  // whether the column decides anything at all
};

// Adds the values where a membership and a gate bend.
void add_bends(const Trapezoid& membership, std::vector<double>& at);
void add_bends(const Gate& gate, std::vector<double>& at);

class RowProof {
 public:
  virtual ~RowProof() = default;

  virtual Corners corners(Column column) = 0;
  // Whether the row's label is proven to stay, rounding included, while the column has any value of the interval.
  virtual bool keeps_label(Column column, Interval values) = 0;
  // Whether proofs about long intervals are as good as those about their parts.
  virtual bool proves_long_intervals() const { return false; }
  // What prediction answers at one value.
  virtual Label label_at(Column column, double value) = 0;
  // Where between two values, with no corner between them, the label first changes: proofs may reach up to the first of
  // the two values returned, and prediction should have another label at the second. NaN: not known. A hint, no proof.
  virtual std::array<double, 2> crossing(Column /*column*/, double /*near*/, double /*far*/) { return {kNaN, kNaN}; }
};

}  // namespace ferl
