#include "trees/word_evidence.h"

#include <algorithm>
#include <numeric>

#include "core/exponential.h"

namespace ferl {

void pad(ReachedRows& rows) {
  for (; rows.size() % kLanes != 0; rows.weight.push_back(0.0)) rows.row.push_back(0), rows.phi.push_back(0.0);
}

WordEvidence::WordEvidence(const Sample& sample, double soft_share) : sample_(sample), soft_share_(soft_share) {
  total_ = std::accumulate(sample.weight.begin(), sample.weight.end(), 0.0);
  // One row more of every class: no class is impossible, so that every factor can be divided out again.
  prior_.assign(sample.n_classes, 1.0 / (total_ + sample.n_classes));
  for (std::size_t i = 0; i < sample.n_rows; ++i) prior_[sample.y[i]] += sample.weight[i] / (total_ + sample.n_classes);
  plausible_.assign(sample.n_rows * sample.n_classes, 1.0);
  open_.assign(sample.n_rows, 1.0);
  log_probability_.resize(sample.n_rows);
  hit_.resize(sample.n_rows);
  update(everything(), [](double*, double&, double) {});
}

ReachedRows WordEvidence::everything() const {
  std::vector<Row> order(sample_.n_rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Row i, Row j) { return sample_.weight[i] < sample_.weight[j]; });
  ReachedRows all;
  for (Label c = 0; c < sample_.n_classes; ++c) {
    all.begin.push_back(all.size());
    for (const Row i : order) {
      if (sample_.y[i] != c) continue;
      all.row.push_back(i);
      all.phi.push_back(1.0);
      all.weight.push_back(sample_.weight[i]);
    }
    pad(all);
  }
  all.begin.push_back(all.size());
  return all;
}

// The most probable class is the most plausible one. Equals are a hit for none of them: were it the first one's, as in
// numpy.argmax, a tree would do without rules for whichever class comes first. The probability is the pignistic one:
// what is left open is shared equally.
WordEvidence::State WordEvidence::state(const double* plausible, double open, Label y) const {
  const int n_classes = sample_.n_classes;
  double sum = 0;
  bool hit = true;
  for (Label c = 0; c < n_classes; ++c) {
    sum += plausible[c];
    hit &= c == y || plausible[c] < plausible[y] * kAlmostOne;
  }
  const double probability = (plausible[y] - open + open / n_classes) / (sum - (n_classes - 1) * open);
  return {short_logarithm(std::max(probability, kLeastProbability)), static_cast<double>(hit)};
}

WordEvidence::View WordEvidence::view(const ReachedRows& rows) const {
  const std::size_t n = rows.size();
  View view;
  view.plausible.resize(n * sample_.n_classes);
  for (std::size_t k = 0; k < n; ++k) {
    const double* p = plausible(rows.row[k]);
    for (int c = 0; c < sample_.n_classes; ++c) view.plausible[c * n + k] = p[c];
    view.open.push_back(open_[rows.row[k]]);
    view.hits += rows.weight[k] * hit_[rows.row[k]];
    view.logs += rows.weight[k] * log_probability_[rows.row[k]];
  }
  return view;
}

std::vector<double> WordEvidence::class_weight(const ReachedRows& rows, const WordAt& word) const {
  std::vector<double> weight;
  for (Label c = 0; c < sample_.n_classes; ++c) {
    const std::size_t from = rows.begin[c], n = rows.begin[c + 1] - from;
    weight.push_back(kernels().tally_term(
        {n, rows.row.data() + from, rows.phi.data() + from, rows.weight.data() + from, word.x, word.share}, word.term));
  }
  return weight;
}

std::vector<double> WordEvidence::distribution(std::vector<double> class_weight) const {
  constexpr double kPriorRows = 1.0;
  const double total = kPriorRows + std::accumulate(class_weight.begin(), class_weight.end(), 0.0);
  for (Label c = 0; c < sample_.n_classes; ++c) class_weight[c] = (class_weight[c] + kPriorRows * prior_[c]) / total;
  return class_weight;
}

double WordEvidence::change_by_child(const ReachedRows& rows, const View& view, const WordAt& word,
                                     const double* p) const {
  double hits = -view.hits, logs = -view.logs;
  const std::size_t n_all = rows.size();
  for (Label c = 0; c < sample_.n_classes; ++c) {
    const std::size_t from = rows.begin[c], n = rows.begin[c + 1] - from;
    const TermRows block{n,         rows.row.data() + from, rows.phi.data() + from, rows.weight.data() + from, word.x,
                         word.share};
    const EvidenceRows stand{view.plausible.data() + from, n_all, view.open.data() + from, sample_.n_classes, c};
    kernels().judge_term(block, stand, word.term, p, &hits, &logs);
  }
  return (hits + soft_share_ * logs) / total_;
}

double WordEvidence::change_without(const ReachedRows& rows, const std::vector<double>& p) const {
  double change = 0;
  std::vector<double> rest(sample_.n_classes);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const double phi = rows.phi[k], *all = plausible(rows.row[k]);
    if (phi == 0) continue;
    for (Label c = 0; c < sample_.n_classes; ++c) rest[c] = all[c] / (1 - phi + phi * p[c]);
    const Row i = rows.row[k];
    const State without = state(rest.data(), open_[i] / (1 - phi), sample_.y[i]);
    change += rows.weight[k] * (without.hit - hit_[i] + soft_share_ * (without.log_probability - log_probability_[i]));
  }
  return change / total_;
}

template <class Change>
void WordEvidence::update(const ReachedRows& rows, const Change& change) {
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Row i = rows.row[k];
    double* p = plausible(i);
    change(p, open_[i], rows.phi[k]);
    // Only ratios count: the largest is kept at one, so that no number of nodes makes them vanish.
    const double scale = 1 / *std::max_element(p, p + sample_.n_classes);
    for (Label c = 0; c < sample_.n_classes; ++c) p[c] *= scale;
    open_[i] *= scale;
    const State now = state(p, open_[i], sample_.y[i]);
    log_probability_[i] = now.log_probability;
    hit_[i] = now.hit;
  }
}

void WordEvidence::join(const ReachedRows& rows, const std::vector<double>& p) {
  update(rows, [&](double* plausible, double& open, double phi) {
    for (Label c = 0; c < sample_.n_classes; ++c) plausible[c] *= 1 - phi + phi * p[c];
    open *= 1 - phi;
  });
}

void WordEvidence::leave(const ReachedRows& rows, const std::vector<double>& p) {
  update(rows, [&](double* plausible, double& open, double phi) {
    for (Label c = 0; c < sample_.n_classes; ++c) plausible[c] /= 1 - phi + phi * p[c];
    open /= 1 - phi;
  });
}

}  // namespace ferl
