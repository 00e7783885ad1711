// What all bindings share: arrays, checks, and how long work reports its progress.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <cmath>
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
using OutIndices = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline MatrixView view(const Matrix& m) { return {m.data(), m.shape(0), m.shape(1), m.stride(0), m.stride(1)}; }

inline void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

// Whether all entries of an array without gaps are as they must be.
template <class Array, class Holds>
bool all_of(const Array& values, const Holds& holds) {
  return std::all_of(values.data(), values.data() + values.size(), holds);
}

// Numbers of categories, which tell where codes may point: anything else is never copied into the core.
inline void check_category_counts(const Codes& n_categories) {
  require(all_of(n_categories, [](std::int32_t n) { return n >= 0; }), "n_categories must not be negative.");
}

// Ends of trapezoids: ascending, on either side both finite or both infinite. NaN is neither.
inline void check_trapezoids(const CMatrix& trapezoid) {
  for (std::size_t o = 0; o < trapezoid.shape(0); ++o) {
    const double* ends = trapezoid.data() + 4 * o;
    require(std::is_sorted(ends, ends + 4) && !std::isnan(ends[0]) && !std::isnan(ends[1]) && !std::isnan(ends[2]) &&
                !std::isnan(ends[3]),
            "The ends of every trapezoid must ascend.");
    require((std::isfinite(ends[0]) ? std::isfinite(ends[1]) : ends[0] < 0 && ends[1] == ends[0]) &&
                (std::isfinite(ends[3]) ? std::isfinite(ends[2]) : ends[3] > 0 && ends[2] == ends[3]),
            "A side of a trapezoid must be finite, or infinite at both ends.");
  }
}

// More threads than any machine has would only be refused by the system, one by one.
inline int checked_threads(int n_threads) { return std::clamp(n_threads, 1, 1024); }

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

// One call at a time for an object that takes rows in: it changes while other threads of Python run.
class Turn {
 public:
  explicit Turn(std::atomic_flag& busy) : busy_(busy) {
    require(!busy_.test_and_set(std::memory_order_acquire),
            "Another call is at work on this object. Give each thread a separate object, and merge their states.");
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { busy_.clear(std::memory_order_release); }

 private:
  std::atomic_flag& busy_;
};

// Shows progress and lets Ctrl-C through, from code that runs without the GIL.
inline Monitor python_monitor(nb::object report) {
  return Monitor([report](std::size_t progress) {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!report.is_none()) report(progress);
  });
}

void bind_sampler(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_rules(nb::module_& m);
void bind_moments(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_cases(nb::module_& m);
void bind_sources(nb::module_& m);    // after bind_tree, whose class it uses
void bind_scores(nb::module_& m);     // after bind_tree and bind_cases
void bind_exemplars(nb::module_& m);  // likewise
void bind_json(nb::module_& m);

}  // namespace ferl::python
