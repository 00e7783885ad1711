#include "read/scores.h"

#include <algorithm>
#include <cmath>

#include "core/exponential.h"
#include "core/walk.h"

namespace ferl {

double Supports::opens(std::size_t k, double x) const {
  if (is_missing(x)) return 1;
  if (n_categories[k] == 0) return gate[k](x);
  return x < n_categories[k] ? 1 : kUnseenGate;
}

namespace {

// Scores of one block of rows, and the sum of all weights that went into them, whatever their signs.
class BlockScores {
 public:
  BlockScores(const Tree& tree, const Weights& weights, const Supports& supports)
      : tree_(tree), weights_(weights), supports_(supports) {}

  void run(const Block& block, Levels& level) {
    const std::size_t n_classes = weights_.n_classes;
    score.resize(block.size * n_classes);
    for (std::size_t i = 0; i < block.size; ++i)
      std::copy(weights_.prior.begin(), weights_.prior.end(), score.begin() + i * n_classes);
    size.assign(block.size, weights_.prior_size);
    walk(tree_, block, false, level, [&](std::size_t o, const Firing& firing) {
      const std::int32_t rule = weights_.rule_of[o];
      if (rule < 0) return;
      const double* v = weights_.weight.data() + static_cast<std::size_t>(rule) * n_classes;
      for (std::size_t k = 0; k < firing.size; ++k) {
        double* own = score.data() + firing.row[k] * n_classes;
        for (std::size_t c = 0; c < n_classes; ++c) own[c] += firing.phi[k] * v[c];
        size[firing.row[k]] += firing.phi[k] * weights_.size[static_cast<std::size_t>(rule)];
      }
    });
    for (std::size_t i = 0; i < block.size; ++i) fade(block, i);
  }

  std::vector<double> score, size;  // [row][class], [row]

 private:
  void fade(const Block& block, std::size_t i) {
    double support = 1;
    for (std::size_t k = 0; k < supports_.column.size(); ++k)
      support *= supports_.opens(k, block.value(static_cast<Row>(i), supports_.column[k]));
    if (support == 1) return;
    const std::size_t n_classes = weights_.n_classes;
    for (std::size_t c = 0; c < n_classes; ++c) score[i * n_classes + c] *= support;
    size[i] *= support;
  }

  const Tree& tree_;
  const Weights& weights_;
  const Supports& supports_;
};

// Dempster's rule of one simple mass function for each class, of weight |w|: for the class where w > 0, against it where
// w < 0. Weights that sum to zero have a positive one unless all are zero, and with it the general formulas shorten: no
// class of a weight below zero has belief. All is scaled by exp(-largest), so that nothing overflows.
void masses_of(double* w, std::size_t n_classes, double* belief, double* plausibility, double* probability,
               double& ignorance) {
  double mean = 0;
  for (std::size_t c = 0; c < n_classes; ++c) mean += w[c];
  mean /= static_cast<double>(n_classes);
  double most = 0, against = 0;
  std::size_t n_for = 0;
  for (std::size_t c = 0; c < n_classes; ++c) {
    w[c] -= mean;
    most = std::max(most, w[c]);
    against += std::max(-w[c], 0.0);
    n_for += w[c] >= 0;
  }
  const double unit = exponential(-most);
  double total = unit, sum = 0, excluded = 1;
  for (std::size_t c = 0; c < n_classes; ++c) {
    probability[c] = exponential(w[c] - most);
    sum += probability[c];
    if (w[c] > 0) total += probability[c] - unit;
    else if (w[c] < 0) excluded *= 1 - exponential(w[c]);
  }
  for (std::size_t c = 0; c < n_classes; ++c) {
    // That all other classes are excluded is a mass on this one; two classes that nothing speaks against exclude it.
    const double rest = n_for == 1 ? unit * (1 - excluded) : unit;
    belief[c] = w[c] > 0 ? std::max(0.0, probability[c] - rest) / total : 0.0;
    plausibility[c] = std::min(1.0, probability[c] / total);
    belief[c] = std::min(belief[c], plausibility[c]);
    probability[c] /= sum;
  }
  ignorance = against > 0 ? std::min(1.0, exponential(-most - against) / total) : 1.0;
}

template <class Finish>
void over_scores(const Tree& tree, const Weights& weights, const Supports& supports, const MatrixView& x, int n_threads,
                 const Finish& finish) {
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    BlockScores scores(tree, weights, supports);
    scores.run(block, level);
    finish(block, scores);
  });
}

}  // namespace

void add_scores(const Tree& tree, const Weights& weights, const Supports& supports, const MatrixView& x, int n_threads,
                double* out) {
  over_scores(tree, weights, supports, x, n_threads, [&](const Block& block, const BlockScores& scores) {
    std::copy(scores.score.begin(), scores.score.end(), out + block.first * weights.n_classes);
  });
}

void weigh_evidence(const Tree& tree, const Weights& weights, const Supports& supports, const MatrixView& x,
                    int n_threads, MassView out) {
  const std::size_t n_classes = weights.n_classes;
  over_scores(tree, weights, supports, x, n_threads, [&](const Block& block, BlockScores& scores) {
    for (std::size_t i = 0; i < block.size; ++i) {
      const std::size_t row = block.first + i, at = row * n_classes;
      double* w = scores.score.data() + i * n_classes;
      masses_of(w, n_classes, out.belief + at, out.plausibility + at, out.probability + at, out.ignorance[row]);
      double net = 0;
      for (std::size_t c = 0; c < n_classes; ++c) net += std::fabs(w[c]);
      // What cancels: the share of all weights that did not reach the scores.
      out.conflict[row] = scores.size[i] > 0 ? std::clamp(1 - net / scores.size[i], 0.0, 1.0) : 0.0;
    }
  });
}

}  // namespace ferl
