// Every number that learning rules was tuned with, and why it is what it is. ferl.bench varies them through
// `ferl._core.TUNING`; nothing else changes them.
//
// "Round number": no other value was measured. "Prototype": the value of the prototype that this learner replaced, whose
// alternatives were not measured again. Figures of log-loss are means over the calibration parts of 30 data sets, see
// docs/method/design.md and docs/results/defaults_wide.md. What has to be known when the core is compiled, because arrays
// have that size, is in kernels.h, refit.h and scan.h; it changes no answer.
#pragma once

#include <cstddef>
#include <vector>

namespace ferl::rules {

struct Tuning {
  // Knots: where conditions may begin and end.
  std::size_t knot_budget = 400;    // over all columns, so that a scan of many columns takes no longer. Prototype.
  std::size_t min_knots = 6;        // of a column, however many columns there are. Prototype.
  std::size_t max_knots = 24;       // of a column; 48 were no better. At most kMaxKnots, the room that kernels have.
  double weight_per_knot = 15;      // fewer rows, fewer knots. Round number.
  double least_gap = 1e-9;          // of the range, between knots: an upright ramp would divide by 0. Round number.
  double far_out = 1e-7;  // of the range: an end that leaves less than this to all other points is no knot. One value of
                          // 1e10 among values around one had hidden a feature.
  double least_share = 1e-9;  // of a word, and of what lies outside: a word of all rows or none adds nothing. Round number.

  // Starts: a path begins with linear rules or with none.
  double linear_tau = 10;  // gain that a condition costs after linear rules. Prototype.
  double empty_tau = 2;    // gain that a condition costs on the path that begins with no rule. Prototype.
  std::size_t linear_rules = 40;    // full ramps of the best features: logistic regression is then inside the model.
                                    // Prototype, where this start was the largest single gain found.
  std::size_t linear_curves = 150;  // the same where rules have one condition. Round number: as many as grown_rules.

  // Scan: which rows and features a step looks at.
  std::size_t scan_work = 600'000;    // rows x features x channels of a scan, as long as enough rows remain. Round number.
  std::size_t min_scan_rows = 1200;   // however many features there are. Prototype.
  std::size_t max_scan_rows = 3000;   // however few features there are. Prototype.
  double most_active_work = 2e5;      // of most scans: features that gained little are left out. Round number.
  std::size_t min_active = 200;       // features that are never left out. Round number.
  double feature_work = 400;          // what a feature costs besides its rows, in the same unit. Round number.
  double least_spread = 1e-6;         // added to h = p (1 - p) of a row: rows that are certain keep some. Round number.
  std::size_t set_orderings = 4;      // classes by whose residuals the categories are put in order. Round number.
  double luck_deviations = 2;  // taken off the gain of a set of categories, with the mean, of what noise gains. Usual.

  // Gain: sum_c (sum g_c phi)^2 / (sum h phi^2 - (sum h phi)^2 / sum h + smoothing).
  double smoothing = 2;         // rules of few rows gain less. Prototype.
  double least_weight = 0.75;   // of (sum h phi)^2 / sum h phi^2, the rows behind a rule. Round number.

  // Search: from single conditions to rules of several.
  std::size_t beam = 3;               // best features that rules begin with. With 4 and 3 random starts log-loss is
                                      // 0.3221, with 3 and 2 it is 0.3202 in 0.88 of the time.
  std::size_t random_starts = 2;      // conditions drawn at random that rules begin with; see beam.
  std::size_t single_candidates = 3;  // rules of one condition that may join in a step. Round number.
  std::size_t pair_extensions = 2;    // best conditions beside each beginning. Round number.
  std::size_t pair_candidates = 4;    // rules of two conditions that may join in a step. Round number.

  // Step: a rule joins.
  double newton_share = 0.5;        // of a Newton step that its first weight takes; a refit follows soon. Prototype.
  double newton_smoothing = 2;      // added to the curvature of that step, as in the gain.
  double most_step = 4;             // of that weight on either side: weights of separable classes would grow. Round number.
  std::size_t pairs_after = 30;     // rules; then a second one joins in each step, if it is a different one. Prototype.
  double most_correlation = 0.8;    // of firings, for a second rule to be a different one. Round number.
  double least_of_best = 0.3;       // of the first one's gain that a second one must have. Round number.

  // Refits while a path grows.
  std::size_t path_rows = 4096;     // that a path is fitted on; what is compared and kept is fitted on all. Round number, at
                                    // most kPlainRows.
  double path_ridge = 10;           // of all rows; the path only orders the rules, ridges are chosen after. Round.
  int path_iterations = 6;          // such weights are refitted again soon. Round number.
  double path_tolerance = 5e-4;     // as path_iterations.
  std::size_t refit_every = 5;      // rules between refits; scanned rows are redrawn as often in steps. Prototype.
  std::size_t refit_rule_share = 12;     // with more than 5 x 12 rules, one refit in each twelfth of them: a refit
                                         // costs rules times classes, a step does not. Round number.
  std::size_t refit_channel_share = 16;  // the same for classes. Round number.
  std::size_t refit_always = 5;     // up to so many rules a refit after each: the first weights matter most. Round.

  // Refits of any kind.
  double intercept_ridge = 1e-3;    // finite where a class has no row. Round number.
  std::size_t curvature_rows = 1024;  // the normal matrix only guides steps: some rows are enough. Round number, at
                                      // most kPlainRows.
  std::size_t memory = 6;           // steps that L-BFGS remembers; usual are 3 to 20.
  int most_halvings = 20;           // of a step before a search ends: a millionth of it. Round number.
  double armijo = 1e-4;             // part of the expected fall that a step must reach. Usual.
  int bounded_sweeps = 200;         // over the coordinates of a quadratic problem with signs. Round number.
  double bounded_tolerance = 1e-3;  // of the refit's own tolerance, for these sweeps. Round number.

  // Choice: inner validation of start, number of rules and ridge.
  std::size_t validation_rows = 20'000;  // more are not looked at before the last path. Round number.
  double few_weight = 500;    // of all rows: below, parts_of_few. Weight counts: a row of weight two is the row twice.
                              // Prototype.
  double some_weight = 1000;  // below, parts_of_some; from here on one part of parts_of_many validates. Prototype.
  int parts_of_few = 6;       // with 4 and 3 parts log-loss is 0.3187 instead of 0.3183, accuracy 86.80 % instead of
  int parts_of_some = 5;      // 86.93 %.
  int parts_of_many = 4;      // a quarter of the rows. Prototype.
  std::vector<std::size_t> sizes = {8, 20, 50, 100, 150};  // numbers of rules that are tried. Prototype.
  std::size_t next_size = 225;  // where max_rules is larger: this, then half as many more each time. Continues sizes.
  std::vector<double> ridges = {240, 60, 15, 4, 1, 0.25, 0.06};  // strong to weak, each fit begins where the one before
                                // ended. Prototype (240 to 1), and two weaker ones. Round numbers.
  std::vector<double> scales = {1, 1.2, 1.44, 1.73, 2.07, 2.49, 2.99};  // of the weights of single words: a ridge that
                                // keeps the weights of many classes apart makes all of them too small, one factor mends
                                // it (docs/guide/concepts.md).
  double linear_slack = 16;     // times the best ridge of the linear rules alone, which is the most that they get later:
                                // with one ridge for all, texture (11 classes) has 97.5 %, so 99.4 %. With few rows the
                                // best one itself would be too weak.
  int choice_iterations = 12;   // of refits that are compared. Round number.
  double choice_tolerance = 2e-4;  // of refits that are compared. Round number.
  double better = 0.999;        // loss below this part of the best is an improvement. Round number.
  int patience = 2;             // sizes without improvement before a start is done. Round number.
  double hopeless = 0.9;        // a start is given up when another one has this part of its loss with no more rules.
                                // With that, and the rules of one validated path kept, fits take 0.7 of the time;
                                // log-loss is 0.3221 where it was 0.3219.
  std::size_t ridges_around = 2;  // tried on either side of what was best for fewer rules. Round number.
  double worse = 1.25;          // times the best loss: weaker ridges are not tried. Round number.
  double most_loss = 9;         // of a validation row, -log(0.0001): one mislabelled row decides nothing. Round number.
  double least_prior = 1e-3;    // share of a class that a path begins with. Round number.

  // Last path and averaging.
  std::size_t fitted_rows = 200'000;  // that weights are fitted on: the firing of every rule is kept for each. Round.
  std::size_t grown_rules = 150;  // a smaller budget is pruned backwards from as many: better than growing few.
  std::size_t averaged = 4;       // best choices of one path; log-loss 0.3187, of 2 and of 8 it is 0.3207 and 0.3205.
  int last_iterations = 60;       // of the refits whose weights are kept. Round number.
  double last_tolerance = 3e-5;   // of the same. Round number.

  // Pruning.
  double drop_share = 0.12;       // of the rules, between two refits. Prototype.
  double prune_ridge_share = 0.25;  // of the model's ridge: its own answers have less noise than labels. Prototype.
  double most_prune_ridge = 15;   // before that share: a stronger one alone would change the answers too much.
  std::size_t prune_rows = 4096;  // that answers are compared on. Round number, at most kPlainRows: packed rules have no
                                  // others.
  int prune_iterations = 12;      // of refits after rules were dropped. Round number.
  double prune_tolerance = 3e-5;  // of the same. Round number.

  // Time and memory alone: no answer depends on these.
  std::size_t pack_above = 65'536;  // rows whose firings are packed; on 30,000 and 60,000 it takes 2 to 10 % longer.
  std::size_t share_firings = 10'000;   // rows of a path from which rules are fired by several threads. Round number.
  std::size_t share_linear = 100'000;   // rows x conditions from which the linear start is shared. Round number.
  std::size_t share_search = 10'000;    // rows x features x channels from which a search is shared. Round number.
  std::size_t share_scan = 200'000;     // rows x features x channels from which a scan is shared. Round number.
  std::size_t share_refit = 500'000;    // rows x weights from which a refit is shared. Round number.
  std::size_t share_grid = 20'000;      // rows x columns from which knots are found by several threads. Round number.
};

// Refuses numbers that learning cannot work with; std::invalid_argument.
void check(const Tuning& tuning);

}  // namespace ferl::rules
