#include "read/certify.h"

#include <algorithm>

#include "core/parallel.h"
#include "read/box_walk.h"
#include "read/label_proof.h"
#include "read/radius_search.h"
#include "read/score_proof.h"

namespace ferl {

namespace {

double radius_of_row(LabelProof& proof, const Certified& model, const MatrixView& x, std::size_t row, Label label) {
  proof.stand_at(x, row);
  double radius = kInfinity;
  for (Label other = 0; other < model.sources.n_classes && radius > 0; ++other) {
    if (other == label) continue;
    radius = largest_radius(radius, [&](double r) {
      proof.box.set_box(x, row, r, model.scale);
      proof.walk();
      return proof.stays_ahead(label, other);
    });
  }
  return radius;
}

// Calls read(row) for every row; make() gives each task its own reader and scratch memory.
template <class Make>
void over_rows(std::size_t n_rows, int n_threads, const Make& make) {
  constexpr std::size_t kRowsPerTask = 16;
  auto task = [&](std::size_t t) {
    auto read = make();
    for (std::size_t i = t * kRowsPerTask; i < std::min((t + 1) * kRowsPerTask, n_rows); ++i) read(i);
  };
  parallel_for((n_rows + kRowsPerTask - 1) / kRowsPerTask, n_threads, task, [] {});
}

double radius_of_row(ScoreProof& proof, const CertifiedScores& model) {
  double radius = kInfinity;
  for (const Label other : proof.others()) {
    if (!(radius > 0)) break;
    const auto is_trivial = [&](double r) {
      proof.set_box(r, model.scale);
      return proof.is_still() || proof.is_silent();
    };
    radius = largest_radius(
        radius, [&](double r) { return is_trivial(r) || proof.may_stay_ahead(other); },
        [&](double r) { return is_trivial(r) || proof.stays_ahead(other); });
  }
  return radius;
}

}  // namespace

void bound_firings(const Tree& tree, const MatrixView& x, double radius, const double* scale, bool gated,
                   int n_threads, double* low, double* high) {
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

void certified_radius(const Certified& model, const MatrixView& x, const Label* label, int n_threads, double* radius) {
  if (model.tree.size() == 1) {  // the same answer everywhere, even when classes tie
    std::fill_n(radius, x.n_rows, kInfinity);
    return;
  }
  over_rows(x.n_rows, n_threads, [&] {
    return [&, proof = LabelProof(model.tree, model.sources)](std::size_t i) mutable {
      radius[i] = radius_of_row(proof, model, x, i, label[i]);
    };
  });
}

void certified_radius(const CertifiedScores& model, const MatrixView& x, const Label* label, int n_threads,
                      double* radius) {
  over_rows(x.n_rows, n_threads, [&] {
    return [&, proof = ScoreProof(model.tree, model.weights, model.supports)](std::size_t i) mutable {
      proof.stand_at(x, i, label[i]);
      radius[i] = radius_of_row(proof, model);
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
