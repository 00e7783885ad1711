#include "rules/grid_boost.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "core/compiler.h"
#include "core/exponential.h"
#include "rules/kernels.h"
#if FERL_MULTIVERSION
#include <emmintrin.h>
#endif

namespace ferl::rules {

namespace {

using Pair = double __attribute__((vector_size(16)));

// GCC 12 would convert the two one by one.
inline Pair load_pair(const float* from) {
#if FERL_MULTIVERSION
  return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
  return Pair{from[0], from[1]};
#endif
}

constexpr std::size_t kRowBlock = 4096;     // rows that one task moves, of one channel; of more, see block_rows()
constexpr std::size_t kFloatRows = 16'384;  // that are summed in single precision
constexpr std::size_t kFewCells = 256;      // fewer cells are summed in several copies: no row waits for the one before
constexpr std::size_t kCopies = 4;
constexpr std::size_t kCachedChances = 16'384;  // probabilities that fit into a cache beside the sums
constexpr std::size_t kManyChannels = 9;        // from here on, a row takes longer than a sum that it might wait for
constexpr float kLeastChance = 1e-7f;           // of two classes: the other one can still be reached

// Calls body with a function from a row to its cell.
template <class Body>
auto with_cells(const GridRows& rows, const GridTerm& term, const Body& body) {
  if (!term.is_map) {
    const std::uint16_t* bin = rows.bin[term.first].data();
    return body([bin](std::size_t i) { return static_cast<std::size_t>(bin[i]); });
  }
  const std::uint8_t *a = rows.map_bin[term.first].data(), *b = rows.map_bin[term.second].data();
  const auto n = static_cast<std::uint32_t>(term.n_second);
  return body([a, b, n](std::size_t i) { return static_cast<std::size_t>(a[i] * n + b[i]); });
}

// Calls body with the number of channels. A small number is a constant for the compiler, which unrolls loops over it.
template <class Body>
auto with_channels(std::size_t e, const Body& body) {
  switch (e) {
    case 3: return body(std::integral_constant<std::size_t, 3>{});
    case 4: return body(std::integral_constant<std::size_t, 4>{});
    case 5: return body(std::integral_constant<std::size_t, 5>{});
    case 6: return body(std::integral_constant<std::size_t, 6>{});
    case 7: return body(std::integral_constant<std::size_t, 7>{});
    case 8: return body(std::integral_constant<std::size_t, 8>{});
    default: return body(e);
  }
}

// Two classes: residual and curvature of each row are at hand.
template <class CellOf>
[[gnu::noinline]] GridSums sum_pairs(const CellOf cell_of, std::size_t n, std::size_t n_cells, const float* residual) {
  const std::size_t n_copies = n_cells <= kFewCells ? kCopies : 1;
  std::vector<Pair> sums(n_copies * n_cells, Pair{0, 0});
  Pair* const first = sums.data();
  // All by value: what is captured by reference would be loaded again after each sum.
  const auto add = [=](std::size_t i, Pair* to) { to[cell_of(i)] += load_pair(residual + 2 * i); };
  std::size_t i = 0;
  if (n_copies == kCopies)
    for (; i + kCopies <= n; i += kCopies)
      for (std::size_t k = 0; k < kCopies; ++k) add(i + k, first + k * n_cells);
  for (; i < n; ++i) add(i, first);
  GridSums out{std::vector<double>(n_cells), std::vector<double>(n_cells)};
  for (std::size_t cell = 0; cell < n_cells; ++cell) {
    Pair sum = sums[cell];
    for (std::size_t k = 1; k < n_copies; ++k) sum += sums[k * n_cells + cell];
    out.g[cell] = sum[0], out.h[cell] = sum[1];
  }
  return out;
}

// n floats that each thread uses again: the system clears large new arrays page by page, which takes longer.
float* scratch(std::size_t n) {
  thread_local std::vector<float> room;
  if (room.size() < n) room.resize(n);
  return room.data();
}

// Adds rows from .. to - 1 to sums[copy][cell][residual, curvature][channel], in single precision.
template <class CellOf, class Channels>
void add_classes(const CellOf& cell_of, const Channels& channels, const GridRows& rows, std::size_t from,
                 std::size_t to, std::size_t n_cells, std::size_t n_copies, float* sums) {
  const std::size_t e = channels;
  for (std::size_t i = from; i < to; ++i) {
    float* g = sums + (i % n_copies * n_cells + cell_of(i)) * 2 * e;
    const float* p = rows.p.data() + i * e;
    const float w = rows.weight[i];
    if (e >= kManyChannels)
      kernels().add_chances(e, p, w, g);
    else
      for (std::size_t c = 0; c < e; ++c) {
        const float own = w * p[c];
        g[c] -= own;
        g[e + c] += own * (1.0f - p[c]);
      }
    g[rows.label[i]] += w;
  }
}

std::size_t n_copies(const GridRows& rows, const GridTerm& term) {
  return term.n_cells() <= kFewCells && rows.n_channels < kManyChannels ? kCopies : 1;
}

// Sums of some terms. Rows are read some at a time, so that their probabilities are in the cache for all terms.
std::vector<GridSums> sum_classes(const GridRows& rows, const std::vector<const GridTerm*>& terms) {
  const std::size_t e = rows.n_channels, n_together = std::max<std::size_t>(kCachedChances / e, 1);
  std::vector<std::size_t> start{0};  // of each term's sums
  std::vector<GridSums> out;
  for (const GridTerm* term : terms) {
    start.push_back(start.back() + n_copies(rows, *term) * 2 * term->n_cells() * e);
    out.push_back({std::vector<double>(term->n_cells() * e, 0.0), std::vector<double>(term->n_cells() * e, 0.0)});
  }
  float* const sums = scratch(start.back());
  for (std::size_t first = 0; first < rows.n; first += kFloatRows) {
    const std::size_t end = std::min(rows.n, first + kFloatRows);
    std::fill_n(sums, start.back(), 0.0f);
    for (std::size_t from = first; from < end; from += n_together)
      for (std::size_t t = 0; t < terms.size(); ++t)
        with_cells(rows, *terms[t], [&](const auto& cell_of) {
          with_channels(e, [&](const auto& channels) {
            add_classes(cell_of, channels, rows, from, std::min(end, from + n_together), terms[t]->n_cells(),
                        n_copies(rows, *terms[t]), sums + start[t]);
          });
        });
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const std::size_t n_cells = terms[t]->n_cells();
      for (std::size_t k = 0; k < n_copies(rows, *terms[t]) * n_cells; ++k)
        for (std::size_t c = 0; c < e; ++c) {
          out[t].g[k % n_cells * e + c] += sums[start[t] + 2 * k * e + c];
          out[t].h[k % n_cells * e + c] += sums[start[t] + (2 * k + 1) * e + c];
        }
    }
  }
  return out;
}

void residuals_of(const GridRows& rows, std::size_t from, std::size_t to, float* residual) {
  kernels().grid_residuals(to - from, rows.p.data() + from, rows.weight.data() + from, rows.label.data() + from,
                           residual + 2 * from);
}

// exp(step) of a term: probabilities are multiplied by it, so that no row needs a separate exponential.
struct Factor {
  const GridTerm* term;
  std::vector<float> value;  // [cell][channel]
};

// The product of the factors of rows from .. to - 1 into out[row][channel].
void multiply(const GridRows& rows, const std::vector<Factor>& factors, std::size_t from, std::size_t to, float* out) {
  const std::size_t e = rows.n_channels;
  if (e > 1) std::fill_n(out, (to - from) * e, 1.0f);
  for (const Factor& own : factors)
    with_cells(rows, *own.term, [&](const auto& cell_of) {
      const float* value = own.value.data();
      if (e == 1 && &own == &factors.front())
        for (std::size_t i = from; i < to; ++i) out[i - from] = value[cell_of(i)];
      else if (e == 1)
        for (std::size_t i = from; i < to; ++i) out[i - from] *= value[cell_of(i)];
      else
        with_channels(e, [&](const auto& channels) {
          const std::size_t n = channels;
          for (std::size_t i = from; i < to; ++i) {
            if (n >= kManyChannels) {
              kernels().multiply_floats(n, value + cell_of(i) * n, out + (i - from) * n);
              continue;
            }
            const float* of_cell = value + cell_of(i) * n;
            for (std::size_t c = 0; c < n; ++c) out[(i - from) * n + c] *= of_cell[c];
          }
        });
    });
}

void move_rows(GridRows& rows, const float* factor, std::size_t from, std::size_t to) {
  const std::size_t e = rows.n_channels;
  if (e == 1) return kernels().move_chances(to - from, factor, kLeastChance, rows.p.data() + from);
  with_channels(e, [&](const auto& channels) {
    const std::size_t n = channels;
    constexpr std::size_t kRows = 4;  // whose sums do not wait for each other
    for (std::size_t first = from; first < to; first += kRows) {
      const std::size_t n_rows = std::min(kRows, to - first);
      float* const p = rows.p.data() + first * n;
      float sum[kRows] = {};
      for (std::size_t k = 0; k < n_rows * n; ++k) p[k] *= factor[(first - from) * n + k];
      if (n_rows == kRows)
        for (std::size_t c = 0; c < n; ++c)
          for (std::size_t i = 0; i < kRows; ++i) sum[i] += p[i * n + c];
      else
        for (std::size_t i = 0; i < n_rows; ++i)
          for (std::size_t c = 0; c < n; ++c) sum[i] += p[i * n + c];
      for (std::size_t i = 0; i < n_rows; ++i) {
        const float unit = 1.0f / sum[i];
        for (std::size_t c = 0; c < n; ++c) p[i * n + c] *= unit;
      }
    }
  });
}

// Rows that one task moves. What it reads again is then still in the cache.
std::size_t block_rows(const GridRows& rows) { return std::max<std::size_t>(kRowBlock / rows.n_channels, 1); }

std::size_t n_blocks(const GridRows& rows) { return (rows.n + block_rows(rows) - 1) / block_rows(rows); }

void move_blocks(GridRows& rows, const std::vector<Factor>& factors, std::size_t block, float* residual) {
  const std::size_t from = block * block_rows(rows), to = std::min(rows.n, from + block_rows(rows));
  float* const factor = scratch((to - from) * rows.n_channels);
  multiply(rows, factors, from, to, factor);
  move_rows(rows, factor, from, to);
  if (residual) residuals_of(rows, from, to, residual);
}

double mean_loss(const GridRows& rows, double most) {
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < rows.n; ++i) {
    sum += rows.weight[i] * std::min(-short_logarithm(std::max(rows.own_chance(i), 1e-300)), most);
    weight += rows.weight[i];
  }
  return sum / weight;
}

}  // namespace

GridTerm curve_of(const std::vector<BinnedColumn>& columns, std::size_t column, int sign) {
  const Bins& bins = columns[column].bins;
  return {column, column, false, bins.is_categorical, sign, bins.n_bins, 1};
}

GridTerm map_of(const std::vector<BinnedColumn>& columns, std::size_t first, std::size_t second) {
  return {first, second, true, false, 0, columns[first].bins.n_map_bins, columns[second].bins.n_map_bins};
}

GridRows grid_rows(const Sample& sample, const std::vector<BinnedColumn>& columns, const std::vector<Row>& rows,
                   std::vector<float> p, ThreadPool& pool) {
  GridRows out;
  out.n = rows.size(), out.n_channels = n_channels(sample.n_classes);
  out.p = std::move(p);
  for (const Row i : rows) {
    out.weight.push_back(static_cast<float>(sample.weight[i]));
    out.label.push_back(sample.y[i]);
  }
  out.bin.resize(columns.size()), out.map_bin.resize(columns.size());
  pool.run(columns.size(), rows.size() > kRowBlock, [&](std::size_t j) {
    out.bin[j].resize(rows.size()), out.map_bin[j].resize(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      out.bin[j][k] = columns[j].bin[rows[k]];
      out.map_bin[j][k] = columns[j].map_bin[rows[k]];
    }
  });
  return out;
}

GridRows first_grid_rows(const Sample& sample, std::vector<BinnedColumn>& columns, std::size_t n,
                         std::vector<float> p) {
  GridRows out;
  out.n = n, out.n_channels = n_channels(sample.n_classes), out.p = std::move(p);
  out.weight.assign(sample.weight.begin(), sample.weight.begin() + static_cast<std::ptrdiff_t>(n));
  out.label.assign(sample.y.begin(), sample.y.begin() + static_cast<std::ptrdiff_t>(n));
  for (BinnedColumn& own : columns)
    out.bin.push_back(std::move(own.bin)), out.map_bin.push_back(std::move(own.map_bin));
  return out;
}

GridSums sum_cells(const GridRows& rows, const GridTerm& term) {
  if (rows.n_channels > 1) return sum_classes(rows, {&term}).front();
  std::vector<float> residual(2 * rows.n);
  residuals_of(rows, 0, rows.n, residual.data());
  return with_cells(rows, term,
                    [&](const auto& cell_of) { return sum_pairs(cell_of, rows.n, term.n_cells(), residual.data()); });
}

void apply(GridRows& rows, const std::vector<GridTerm>& terms, const std::vector<GridTable>& tables, ThreadPool& pool) {
  const std::size_t e = rows.n_channels;
  pool.run(n_blocks(rows), rows.n > kRowBlock, [&](std::size_t block) {
    const std::size_t from = block * block_rows(rows), to = std::min(rows.n, from + block_rows(rows));
    std::vector<double> score((to - from) * e, 0.0);
    for (std::size_t t = 0; t < terms.size(); ++t)
      with_cells(rows, terms[t], [&](const auto& cell_of) {
        for (std::size_t i = from; i < to; ++i)
          for (std::size_t c = 0; c < e; ++c) score[(i - from) * e + c] += tables[t][cell_of(i) * e + c];
      });
    std::vector<float> factor(score.size());
    for (std::size_t k = 0; k < score.size(); ++k)
      factor[k] = static_cast<float>(exponential(std::clamp(score[k], -60.0, 60.0)));
    move_rows(rows, factor.data(), from, to);
  });
}

std::vector<double> row_losses(const GridRows& rows, double most) {
  std::vector<double> out(rows.n);
  for (std::size_t i = 0; i < rows.n; ++i)
    out[i] = std::min(-short_logarithm(std::max(rows.own_chance(i), 1e-300)), most);
  return out;
}

BoostOptions boost_options(double weight, const Tuning& tuning) {
  return {weight < tuning.grid_many_weight ? tuning.grid_rate : tuning.grid_fast_rate,
          weight < tuning.grid_some_weight ? tuning.grid_few_levels : tuning.grid_levels};
}

// What until_best() keeps of the rows that validate.
struct GridBoost::Validation {
  GridRows& rows;
  double best;
  Reached at = {};
  std::vector<GridTable> tables;
  std::size_t since = 0;  // rounds without an improvement
};

GridBoost::GridBoost(std::vector<GridTerm> terms, std::vector<GridTable> tables, GridRows& rows, BoostOptions options,
                     const Tuning& tuning, ThreadPool& pool)
    : terms_(std::move(terms)), tables_(std::move(tables)), rows_(rows), options_(options), tuning_(tuning),
      pool_(pool) {
  for (std::size_t t = tables_.size(); t < terms_.size(); ++t)
    tables_.emplace_back(terms_[t].n_cells() * rows.n_channels, 0.0);
  set_residuals();
}

void GridBoost::set_residuals() {
  if (rows_.n_channels > 1) return;
  residual_.resize(2 * rows_.n);
  residuals_of(rows_, 0, rows_.n, residual_.data());
}

Reached GridBoost::until_best(GridRows& other) {
  Validation validation{other, mean_loss(other, tuning_.most_loss), {}, tables_};
  run({}, &validation);
  tables_ = std::move(validation.tables);
  return validation.at;
}

void GridBoost::up_to(Reached end) { run(end, nullptr); }

void GridBoost::run(std::optional<Reached> end, Validation* validation) {
  const std::size_t n_thresholds = std::min(options_.n_thresholds, tuning_.grid_thresholds.size());
  const double unit = std::sqrt(std::max(1.0, static_cast<double>(rows_.n_channels) - 1));
  for (std::size_t at = 0; at < n_thresholds && (!end || at <= end->level); ++at) {
    rest_.assign(terms_.size(), 0), wait_.assign(terms_.size(), 1), has_moved_.assign(terms_.size(), 0);
    const bool is_last = at + 1 == tuning_.grid_thresholds.size();
    const std::size_t most = end && at == end->level ? end->round
                             : is_last               ? tuning_.grid_last_rounds
                                                     : tuning_.grid_rounds;
    for (std::size_t r = 0; r < most; ++r) {
      const std::size_t n_moved =
          round(r, tuning_.grid_thresholds[at] * unit, validation ? &validation->rows : nullptr);
      if (validation) {
        const double loss = mean_loss(validation->rows, tuning_.most_loss);
        ++validation->since;
        if (loss < validation->best - tuning_.grid_better) {
          validation->best = loss, validation->at = {at, r + 1}, validation->tables = tables_;
          validation->since = 0;
        }
        if (validation->since >= tuning_.grid_patience) return;
      }
      if (static_cast<double>(n_moved) <= tuning_.grid_moving_share * static_cast<double>(terms_.size())) break;
    }
  }
}

// All terms that are not at rest, some at a time; returns how many moved.
std::size_t GridBoost::round(std::size_t number, double threshold, GridRows* other) {
  std::vector<std::size_t> active;
  for (std::size_t t = 0; t < terms_.size(); ++t)
    if (rest_[t] <= number) active.push_back(t);
  std::size_t n_moved = 0;
  const auto together = static_cast<std::size_t>(std::max(1.0, tuning_.grid_together / options_.rate + 1e-9));
  for (std::size_t from = 0; from < active.size(); from += together)
    n_moved += step(active.data() + from, std::min(together, active.size() - from), threshold, other);
  for (const std::size_t t : active) {
    if (!has_moved_[t]) rest_[t] = number + 1 + wait_[t];
    wait_[t] = has_moved_[t] ? 1 : 2 * wait_[t];  // the longer, the more often it did not move
  }
  return n_moved;
}

// Terms whose sums one task takes: with several classes they share the rows that they read.
std::size_t GridBoost::n_each(std::size_t n) const {
  const auto n_threads = static_cast<std::size_t>(pool_.n_threads());
  return rows_.n_channels == 1 ? 1 : (n + n_threads - 1) / n_threads;
}

// A step of some terms at once.
std::size_t GridBoost::step(const std::size_t* first, std::size_t n, double threshold, GridRows* other) {
  std::vector<std::vector<double>> steps(n);
  const bool is_worth = rows_.n * n * rows_.n_channels > tuning_.share_boost;
  const std::size_t each = n_each(n), n_tasks = (n + each - 1) / each;
  pool_.run(n_tasks, is_worth, [&](std::size_t task) {
    const std::size_t from = task * each, size = std::min(each, n - from);
    const std::vector<GridSums> sums = sums_of(first + from, size);
    for (std::size_t k = 0; k < size; ++k)
      has_moved_[first[from + k]] = find_step(first[from + k], sums[k], threshold, steps[from + k]);
  });
  std::vector<Factor> factors;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t t = first[k];
    if (!has_moved_[t]) continue;
    Factor own{&terms_[t], std::vector<float>(steps[k].size())};
    for (std::size_t i = 0; i < steps[k].size(); ++i) {
      tables_[t][i] += steps[k][i];
      // Neighbouring cells mostly have the same step.
      own.value[i] = i >= rows_.n_channels && steps[k][i] == steps[k][i - rows_.n_channels]
                         ? own.value[i - rows_.n_channels]
                         : static_cast<float>(exponential(steps[k][i]));
    }
    factors.push_back(std::move(own));
  }
  if (factors.empty()) return 0;
  const std::size_t n_own = n_blocks(rows_), n_other = other ? n_blocks(*other) : 0;
  pool_.run(n_own + n_other, is_worth, [&](std::size_t block) {
    if (block < n_own)
      move_blocks(rows_, factors, block, rows_.n_channels == 1 ? residual_.data() : nullptr);
    else
      move_blocks(*other, factors, block - n_own, nullptr);
  });
  return factors.size();
}

std::vector<double> GridBoost::map_gains() const {
  std::vector<double> out(terms_.size());
  pool_.run(terms_.size(), true, [&](std::size_t t) {
    std::vector<double> step;
    out[t] = map_step(sums_of(&t, 1).front(), terms_[t].n_first, terms_[t].n_second, step_options(kNoLimit), step);
  });
  return out;
}

StepOptions GridBoost::step_options(double threshold) const {
  return {rows_.n_channels,   threshold,         options_.rate,    tuning_.grid_ridge,
          tuning_.grid_least, tuning_.grid_step, options_.n_levels};
}

std::vector<GridSums> GridBoost::sums_of(const std::size_t* first, std::size_t n) const {
  if (rows_.n_channels > 1) {
    std::vector<const GridTerm*> terms;
    for (std::size_t k = 0; k < n; ++k) terms.push_back(&terms_[first[k]]);
    return sum_classes(rows_, terms);
  }
  std::vector<GridSums> out;
  for (std::size_t k = 0; k < n; ++k) {
    const GridTerm& term = terms_[first[k]];
    out.push_back(with_cells(rows_, term, [&](const auto& cell_of) {
      return sum_pairs(cell_of, rows_.n, term.n_cells(), residual_.data());
    }));
  }
  return out;
}

bool GridBoost::find_step(std::size_t t, const GridSums& sums, double threshold, std::vector<double>& step) const {
  const GridTerm& term = terms_[t];
  StepOptions options = step_options(threshold);
  if (term.is_map) {
    options.threshold *= tuning_.grid_map_price, options.n_levels = tuning_.grid_map_levels;
    return map_step(sums, term.n_first, term.n_second, options, step) >= options.threshold &&
           std::any_of(step.begin(), step.end(), [](double own) { return own != 0; });
  }
  if (!term.is_categorical) return curve_step(sums, term.n_first, term.sign, options, step);
  options.threshold *= std::sqrt(std::max(1.0, static_cast<double>(term.n_first) - 3));  // levels but one
  return category_step(sums, term.n_first, options, step);
}

}  // namespace ferl::rules
