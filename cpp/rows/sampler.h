// A sample of the training rows, from a table, from blocks of a stream, or from the parts of a cluster.
//
// Bootstrap draws and the sample are keyed by a row's content, not by its place in the table, and equal rows are merged
// into one that carries their weight. The sample is the rows with the smallest keys: a fair one, since the order of
// keys is random, and the same one in whatever order and pieces the rows come. Weight 2 is the same as the row twice.
// Rare classes get some rows more than their share, so that splits can see them; the class shares of a tree come
// from all rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/parallel.h"
#include "core/types.h"
#include "rows/hash.h"
#include "rows/sample.h"

namespace ferl {

struct SamplerOptions {
  std::size_t n_columns;
  int n_classes;
  std::uint64_t seed;
  std::size_t n_rows;        // distinct rows that are kept, whatever their class
  std::size_t n_class_rows;  // the least number of rows of each class, so that rare classes are not lost
  std::vector<std::int32_t> n_categories;
  std::vector<Column> columns;  // the columns that keys are made of
};

// Rows that may get into the sample, as parallel arrays: what one process tells another.
struct Candidates {
  std::vector<std::uint64_t> key, place, count;  // count: how many rows have this content and this weight
  std::vector<Label> y;
  std::vector<double> weight;
  std::vector<double> x;  // [candidate][column]

  std::size_t size() const { return key.size(); }
};

class Sampler {
 public:
  explicit Sampler(SamplerOptions options);

  // `first_place`: of the table's first row among all rows. Rows of weight zero are left out.
  void add(const TableView& table, std::uint64_t first_place, int n_threads, Monitor& monitor);
  void add(const Candidates& candidates);
  // Sets the largest keys that enter, for all rows and for each class. The caller checks whether enough rows entered.
  void limit(std::uint64_t of_all, const std::vector<std::uint64_t>& of_class);

  // The candidates among the rows so far, by ascending key, for another sampler.
  const Candidates& candidates();
  // The sample; the candidates are forgotten, what is known of all rows is not.
  Sample finish(int n_threads);

  // The range of each column over the rows with weight; low > high: it has no value.
  std::vector<double> low, high;
  double most_weight = 0;  // of a row

 private:
  // A candidate of the sample: its place among those held, how many rows it stands for, and the first of these.
  struct Kept {
    std::size_t held;
    std::uint64_t count, place;
  };

  void see_piece(const TableView& table, std::size_t first, std::size_t n, std::uint64_t* keys,
                 std::vector<std::size_t>& n_of_class);
  template <class OverPieces>
  void lower_bounds(const TableView& table, const std::vector<std::uint64_t>& keys,
                    const std::vector<std::size_t>& n_of_class, const OverPieces& over_pieces);
  void reserve(std::size_t n);
  void take_piece(const TableView& table, std::uint64_t first_place, std::size_t first, std::size_t n,
                  const std::uint64_t* keys);
  bool may_enter(std::uint64_t key, Label y) const;
  int compare(std::size_t a, std::size_t b) const;
  bool same_row(std::size_t a, std::size_t b) const;
  std::vector<std::size_t> by_key() const;
  std::vector<Kept> choose();
  void compact();

  SamplerOptions options_;
  RowHash hash_;
  Candidates held_;
  bool is_compact_ = true;
  std::size_t compact_above_;
  // The largest keys that can still enter; read by threads while one of them lowers them, which costs no more than a
  // candidate too many.
  std::atomic<std::uint64_t> bound_;
  std::vector<std::atomic<std::uint64_t>> class_bound_;
  std::mutex mutex_;
};

}  // namespace ferl
