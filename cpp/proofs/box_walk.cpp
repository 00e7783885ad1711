#include "proofs/box_walk.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferl {

namespace {

// A side of a trapezoid at one value; unlike in the walk, the value may be infinite.
double side_at(const Side& side, double distance) {
  return side.slope == 0 ? side.base : clip01(side.base + distance * side.slope);
}

}  // namespace

Interval moved(double value, double radius, double scale) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  if (radius == 0 || scale == 0 || is_missing(value)) return {value, value};
  const double reach = radius * scale * (1 + 4 * kEpsilon) + std::numeric_limits<double>::denorm_min();
  return {std::nextafter(value - reach, -kInfinity), std::nextafter(value + reach, kInfinity)};
}

// The rising side never falls and the falling side never rises, so each is extreme at an end of the interval.
Interval bound(const Trapezoid& membership, Interval x) {
  const Side &rise = membership.rise, &fall = membership.fall;
  return {std::min(side_at(rise, x.low - rise.start), side_at(fall, fall.start - x.high)),
          std::min(side_at(rise, x.high - rise.start), side_at(fall, fall.start - x.low))};
}

Interval bound(const Gate& gate, Interval x) {
  if (gate.slope == 0)
    return {gate(0.0), gate(0.0)};  // the same at every finite value: open, or closed without a range
  return {clip01(1.0 - std::max(gate.low - x.low, x.high - gate.high) * gate.slope),
          std::min(clip01(1.0 - (gate.low - x.high) * gate.slope), clip01(1.0 - (x.low - gate.high) * gate.slope))};
}

void BoxWalk::set_box(const MatrixView& x, std::size_t row, double radius, const double* scale) {
  box_.resize(x.n_columns);
  for (std::size_t f = 0; f < x.n_columns; ++f) box_[f] = moved(x(row, f), radius, radius == 0 ? 0 : scale[f]);
}

void BoxWalk::run(bool gated) {
  reached.assign(1, 0);
  all_open = true;
  firing[0] = {1, 1};
  std::size_t depth = 0;
  for (std::size_t o = 1; o < tree_.size();) {
    const Node& node = tree_.nodes[o];
    for (; depth >= node.depth; --depth) box_[clip_[depth].column] = clip_[depth].before;
    depth = node.depth;
    enter(o, node, gated);
    o = firing[o].high > 0 ? o + 1 : node.end;
  }
  for (; depth > 0; --depth) box_[clip_[depth].column] = clip_[depth].before;
}

// Below a node the box is cut down to where the node fires at all: elsewhere whatever is below it counts nothing.
// Lower bounds stay true, because a box that is cut has a firing of zero in it.
void BoxWalk::enter(std::size_t o, const Node& node, bool gated) {
  Interval& side = box_[node.column];
  clip_[node.depth] = {node.column, side};
  const bool is_fixed = node.is_categorical() || is_missing(side.low);
  membership[o] = is_fixed ? Interval{node.fits(side.low), node.fits(side.low)} : bound(node.membership, side);
  if (!gated)
    gate[o] = {1, 1};
  else
    gate[o] = is_fixed ? Interval{node.opens(side.low), node.opens(side.low)} : bound(node.gate, side);
  const Interval above = firing[node.parent];
  firing[o] = {above.low * membership[o].low * gate[o].low, above.high * membership[o].high * gate[o].high};
  if (firing[o].high > 0) reached.push_back(o);
  all_open = all_open && (gate[o].low == 1 || membership[o].high == 0);
  if (is_fixed) return;
  if (node.membership.rise.slope > 0) side.low = std::max(side.low, node.membership.rise.start);
  if (node.membership.fall.slope > 0) side.high = std::min(side.high, node.membership.fall.start);
}

}  // namespace ferl
