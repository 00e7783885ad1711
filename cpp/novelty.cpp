#include "novelty.h"

#include <algorithm>

#include "kernels.h"
#include "walk.h"

namespace ferl {

Exemplars::Exemplars(const Tree& tree, const std::vector<NodeId>& exemplar, std::size_t per_node, const double* row,
                     const std::vector<double>& scale)
    : scale_(scale), group_(tree.size()) {
  const std::size_t d = scale.size();
  for (std::size_t o = 0; o < tree.size(); ++o) {
    if (o > 0 && !tree.is_leaf(o)) continue;
    const NodeId* own = exemplar.data() + o * per_node;
    const auto n = static_cast<std::size_t>(std::find(own, own + per_node, -1) - own);
    group_[o] = {place_.size() / kLanes, (n + kLanes - 1) / kLanes};
    for (std::size_t first = 0; first < n; first += kLanes) {
      for (std::size_t j = 0; j < d; ++j)
        for (std::size_t lane = 0; lane < kLanes; ++lane)  // the last exemplar fills up the last vector
          lanes_.push_back(row[static_cast<std::size_t>(own[std::min(first + lane, n - 1)]) * d + j] / scale[j]);
      for (std::size_t lane = 0; lane < kLanes; ++lane) place_.push_back(own[std::min(first + lane, n - 1)]);
    }
  }
}

void Exemplars::nearest(const Tree& tree, const MatrixView& x, int n_threads, NodeId* place, double* distance) const {
  const std::size_t d = scale_.size();
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    std::vector<double> scaled(block.size * d), best(block.size, kInfinity);
    std::vector<std::size_t> where(block.size, 0);
    for (std::size_t i = 0; i < block.size; ++i)
      for (std::size_t j = 0; j < d; ++j)
        scaled[i * d + j] = block.value(static_cast<Row>(i), static_cast<Column>(j)) / scale_[j];
    const auto search = [&](const Group& group, Row i) {
      kernels().nearest_exemplar(scaled.data() + i * d, d, lanes_.data(), group.begin, group.n, &best[i], &where[i]);
    };
    walk(tree, block, false, level, [&](std::size_t o, const Firing& firing) {
      if (!tree.is_leaf(o)) return;
      for (std::size_t i = 0; i < firing.size; ++i) search(group_[o], firing.row[i]);
    });
    for (std::size_t i = 0; i < block.size; ++i) {
      if (best[i] == kInfinity) search(group_[0], static_cast<Row>(i));
      const bool found = best[i] < kInfinity;
      place[block.first + i] = found ? place_[where[i]] : -1;
      distance[block.first + i] = found ? best[i] / static_cast<double>(d) : 0.0;
    }
  });
}

void residual(const Tree& tree, const MatrixView& x, const double* mean, const double* precision, int n_threads,
              double* out) {
  const std::size_t d = x.n_columns;
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    std::vector<double> total(block.size, 0.0);
    walk(tree, block, true, level, [&](std::size_t o, const Firing& firing) {
      if (!tree.is_leaf(o)) return;
      for (std::size_t i = 0; i < firing.size; ++i) {
        total[firing.row[i]] += firing.phi[i];
        double* own = out + (block.first + firing.row[i]) * d;
        for (std::size_t j = 0; j < d; ++j) {
          const double away = block.value(firing.row[i], static_cast<Column>(j)) - mean[o * d + j];
          own[j] += firing.phi[i] * away * away * precision[o * d + j];
        }
      }
    });
    for (std::size_t i = 0; i < block.size; ++i)
      for (std::size_t j = 0; j < d && total[i] > 0; ++j) out[(block.first + i) * d + j] /= total[i];
  });
}

}  // namespace ferl
