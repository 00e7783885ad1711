// Whether a class stays ahead of another while a row moves inside a box: from bounds on the firings of all sources.
//
// A true answer is a proof, rounding included: firings are bounded as they are computed (see box_walk.h); sums and
// logarithms, which prediction rounds in another order, are compared with a tolerance.
#pragma once

#include <vector>

#include "core/tree.h"
#include "core/types.h"
#include "proofs/box_walk.h"
#include "trees/evidence.h"

namespace ferl {

// The vote is linear in the firings. A node passes on to its parent the least of (membership x gate x what is below
// it), and the two sides of a band, whose memberships sum to one, are taken together: this shares every condition
// among all leaves below it.
//
// Under Dempster's rule the advantage is the sum over the sources of log[(1 - s + s p(c)) / (1 - s + s p(j))], where s
// is the source's firing times its reliability. Each term is monotone in s: the sum of the terms at their worse ends is
// a bound. Others share conditions as above: terms in favour of c are convex in s, so that any tangent lies below;
// terms against it are concave, so that the chord does. One of the bounds must be positive.
//
// The rules cautious and chain take the largest odds E of a class over the sources of a path (cautious: one path of all
// sources). The advantage is the sum over the paths of log[(1 + E(c)) / (1 + E(j))].
class LabelProof {
 public:
  LabelProof(const Tree& tree, const Sources& sources);

  // Sets the box to the row itself; the proofs are tightest around it.
  void stand_at(const MatrixView& x, std::size_t row);

  // Walks the box as it is; the two questions below are about the last box walked.
  void walk() { box.run(sources_.gated); }

  bool stays_ahead(Label c, Label j);

  // Whether j cannot overtake c because no source that is heard says more for j than for c. Then j is at most equal, to
  // the last bit, because all sums, products and maxima round monotonically; of equals the first is the label.
  bool cannot_overtake(Label c, Label j) const;

  BoxWalk box;

 private:
  // A linear function of a source's discounted firing.
  struct Line {
    double slope = 0, base = 0;
  };

  bool is_source(std::size_t o) const { return sources_.is_source[o] != 0; }
  double p(std::size_t o, Label c) const { return sources_.consequent[o * sources_.n_classes + c]; }
  Interval believed(std::size_t o) const;
  double tolerance(double spread, double magnitude) const;
  bool ahead_in_vote(Label c, Label j);
  bool ahead_termwise(Label c, Label j) const;
  bool ahead_by_lines(Label c, Label j, double share);
  Line below_advantage(std::size_t o, double label_share, double others, double share) const;
  double least();
  double least_of_split(std::size_t left) const;
  bool ahead_in_odds(Label c, Label j);
  double least_on_path(Label c, Label j, std::size_t end) const;

  const Tree& tree_;
  const Sources& sources_;
  std::vector<double> centre_;      // [node] firing at the row itself
  std::vector<double> below_;       // [node] least sum of what is at and below it, per unit of its firing
  std::vector<bool> begins_split_;  // [node - 1]
  std::vector<std::size_t> path_;   // sources whose odds are compared with each other
  double n_sources_ = 0;
};

// What a certificate is about: the sources, how they are combined, and the units of the radius.
struct Certified {
  const Tree& tree;
  const Sources& sources;  // combined by dempster or vote
  const double* scale;     // [feature], not negative; zero for a feature that does not move
};

// For each row the largest radius found (from below) in which its label stays ahead of all other classes.
// label: [row], what is predicted there. A tree of one leaf has radius infinity.
void certified_radius(const Certified& model, const MatrixView& x, const Label* label, int n_threads, double* radius);

}  // namespace ferl
