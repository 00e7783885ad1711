#include "core/fire.h"

#include "core/walk.h"

namespace ferl {

void fire_nodes(const Tree& tree, const MatrixView& x, bool gated, int n_threads, double* out) {
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    auto visit = [&](std::size_t o, const Firing& firing) {
      for (std::size_t i = 0; i < firing.size; ++i)
        out[(block.first + firing.row[i]) * tree.size() + o] = firing.phi[i];
    };
    walk(tree, block, gated, level, visit);
  });
}

void support_deficit(const Tree& tree, const MatrixView& x, int n_threads, double* out) {
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    walk(tree, block, true, level, [&](std::size_t o, const Firing& firing) {
      for (std::size_t child = o + 1; child < tree.nodes[o].end; child = tree.nodes[child].end) {
        const Node& node = tree.nodes[child];
        for (std::size_t i = 0; i < firing.size; ++i) {
          const double value = block.value(firing.row[i], node.column);
          const double lost = firing.phi[i] * node.fits(value) * (1 - node.opens(value));
          out[(block.first + firing.row[i]) * x.n_columns + node.column] += lost;
        }
      }
    });
  });
}

}  // namespace ferl
