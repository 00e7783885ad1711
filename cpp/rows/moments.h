// What a finished tree learns from all rows in one pass: class weights and ranges, and what the rows of each node look
// like: mean and variance of every feature, and a few of the rows themselves.
//
// Sums are kept in fixed point: integers add up to the same bits in any order, so the result depends neither on the
// order of the rows nor on how they are cut into blocks, threads or machines, and partial results can be merged.
// Firings and weights are rounded each by itself and then multiplied, so that a row of weight 2 is the row twice.
#pragma once

#include <cstdint>
#include <vector>

#include "core/compiler.h"
#include "core/parallel.h"
#include "core/tree.h"
#include "core/types.h"
#include "core/walk.h"
#include "novelty/exemplar_keeper.h"
#include "rows/hash.h"

namespace ferl {

// A weight is a whole number of units, each 2^-46 of the power of two above the largest weight; the remainder is cut
// off. That power may be twice the largest weight. So a weight 2^45 times smaller than the largest has at least one
// unit, and a smaller one may have none and vanish.
inline constexpr int kWeightBits = 46;
inline constexpr double kWeightSpan = 0x1p45;

struct MomentOptions {
  int n_classes;
  std::vector<double> low, high;         // of each feature over all rows: values are summed in units of its range
  double most_weight;                    // the largest of a row
  std::size_t n_exemplars;               // rows that each node keeps,
  std::vector<std::uint64_t> key_bound;  // [node]: and none of a larger key
  std::uint64_t seed;                    // of the rows' keys, and the columns these are made of
  std::vector<Column> columns;
};

using Sum = Int128;  // 50 bits for a firing, 46 for a weight, 31 for the number of rows, and the sign
inline constexpr std::uint64_t kMostRowsOfSums = (std::uint64_t{1} << 31) - 1;

// The sums as parallel arrays: what one process tells another.
struct MomentSums {
  std::vector<Sum> of_class;              // [node][class]
  std::vector<Sum> first, second, known;  // [node][feature]: of values, their squares, and the weight that has any
  std::vector<double> low, high;  // [node]: range of the node's own feature over the rows that reached its parent
};

class Moments {
 public:
  Moments(const Tree& tree, MomentOptions options);

  void add(const TableView& table, int n_threads, Monitor& monitor);
  void add(const MomentSums& sums, const ExemplarTable& exemplars, std::uint64_t n_rows);

  std::uint64_t n_rows() const { return n_rows_; }
  const MomentSums& sums() const { return tally_.sums; }
  ExemplarTable exemplars() { return tally_.exemplars.table(); }

  // [node][class]: firing times weight; [node][feature]: weighted by firing, zero where nothing fires.
  std::vector<double> class_weight() const, mean() const, variance() const;
  std::vector<double> known_weight() const;  // [node][feature]: behind mean and variance; missing values weigh nothing

 private:
  // What has been taken in so far, by this object or by one thread.
  struct Tally {
    MomentSums sums;
    ExemplarKeeper exemplars;
  };
  struct Piece;

  void add(const MomentSums& sums);
  void count_rows(std::uint64_t n_more);
  void add_block(const Block& block, Piece& piece) const;
  void add_features(std::size_t node, const Block& block, Piece& piece, const Firing& firing) const;
  void add_exemplars(std::size_t node, const Block& block, Piece& piece, const Firing& firing) const;
  bool is_sum_of_sides(std::size_t node) const;
  MomentSums with_splits() const;
  std::vector<double> in_rows(const std::vector<Sum>& sums) const;
  double mean_in_ranges(const MomentSums& sums, std::size_t cell) const;
  Tally no_rows() const;

  const Tree& tree_;
  MomentOptions options_;
  RowHash hash_;
  std::vector<double> centre_, half_;  // [feature]
  double weight_unit_;                 // a power of two, so that scaling rounds nothing
  Tally tally_;
  std::uint64_t n_rows_ = 0;
};

}  // namespace ferl
