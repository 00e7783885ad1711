// Membership of a value in a node's condition, and the support gate: one inline function each.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferl {

inline double clip01(double value) { return std::min(1.0, std::max(0.0, value)); }

// A slope that stays finite where the two ends almost meet, so that 0 * slope is 0 and never NaN.
inline double slope_between(double low, double high) {
  return std::min(1.0 / (high - low), std::numeric_limits<double>::max());
}

// The band of a split: the left branch is full up to `low`, empty from `high`, linear in between.
struct Band {
  double low, high;

  // Values such as time stamps can be so large that theta - h and theta + h round to the same number: the band is
  // then the two neighbouring numbers around theta.
  static Band around(double theta, double half_width) {
    const double infinity = std::numeric_limits<double>::infinity();
    Band band{theta - half_width, theta + half_width};
    if (!(band.low < theta)) band.low = std::nextafter(theta, -infinity);
    if (!(band.high > theta)) band.high = std::nextafter(theta, infinity);
    return band;
  }
};

// The left membership of a band, its slope computed once.
struct Ramp {
  double high, slope;
  explicit Ramp(Band band) : high(band.high), slope(slope_between(band.low, band.high)) {}
  double operator()(double x) const { return clip01((high - x) * slope); }
};

// A trapezoid (a, b, c, d) with infinite shoulders allowed, compiled so that a shoulder costs no branch:
// each side is clip(base + distance * slope), and a missing side has base 1 and slope 0.
struct Trapezoid {
  double rise_from = 0, rise_slope = 0, rise_base = 1;
  double fall_to = 0, fall_slope = 0, fall_base = 1;

  Trapezoid() = default;
  Trapezoid(double a, double b, double c, double d) {
    if (std::isfinite(a)) rise_from = a, rise_slope = slope_between(a, b), rise_base = 0;
    if (std::isfinite(d)) fall_to = d, fall_slope = slope_between(c, d), fall_base = 0;
  }
  double operator()(double x) const {
    return std::min(clip01(rise_base + (x - rise_from) * rise_slope), clip01(fall_base + (fall_to - x) * fall_slope));
  }
};

// One inside the range seen in training, falling linearly to zero over a margin on either side.
struct Gate {
  double low = 0, high = 0, slope = 0;  // slope 0: always open

  Gate() = default;
  Gate(double from, double to, double margin) : low(from), high(to), slope(slope_between(0.0, margin * (to - from))) {}
  double operator()(double x) const { return clip01(1.0 - std::max(low - x, x - high) * slope); }
};

}  // namespace ferl
