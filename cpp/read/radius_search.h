// The largest radius that holds, by few questions: each is about all rows of a box, and dear.
//
// What holds for a box holds for every smaller one, so any radius that was tried with success is a right answer. Radii are
// told from below as a power of two and 4,096 parts of it, so no unit needs a guess. The limit, which may be infinite, and
// 0 are answers too. More parts would promise a quarter of a per mille more, and where nearly nothing is left of a lead
// proofs are dear: with 2^30 parts wide rules take four times as long.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/types.h"

namespace ferl {

// margin(radius): how clearly it holds, above zero if it does. Where it falls steadily, few questions lead to where it
// vanishes; where it is no more than a sign, the search is a bisection.
template <class Margin>
class RadiusSearch {
 public:
  RadiusSearch(double limit, const Margin& margin) : limit_(limit), margin_(margin) {}

  // From below; the limit itself if it holds, 0 if nothing does.
  double run() {
    margin_above_ = margin_(limit_);
    if (margin_above_ > 0) return limit_;
    find_power();
    return power_ == kLeastPower ? 0 : find_part();
  }

 private:
  static constexpr int kLeastPower = -1075, kMostPower = 1024;
  static constexpr int kUsualPower = -2;  // a guess, which costs a question for every doubling that it is wrong by
  static constexpr int kBits = 12;
  static constexpr std::int64_t kParts = std::int64_t{1} << kBits;

  // The largest power of two that holds: from the usual one by steps that double, then by halves.
  void find_power() {
    power_ = kLeastPower;
    const int most = std::isfinite(limit_) ? std::ilogb(limit_) + 1 : kMostPower;
    int above = most, at = std::clamp(kUsualPower, power_ + 1, std::max(power_ + 1, above - 1)), step = 1;
    while (above - power_ > 1) {
      const double margin = margin_(std::ldexp(1.0, at));
      const bool holds = margin > 0;
      (holds ? power_ : above) = at;
      (holds ? margin_at_ : margin_above_) = margin;
      if (power_ > kLeastPower && above < most) at = power_ + (above - power_) / 2;
      else at = holds ? std::min(at + step, above - 1) : std::max(at - step, power_ + 1);
      step *= 2;
    }
  }

  double radius(std::int64_t part) const {
    return std::ldexp(1.0 + std::ldexp(static_cast<double>(part), -kBits), power_);
  }

  // How many parts hold, by the ITP method (Oliveira and Takahashi, 2020): where the line through both ends of what is
  // open vanishes, moved a little towards the middle, and at most one step more than by halves.
  double find_part() {
    std::int64_t low = 0, high = kParts;
    if (limit_ < radius(high)) high = std::clamp(parts_below_limit(), std::int64_t{1}, kParts);
    double at_low = margin_at_, at_high = finite_or(margin_above_, -at_low);
    const double first_width = static_cast<double>(high - low);
    auto most_width = 2.0 * static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(high - low)));
    for (; high - low > 1; most_width /= 2) {
      const double width = static_cast<double>(high - low), middle = width / 2;
      const double share = at_low / (at_low - at_high), line = share >= 0 && share <= 1 ? width * share : middle;
      const double towards = line < middle ? 1 : -1, shift = 0.2 / first_width * width * width;
      const double moved = shift <= std::abs(middle - line) ? line + towards * shift : middle;
      const double room = std::max(0.0, most_width / 2 - middle);
      const double wanted = std::abs(moved - middle) <= room ? moved : middle - towards * room;
      const std::int64_t part = low + std::clamp(std::llround(wanted), 1LL, static_cast<long long>(high - low) - 1);
      const double margin = margin_(radius(part));
      if (margin > 0) low = part, at_low = margin;
      else high = part, at_high = finite_or(margin, -at_low);
    }
    return radius(low);
  }

  // Where a margin has no size, the line through it and the other end goes through the middle.
  static double finite_or(double margin, double instead) { return std::isfinite(margin) ? margin : instead; }

  // The first part that is not below the limit.
  std::int64_t parts_below_limit() const {
    return static_cast<std::int64_t>(std::ceil(std::ldexp(std::ldexp(limit_, -power_) - 1.0, kBits)));
  }

  double limit_;
  const Margin& margin_;
  int power_ = kLeastPower;
  double margin_at_ = 0, margin_above_ = 0;
};

template <class Margin>
double largest_radius(double limit, const Margin& margin) {
  return RadiusSearch<Margin>(limit, margin).run();
}

// As above, where a radius holds that has a margin, which is cheap to ask, and that `proves` proves, which is dear. The
// search goes by the margins, and proves what it ends at. If that fails, a bisection of the radii that the search took
// on its way finds the first one without a proof; the search is repeated below it. So a few radii are proven, not all.
template <class Margin, class Proves>
double largest_proven_radius(double limit, const Margin& margin, const Proves& proves) {
  double proven = 0, refused = kInfinity;  // what is known: a repeated search asks nothing twice
  bool is_refused = false;                 // infinity too is a radius
  while (true) {
    std::vector<double> taken{proven};
    const double radius = largest_radius(limit, [&](double r) {
      if (r <= proven) return 1.0;
      if (is_refused && r >= refused) return -1.0;
      const double own = margin(r);
      if (own > 0) taken.push_back(r);
      return !is_refused ? own : own > 0 ? 1.0 : -1.0;  // margins do not tell where proofs end
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
