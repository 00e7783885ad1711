#include "moments.h"

#include <limits>

#include "walk.h"

namespace ferl {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kPieceRows = 64 * kBlockRows;
constexpr std::size_t kPiecesAtOnce = 16;  // bounds the memory of partial sums, whatever the number of rows
}  // namespace

Moments::Moments(std::size_t n_nodes, int n_classes)
    : class_weight(n_nodes * n_classes, 0.0), low(n_nodes, kInfinity), high(n_nodes, -kInfinity) {}

void Moments::add(const Tree& tree, const TableView& table, std::size_t from, std::size_t to, double weight_scale) {
  Levels level;
  for (std::size_t first = from; first < to; first += kBlockRows) {
    const Block block{table.x, first, std::min(kBlockRows, to - first)};
    walk(tree, block, false, level, [&](std::size_t o, const Firing& firing) {
      double* sums = class_weight.data() + o * table.n_classes;
      for (std::size_t i = 0; i < firing.size; ++i) {
        const std::size_t row = first + firing.row[i];
        sums[table.y[row]] += firing.phi[i] * (table.weight[row] * weight_scale);
      }
      for (std::size_t child = o + 1; child < tree.nodes[o].end; child = tree.nodes[child].end) {
        for (std::size_t i = 0; i < firing.size; ++i) {
          const bool counts = firing.phi[i] > kNegligibleFiring && table.weight[first + firing.row[i]] > 0;
          const double x = block.value(firing.row[i], tree.nodes[child].column);
          low[child] = counts && x < low[child] ? x : low[child];
          high[child] = counts && x > high[child] ? x : high[child];
        }
      }
    });
  }
}

void Moments::merge(const Moments& other) {
  for (std::size_t i = 0; i < class_weight.size(); ++i) class_weight[i] += other.class_weight[i];
  for (std::size_t i = 0; i < low.size(); ++i) {
    low[i] = std::min(low[i], other.low[i]);
    high[i] = std::max(high[i], other.high[i]);
  }
}

Moments take_moments(const Tree& tree, const TableView& table, double weight_scale, int n_threads, Monitor& monitor) {
  const std::size_t n = table.x.n_rows, n_pieces = (n + kPieceRows - 1) / kPieceRows;
  Moments total(tree.size(), table.n_classes);
  for (std::size_t first = 0; first < n_pieces; first += kPiecesAtOnce) {
    std::vector<Moments> part(std::min(kPiecesAtOnce, n_pieces - first), Moments(tree.size(), table.n_classes));
    parallel_for(
        part.size(), n_threads,
        [&](std::size_t i) {
          const std::size_t from = (first + i) * kPieceRows;
          part[i].add(tree, table, from, std::min(from + kPieceRows, n), weight_scale);
        },
        [&] { monitor.tick(tree.size() / 2 + 1); });
    for (const auto& p : part) total.merge(p);
  }
  return total;
}

}  // namespace ferl
