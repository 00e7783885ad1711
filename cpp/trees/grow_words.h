// Growth of a tree in words: conditions are terms fixed before learning ("age is high"), and a node may have any
// number of children, which join one at a time.
//
// Growth is consistent with prediction: a child is worth what it changes in the answers that the evidence of all nodes
// gives together. What early children said may be said better by later ones, so in the end every rule has to be worth
// its place, or it is taken out again.
#pragma once

#include <cstdint>
#include <vector>

#include "core/parallel.h"
#include "core/tree.h"
#include "core/types.h"
#include "rows/sample.h"

namespace ferl {

// A fuzzy set of a feature. A path has at most one term of a feature: "age is not young and age is middle-aged" would
// only puzzle a reader. (It would be 0.2 points more accurate.)
// The complement of a set only narrows a rule that has begun: "if age is not old" alone would say next to nothing.
struct Term {
  Column column;
  Ends ends;
  bool is_complement;
};

struct WordOptions {
  std::size_t max_rules = 15;
  std::size_t max_depth = 5;
  double min_leaf_weight = 2;
  double min_gain = 0.005;        // a child that changes the answers for the better by less is weak
  int patience = 3;               // weak children in a row that growth goes through in search of a strong one
  double min_coverage = 0;        // share of the whole weight a node needs to have children
  double min_rule_worth = 0.045;  // a rule whose absence costs less is taken out again
  double soft_share = 1;          // see WordEvidence
  int n_threads = 1;
};

GrownTree grow_words(const Sample& sample, const std::vector<Term>& terms, const WordOptions& options,
                     Monitor& monitor);

}  // namespace ferl
