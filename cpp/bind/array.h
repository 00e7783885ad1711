// What all bindings share: arrays, checks, and how long work reports its progress.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "core/types.h"

namespace nb = nanobind;

namespace ferl::python {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using CMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Written to, so never converted: a silent copy would swallow the result.
using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline MatrixView view(const Matrix& m) { return {m.data(), m.shape(0), m.shape(1), m.stride(0), m.stride(1)}; }

inline void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

template <class Array>
auto copy(const Array& values) {
  return std::vector<std::remove_const_t<typename Array::Scalar>>(values.data(), values.data() + values.size());
}

template <class T>
nb::object to_numpy(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.begin(), owner));
}

template <class T>
nb::object vector_of(const std::vector<T>& values) {
  return to_numpy(values, {values.size()});
}

// Shows progress and lets Ctrl-C through, from code that runs without the GIL.
inline Monitor python_monitor(nb::object report) {
  return Monitor([report](std::size_t progress) {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!report.is_none()) report(progress);
  });
}

void bind_sampler(nb::module_& m);
void bind_growth(nb::module_& m);
void bind_wide(nb::module_& m);
void bind_moments(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_sources(nb::module_& m);    // after bind_tree, whose class it uses
void bind_scores(nb::module_& m);     // after bind_tree, too
void bind_exemplars(nb::module_& m);  // likewise
void bind_json(nb::module_& m);

}  // namespace ferl::python
