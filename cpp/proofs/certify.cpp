#include "proofs/certify.h"

#include "proofs/box_walk.h"
#include "proofs/radius_search.h"

namespace ferl {

void bound_firings(const Tree& tree, const MatrixView& x, double radius, const double* scale, bool gated, int n_threads,
                   double* low, double* high) {
  over_rows(x.n_rows, n_threads, [&] {
    return [&, walk = BoxWalk(tree)](std::size_t i) mutable {
      walk.set_box(x, i, radius, scale);
      walk.run(gated);
      for (const std::size_t o : walk.reached) {
        low[i * tree.size() + o] = walk.firing[o].low;
        high[i * tree.size() + o] = walk.firing[o].high;
      }
    };
  });
}

void open_radius(const Tree& tree, const MatrixView& x, const double* scale, int n_threads, double* radius) {
  over_rows(x.n_rows, n_threads, [&] {
    return [&, walk = BoxWalk(tree)](std::size_t i) mutable {
      radius[i] = largest_radius(kInfinity, [&](double r) {
        walk.set_box(x, i, r, scale);
        walk.run(true);
        return walk.all_open;
      });
    };
  });
}

}  // namespace ferl
