// The largest radius that holds, by few questions: each is about all rows of a box, and dear.
//
// What holds for a box holds for every smaller one, so any radius that was tried with success is a right answer. Radii are
// told from below as a power of two and 4,096 parts of it, so no unit needs a guess. The limit, which may be infinite, and
// 0 are answers too. More parts would promise a quarter of a per mille more, and where nearly nothing is left of a lead
// proofs are dear: with 2^30 parts rules take four times as long.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/types.h"

namespace ferl {

// The largest power of two below the limit that holds: from the usual one by steps that double, then by halves.
template <class Holds>
int largest_power(double limit, int least, const Holds& holds) {
  constexpr int kUsual = -2;  // a guess, which costs a question for every doubling that it is wrong by
  const int most = std::isfinite(limit) ? std::ilogb(limit) + 1 : 1024;
  int low = least, high = most, at = std::clamp(kUsual, low + 1, std::max(low + 1, high - 1)), step = 1;
  while (high - low > 1) {
    const bool does = holds(std::ldexp(1.0, at));
    (does ? low : high) = at;
    if (low > least && high < most)
      at = low + (high - low) / 2;
    else
      at = does ? std::min(at + step, high - 1) : std::max(at - step, low + 1);
    step *= 2;
  }
  return low;
}

template <class Holds>
double largest_radius(double limit, const Holds& holds) {
  constexpr int kLeast = -1075, kBits = 12;
  if (holds(limit)) return limit;
  const int power = largest_power(limit, kLeast, holds);
  if (power == kLeast) return 0;
  double radius = std::ldexp(1.0, power);
  for (int bit = 1; bit <= kBits; ++bit) {
    const double larger = radius + std::ldexp(1.0, power - bit);
    if (larger > radius && larger < limit && holds(larger)) radius = larger;
  }
  return radius;
}

// As above, where a radius holds that `may` hold, which is cheap to ask, and that `proves` proves, which is dear. The
// search goes by what may hold, and proves what it ends at. If that fails, a bisection of the radii that the search took
// on its way finds the first one without a proof; the search is repeated below it. So a few radii are proven, not all.
template <class May, class Proves>
double largest_radius(double limit, const May& may, const Proves& proves) {
  double proven = 0, refused = kInfinity;  // what is known: a repeated search asks nothing twice
  bool is_refused = false;                 // infinity too is a radius
  while (true) {
    std::vector<double> taken{proven};
    const double radius = largest_radius(limit, [&](double r) {
      const bool holds = r <= proven || (!(is_refused && r >= refused) && may(r));
      if (holds && r > proven) taken.push_back(r);
      return holds;
    });
    if (radius <= proven || proves(radius)) return radius;
    std::size_t first = 0, last = taken.size() - 1;
    while (last - first > 1) {
      const std::size_t middle = first + (last - first) / 2;
      (proves(taken[middle]) ? first : last) = middle;
    }
    proven = taken[first], refused = taken[last], is_refused = true;
  }
}

}  // namespace ferl
