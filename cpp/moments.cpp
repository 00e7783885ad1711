#include "moments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <mutex>

namespace ferl {

namespace {

// A value further than this many half-ranges from the centre counts as that far: its square has 11 bits, so that with
// kFeatureBits a block's sum fits into 64.
constexpr double kFarthest = 45;
constexpr int kFeatureBits = 42;
constexpr double kTrifle = 0.05;  // firing of a row that is no example of a node

double power_of_two_above(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, exponent);
}

}  // namespace

FeatureRanges::FeatureRanges(const TableView& table) {
  const std::size_t d = table.x.n_columns;
  std::vector<double> low(d, kInfinity), high(d, -kInfinity);
  for (std::size_t i = 0; i < table.x.n_rows; ++i) {
    if (!(table.weight[i] > 0)) continue;
    for (std::size_t j = 0; j < d; ++j) {
      const double x = table.x(i, j);
      low[j] = x < low[j] ? x : low[j];
      high[j] = x > high[j] ? x : high[j];
    }
  }
  for (std::size_t j = 0; j < d; ++j) {
    centre.push_back(0.5 * low[j] + 0.5 * high[j]);
    half.push_back(high[j] > low[j] ? 0.5 * high[j] - 0.5 * low[j] : 1.0);
  }
}

Moments::Moments(std::size_t n_nodes, int n_classes, const FeatureRanges& ranges, const MomentOptions& options)
    : low(n_nodes, kInfinity),
      high(n_nodes, -kInfinity),
      exemplars(n_nodes),
      ranges_(ranges),
      n_classes_(n_classes),
      n_exemplars_(options.n_exemplars),
      unit_(std::ldexp(power_of_two_above(options.most_weight), -62)),
      feature_unit_(std::ldexp(power_of_two_above(options.most_weight), -kFeatureBits)),
      sums_(n_nodes * n_classes, 0),
      first_(n_nodes * ranges.half.size(), 0),
      second_(first_) {}

void Moments::add(const Tree& tree, const TableView& table, std::size_t first_of_all) {
  Levels level;
  for (std::size_t first = 0; first < table.x.n_rows; first += kBlockRows) {
    const Block block{table.x, first, std::min(kBlockRows, table.x.n_rows - first)};
    walk(tree, block, false, level, [&](std::size_t o, const Firing& firing) {
      Sum* sums = sums_.data() + o * table.n_classes;
      for (std::size_t i = 0; i < firing.size; ++i) {
        const std::size_t row = first + firing.row[i];
        const double weight = firing.phi[i] * table.weight[row];
        sums[table.y[row]] += static_cast<std::int64_t>(weight / unit_);
      }
      if (!tree.is_split(o)) add_features(o, block, table, firing);
      add_exemplars(o, firing, first_of_all + first);
      for (std::size_t child = o + 1; child < tree.nodes[o].end; child = tree.nodes[child].end) {
        for (std::size_t i = 0; i < firing.size; ++i) {
          const bool counts = firing.phi[i] > kNegligibleFiring;
          const double x = block.value(firing.row[i], tree.nodes[child].column);
          low[child] = counts && x < low[child] ? x : low[child];
          high[child] = counts && x > high[child] ? x : high[child];
        }
      }
    });
  }
}

void Moments::add_features(std::size_t node, const Block& block, const TableView& table, const Firing& firing) {
  std::array<double, kBlockRows> weight;
  for (std::size_t i = 0; i < firing.size; ++i)
    weight[i] = firing.phi[i] * table.weight[block.first + firing.row[i]] / feature_unit_;
  const std::size_t n_columns = ranges_.half.size();
  for (std::size_t j = 0; j < n_columns; ++j) {
    const double centre = ranges_.centre[j], scale = 1 / ranges_.half[j];
    std::int64_t first = 0, second = 0;
    for (std::size_t i = 0; i < firing.size; ++i) {
      double z = (block.value(firing.row[i], static_cast<Column>(j)) - centre) * scale;
      z = std::min(kFarthest, std::max(-kFarthest, z));
      first += static_cast<std::int64_t>(weight[i] * z);
      second += static_cast<std::int64_t>(weight[i] * z * z);
    }
    first_[node * n_columns + j] += first;
    second_[node * n_columns + j] += second;
  }
}

void Moments::add_exemplars(std::size_t node, const Firing& firing, std::size_t first) {
  auto& rows = exemplars[node];
  for (std::size_t i = 0; i < firing.size && rows.size() < n_exemplars_; ++i)
    if (firing.phi[i] > kTrifle) rows.push_back(first + firing.row[i]);
}

void Moments::merge(const Moments& other) {
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  for (std::size_t i = 0; i < first_.size(); ++i) first_[i] += other.first_[i], second_[i] += other.second_[i];
  for (std::size_t o = 0; o < exemplars.size(); ++o) {
    auto& rows = exemplars[o];
    rows.insert(rows.end(), other.exemplars[o].begin(), other.exemplars[o].end());
    std::sort(rows.begin(), rows.end());
    rows.resize(std::min(rows.size(), n_exemplars_));
  }
  for (std::size_t i = 0; i < low.size(); ++i) {
    low[i] = std::min(low[i], other.low[i]);
    high[i] = std::max(high[i], other.high[i]);
  }
}

void Moments::add_up_splits(const Tree& tree) {
  const std::size_t n_columns = ranges_.half.size();
  for (std::size_t o = tree.size(); o-- > 0;) {
    if (!tree.is_split(o)) continue;
    for (const std::size_t child : {o + 1, tree.nodes[o + 1].end})
      for (std::size_t j = 0; j < n_columns; ++j) {
        first_[o * n_columns + j] += first_[child * n_columns + j];
        second_[o * n_columns + j] += second_[child * n_columns + j];
      }
  }
}

std::vector<double> Moments::class_weight() const {
  std::vector<double> out;
  for (const Sum sum : sums_) out.push_back(static_cast<double>(sum) * unit_);
  return out;
}

double Moments::weight(std::size_t node) const {
  Sum total = 0;
  for (std::size_t c = 0; c < n_classes_; ++c) total += sums_[node * n_classes_ + c];
  return static_cast<double>(total) * unit_;
}

std::vector<double> Moments::mean() const {
  std::vector<double> out;
  const std::size_t d = ranges_.half.size();
  for (std::size_t i = 0; i < first_.size(); ++i) {
    const double total = weight(i / d);
    const double z = total > 0 ? static_cast<double>(first_[i]) * feature_unit_ / total : 0.0;
    out.push_back(ranges_.centre[i % d] + z * ranges_.half[i % d]);
  }
  return out;
}

std::vector<double> Moments::variance() const {
  std::vector<double> out;
  const std::size_t d = ranges_.half.size();
  for (std::size_t i = 0; i < first_.size(); ++i) {
    const double total = weight(i / d), half = ranges_.half[i % d];
    const double z = total > 0 ? static_cast<double>(first_[i]) * feature_unit_ / total : 0.0;
    const double square = total > 0 ? static_cast<double>(second_[i]) * feature_unit_ / total : 0.0;
    out.push_back(std::max(0.0, square - z * z) * half * half);
  }
  return out;
}

Moments take_moments(const Tree& tree, const TableView& table, const CanonicalRows& canonical,
                     const FeatureRanges& ranges, std::size_t n_exemplars, int n_threads, Monitor& monitor) {
  constexpr std::size_t kPieceRows = 32 * kBlockRows;
  const std::size_t n = canonical.row.size(), n_pieces = (n + kPieceRows - 1) / kPieceRows;
  const double most_weight = *std::max_element(canonical.weight.begin(), canonical.weight.end());
  const MomentOptions options{most_weight, n_exemplars};
  Moments total(tree.size(), table.n_classes, ranges, options);
  std::mutex mutex;
  auto add_piece = [&](std::size_t piece) {
    const auto rows = take_rows(table, canonical, piece * kPieceRows, std::min((piece + 1) * kPieceRows, n));
    Moments part(tree.size(), table.n_classes, ranges, options);
    part.add(tree, rows.table(), piece * kPieceRows);
    const std::lock_guard<std::mutex> lock(mutex);
    total.merge(part);
  };
  parallel_for(n_pieces, n_threads, add_piece, [&] { monitor.tick(tree.size() / 2 + 1); });
  total.add_up_splits(tree);
  return total;
}

}  // namespace ferl
