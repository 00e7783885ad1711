// The residuals of the rules so far, on the rows that a step scans.
#pragma once

#include <vector>

#include "rules/path_rows.h"

namespace ferl::rules {

// Rows of a path that are scanned; together they stand for `scale` times their weight.
struct ScanRows {
  std::vector<Row> index = {};  // into PathRows
  double scale = 1;
};

// The number of rows of a scan: fewer with many features or classes.
std::size_t n_scan_rows(const Task& task);

// This number of rows of the path at random, or all rows if there are no more.
ScanRows draw_scan_rows(const Task& task, const PathRows& rows, std::size_t n_wanted, const Dice& dice);

struct Residuals {
  std::vector<float> probability;  // [channel][scanned row], padded
  std::vector<float> gradient;     // [scanned row][gradient], weighted, sums zero over the rows
  std::vector<float> hessian;      // [scanned row], weighted
  std::size_t n_gradients;         // classes, or random projections of them where they are too many
};

// score: [channel][row of the path].
Residuals residuals_of(const Task& task, const PathRows& rows, const ScanRows& scanned, const std::vector<float>& score,
                       const Dice& dice);

}  // namespace ferl::rules
