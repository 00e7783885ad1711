// Rows that stand for many equal ones. A whole row would lie with all its weight in one part of inner validation, or
// outside the rows that a step scans.
#pragma once

#include <optional>
#include <vector>

#include "rows/sample.h"
#include "rules/tuning.h"

namespace ferl::rules {

// Returns the sample with repeated rows taken apart into pieces, each with a separate key and position; nothing if no
// row is repeated. A row is a repetition if its values also occur with other classes, or if it weighs many times as
// much as other rows. Other heavy rows stay whole, since survey weights are no repetitions: validation on pieces of the
// fitted rows would choose rules that memorise them.
struct RowsApart {
  Sample sample;
  std::vector<Row> source;  // the row that each piece comes from
};
std::optional<RowsApart> repeated_rows_apart(const Sample& sample, const Tuning& tuning);

}  // namespace ferl::rules
