// Bounds on every firing while a row moves inside a box, which has one interval for each column.
//
// The bounds hold in floating point: memberships, gates and their products are computed by the very operations of the
// walk, each of which rounds monotonically, so the ends of an interval bound the computed values, not only the real
// ones.
#pragma once

#include <vector>

#include "core/tree.h"
#include "core/types.h"

namespace ferl {

struct Interval {
  double low = 0, high = 0;
};

// A value that moves by up to radius * scale, rounded outward: neither the reach nor the ends round towards the value.
// It stays where the scale is 0 or the value is missing; a caller gives categories a scale of 0.
Interval moved(double value, double radius, double scale);

// Between which bounds a membership and a gate lie over an interval, whose ends may be infinite.
Interval bound(const Trapezoid& membership, Interval x);
Interval bound(const Gate& gate, Interval x);

// The nodes that some row of a box reaches, in pre-order, with bounds on their memberships, gates and firings.
class BoxWalk {
 public:
  explicit BoxWalk(const Tree& tree)
      : membership(tree.size()), gate(tree.size()), firing(tree.size()), tree_(tree), clip_(tree.max_depth + 1) {}

  // The box of a radius around a row; scale: [column], the unit of each column, not read where the radius is 0.
  void set_box(const MatrixView& x, std::size_t row, double radius, const double* scale);
  void set_interval(Column column, Interval interval) { box_[column] = interval; }
  void run(bool gated);

  std::vector<std::size_t> reached;
  bool all_open = true;                            // no gate withholds anything in the box
  std::vector<Interval> membership, gate, firing;  // [node]; of reached nodes, and the siblings of such

 private:
  struct Clip {
    Column column = 0;
    Interval before;
  };

  void enter(std::size_t o, const Node& node, bool gated);

  const Tree& tree_;
  std::vector<Interval> box_;  // [column]
  std::vector<Clip> clip_;     // [depth], to undo the cuts of a path
};

}  // namespace ferl
