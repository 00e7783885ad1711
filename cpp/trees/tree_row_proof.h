// A row of a tree while one of its values moves.
#pragma once

#include <vector>

#include "core/tree.h"
#include "proofs/row_proof.h"
#include "trees/evidence.h"
#include "trees/label_proof.h"

namespace ferl {

class TreeRowProof : public RowProof {
 public:
  // The first row of x is the row, and `label` its label.
  TreeRowProof(const Tree& tree, const Sources& sources, const MatrixView& x, Label label);

  Corners corners(Column column) override;
  bool keeps_label(Column column, Interval values) override;
  Label label_at(Column column, double value) override;

 private:
  void add_corners(const Node& node, Corners& corners) const;

  const Tree& tree_;
  const Sources& sources_;
  std::vector<double> row_;
  Label label_;
  LabelProof proof_;
  std::vector<double> belief_;  // [class]
};

}  // namespace ferl
