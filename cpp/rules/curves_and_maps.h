// Curves and maps: functions of one column or of two, constant on cells, whose values add to the scores.
//
// Each term has separate cuts. The cuts of all terms on a column are merged, so that a value is looked up once for each
// column, and each term finds its cell by small tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types.h"

namespace ferl {

using Bin = std::uint32_t;

struct CurvesAndMaps {
  // A column that some term reads. Bin 0 is a missing value. Numbers: bin 1 + number of cuts below the value.
  // Categories: bin 1 + code, and the last bin for codes outside the training rows.
  struct Input {
    Column column = 0;
    std::int32_t n_categories = 0;  // 0: numbers
    std::vector<double> cuts;       // of all terms, ascending
    Bin bin(double x) const;
    void find_bins(const double* x, std::size_t n, Bin* out) const;  // of n values
    std::size_t n_bins() const { return (n_categories > 0 ? static_cast<std::size_t>(n_categories) : cuts.size()) + 2; }
  };
  struct Axis {
    std::size_t input = 0;
    std::vector<std::uint32_t> step;  // [bin]: added to the number of the cell
  };
  struct Term {
    std::uint32_t first_cell = 0, n_cells = 0;
    std::vector<Axis> axes;  // one for a curve, two for a map
  };

  std::size_t n_classes = 0;
  std::vector<Input> inputs;
  std::vector<Term> terms;
  std::vector<double> value;  // [cell][class]
  std::vector<double> size;   // [cell]: sum of the absolute values

  std::uint32_t cell(const Term& term, const Bin* bin_of_input) const {
    std::uint32_t at = term.first_cell;
    for (const Axis& axis : term.axes) at += axis.step[bin_of_input[axis.input]];
    return at;
  }
  const double* values(std::uint32_t cell) const { return value.data() + cell * n_classes; }
  // Bins of all inputs of a row, which is an array of all columns.
  void find_bins(const double* row, std::vector<Bin>& bins) const;
};

// Cuts of one term on one column, as they are given.
struct GivenAxis {
  Column column;
  std::int32_t n_categories;
  const double* cuts;
  std::size_t n_cuts;
};
// The terms, with their cuts merged; `value`: [cell][class], term by term.
CurvesAndMaps merged(const std::vector<std::vector<GivenAxis>>& terms, std::size_t n_classes,
                     std::vector<double> value);

}  // namespace ferl
