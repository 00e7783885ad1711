// Rows that stand for many equal ones. As one row each they would lie in one part of inner validation, or outside of the
// rows that a step looks at, with all their weight.
#pragma once

#include <optional>

#include "rows/sample.h"
#include "rules/tuning.h"

namespace ferl::rules {

// The sample with such rows taken apart into pieces, each with a key and a place of its own; none where there are none.
// Rows of great weight alone stay whole, since weights of surveys are no repetitions: validation on pieces of the rows
// that were fitted would choose rules that know them by heart. A row is a repetition if its values come with other
// classes as well, or if it weighs many times as much as others.
std::optional<Sample> repeated_rows_apart(const Sample& sample, const Tuning& tuning);

}  // namespace ferl::rules
