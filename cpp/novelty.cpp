#include "novelty.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels.h"
#include "walk.h"

namespace ferl {

namespace {

// Values further away than this in units are all equally far for the search, so that no sum of them overflows.
constexpr double kFarAway = 1e15;
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

bool fits_a_child(const Tree& tree, std::size_t node, const Block& block, Row row) {
  for (std::size_t child = node + 1; child < tree.nodes[node].end; child = tree.nodes[child].end)
    if (tree.nodes[child].membership(block.value(row, tree.nodes[child].column)) > 0) return true;
  return false;
}

}  // namespace

Exemplars::Exemplars(const Tree& tree, const NodeId* exemplar, std::size_t per_node, const double* row,
                     std::size_t n_features, const Scale& scale)
    : row_(row), n_features_(n_features), scale_(scale), group_(tree.size()) {
  std::vector<float> units(n_features);
  std::vector<std::size_t> source(tree.size());  // the node whose exemplars are taken
  for (std::size_t o = 0; o < tree.size(); ++o) {
    // With very wide bands every row may reach a node only weakly; then those of the node above speak for it.
    const bool has_own = per_node > 0 && exemplar[o * per_node] >= 0;
    source[o] = has_own || o == 0 ? o : source[tree.nodes[o].parent];
    if (tree.is_split(o)) continue;
    const NodeId* own = exemplar + source[o] * per_node;
    const auto n = static_cast<std::size_t>(std::find(own, own + per_node, -1) - own);
    group_[o] = {place_.size() / kFloatLanes, (n + kFloatLanes - 1) / kFloatLanes};
    for (std::size_t first = 0; first < n; first += kFloatLanes) {
      const std::size_t at = lanes_.size();
      lanes_.resize(at + kFloatLanes * n_features);
      for (std::size_t lane = 0; lane < kFloatLanes; ++lane) {
        place_.push_back(own[std::min(first + lane, n - 1)]);  // the last one fills up the vector
        to_units(row + static_cast<std::size_t>(place_.back()) * n_features, 1, units.data());
        for (std::size_t j = 0; j < n_features; ++j) lanes_[at + j * kFloatLanes + lane] = units[j];
      }
    }
  }
}

void Exemplars::to_units(const double* values, std::ptrdiff_t stride, float* out) const {
  kernels().to_units(values, stride, n_features_, scale_.centre, scale_.per_unit, kFarAway, out);
}

void Exemplars::distance(const Tree& tree, const MatrixView& x, int n_threads, std::size_t n_out, double* out) const {
  const std::size_t d = n_features_;
  const auto nearest = kernels().nearest_exemplar;
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    std::vector<float> units(block.size * d);
    std::vector<std::uint64_t> best(block.size, kNowhere);
    for (std::size_t i = 0; i < block.size; ++i)
      to_units(x.row(block.first + i), x.column_stride, units.data() + i * d);
    walk(tree, block, false, level, [&](std::size_t o, const Firing& firing) {
      if (group_[o].n == 0) return;
      for (std::size_t k = 0; k < firing.size; ++k) {
        const Row i = firing.row[k];
        if (!tree.is_leaf(o) && fits_a_child(tree, o, block, i)) continue;
        const auto [begin, n] = group_[o];
        best[i] = std::min(best[i], nearest(units.data() + i * d, d, lanes_.data(), begin, n));
      }
    });
    for (std::size_t i = 0; i < block.size; ++i) {
      double* own = out + (block.first + i) * n_out;
      if (best[i] == kNowhere) std::fill_n(own, n_out, kNaN);
      else measure(x.row(block.first + i), x.column_stride, place_[best[i] & 0xffffffff], n_out, own);
    }
  });
}

// The distance again, exactly: the search rounds.
void Exemplars::measure(const double* x, std::ptrdiff_t stride, NodeId exemplar, std::size_t n_out, double* out) const {
  const double* row = row_ + static_cast<std::size_t>(exemplar) * n_features_;
  const double share = 1.0 / static_cast<double>(n_features_);
  double sum = 0;
  for (std::size_t j = 0; j < n_features_; ++j) {
    const double away = std::abs(x[static_cast<std::ptrdiff_t>(j) * stride] - row[j]) * scale_.per_unit[j] * share;
    if (n_out > 1) out[j] = away;
    sum += away;
  }
  if (n_out == 1) *out = sum;
}

void residual(const Tree& tree, const MatrixView& x, const double* mean, const double* precision, int n_threads,
              double* out) {
  const std::size_t d = x.n_columns;
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    std::vector<double> total(block.size, 0.0);
    const auto add = [&](std::size_t o, Row i, double phi) {
      total[i] += phi;
      double* own = out + (block.first + i) * d;
      for (std::size_t j = 0; j < d; ++j) {
        // The precision first: where it is zero a square that overflows must not make a NaN of it.
        const double away = block.value(i, static_cast<Column>(j)) - mean[o * d + j];
        own[j] += phi * (away * precision[o * d + j]) * away;
      }
    };
    walk(tree, block, false, level, [&](std::size_t o, const Firing& firing) {
      if (!tree.is_leaf(o)) return;
      for (std::size_t k = 0; k < firing.size; ++k) add(o, firing.row[k], firing.phi[k]);
    });
    for (std::size_t i = 0; i < block.size; ++i) {
      if (total[i] == 0) add(0, static_cast<Row>(i), 1.0);
      for (std::size_t j = 0; j < d; ++j) out[(block.first + i) * d + j] /= total[i];
    }
  });
}

}  // namespace ferl
