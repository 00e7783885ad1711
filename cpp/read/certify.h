// What a model can answer within a box: bounds on every firing, and the largest box in which a label cannot change.
//
// The box of radius r around a row x holds every row y with |y(f) - x(f)| <= r * scale(f) for all features f. All
// bounds are sound in floating point; see box_walk.h, label_proof.h and score_proof.h.
#pragma once

#include "core/tree.h"
#include "core/types.h"
#include "read/evidence.h"
#include "read/scores.h"

namespace ferl {

// Bounds of every node's firing over the box around each row: low and high are [row][node], the caller passes zeros.
void bound_firings(const Tree& tree, const MatrixView& x, double radius, const double* scale, bool gated,
                   int n_threads, double* low, double* high);

// What a certificate is about: the sources, how they are combined, and the units of the radius.
struct Certified {
  const Tree& tree;
  const Sources& sources;  // the rule is dempster or vote
  const double* scale;     // [feature], not negative; zero for a feature that does not move
};

// For each row the largest radius found (to 9 digits, from below) in which its label stays ahead of all other classes.
// label: [row], what is predicted there. A tree of one leaf has radius infinity.
void certified_radius(const Certified& model, const MatrixView& x, const Label* label, int n_threads, double* radius);

// The same of weights of evidence.
struct CertifiedScores {
  const Tree& tree;
  const Weights& weights;
  const Supports& supports;
  const double* scale;
};

void certified_radius(const CertifiedScores& model, const MatrixView& x, const Label* label, int n_threads,
                      double* radius);

// For each row the largest radius within which the gate of every node that can be reached is fully open.
void open_radius(const Tree& tree, const MatrixView& x, const double* scale, int n_threads, double* radius);

}  // namespace ferl
