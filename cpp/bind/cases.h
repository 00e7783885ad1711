// Cases from arrays of Python, which are checked.
#pragma once

#include "bind/array.h"
#include "cases/cases.h"

namespace ferl::python {

class BoundCases {
 public:
  BoundCases(const CMatrix& row, const Codes& start, const Codes& label, const Vector& weight, const Vector& centre,
             const Vector& per_unit, const Codes& n_categories, const Vector& frequency, const Codes& n_nearest,
             const Vector& strength);

  const Cases& cases() const { return cases_; }
  void check(const Matrix& x) const;

  void votes(const Matrix& x, bool others_alone, int n_threads, OutMatrix out) const;
  void nearest(const Matrix& x, int n_threads, OutIndices index, OutMatrix distance) const;
  void away(const Matrix& x, const Indices& place, OutMatrix out) const;

 private:
  Cases cases_;
};

}  // namespace ferl::python
