#include "proofs/nearest_flip.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferl {

namespace {

constexpr double kFar = 1e300;         // beyond all corners: what holds there holds for larger values too
constexpr int kParts = 8;              // into which a stretch is divided
constexpr int kMostStretches = 10000;  // that are judged in one direction
constexpr int kWidenEvery = 96;        // stretches behind a gap in the proof

double spacing(double value) { return std::nextafter(std::abs(value), kInfinity) - std::abs(value); }

// The nearer of two values in a direction.
double nearer(int outward, double one, double other) { return outward * std::min(outward * one, outward * other); }

}  // namespace

std::array<Flip, 2> FlipSearch::along(Column column, double value, double width) {
  column_ = column;
  value_ = value;
  corners_ = row_.corners(column);
  if (!corners_.matters) return {{{-kInfinity, -kInfinity}, {kInfinity, kInfinity}}};
  return {first_flip(-1, width), first_flip(1, width)};
}

// From the row's value to far away, the nearest last.
std::vector<FlipSearch::Stretch> FlipSearch::stretches(int outward) const {
  std::vector<double> points{value_};
  for (const double corner : corners_.at)
    if (outward * corner > outward * value_ && std::isfinite(corner)) points.push_back(corner);
  std::sort(points.begin(), points.end(), [=](double a, double b) { return outward * a < outward * b; });
  points.erase(std::unique(points.begin(), points.end()), points.end());
  // The last corner may be rounded to where a gate is not quite closed; a little further out it is.
  const double last = points.back();
  points.push_back(last + outward * 1e-9 * (std::abs(last) + corners_.reach + std::numeric_limits<double>::min()));
  points.push_back(outward * kFar);
  std::vector<Stretch> stretches;
  for (std::size_t i = points.size(); i-- > 1;) stretches.push_back({points[i - 1], points[i], true});
  return stretches;
}

// Removes the nearest stretches that one proof covers; a bisection finds their number.
void FlipSearch::pass_over_proven(std::vector<Stretch>& open) {
  std::size_t n_proven = 0, n_tried = open.size();
  while (n_proven < n_tried) {
    const std::size_t n = n_tried == open.size() ? n_tried : n_proven + (n_tried - n_proven + 1) / 2;
    if (keeps_label({value_, open[open.size() - n].far}))
      n_proven = n;
    else
      n_tried = n - 1;
  }
  open.resize(open.size() - n_proven);
}

Flip FlipSearch::first_flip(int outward, double width) {
  std::vector<Stretch> open = stretches(outward);
  if (row_.proves_long_intervals()) pass_over_proven(open);
  double flip = outward * kInfinity, gap = flip;  // the nearest other label, and the beginning of what is not proven
  double same = value_;  // has the row's label, and no other label was seen between it and the flip
  const double least_width = width;
  int n_behind = 0;
  for (int n = 0; n < kMostStretches && !open.empty() && outward * open.back().near < outward * flip; ++n) {
    const auto [near, far, is_whole] = open.back();
    open.pop_back();
    if (keeps_label({near, far})) continue;
    if (is_whole) {  // a hint saves most of the search: what lies between its two values is too close to a tie for proofs
      const auto [first, last] = row_.crossing(column_, near, far);
      if (outward * near < outward * first && outward * first < outward * last && outward * last <= outward * far &&
          outward * last < outward * flip && label_at(first) == label_ && label_at(last) != label_) {
        flip = last, same = first;
        gap = nearer(outward, gap, first);
        open.push_back({near, first});
        continue;
      }
    }
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
  return row_.keeps_label(column_, {low, high});
}

}  // namespace ferl
