#include "read/nearest_flip.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferl {

namespace {

constexpr double kFar = 1e300;        // beyond all corners: what holds there holds for larger values too
constexpr int kParts = 8;             // into which a stretch is divided
constexpr int kMostStretches = 10000; // that are judged in one direction
constexpr int kHalvings = 3;          // of a stretch, that are asked for at once
constexpr int kWidenEvery = 96;       // stretches behind a gap in the proof

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
  std::vector<Stretch> found;
  for (std::size_t i = points.size(); i-- > 1;) found.push_back({points[i - 1], points[i], true});
  return found;
}

Flip FlipSearch::first_flip(int outward, double width) {
  std::vector<Stretch> open = stretches(outward);
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
  bisect(same, flip, least_width);
  return {flip, nearer(outward, gap, flip)};
}

// Halves the stretch between a value with the row's label and one with another. All values that the next halvings may
// ask for are asked for at once: one row at a time costs a multiple.
void FlipSearch::bisect(double& same, double& flip, double width) {
  constexpr std::size_t kAtOnce = 1 << kHalvings;
  std::vector<std::array<double, 2>> ends(kAtOnce);  // a heap: the halves of the stretch i are 2 i and 2 i + 1
  std::vector<double> middles(kAtOnce - 1);
  const auto is_wide = [&] { return std::isfinite(flip) && std::abs(flip - same) > std::max(width, 4 * spacing(flip)); };
  while (is_wide()) {
    ends[1] = {same, flip};
    for (std::size_t i = 1; i < kAtOnce; ++i) {
      const auto [from, to] = ends[i];
      const double middle = middles[i - 1] = from + (to - from) / 2;
      if (2 * i + 1 < kAtOnce) ends[2 * i] = {from, middle}, ends[2 * i + 1] = {middle, to};
    }
    const std::vector<Label> labels = row_.labels_at(column_, middles);
    for (std::size_t i = 1; i < kAtOnce && is_wide();) {
      const bool stays = labels[i - 1] == label_;
      (stays ? same : flip) = middles[i - 1];
      i = 2 * i + stays;
    }
  }
}

bool FlipSearch::keeps_label(Stretch stretch) {
  const auto [low, high] = std::minmax(stretch.near, stretch.far);
  return row_.keeps_label(column_, {low, high});
}

}  // namespace ferl
