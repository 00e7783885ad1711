#include "read/certify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/parallel.h"

namespace ferl {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

struct Interval {
  double low = 0, high = 0;
};

// A side of a trapezoid at one value; unlike in the walk, the value may be infinite.
double side_at(const Side& side, double distance) {
  return side.slope == 0 ? side.base : clip01(side.base + distance * side.slope);
}

// The rising side never falls and the falling side never rises, so each is extreme at an end of the interval.
Interval bound(const Trapezoid& membership, Interval x) {
  const Side &rise = membership.rise, &fall = membership.fall;
  return {std::min(side_at(rise, x.low - rise.start), side_at(fall, fall.start - x.high)),
          std::min(side_at(rise, x.high - rise.start), side_at(fall, fall.start - x.low))};
}

Interval bound(const Gate& gate, Interval x) {
  if (gate.slope == 0) return {1, 1};
  return {clip01(1.0 - std::max(gate.low - x.low, x.high - gate.high) * gate.slope),
          std::min(clip01(1.0 - (gate.low - x.high) * gate.slope), clip01(1.0 - (x.low - gate.high) * gate.slope))};
}

bool same(const Gate& one, const Gate& other) {
  return one.low == other.low && one.high == other.high && one.slope == other.slope;
}

// Whether a node and its next sibling are the two sides of one band, so that their memberships sum to one.
bool begins_split(const Tree& tree, std::size_t o) {
  const Node &left = tree.nodes[o], &parent = tree.nodes[left.parent];
  if (o != left.parent + 1 || left.end == parent.end || tree.nodes[left.end].end != parent.end) return false;
  const Node& right = tree.nodes[left.end];
  const Side &down = left.membership.fall, &up = right.membership.rise;
  return left.column == right.column && left.membership.rise.slope == 0 && right.membership.fall.slope == 0 &&
         down.slope == up.slope && std::abs((down.start - up.start) * up.slope - 1) <= 8 * kEpsilon &&
         same(left.gate, right.gate);
}

// The nodes that some row of a box reaches, in pre-order, with bounds on their memberships, gates and firings.
class BoxWalk {
 public:
  explicit BoxWalk(const Tree& tree)
      : tree_(tree), membership(tree.size()), gate(tree.size()), firing(tree.size()), clip_(tree.max_depth + 1) {}

  void run(const MatrixView& x, std::size_t row, double radius, const double* scale, bool gated) {
    set_box(x, row, radius, scale);
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

 private:
  struct Clip {
    Column column = 0;
    Interval before;
  };

  void set_box(const MatrixView& x, std::size_t row, double radius, const double* scale) {
    box_.resize(x.n_columns);
    for (std::size_t f = 0; f < x.n_columns; ++f) {
      const double value = x(row, f);
      box_[f] = {value, value};
      if (scale[f] == 0 || radius == 0 || is_missing(value)) continue;  // a caller gives categories a scale of 0
      // Outward: neither the reach nor the ends may round towards the row, nor may a caller's distance.
      const double reach = radius * scale[f] * (1 + 4 * kEpsilon) + std::numeric_limits<double>::denorm_min();
      box_[f] = {std::nextafter(value - reach, -kInfinity), std::nextafter(value + reach, kInfinity)};
    }
  }

  // Below a node the box is cut down to where the node fires at all: elsewhere whatever is below it counts nothing.
  // Lower bounds stay true, because a box that is cut has a firing of zero in it.
  void enter(std::size_t o, const Node& node, bool gated) {
    Interval& side = box_[node.column];
    clip_[node.depth] = {node.column, side};
    const bool is_fixed = node.is_categorical() || is_missing(side.low);
    membership[o] = is_fixed ? Interval{node.fits(side.low), node.fits(side.low)} : bound(node.membership, side);
    if (!gated) gate[o] = {1, 1};
    else gate[o] = is_fixed ? Interval{node.opens(side.low), node.opens(side.low)} : bound(node.gate, side);
    const Interval above = firing[node.parent];
    firing[o] = {above.low * membership[o].low * gate[o].low, above.high * membership[o].high * gate[o].high};
    if (firing[o].high > 0) reached.push_back(o);
    all_open = all_open && (gate[o].low == 1 || membership[o].high == 0);
    if (is_fixed) return;
    if (node.membership.rise.slope > 0) side.low = std::max(side.low, node.membership.rise.start);
    if (node.membership.fall.slope > 0) side.high = std::min(side.high, node.membership.fall.start);
  }

  const Tree& tree_;
  std::vector<Interval> box_;  // [feature]

 public:
  std::vector<std::size_t> reached;
  bool all_open = true;  // no gate withholds anything in the box
  std::vector<Interval> membership, gate, firing;  // [node]; of reached nodes, and the siblings of such

 private:
  std::vector<Clip> clip_;  // [depth], to undo the cuts of a path
};

// The largest radius that `holds`, from below and to 9 digits. What holds for a box holds for every smaller one, so any
// radius that was tried with success is a right answer. The exponent is searched first, so that no unit needs a guess.
template <class Holds>
double largest_radius(double limit, const Holds& holds) {
  constexpr int kLeast = -1075, kBits = 30;
  if (holds(limit)) return limit;
  int low = kLeast, high = std::isfinite(limit) ? std::ilogb(limit) + 1 : 1024;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (holds(std::ldexp(1.0, middle)) ? low : high) = middle;
  }
  if (low == kLeast) return 0;
  double radius = std::ldexp(1.0, low);
  for (int bit = 1; bit <= kBits; ++bit) {
    const double larger = radius + std::ldexp(1.0, low - bit);
    if (larger > radius && larger < limit && holds(larger)) radius = larger;
  }
  return radius;
}

// A linear function of a source's discounted firing.
struct Line {
  double slope = 0, base = 0;
};

// Whether one class stays ahead of another over a box, row by row.
//
// The vote is linear in the firings. A node passes on to its parent the least of (membership x gate x what is below
// it), and the two sides of a band, whose memberships sum to one, are taken together: this shares every condition
// among all leaves below it.
//
// Under Dempster's rule the advantage is the sum over the sources of log[(1 - s + s p(c)) / (1 - s + s p(j))], where s
// is the source's firing times its reliability. Each term is monotone in s: the sum of the terms at their worse ends is
// a bound. Others share conditions as above: terms in favour of c are convex in s, so that any tangent lies below;
// terms against it are concave, so that the chord does. One of the bounds must be positive.
class Judge {
 public:
  explicit Judge(const Certified& model) : model_(model), walk_(model.tree), below_(model.tree.size()) {
    for (std::size_t o = 1; o < model.tree.size(); ++o) begins_split_.push_back(begins_split(model.tree, o));
  }

  double radius(const MatrixView& x, std::size_t row, Label label) {
    walk_.run(x, row, 0, model_.scale, model_.sources.gated);
    centre_.assign(model_.tree.size(), 0.0);
    for (const std::size_t o : walk_.reached) centre_[o] = walk_.firing[o].low;
    double radius = kInfinity;
    for (Label other = 0; other < model_.sources.n_classes && radius > 0; ++other) {
      if (other == label) continue;
      radius = largest_radius(radius, [&](double r) {
        walk_.run(x, row, r, model_.scale, model_.sources.gated);
        return stays_ahead(label, other);
      });
    }
    return radius;
  }

 private:
  bool is_source(std::size_t o) const { return model_.sources.is_source[o] != 0; }
  double p(std::size_t o, Label c) const { return model_.sources.consequent[o * model_.sources.n_classes + c]; }

  bool stays_ahead(Label c, Label j) {
    n_sources_ = 0;
    for (const std::size_t o : walk_.reached) n_sources_ += is_source(o);
    if (model_.sources.rule == Rule::vote) return ahead_in_vote(c, j);
    // Where to put the tangents: at the row's own firing, or closer to the least in the box. None is best everywhere;
    // with all three instead of the first alone the median radius on wine went from 0.26 to 0.48.
    return ahead_termwise(c, j) || ahead_by_lines(c, j, 1.0) || ahead_by_lines(c, j, 0.5) ||
           ahead_by_lines(c, j, 0.25);
  }

  // Prediction computes probabilities in which the advantage is divided by at most `spread` and which it rounds
  // n_sources + n_classes times or so; then bounds are sums of terms of a total magnitude, rounded once per level.
  double tolerance(double spread, double magnitude) const {
    const double n_roundings = n_sources_ + model_.sources.n_classes + model_.tree.max_depth + 8.0;
    return 16 * kEpsilon * n_roundings * (spread + magnitude);
  }

  bool ahead_in_vote(Label c, Label j) {
    double total = 1;
    for (const std::size_t o : walk_.reached) {
      below_[o] = is_source(o) ? model_.sources.reliability[o] * (p(o, c) - p(o, j)) : 0;
      if (is_source(o)) total += walk_.firing[o].high;
    }
    return least() > tolerance(total, total);
  }

  bool ahead_termwise(Label c, Label j) const {
    double sum = 0, magnitude = 0;
    for (const std::size_t o : walk_.reached) {
      if (!is_source(o)) continue;
      const double phi = p(o, c) > p(o, j) ? walk_.firing[o].low : walk_.firing[o].high;
      const double value = advantage(phi * model_.sources.reliability[o], p(o, c), p(o, j));
      sum += value;
      magnitude += std::abs(value);
    }
    // An infinite advantage: some source that fires fully excludes j, and none excludes c.
    return sum == kInfinity || sum > tolerance(model_.sources.n_classes, magnitude);
  }

  bool ahead_by_lines(Label c, Label j, double share) {
    double base = 0, magnitude = 0;
    for (const std::size_t o : walk_.reached) {
      below_[o] = 0;
      if (!is_source(o)) continue;
      const Line line = below_advantage(o, p(o, c), p(o, j), share);
      below_[o] = line.slope * model_.sources.reliability[o];
      base += line.base;
      magnitude += std::abs(line.slope) + std::abs(line.base);
    }
    return base + least() > tolerance(model_.sources.n_classes, magnitude);
  }

  static double advantage(double s, double own, double others) {
    const double kept = (1 - s) + s * own;
    if (!(kept > 0)) return -kInfinity;
    return s > 0 ? std::log(kept / ((1 - s) + s * others)) : 0.0;
  }

  Line below_advantage(std::size_t o, double own, double others, double share) const {
    const double believed = model_.sources.reliability[o];
    const double low = walk_.firing[o].low * believed, high = walk_.firing[o].high * believed;
    const double at_low = advantage(low, own, others);
    Line line{0, std::min(at_low, advantage(high, own, others))};
    if (own > others) {
      const double s = low + share * (centre_[o] * believed - low);
      const double slope = (own - others) / (((1 - s) + s * own) * ((1 - s) + s * others));
      if (slope < 1e6) line = {slope, advantage(s, own, others) - slope * s};
    } else if (high > low && std::isfinite(line.base)) {
      const double slope = (line.base - at_low) / (high - low);
      line = {slope, at_low - slope * low};
    }
    return line;
  }

  // The least that the linear functions of the firings in below_ sum to over the box; from the leaves up.
  double least() {
    const Tree& tree = model_.tree;
    for (std::size_t i = walk_.reached.size(); i-- > 1;) {
      const std::size_t o = walk_.reached[i], parent = tree.nodes[o].parent, first = parent + 1;
      if (!begins_split_[first - 1]) {
        below_[parent] += least_product(walk_.gate[o], least_product(walk_.membership[o], below_[o]));
      } else if (o == first || !(walk_.firing[first].high > 0)) {
        below_[parent] += least_product(walk_.gate[o], least_of_split(first));
      }
    }
    return below_[0];
  }

  // Of mu x left + (1 - mu) x right, at an end of the interval of mu. A side that no row reaches counts nothing.
  double least_of_split(std::size_t left) const {
    const std::size_t right = model_.tree.nodes[left].end;
    const double on_left = walk_.firing[left].high > 0 ? below_[left] : 0;
    const double on_right = walk_.firing[right].high > 0 ? below_[right] : 0;
    const Interval mu = walk_.membership[left], rest = walk_.membership[right];
    return std::min(mu.low * on_left + rest.high * on_right, mu.high * on_left + rest.low * on_right);
  }

  static double least_product(Interval factor, double value) {
    return value < 0 ? factor.high * value : factor.low * value;
  }

  const Certified& model_;
  BoxWalk walk_;
  std::vector<double> centre_;      // [node] firing at the row itself
  std::vector<double> below_;       // [node] least sum of what is at and below it, per unit of its firing
  std::vector<bool> begins_split_;  // [node - 1]
  double n_sources_ = 0;
};

// Calls read(row) for every row; make() gives each task its own reader and scratch memory.
template <class Make>
void over_rows(std::size_t n_rows, int n_threads, const Make& make) {
  constexpr std::size_t kRowsPerTask = 16;
  auto task = [&](std::size_t t) {
    auto read = make();
    for (std::size_t i = t * kRowsPerTask; i < std::min((t + 1) * kRowsPerTask, n_rows); ++i) read(i);
  };
  parallel_for((n_rows + kRowsPerTask - 1) / kRowsPerTask, n_threads, task, [] {});
}

}  // namespace

void bound_firings(const Tree& tree, const MatrixView& x, double radius, const double* scale, bool gated,
                   int n_threads, double* low, double* high) {
  over_rows(x.n_rows, n_threads, [&] {
    return [&, walk = BoxWalk(tree)](std::size_t i) mutable {
      walk.run(x, i, radius, scale, gated);
      for (const std::size_t o : walk.reached) {
        low[i * tree.size() + o] = walk.firing[o].low;
        high[i * tree.size() + o] = walk.firing[o].high;
      }
    };
  });
}

void certified_radius(const Certified& model, const MatrixView& x, const Label* label, int n_threads, double* radius) {
  if (model.tree.size() == 1) {  // the same answer everywhere, even when classes tie
    std::fill_n(radius, x.n_rows, kInfinity);
    return;
  }
  over_rows(x.n_rows, n_threads, [&] {
    return [&, judge = Judge(model)](std::size_t i) mutable { radius[i] = judge.radius(x, i, label[i]); };
  });
}

void open_radius(const Tree& tree, const MatrixView& x, const double* scale, int n_threads, double* radius) {
  over_rows(x.n_rows, n_threads, [&] {
    return [&, walk = BoxWalk(tree)](std::size_t i) mutable {
      radius[i] = largest_radius(kInfinity, [&](double r) {
        walk.run(x, i, r, scale, true);
        return walk.all_open;
      });
    };
  });
}

}  // namespace ferl
