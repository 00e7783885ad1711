#include "rules/words.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

namespace ferl::rules {

namespace {

// Values where memberships bend. An upright side that falls bends behind its end, which is a full member.
std::vector<double> bends(const std::vector<Condition>& words) {
  std::vector<double> out;
  for (const Condition& word : words) {
    const Ends& own = word.ends;
    const double after = own[2] == own[3] ? std::nextafter(own[3], kInfinity) : own[3];
    for (const double end : {own[0], own[1], own[2] == own[3] ? after : own[2], after})
      if (std::isfinite(end)) out.push_back(end);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Bins as Feature::words has them.
std::size_t bin_of(const std::vector<double>& knots, double value) {
  return static_cast<std::size_t>(std::upper_bound(knots.begin(), knots.end(), value) - knots.begin());
}

double offset_in(const std::vector<double>& knots, std::size_t bin, double value) {
  if (bin == 0 || bin == knots.size()) return 0;
  return std::clamp((value - knots[bin - 1]) / (knots[bin] - knots[bin - 1]), 0.0, 1.0);
}

Trapezoid trapezoid(const Ends& ends) { return {ends[0], ends[1], ends[2], ends[3]}; }

Word make_word(Condition condition, const std::vector<double>& knots, double share) {
  Word word;
  condition.share = share;
  const Trapezoid membership = trapezoid(condition.ends);
  // Below the first knot, whatever the value is; above the last one it is as at that knot.
  word.base.push_back(condition.ends[0] == -kInfinity ? 1.0 : 0.0);
  word.slope.push_back(0);
  for (std::size_t q = 0; q < knots.size(); ++q) {
    const double own = membership(knots[q]);
    // Up to the next knot, but not with it: an upright side that rises begins there.
    const double last = q + 1 < knots.size() ? membership(std::nextafter(knots[q + 1], -kInfinity)) : own;
    word.base.push_back(own);
    word.slope.push_back(last - own);
  }
  word.condition = std::move(condition);
  return word;
}

// The words of a column, with their shares of the known rows.
Feature word_feature(const Sample& sample, Column column, const std::vector<Condition>& words, double least_share) {
  Feature f;
  f.knots = bends(words);
  if (f.knots.size() + 2 > std::numeric_limits<std::uint8_t>::max())
    throw std::invalid_argument("A column has too many words.");
  const double* x = sample.column(static_cast<std::size_t>(column));
  double known = 0;
  std::vector<double> share(words.size(), 0.0);
  std::vector<Trapezoid> membership;
  for (const Condition& own : words) membership.push_back(trapezoid(own.ends));
  for (std::size_t i = 0; i < sample.n_rows; ++i) {
    if (is_missing(x[i])) {
      f.has_missing = true;
      continue;
    }
    known += sample.weight[i];
    for (std::size_t t = 0; t < words.size(); ++t) share[t] += sample.weight[i] * membership[t](x[i]);
  }
  for (std::size_t t = 0; t < words.size(); ++t) {
    const double own = known > 0 ? share[t] / known : 0;
    if (own > least_share && own < 1 - least_share) f.words.push_back(make_word(words[t], f.knots, own));
  }
  if (f.has_words()) f.column = column;
  return f;
}

// Whether these are two words, and one is the opposite of the other.
bool are_opposites(const std::vector<Condition>& words) {
  if (words.size() != 2) return false;
  const Ends &low = words[0].ends, &high = words[1].ends;
  return low[0] == -kInfinity && high[3] == kInfinity && low[2] == high[0] && low[3] == high[1];
}

}  // namespace

std::vector<Condition> without_opposites(const std::vector<Condition>& words) {
  std::map<Column, std::vector<Condition>> of_column;
  for (const Condition& own : words) of_column[own.column].push_back(own);
  std::vector<Condition> out;
  for (const auto& [column, own] : of_column)
    out.insert(out.end(), own.begin() + (are_opposites(own) ? 1 : 0), own.end());
  return out;
}

Grid make_word_grid(const Sample& sample, const std::vector<Condition>& words, std::size_t n_located,
                    const Tuning& tuning, ThreadPool& pool) {
  std::vector<std::vector<Condition>> of_column(sample.n_columns);
  for (const Condition& own : words) of_column[static_cast<std::size_t>(own.column)].push_back(own);
  const std::size_t n = sample.n_rows;
  std::vector<Feature> found(sample.n_columns);
  pool.run(sample.n_columns, n * sample.n_columns > tuning.share_grid, [&](std::size_t j) {
    if (!of_column[j].empty())
      found[j] = word_feature(sample, static_cast<Column>(j), of_column[j], tuning.least_share);
  });
  Grid grid;
  const std::size_t n_kept = grid.n_rows = std::min(n_located, n);
  for (Feature& f : found)
    if (f.column >= 0) grid.features.push_back(std::move(f));
  const std::size_t n_features = grid.features.size();
  grid.code_of_feature.assign(n_features, 0);
  grid.bin.resize(n_features * n_kept);
  grid.offset.resize(n_features * n_kept);
  pool.run(n_features, n_kept * n_features > tuning.share_grid, [&](std::size_t j) {
    const std::vector<double>& knots = grid.features[j].knots;
    const double* x = sample.column(static_cast<std::size_t>(grid.features[j].column));
    for (std::size_t i = 0; i < n_kept; ++i) {
      const std::size_t bin = is_missing(x[i]) ? knots.size() + 1 : bin_of(knots, x[i]);
      grid.bin[j * n_kept + i] = static_cast<std::uint8_t>(bin);
      grid.offset[j * n_kept + i] = bin > knots.size() ? 0.0f : static_cast<float>(offset_in(knots, bin, x[i]));
    }
  });
  return grid;
}

}  // namespace ferl::rules
