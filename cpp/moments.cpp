#include "moments.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>

#include "walk.h"

namespace ferl {

Moments::Moments(std::size_t n_nodes, int n_classes, double most_weight)
    : low(n_nodes, kInfinity), high(n_nodes, -kInfinity), sums_(n_nodes * n_classes, 0) {
  int exponent = 0;
  std::frexp(most_weight, &exponent);
  unit_ = std::ldexp(1.0, exponent - 62);
}

void Moments::add(const Tree& tree, const TableView& table) {
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

void Moments::merge(const Moments& other) {
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  for (std::size_t i = 0; i < low.size(); ++i) {
    low[i] = std::min(low[i], other.low[i]);
    high[i] = std::max(high[i], other.high[i]);
  }
}

std::vector<double> Moments::class_weight() const {
  std::vector<double> out;
  for (const Sum sum : sums_) out.push_back(static_cast<double>(sum) * unit_);
  return out;
}

Moments take_moments(const Tree& tree, const TableView& table, const CanonicalRows& canonical, int n_threads,
                     Monitor& monitor) {
  constexpr std::size_t kPieceRows = 32 * kBlockRows;
  const std::size_t n = canonical.row.size(), n_pieces = (n + kPieceRows - 1) / kPieceRows;
  const double most_weight = *std::max_element(canonical.weight.begin(), canonical.weight.end());
  Moments total(tree.size(), table.n_classes, most_weight);
  std::mutex mutex;
  auto add_piece = [&](std::size_t piece) {
    const auto rows = take_rows(table, canonical, piece * kPieceRows, std::min((piece + 1) * kPieceRows, n));
    Moments part(tree.size(), table.n_classes, most_weight);
    part.add(tree, rows.table());
    const std::lock_guard<std::mutex> lock(mutex);
    total.merge(part);
  };
  parallel_for(n_pieces, n_threads, add_piece, [&] { monitor.tick(tree.size() / 2 + 1); });
  return total;
}

}  // namespace ferl
