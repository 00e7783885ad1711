#include "rules/score_proof.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "proofs/certify.h"
#include "proofs/radius_search.h"

namespace ferl {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Probabilities that differ by less may be computed as equal.
constexpr double kLeastLead = 64 * kEpsilon;
constexpr std::size_t kSweeps = 2;  // of the search for a row that is behind

bool has_finite_slope(const Side& side) { return side.slope > 0 && std::isfinite(side.slope); }

// The steepest side; what is upright bends at two neighbouring numbers, and no value lies between them.
double steepest(const Trapezoid& membership) {
  double slope = 0;
  for (const Side& side : {membership.rise, membership.fall})
    if (has_finite_slope(side)) slope = std::max(slope, side.slope);
  return slope;
}

}  // namespace

ScoreProof::ScoreProof(const Tree& tree, const RuleWeights& weights, const Supports& supports)
    : tree_(tree), weights_(weights), supports_(supports), rules_(weights.size.size()) {
  const auto& base = weights.base;
  most_frequent_ = static_cast<Label>(std::max_element(base.begin(), base.end()) - base.begin());
  for (std::size_t o = 0; o < tree.size(); ++o)
    if (weights.rule_of[o] >= 0) add_rule(static_cast<std::size_t>(weights.rule_of[o]), o);
  for (std::size_t k = 0; k < supports.n_fading; ++k) gated_axis_.push_back(axis_of(supports.column[k]));
  for (std::size_t k = 0; k < weights.curves.inputs.size(); ++k) {
    input_axis_.push_back(axis_of(weights.curves.inputs[k].column));
    Axis& axis = axes_[input_axis_.back()];
    axis.input = k;
    axis.is_categorical = axis.is_categorical || weights.curves.inputs[k].n_categories > 0;
  }
  for (Axis& axis : axes_) find_corners(axis);
  find_tolerances();
}

void ScoreProof::add_rule(std::size_t rule, std::size_t node) {
  Conditions& own = rules_[rule];
  for (std::size_t o = node; o > 0; o = tree_.nodes[o].parent) {
    const std::size_t a = axis_of(tree_.nodes[o].column);
    Axis& axis = axes_[a];
    own.has_repeats = own.has_repeats || (!axis.rules.empty() && axis.rules.back() == rule);
    own.factors.push_back({a, axis.nodes.size()});
    axis.nodes.push_back(o);
    axis.rules.push_back(rule);
    axis.is_categorical = axis.is_categorical || tree_.nodes[o].is_categorical();
  }
  std::sort(own.factors.begin(), own.factors.end(), [](Factor a, Factor b) { return a.axis < b.axis; });
}

std::size_t ScoreProof::axis_of(Column column) {
  for (std::size_t a = 0; a < axes_.size(); ++a)
    if (axes_[a].column == column) return a;
  axes_.emplace_back();
  axes_.back().column = column;
  return axes_.size() - 1;
}

void ScoreProof::find_corners(Axis& axis) const {
  for (const std::size_t o : axis.nodes) {
    const Trapezoid& membership = tree_.nodes[o].membership;
    add_bends(membership, axis.corners);
    for (const Side& side : {membership.rise, membership.fall})
      if (has_finite_slope(side))
        axis.blur = std::max(axis.blur, 4 * kEpsilon * (std::abs(side.start) + 1 / side.slope));
  }
  if (axis.input != kNoInput)  // the cell of a cut ends at it, the next one begins at the next number
    for (const double cut : weights_.curves.inputs[axis.input].cuts)
      axis.corners.insert(axis.corners.end(), {cut, std::nextafter(cut, kInfinity)});
  std::erase_if(axis.corners, [](double corner) { return !std::isfinite(corner); });
  std::sort(axis.corners.begin(), axis.corners.end());
  axis.corners.erase(std::unique(axis.corners.begin(), axis.corners.end()), axis.corners.end());
  for (const double corner : axis.corners)
    for (const std::size_t o : axis.nodes) axis.at_corners.push_back(tree_.nodes[o].fits(corner));
  if (axis.input == kNoInput) return;
  for (const double corner : axis.corners) axis.corner_bins.push_back(weights_.curves.inputs[axis.input].bin(corner));
}

void ScoreProof::find_tolerances() {
  const auto n_classes = static_cast<std::size_t>(weights_.n_classes);
  const CurvesAndMaps& curves = weights_.curves;
  const double n_roundings = static_cast<double>(rules_.size() + curves.terms.size() + n_classes + tree_.max_depth + 8);
  for (std::size_t c = 0; c < n_classes; ++c) {
    double size = std::abs(weights_.prior[c]), blurred = 0;
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      const double weight = std::abs(weights_.weight[r * n_classes + c]);
      size += weight;
      for (const Factor factor : rules_[r].factors) {
        const Axis& axis = axes_[factor.axis];
        blurred += weight * steepest(tree_.nodes[axis.nodes[factor.condition]].membership) * axis.blur;
      }
    }
    for (const CurvesAndMaps::Term& term : curves.terms) {
      double most = 0;
      for (std::uint32_t k = 0; k < term.n_cells; ++k)
        most = std::max(most, std::abs(curves.values(term.first_cell + k)[c]));
      size += most;
    }
    // Sums of larger weights, or their differences, might overflow: nothing is proven.
    tolerance_.push_back(size < 1e300 ? 2 * blurred + 16 * kEpsilon * n_roundings * size : kInfinity);
  }
}

void ScoreProof::stand_at(const MatrixView& x, std::size_t row, Label label) {
  row_.resize(x.n_columns);
  for (std::size_t f = 0; f < x.n_columns; ++f) row_[f] = x(row, f);
  label_ = label;
  for (Axis& axis : axes_) move(axis, {row_[axis.column], row_[axis.column]});
  settle();
  row_score_ = still_;
  line_.column = -1;
}

std::vector<Label> ScoreProof::others() const {
  std::vector<Label> found;
  for (Label other = 0; other < weights_.n_classes; ++other)
    if (other != label_) found.push_back(other);
  std::stable_sort(found.begin(), found.end(), [&](Label a, Label b) { return row_score_[a] > row_score_[b]; });
  return found;
}

void ScoreProof::set_box(double radius, const double* scale) {
  for (Axis& axis : axes_)
    if (!axis.is_categorical) move(axis, moved(row_[axis.column], radius, scale[axis.column]));
  settle();
}

// Corners that change no membership are left out.
void ScoreProof::move(Axis& axis, Interval interval) {
  axis.interval = interval;
  const std::size_t n = axis.nodes.size();
  const auto first = std::upper_bound(axis.corners.begin(), axis.corners.end(), interval.low);
  const auto last = std::lower_bound(first, axis.corners.end(), interval.high);
  axis.n_points = 0;
  axis.is_still = true;
  std::vector<double>& said = said_;  // [point][condition]
  said.resize(n * static_cast<std::size_t>(last - first + 2));
  axis.bins.clear();
  const auto bin_of = [&](double x) { return axis.input == kNoInput ? 0 : weights_.curves.inputs[axis.input].bin(x); };
  // Keeps the point that was written after the others, unless it equals the last one.
  auto keep_point = [&](Bin bin) {
    const double* point = said.data() + axis.n_points * n;
    if (axis.n_points > 0 && axis.bins.back() == bin && std::equal(point, point + n, point - n)) return;
    ++axis.n_points;
    axis.bins.push_back(bin);
  };
  auto add_point = [&](double x) {
    for (std::size_t i = 0; i < n; ++i) {
      const Node& node = tree_.nodes[axis.nodes[i]];
      said[axis.n_points * n + i] = std::isinf(x) ? bound(node.membership, {x, x}).low : node.fits(x);
    }
    keep_point(bin_of(x));
  };
  add_point(interval.low);
  if (interval.low < interval.high) {
    for (auto corner = first; corner < last; ++corner) {
      const auto k = static_cast<std::size_t>(corner - axis.corners.begin());
      std::copy_n(axis.at_corners.data() + k * n, n, said.data() + axis.n_points * n);
      keep_point(axis.corner_bins.empty() ? 0 : axis.corner_bins[k]);
    }
    add_point(interval.high);
    axis.is_still = axis.bins.front() == axis.bins.back();
    for (const std::size_t o : axis.nodes) {
      const Interval said_by = bound(tree_.nodes[o].membership, interval);
      axis.is_still = axis.is_still && said_by.low == said_by.high;
    }
  }
  axis.membership.resize(n * axis.n_points);
  for (std::size_t k = 0; k < axis.n_points; ++k)
    for (std::size_t i = 0; i < n; ++i) axis.membership[i * axis.n_points + k] = said[k * n + i];
}

// What the proofs about all other classes share.
void ScoreProof::settle() {
  support_ = support();
  moving_.clear();
  for (std::size_t a = 0; a < axes_.size(); ++a)
    if (axes_[a].n_points > 1) moving_.push_back(a);
  n_moving_rules_ = 0;
  still_ = weights_.prior;
  for (std::size_t r = 0; r < rules_.size(); ++r) settle_rule(r);
  moving_curves_.clear();
  for (const CurvesAndMaps::Term& term : weights_.curves.terms) settle_curve(term);
  if (asking_.size() < moving_.size()) asking_.resize(moving_.size());
  for (auto& own : asking_) own.clear();
  for (std::size_t r = 0; r < n_moving_rules_; ++r) {
    const MovingRule& own = moving_rules_[r];
    for (std::size_t i = 0; i < own.axis.size(); ++i)
      if (i == 0 || own.axis[i] != own.axis[i - 1]) asking_[own.axis[i]].push_back({r, own.membership[i]});
  }
}

Interval ScoreProof::support() const {
  Interval product{1, 1};
  for (std::size_t k = 0; k < gated_axis_.size(); ++k) {
    const Interval x = axes_[gated_axis_[k]].interval;
    const bool moves = x.low < x.high && supports_.n_categories[k] == 0;
    const double opens = moves ? 0 : supports_.opens(k, x.low);
    const Interval gate = moves ? bound(supports_.gate[k], x) : Interval{opens, opens};
    product = {product.low * gate.low, product.high * gate.high};
  }
  return product;
}

void ScoreProof::settle_rule(std::size_t rule) {
  if (n_moving_rules_ == moving_rules_.size()) moving_rules_.emplace_back();
  MovingRule& own = moving_rules_[n_moving_rules_];
  own.rule = rule, own.still = 1;
  own.axis.clear(), own.membership.clear();
  for (const Factor factor : rules_[rule].factors) {
    if (axes_[factor.axis].n_points == 1) {
      own.still *= *memberships(factor);
    } else {
      const auto at = std::lower_bound(moving_.begin(), moving_.end(), factor.axis);
      own.axis.push_back(static_cast<std::size_t>(at - moving_.begin()));
      own.membership.push_back(memberships(factor));
    }
  }
  if (own.still == 0) return;
  if (!own.axis.empty()) {
    ++n_moving_rules_;
    return;
  }
  for (std::size_t c = 0; c < still_.size(); ++c) still_[c] += own.still * weights_of(rule)[c];
}

void ScoreProof::settle_curve(const CurvesAndMaps::Term& term) {
  MovingCurve own{term.first_cell, {}, {}};
  for (const CurvesAndMaps::Axis& axis : term.axes) {
    const std::size_t a = input_axis_[axis.input];
    const std::vector<Bin>& bins = axes_[a].bins;
    const std::uint32_t first = axis.step[bins.front()];
    if (std::all_of(bins.begin(), bins.end(), [&](Bin bin) { return axis.step[bin] == first; })) {
      own.first_cell += first;
      continue;
    }
    const auto at = std::lower_bound(moving_.begin(), moving_.end(), a);
    own.axis.push_back(static_cast<std::size_t>(at - moving_.begin()));
    own.step.push_back(axis.step.data());
  }
  if (own.axis.empty()) {
    const double* value = weights_.curves.values(own.first_cell);
    for (std::size_t c = 0; c < still_.size(); ++c) still_[c] += value[c];
    return;
  }
  if (own.axis.size() == 2 && own.axis[0] > own.axis[1]) {
    std::swap(own.axis[0], own.axis[1]);
    std::swap(own.step[0], own.step[1]);
  }
  moving_curves_.push_back(std::move(own));
}

// What the i-th moving axis of a curve adds to the number of its cell at a point of the axis.
std::uint32_t ScoreProof::step_at(const MovingCurve& curve, std::size_t i, std::size_t point) const {
  return curve.step[i][axes_[moving_[curve.axis[i]]].bins[point]];
}

double ScoreProof::lead_in(std::uint32_t cell, Label other) const {
  const double* value = weights_.curves.values(cell);
  return value[label_] - value[other];
}

bool ScoreProof::is_still() const {
  return support_.low == support_.high &&
         std::all_of(axes_.begin(), axes_.end(), [](const Axis& axis) { return axis.is_still; });
}

const double* ScoreProof::memberships(Factor factor) const {
  const Axis& axis = axes_[factor.axis];
  return axis.membership.data() + factor.condition * axis.n_points;
}

const double* ScoreProof::weights_of(std::size_t rule) const {
  return weights_.weight.data() + rule * static_cast<std::size_t>(weights_.n_classes);
}

// What the lead of the scores needs beside the tolerance of the weights. Equal scores are the first class's.
double ScoreProof::needed_lead(Label other) const {
  const double rounded =
      base_lead(other) == 0 ? 0.0 : 16 * kEpsilon * (std::abs(weights_.base[label_]) + std::abs(weights_.base[other]));
  return rounded + (other < label_ ? kLeastLead : 0.0);
}

// What the lead of the weights needs, so that the label is ahead wherever in its interval the support is.
double ScoreProof::least_lead(Label other) const {
  return std::max(least_lead(other, support_.low), least_lead(other, support_.high));
}

double ScoreProof::least_lead(Label other, double support) const {
  const double tolerance = tolerance_[label_] + tolerance_[other];
  if (!std::isfinite(tolerance)) return kInfinity;
  const double ahead = (1 - support) * base_lead(other) - needed_lead(other);
  if (support > 0) return tolerance - ahead / support;
  // Without support the class frequencies decide; just before that, the weights decide between equal frequencies.
  return ahead > 0 ? -kInfinity : ahead == 0 ? tolerance : kInfinity;
}

bool ScoreProof::may_stay_ahead(Label other) {
  const double bound = least_lead(other);
  return bound < kInfinity && !is_behind_somewhere(other, bound);
}

bool ScoreProof::stays_ahead(Label other) {
  return may_stay_ahead(other) && advantage(other).exceeds(least_lead(other));
}

// A search that moves one column at a time to where the label is weakest: it detects most boxes that are too large,
// without tables.
bool ScoreProof::is_behind_somewhere(Label other, double bound) {
  const auto rules = moving_rules();
  at_.clear(), ahead_of_.clear();
  for (const std::size_t a : moving_) at_.push_back(axes_[a].n_points / 2);
  for (const MovingRule& own : rules)
    ahead_of_.push_back(own.still * (weights_of(own.rule)[label_] - weights_of(own.rule)[other]));
  auto rest_of = [&](std::size_t rule, std::size_t without) {
    const MovingRule& own = rules[rule];
    double product = ahead_of_[rule];
    for (std::size_t i = 0; i < own.axis.size(); ++i)
      if (own.axis[i] != without) product *= own.membership[i][at_[own.axis[i]]];
    return product;
  };
  const auto lead_of = [&](const MovingCurve& own, std::size_t moved, std::size_t point) {
    std::uint32_t cell = own.first_cell;
    for (std::size_t i = 0; i < own.axis.size(); ++i)
      cell += step_at(own, i, own.axis[i] == moved ? point : at_[own.axis[i]]);
    return lead_in(cell, other);
  };
  for (std::size_t step = 0; step < kSweeps * moving_.size(); ++step) {
    const std::size_t a = step % moving_.size();
    said_.assign(axes_[moving_[a]].n_points, 0.0);
    for (const Asking& asking : asking_[a]) {
      const double rest = rest_of(asking.rule, a);
      for (std::size_t k = 0; k < said_.size(); ++k) said_[k] += rest * asking.membership[k];
    }
    for (const MovingCurve& own : moving_curves_)
      if (std::find(own.axis.begin(), own.axis.end(), a) != own.axis.end())
        for (std::size_t k = 0; k < said_.size(); ++k) said_[k] += lead_of(own, a, k);
    at_[a] = static_cast<std::size_t>(std::min_element(said_.begin(), said_.end()) - said_.begin());
  }
  double sum = still_[label_] - still_[other];
  for (std::size_t r = 0; r < rules.size(); ++r) sum += rest_of(r, moving_.size());
  for (const MovingCurve& own : moving_curves_) sum += lead_of(own, moving_.size(), 0);
  return !(sum > bound);
}

CornerGrid ScoreProof::advantage(Label other) const {
  std::vector<std::size_t> n_points;
  for (const std::size_t a : moving_) n_points.push_back(axes_[a].n_points);
  CornerGrid grid(n_points, still_[label_] - still_[other]);
  for (const MovingRule& own : moving_rules()) {
    const double weight = own.still * (weights_of(own.rule)[label_] - weights_of(own.rule)[other]);
    if (weight == 0) continue;
    if (rules_[own.rule].has_repeats)
      grid.add_least(weight, own.axis, own.membership);
    else
      grid.add(weight, own.axis, own.membership);
  }
  for (const MovingCurve& own : moving_curves_) {
    std::vector<double> table;
    for (std::size_t k = 0; k < n_points[own.axis[0]]; ++k) {
      const std::uint32_t cell = own.first_cell + step_at(own, 0, k);
      if (own.axis.size() == 1) {
        table.push_back(lead_in(cell, other));
      } else {
        for (std::size_t l = 0; l < n_points[own.axis[1]]; ++l)
          table.push_back(lead_in(cell + step_at(own, 1, l), other));
      }
    }
    grid.add_table(own.axis, table);
  }
  return grid;
}

Corners ScoreProof::corners(Column column) {
  Corners found;
  for (const Axis& axis : axes_)
    if (axis.column == column) found.at = axis.corners;
  for (std::size_t k = 0; k < gated_axis_.size(); ++k) {
    if (supports_.column[k] != column || !(supports_.gate[k].slope > 0)) continue;
    add_bends(supports_.gate[k], found.at);
    found.reach = 1 / supports_.gate[k].slope;
  }
  found.matters = !found.at.empty();
  return found;
}

// What stays while a column moves alone. A search needs many intervals of one column.
void ScoreProof::stand_along(Column column) {
  if (line_.column == column) return;
  line_ = {column, axis_of(column), false, 1, {}, weights_.prior, {}, others()};
  const Axis& axis = axes_[line_.axis];
  line_.rest.assign(axis.nodes.size(), 1.0);
  std::vector<char> asks(rules_.size(), 0);
  for (std::size_t i = 0; i < axis.nodes.size(); ++i) {
    asks[axis.rules[i]] = 1;
    line_.has_repeats = line_.has_repeats || rules_[axis.rules[i]].has_repeats;
    for (const Factor factor : rules_[axis.rules[i]].factors)
      if (factor.axis != line_.axis) line_.rest[i] *= *memberships(factor);
  }
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    if (asks[r]) continue;
    double firing = 1;
    for (const Factor factor : rules_[r].factors) firing *= *memberships(factor);
    if (firing == 0) continue;
    for (std::size_t c = 0; c < line_.still.size(); ++c) line_.still[c] += firing * weights_of(r)[c];
  }
  for (const CurvesAndMaps::Term& term : weights_.curves.terms) {
    MovingCurve own{term.first_cell, {}, {}};
    for (const CurvesAndMaps::Axis& along : term.axes)
      if (along.input == axis.input)
        own.step.push_back(along.step.data());
      else
        own.first_cell += along.step[axes_[input_axis_[along.input]].bins.front()];
    if (own.step.empty())
      for (std::size_t c = 0; c < line_.still.size(); ++c) line_.still[c] += weights_.curves.values(own.first_cell)[c];
    else
      line_.curves.push_back(std::move(own));
  }
  for (std::size_t k = 0; k < gated_axis_.size(); ++k)
    if (supports_.column[k] != column) line_.support *= supports_.opens(k, row_[supports_.column[k]]);
}

// What does not move and the curves of the column add to the lead, where the column's value is in a bin.
double ScoreProof::lead_along(Label other, Bin bin) const {
  double lead = line_.still[label_] - line_.still[other];
  for (const MovingCurve& own : line_.curves) lead += lead_in(own.first_cell + own.step[0][bin], other);
  return lead;
}

// As stays_ahead for all classes, where one column moves alone: the least lead is at one of its points.
bool ScoreProof::stays_ahead_along(const Axis& axis) {
  for (const Label other : line_.others) {
    const double bound = least_lead(other);
    if (!(bound < kInfinity)) return false;
    for (std::size_t k = 0; k < axis.n_points; ++k) {
      double lead = lead_along(other, axis.bins[k]);
      for (std::size_t i = 0; i < axis.nodes.size(); ++i) {
        const double* weight = weights_of(axis.rules[i]);
        lead += line_.rest[i] * axis.membership[i * axis.n_points + k] * (weight[label_] - weight[other]);
      }
      if (!(lead > bound)) return false;
    }
  }
  return true;
}

bool ScoreProof::keeps_label(Column column, Interval values) {
  stand_along(column);
  Axis& axis = axes_[line_.axis];
  move(axis, values);
  bool keeps = true;
  if (line_.has_repeats) {
    settle();
    if (!is_still() && !is_silent())
      for (const Label other : line_.others) keeps = keeps && stays_ahead(other);
  } else {
    Interval gate{1, 1};
    for (std::size_t k = 0; k < gated_axis_.size(); ++k)
      if (supports_.column[k] == column && values.low < values.high)
        gate = bound(supports_.gate[k], values);
      else if (supports_.column[k] == column)
        gate = {supports_.opens(k, values.low), supports_.opens(k, values.low)};
    support_ = {line_.support * gate.low, line_.support * gate.high};
    if (!(axis.is_still && support_.low == support_.high) && !is_silent()) keeps = stays_ahead_along(axis);
  }
  move(axis, {row_[column], row_[column]});
  return keeps;
}

// Between corners the lead of the weights is linear, and so is the support. The lead of the scores is linear if one of
// them is constant, as is usual. Returns where the lead falls to twice what a proof needs, and where it falls as far
// below zero, if it does.
std::array<double, 2> ScoreProof::crossing(Column column, double near, double far) {
  stand_along(column);
  if (line_.has_repeats || !std::isfinite(far)) return {kNaN, kNaN};
  const Axis& axis = axes_[line_.axis];
  double support_near = line_.support, support_far = line_.support;
  for (std::size_t k = 0; k < gated_axis_.size(); ++k)
    if (supports_.column[k] == column) support_near *= supports_.opens(k, near), support_far *= supports_.opens(k, far);
  const auto bin_of = [&](double x) { return axis.input == kNoInput ? 0 : weights_.curves.inputs[axis.input].bin(x); };
  double first = far, last = far;
  for (const Label other : line_.others) {
    const double tolerance = std::max(support_near, support_far) * (tolerance_[label_] + tolerance_[other]);
    const double bound = 2 * (tolerance + needed_lead(other));
    double from = lead_along(other, bin_of(near)), to = lead_along(other, bin_of(far));
    for (std::size_t i = 0; i < axis.nodes.size(); ++i) {
      const double* weight = weights_of(axis.rules[i]);
      const double ahead = line_.rest[i] * (weight[label_] - weight[other]);
      from += ahead * tree_.nodes[axis.nodes[i]].fits(near);
      to += ahead * tree_.nodes[axis.nodes[i]].fits(far);
    }
    from = support_near * from + (1 - support_near) * base_lead(other);
    to = support_far * to + (1 - support_far) * base_lead(other);
    if (!(from > bound && to <= bound)) continue;
    const auto at = [&](double lead) { return near + (far - near) * ((from - lead) / (from - to)); };
    if (std::abs(at(bound) - near) < std::abs(first - near)) first = at(bound);
    if (to < -bound && std::abs(at(-bound) - near) < std::abs(last - near)) last = at(-bound);
  }
  return {first, last};
}

// The class of the largest probability, the first of equals.
Label ScoreProof::label_at(Column column, double value) {
  std::vector<double> probability(static_cast<std::size_t>(weights_.n_classes));
  const double before = std::exchange(row_[column], value);
  give_probabilities(tree_, weights_, supports_, row_.data(), probability.data());
  row_[column] = before;
  return static_cast<Label>(std::max_element(probability.begin(), probability.end()) - probability.begin());
}

namespace {

double radius_of_row(ScoreProof& proof, const CertifiedScores& model) {
  double radius = kInfinity;
  for (const Label other : proof.others()) {
    if (!(radius > 0)) break;
    const auto is_trivial = [&](double r) {
      proof.set_box(r, model.scale);
      return proof.is_still() || proof.is_silent();
    };
    radius = largest_radius(
        radius, [&](double r) { return is_trivial(r) || proof.may_stay_ahead(other); },
        [&](double r) { return is_trivial(r) || proof.stays_ahead(other); });
  }
  return radius;
}

}  // namespace

void certified_radius(const CertifiedScores& model, const MatrixView& x, const Label* label, int n_threads,
                      double* radius) {
  over_rows(x.n_rows, n_threads, [&] {
    return [&, proof = ScoreProof(model.tree, model.weights, model.supports)](std::size_t i) mutable {
      proof.stand_at(x, i, label[i]);
      radius[i] = radius_of_row(proof, model);
    };
  });
}

}  // namespace ferl
