// Membership of a value in a node's condition, and the support gate: one inline function each.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferl {

inline double clip01(double value) { return std::min(1.0, std::max(0.0, value)); }

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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
    Band band{theta - half_width, theta + half_width};
    if (!(band.low < theta)) band.low = std::nextafter(theta, -kInfinity);
    if (!(band.high > theta)) band.high = std::nextafter(theta, kInfinity);
    return band;
  }
};

// The left membership of a band, its slope computed once.
struct Ramp {
  double high, slope;
  explicit Ramp(Band band) : high(band.high), slope(slope_between(band.low, band.high)) {}
  double operator()(double x) const { return clip01((high - x) * slope); }
};

// One side of a trapezoid, compiled so that it costs no branch: clip(base + distance * slope). A missing side has
// base 1 and slope 0. An upright side (both ends equal) starts one number further out with an infinite slope: its end
// has full membership, and at the start 0 * infinity is NaN, which clip01 makes 0.
struct Side {
  double start = 0, slope = 0, base = 1;

  Side() = default;
  Side(double outer, double inner, double outward) : base(0) {
    const bool upright = outer == inner;
    start = upright ? std::nextafter(outer, outward) : outer;
    slope = upright ? kInfinity : slope_between(std::min(outer, inner), std::max(outer, inner));
  }
};

// Full membership from b to c, none outside a and d, linear in between; infinite ends are shoulders.
struct Trapezoid {
  Side rise, fall;

  Trapezoid() = default;
  Trapezoid(double a, double b, double c, double d) {
    if (std::isfinite(a)) rise = Side(a, b, -kInfinity);
    if (std::isfinite(d)) fall = Side(d, c, kInfinity);
  }
  double operator()(double x) const {
    return std::min(clip01(rise.base + (x - rise.start) * rise.slope),
                    clip01(fall.base + (fall.start - x) * fall.slope));
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
