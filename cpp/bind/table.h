// Training rows as Python passes them, and the dicts of arrays that send a state to other processes.
#pragma once

#include "bind/array.h"

namespace ferl::python {

using Words = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Checks shapes and codes. `n_categories`: for each column, 0 where it holds numbers.
TableView table_view(const Matrix& x, const Codes& n_categories, const Codes& y, const Vector& weight, int n_classes,
                     int n_threads);

// Refuses rows of some weight outside of ranges that were taken from all rows before: sums in fixed point would overflow.
void check_ranges(const TableView& table, const std::vector<double>& low, const std::vector<double>& high,
                  double most_weight, int n_threads);

// Refuses rows, [row][column], that hold infinity or a category that is not there.
void check_rows(const CMatrix& x, const Codes& n_categories);

void check_key_columns(const Codes& columns, std::size_t n_columns);

// Processes exchange states as dicts, which must all have the same version.
inline constexpr int kStateVersion = 1;
void check_state_version(const nb::dict& state);

// An entry of a state, which must have its type already: nothing is converted.
template <class T>
T entry(const nb::dict& from, const char* key) {
  T value;
  if (!from.contains(key) || !nb::try_cast<T>(from[key], value, false))
    throw std::invalid_argument("The entry '" + std::string(key) + "' of a state is missing or has another type.");
  return value;
}

}  // namespace ferl::python
