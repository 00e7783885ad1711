#include "trees/tree_row_proof.h"

#include <algorithm>
#include <utility>

namespace ferl {

TreeRowProof::TreeRowProof(const Tree& tree, const Sources& sources, const MatrixView& x, Label label)
    : tree_(tree), sources_(sources), label_(label), proof_(tree, sources), belief_(sources.n_classes) {
  for (std::size_t f = 0; f < x.n_columns; ++f) row_.push_back(x(0, f));
  proof_.stand_at(x, 0);
}

// Covers all conditions on the column that some value of it can meet. A column matters if it decides how strongly any
// source fires.
Corners TreeRowProof::corners(Column column) {
  Corners corners;
  proof_.box.set_interval(column, {-kInfinity, kInfinity});
  proof_.walk();
  proof_.box.set_interval(column, {row_[column], row_[column]});
  std::size_t end = 0;  // of the last subtree that depends on the column
  for (const std::size_t o : proof_.box.reached) {
    const Node& node = tree_.nodes[o];
    if (node.column == column) {
      add_corners(node, corners);
      end = std::max(end, node.end);
    }
    corners.matters = corners.matters || (o < end && sources_.is_source[o]);
  }
  return corners;
}

// Proofs hold wherever corners are; between corners they are tight.
void TreeRowProof::add_corners(const Node& node, Corners& corners) const {
  add_bends(node.membership, corners.at);
  if (!sources_.gated || !(node.gate.slope > 0)) return;
  add_bends(node.gate, corners.at);
  corners.reach = std::max(corners.reach, 1 / node.gate.slope);
}

bool TreeRowProof::keeps_label(Column column, Interval values) {
  proof_.box.set_interval(column, values);
  proof_.walk();
  proof_.box.set_interval(column, {row_[column], row_[column]});
  for (Label other = 0; other < sources_.n_classes; ++other)
    if (other != label_ && !proof_.cannot_overtake(label_, other) && !proof_.stays_ahead(label_, other)) return false;
  return true;
}

// The class of the largest pignistic probability, the first of equals.
Label TreeRowProof::label_at(Column column, double value) {
  double ignorance, conflict;
  const double before = std::exchange(row_[column], value);
  const MatrixView x{row_.data(), 1, row_.size(), static_cast<std::ptrdiff_t>(row_.size()), 1};
  combine_evidence(tree_, sources_, x, 1, {belief_.data(), &ignorance, &conflict});
  row_[column] = before;
  for (double& belief : belief_) belief += ignorance / sources_.n_classes;
  return static_cast<Label>(std::max_element(belief_.begin(), belief_.end()) - belief_.begin());
}

}  // namespace ferl
