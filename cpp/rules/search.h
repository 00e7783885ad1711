// The rules that may join a path: conditions that gain most by themselves, and conditions that gain most beside them.
#pragma once

#include <vector>

#include "rules/path_rows.h"
#include "rules/rule.h"
#include "rules/scan.h"

namespace ferl::rules {

struct Candidate {
  double gain;
  Rule rule;
  int sign;  // that the second class's weight must have; 0: any
};

// The sign that a rule's weight must have when the condition joins it; kNever: none will do.
int sign_with(const Task& task, int sign, const Condition& condition);

// The best condition of each feature, and the features that gain enough to be looked at.
struct FeatureScan {
  std::vector<Found> found;         // [feature of the grid]
  std::vector<std::size_t> active;  // ascending
};

// If all features are too much work, most scans use only the features that were active in the last scan of all
// features.
FeatureScan scan_features(const Task& task, const Scanner& scanner, std::vector<std::size_t> active, bool all_features);

// Candidates, the best first: gain less tau for each condition.
std::vector<Candidate> search(const Task& task, const Scanner& scanner, const FeatureScan& scan, double tau,
                              const Dice& dice);

}  // namespace ferl::rules
