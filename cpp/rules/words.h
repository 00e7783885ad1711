// Words instead of ramps and sets of categories: conditions that are fixed before learning, "age is high". "Not high"
// is no word here. With the complements of words rules were longer (1.6 conditions instead of 1.3) and no better, on
// the calibration parts of 16 data sets.
#pragma once

#include <vector>

#include "core/thread_pool.h"
#include "rows/sample.h"
#include "rules/knots.h"

namespace ferl::rules {

// A column without words has no candidates. Categories are numbers here, and their words are ranges of them.
Grid make_word_grid(const Sample& sample, const std::vector<Condition>& words, std::size_t n_located,
                    const Tuning& tuning, ThreadPool& pool);

// For rules of one condition: if a column has two words and one is the opposite of the other, the second is enough. A
// rule on "absent" adds nothing to a rule on "present" with the opposite weight.
std::vector<Condition> without_opposites(const std::vector<Condition>& words);

}  // namespace ferl::rules
