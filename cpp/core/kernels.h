// The innermost loops, compiled once for each instruction set: sweeps over a node's sorted rows that serve eight
// resamples at once, and the firing of a list of rows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/ramp.h"
#include "core/simd.h"
#include "core/types.h"

namespace ferl {

// A later cut replaces an earlier one only when it is better by more than rounding, so that ties always go to the
// lower cut, whatever order the sums were taken in.
inline constexpr double kBetter = 1 + 1e-10;

// Sorted rows lie anywhere in memory: what belongs to one so far ahead is fetched meanwhile.
inline constexpr std::size_t kRowsAhead = 16;

// A node's rows by ascending value, and their multiplicities in eight resamples.
struct LaneRows {
  std::size_t n;
  const Row* row;
  const Label* y;
  const double* value;
  const double* weight;
  const double* occurrence;    // weight of one occurrence in a resample
  const std::uint8_t* counts;  // [row of the sample][lane]
  int n_classes;
};

// Rows of one class that reach a node, a whole number of vectors of them.
struct TermRows {
  std::size_t n;
  const Row* row;
  const double* phi;
  const double* weight;
  const double* x;  // [row of the sample]: the feature of the term
  double share;     // the membership of a missing value
};

// The combined evidence of all nodes for these rows, see trees/word_evidence.h.
struct EvidenceRows {
  const double* plausible;  // of class c: plausible + c * stride
  std::size_t stride;
  const double* open;
  int n_classes;
  Label y;
};

// Plausibilities that differ by less, relatively, are equal: multiplying and dividing again does not give all bits
// back.
inline constexpr double kAlmostOne = 1 - 1e-10;
inline constexpr double kLeastProbability = 1e-12;  // a logarithm needs more than zero

// A row whose nearest exemplar is wanted. The distance is the sum of absolute differences over the numbers, which come
// first, and of `mismatch` over the categories that differ.
struct ExemplarQuery {
  const float* x;
  const float* mismatch;  // [feature]; not read for numbers
  std::size_t n_numbers, n_features;
  bool has_missing;  // some features of x, which do not count
  // Features in bytes, a group of them in each word, and the bytes that are not of missing ones.
  const std::uint64_t *code, *known;
  double slack;  // what distances between codes may exceed true ones by, in steps, for x's part in it
};

// Exemplars in bytes: a distance between codes, less what they may be wrong by, is never above the true one. So it tells
// of most exemplars that they are not the nearest, in a fraction of the time.
inline constexpr int kCodesInGroup = 8;
inline constexpr double kMostSteps = 127;  // that a code counts on either side of the centre, whose code is:
inline constexpr std::uint8_t kCodeOfZero = 128;
struct CodeView {
  const std::uint8_t* code;    // [vector of exemplars][group of features][code_place(lane) + feature in the group]
  const std::uint16_t* slack;  // [vector of exemplars][lane], in steps
  std::size_t n_groups;        // no sum over their features has more than 16 bits
  double per_step;             // one over the distance that a step of a code stands for
  double rounding;             // of distances in single precision, relative
};

// Sums of eight bytes take 64 bits, of which 16 are used: where the codes of a lane must lie for the sums of four
// registers to make one register of 16-bit sums, lane by lane.
inline std::size_t code_place(std::size_t lane) { return (lane % 4 * 4 + lane / 4) * kCodesInGroup; }

// Rows of which each is compared with one of them. Callers ignore the lanes after the last row.
struct LaneTable {
  const float* value;     // [vector of rows][column][lane]
  const float* mismatch;  // [column]: how far categories that differ are apart; below zero: the column holds numbers
  std::size_t n_columns, n_vectors;
};

inline constexpr std::uint64_t kNoExemplar = ~std::uint64_t{0};

// Rows of a triangular matrix that are multiplied at once: they share the loads of what they are multiplied with.
inline constexpr std::size_t kTriangleRows = 4;

// Numbers in runs of one length; what belongs to a run is added to all of it, what belongs to a place to that place of
// all runs.
struct RunTable {
  double* value;  // [run][place]
  std::size_t n_runs, n_places;
  const double *of_run, *of_place;
};

// How distances from a kept row are measured.
struct DistanceScale {
  const double *per_unit, *is_category;  // [column]; 1 for categories, which are the same or one apart, 0 for numbers
  double share;                          // of a column
};

struct Kernels {
  // Gini-optimal cut of each resample with at least `min_weight` on either side; NaN where nothing separates.
  void (*cuts_two_classes)(const LaneRows& rows, double min_weight, double* cuts);
  void (*cuts_many_classes)(const LaneRows& rows, double min_weight, LaneCell* class_total, LaneCell* class_left,
                            double* cuts);
  // Class weights of the rows absent from each resample: all, left of the resample's own cut, left by `membership`.
  void (*tally_absent)(const LaneRows& rows, const double* cuts, const double* membership, LaneCell* all,
                       LaneCell* crisp, LaneCell* soft);
  // phi[i] = parent_phi[i] * membership(x[i]), times gate(x[i]) if there is a gate; parent_phi[i] * share where x[i] is
  // missing.
  void (*fire)(std::size_t n, const double* x, const double* parent_phi, const Trapezoid& membership, double share,
               const Gate* gate, double* phi);
  // phi[i] = parent_phi[i] * gate(x[i]), or parent_phi[i] where x[i] is missing.
  void (*open)(std::size_t n, const double* x, const double* parent_phi, const Gate& gate, double* phi);
  // out[i] += phi[i] * weight.
  void (*add_weighted)(std::size_t n, const double* phi, double weight, double* out);
  // out[i] += sum over j of (sum over k of triangle[j][k] z[k][i])^2, of a lower triangle of n_terms rows, a multiple of
  // kTriangleRows: [rows, kTriangleRows of them][k up to the last of these][row]. z: [vector of rows][k][lane]; out
  // reaches to the end of the last vector.
  void (*add_squares)(std::size_t n, std::size_t n_terms, const double* triangle, const double* z, double* out);
  // z[i] = (phi[i] - mean) * per_deviation; vectors of rows are `stride` apart in z, and written whole.
  void (*standardise)(std::size_t n, const double* phi, double mean, double per_deviation, std::size_t stride,
                      double* z);
  // Weight of the rows that a term leaves.
  double (*tally_term)(const TermRows& rows, const Trapezoid& term);
  // Adds the weight of the rows that are classified correctly with a child of this term and distribution to `hits`,
  // and the weighted sum of the logarithms of their probabilities to `logs`.
  void (*judge_term)(const TermRows& rows, const EvidenceRows& evidence, const Trapezoid& term, const double* p,
                     double* hits, double* logs);
  // values - centre, times per_unit, no further than `farthest` from zero. Returns whether one is missing.
  bool (*to_units)(const double* values, std::ptrdiff_t stride, std::size_t n, const double* centre,
                   const double* per_unit, double farthest, float* out);
  // What each of n columns adds to the distance of a row from a kept one; what the row lacks adds nothing.
  void (*distance_parts)(std::size_t n, const double* x, const double* kept, const DistanceScale& scale, double* part);
  // Codes of n numbers in units, [group]; the last group is filled with the code of zero. Returns the largest error of
  // distances from them, in steps. Numbers beyond kMostSteps are farther away than their codes, from every code.
  // `units` can be read up to a whole number of vectors. What is missing gets any code.
  double (*encode)(const float* units, std::size_t n, double per_step, std::size_t n_groups, std::uint64_t* code);
  // The nearest of the exemplars in the vectors [begin, begin + n) and of `best`, which may be kNoExemplar: the bits of
  // its distance, which order as it does, above its index, vector * kFloatLanes + lane. Smaller is nearer. `units`:
  // [vector of exemplars][feature][lane] where there are no codes, [exemplar][feature] where there are.
  std::uint64_t (*nearest_exemplar)(const ExemplarQuery& query, const float* units, const CodeView& codes,
                                    std::size_t begin, std::size_t n, std::uint64_t best);
  // The distances from the cases in n vectors, in single precision; `lanes`: [vector][column][lane], `out`: [case].
  void (*distances)(const ExemplarQuery& query, const float* lanes, std::size_t n, float* out);
  // nearest[row] = min(nearest[row], distance of the row from x), a sum over the columns in their order; largest[vector]
  // is the largest of what is then nearest in it.
  void (*approach)(const LaneTable& rows, const float* x, float* nearest, float* largest);
  // value += of_run + of_place; then the least of each run, and the least of each place and of what `least_of_place` has.
  void (*add_to_runs)(const RunTable& table, double* least_of_run, double* least_of_place);
  // value -= of_run + of_place; the least and the largest of all.
  void (*take_from_runs)(const RunTable& table, double* least, double* largest);
  // Sums of weight, weight * z and weight * z^2, each rounded to an integer by itself, with z = (value - centre) * scale;
  // missing values add nothing. n is a whole number of vectors; no product may exceed 2^50.
  void (*sum_powers)(std::size_t n, const double* value, const double* weight, double centre, double scale,
                     std::int64_t* sums);
};

// The nearest integer, for magnitudes below 2^51. Adding this constant leaves it in the low bits of the sum, which
// vectors can do on every machine; converting they cannot.
inline constexpr double kToInteger = 0x1.8p52;
inline std::int64_t to_integer(double value) {
  return std::bit_cast<std::int64_t>(value + kToInteger) - std::bit_cast<std::int64_t>(kToInteger);
}

// The widest instruction set of x86-64 here: 3 or 4 for v3 or v4, 0 for the baseline. The environment variable
// FERL_INSTRUCTION_SET (baseline, x86-64-v3 or x86-64-v4) can only lower the choice: tests use it to show that results
// do not depend on it.
int instruction_set();

// For that instruction set, asked once.
const Kernels& kernels();

}  // namespace ferl
