#include "read/certify.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/parallel.h"
#include "read/box_walk.h"
#include "read/label_proof.h"
#include "read/score_proof.h"

namespace ferl {

namespace {

// The largest radius that `holds`, from below and to 9 digits. What holds for a box holds for every smaller one, so any
// radius that was tried with success is a right answer. The exponent is searched first, so that no unit needs a guess.
template <class Holds>
double largest_radius(double limit, const Holds& holds) {
  constexpr int kLeast = -1075, kBits = 30;
  if (holds(limit)) return limit;
  int low = kLeast, high = std::isfinite(limit) ? std::ilogb(limit) + 1 : 1024;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (holds(std::ldexp(1.0, middle)) ? low : high) = middle;
  }
  if (low == kLeast) return 0;
  double radius = std::ldexp(1.0, low);
  for (int bit = 1; bit <= kBits; ++bit) {
    const double larger = radius + std::ldexp(1.0, low - bit);
    if (larger > radius && larger < limit && holds(larger)) radius = larger;
  }
  return radius;
}

// As above, where a radius holds that `may` hold, which is cheap to ask, and that `proves` proves, which is dear. The
// search goes by what may hold, and proves what it ends at. If that fails, a bisection of the radii that the search took
// on its way finds the first one without a proof; the search is repeated below it. So a few radii are proven, not all.
template <class May, class Proves>
double largest_radius(double limit, const May& may, const Proves& proves) {
  double proven = 0, refused = kInfinity;  // what is known: a repeated search asks nothing twice
  bool is_refused = false;                 // infinity too is a radius
  while (true) {
    std::vector<double> taken{proven};
    const double radius = largest_radius(limit, [&](double r) {
      const bool holds = r <= proven || (!(is_refused && r >= refused) && may(r));
      if (holds && r > proven) taken.push_back(r);
      return holds;
    });
    if (radius <= proven || proves(radius)) return radius;
    std::size_t first = 0, last = taken.size() - 1;
    while (last - first > 1) {
      const std::size_t middle = first + (last - first) / 2;
      (proves(taken[middle]) ? first : last) = middle;
    }
    proven = taken[first], refused = taken[last], is_refused = true;
  }
}

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
