#include "trees/grow_words.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "trees/word_evidence.h"

namespace ferl {

namespace {

// A child that only makes a rule longer need be worth no more than this share of what a rule must be worth.
constexpr double kLongerRule = 0.3;
// A node that promised less than this share of the best gain is not judged again yet. (Judging all nodes every time
// costs 1.7 times as much and is not more accurate.)
constexpr double kPromise = 0.5;
// All nodes add evidence here, so an unknown value counts several times; it therefore counts for less than the share of
// rows it could be. With half of it a row without any value is left as open as by a deep tree, at no cost in
// accuracy.
constexpr double kUnknown = 0.5;
constexpr double kBetterGain = 1e-9;  // a gain that is larger by less is a tie, and the first candidate wins

struct Candidate {
  std::size_t term;
  std::vector<double> p;
  double gain = 0;
};

struct WordNode {
  std::size_t parent = 0, term = 0, depth = 0, n_children = 0;
  std::vector<std::size_t> terms;  // of the path, ascending
  ReachedRows rows;
  std::vector<double> p;
  double gain = 0;
  double promise = kInfinity;  // largest gain of its candidates when they were last judged
  bool stale = true;           // the answers of its rows have changed since its candidates were judged
  std::vector<Candidate> candidates;
  bool kept = true;
};

class WordGrower {
 public:
  WordGrower(const Sample& sample, const std::vector<Term>& terms, const WordOptions& options, Monitor& monitor)
      : sample_(sample), terms_(terms), options_(options), monitor_(monitor), evidence_(sample, options.soft_share) {
    for (const Term& t : terms) {
      membership_.emplace_back(t.ends[0], t.ends[1], t.ends[2], t.ends[3]);
      share_.push_back(share_of(sample.column(t.column), membership_.back()));
    }
    WordNode root;
    root.rows = evidence_.everything();
    nodes_.push_back(std::move(root));
    find_candidates(0);
  }

  GrownTree run() {
    int n_weak = 0;
    for (;;) {
      monitor_.tick(n_rules_);
      judge_candidates();
      const Choice best = best_child();
      if (best.candidate == nullptr) break;
      const bool weak = best.candidate->gain < least_gain();
      if (weak && n_weak == options_.patience) break;
      n_weak = weak ? n_weak + 1 : 0;
      join(best);
    }
    for (std::size_t last = nodes_.size(); n_weak > 0; --n_weak) remove(--last);
    while (remove_least_worth()) monitor_.tick(n_rules_);
    return in_preorder();
  }

 private:
  struct Choice {
    std::size_t node = 0;
    const Candidate* candidate = nullptr;
  };

  // What a row without a value counts for: of the share of the others that a term fits.
  double share_of(const double* x, const Trapezoid& membership) const {
    double fits = 0, known = 0;
    for (std::size_t i = 0; i < sample_.n_rows; ++i) {
      if (is_missing(x[i])) continue;
      fits += sample_.weight[i] * membership(x[i]);
      known += sample_.weight[i];
    }
    return known > 0 ? kUnknown * fits / known : 0.0;
  }

  WordAt at(std::size_t term) const { return {column(term), membership_[term], share_[term]}; }
  const double* column(std::size_t term) const { return sample_.column(terms_[term].column); }
  // What a strong child gains: min_gain, and in any case more than nothing. A gain that is less by rounding will do.
  double least_gain() const { return std::max(options_.min_gain, 2 * kBetterGain) - kBetterGain; }
  // A child of the root, or a second child, ends a rule of its own; a first child makes its parent's rule longer.
  bool adds_a_rule(std::size_t parent) const { return parent == 0 || nodes_[parent].n_children > 0; }

  // The terms that may join below a new node: of a feature that is not on its path, with enough weight, no complement
  // at the beginning of a rule, and no conjunction that another node already says in another order.
  void find_candidates(std::size_t o) {
    WordNode& node = nodes_[o];
    std::vector<Column> used;
    for (std::size_t q = o; q > 0; q = nodes_[q].parent) used.push_back(terms_[nodes_[q].term].column);
    double reached = 0;
    for (std::size_t k = 0; k < node.rows.size(); ++k) reached += node.rows.phi[k] * node.rows.weight[k];
    if (node.depth == options_.max_depth || reached < options_.min_coverage * evidence_.total_weight()) return;
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      if ((o == 0 && terms_[t].is_complement) || is_chosen(conjunction(o, t))) continue;
      if (std::find(used.begin(), used.end(), terms_[t].column) != used.end()) continue;
      auto weight = evidence_.class_weight(node.rows, at(t));
      double total = 0;
      for (const double w : weight) total += w;
      if (total >= options_.min_leaf_weight) node.candidates.push_back({t, evidence_.distribution(std::move(weight))});
    }
  }

  // Gains mostly shrink as the answers get better. So the node whose candidates promised most comes first, and nodes
  // that promised too little are left for later; unless growth is about to give up.
  void judge_candidates() {
    std::vector<std::size_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return nodes_[a].promise > nodes_[b].promise; });
    double best = -kInfinity;
    for (const std::size_t o : order) {
      WordNode& node = nodes_[o];
      if (n_rules_ == options_.max_rules && adds_a_rule(o)) continue;
      if (best >= least_gain() && node.promise < kPromise * best) break;
      if (node.stale) judge(node);
      best = std::max(best, node.promise);
    }
  }

  void judge(WordNode& node) {
    constexpr std::size_t kWorthAThread = 200'000;  // operations; about the cost of starting a thread
    const auto view = evidence_.view(node.rows);
    const std::size_t work = node.rows.size() * node.candidates.size() * sample_.n_classes;
    parallel_for(
        node.candidates.size(), work > kWorthAThread ? options_.n_threads : 1,
        [&](std::size_t i) {
          Candidate& c = node.candidates[i];
          c.gain = evidence_.change_by_child(node.rows, view, at(c.term), c.p.data());
        },
        [&] { monitor_.tick(n_rules_); });
    node.stale = false;
    node.promise = -kInfinity;
    for (const Candidate& c : node.candidates) node.promise = std::max(node.promise, c.gain);
  }

  Choice best_child() const {
    Choice best;
    for (std::size_t o = 0; o < nodes_.size(); ++o) {
      if (nodes_[o].stale || (n_rules_ == options_.max_rules && adds_a_rule(o))) continue;
      for (const Candidate& c : nodes_[o].candidates)
        if (best.candidate == nullptr || c.gain > best.candidate->gain + kBetterGain) best = {o, &c};
    }
    return best;
  }

  void join(const Choice& choice) {
    WordNode child;
    child.parent = choice.node;
    child.term = choice.candidate->term;
    child.depth = nodes_[choice.node].depth + 1;
    child.p = choice.candidate->p;
    child.gain = choice.candidate->gain;
    child.rows = reached(nodes_[choice.node].rows, child.term);
    n_rules_ += adds_a_rule(choice.node);
    ++nodes_[choice.node].n_children;
    child.terms = conjunction(choice.node, child.term);
    for (std::size_t o = 0; o < nodes_.size(); ++o)
      std::erase_if(nodes_[o].candidates, [&](const Candidate& c) { return conjunction(o, c.term) == child.terms; });
    evidence_.join(child.rows, child.p);
    mark_stale(child.rows);
    nodes_.push_back(std::move(child));
    find_candidates(nodes_.size() - 1);
  }

  // The terms of a path, in ascending order: "A and B" is "B and A".
  std::vector<std::size_t> conjunction(std::size_t node, std::size_t term) const {
    std::vector<std::size_t> terms = nodes_[node].terms;
    terms.insert(std::upper_bound(terms.begin(), terms.end(), term), term);
    return terms;
  }

  bool is_chosen(const std::vector<std::size_t>& terms) const {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const WordNode& node) { return node.terms == terms; });
  }

  ReachedRows reached(const ReachedRows& parent, std::size_t term) const {
    ReachedRows child;
    const WordAt word = at(term);
    for (Label c = 0; c < sample_.n_classes; ++c) {
      child.begin.push_back(child.size());
      for (std::size_t k = parent.begin[c]; k < parent.begin[c + 1]; ++k) {
        const double phi = std::min(parent.phi[k] * word(parent.row[k]), kMostBelief);
        if (phi <= kNegligibleFiring) continue;
        child.row.push_back(parent.row[k]);
        child.phi.push_back(phi);
        child.weight.push_back(parent.weight[k]);
      }
      pad(child);
    }
    child.begin.push_back(child.size());
    return child;
  }

  void mark_stale(const ReachedRows& changed) {
    std::vector<std::uint8_t> moved(sample_.n_rows);
    for (std::size_t k = 0; k < changed.size(); ++k) moved[changed.row[k]] |= changed.phi[k] > 0;
    for (WordNode& node : nodes_)
      for (std::size_t k = 0; k < node.rows.size() && !node.stale; ++k) node.stale = moved[node.rows.row[k]];
  }

  void remove(std::size_t o) {
    evidence_.leave(nodes_[o].rows, nodes_[o].p);
    nodes_[o].kept = false;
    --nodes_[nodes_[o].parent].n_children;
    n_rules_ -= adds_a_rule(nodes_[o].parent);
  }

  // The leaf that is worth least by what it must be worth; false when all are worth their place.
  bool remove_least_worth() {
    double least = 1;
    std::size_t victim = 0;
    for (std::size_t o = 1; o < nodes_.size(); ++o) {
      const WordNode& node = nodes_[o];
      if (!node.kept || node.n_children > 0 || (n_rules_ == 1 && node.parent == 0)) continue;
      const bool only_child = node.parent > 0 && nodes_[node.parent].n_children == 1;
      const double needed = std::max(options_.min_rule_worth, kBetterGain) * (only_child ? kLongerRule : 1.0);
      const double worth = -evidence_.change_without(node.rows, node.p);
      if (worth < needed * least - kBetterGain) least = worth / needed, victim = o;
    }
    if (victim > 0) remove(victim);
    return victim > 0;
  }

  GrownTree in_preorder() const {
    std::vector<std::vector<std::size_t>> children(nodes_.size());
    for (std::size_t o = nodes_.size(); o-- > 1;)
      if (nodes_[o].kept) children[nodes_[o].parent].push_back(o);  // the last one first, as the stack wants them
    GrownTree tree;
    std::vector<std::pair<std::size_t, NodeId>> stack{{0, -1}};  // a node and its parent's new number
    while (!stack.empty()) {
      const auto [o, parent] = stack.back();
      stack.pop_back();
      const auto number = static_cast<NodeId>(tree.parent.size());
      double gain = 0;
      for (const std::size_t child : children[o]) {
        gain += std::max(0.0, nodes_[child].gain) * evidence_.total_weight();
        stack.push_back({child, number});
      }
      const std::size_t t = nodes_[o].term;
      tree.add(parent, o == 0 ? Condition{} : Condition{terms_[t].column, terms_[t].ends, share_[t], {}}, gain);
    }
    return tree;
  }

  const Sample& sample_;
  const std::vector<Term>& terms_;
  const WordOptions& options_;
  Monitor& monitor_;
  WordEvidence evidence_;
  std::vector<Trapezoid> membership_;
  std::vector<double> share_;  // [term]: the membership of a missing value
  std::vector<WordNode> nodes_;
  std::size_t n_rules_ = 0;
};

}  // namespace

GrownTree grow_words(const Sample& sample, const std::vector<Term>& terms, const WordOptions& options,
                     Monitor& monitor) {
  return WordGrower(sample, terms, options, monitor).run();
}

}  // namespace ferl
