#include "rules/scan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace ferl::rules {

namespace {

constexpr std::size_t kFilledAtOnce = 4;                                  // features
constexpr std::size_t kMostPadded = (kMaxGradients + 2 + 3) / 4 * 4 + 4;  // channels, padding included

}  // namespace

Condition ramp(const Feature& feature, std::size_t low, std::size_t high) {
  return {feature.column,
          {feature.knots[low], feature.knots[high], kInfinity, kInfinity},
          feature.share_of_ramp(low, high),
          {}};
}

Condition single_category(const Feature& feature, std::size_t category) {
  Condition out;
  out.column = feature.column;
  out.share = feature.category_share[category];
  for (const double share : feature.category_share) out.category.push_back(share > 0 ? 0.0 : kNaN);
  out.category[category] = 1;
  return out;
}

Condition condition_of(const Feature& feature, const Found& found, bool up) {
  if (feature.is_categorical()) {
    Condition out;
    out.column = feature.column;
    out.category = found.category;
    out.share = 0;
    for (std::size_t k = 0; k < out.category.size(); ++k)
      if (feature.category_share[k] > 0) out.share += feature.category_share[k] * out.category[k];
    return out;
  }
  const BestPair& best = up ? found.up : found.down;
  if (feature.has_words()) return feature.words[static_cast<std::size_t>(best.low)].condition;
  const Condition rising = ramp(feature, static_cast<std::size_t>(best.low), static_cast<std::size_t>(best.high));
  return up ? rising : complement(rising);
}

std::vector<Condition> single_conditions(const Feature& feature) {
  std::vector<Condition> out;
  for (const Word& word : feature.words) out.push_back(word.condition);
  for (std::size_t k = 0; k < feature.category_share.size(); ++k)
    if (feature.category_share[k] > 0) out.push_back(single_category(feature, k));
  if (!feature.has_words() && !feature.is_categorical()) out.push_back(ramp(feature, 0, feature.knots.size() - 1));
  return out;
}

void Scanner::set_rows(const std::vector<Row>& rows) {
  rows_ = rows;
  const std::size_t n = rows.size(), n_features = grid_.features.size();
  bin_.resize(n * n_features);
  offset_.resize(n * n_features);
  code_of_feature_.assign(n_features, 0);
  code_.clear();
  for (std::size_t f = 0; f < n_features; ++f) {
    if (grid_.features[f].is_categorical()) {
      code_of_feature_[f] = code_.size();
      const std::int32_t* code = grid_.code.data() + grid_.code_of_feature[f];
      for (const Row r : rows) code_.push_back(code[r]);
      continue;
    }
    const std::uint8_t* bin = grid_.bin.data() + f * grid_.n_rows;
    const float* offset = grid_.offset.data() + f * grid_.n_rows;
    for (std::size_t i = 0; i < n; ++i) bin_[f * n + i] = bin[rows[i]], offset_[f * n + i] = offset[rows[i]];
  }
}

void Scanner::set_residuals(const std::vector<float>& gradient, std::size_t n_channels,
                            const std::vector<float>& hessian, double unit, int n_classes, double scale) {
  n_gradients_ = n_channels;
  n_padded_ = (n_channels + 3 + 3) / 4 * 4;
  unit_ = unit * scale;
  smoothing_ = tuning_.smoothing / scale;
  least_weight_ = tuning_.least_weight / scale;
  n_classes_ = n_classes;
  sum_h_ = 0;
  value_.assign(hessian.size() * n_padded_, 0.0f);
  for (std::size_t i = 0; i < hessian.size(); ++i) {
    float* to = value_.data() + i * n_padded_;
    std::copy_n(gradient.data() + i * n_channels, n_channels, to);
    to[n_channels] = to[n_channels + 1] = to[n_padded_ - 1] = hessian[i];
    sum_h_ += static_cast<double>(hessian[i]);
  }
}

Scanner::Rows Scanner::weigh(const std::vector<float>& base) const {
  const std::size_t n = rows_.size();
  Rows out{std::vector<Row>(n), value_.data(), {}, base.empty()};
  if (out.all) {
    std::iota(out.index.begin(), out.index.end(), 0);
    return out;
  }
  std::size_t n_firing = 0;
  for (std::size_t i = 0; i < n; ++i) {
    out.index[n_firing] = static_cast<Row>(i);
    n_firing += base[i] > 0 ? 1 : 0;
  }
  out.index.resize(n_firing);
  out.weighed.resize(n_firing * n_padded_);
  kernels().weigh_rows(value_.data(), out.index.data(), n_firing, base.data(), n_padded_, n_gradients_,
                       out.weighed.data());
  out.value = out.weighed.data();
  return out;
}

void Scanner::fill(const std::size_t* features, std::size_t n_features, const Rows& rows, Bins* bins) const {
  thread_local std::vector<float> sum;
  std::size_t begin[kFilledAtOnce + 1] = {0};
  for (std::size_t k = 0; k < n_features; ++k) {
    const Feature& feature = grid_.features[features[k]];
    const std::size_t n_bins = feature.knots.size() + (feature.has_words() ? 2 : 0);  // the last holds missing values
    begin[k + 1] = begin[k] + n_bins * 2 * n_padded_;
  }
  sum.assign(begin[n_features], 0.0f);
  BinsToFill to_fill[kFilledAtOnce];
  for (std::size_t k = 0; k < n_features; ++k) {
    const std::size_t first = features[k] * rows_.size();
    to_fill[k] = {bin_.data() + first, offset_.data() + first, sum.data() + begin[k]};
    bins[k] = {sum.data() + begin[k], n_padded_};
  }
  kernels().fill_bins(to_fill, n_features, rows.all ? nullptr : rows.index.data(), rows.index.size(), rows.value,
                      n_padded_);
}

Found Scanner::best_ramp(std::size_t f, const Bins& bins, int sign, const Bounds& bounds) const {
  const Feature& feature = grid_.features[f];
  const std::size_t n_knots = feature.knots.size(), used = n_gradients_ + 2;
  double below[kMostPadded * kMaxKnots], below_x[kMostPadded * kMaxKnots];
  double below_x2[kMaxKnots];
  below_x2[0] = 0;
  const double* at = feature.position.data();
  kernels().add_bins(bins.at, n_knots, n_padded_, at, below, below_x);
  for (std::size_t q = 0; q + 1 < n_knots; ++q) {
    const double v = bins.sum(q, used - 1), vx = bins.sum_x(q, used - 1), vx2 = bins.sum_x2(q), gap = at[q + 1] - at[q];
    below_x2[q + 1] = below_x2[q] + (at[q] * at[q] * v + 2 * at[q] * gap * vx + gap * gap * vx2);
  }
  for (std::size_t q = n_knots; q % kKnotsAtOnce != 0; ++q) below_x2[q] = 0;
  double total[kMaxGradients + 2], missing[kMaxGradients + 2];
  for (std::size_t c = 0; c < used; ++c) {
    missing[c] = bins.sum(n_knots - 1, c);
    total[c] = below[c * kMaxKnots + n_knots - 1] + missing[c];
  }
  const int own = monotone_.empty() ? 0 : monotone_[static_cast<std::size_t>(feature.column)];
  const auto needed = [&](int by_column) {
    return sign != 0 && by_column != 0 && sign != by_column ? kNever : sign != 0 ? sign : by_column;
  };
  const BinSums sums{n_knots,
                     used,
                     at,
                     below,
                     below_x,
                     below_x2,
                     total,
                     missing,
                     feature.has_missing ? feature.share_below.data() : nullptr,
                     feature.share_below_x.data(),
                     sum_h_,
                     smoothing_,
                     least_weight_,
                     needed(own),
                     needed(-own),
                     bounds.up / unit_,
                     bounds.down / unit_};
  Found found;
  kernels().best_pairs(sums, found.up, found.down);
  found.up.gain *= unit_;
  found.down.gain *= unit_;
  return found;
}

Found Scanner::best_word(std::size_t f, const Bins& bins, int sign) const {
  const Feature& feature = grid_.features[f];
  const std::size_t n_bins = feature.knots.size() + 1, h = n_gradients_, h2 = h + 1;
  const int monotone = monotone_.empty() ? 0 : monotone_[static_cast<std::size_t>(feature.column)];
  Found found;
  for (std::size_t k = 0; k < feature.words.size(); ++k) {
    const Word& word = feature.words[k];
    const int own = monotone * direction(word.condition);
    if (monotone != 0 && (own == 0 || (sign != 0 && sign != own))) continue;
    const int needed = sign != 0 ? sign : own;
    const double share = word.condition.share;
    double firing[kMostPadded];  // sums of v times the membership
    kernels().add_word(bins.at, n_bins, n_padded_, word.base.data(), word.slope.data(), share, firing);
    double up = 0;
    for (std::size_t c = 0; c < n_gradients_; ++c) {
      const double z = firing[c];
      up += needed == 0 || z * needed > 0 ? z * z : 0;
    }
    const double s1 = firing[h];
    double s2 = share * share * bins.sum(n_bins, h2);
    for (std::size_t q = 0; q < n_bins; ++q)
      s2 += word.base[q] * (word.base[q] * bins.sum(q, h2) + 2 * word.slope[q] * bins.sum_x(q, h2)) +
            word.slope[q] * word.slope[q] * bins.sum_x2(q);
    if (!(s1 * s1 > least_weight_ * s2)) continue;
    const double gain = unit_ * up / (std::max(s2 - s1 * s1 / sum_h_, 0.0) + smoothing_);
    if (gain > found.up.gain) found.up = {gain, static_cast<int>(k), static_cast<int>(k)};
  }
  return found;
}

namespace {

// Sums over a set of categories, and what the set gains.
struct SetSums {
  std::vector<double> v;  // [channel]
  double weight = 0;      // share of the known weight

  explicit SetSums(std::size_t n) : v(n, 0.0) {}
  void add(const double* own, double share) {
    for (std::size_t c = 0; c < v.size(); ++c) v[c] += own[c];
    weight += share;
  }
};

}  // namespace

Found Scanner::best_set(std::size_t f, const Rows& rows, int sign) const {
  const Feature& feature = grid_.features[f];
  const std::size_t m = feature.category_share.size(), used = n_gradients_ + 2, h = n_gradients_, h2 = h + 1;
  std::vector<double> sum(m * used, 0.0), missing(used, 0.0);
  std::vector<char> is_present(m, 0);
  const std::int32_t* code = code_.data() + code_of_feature_[f];
  for (std::size_t k = 0; k < rows.index.size(); ++k) {
    const std::int32_t own = code[rows.index[k]];
    double* to = own < 0 ? missing.data() : sum.data() + static_cast<std::size_t>(own) * used;
    if (own >= 0) is_present[static_cast<std::size_t>(own)] = 1;
    for (std::size_t c = 0; c < used; ++c) to[c] += static_cast<double>(rows.value[k * n_padded_ + c]);
  }
  std::vector<std::size_t> present;
  double present_share = 0;
  for (std::size_t k = 0; k < m; ++k)
    if (is_present[k]) present.push_back(k), present_share += feature.category_share[k];
  Found best;
  if (present.size() < 2) return best;
  std::vector<double> total(missing);
  for (const std::size_t k : present)
    for (std::size_t c = 0; c < used; ++c) total[c] += sum[k * used + c];
  // A category that no scanned row has gets the share of the set, as a missing value does.
  const auto gain = [&](const SetSums& set, bool is_complement) {
    double share = set.weight / present_share;
    double up = 0;
    const auto of = [&](std::size_t c) { return set.v[c] + share * missing[c]; };
    for (std::size_t c = 0; c < n_gradients_; ++c) {
      const double z = is_complement ? total[c] - of(c) : of(c);
      up += sign == 0 || z * sign > 0 ? z * z : 0;
    }
    double s1 = of(h), s2 = set.v[h2] + share * share * missing[h2];
    double o1 = total[h] - s1, o2 = total[h2] - 2 * of(h2) + s2;
    // A rule on all rows outside a rare category rests on no more rows than a rule on that category.
    if (!(s1 * s1 > least_weight_ * s2) || !(o1 * o1 > least_weight_ * o2)) return -1.0;
    if (is_complement) std::swap(s1, o1), std::swap(s2, o2);
    return unit_ * up / (std::max(s2 - s1 * s1 / sum_h_, 0.0) + smoothing_);
  };
  const auto take = [&](const auto& members, bool is_complement, double own) {
    best.up.gain = own;
    best.category.assign(m, kNaN);
    double share = 0;
    for (const std::size_t k : members) share += feature.category_share[k];
    share /= present_share;
    if (is_complement) share = 1 - share;
    for (std::size_t k = 0; k < m; ++k)
      if (feature.category_share[k] > 0) best.category[k] = !is_present[k] ? share : is_complement ? 1 : 0;
    for (const std::size_t k : members) best.category[k] = is_complement ? 0 : 1;
  };
  for (const std::size_t k : present) {
    SetSums set(used);
    set.add(sum.data() + k * used, feature.category_share[k]);
    for (const bool is_complement : {false, true})
      if (const double own = gain(set, is_complement); own > best.up.gain)
        take(std::vector<std::size_t>{k}, is_complement, own);
  }
  if (present.size() < 4) return best;
  // Sets of several categories, by the residuals of a class: the best of them gains on noise as well, about as much as
  // a sum of squares with one degree of freedom for each category and dimension. Its mean plus some deviations
  // are taken off.
  const double freedom = static_cast<double>(n_classes_ - 1) * static_cast<double>(present.size() - 2);
  const double luck = freedom + tuning_.luck_deviations * std::sqrt(2 * freedom);
  std::vector<std::pair<double, std::size_t>> strength;
  for (std::size_t c = 0; c < n_gradients_; ++c) {
    double own = 0;
    for (const std::size_t k : present)
      own += sum[k * used + c] * sum[k * used + c] / (sum[k * used + h2] + smoothing_);
    strength.push_back({-own, c});
  }
  std::sort(strength.begin(), strength.end());
  if (strength.size() > tuning_.set_orderings) strength.resize(tuning_.set_orderings);
  for (const auto& [unused, c] : strength) {
    std::vector<std::pair<double, std::size_t>> order;
    for (const std::size_t k : present) order.push_back({-sum[k * used + c] / (sum[k * used + h2] + smoothing_), k});
    std::sort(order.begin(), order.end());
    SetSums set(used);
    std::vector<std::size_t> members;
    for (std::size_t t = 0; t + 1 < order.size(); ++t) {
      const std::size_t k = order[t].second;
      set.add(sum.data() + k * used, feature.category_share[k]);
      members.push_back(k);
      for (const bool is_complement : {false, true})
        if (const double own = gain(set, is_complement) - luck; own > best.up.gain) take(members, is_complement, own);
    }
  }
  return best;
}

namespace {

// The n-th best gain of the features so far; -1 as long as there are fewer.
class BestGains {
 public:
  explicit BestGains(std::size_t n) : n_(n) {}
  double bound() const { return n_ > 0 && n_ <= kMost && best_.size() == n_ ? best_.back() : -1.0; }
  void meet(double gain) {
    if (n_ == 0 || n_ > kMost || (best_.size() == n_ && gain <= best_.back())) return;
    best_.insert(std::upper_bound(best_.begin(), best_.end(), gain, std::greater<>()), gain);
    if (best_.size() > n_) best_.pop_back();
  }

 private:
  static constexpr std::size_t kMost = 8;  // a bound that few features reach spares nothing
  std::size_t n_;
  std::vector<double> best_;
};

}  // namespace

std::vector<Found> Scanner::scan(const std::vector<float>& base, int sign, const std::vector<std::size_t>& features,
                                 std::size_t n_best, ThreadPool& pool) const {
  const Rows rows = weigh(base);
  std::vector<Found> found(grid_.features.size());
  const std::size_t chunk = std::max<std::size_t>(kFilledAtOnce, 20'000 / (rows.index.size() * n_padded_ + 1));
  pool.run((features.size() + chunk - 1) / chunk, rows.index.size() * features.size() * n_padded_ > tuning_.share_scan,
           [&](std::size_t task) {
             BestGains up(n_best), down(n_best);
             std::size_t filled[kFilledAtOnce], n_filled = 0;  // features whose bins are filled at the same time
             const auto find_best = [&] {
               Bins bins[kFilledAtOnce];
               fill(filled, n_filled, rows, bins);
               for (std::size_t k = 0; k < n_filled; ++k) {
                 const std::size_t f = filled[k];
                 found[f] = grid_.features[f].has_words() ? best_word(f, bins[k], sign)
                                                          : best_ramp(f, bins[k], sign, {up.bound(), down.bound()});
                 up.meet(found[f].up.gain);
                 down.meet(found[f].down.gain);
               }
               n_filled = 0;
             };
             for (std::size_t k = task * chunk; k < std::min((task + 1) * chunk, features.size()); ++k) {
               const std::size_t f = features[k];
               if (grid_.features[f].has_words() || !grid_.features[f].is_categorical()) {
                 filled[n_filled++] = f;
                 if (n_filled == kFilledAtOnce) find_best();
                 continue;
               }
               found[f] = best_set(f, rows, sign);
               up.meet(found[f].up.gain);
               down.meet(found[f].down.gain);
             }
             if (n_filled > 0) find_best();
           });
  return found;
}

}  // namespace ferl::rules
