#include "fire.h"

#include "walk.h"

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
      if (tree.is_leaf(o)) return;
      const Node& side = tree.nodes[o + 1];  // both sides of a split have its feature and its gate
      for (std::size_t i = 0; i < firing.size; ++i) {
        const double lost = firing.phi[i] * (1 - side.gate(block.value(firing.row[i], side.column)));
        out[(block.first + firing.row[i]) * x.n_columns + side.column] += lost;
      }
    });
  });
}

}  // namespace ferl
