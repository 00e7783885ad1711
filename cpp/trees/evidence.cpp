#include "trees/evidence.h"

#include <algorithm>
#include <cmath>

#include "core/walk.h"

namespace ferl {

namespace {

// Work on one block of rows. The output arrays double as accumulators: belief holds the unnormalised masses A(c),
// ignorance holds T, conflict the logarithm of the factor by which both were scaled up.
class Combiner {
 public:
  Combiner(const Tree& tree, const Sources& sources, Levels& level)
      : tree_(tree), sources_(sources), n_classes_(sources.n_classes), level_(level) {}

  void run(const Block& block, EvidenceView out) {
    out_ = out;
    const double start =
        sources_.combination == Combination::dempster || sources_.combination == Combination::chain ? 1.0 : 0.0;
    std::fill_n(out.ignorance, block.size, start);
    std::fill_n(out.conflict, block.size, 0.0);
    std::fill_n(out.belief, block.size * n_classes_, 0.0);
    path_odds_.resize(static_cast<std::size_t>(n_classes_));
    auto visit = [this](std::size_t o, const Firing& firing) { add(o, firing); };
    walk(tree_, block, sources_.gated, level_, visit);
    for (std::size_t i = 0; i < block.size; ++i) finish(i);
  }

 private:
  void add(std::size_t o, const Firing& firing) {
    if (sources_.combination == Combination::chain) return add_chain(o, firing);
    if (!sources_.is_source[o]) return;
    const double* p = sources_.consequent.data() + o * n_classes_;
    if (sources_.combination == Combination::dempster) {
      for (std::size_t i = 0; i < firing.size; ++i) {
        const double phi = firing.phi[i] * sources_.reliability[o];
        add_dempster(firing.row[i], phi, 1 - phi, p);
      }
    } else if (sources_.combination == Combination::cautious) {
      for (std::size_t i = 0; i < firing.size; ++i)
        raise_odds(out_.belief + firing.row[i] * n_classes_, firing.phi[i] * sources_.reliability[o], p);
    } else {
      for (std::size_t i = 0; i < firing.size; ++i) {
        const double phi = firing.phi[i] * sources_.reliability[o];
        double* sum = out_.belief + firing.row[i] * n_classes_;
        for (int c = 0; c < n_classes_; ++c) sum[c] += phi * p[c];
        out_.ignorance[firing.row[i]] += phi;
      }
    }
  }

  // Dempster's rule with one more source, of mass s(c) = phi p(c) on the classes and theta on the frame. With
  // A(c) = Q(c) - T every term is non-negative and nothing cancels.
  void add_dempster(Row row, double phi, double theta, const double* p) {
    double* mass = out_.belief + row * n_classes_;
    const double frame = out_.ignorance[row];
    double sum = frame * theta;
    out_.ignorance[row] = sum;
    for (int c = 0; c < n_classes_; ++c) {
      const double s = phi * p[c];
      mass[c] = mass[c] * (theta + s) + frame * s;
      sum += mass[c];
    }
    if (sum < kLeastMass) scale_up(row);
  }

  void scale_up(Row row) {
    double* mass = out_.belief + row * n_classes_;
    for (int c = 0; c < n_classes_; ++c) mass[c] *= kMassScale;
    out_.ignorance[row] *= kMassScale;
    out_.conflict[row] += 1;
  }

  // Cautious rule in terms of e(c) = m(c) / m(frame): the largest over the sources.
  void raise_odds(double* odds, double phi, const double* p) const {
    const double capped = std::min(phi, kMostFiring), ratio = capped / (1 - capped);
    for (int c = 0; c < n_classes_; ++c) odds[c] = std::max(odds[c], ratio * p[c]);
  }

  // All nodes of a path count by the firing of its end, so that the evidence of a path begins at zero and grows with it.
  // By the firing of each node, a path that begins to fire would add the evidence of its first nodes at once.
  void add_chain(std::size_t end, const Firing& firing) {
    if (!sources_.is_source[end]) return;
    for (std::size_t i = 0; i < firing.size; ++i) {
      std::fill(path_odds_.begin(), path_odds_.end(), 0.0);
      for (std::size_t o = end;; o = tree_.nodes[o].parent) {
        if (o == 0 && tree_.size() > 1) break;
        raise_odds(path_odds_.data(), firing.phi[i] * sources_.reliability[o],
                   sources_.consequent.data() + o * n_classes_);
        if (o == 0) break;
      }
      add_path(firing.row[i], path_odds_.data());
    }
  }

  // Odds e(c) stand for the masses e(c) / (1 + sum of e), and 1 / (1 + sum of e) on the frame.
  void add_path(Row row, const double* odds) {
    double sum = 1;
    for (int c = 0; c < n_classes_; ++c) sum += odds[c];
    add_dempster(row, 1 / sum, 1 / sum, odds);
  }

  void finish(std::size_t i) {
    double* mass = out_.belief + i * n_classes_;
    if (sources_.combination == Combination::vote) {
      const double total = out_.ignorance[i], scale = std::max(total, 1.0);
      for (int c = 0; c < n_classes_; ++c) mass[c] /= scale;
      out_.ignorance[i] = std::max(0.0, 1 - total);
      return;
    }
    if (sources_.combination == Combination::cautious) out_.ignorance[i] = 1;  // odds against the frame's
    double sum = out_.ignorance[i];
    for (int c = 0; c < n_classes_; ++c) sum += mass[c];
    if (!(sum > 0)) {  // the sources exclude each other entirely: no evidence is left
      out_.ignorance[i] = out_.conflict[i] = 1;
      return;
    }
    for (int c = 0; c < n_classes_; ++c) mass[c] /= sum;
    out_.ignorance[i] /= sum;
    if (sources_.combination == Combination::cautious) return;  // a maximum loses nothing to conflict
    out_.conflict[i] = out_.conflict[i] > 0 ? 1.0 : std::max(0.0, 1 - sum);
  }

  const Tree& tree_;
  const Sources& sources_;
  const int n_classes_;
  EvidenceView out_{};
  Levels& level_;
  std::vector<double> path_odds_;  // [class]
};

}  // namespace

void combine_evidence(const Tree& tree, const Sources& sources, const MatrixView& x, int n_threads, EvidenceView out) {
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    Combiner combiner(tree, sources, level);
    combiner.run(
        block, {out.belief + block.first * sources.n_classes, out.ignorance + block.first, out.conflict + block.first});
  });
}

}  // namespace ferl
