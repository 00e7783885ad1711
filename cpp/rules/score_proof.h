// Whether a label stays while a row moves inside a box, for weights of evidence that add up.
//
// The lead of one class over another is a sum of products of memberships, and of curves and maps. Each membership
// depends on one column and is linear between its corners; curves and maps are constant on cells. Along every column
// the sum is linear between corners, so it is least where each column is at a corner or at an end of its interval: a
// search among finitely many rows, see corner_grid.h.
//
// A true answer is a proof, rounding included. Memberships are computed as in the walk; tolerances cover the rounding
// of corners to numbers and the rounding of sums in prediction.
//
// The gates mix the summed weights with the scores of the class frequencies, in proportion to one number, the support:
// the lead of one class over another is linear in it. So the label stays if it is ahead at both ends of the support's
// interval, with the least lead of the weights in the box. Without any support the label is the most frequent class.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/tree.h"
#include "core/types.h"
#include "proofs/box_walk.h"
#include "proofs/row_proof.h"
#include "rules/corner_grid.h"
#include "rules/scores.h"

namespace ferl {

class ScoreProof : public RowProof {
  static constexpr std::size_t kNoInput = static_cast<std::size_t>(-1);

 public:
  ScoreProof(const Tree& tree, const RuleWeights& weights, const Supports& supports);

  // Sets the box to the row itself, whose label is given.
  void stand_at(const MatrixView& x, std::size_t row, Label label);
  // The other classes, best first by the row's scores: the first ones are likely to limit a radius, and the later ones
  // then need no more than one proof each.
  std::vector<Label> others() const;
  // The box of a radius around the row; scale: [column], the unit of each column.
  void set_box(double radius, const double* scale);

  // Whether all rows of the box have the same answer.
  bool is_still() const;
  // Whether no row of the box has any support, so that the label is the most frequent class, the first of equals.
  bool is_silent() const { return label_ == most_frequent_ && support_.high == 0; }
  // Whether a quick search finds no row of the box in which the other class has caught up.
  bool may_stay_ahead(Label other);
  // Whether the other class has caught up in no row of the box: a proof.
  bool stays_ahead(Label other);

  Corners corners(Column column) override;
  bool keeps_label(Column column, Interval values) override;
  bool proves_long_intervals() const override { return true; }  // of a lead, its corners are all that matters
  Label label_at(Column column, double value) override;
  std::array<double, 2> crossing(Column column, double near, double far) override;

 private:
  // A column that rules use, and the memberships of its conditions at the corners of its interval.
  struct Axis {
    Column column = 0;
    bool is_categorical = false;
    std::vector<std::size_t> nodes;  // the conditions
    std::vector<std::size_t> rules;  // that have them
    std::vector<double> corners;     // of all conditions, sorted
    std::vector<double> at_corners;  // [corner][condition]: the memberships there
    std::size_t input = kNoInput;    // of the curves and maps
    std::vector<Bin> corner_bins;    // [corner]: of that input
    std::vector<Bin> bins;           // [point]
    double blur = 0;                 // how far corners may lie from where they are computed
    Interval interval;
    bool is_still = true;  // every membership is constant over the interval, to the last bit
    std::size_t n_points = 1;
    std::vector<double> membership;  // [condition][point]
  };
  struct Factor {
    std::size_t axis, condition;
  };
  struct Conditions {
    std::vector<Factor> factors;  // by axis
    bool has_repeats = false;     // two conditions on one column: their product bends between the corners
  };
  // A curve or map whose cell is not the same everywhere in the box.
  struct MovingCurve {
    std::uint32_t first_cell;                // what stays added
    std::vector<std::size_t> axis;           // that move, as indices in moving_, ascending
    std::vector<const std::uint32_t*> step;  // [axis][bin]
  };
  // A rule whose firing is not the same everywhere in the box.
  struct MovingRule {
    std::size_t rule;
    double still;                   // product of the memberships that stay
    std::vector<std::size_t> axis;  // that move, as indices in moving_
    std::vector<const double*> membership;
  };

  void add_rule(std::size_t rule, std::size_t node);
  std::size_t axis_of(Column column);
  void find_corners(Axis& axis) const;
  void find_tolerances();
  void move(Axis& axis, Interval interval);
  void settle();
  Interval support() const;
  void settle_rule(std::size_t rule);
  void settle_curve(const CurvesAndMaps::Term& term);
  std::uint32_t step_at(const MovingCurve& curve, std::size_t i, std::size_t point) const;
  double lead_in(std::uint32_t cell, Label other) const;
  const double* memberships(Factor factor) const;
  const double* weights_of(std::size_t rule) const;
  bool is_behind_somewhere(Label other, double bound);
  CornerGrid advantage(Label other) const;
  double least_lead(Label other) const;
  double least_lead(Label other, double support) const;
  double base_lead(Label other) const { return weights_.base[label_] - weights_.base[other]; }
  double needed_lead(Label other) const;
  void stand_along(Column column);
  bool stays_ahead_along(const Axis& axis);

  const Tree& tree_;
  const RuleWeights& weights_;
  const Supports& supports_;
  std::vector<Axis> axes_;
  std::vector<Conditions> rules_;
  std::vector<std::size_t> gated_axis_;  // [column of supports that fades scores]
  std::vector<std::size_t> input_axis_;  // [input of the curves]
  std::vector<double> tolerance_;        // [class]: how far a computed score may lie from the score at corners
  std::vector<double> row_, row_score_;
  // Scratch memory of move and of the search for a row that is behind.
  std::vector<double> said_, ahead_of_;
  std::vector<std::size_t> at_;
  Label label_ = 0, most_frequent_ = 0;

  // The current box:
  Interval support_{1, 1};
  std::vector<std::size_t> moving_;       // axes
  std::vector<MovingRule> moving_rules_;  // n_moving_rules_ rules, then older ones, whose memory is reused
  std::size_t n_moving_rules_ = 0;
  std::span<const MovingRule> moving_rules() const { return {moving_rules_.data(), n_moving_rules_}; }
  struct Asking {
    std::size_t rule;  // as index in moving_rules_
    const double* membership;
  };
  std::vector<std::vector<Asking>> asking_;  // [moving axis]: rules that use it, by its first condition
  std::vector<MovingCurve> moving_curves_;
  std::vector<double> still_;  // [class]: sum of the prior and the rules that do not move

  // The only column along which the row moves:
  struct Line {
    Column column = -1;
    std::size_t axis = 0;
    bool has_repeats = false;
    double support = 1;               // of the other columns' gates
    std::vector<double> rest;         // [condition]: firing of the rule's other conditions
    std::vector<double> still;        // [class]: sum of the prior and the terms without the column
    std::vector<MovingCurve> curves;  // terms with the column; their one step is the column's
    std::vector<Label> others;        // best first, by the row's scores
  };
  double lead_along(Label other, Bin bin) const;
  Line line_;
};

// What a certificate is about: the weights, the gates, and the units of the radius.
struct CertifiedScores {
  const Tree& tree;
  const RuleWeights& weights;
  const Supports& supports;
  const double* scale;  // [feature], not negative; zero for a feature that does not move
};

// For each row the largest radius found (from below) in which its label stays ahead of all other classes.
void certified_radius(const CertifiedScores& model, const MatrixView& x, const Label* label, int n_threads,
                      double* radius);

}  // namespace ferl
