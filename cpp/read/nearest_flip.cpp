#include "read/nearest_flip.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferl {

namespace {

constexpr double kFar = 1e300;        // beyond all corners: what holds there holds for larger values too
constexpr int kParts = 8;             // into which a stretch is divided
constexpr int kMostStretches = 10000; // that are judged in one direction
constexpr int kWidenEvery = 96;       // stretches behind a gap in the proof

double spacing(double value) { return std::nextafter(std::abs(value), kInfinity) - std::abs(value); }

// The nearer of two values in a direction.
double nearer(int outward, double one, double other) { return outward * std::min(outward * one, outward * other); }

}  // namespace

FlipSearch::FlipSearch(const Tree& tree, const Sources& sources, const MatrixView& x, Label label)
    : tree_(tree), sources_(sources), label_(label), proof_(tree, sources), belief_(sources.n_classes) {
  for (std::size_t f = 0; f < x.n_columns; ++f) row_.push_back(x(0, f));
  proof_.stand_at(x, 0);
}

std::array<Flip, 2> FlipSearch::along(Column column, double width) {
  column_ = column;
  value_ = row_[column];
  find_corners();
  std::array<Flip, 2> found{{{-kInfinity, -kInfinity}, {kInfinity, kInfinity}}};
  if (matters_) found = {first_flip(-1, width), first_flip(1, width)};
  proof_.box.set_interval(column, {value_, value_});
  return found;
}

// Of all conditions on the column that some value of it can meet.
void FlipSearch::find_corners() {
  corners_.clear();
  reach_ = 0;
  matters_ = false;
  proof_.box.set_interval(column_, {-kInfinity, kInfinity});
  proof_.walk();
  std::size_t end = 0;  // of the last subtree that depends on the column
  for (const std::size_t o : proof_.box.reached) {
    const Node& node = tree_.nodes[o];
    if (node.column == column_) {
      add_corners(node);
      end = std::max(end, node.end);
    }
    matters_ = matters_ || (o < end && sources_.is_source[o]);
  }
}

// Proofs hold wherever corners are; between corners they are tight.
void FlipSearch::add_corners(const Node& node) {
  for (const int outward : {-1, 1}) {
    const Side& side = outward < 0 ? node.membership.rise : node.membership.fall;
    if (side.slope > 0) {
      const bool upright = std::isinf(side.slope);
      const double inner = upright ? std::nextafter(side.start, -outward * kInfinity)
                                   : side.start - outward / side.slope;
      corners_.insert(corners_.end(), {side.start, inner});
    }
  }
  if (!sources_.gated || !(node.gate.slope > 0)) return;
  const double reach = 1 / node.gate.slope;
  corners_.insert(corners_.end(), {node.gate.low - reach, node.gate.low, node.gate.high, node.gate.high + reach});
  reach_ = std::max(reach_, reach);
}

// From the row's value to far away, the nearest last.
std::vector<FlipSearch::Stretch> FlipSearch::stretches(int outward) const {
  std::vector<double> points{value_};
  for (const double corner : corners_)
    if (outward * corner > outward * value_ && std::isfinite(corner)) points.push_back(corner);
  std::sort(points.begin(), points.end(), [=](double a, double b) { return outward * a < outward * b; });
  points.erase(std::unique(points.begin(), points.end()), points.end());
  // The last corner may be rounded to where a gate is not quite closed; a little further out it is.
  const double last = points.back();
  points.push_back(last + outward * 1e-9 * (std::abs(last) + reach_ + std::numeric_limits<double>::min()));
  points.push_back(outward * kFar);
  std::vector<Stretch> found;
  for (std::size_t i = points.size(); i-- > 1;) found.push_back({points[i - 1], points[i]});
  return found;
}

Flip FlipSearch::first_flip(int outward, double width) {
  std::vector<Stretch> open = stretches(outward);
  double flip = outward * kInfinity, gap = flip;  // the nearest other label, and the beginning of what is not proven
  double same = value_;  // has the row's label, and no other label was seen between it and the flip
  const double least_width = width;
  int n_behind = 0;
  for (int n = 0; n < kMostStretches && !open.empty() && outward * open.back().near < outward * flip; ++n) {
    const auto [near, far] = open.back();
    open.pop_back();
    if (keeps_label({near, far})) continue;
    if (outward * far < outward * flip && label_at(far) != label_) flip = far, same = near;
    // Behind the last corner nothing changes: there is nothing to divide.
    if (std::abs(far - near) <= std::max(width, 4 * spacing(far)) || std::abs(far) >= kFar) {
      gap = nearer(outward, gap, near);
    } else {
      for (int part = kParts; part-- > 0;) {
        const double from = near + (far - near) * part / kParts;
        open.push_back({from, part + 1 == kParts ? far : near + (far - near) * (part + 1) / kParts});
      }
    }
    // A tie too close to be proven: what lies behind it is searched, ever more coarsely, not proven.
    if (outward * (flip - gap) > width && ++n_behind % kWidenEvery == 0) width *= 2;
  }
  if (!open.empty()) gap = nearer(outward, gap, open.back().near);
  while (std::isfinite(flip) && std::abs(flip - same) > std::max(least_width, 4 * spacing(flip))) {
    const double middle = same + (flip - same) / 2;
    (label_at(middle) == label_ ? same : flip) = middle;
  }
  return {flip, nearer(outward, gap, flip)};
}

bool FlipSearch::keeps_label(Stretch stretch) {
  const auto [low, high] = std::minmax(stretch.near, stretch.far);
  proof_.box.set_interval(column_, {low, high});
  proof_.walk();
  for (Label other = 0; other < sources_.n_classes; ++other)
    if (other != label_ && !proof_.cannot_overtake(label_, other) && !proof_.stays_ahead(label_, other)) return false;
  return true;
}

// What prediction answers: the class of the largest pignistic probability, the first of equals.
Label FlipSearch::label_at(double value) {
  double ignorance, conflict;
  row_[column_] = value;
  const MatrixView x{row_.data(), 1, row_.size(), static_cast<std::ptrdiff_t>(row_.size()), 1};
  combine_evidence(tree_, sources_, x, 1, {belief_.data(), &ignorance, &conflict});
  row_[column_] = value_;
  for (double& belief : belief_) belief += ignorance / sources_.n_classes;
  return static_cast<Label>(std::max_element(belief_.begin(), belief_.end()) - belief_.begin());
}

}  // namespace ferl
