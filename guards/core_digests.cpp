// Digests of what the core learns and answers, without Python: the same inputs give the same bits, whatever the processor
// and the compiler. guards/core_inputs.py writes the inputs; guards/other_machines compares the outputs.
//
//   core_digests INPUTS N_THREADS
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/fire.h"
#include "core/kernels.h"
#include "novelty/novelty.h"
#include "rows/moments.h"
#include "rows/sampler.h"
#include "rules/grow_rules.h"
#include "rules/rows_behind.h"
#include "rules/score_proof.h"
#include "rules/scores.h"
#include "trees/evidence.h"
#include "trees/grow_splits.h"
#include "trees/grow_words.h"
#include "trees/label_proof.h"

namespace ferl {

namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<std::int32_t>;

// Arrays in the order in which they were written, each after the number of its entries, little-endian.
class Inputs {
 public:
  explicit Inputs(const char* path) : file_(path, std::ios::binary) {
    if (!file_) throw std::runtime_error(std::string("cannot read ") + path);
  }

  template <class T>
  std::vector<T> array() {
    std::uint64_t n = 0;
    get(&n, sizeof n);
    std::vector<T> values(n);
    get(values.data(), n * sizeof(T));
    return values;
  }
  Doubles doubles() { return array<double>(); }
  Ints ints() { return array<std::int32_t>(); }
  double number() { return doubles().at(0); }
  std::string text() {
    const auto letters = array<char>();
    return {letters.begin(), letters.end()};
  }
  bool is_over() { return file_.peek() == std::ifstream::traits_type::eof(); }

 private:
  void get(void* to, std::size_t n_bytes) {
    if (!file_.read(static_cast<char*>(to), static_cast<std::streamsize>(n_bytes)))
      throw std::runtime_error("the inputs end too early");
  }

  std::ifstream file_;
};

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// A digest of arrays: the position of every entry counts. One NaN stands for all, since processors make different ones.
class Digest {
 public:
  explicit Digest(std::string of) : of_(std::move(of)) {}

  void add(const Doubles& values) {
    for (const double value : values) add_bits(std::bit_cast<std::uint64_t>(is_missing(value) ? kMissing : value));
  }
  template <class T>
  void add(const std::vector<T>& values) {
    for (const T value : values) add_bits(static_cast<std::uint64_t>(value));
  }
  void print() const { std::printf("%s %016llx\n", of_.c_str(), static_cast<unsigned long long>(sum_)); }

 private:
  static constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  void add_bits(std::uint64_t bits) { sum_ += mixed(bits + ++n_ * 0x9e3779b97f4a7c15); }

  std::string of_;
  std::uint64_t n_ = 0, sum_ = 0;
};

MatrixView rows_of(const Doubles& x, std::size_t n_columns) {
  return {x.data(), x.size() / n_columns, n_columns, static_cast<std::ptrdiff_t>(n_columns), 1};
}

void set_gates(Tree& tree, const Doubles& support, double margin) {
  for (std::size_t o = 1; o < tree.size(); ++o) tree.nodes[o].gate = Gate(support[2 * o], support[2 * o + 1], margin);
}

std::vector<Label> first_largest(const Doubles& values, std::size_t n_classes) {
  std::vector<Label> labels;
  for (auto row = values.begin(); row != values.end(); row += static_cast<std::ptrdiff_t>(n_classes))
    labels.push_back(static_cast<Label>(std::max_element(row, row + static_cast<std::ptrdiff_t>(n_classes)) - row));
  return labels;
}

// ---------------------------------------------------------------------------------------------------------------------
// Answers
// ---------------------------------------------------------------------------------------------------------------------

void answer_by_tree(Digest& digest, const Tree& tree, const Sources& sources, const MatrixView& x, const Doubles& scale,
                    int n_threads) {
  const std::size_t n = x.n_rows, n_classes = static_cast<std::size_t>(sources.n_classes);
  Doubles firing(n * tree.size()), deficit(n * x.n_columns), belief(n * n_classes), ignorance(n), conflict(n),
      radius(n);
  fire_nodes(tree, x, sources.gated, n_threads, firing.data());
  support_deficit(tree, x, n_threads, deficit.data());
  combine_evidence(tree, sources, x, n_threads, {belief.data(), ignorance.data(), conflict.data()});
  digest.add(firing);
  digest.add(deficit);
  digest.add(belief);
  digest.add(ignorance);
  digest.add(conflict);
  if (sources.combination != Combination::dempster && sources.combination != Combination::vote) return;
  certified_radius(Certified{tree, sources, scale.data()}, x, first_largest(belief, n_classes).data(), n_threads,
                   radius.data());
  digest.add(radius);
}

void answer_by_weights(Digest& digest, const Tree& tree, const RuleWeights& weights, const Supports& supports,
                       const RowsBehind& behind, const MatrixView& x, const Doubles& scale, int n_threads) {
  const std::size_t n = x.n_rows, n_classes = static_cast<std::size_t>(weights.n_classes);
  Doubles scores(n * n_classes), probability(n * n_classes), conflict(n), support(n), n_rows(n), radius(n);
  add_scores(tree, weights, supports, x, n_threads, scores.data());
  weigh_evidence(tree, weights, supports, behind, x, n_threads,
                 {probability.data(), conflict.data(), support.data(), n_rows.data()});
  certified_radius(CertifiedScores{tree, weights, supports, scale.data()}, x, first_largest(scores, n_classes).data(),
                   n_threads, radius.data());
  for (const Doubles* own : {&scores, &probability, &conflict, &support, &n_rows, &radius}) digest.add(*own);
}

double size_of(const double* values, std::size_t n) {
  double sum = 0;
  for (std::size_t c = 0; c < n; ++c) sum += std::fabs(values[c]);
  return sum;
}

RuleWeights weights_of(const Tree& tree, const Ints& rule_node, Doubles weight, Doubles prior, Doubles base) {
  RuleWeights own;
  own.base = std::move(base);
  own.n_classes = static_cast<int>(prior.size());
  own.weight = std::move(weight);
  own.prior = std::move(prior);
  own.prior_size = size_of(own.prior.data(), own.prior.size());
  own.rule_of.assign(tree.size(), -1);
  for (std::size_t j = 0; j < rule_node.size(); ++j) {
    own.rule_of.at(static_cast<std::size_t>(rule_node[j])) = static_cast<std::int32_t>(j);
    own.size.push_back(size_of(own.weight.data() + j * own.prior.size(), own.prior.size()));
  }
  return own;
}

// Sums over rows of the products of two firings, a one first.
Doubles products_of(const Tree& tree, const Ints& rule_node, const MatrixView& x) {
  const std::size_t width = rule_node.size() + 1;
  Doubles firing(x.n_rows * tree.size()), out(width * width, 0.0);
  fire_nodes(tree, x, false, 1, firing.data());
  for (std::size_t i = 0; i < x.n_rows; ++i) {
    const auto phi = [&](std::size_t j) {
      return j == 0 ? 1.0 : firing[i * tree.size() + static_cast<std::size_t>(rule_node[j - 1])];
    };
    for (std::size_t j = 0; j < width; ++j)
      for (std::size_t k = 0; k < width; ++k) out[j * width + k] += phi(j) * phi(k);
  }
  return out;
}

Tree read_tree(Inputs& from) {
  const Ints parent = from.ints(), feature = from.ints();
  const Doubles ends = from.doubles(), share = from.doubles();
  const Ints start = from.ints();
  const Doubles category = from.doubles(), support = from.doubles();
  GrownTree grown;
  for (std::size_t o = 0; o < parent.size(); ++o)
    grown.add(parent[o],
              {feature[o],
               {ends[4 * o], ends[4 * o + 1], ends[4 * o + 2], ends[4 * o + 3]},
               share[o],
               {category.begin() + start[o], category.begin() + start[o + 1]}},
              0.0);
  Tree tree = make_tree(grown);
  set_gates(tree, support, from.number());
  return tree;
}

void judge_tree(Inputs& from, const std::string& name, int n_threads) {
  const Tree tree = read_tree(from);
  Sources sources;
  sources.consequent = from.doubles();
  sources.reliability = from.doubles();
  sources.is_source = from.array<std::uint8_t>();
  sources.n_classes = static_cast<int>(from.number());
  sources.combination = static_cast<Combination>(static_cast<int>(from.number()));
  sources.gated = from.number() != 0;
  const Doubles x = from.doubles(), scale = from.doubles();
  Digest digest(name);
  answer_by_tree(digest, tree, sources, rows_of(x, scale.size()), scale, n_threads);
  digest.print();
}

void judge_weights(Inputs& from, const std::string& name, int n_threads) {
  const Tree tree = read_tree(from);
  const Ints rule_node = from.ints();
  const Doubles weight = from.doubles(), prior = from.doubles(), base = from.doubles();
  RuleWeights weights = weights_of(tree, rule_node, weight, prior, base);
  const Doubles products = from.doubles(), ridge = from.doubles();
  const RowsBehind behind(products, ridge, from.number(), {});
  Supports supports;
  supports.n_fading = static_cast<std::size_t>(from.number());
  supports.column = from.array<Column>();
  const Doubles range = from.doubles();
  supports.n_categories = from.ints();
  const double margin = from.number();
  for (std::size_t k = 0; k < supports.column.size(); ++k)
    supports.gate.emplace_back(range[2 * k], range[2 * k + 1], margin);
  list_columns(tree, supports, weights);
  const Doubles x = from.doubles(), scale = from.doubles();
  Digest digest(name);
  answer_by_weights(digest, tree, weights, supports, behind, rows_of(x, scale.size()), scale, n_threads);
  digest.print();
}

// ---------------------------------------------------------------------------------------------------------------------
// Learning
// ---------------------------------------------------------------------------------------------------------------------

struct Table {
  std::size_t n_columns;
  int n_classes;
  Ints n_categories;
  Doubles x, weight;
  std::vector<Label> y;

  std::size_t n_sampled;  // rows that growth sees, at most

  TableView view() const { return {rows_of(x, n_columns), n_categories.data(), y.data(), weight.data(), n_classes}; }
  Doubles first_rows(std::size_t n) const {
    return {x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n * n_columns)};
  }
  std::vector<Column> columns() const {
    std::vector<Column> all(n_columns);
    for (std::size_t j = 0; j < n_columns; ++j) all[j] = static_cast<Column>(j);
    return all;
  }
};

void add_grown(Digest& digest, const GrownTree& grown) {
  digest.add(grown.parent);
  digest.add(grown.column);
  for (const Doubles* own : {&grown.trapezoid, &grown.gain, &grown.cuts, &grown.share}) digest.add(*own);
  for (const Doubles& own : grown.category) digest.add(own);
}

// What all rows say of a grown tree, and what the tree then says of them.
void sum_up(Digest& digest, const Table& table, const Sampler& sampler, const GrownTree& grown, Combination combination,
            int n_threads) {
  Monitor monitor([](std::size_t) {});
  Tree tree = make_tree(grown);
  Moments moments(
      tree, {table.n_classes, sampler.low, sampler.high, sampler.most_weight, 8, grown.key_bound, 1, table.columns()});
  moments.add(table.view(), n_threads, monitor);
  const Doubles class_weight = moments.class_weight();
  for (const Doubles& own : {class_weight, moments.mean(), moments.variance(), moments.known_weight()}) digest.add(own);
  digest.add(moments.exemplars().key);
  digest.add(moments.exemplars().exemplar);
  Doubles support, scale;
  for (std::size_t o = 0; o < tree.size(); ++o)
    support.insert(support.end(), {moments.sums().low[o], moments.sums().high[o]});
  for (std::size_t j = 0; j < table.n_columns; ++j)
    scale.push_back(table.n_categories[j] > 0 ? 0.0 : sampler.high[j] - sampler.low[j]);
  set_gates(tree, support, 1.0);
  const auto n_classes = static_cast<std::size_t>(table.n_classes);
  Sources sources{class_weight, Doubles(tree.size(), 1.0), {}, table.n_classes, combination, true};
  for (std::size_t o = 0; o < tree.size(); ++o) {
    sources.is_source.push_back(tree.is_leaf(o));
    double* own = sources.consequent.data() + o * n_classes;
    double total = 0;
    for (std::size_t c = 0; c < n_classes; ++c) total += own[c];
    for (std::size_t c = 0; c < n_classes; ++c) own[c] = total > 0 ? own[c] / total : 1.0 / table.n_classes;
  }
  Doubles few = table.first_rows(60);
  for (std::size_t i = 0; i < few.size(); i += 3) few[i] *= table.n_categories[i % table.n_columns] > 0 ? 1.0 : 1.3;
  answer_by_tree(digest, tree, sources, rows_of(few, table.n_columns), scale, n_threads);
  const std::size_t n = table.y.size();
  Doubles belief(n * n_classes), ignorance(n), conflict(n);
  combine_evidence(tree, sources, table.view().x, n_threads, {belief.data(), ignorance.data(), conflict.data()});
  digest.add(belief);
}

void learn_splits(const Table& table, const Sampler& sampler, const Sample& sample, const std::string& name,
                  int n_threads) {
  Monitor monitor([](std::size_t) {});
  for (const Criterion criterion : {Criterion::gini, Criterion::entropy, Criterion::cci}) {
    SplitOptions options;
    options.band.criterion = criterion;
    options.band.form = criterion == Criterion::entropy ? BandForm::median_mad : BandForm::mean_std;
    options.max_rules = 30;
    options.class_unit.assign(static_cast<std::size_t>(table.n_classes), 1.0);
    options.n_exemplars = 8;
    options.n_threads = n_threads;
    const GrownTree grown = grow_splits(sample, options, monitor);
    Digest digest(name + " splits " + std::to_string(static_cast<int>(criterion)));
    add_grown(digest, grown);
    sum_up(digest, table, sampler, grown, criterion == Criterion::cci ? Combination::vote : Combination::dempster,
           n_threads);
    digest.print();
  }
}

// Two words for every number: low and high.
std::vector<Term> words_for(const Table& table, const Sampler& sampler) {
  std::vector<Term> terms;
  for (std::size_t j = 0; j < table.n_columns; ++j) {
    if (table.n_categories[j] > 0) continue;
    const double third = (sampler.high[j] - sampler.low[j]) / 3;
    const double a = sampler.low[j] + third, b = sampler.low[j] + 2 * third;
    const auto column = static_cast<Column>(j);
    terms.push_back({column, {-kInfinity, -kInfinity, a, b}, false});
    terms.push_back({column, {a, b, kInfinity, kInfinity}, false});
  }
  return terms;
}

void learn_words(const Table& table, const Sampler& sampler, const Sample& sample, const std::string& name,
                 int n_threads) {
  Monitor monitor([](std::size_t) {});
  WordOptions options;
  options.n_threads = n_threads;
  const GrownTree grown = grow_words(sample, words_for(table, sampler), options, monitor);
  Digest digest(name + " words");
  add_grown(digest, grown);
  sum_up(digest, table, sampler, grown, Combination::cautious, n_threads);
  digest.print();
}

void learn_rules(const Table& table, const Sampler& sampler, const Sample& sample, const std::string& name,
                 bool in_words, int n_threads) {
  Monitor monitor([](std::size_t) {});
  rules::RuleOptions options;
  options.max_rules = 30;
  options.n_threads = n_threads;
  if (in_words) {
    options.words.emplace();
    for (const Term& own : words_for(table, sampler)) options.words->push_back({own.column, own.ends, 1.0, {}});
  }
  const rules::LearnedRules found = rules::grow_rules(sample, options, monitor);
  Digest digest(name + (in_words ? " wide in words" : " wide"));
  GrownTree chains;
  chains.add(-1, {}, 0.0);
  Ints rule_node;
  for (const rules::Rule& rule : found.rules) {
    NodeId above = 0;
    for (const Condition& condition : rule) {
      chains.add(above, condition, 0.0);
      above = static_cast<NodeId>(chains.parent.size() - 1);
    }
    rule_node.push_back(above);
  }
  add_grown(digest, chains);
  for (const Doubles* own : {&found.weight, &found.prior, &found.ridge}) digest.add(*own);
  for (const rules::Choice& own : found.choices) digest.add(Doubles{own.loss, own.ridge, own.scale});
  const Tree tree = make_tree(chains);
  const Doubles base(found.prior.size(), 0.0);
  RuleWeights weights = weights_of(tree, rule_node, found.weight, found.prior, base);
  Supports supports;
  Doubles scale;
  for (std::size_t j = 0; j < table.n_columns; ++j) {
    scale.push_back(table.n_categories[j] > 0 ? 0.0 : sampler.high[j] - sampler.low[j]);
    supports.column.push_back(static_cast<Column>(j));
    supports.gate.emplace_back(sampler.low[j], sampler.high[j], 1.0);
    supports.n_categories.push_back(table.n_categories[j]);
  }
  supports.n_fading = table.n_columns;
  list_columns(tree, supports, weights);
  const Doubles few = table.first_rows(60);
  const MatrixView rows = rows_of(few, table.n_columns);
  const RowsBehind behind(products_of(tree, rule_node, rows), found.ridge, 0.25, {});
  answer_by_weights(digest, tree, weights, supports, behind, rows, scale, n_threads);
  Doubles scores(table.y.size() * static_cast<std::size_t>(table.n_classes));
  add_scores(tree, weights, supports, table.view().x, n_threads, scores.data());
  digest.add(scores);
  digest.print();
}

void learn(Inputs& from, const std::string& name, int n_threads) {
  Table table;
  table.n_categories = from.ints();
  table.n_columns = table.n_categories.size();
  table.n_classes = static_cast<int>(from.number());
  table.n_sampled = static_cast<std::size_t>(from.number());
  table.x = from.doubles();
  table.y = from.array<Label>();
  table.weight = from.doubles();
  Monitor monitor([](std::size_t) {});
  Sampler sampler({table.n_columns, table.n_classes, 1, table.n_sampled, 20, table.n_categories, table.columns()});
  sampler.add(table.view(), 0, n_threads, monitor);
  const Sample sample = sampler.finish(n_threads);
  learn_splits(table, sampler, sample, name, n_threads);
  learn_words(table, sampler, sample, name, n_threads);
  for (const bool in_words : {false, true}) learn_rules(table, sampler, sample, name, in_words, n_threads);
}

}  // namespace

}  // namespace ferl

int main(int n_arguments, char** arguments) {
  if (n_arguments != 3) {
    std::cerr << "usage: core_digests INPUTS N_THREADS\n";
    return 2;
  }
  try {
    ferl::Inputs from(arguments[1]);
    const int n_threads = std::atoi(arguments[2]);
    std::cerr << "instruction set " << ferl::instruction_set() << '\n';
    while (!from.is_over()) {
      const std::string kind = from.text(), name = from.text();
      if (kind == "tree")
        ferl::judge_tree(from, name, n_threads);
      else if (kind == "weights")
        ferl::judge_weights(from, name, n_threads);
      else if (kind == "table")
        ferl::learn(from, name, n_threads);
      else
        throw std::runtime_error("unknown kind " + kind);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
