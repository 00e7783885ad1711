// The tree as Python holds it: the compiled conditions, and how many columns rows must have.
#pragma once

#include "bind/array.h"
#include "core/tree.h"

namespace ferl::python {

// Conditions of a tree from the arrays of Python's FuzzyTree.
// `category_start`: [node], and the end: where each node's memberships of categories begin in `category`.
Tree tree_of(const Codes& parent, const Codes& feature, const CMatrix& trapezoid, const Vector& share,
             const Codes& category_start, const Vector& category);

class BoundTree {
 public:
  BoundTree(const Codes& parent, const Codes& feature, const CMatrix& trapezoid, const Vector& share,
            const Codes& category_start, const Vector& category, const CMatrix& support, double margin);

  const Tree& tree() const { return tree_; }
  std::size_t n_columns() const { return n_columns_; }
  std::size_t size() const { return tree_.size(); }

  void check(const Matrix& x) const { require(x.shape(1) >= n_columns_, "X has fewer columns than the tree uses."); }
  void check_box(const Matrix& x, const Vector& scale) const {
    check(x);
    require(scale.shape(0) == x.shape(1), "scale must have one number per column of X.");
  }

 private:
  Tree tree_;
  std::size_t n_columns_ = 0;  // that the conditions use
};

}  // namespace ferl::python
