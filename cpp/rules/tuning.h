// Every number that learning rules was tuned with, and why it is what it is. The benchmark varies them through
// `ferl._core.TUNING`; nothing else changes them.
//
// "Round number": no measurement of another value is on record. "Usual": the value of textbooks. "Prototype": the value
// of the prototype that this learner replaced; no later measurement of another value is on record. Figures of log-loss
// are means over the calibration parts of 30 data sets, see docs/method/design.md. Numbers that the compiler needs,
// because arrays have that size, are in kernels.h, refit.h and scan.h; they change no answer.
#pragma once

#include <cstddef>
#include <vector>

namespace ferl::rules {

struct Tuning {
  // --- What grows with the rows. On 20,000 rows and more of five tables (krkopt, connect-4, sleep, magic, flights)
  // log-loss falls by 0.002 to 0.08 where paths, scans and normal matrices take more of them.
  // A table of at most this number of rows is small: paths, scans and normal matrices use their least number of rows,
  // tuned on 30 data sets. Larger tables use a share of the further rows as well.
  std::size_t small_rows = 4096;
  // The share of further rows that a path uses: connect-4 with 20,000 rows has log-loss 0.581 with a quarter of them,
  // 0.566 with all, in the same time.
  double path_share = 1;
  // The most rows of a path, times the channels (scores, one for each class) that are fitted on them: time.
  std::size_t most_path_work = 1'000'000;
  // The most rows of a path, however few classes there are; more than 65,536 were not tried.
  std::size_t most_path_rows = 65'536;
  // The share of further rows that a scan uses: connect-4 with 20,000 rows has log-loss 0.566 with 0.2 of them, 0.554
  // with 0.4, 0.537 with 0.8.
  double scan_share = 1;
  // The most rows of a scan, times features and channels: time.
  std::size_t most_scan_work = 8'000'000;
  // The most rows of a scan; more than 32,000 were not tried.
  std::size_t most_scan_rows = 32'000;
  // The share of further rows that a normal matrix uses: sleep with 79,000 rows has log-loss 0.6615 with an eighth,
  // 0.6603 with a half, in 0.8 of the time, since fewer steps are needed.
  double curvature_share = 0.5;
  // The most rows of a normal matrix. Measured on sleep, where 1,024 rows end refits too early.
  std::size_t most_curvature_rows = 16'384;
  // The least number of rows of a normal matrix for each rule, also on small tables. Round number.
  std::size_t curvature_rows_per_rule = 4;
  // Ridges that larger tables try as well, stronger and weaker than `ridges`: 4,000 rows of texture (11 classes) have
  // log-loss 0.009 instead of 0.018.
  std::vector<double> more_ridges = {960, 0.015};

  // --- Rows that stand for many equal ones (repeated_rows.h). If they stay whole, two seeds of six miss a spike of 1 %
  // in 200,000 rows, and 100,000 rows of two binary columns have a divergence of 0.17 from the truth with two seeds of
  // four. If they are taken apart, every seed finds both.
  // The least number of pieces of a row that is taken apart: 400 rows of two binary columns have a divergence of 0.025
  // from the truth with 40, of 0.008 with 10 and of 0.005 with 4 and 2.
  std::size_t least_pieces = 4;
  // The most pieces of all rows together: time. 100,000 rows with a sentinel have a divergence of 0.0011 from the truth
  // with 8,192, of 0.0003 with 65,536.
  std::size_t most_pieces = 65'536;
  // A row of this weight, in multiples of the mean, is taken apart whatever its values are. Round number.
  double heavy_row = 40;

  // --- Knots: where conditions may begin and end.
  // The most knots of all columns together, so that a scan of many columns takes no longer. Prototype.
  std::size_t knot_budget = 400;
  // The least number of knots of a column, however many columns there are. Prototype.
  std::size_t min_knots = 6;
  // The most knots of a column; 48 were no better. At most kMaxKnots, the room that kernels have.
  std::size_t max_knots = 24;
  // Rows for each knot: fewer rows, fewer knots. Round number.
  double weight_per_knot = 15;
  // The least part of the range between knots: an upright ramp would divide by 0. Round number.
  double least_gap = 1e-9;
  // An end that leaves less than this part of the range to all other points is no knot. One value of 1e10 among
  // values around one had hidden a feature.
  double far_out = 1e-7;
  // The least share of a word, and of what lies outside: a word of all rows or none adds nothing. Round number.
  double least_share = 1e-9;

  // --- Starts: a path begins with linear rules or with none.
  // Gain that a condition costs after linear rules. Prototype.
  double linear_tau = 10;
  // Gain that a condition costs on the path that begins with no rule. Prototype.
  double empty_tau = 2;
  // Full ramps of the best features: logistic regression is then inside the model. Prototype, where this start was the
  // largest single gain found.
  std::size_t linear_rules = 40;
  // The number of full ramps if every rule has one condition. Round number: equal to grown_rules.
  std::size_t linear_curves = 150;

  // --- Scan: which rows and features a step looks at.
  // Rows x features x channels of a scan, as long as enough rows remain. Round number.
  std::size_t scan_work = 600'000;
  // The least number of rows of a scan, however many features there are. Prototype.
  std::size_t min_scan_rows = 1200;
  // The most rows of a scan of few rows, however few features there are. Prototype.
  std::size_t max_scan_rows = 3000;
  // The work of most scans: features that gained little are left out. Round number.
  double most_active_work = 2e5;
  // Features that are never left out. Round number.
  std::size_t min_active = 200;
  // What a feature costs besides its rows, in the same unit. Round number.
  double feature_work = 400;
  // Added to h = p (1 - p) of a row: rows that are certain keep some. Round number.
  double least_spread = 1e-6;
  // Classes by whose residuals the categories are put in order. Round number.
  std::size_t set_orderings = 4;
  // Taken off the gain of a set of categories, with the mean, of what noise gains. Usual.
  double luck_deviations = 2;

  // --- Gain: sum_c (sum g_c phi)^2 / (sum h phi^2 - (sum h phi)^2 / sum h + smoothing).
  // Rules of few rows gain less. Prototype.
  double smoothing = 2;
  // The least (sum h phi)^2 / sum h phi^2, the rows behind a rule. Round number.
  double least_weight = 0.75;

  // --- Search: from single conditions to rules of several.
  // Best features that rules begin with. With 4 and 3 random starts log-loss is 0.3221, with 3 and 2 it is 0.3202 in
  // 0.88 of the time.
  std::size_t beam = 3;
  // Conditions drawn at random that rules begin with; see beam.
  std::size_t random_starts = 2;
  // Rules of one condition that may join in a step. Round number.
  std::size_t single_candidates = 3;
  // Best conditions beside each beginning. Round number.
  std::size_t pair_extensions = 2;
  // Rules of two conditions that may join in a step. Round number.
  std::size_t pair_candidates = 4;

  // --- Step: a rule joins.
  // The part of a Newton step that a rule's first weight takes; a refit follows soon. Prototype.
  double newton_share = 0.5;
  // Added to the curvature of that step, as in the gain.
  double newton_smoothing = 2;
  // The largest first weight on either side: weights of separable classes would grow. Round number.
  double most_step = 4;
  // From this number of rules on, a second rule joins in each step, if it is a different one. Prototype.
  std::size_t pairs_after = 30;
  // A second rule whose firings correlate more with the first one's is no different one. Round number.
  double most_correlation = 0.8;
  // The part of the first one's gain that a second one must have. Round number.
  double least_of_best = 0.3;

  // --- Refits while a path grows.
  // The rows that a path is fitted on, at least; what is compared and kept is fitted on all. Round number.
  std::size_t path_rows = 4096;
  // The ridge, were all rows fitted: the path only orders the rules, ridges are chosen after. Round number.
  double path_ridge = 10;
  // Iterations of a refit of the path: the weights are refitted again soon. Round number.
  int path_iterations = 6;
  // Tolerance of a refit of the path. Round number.
  double path_tolerance = 5e-4;
  // Rules between refits; scanned rows are redrawn as often in steps. Prototype.
  std::size_t refit_every = 5;
  // With more than 5 x 12 rules, one refit in each twelfth of them: a refit costs rules times classes, a step does not.
  // Round number.
  std::size_t refit_rule_share = 12;
  // With more than 5 x 16 classes, the rules between refits are a sixteenth of the number of classes. Round number.
  std::size_t refit_channel_share = 16;
  // Up to this number of rules, a refit follows each rule: the first weights matter most. Round number.
  std::size_t refit_always = 5;

  // --- Refits of any kind.
  // Finite where a class has no row. Round number.
  double intercept_ridge = 1e-3;
  // The normal matrix only guides steps: some rows are enough, at least this number. Round number.
  std::size_t curvature_rows = 1024;
  // Steps that L-BFGS remembers; usual are 3 to 20.
  std::size_t memory = 6;
  // Halvings of a step before a search ends: a millionth of it. Round number.
  int most_halvings = 20;
  // Part of the expected fall that a step must reach. Usual.
  double armijo = 1e-4;
  // Sweeps over the coordinates of a quadratic problem with signs. Round number.
  int bounded_sweeps = 200;
  // The part of the refit's own tolerance at which these sweeps end. Round number.
  double bounded_tolerance = 1e-3;

  // --- Choice: inner validation of start, number of rules and ridge.
  // The most rows of inner validation: equal to growth_rows. On 130,000 flights 20,000 of them chose 14 rules (AUC
  // 0.7595), all of them 50 (0.7620).
  std::size_t validation_rows = 500'000;
  // The most rows of inner validation times channels: a fit with 200 classes takes seconds, not minutes.
  std::size_t most_validation_work = 4'000'000;
  // Rows of inner validation however many classes there are: all of them without such a bound were 20,000.
  std::size_t min_validation_rows = 20'000;
  // Rows of less weight than this are cut into parts_of_few. Weight counts: a row of weight two is the row twice.
  // Prototype.
  double few_weight = 500;
  // Rows of less weight than this are cut into parts_of_some; from this weight on, one part of parts_of_many validates.
  // Prototype.
  double some_weight = 1000;
  // With 4 parts, and 3 of some rows, log-loss is 0.3187 instead of 0.3183, accuracy 86.80 % instead of 86.93 %.
  int parts_of_few = 6;
  // See parts_of_few.
  int parts_of_some = 5;
  // A quarter of the rows validates. Prototype.
  int parts_of_many = 4;
  // Numbers of rules that are tried. Prototype.
  std::vector<std::size_t> sizes = {8, 20, 50, 100, 150};
  // If max_rules is larger: this size, then each size is 1.5 times the one before. Continues sizes.
  std::size_t next_size = 225;
  // Strong to weak, each fit begins where the one before ended. Prototype (240 to 1), and two weaker ones. Round
  // numbers.
  std::vector<double> ridges = {240, 60, 15, 4, 1, 0.25, 0.06};
  // Factors of the weights of single words: a ridge that keeps the weights of many classes apart makes all of them too
  // small, one factor mends it (docs/guide/concepts.md).
  std::vector<double> scales = {1, 1.2, 1.44, 1.73, 2.07, 2.49, 2.99};
  // The most ridge of linear rules, in multiples of the ridge that is best for them alone: texture (11 classes) has an
  // accuracy of 97.5 % with one ridge for all rules, 99.4 % with this limit. With few rows the best ridge itself would
  // be too weak.
  double linear_slack = 16;
  // Iterations of refits that are compared. Round number.
  int choice_iterations = 12;
  // Tolerance of refits that are compared. Round number.
  double choice_tolerance = 2e-4;
  // Loss below this part of the best is an improvement. Round number.
  double better = 0.999;
  // Sizes without improvement before a start is done. Round number.
  int patience = 2;
  // With more classes than many_classes, this multiple of the best loss ends ridges instead of `worse`, and a start is
  // done when the loss of a size is this multiple of the loss of fewer rules: with 200 classes and 10,000 rows, refits
  // of 100 rules took longer than all others where 50 rules had lost 9 % already. Round number.
  double far_worse = 1.05;
  // More classes than this are many; see far_worse. Round number.
  std::size_t many_classes = 32;
  // A start is given up when another one has this part of its loss with no more rules. With that, and the rules of one
  // validated path kept, fits take 0.7 of the time; log-loss is 0.3221 where it was 0.3219.
  double hopeless = 0.9;
  // The number of ridges tried on either side of the best ridge for fewer rules. Round number.
  std::size_t ridges_around = 2;
  // If the loss reaches this multiple of the best loss, weaker ridges are not tried. Round number.
  double worse = 1.25;
  // The largest loss of a validation row, -log(0.0001): one mislabelled row decides nothing. Round number.
  double most_loss = 9;
  // The least share of a class that a path begins with. Round number.
  double least_prior = 1e-3;

  // --- Last path and averaging.
  // The most rows that weights are fitted on: equal to growth_rows. Each row keeps the packed firing of every rule.
  std::size_t fitted_rows = 500'000;
  // The most of these rows times channels: time, as most_validation_work.
  std::size_t most_fitted_work = 10'000'000;
  // Rows that weights are fitted on however many classes there are. Round number.
  std::size_t min_fitted_rows = 50'000;
  // A smaller budget is pruned backwards from this number of rules, which is better than growing few.
  std::size_t grown_rules = 150;
  // Best choices of one path; log-loss 0.3187, of 2 and of 8 it is 0.3207 and 0.3205.
  std::size_t averaged = 4;
  // The most paths whose rules and weights are averaged if there are more than small_rows rows; each path leaves out a
  // different part of the rows. With one path and with 4, of the same number of rules: calibration parts of flights
  // (20,000 rows, without columns of many values) have log-loss 0.4742 and 0.4731, phoneme 0.316 and 0.292, magic 0.259
  // and 0.256, penbased 0.054 and 0.042, in twice to three times the time.
  std::size_t most_parts = 4;
  // Rows x channels of these paths together, and the least number of channels that is counted: time. Large tables have
  // one path.
  std::size_t parts_work = 400'000, parts_channels = 4;
  // Iterations of the refits whose weights are kept. Round number.
  int last_iterations = 60;
  // Tolerance of these refits. Round number.
  double last_tolerance = 3e-5;

  // --- Pruning.
  // The share of the rules that is dropped between two refits. Prototype.
  double drop_share = 0.12;
  // The part of the model's ridge that pruning takes: the model's own answers have less noise than labels. Prototype.
  double prune_ridge_share = 0.25;
  // The largest ridge that this part is taken of: a stronger one alone would change the answers too much.
  double most_prune_ridge = 15;
  // The rows that answers are compared on. Round number.
  std::size_t prune_rows = 4096;
  // The most nats that pruning may cost all rows together, besides `prune` for a row: 50,000 flights have AUC 0.738
  // with 0.0015 a row, 0.747 with 0.0003.
  double prune_nats = 15;
  // Iterations of refits after rules were dropped. Round number.
  int prune_iterations = 12;
  // Tolerance of these refits. Round number.
  double prune_tolerance = 3e-5;

  // --- Curves and maps behind the rules. "Prototype": as in its description, where it was measured.
  // Weight of the rows that pays for a bin of a curve; the square root as many for an axis of a map. Prototype.
  double weight_per_bin = 40;
  // The least and the most bins of a curve. Prototype.
  std::size_t min_curve_bins = 16, max_curve_bins = 512;
  // The least and the most bins of an axis of a map. Prototype. At most 100: bins of maps are bytes.
  std::size_t min_map_bins = 4, max_map_bins = 40;
  // More classes than this pay for bins like fewer rows, or tables of hundreds of classes would not fit. Round number.
  double grid_many_classes = 32;
  // Rows whose values the bins come from: enough for shares of 1 / 512. Round number.
  std::size_t grid_bin_rows = 100'000;
  // Columns of more categories have no curves or maps: rules and evidence by category use them. Round number.
  std::size_t grid_categories = 64;
  // Added to the curvature of a level, and the least that it must have. Prototype.
  double grid_ridge = 1, grid_least = 3;
  // The largest Newton step of a level on either side. Prototype.
  double grid_step = 4;
  // The part of a Newton step that is taken. Prototype.
  double grid_rate = 0.1;
  // The part from grid_many_weight on. With 0.35, 0.2 and 0.1, parts of the training rows that are kept apart have
  // log-loss 0.4356, 0.4352 and 0.4355 (209,501 flights; 7.4, 7.4 and 9.1 s of processor time), 0.6325, 0.6316 and
  // 0.6300 (sleep; 3.4, 3.6 and 4.5 s), 0.4874, 0.4877 and 0.4877 (connect-4).
  double grid_fast_rate = 0.2, grid_many_weight = 40'000;
  // Levels of a curve's step; with few rows fewer. Prototype.
  std::size_t grid_few_levels = 3, grid_levels = 5;
  // Levels of a map's step: with few, boosting takes many rounds. With 4, 8 and 16, parts of the training rows that are
  // kept apart have log-loss 0.4397, 0.4364 and 0.4356 (209,501 flights; 14.8, 8.0 and 7.4 s of processor time), 0.752,
  // 0.694 and 0.693 (krkopt), 0.6317, 0.6347 and 0.6325 (sleep), 0.4902, 0.4876 and 0.4874 (connect-4).
  std::size_t grid_map_levels = 16;
  // From this weight on rows are not few. Prototype.
  double grid_some_weight = 5000;
  // What a step must gain. Halved each time: it replaces tuning by the number of rows. Prototype.
  std::vector<double> grid_thresholds = {32, 16, 8, 4, 2, 1, 0.5, 0.25};
  // A step of a map must gain this multiple of the threshold. Prototype.
  double grid_map_price = 2;
  // Rounds with a threshold, prototype; and with the last one, which patience should end: krkopt (18 classes) has
  // log-loss 0.751 with 360 of them, 0.733 with 1,500.
  std::size_t grid_rounds = 60, grid_last_rounds = 1500;
  // Rounds without a better validation loss before boosting ends. With 25, flights, sleep and connect-4 are the same.
  std::size_t grid_patience = 15;
  // The least improvement of the validation loss. Prototype.
  double grid_better = 1e-6;
  // The threshold falls when no more of the terms than this share move. Prototype.
  double grid_moving_share = 0.05;
  // Terms take a step together, shared by threads, as long as their rates add up to at most this. With 1.6 boosting of
  // sleep (5 classes) ended at a log-loss of 2.07; with 0.8 it has 0.637, one by one 0.638.
  double grid_together = 1;
  // The most rows x channels of the choice; larger tables use the first rows. Flights (150,000 rows) with 100,000 have
  // log-loss 0.4476, with all 0.4463.
  std::size_t grid_choice_work = 200'000;
  // The most rows x channels of the last boosting. Round number.
  std::size_t grid_work = 4'000'000;
  // The least number of rows, whatever grid_choice_work and grid_work are. Round number.
  std::size_t grid_least_rows = 20'000;
  // The most rows that validate. Prototype.
  std::size_t grid_validation_rows = 20'000;
  // Columns that have curves: the best ones of hundreds. Round number.
  std::size_t grid_columns = 256;
  // Columns whose pairs are scanned: the number of pairs is quadratic. Round number.
  std::size_t grid_pair_columns = 48;
  // Rows, rows x channels and bins of an axis in the scan of pairs. Prototype; work: round number.
  std::size_t grid_scan_rows = 60'000, grid_scan_work = 200'000, grid_scan_bins = 12;
  // Pairs that are boosted for a while, at most. Prototype.
  std::size_t grid_candidates = 100;
  // At most one of these pairs for this weight of rows. Prototype.
  double weight_per_map = 100;
  // Thresholds of that while, before the best pairs are taken. With 5 on 100,000 rows, 6 and 7 on all rows, parts of the
  // training rows that are kept apart have log-loss 0.4371, 0.4359 and 0.4364 (209,501 flights), 0.4873, 0.4867 and
  // 0.4854 (connect-4), 0.4685, 0.4685 and 0.4680 (20,000 flights), means of two divisions; 0.2490, 0.2475 and 0.2499
  // (satimage), of five; 0.275, 0.236 and 0.235 (letter).
  std::size_t grid_rank_thresholds = 6;
  // This number of maps, or fewer, is not halved any more. Prototype.
  std::size_t grid_few_maps = 3;
  // Maps that are kept for columns that rules do not read, such as dates.
  std::size_t grid_late_maps = 5;
  // What fewer maps and fewer steps may cost: a part of a standard error, or of what was gained. Prototype.
  double grid_slack = 0.3, grid_spare = 0.02;
  // Standard errors that curves and maps must gain; otherwise the model has rules alone. Prototype.
  double grid_sure = 0.5;
  // Prices of a line, in nats, at which merging is tried. Prototype.
  std::vector<double> grid_prices = {0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};

  // --- Time and memory alone: no answer depends on these.
  // Rows whose firings are packed; on 30,000 and 60,000 it takes 2 to 10 % longer.
  std::size_t pack_above = 65'536;
  // Rows of a path from which rules are fired by several threads. Round number.
  std::size_t share_firings = 10'000;
  // Rows x conditions from which the linear start is shared. Round number.
  std::size_t share_linear = 100'000;
  // Rows x features x channels from which a search is shared. Round number.
  std::size_t share_search = 10'000;
  // Rows x features x channels from which a scan is shared. Round number.
  std::size_t share_scan = 200'000;
  // Rows x weights from which a refit is shared. Round number.
  std::size_t share_refit = 500'000;
  // Rows x columns from which knots are found by several threads. Round number.
  std::size_t share_grid = 20'000;
  // Rows x terms x channels from which a step of boosting is shared. Round number.
  std::size_t share_boost = 20'000;
};

// The number of rows to use of n rows: `least` for a small table, plus this share of the further rows; never more than
// `most`, unless that is less than `least`. A multiple of kWidth if `least` and `most` are.
std::size_t growing(std::size_t n, double share, std::size_t least, std::size_t most, const Tuning& tuning);

// Refuses numbers that learning cannot work with; std::invalid_argument.
void check(const Tuning& tuning);

}  // namespace ferl::rules
