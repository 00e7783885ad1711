// The innermost loops of learning rules, compiled once for each instruction set with the same results on all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ramp.h"
#include "core/types.h"

namespace ferl::rules {

inline constexpr std::size_t kMaxKnots = 24;  // of a feature: the room that arrays have
inline constexpr std::size_t kKnotsAtOnce =
    8;  // the most that an instruction set takes together: arrays are padded so far
static_assert(kMaxKnots % kKnotsAtOnce == 0);
inline constexpr std::size_t kWidth = 8;    // rows come in multiples of it; padding has no weight
inline constexpr std::size_t kBlock = 256;  // rows whose scores stay in the first-level cache

inline constexpr std::size_t kTriangle = 8;  // rows of a triangular matrix come in multiples of it

inline constexpr std::size_t kProductTerms = 4;  // numbers of terms are multiples of it where products are added up

inline std::size_t padded(std::size_t n) { return (n + kWidth - 1) / kWidth * kWidth; }

// Sums over a feature's bins (values between two knots), and below each knot; positions run from 0 to 1. Arrays of
// knots are padded with finite entries up to the next multiple of kKnotsAtOnce.
struct BinSums {
  std::size_t n_knots, n_channels;            // channels: gradients, then h w and h w^2
  const double* knot;                         // [knot]
  const double *below, *below_x;              // [channel][kMaxKnots]: sum, and sum of v x, below a knot
  const double* below_x2;                     // [knot]: of h w^2 x^2
  const double *total, *missing;              // [channel]: all rows; rows without a value
  const double *share_below, *share_below_x;  // [knot]: of the weight of known rows; null: none is missing
  double sum_h, smoothing, least_weight;      // what the gain needs besides
  int sign_up, sign_down;                     // of the gradient, 0: any; kNever: no candidate
  double bound_up = -1, bound_down = -1;      // less gain is not looked for
};
inline constexpr int kNever = 2;

struct BestPair {
  double gain = -1;
  int low = -1, high = -1;  // knots
};

struct BinsToFill {         // of a feature
  const std::uint8_t* bin;  // [row]
  const float* x;           // [row]
  float* sum;               // [bin][four channels][8]: sums, then sums of v x
};

struct Kernels {
  // out[c][i] = bias[c] + sum_k firing[k][first + i] v[k][c] for n rows, a multiple of kWidth and at most kBlock.
  void (*scores)(const float* const* firing, std::size_t n_rules, std::size_t n_channels, const float* v,
                 const float* bias, std::size_t first, std::size_t n, float* out);
  // sum[k][c] += sum_i firing[k][first + i] r[c][i].
  void (*products)(const float* const* firing, std::size_t n_rules, std::size_t n_channels, std::size_t first,
                   std::size_t n, const float* r, double* sum);
  // Turns scores into weighted residuals p - t of n rows, and returns their log-loss. One score: of the second of two
  // classes over the first. target[c * stride + i]; null: `label` holds the class.
  double (*residuals)(float* score, std::size_t n_channels, std::size_t n, const float* weight, const Label* label,
                      const float* target, std::size_t stride);
  // Turns scores into probabilities, [channel][stride], n a multiple of kWidth; one score: the second of two classes.
  void (*probabilities)(float* score, std::size_t n_channels, std::size_t n, std::size_t stride);
  // Adds rows to their bins of some features. row: [i][n_channels], a multiple of four, the last of which stands for
  // x^2.
  void (*fill_bins)(const BinsToFill* feature, std::size_t n_features, const Row* index, std::size_t n,
                    const float* row, std::size_t n_channels);
  // Writes the listed rows times their firing w to out; row: [i][n_channels]. After the gradients come h w and h w^2;
  // the last channel repeats h w^2.
  void (*weigh_rows)(const float* row, const Row* index, std::size_t n, const float* firing, std::size_t n_channels,
                     std::size_t n_gradients, float* out);
  // Sums over the bins of fill_bins, up to each of n_knots: below and below_x as in BinSums, of all n_channels.
  void (*add_bins)(const float* sum, std::size_t n_knots, std::size_t n_channels, const double* knot, double* below,
                   double* below_x);
  // For each of the n_channels of the bins of fill_bins: share times the sum of bin n_bins, plus, for each bin before
  // it, base times the sum plus slope times the sum of v x.
  void (*add_word)(const float* sum, std::size_t n_bins, std::size_t n_channels, const double* base,
                   const double* slope, double share, double* out);
  // Turns the upper half of a symmetric matrix, [n][n], into U with U' U equal to it. Below the diagonal anything
  // may be left. column: room for n numbers.
  void (*factor)(double* a, std::size_t n, double* column);
  // Solves U' U x = b in place of b, whose elements before `first` are zero. lower: U', zero on the diagonal and above.
  void (*solve)(const double* upper, const double* lower, const double* diagonal, std::size_t n, std::size_t first,
                double* b);
  void (*solve_several)(const double* upper, const double* lower, const double* diagonal, std::size_t n,
                        std::size_t width, double* b);  // b: [n][width], width a multiple of four
  // firing[i] *= membership of x[row[i]], or share where that is missing.
  void (*multiply_trapezoid)(const double* x, const Row* row, std::size_t n, const Trapezoid& trapezoid, double share,
                             float* firing);
  // The bits that unpack() takes, of n rows, a multiple of kWidth; returns how many are between 0 and 1.
  std::size_t (*mark)(const float* firing, std::size_t n, std::uint8_t* is_between, std::uint8_t* is_one);
  // Firings of n rows, a multiple of kWidth, from bits for each kWidth rows and the values between 0 and 1. The kernel
  // may read kWidth values from where the last ones begin.
  void (*unpack)(const std::uint8_t* is_between, const std::uint8_t* is_one, const float* value, std::size_t n,
                 float* out);
  // Two classes: odds of chances p of the second one times factors; neither class gets less than `least`.
  void (*move_chances)(std::size_t n, const float* factor, float least, float* p);
  // Two classes: [row]: weighted residual and curvature.
  void (*grid_residuals)(std::size_t n, const float* p, const float* weight, const Label* label, float* out);
  // Adds a row of several classes to the residuals of a cell, to which the curvatures follow: takes off weight times p,
  // and adds weight times p (1 - p).
  void (*add_chances)(std::size_t n_channels, const float* p, float weight, float* sum);
  // to[k] *= by[k].
  void (*multiply_floats)(std::size_t n, const float* by, float* to);
  // The best ramp between two knots, rising and falling.
  void (*best_pairs)(const BinSums& sums, BestPair& up, BestPair& down);
  // sum[j][k] += the products of two terms, k <= j, over kBlock rows; above the diagonal anything may be left. firing:
  // [term][row], from 0 to 1,024; n_terms: a multiple of kProductTerms.
  void (*add_products)(const std::int16_t* firing, std::size_t n_terms, std::int64_t* sum);
};

const Kernels& kernels();

}  // namespace ferl::rules
