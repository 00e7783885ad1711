#include "trees/label_proof.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "proofs/certify.h"
#include "proofs/radius_search.h"

namespace ferl {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

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

double advantage(double s, double share, double others) {
  const double kept = (1 - s) + s * share;
  if (!(kept > 0)) return -kInfinity;
  return s > 0 ? std::log(kept / ((1 - s) + s * others)) : 0.0;
}

// Mass on the classes against that on the frame, as prediction computes it.
double ratio_of(double believed) {
  const double capped = std::min(believed, kMostFiring);
  return capped / (1 - capped);
}

double least_product(Interval factor, double value) { return value < 0 ? factor.high * value : factor.low * value; }

}  // namespace

LabelProof::LabelProof(const Tree& tree, const Sources& sources)
    : box(tree), tree_(tree), sources_(sources), below_(tree.size()) {
  for (std::size_t o = 1; o < tree.size(); ++o) begins_split_.push_back(begins_split(tree, o));
}

void LabelProof::stand_at(const MatrixView& x, std::size_t row) {
  box.set_box(x, row, 0, nullptr);
  walk();
  centre_.assign(tree_.size(), 0.0);
  for (const std::size_t o : box.reached) centre_[o] = box.firing[o].low;
}

bool LabelProof::cannot_overtake(Label c, Label j) const {
  if (j < c) return false;
  const bool by_path = sources_.combination == Combination::chain;  // all nodes on the path to a source are heard
  for (const std::size_t end : box.reached) {
    if (!is_source(end)) continue;
    for (std::size_t o = end; o > 0; o = by_path ? tree_.nodes[o].parent : 0)
      if (p(o, j) > p(o, c) && (by_path || believed(o).high > 0)) return false;
  }
  return true;
}

bool LabelProof::stays_ahead(Label c, Label j) {
  n_sources_ = 0;
  for (const std::size_t o : box.reached) n_sources_ += is_source(o);
  if (sources_.combination == Combination::vote) return ahead_in_vote(c, j);
  if (sources_.combination != Combination::dempster) return ahead_in_odds(c, j);
  // Where to put the tangents: at the row's own firing, or closer to the least in the box. None is best everywhere;
  // with all three instead of the first alone the median radius on wine went from 0.26 to 0.48.
  return ahead_termwise(c, j) || ahead_by_lines(c, j, 1.0) || ahead_by_lines(c, j, 0.5) || ahead_by_lines(c, j, 0.25);
}

// What a source's firing is believed to be.
Interval LabelProof::believed(std::size_t o) const {
  return {box.firing[o].low * sources_.reliability[o], box.firing[o].high * sources_.reliability[o]};
}

// Prediction computes probabilities in which the advantage is divided by at most `spread` and which it rounds
// n_sources + n_classes times or so; then bounds are sums of terms of a total magnitude, rounded once per level.
double LabelProof::tolerance(double spread, double magnitude) const {
  const double n_roundings = n_sources_ + sources_.n_classes + tree_.max_depth + 8.0;
  return 16 * kEpsilon * n_roundings * (spread + magnitude);
}

bool LabelProof::ahead_in_vote(Label c, Label j) {
  double total = 1;
  for (const std::size_t o : box.reached) {
    below_[o] = is_source(o) ? sources_.reliability[o] * (p(o, c) - p(o, j)) : 0;
    if (is_source(o)) total += box.firing[o].high;
  }
  return least() > tolerance(total, total);
}

bool LabelProof::ahead_termwise(Label c, Label j) const {
  double sum = 0, magnitude = 0;
  for (const std::size_t o : box.reached) {
    if (!is_source(o)) continue;
    const double phi = p(o, c) > p(o, j) ? box.firing[o].low : box.firing[o].high;
    const double value = advantage(phi * sources_.reliability[o], p(o, c), p(o, j));
    sum += value;
    magnitude += std::abs(value);
  }
  // An infinite advantage: some source that fires fully excludes j, and none excludes c.
  return sum == kInfinity || sum > tolerance(sources_.n_classes, magnitude);
}

bool LabelProof::ahead_by_lines(Label c, Label j, double share) {
  double base = 0, magnitude = 0;
  for (const std::size_t o : box.reached) {
    below_[o] = 0;
    if (!is_source(o)) continue;
    const Line line = below_advantage(o, p(o, c), p(o, j), share);
    below_[o] = line.slope * sources_.reliability[o];
    base += line.base;
    magnitude += std::abs(line.slope) + std::abs(line.base);
  }
  return base + least() > tolerance(sources_.n_classes, magnitude);
}

LabelProof::Line LabelProof::below_advantage(std::size_t o, double label_share, double others, double share) const {
  const auto [low, high] = believed(o);
  if (label_share > others) {
    const double s = low + share * (centre_[o] * sources_.reliability[o] - low);
    const double slope = (label_share - others) / (((1 - s) + s * label_share) * ((1 - s) + s * others));
    if (slope < 1e6) return {slope, advantage(s, label_share, others) - slope * s};
  }
  const double at_low = advantage(low, label_share, others);
  if (high == low) return {0, at_low};
  const double at_high = advantage(high, label_share, others), worse = std::min(at_low, at_high);
  if (label_share > others || !std::isfinite(worse)) return {0, worse};
  const double slope = (worse - at_low) / (high - low);
  return {slope, at_low - slope * low};
}

// The least that the linear functions of the firings in below_ sum to over the box; from the leaves up.
double LabelProof::least() {
  for (std::size_t i = box.reached.size(); i-- > 1;) {
    const std::size_t o = box.reached[i], parent = tree_.nodes[o].parent, first = parent + 1;
    if (!begins_split_[first - 1]) {
      below_[parent] += least_product(box.gate[o], least_product(box.membership[o], below_[o]));
    } else if (o == first || !(box.firing[first].high > 0)) {
      below_[parent] += least_product(box.gate[o], least_of_split(first));
    }
  }
  return below_[0];
}

// The least value of mu x left + (1 - mu) x right, at an end of the interval of mu. A side without rows is ignored.
double LabelProof::least_of_split(std::size_t left) const {
  const std::size_t right = tree_.nodes[left].end;
  const double on_left = box.firing[left].high > 0 ? below_[left] : 0;
  const double on_right = box.firing[right].high > 0 ? below_[right] : 0;
  const Interval mu = box.membership[left], rest = box.membership[right];
  return std::min(mu.low * on_left + rest.high * on_right, mu.high * on_left + rest.low * on_right);
}

bool LabelProof::ahead_in_odds(Label c, Label j) {
  double sum = 0, magnitude = 0;
  if (sources_.combination == Combination::cautious) {
    path_.clear();
    for (const std::size_t o : box.reached)
      if (is_source(o)) path_.push_back(o);
    sum = least_on_path(c, j, 0);
    return sum > tolerance(sources_.n_classes, std::abs(sum));
  }
  for (const std::size_t end : box.reached) {
    if (!is_source(end)) continue;
    path_.clear();
    for (std::size_t o = end; o > 0; o = tree_.nodes[o].parent) path_.push_back(o);
    const double least = least_on_path(c, j, end);
    sum += least;
    magnitude += std::abs(least);
  }
  return sum > tolerance(sources_.n_classes, magnitude);
}

// The least log[(1 + E(c)) / (1 + E(j))], where E is the largest (ratio x p) over the sources of path_.
//
// The source with the largest odds for j has its own odds for c as well; so the advantage is at least as large as for the
// worst single source, with what is certain of E(c). Along the source's ratio this falls, then rises or falls: it is least at
// an end, or where the source's own odds for c reach what is certain.
//
// `end`: where the path ends, whose firing all its nodes have; 0: each has its own.
double LabelProof::least_on_path(Label c, Label j, std::size_t end) const {
  const auto ratios = [&](std::size_t o) -> Interval {
    const Interval firing = box.firing[end > 0 ? end : o];
    return {ratio_of(firing.low * sources_.reliability[o]), ratio_of(firing.high * sources_.reliability[o])};
  };
  double certain = 0;
  for (const std::size_t o : path_) certain = std::max(certain, ratios(o).low * p(o, c));
  double least = path_.empty() ? 1 : kInfinity;
  for (const std::size_t o : path_) {
    const double share_of_c = p(o, c);
    const auto [low, high] = ratios(o);
    const double reached = share_of_c > 0 ? std::clamp(certain / share_of_c, low, high) : high;
    for (const double ratio : {low, reached, high})
      least = std::min(least, (1 + std::max(certain, ratio * share_of_c)) / (1 + ratio * p(o, j)));
  }
  return std::log(least);
}

namespace {

double radius_of_row(LabelProof& proof, const Certified& model, const MatrixView& x, std::size_t row, Label label) {
  proof.stand_at(x, row);
  double radius = kInfinity;
  for (Label other = 0; other < model.sources.n_classes && radius > 0; ++other) {
    if (other == label) continue;
    radius = largest_radius(radius, [&](double r) {
      proof.box.set_box(x, row, r, model.scale);
      proof.walk();
      return proof.stays_ahead(label, other);
    });
  }
  return radius;
}

}  // namespace

void certified_radius(const Certified& model, const MatrixView& x, const Label* label, int n_threads, double* radius) {
  if (model.tree.size() == 1) {  // the same answer everywhere, even when classes tie
    std::fill_n(radius, x.n_rows, kInfinity);
    return;
  }
  over_rows(x.n_rows, n_threads, [&] {
    return [&, proof = LabelProof(model.tree, model.sources)](std::size_t i) mutable {
      radius[i] = radius_of_row(proof, model, x, i, label[i]);
    };
  });
}

}  // namespace ferl
