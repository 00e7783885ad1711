#include "trees/grow_splits.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <queue>

#include "novelty/exemplar_keeper.h"
#include "trees/presort.h"

namespace ferl {

namespace {

// Below these calling the pool costs more than it saves.
constexpr std::size_t kWorthScoring = 3'000;    // pairs of row and feature whose cuts are sought
constexpr std::size_t kWorthBanding = 300;      // pairs of row and feature that get bands
constexpr std::size_t kWorthSplitting = 1'500;  // rows that go to two sides

// A node while the tree grows. Its rows are held as a sparse list; its sorted orders are made from its parent's only
// when it is scored, which nodes that cannot reach the top of the queue never are. Where the parent's are large they
// are made when it is split, list by list, and the parent's freed: they would stay as long as one of its children waits.
struct GrowingNode {
  NodeId parent = -1;
  std::size_t depth = 0;
  NodeId left_child = -1;  // the right one follows it; -1: a leaf
  Condition condition;
  std::vector<Row> rows;
  std::vector<double> weights;
  std::vector<double> class_weight;
  double weight = 0;
  std::shared_ptr<const Orders> parent_orders;
  std::shared_ptr<Orders> orders;
  Candidate best;
  std::uint64_t key_bound = kAnyKey;  // of exemplars
};

// A place in the queue. A node waits under the most it could gain until that is the largest, and is scored then.
struct Entry {
  Gain gain;
  bool scored;
  std::size_t node;
  bool operator<(const Entry& other) const {  // "comes after", as std::priority_queue wants it
    if (gain.first != other.gain.first) return gain.first < other.gain.first;
    if (gain.second != other.gain.second) return gain.second < other.gain.second;
    if (scored != other.scored) return scored;
    return node > other.node;
  }
};

class Grower {
 public:
  Grower(const Sample& sample, const SplitOptions& options, Monitor& monitor)
      : sample_(sample), options_(options), monitor_(monitor), pool_(options.n_threads, [this] { report(); }),
        resamples_(sample, options.n_resamples, pool_), copies_(copies_of_rows(sample, options.class_unit)) {}

  GrownTree run() {
    add_root();
    std::size_t n_leaves = 1;
    int n_weak = 0;  // splits since the last strong one
    while (n_leaves < options_.max_rules && !queue_.empty()) {
      report();
      const Entry entry = queue_.top();
      queue_.pop();
      if (!entry.scored) {
        score_with_next(entry.node);
        continue;
      }
      const bool weak = entry.gain.first < options_.min_gain * nodes_[0].weight;
      if (weak && n_weak == options_.patience) break;
      n_weak = weak ? n_weak + 1 : 0;
      split(entry.node);
      ++n_leaves;
    }
    for (; n_weak > 0; --n_weak) undo_last_split();  // no strong split came of them
    return in_preorder();
  }

 private:
  void report() { monitor_.tick(nodes_.size() / 2 + 1); }  // the number of leaves

  void add_root() {
    GrowingNode root;
    root.rows.resize(sample_.n_rows);
    std::iota(root.rows.begin(), root.rows.end(), 0);
    root.weights = sample_.weight;
    root.orders = std::make_shared<Orders>(presort(sample_, pool_));
    finish(root);
    nodes_.push_back(std::move(root));
    enqueue(0);
  }

  void finish(GrowingNode& node) const {
    node.class_weight.assign(sample_.n_classes, 0.0);
    for (std::size_t k = 0; k < node.rows.size(); ++k) node.class_weight[sample_.y[node.rows[k]]] += node.weights[k];
    node.weight = std::accumulate(node.class_weight.begin(), node.class_weight.end(), 0.0);
    node.key_bound = key_bound(node);
  }

  // A bound for the keys of the node's exemplars, which are the rows with the smallest keys; the sample is by ascending
  // key. Rows count towards the number to keep only if their firing is clearly large enough.
  std::uint64_t key_bound(const GrowingNode& node) const {
    std::size_t n_found = 0;
    for (std::size_t k = 0; k < node.rows.size() && options_.n_exemplars > 0; ++k) {
      n_found += node.weights[k] > 2 * kExemplarFiring * sample_.weight[node.rows[k]];
      if (n_found == options_.n_exemplars) return sample_.key[node.rows[k]];
    }
    return kAnyKey;
  }

  // Whether a node may be split.
  bool is_open(const GrowingNode& node, const Gain& most) const {
    const double weight_of_all = nodes_.empty() ? node.weight : nodes_[0].weight;
    return node.depth < options_.max_depth && node.weight >= 2 * options_.band.min_leaf_weight &&
           node.weight >= options_.min_coverage * weight_of_all &&
           std::max(most.first, most.second) > 1e-12 * node.weight;
  }

  Gain most_gain_of(const GrowingNode& node) const {
    return most_gain(node.class_weight, node.weight, options_.band.criterion);
  }

  void enqueue(std::size_t index) {
    GrowingNode& node = nodes_[index];
    const Gain most = most_gain_of(node);
    // A hair more, so that no gain exceeds it by rounding: then the tree does not depend on which nodes are scored
    // before they need to be.
    const Gain bound{most.first * (1 + 1e-9) + 1e-12 * node.weight, most.second};
    if (is_open(node, most))
      queue_.push({bound, false, index});
    else
      release(node);
  }

  static void release(GrowingNode& node) {
    free_memory(node.rows, node.weights);
    node.parent_orders.reset();
    node.orders.reset();
  }

  // The node's orders (its part of the parent's orders if it has none yet) and the crisp cut of each feature. Drops
  // features that no longer vary.
  std::vector<Cut> cut_features(GrowingNode& node, const NodeView& view) {
    const Orders* from = node.parent_orders.get();
    const std::size_t n = node.rows.size();
    if (!node.orders) node.orders = std::make_shared<Orders>(n, from->columns);
    Orders& all = *node.orders;
    const std::size_t n_columns = all.columns.size(), n_read = from ? from->n_rows : n;
    std::vector<Cut> cuts(n_columns);
    // Several columns a task where they are short. Categories take longer than numbers, so where lists are long, one.
    const std::size_t chunk = n < 2000 ? 4 : 1;
    auto task = [&](std::size_t t) {
      for (std::size_t k = t * chunk; k < std::min((t + 1) * chunk, n_columns); ++k) {
        if (from) take_rows(from->list(k), from->n_rows, [&](Row r) { return view.row[r].weight > 0; }, n, all.list(k));
        const Row* list = all.list(k);
        const double* x = sample_.column(all.columns[k]);
        const std::size_t n_known = count_known(list, n, x);
        if (n_known == 0 || x[list[0]] == x[list[n_known - 1]]) {
          all.columns[k] = -1;
          continue;
        }
        const KnownRows known(view, list, n_known, n);
        cuts[k] = cut_column(known.view(), all.columns[k], list, n_known);
      }
    };
    pool_.run((n_columns + chunk - 1) / chunk, n_read * n_columns >= kWorthScoring, task);
    drop_constant(all, cuts);
    return cuts;
  }

  // The rows of a list that are wanted, n of them, into `out`.
  template <class IsWanted>
  static void take_rows(const Row* list, std::size_t n_rows, const IsWanted& is_wanted, std::size_t n, Row* out) {
    // Compaction writes one past the end, where the next list lies, perhaps filled by another thread: so in private,
    // and then copied.
    thread_local std::vector<Row> taken;
    taken.resize(n + 1);
    std::size_t size = 0;
    for (std::size_t i = 0; i < n_rows; ++i) {
      taken[size] = list[i];
      size += is_wanted(list[i]);
    }
    std::copy_n(taken.data(), n, out);
  }

  // Rows without a value are last in an order.
  static std::size_t count_known(const Row* order, std::size_t n_rows, const double* x) {
    while (n_rows > 0 && is_missing(x[order[n_rows - 1]])) --n_rows;
    return n_rows;
  }

  // A node as a feature sees it: without the rows that have no value of it.
  class KnownRows {
   public:
    KnownRows(const NodeView& node, const Row* order, std::size_t n_known, std::size_t n_rows)
        : node_(node), class_weight_(node.class_weight), weight_(node.weight), is_whole_(n_known == n_rows) {
      if (is_whole_) return;
      // Taken from whichever part is the shorter one.
      const bool few_known = 2 * n_known < n_rows;
      if (few_known) std::fill(class_weight_.begin(), class_weight_.end(), 0.0);
      for (std::size_t k = few_known ? 0 : n_known; k < (few_known ? n_known : n_rows); ++k)
        class_weight_[node.row[order[k]].y] += (few_known ? 1 : -1) * node.row[order[k]].weight;
      for (double& w : class_weight_) w = std::max(w, 0.0);
      weight_ = std::accumulate(class_weight_.begin(), class_weight_.end(), 0.0);
    }
    NodeView view() const { return is_whole_ ? node_ : NodeView{node_.row, class_weight_, weight_}; }

   private:
    const NodeView& node_;
    std::vector<double> class_weight_;
    double weight_;
    bool is_whole_;
  };

  Cut cut_column(const NodeView& known, Column column, const Row* order, std::size_t n_known) const {
    const double* x = sample_.column(column);
    if (sample_.n_categories[column] == 0) return best_cut(known, order, n_known, x, options_.band.min_leaf_weight);
    Cut cut;
    cut.left_class_weight = cross_fitted_left({known, order, n_known, x}, copies_, options_.band.min_leaf_weight);
    const double left = std::accumulate(cut.left_class_weight.begin(), cut.left_class_weight.end(), 0.0);
    if (left > 0 && left < known.weight) cut.gain = gini_gain(known.class_weight, known.weight, cut.left_class_weight);
    return cut;
  }

  static void drop_constant(Orders& orders, std::vector<Cut>& cuts) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < orders.columns.size(); ++k) {
      if (orders.columns[k] < 0) continue;
      if (kept != k) {
        std::copy_n(orders.list(k), orders.n_rows, orders.list(kept));
        orders.columns[kept] = orders.columns[k];
        cuts[kept] = std::move(cuts[k]);
      }
      ++kept;
    }
    orders.keep(kept);
    cuts.resize(kept);
  }

  // The gain that ranks the features: the gain of the crisp cut, under the criterion in use.
  Gain crisp_gain(const NodeView& view, const Row* order, std::size_t n_rows, const double* x, const Cut& cut) const {
    if (options_.band.criterion == Criterion::gini) return {cut.gain, 0};
    if (!cut.left_class_weight.empty())
      return gain_of(view.class_weight, view.weight, cut.left_class_weight, options_.band.criterion);
    std::vector<double> left(view.class_weight.size(), 0.0);
    for (std::size_t k = 0; k < n_rows && x[order[k]] <= cut.threshold; ++k)
      left[view.row[order[k]].y] += view.row[order[k]].weight;
    return gain_of(view.class_weight, view.weight, left, options_.band.criterion);
  }

  // The node and, with several threads, the nodes that wait behind it: they will be needed soon; if not, the tree is the
  // same. Most nodes are small: one is enough work for a thread, and an idle thread helps another.
  void score_with_next(std::size_t index) {
    std::vector<std::size_t> batch{index};
    const bool is_worth = nodes_.size() > 1 && nodes_[index].rows.size() * sample_.n_columns >= kWorthScoring;
    const auto most = static_cast<std::size_t>(is_worth ? options_.n_threads : 1);
    while (batch.size() < most && !queue_.empty() && !queue_.top().scored) {
      batch.push_back(queue_.top().node);
      queue_.pop();
    }
    while (row_in_node_.size() < batch.size()) {
      row_in_node_.emplace_back(sample_.n_rows);
      for (std::size_t i = 0; i < sample_.n_rows; ++i) row_in_node_.back()[i] = {0.0, sample_.y[i]};
    }
    pool_.run(batch.size(), is_worth, [&](std::size_t k) { score(batch[k], row_in_node_[k]); });
    for (const std::size_t node : batch)
      if (nodes_[node].best.column >= 0) queue_.push({nodes_[node].best.gain, true, node});
  }

  void score(std::size_t index, std::vector<RowInNode>& row_in_node) {
    GrowingNode& node = nodes_[index];
    for (std::size_t k = 0; k < node.rows.size(); ++k) row_in_node[node.rows[k]].weight = node.weights[k];
    const NodeView view{row_in_node, node.class_weight, node.weight};
    const auto cuts = cut_features(node, view);
    node.parent_orders.reset();
    node.best = best_candidate(node, view, cuts);
    for (const Row r : node.rows) row_in_node[r].weight = 0;
    if (node.best.column < 0) release(node);
  }

  // Bands for the best features by their crisp cut; further down the ranking only while none of them is valid.
  Candidate best_candidate(const GrowingNode& node, const NodeView& view, const std::vector<Cut>& cuts) {
    const Orders& orders = *node.orders;
    std::vector<std::pair<Gain, std::size_t>> ranked;
    for (std::size_t k = 0; k < cuts.size(); ++k) {
      if (cuts[k].gain <= 0) continue;
      const double* x = sample_.column(orders.columns[k]);
      const std::size_t n_known = count_known(orders.list(k), orders.n_rows, x);
      const KnownRows known(view, orders.list(k), n_known, orders.n_rows);
      ranked.push_back({crisp_gain(known.view(), orders.list(k), n_known, x, cuts[k]), k});
    }
    if (options_.n_banded < ranked.size()) move_best_to_front(ranked, options_.n_banded);
    const std::size_t n_first = std::min(options_.n_banded, ranked.size());
    std::vector<Candidate> candidates(n_first);
    auto band = [&](std::size_t place) {
      thread_local SortedRows sorted;
      const std::size_t k = ranked[place].second;
      const Column column = orders.columns[k];
      const double* x = sample_.column(column);
      const std::size_t n_known = count_known(orders.list(k), orders.n_rows, x);
      const KnownRows known(view, orders.list(k), n_known, orders.n_rows);
      const NodeView seen = known.view();
      if (const int n_categories = sample_.n_categories[column]; n_categories > 0)
        return category_candidate({seen, orders.list(k), n_known, x}, column, n_categories, cuts[k], resamples_,
                                  options_.band);
      sorted.gather(seen, orders.list(k), n_known, x, resamples_);
      Candidate candidate = band_candidate(seen, column, sorted, cuts[k], resamples_, options_.band, pool_);
      if (!options_.monotone.empty() && candidate.rise * options_.monotone[column] < 0) candidate.column = -1;
      return candidate;
    };
    pool_.run(n_first, orders.n_rows * n_first >= kWorthBanding,
              [&](std::size_t place) { candidates[place] = band(place); });
    Candidate best;
    for (const Candidate& candidate : candidates)
      if (candidate.column >= 0 && (best.column < 0 || candidate.gain.better_than(best.gain))) best = candidate;
    for (std::size_t place = n_first; place < ranked.size() && best.column < 0; ++place) {
      move_best_to_front(ranked, 1, place);
      best = band(place);
    }
    return best;
  }

  // The n best from `first` on, in order; ties go to the first feature. Selection and not a sort: n is small.
  static void move_best_to_front(std::vector<std::pair<Gain, std::size_t>>& ranked, std::size_t n,
                                 std::size_t first = 0) {
    for (std::size_t place = first; place < first + n; ++place) {
      std::size_t best = place;
      for (std::size_t i = place + 1; i < ranked.size(); ++i)
        if (ranked[i].first.better_than(ranked[best].first)) best = i;
      std::rotate(ranked.begin() + place, ranked.begin() + best, ranked.begin() + best + 1);
    }
  }

  void split(std::size_t index) {
    GrowingNode children[2];
    {
      GrowingNode& node = nodes_[index];
      const double* x = sample_.column(node.best.column);
      const Ramp ramp(node.best.band);
      std::vector<double> left(node.rows.size());
      for (std::size_t k = 0; k < left.size(); ++k) left[k] = node.best.left(x[node.rows[k]], ramp);
      pool_.run(2, left.size() >= kWorthSplitting, [&](std::size_t side) {
        GrowingNode& child = children[side];
        thread_local std::vector<Row> rows;
        thread_local std::vector<double> weights;
        rows.resize(left.size());
        weights.resize(left.size());
        std::size_t n = 0;
        for (std::size_t k = 0; k < left.size(); ++k) {
          // Without a branch, which could not be foreseen: a row that does not count is written over by the next one.
          rows[n] = node.rows[k];
          weights[n] = node.weights[k] * (side == 0 ? left[k] : 1 - left[k]);
          n += weights[n] > kNegligibleFiring * sample_.weight[node.rows[k]];
        }
        child.rows.assign(rows.data(), rows.data() + n);
        child.weights.assign(weights.data(), weights.data() + n);
        child.parent = static_cast<NodeId>(index);
        child.depth = node.depth + 1;
        child.condition = condition_of(node.best, side == 0);
        child.parent_orders = node.orders;
        finish(child);
      });
      if (node.orders->is_large()) pass_on(*node.orders, children);
      node.left_child = static_cast<NodeId>(nodes_.size());
      release(node);
    }
    for (auto& child : children) {
      nodes_.push_back(std::move(child));
      enqueue(nodes_.size() - 1);
    }
  }

  // Gives the children of a node their part of its orders, which are freed.
  void pass_on(Orders& orders, GrowingNode (&children)[2]) {
    std::vector<std::uint8_t> sides(sample_.n_rows, 0);
    for (std::size_t side = 0; side < 2; ++side) {
      GrowingNode& child = children[side];
      child.parent_orders.reset();
      if (!is_open(child, most_gain_of(child))) continue;
      child.orders = std::make_shared<Orders>(child.rows.size(), orders.columns);
      for (const Row r : child.rows) sides[r] |= static_cast<std::uint8_t>(1 << side);
    }
    pool_.run(orders.columns.size(), true, [&](std::size_t k) {
      for (std::size_t side = 0; side < 2; ++side)
        if (const auto& lists = children[side].orders) {
          lists->make_list(k);
          take_rows(
              orders.list(k), orders.n_rows, [&](Row r) { return (sides[r] >> side & 1) != 0; }, lists->n_rows,
              lists->list(k));
        }
      orders.free_list(k);
    });
  }

  void undo_last_split() {
    nodes_[nodes_.back().parent].left_child = -1;
    nodes_.resize(nodes_.size() - 2);
  }

  // The left side of a split falls across its band, the right side rises.
  static Condition condition_of(const Candidate& split, bool is_left) {
    Condition condition{split.column, kEverything, is_left ? split.share : 1 - split.share, split.category};
    const auto [low, high] = split.band;
    if (split.category.empty())
      condition.ends = is_left ? Ends{-kInfinity, -kInfinity, low, high} : Ends{low, high, kInfinity, kInfinity};
    else if (!is_left)
      for (double& membership : condition.category) membership = 1 - membership;
    return condition;
  }

  GrownTree in_preorder() const {
    GrownTree tree;
    std::vector<std::pair<std::size_t, NodeId>> stack{{0, -1}};  // a node and its parent's new number
    while (!stack.empty()) {
      const auto [index, parent] = stack.back();
      stack.pop_back();
      const GrowingNode& node = nodes_[index];
      const auto number = static_cast<NodeId>(tree.parent.size());
      const Candidate split = node.left_child < 0 ? Candidate{} : node.best;
      const double gain = options_.band.criterion == Criterion::gini ? split.gain.first : split.gain.second;
      tree.add(parent, node.condition, gain, split.cuts, node.key_bound);
      if (node.left_child < 0) continue;
      stack.push_back({static_cast<std::size_t>(node.left_child) + 1, number});
      stack.push_back({static_cast<std::size_t>(node.left_child), number});
    }
    return tree;
  }

  const Sample& sample_;
  const SplitOptions& options_;
  Monitor& monitor_;
  std::vector<GrowingNode> nodes_;
  std::priority_queue<Entry> queue_;
  ThreadPool pool_;
  Resamples resamples_;
  std::vector<double> copies_;                       // [row]
  std::vector<std::vector<RowInNode>> row_in_node_;  // one for each node that is scored at the same time
};

}  // namespace

GrownTree grow_splits(const Sample& sample, const SplitOptions& options, Monitor& monitor) {
  return Grower(sample, options, monitor).run();
}

}  // namespace ferl
