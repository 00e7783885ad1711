#include "rules/scores.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/exponential.h"
#include "core/kernels.h"
#include "core/walk.h"

namespace ferl {

double Supports::opens(std::size_t k, double x) const {
  if (is_missing(x)) return 1;
  if (n_categories[k] == 0) return gate[k](x);
  return x < n_categories[k] ? 1 : kUnseenGate;
}

namespace {

// The score of a class, from the sum of its weights and from its score without any.
double mixed(double sum, double support, double base) { return sum * support + (1 - support) * base; }

// Scores of one block of rows, and the sum of all weights that went into them, whatever their signs. Rules are short
// chains that most rows reach, so every node is fired for all rows of the block, in plain loops over columns.
class BlockScores {
 public:
  // behind: what counts the training rows behind the scores; null: neither these nor the sums of weights are wanted.
  void run(const Tree& tree, const RuleWeights& weights, const Supports& supports, const RowsBehind* behind,
           const Block& block) {
    tree_ = &tree, weights_ = &weights, supports_ = &supports, behind_ = behind;
    if (behind) make_room();
    const std::size_t n = block.size, n_classes = weights_->n_classes;
    gather(block);
    by_class_.resize(n_classes * kBlockRows);
    for (std::size_t c = 0; c < n_classes; ++c) std::fill_n(by_class_.data() + c * kBlockRows, n, weights_->prior[c]);
    if (behind_) size.assign(n, weights_->prior_size);
    add_rules(n);
    sum_.resize(n * n_classes);
    for (std::size_t c = 0; c < n_classes; ++c)
      for (std::size_t i = 0; i < n; ++i) sum_[i * n_classes + c] = by_class_[c * kBlockRows + i];
    add_curves(n);
    if (weights_->cases) add_cases(block);
    support = product_of_gates(n);
    score.resize(n * n_classes);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < n_classes; ++c)
        score[i * n_classes + c] = mixed(sum_[i * n_classes + c], fade_[i], weights_->base[c]);
    for (std::size_t i = 0; behind_ && i < n; ++i) size[i] *= fade_[i];
  }

  // The sum of the absolute weights of a row that did not cancel, as far as the gates are open.
  double net(std::size_t i) const {
    const std::size_t n_classes = weights_->n_classes;
    const auto gated = [&](std::size_t c) { return sum_[i * n_classes + c] * fade_[i]; };
    double mean = 0, sum = 0;
    for (std::size_t c = 0; c < n_classes; ++c) mean += gated(c);
    mean /= static_cast<double>(n_classes);
    for (std::size_t c = 0; c < n_classes; ++c) sum += std::fabs(gated(c) - mean);
    return sum;
  }

  // The training rows behind the scores of each row, gates open.
  void count_rows(std::size_t n, double* out) {
    double counted[kBlockRows] = {};  // a whole number of vectors
    behind_->count(n, standardised_.data(), thinnest_, counted);
    std::copy_n(counted, n, out);
  }

  std::vector<double> score, size;  // [row][class], [row]
  const double* support = nullptr;  // [row]: of all gates

 private:
  // Where the standardised firing of a rule begins, of the vector of rows that begins with row i. The firings of the
  // padding stay zero.
  double* standardised(std::size_t rule, std::size_t i) {
    return standardised_.data() + i * behind_->n_padded() + rule * kLanes;
  }
  void make_room() {
    standardised_.resize(behind_->n_padded() * kBlockRows);
    for (std::size_t rule = behind_->n_rules(); rule < behind_->n_padded(); ++rule)
      for (std::size_t i = 0; i < kBlockRows; i += kLanes) std::fill_n(standardised(rule, i), kLanes, 0.0);
  }

  void gather(const Block& block) {
    columns_.resize(weights_->columns.size() * kBlockRows);
    for (std::size_t i = 0; i < block.size; ++i)
      for (std::size_t k = 0; k < weights_->columns.size(); ++k)
        columns_[k * kBlockRows + i] = block.value(static_cast<Row>(i), weights_->columns[k]);
  }

  void add_rules(std::size_t n) {
    const std::size_t n_classes = weights_->n_classes;
    phi_.resize((tree_->max_depth + 1) * kBlockRows);
    std::fill_n(phi_.data(), n, 1.0);
    for (std::size_t o = 1; o < tree_->size(); ++o) {
      const Node& node = tree_->nodes[o];
      const double* x = columns_.data() + weights_->column_of_node[o] * kBlockRows;
      double* phi = phi_.data() + static_cast<std::size_t>(node.depth) * kBlockRows;
      const double* above = phi - kBlockRows;
      if (node.is_categorical())
        for (std::size_t i = 0; i < n; ++i) phi[i] = above[i] * node.fits(x[i]);
      else
        kernels().fire(n, x, above, node.membership, node.share, nullptr, phi);
      const std::int32_t rule = weights_->rule_of[o];
      if (rule < 0) continue;
      const double* v = weights_->weight.data() + static_cast<std::size_t>(rule) * n_classes;
      for (std::size_t c = 0; c < n_classes; ++c)
        kernels().add_weighted(n, phi, v[c], by_class_.data() + c * kBlockRows);
      if (!behind_) continue;
      kernels().add_weighted(n, phi, weights_->size[static_cast<std::size_t>(rule)], size.data());
      const auto own = static_cast<std::size_t>(rule);
      behind_->standardise(n, own, phi, standardised(own, 0));
    }
  }

  void add_curves(std::size_t n) {
    const CurvesAndMaps& curves = weights_->curves;
    const std::size_t n_classes = weights_->n_classes;
    bins_.resize(curves.inputs.size() * kBlockRows);
    for (std::size_t k = 0; k < curves.inputs.size(); ++k) {
      const double* x = columns_.data() + weights_->column_of_curve[k] * kBlockRows;
      curves.inputs[k].find_bins(x, n, bins_.data() + k * kBlockRows);
    }
    std::uint32_t cell[kBlockRows];
    std::fill_n(thinnest_, n, 0.0);
    for (const CurvesAndMaps::Term& term : curves.terms) {
      std::fill_n(cell, n, term.first_cell);
      for (const CurvesAndMaps::Axis& axis : term.axes) {
        const Bin* bins = bins_.data() + axis.input * kBlockRows;
        for (std::size_t i = 0; i < n; ++i) cell[i] += axis.step[bins[i]];
      }
      // The values of a cell are one after the other, so the sums are, too.
      const double* value = curves.value.data();
      double* sum = sum_.data();
      if (n_classes == 2)
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t c = 0; c < 2; ++c) sum[2 * i + c] += value[2 * cell[i] + c];
      else
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t c = 0; c < n_classes; ++c) sum[i * n_classes + c] += value[cell[i] * n_classes + c];
      if (!behind_) continue;
      for (std::size_t i = 0; i < n; ++i) size[i] += curves.size[cell[i]];
      for (std::size_t i = 0; i < n; ++i) thinnest_[i] = std::max(thinnest_[i], behind_->thinness(cell[i]));
    }
  }

  void add_cases(const Block& block) {
    const std::size_t n_classes = weights_->n_classes;
    of_cases_.resize(n_classes);
    for (std::size_t i = 0; i < block.size; ++i) {
      weights_->cases->add(block.x.row(block.first + i), block.x.column_stride, search_, of_cases_.data());
      for (std::size_t c = 0; c < n_classes; ++c) sum_[i * n_classes + c] += of_cases_[c];
      for (std::size_t c = 0; behind_ && c < n_classes; ++c) size[i] += std::fabs(of_cases_[c]);
    }
  }

  // The product of the gates of each row. Also stores the product of the gates that fade scores.
  const double* product_of_gates(std::size_t n) {
    double *now = support_, *next = support_ + kBlockRows;
    std::fill_n(now, n, 1.0);
    std::fill_n(fade_, n, 1.0);
    for (std::size_t k = 0; k < supports_->column.size(); ++k) {
      const double* x = columns_.data() + weights_->column_of_gate[k] * kBlockRows;
      if (supports_->n_categories[k] == 0)
        kernels().open(n, x, now, supports_->gate[k], next);
      else
        for (std::size_t i = 0; i < n; ++i) next[i] = now[i] * supports_->opens(k, x[i]);
      std::swap(now, next);
      if (k + 1 == supports_->n_fading) std::copy_n(now, n, fade_);
    }
    return now;
  }

  const Tree* tree_ = nullptr;
  const RuleWeights* weights_ = nullptr;
  const Supports* supports_ = nullptr;
  const RowsBehind* behind_ = nullptr;
  AlignedVector<double> standardised_;            // [vector of rows][rule][lane]: firings
  std::vector<double> columns_, phi_, by_class_;  // [column], [depth], [class], each with the rows of the block
  std::vector<double> of_cases_;                  // [class]
  CaseSearch search_;
  std::vector<Bin> bins_;    // [input of the curves], likewise
  std::vector<double> sum_;  // [row][class]: of the prior, rules and curves
  double support_[2 * kBlockRows], fade_[kBlockRows], thinnest_[kBlockRows];
};

// Centres the weights; computes the exponential of each weight minus the largest, and their sum.
struct Powers {
  double most, sum;
};
Powers powers_of(double* w, std::size_t n_classes, double* power) {
  double mean = 0, most = 0, sum = 0;
  for (std::size_t c = 0; c < n_classes; ++c) mean += w[c];
  mean /= static_cast<double>(n_classes);
  for (std::size_t c = 0; c < n_classes; ++c) {
    w[c] -= mean;
    most = std::max(most, w[c]);
  }
  for (std::size_t c = 0; c < n_classes; ++c) sum += power[c] = w[c] == most ? 1.0 : exponential(w[c] - most);
  return {most, sum};
}

// Probabilities of scores, which are centred on the way.
void softmax(double* score, std::size_t n_classes, double* out) {
  const double sum = powers_of(score, n_classes, out).sum;
  for (std::size_t c = 0; c < n_classes; ++c) out[c] /= sum;
}

// No term is below zero: log(sum) as the largest power is one, and the others as powers fall below it.
double entropy_of(const double* score, std::size_t n_classes) {
  const double most = *std::max_element(score, score + n_classes);
  double sum = 0, fallen = 0;
  for (std::size_t c = 0; c < n_classes; ++c) {
    const double below = std::min(most - score[c], 700.0), power = exponential(-below);
    sum += power;
    fallen += power * below;
  }
  return natural_log(sum) + fallen / sum;
}

template <class Finish>
void over_scores(const Tree& tree, const RuleWeights& weights, const Supports& supports, const RowsBehind* behind,
                 const MatrixView& x, int n_threads, const Finish& finish) {
  over_blocks(x, n_threads, [&](const Block& block, Levels&) {
    thread_local BlockScores scores;  // its memory serves all blocks
    scores.run(tree, weights, supports, behind, block);
    finish(block, scores);
  });
}

}  // namespace

void list_columns(const Tree& tree, const Supports& supports, RuleWeights& weights) {
  std::map<Column, std::size_t> index;
  const auto index_of = [&](Column column) {
    const auto [found, is_new] = index.try_emplace(column, weights.columns.size());
    if (is_new) weights.columns.push_back(column);
    return found->second;
  };
  weights.column_of_node.assign(tree.size(), 0);
  for (std::size_t o = 1; o < tree.size(); ++o) weights.column_of_node[o] = index_of(tree.nodes[o].column);
  for (const Column column : supports.column) weights.column_of_gate.push_back(index_of(column));
  for (const CurvesAndMaps::Input& input : weights.curves.inputs)
    weights.column_of_curve.push_back(index_of(input.column));
}

void add_scores(const Tree& tree, const RuleWeights& weights, const Supports& supports, const MatrixView& x,
                int n_threads, double* out) {
  over_scores(tree, weights, supports, nullptr, x, n_threads, [&](const Block& block, const BlockScores& scores) {
    std::copy(scores.score.begin(), scores.score.end(), out + block.first * weights.n_classes);
  });
}

void give_probabilities(const Tree& tree, const RuleWeights& weights, const Supports& supports, const MatrixView& x,
                        int n_threads, double* out) {
  const std::size_t n_classes = weights.n_classes;
  over_scores(tree, weights, supports, nullptr, x, n_threads, [&](const Block& block, BlockScores& scores) {
    for (std::size_t i = 0; i < block.size; ++i) {
      double* own = out + (block.first + i) * n_classes;
      softmax(scores.score.data() + i * n_classes, n_classes, own);
    }
  });
}

void give_probabilities(const Tree& tree, const RuleWeights& weights, const Supports& supports, const double* row,
                        double* out) {
  const std::size_t n_classes = weights.n_classes;
  std::vector<double> phi(tree.max_depth + 1, 1.0), score(weights.prior);
  for (std::size_t o = 1; o < tree.size(); ++o) {
    const Node& node = tree.nodes[o];
    const auto depth = static_cast<std::size_t>(node.depth);
    phi[depth] = phi[depth - 1] * node.fits(row[node.column]);
    if (weights.rule_of[o] < 0) continue;
    const double* v = weights.weight.data() + static_cast<std::size_t>(weights.rule_of[o]) * n_classes;
    for (std::size_t c = 0; c < n_classes; ++c) score[c] += phi[depth] * v[c];
  }
  std::vector<Bin> bins;
  weights.curves.find_bins(row, bins);
  for (const CurvesAndMaps::Term& term : weights.curves.terms) {
    const double* v = weights.curves.values(weights.curves.cell(term, bins.data()));
    for (std::size_t c = 0; c < n_classes; ++c) score[c] += v[c];
  }
  if (weights.cases) {
    thread_local CaseSearch search;
    std::vector<double> added(n_classes);
    weights.cases->add(row, 1, search, added.data());
    for (std::size_t c = 0; c < n_classes; ++c) score[c] += added[c];
  }
  double fade = 1;
  for (std::size_t k = 0; k < supports.n_fading; ++k) fade *= supports.opens(k, row[supports.column[k]]);
  for (std::size_t c = 0; c < n_classes; ++c) score[c] = mixed(score[c], fade, weights.base[c]);
  softmax(score.data(), n_classes, out);
}

void weigh_evidence(const Tree& tree, const RuleWeights& weights, const Supports& supports, const RowsBehind& behind,
                    const MatrixView& x, int n_threads, WeighedView out) {
  const std::size_t n_classes = weights.n_classes;
  over_scores(tree, weights, supports, &behind, x, n_threads, [&](const Block& block, BlockScores& scores) {
    scores.count_rows(block.size, out.n_rows + block.first);
    for (std::size_t i = 0; i < block.size; ++i) {
      const std::size_t row = block.first + i;
      softmax(scores.score.data() + i * n_classes, n_classes, out.probability + row * n_classes);
      // What cancels: the share of all weights that did not reach the scores.
      out.conflict[row] = scores.size[i] > 0 ? std::clamp(1 - scores.net(i) / scores.size[i], 0.0, 1.0) : 0.0;
      out.support[row] = scores.support[i];
    }
  });
}

void measure_entropy(const Tree& tree, const RuleWeights& weights, const Supports& supports, const MatrixView& x,
                     int n_threads, double* out) {
  const std::size_t n_classes = weights.n_classes;
  over_scores(tree, weights, supports, nullptr, x, n_threads, [&](const Block& block, const BlockScores& scores) {
    for (std::size_t i = 0; i < block.size; ++i)
      out[block.first + i] = entropy_of(scores.score.data() + i * n_classes, n_classes);
  });
}

}  // namespace ferl
