// The evidence of a growing tree of words for the training rows: the evidence of all its nodes, combined by Dempster's
// rule, and what one more or one fewer node would change.
//
// A node that fires with phi and has the distribution p gives class c the plausibility 1 - phi + phi p_c. The
// plausibilities of several nodes multiply, and so do the shares 1 - phi that they leave open: two products a row are
// all that is needed, and a node joins by a multiplication and leaves by a division.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels.h"
#include "core/types.h"
#include "rows/sample.h"

namespace ferl {

// The rows that reach a node, by class and then by weight. Every class ends with rows of no weight, up to a whole
// number of vectors.
struct ReachedRows {
  std::vector<Row> row;
  std::vector<double> phi, weight;
  std::vector<std::size_t> begin;  // [class], and the end

  std::size_t size() const { return row.size(); }
};

// Ends a class with rows of no weight.
void pad(ReachedRows& rows);

// No firing is larger, so that what a node has multiplied with can be divided out again.
inline constexpr double kMostBelief = 1 - 1e-9;

// A word and its column.
struct WordAt {
  const double* x;  // [row of the sample]
  const Trapezoid& term;
  double share;  // the membership of a missing value

  double operator()(Row row) const { return is_missing(x[row]) ? share : term(x[row]); }
};

class WordEvidence {
 public:
  // A row counts by its weight times (1 if its class is more probable than any other, plus soft_share times the
  // logarithm of its probability).
  WordEvidence(const Sample& sample, double soft_share);

  // What the rows of a node need to judge one more node below it.
  struct View {
    std::vector<double> plausible;  // [class][row]
    std::vector<double> open;
    double hits = 0, logs = 0;  // weighted sums over the rows
  };
  View view(const ReachedRows& rows) const;

  // Class weights below a node when a term is added to its path, and the distribution they make: drawn towards the
  // class frequencies by one row.
  std::vector<double> class_weight(const ReachedRows& rows, const WordAt& word) const;
  std::vector<double> distribution(std::vector<double> class_weight) const;

  // Mean change over all rows if that child joined, or if this node left.
  double change_by_child(const ReachedRows& rows, const View& view, const WordAt& word, const double* p) const;
  double change_without(const ReachedRows& rows, const std::vector<double>& p) const;

  void join(const ReachedRows& rows, const std::vector<double>& p);
  void leave(const ReachedRows& rows, const std::vector<double>& p);

  // All rows, as they reach the root.
  ReachedRows everything() const;
  double total_weight() const { return total_; }

 private:
  struct State {
    double log_probability, hit;
  };
  State state(const double* plausible, double open, Label y) const;
  double* plausible(Row row) { return plausible_.data() + static_cast<std::size_t>(row) * sample_.n_classes; }
  const double* plausible(Row row) const {
    return plausible_.data() + static_cast<std::size_t>(row) * sample_.n_classes;
  }
  template <class Change>
  void update(const ReachedRows& rows, const Change& change);

  const Sample& sample_;
  double soft_share_, total_ = 0;
  std::vector<double> prior_;
  std::vector<double> plausible_, open_;  // [row][class], [row]
  std::vector<double> log_probability_, hit_;
};

}  // namespace ferl
