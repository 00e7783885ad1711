// Training rows as Python gives them, and the dicts of arrays in which a state is told to other processes.
#pragma once

#include "bind/array.h"

namespace ferl::python {

using Words = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Checks shapes and codes. `n_categories`: for each column, 0 where it holds numbers.
TableView table_view(const Matrix& x, const Codes& n_categories, const Codes& y, const Vector& weight, int n_classes,
                     int n_threads);

void check_key_columns(const Codes& columns, std::size_t n_columns);

template <class T>
T entry(const nb::dict& from, const char* key) {
  return nb::cast<T>(from[key]);
}

}  // namespace ferl::python
