// What a finished tree learns from all rows in one pass: class weights and ranges, and what the rows of each node look
// like: mean and variance of every feature, and a few of the rows themselves.
//
// Sums are kept in fixed point: integers add up to the same bits in any order, so the result depends neither on the
// order of the rows nor on how they are cut into blocks, threads or machines, and partial results can be merged.
#pragma once

#include <vector>

#include "canonical.h"
#include "parallel.h"
#include "tree.h"
#include "types.h"
#include "walk.h"

namespace ferl {

// Values are summed in units of their feature's range, which must be the same wherever sums are to be merged.
struct FeatureRanges {
  std::vector<double> centre, half;  // [feature]

  explicit FeatureRanges(const TableView& table);  // over the rows that have weight
};

struct MomentOptions {
  double most_weight;       // an upper bound of a row's weight. A weight is kept to 2^-62 of it
  std::size_t n_exemplars;  // rows that each node keeps
};

class Moments {
 public:
  Moments(std::size_t n_nodes, int n_classes, const FeatureRanges& ranges, const MomentOptions& options);

  // `first`: place of the table's first row among all canonical rows.
  void add(const Tree& tree, const TableView& table, std::size_t first);
  void merge(const Moments& other);
  // A row that reaches a split is shared by its two sides, so the sums over features above splits are those of the sides:
  // taken once, at the end.
  void add_up_splits(const Tree& tree);

  std::vector<double> class_weight() const;  // [node][class]: firing times weight
  std::vector<double> low, high;  // [node]: range of the node's own feature over the rows that reached its parent
  std::vector<double> mean() const, variance() const;  // [node][feature], weighted by firing; zero where nothing fires
  // The first canonical rows that reach a node with more than a trifle. Canonical order is random, so they are a fair
  // sample; and it is the same in whatever pieces the rows come.
  std::vector<std::vector<std::size_t>> exemplars;

 private:
  __extension__ using Sum = __int128;  // 62 bits for one row, 32 for the number of rows

  void add_features(std::size_t node, const Block& block, const TableView& table, const Firing& firing);
  void add_exemplars(std::size_t node, const Firing& firing, std::size_t first);
  double weight(std::size_t node) const;

  const FeatureRanges& ranges_;
  std::size_t n_classes_, n_exemplars_;
  double unit_, feature_unit_;  // powers of two, so that scaling rounds nothing
  std::vector<Sum> sums_, first_, second_;  // [node][class]; [node][feature]: of values and of their squares
};

// Over all canonical rows of the table.
Moments take_moments(const Tree& tree, const TableView& table, const CanonicalRows& canonical,
                     const FeatureRanges& ranges, std::size_t n_exemplars, int n_threads, Monitor& monitor);

}  // namespace ferl
