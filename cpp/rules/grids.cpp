#include "rules/grids.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "core/exponential.h"
#include "rows/hash.h"
#include "rules/grid_boost.h"
#include "rules/grid_merge.h"

namespace ferl::rules {

namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;  // of binned columns

// What rules predict, as GridRows has it.
std::vector<float> chances(const Sample& sample, const WeightedRules& own, const std::vector<Row>& rows,
                           ThreadPool& pool) {
  constexpr std::size_t kRows = 2048;
  const auto n_classes = static_cast<std::size_t>(sample.n_classes);
  const std::size_t e = n_channels(sample.n_classes);
  const auto channel = [&](const double* weight, std::size_t c) { return e == 1 ? weight[1] - weight[0] : weight[c]; };
  std::vector<float> out(rows.size() * e);
  pool.run((rows.size() + kRows - 1) / kRows, true, [&](std::size_t block) {
    const std::size_t from = block * kRows, to = std::min(rows.size(), from + kRows), n = to - from;
    const std::vector<Row> some(rows.begin() + static_cast<std::ptrdiff_t>(from),
                                rows.begin() + static_cast<std::ptrdiff_t>(to));
    std::vector<double> score(n * e);
    for (std::size_t k = 0; k < n * e; ++k) score[k] = channel(own.prior.data(), k % e);
    std::vector<float> firing(n);
    for (std::size_t r = 0; r < own.rules.size(); ++r) {
      std::fill(firing.begin(), firing.end(), 1.0f);
      for (const Condition& condition : own.rules[r]) multiply_membership(sample, condition, some, firing.data());
      for (std::size_t c = 0; c < e; ++c) {
        const double weight = channel(own.weight.data() + r * n_classes, c);
        for (std::size_t i = 0; i < n; ++i) score[i * e + c] += weight * static_cast<double>(firing[i]);
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      double *s = score.data() + i * e, sum = e == 1 ? 1.0 : 0.0;
      const double most = e == 1 ? 0.0 : *std::max_element(s, s + e);
      for (std::size_t c = 0; c < e; ++c) sum += s[c] = exponential(s[c] - most);
      for (std::size_t c = 0; c < e; ++c) out[(from + i) * e + c] = static_cast<float>(s[c] / sum);
    }
  });
  return out;
}

// Weighted mean of differences, and its standard error.
struct Difference {
  double mean, error;
};

Difference difference(const std::vector<double>& a, const std::vector<double>& b, const std::vector<float>& weight) {
  double all = 0, mean = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) all += weight[i], mean += weight[i] * (a[i] - b[i]);
  mean /= all;
  for (std::size_t i = 0; i < a.size(); ++i) squares += weight[i] * (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
  return {mean, std::sqrt(squares / all / all) + 1e-12};
}

// What each binned column is worth to rules, in nats: the squared weights of the rules that use it.
std::vector<double> worth_in_rules(const Sample& sample, const std::vector<BinnedColumn>& columns,
                                   const WeightedRules& own) {
  std::vector<double> worth(sample.n_columns, 0.0), out;
  const double all = std::accumulate(sample.weight.begin(), sample.weight.end(), 0.0);
  const auto n_classes = static_cast<std::size_t>(sample.n_classes);
  for (std::size_t r = 0; r < own.rules.size(); ++r) {
    double share = 1, squares = 0;
    for (const Condition& condition : own.rules[r]) share *= condition.share;
    for (std::size_t c = 0; c < n_classes; ++c)
      squares += own.weight[r * n_classes + c] * own.weight[r * n_classes + c];
    for (const Condition& condition : own.rules[r])
      worth[static_cast<std::size_t>(condition.column)] += all / 8 * squares * share * (1 - share);
  }
  for (const BinnedColumn& column : columns) out.push_back(worth[static_cast<std::size_t>(column.bins.column)]);
  return out;
}

// The columns that gain most by a level for each bin, beyond what noise gains, or are worth most in rules; ascending.
std::vector<std::size_t> best_columns(const std::vector<BinnedColumn>& columns, std::vector<std::size_t> own,
                                      const GridRows& rows, const std::vector<double>& used, std::size_t n_most,
                                      ThreadPool& pool) {
  if (own.size() <= n_most) return own;
  std::vector<double> worth(columns.size(), 0.0);
  pool.run(own.size(), true, [&](std::size_t k) {
    const GridSums sums = sum_cells(rows, curve_of(columns, own[k], 0));
    const auto n_levels = std::count_if(sums.h.begin(), sums.h.end(), [](double h) { return h > 0; });
    worth[own[k]] = used[own[k]] + spread_gain(sums, {rows.n_channels}) - static_cast<double>(n_levels);
  });
  std::stable_sort(own.begin(), own.end(), [&](std::size_t a, std::size_t b) { return worth[a] > worth[b]; });
  own.resize(n_most);
  std::sort(own.begin(), own.end());
  return own;
}

GridRows first_rows(const GridRows& rows, std::size_t n) {
  GridRows out;
  out.n = std::min(n, rows.n), out.n_channels = rows.n_channels;
  const auto first = [&](const auto& values, std::size_t each) {
    return std::decay_t<decltype(values)>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(out.n * each));
  };
  out.weight = first(rows.weight, 1), out.label = first(rows.label, 1), out.p = first(rows.p, rows.n_channels);
  for (const auto& own : rows.bin) out.bin.push_back(first(own, 1));
  for (const auto& own : rows.map_bin) out.map_bin.push_back(first(own, 1));
  return out;
}

double total_weight(const GridRows& rows) { return std::accumulate(rows.weight.begin(), rows.weight.end(), 0.0); }

std::vector<GridTerm> with_maps(std::vector<GridTerm> terms, const std::vector<BinnedColumn>& columns,
                                const Pairs& pairs) {
  for (const auto& [a, b] : pairs) terms.push_back(map_of(columns, a, b));
  return terms;
}

std::size_t most_maps(const GridOptions& options) { return static_cast<std::size_t>(std::max(options.max_maps, 0)); }

// Chooses on rows to fit and others, which validate: curves or not, which maps, how many rounds, how coarse.
class GridChoice {
 public:
  GridChoice(const std::vector<BinnedColumn>& columns, const GridStage& stage, GridRows& fit, GridRows& other,
             const std::vector<double>& used, const Tuning& tuning, ThreadPool& pool)
      : columns_(columns), stage_(stage), curves_(stage.curves), fit_(fit), other_(other), used_(used), tuning_(tuning),
        pool_(pool), boost_(boost_options(total_weight(fit_), tuning)), first_p_(fit_.p), first_q_(other_.p) {}

  GridPlan run() {
    try_rules();
    try_curves();
    for (Pairs pairs = candidates(); !pairs.empty();) pairs = try_maps(pairs);
    chosen_ = simplest();
    GridPlan plan{!chosen_.tables.empty(), chosen_.pairs, chosen_.curves, chosen_.maps};
    if (plan.is_used) plan.price = try_merging(chosen_);
    return plan;
  }

  const std::vector<std::pair<std::string, double>>& log() const { return log_; }

  // Gives both rows the probabilities of what was chosen, for the next stage.
  void apply_choice() {
    const bool is_used = !chosen_.tables.empty();
    restore(with_maps(is_used ? curves_ : std::vector<GridTerm>{}, columns_, chosen_.pairs), chosen_.tables);
  }

 private:
  struct Tried {
    std::vector<double> losses;  // of the rows that validate
    double mean;
    Pairs pairs;
    Reached curves, maps;
    std::vector<GridTable> tables;  // none: rules alone
  };

  void note(const std::string& name, Tried tried) {
    log_.emplace_back(name, tried.mean);
    tried_.push_back(std::move(tried));
  }

  double mean_of(const std::vector<double>& losses) const {
    double sum = 0, all = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) sum += other_.weight[i] * losses[i], all += other_.weight[i];
    return sum / all;
  }

  const Tried& best() const {
    return *std::min_element(tried_.begin(), tried_.end(),
                             [](const Tried& a, const Tried& b) { return a.mean < b.mean; });
  }

  // What simplicity may cost: a part of a standard error, or of what was gained over the stage before.
  double room(const std::vector<double>& losses, const Tried& best, double before) const {
    return std::max(tuning_.grid_slack * difference(losses, best.losses, other_.weight).error,
                    tuning_.grid_spare * (before - best.mean));
  }

  void try_rules() {
    std::vector<double> losses = row_losses(other_, tuning_.most_loss);
    const double mean = mean_of(losses);
    note("rules", {std::move(losses), mean, {}, {}, {}, {}});
  }

  void try_curves() {
    GridBoost boost(curves_, {}, fit_, boost_, tuning_, pool_);
    const Reached end = boost.until_best(other_);
    restore(curves_, boost.tables());
    std::vector<double> losses = row_losses(other_, tuning_.most_loss);
    const double mean = mean_of(losses);
    note("curves", {std::move(losses), mean, {}, end, {}, boost.tables()});
    curves_p_ = fit_.p, curves_q_ = other_.p;
  }

  // The probabilities of the rules, changed by these terms.
  void restore(const std::vector<GridTerm>& terms, const std::vector<GridTable>& tables) {
    fit_.p = first_p_, other_.p = first_q_;
    apply(fit_, terms, tables, pool_);
    apply(other_, terms, tables, pool_);
  }

  // The pairs that gain most. If they exceed the maximum number of maps: the pairs worth most after a few rounds.
  Pairs candidates() {
    const std::size_t most = stage_.max_maps;
    const auto paid = static_cast<std::size_t>(total_weight(fit_) / tuning_.weight_per_map);
    const Pairs found = scan(std::min(most == 0 ? 0 : tuning_.grid_candidates, paid));
    if (found.size() <= most) return found;
    BoostOptions options = boost_;
    options.n_thresholds = tuning_.grid_rank_thresholds;
    GridBoost boost(with_maps(curves_, columns_, found), {}, fit_, options, tuning_, pool_);
    boost.up_to({tuning_.grid_thresholds.size(), 0});
    return ranked(found, boost, fit_, most);
  }

  Pairs ranked(const Pairs& pairs, const GridBoost& boost, const GridRows& rows, std::size_t n_most) const {
    const std::size_t first = curves_.size();
    std::vector<double> worth(pairs.size());
    pool_.run(pairs.size(), true, [&](std::size_t k) {
      const GridTerm& term = boost.terms()[first + k];
      worth[k] = worth_beyond_curves(boost.tables()[first + k], sum_cells(rows, term).h, term, rows.n_channels);
    });
    std::vector<std::size_t> order(pairs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return worth[a] > worth[b]; });
    Pairs out;
    for (const std::size_t k : order)
      if (worth[k] > 0 && out.size() < n_most) out.push_back(pairs[k]);
    return out;
  }

  // Gain over the residuals that the curves leave, on few cells.
  Pairs scan(std::size_t n_most) {
    if (n_most == 0) return {};
    const std::size_t n_rows = std::max<std::size_t>(tuning_.grid_scan_work / fit_.n_channels, 1000);
    GridRows rows = first_rows(fit_, std::min(tuning_.grid_scan_rows, n_rows));
    // All columns, or those that gain most by themselves or in rules.
    const std::vector<std::size_t> own =
        best_columns(columns_, stage_.partners, rows, used_, tuning_.grid_pair_columns, pool_);
    std::vector<std::size_t> n_bins(columns_.size(), 0);
    std::vector<char> has_curve(columns_.size(), 0);
    for (const GridTerm& curve : curves_) has_curve[curve.first] = 1;
    for (const std::size_t j : own) n_bins[j] = coarsen(rows, j);
    std::vector<GridTerm> terms;
    for (std::size_t a = 0; a < own.size(); ++a)
      for (std::size_t b = a + 1; b < own.size(); ++b)
        if (has_curve[own[a]] || has_curve[own[b]])
          terms.push_back({own[a], own[b], true, false, 0, n_bins[own[a]], n_bins[own[b]]});
    const std::vector<double> gain = GridBoost(terms, {}, rows, boost_, tuning_, pool_).map_gains();
    std::vector<std::size_t> order(terms.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gain[a] > gain[b]; });
    Pairs out;
    for (const std::size_t k : order)
      if (gain[k] > 0 && out.size() < n_most) out.emplace_back(terms[k].first, terms[k].second);
    return out;
  }

  // Few bins on the axis of a column; returns their number.
  std::size_t coarsen(GridRows& rows, std::size_t column) const {
    std::vector<double> weight(columns_[column].bins.n_map_bins - 1, 0.0);
    for (std::size_t i = 0; i < rows.n; ++i)
      if (const std::uint8_t bin = rows.map_bin[column][i]; bin > 0) weight[bin - 1u] += rows.weight[i];
    std::vector<std::uint8_t> coarse(weight.size() + 1, 0);
    const std::vector<std::size_t> places = cut_places(weight, tuning_.grid_scan_bins);
    std::uint8_t own = 1;
    for (std::size_t k = 0, next = 0; k < weight.size(); ++k) {
      coarse[k + 1] = own;
      if (next < places.size() && places[next] == k) ++own, ++next;
    }
    for (std::uint8_t& bin : rows.map_bin[column]) bin = coarse[bin];
    return static_cast<std::size_t>(own) + 1;
  }

  // Boosts the curves and these maps; returns the better half of the maps, as long as validation allows.
  Pairs try_maps(const Pairs& pairs) {
    const Tried& curves = tried_[1];
    fit_.p = curves_p_, other_.p = curves_q_;
    const std::vector<GridTerm> terms = with_maps(curves_, columns_, pairs);
    GridBoost boost(terms, curves.tables, fit_, boost_, tuning_, pool_);
    const Reached end = boost.until_best(other_);
    Pairs half = ranked(pairs, boost, fit_, pairs.size() / 2);
    other_.p = first_q_;
    apply(other_, terms, boost.tables(), pool_);
    std::vector<double> losses = row_losses(other_, tuning_.most_loss);
    const double mean = mean_of(losses);
    note(std::to_string(pairs.size()) + (pairs.size() == 1 ? " map" : " maps"),
         {losses, mean, pairs, curves.curves, end, boost.tables()});
    const bool is_bad = mean - best().mean > 2 * room(losses, best(), tried_[1].mean);
    if (pairs.size() <= tuning_.grid_few_maps || is_bad) return {};
    return half;
  }

  // The model with the fewest maps that is about as good as the best in validation; rules alone unless it is clearly
  // better.
  Tried simplest() const {
    const Tried &rules = tried_[0], &top = best();
    std::vector<const Tried*> order{&tried_[1]};
    for (std::size_t k = tried_.size(); k-- > 2;) order.push_back(&tried_[k]);
    for (const Tried* own : order) {
      if (&top == &rules || own->mean - top.mean > room(own->losses, top, tried_[1].mean)) continue;
      const Difference gain = difference(rules.losses, own->losses, other_.weight);
      return gain.mean > std::max(tuning_.grid_sure * gain.error, tuning_.grid_better) ? *own : rules;
    }
    return rules;
  }

  // The highest price of a line at which merging costs nearly nothing.
  double try_merging(const Tried& found) {
    const std::vector<GridTerm> terms = with_maps(curves_, columns_, found.pairs);
    restore(terms, found.tables);
    std::vector<std::vector<double>> h(terms.size());
    pool_.run(terms.size(), true, [&](std::size_t t) { h[t] = sum_cells(fit_, terms[t]).h; });
    const double before = tried_[found.pairs.empty() ? 0 : 1].mean;
    Tried least = found;
    double price = 0;
    for (const double wish : tuning_.grid_prices) {
      std::vector<GridTable> tables(terms.size());
      pool_.run(terms.size(), true,
                [&](std::size_t t) { tables[t] = merged(found.tables[t], h[t], terms[t], fit_.n_channels, wish); });
      other_.p = first_q_;
      apply(other_, terms, tables, pool_);
      std::vector<double> losses = row_losses(other_, tuning_.most_loss);
      const double mean = mean_of(losses);
      if (mean - least.mean > room(losses, least, before)) break;
      price = wish;
      log_.emplace_back("merged at " + std::to_string(wish), mean);
      if (mean < least.mean) least.losses = std::move(losses), least.mean = mean;
    }
    return price;
  }

  const std::vector<BinnedColumn>& columns_;
  const GridStage& stage_;
  const std::vector<GridTerm>& curves_;
  GridRows &fit_, &other_;
  const std::vector<double>& used_;  // [binned column]: what it is worth in rules
  const Tuning& tuning_;
  ThreadPool& pool_;
  BoostOptions boost_;
  std::vector<float> first_p_, first_q_;    // of the rules: rows to fit, others
  std::vector<float> curves_p_, curves_q_;  // of rules and curves
  std::vector<Tried> tried_;                // rules, curves, then maps, the most first
  Tried chosen_ = {};
  std::vector<std::pair<std::string, double>> log_;
};

std::vector<double> cell_weights(const GridRows& rows, const GridTerm& term) {
  std::vector<double> out(term.n_cells(), 0.0);
  for (std::size_t i = 0; i < rows.n; ++i)
    out[term.is_map ? rows.map_bin[term.first][i] * term.n_second + rows.map_bin[term.second][i]
                    : rows.bin[term.first][i]] += rows.weight[i];
  return out;
}

// Whether a bin has no neighbours to take a value from: missing values and categories.
bool is_apart(const Bins& bins, std::size_t bin) { return bin == 0 || bins.is_categorical; }

// Turns tables into the form that models have: maps show what the curves do not, curves have the mean zero, and
// neighbouring bins of equal values are merged.
class GridWriter {
 public:
  // is_late: [binned column], whether it comes in the last stage of two.
  GridWriter(const std::vector<BinnedColumn>& columns, std::vector<GridTerm> terms, std::vector<GridTable> tables,
             const GridRows& rows, int n_classes, std::vector<char> is_late)
      : columns_(columns), terms_(std::move(terms)), tables_(std::move(tables)), rows_(rows), e_(rows.n_channels),
        n_classes_(n_classes), is_late_(std::move(is_late)), prior_(e_, 0.0) {}

  LearnedGrids written() {
    std::vector<std::pair<double, std::size_t>> maps;
    for (std::size_t t = 0; t < terms_.size(); ++t)
      if (terms_[t].is_map) maps.emplace_back(-purified(t), t);
    LearnedGrids out;
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      if (terms_[t].is_map) continue;
      centre(t);
      append(t, out);
    }
    std::sort(maps.begin(), maps.end());
    for (const auto& [worth, t] : maps) append(t, out);
    out.prior = per_class(prior_, n_classes_);
    return out;
  }

 private:
  // A map of the last stage keeps the main effect of its other column. What this stage learns applies where the late
  // column has a value, such as a date within the training range. Elsewhere it adds a constant at most.
  Axes centred_axes(const GridTerm& term) const {
    if (is_late_[term.first] == is_late_[term.second]) return Axes::kBoth;
    return is_late_[term.first] ? Axes::kFirst : Axes::kSecond;
  }

  // Moves main effects of a map into the curves; returns what is left, weighted squares.
  double purified(std::size_t t) {
    const GridTerm& term = terms_[t];
    const Bins &a = columns_[term.first].bins, &b = columns_[term.second].bins;
    const std::vector<double> weight = cell_weights(rows_, term);
    GridTable& table = tables_[t];
    const MainEffects moved = purify(table, weight, term.n_first, term.n_second, e_, centred_axes(term));
    add(term.first, a, moved.first);
    add(term.second, b, moved.second);
    std::vector<double> first(term.n_first, 0.0), second(term.n_second, 0.0);
    for (std::size_t i = 0; i < term.n_first; ++i)
      for (std::size_t j = 0; j < term.n_second; ++j)
        first[i] += weight[i * term.n_second + j], second[j] += weight[i * term.n_second + j];
    double squares = 0;
    for (std::size_t i = 0; i < term.n_first; ++i)
      for (std::size_t j = 0; j < term.n_second; ++j)
        for (std::size_t c = 0; c < e_; ++c) {
          double& own = table[(i * term.n_second + j) * e_ + c];
          if ((is_apart(a, i) && first[i] <= 0) || (is_apart(b, j) && second[j] <= 0) ||
              (is_late_[term.first] && i == 0) || (is_late_[term.second] && j == 0))
            own = 0;
          squares += weight[i * term.n_second + j] * own * own;
        }
    return squares;
  }

  void add(std::size_t column, const Bins& bins, const std::vector<double>& effect) {
    for (std::size_t t = 0; t < terms_.size(); ++t)
      if (!terms_[t].is_map && terms_[t].first == column)
        for (std::size_t k = 0; k < bins.n_bins; ++k)
          for (std::size_t c = 0; c < e_; ++c) tables_[t][k * e_ + c] += effect[bins.of_map[k] * e_ + c];
  }

  // Bins without any row get zero, the mean.
  void centre(std::size_t t) {
    const Bins& bins = columns_[terms_[t].first].bins;
    const std::vector<double> weight = cell_weights(rows_, terms_[t]);
    const double all = std::accumulate(weight.begin(), weight.end(), 0.0);
    for (std::size_t c = 0; c < e_; ++c) {
      double mean = 0;
      for (std::size_t k = 0; k < weight.size(); ++k) mean += weight[k] / all * tables_[t][k * e_ + c];
      prior_[c] += mean;
      for (std::size_t k = 0; k < weight.size(); ++k) {
        double& own = tables_[t][k * e_ + c];
        own = (is_apart(bins, k) && weight[k] <= 0) || (is_late_[terms_[t].first] && k == 0) ? 0.0 : own - mean;
      }
    }
  }

  void append(std::size_t t, LearnedGrids& out) const {
    constexpr double kNothing = 1e-10;  // rounding alone
    const GridTerm& term = terms_[t];
    if (std::all_of(tables_[t].begin(), tables_[t].end(), [](double own) { return std::fabs(own) < kNothing; })) return;
    const Bins &a = columns_[term.first].bins, &b = columns_[term.second].bins;
    LearnedGrid own{a.column,
                    term.is_map ? b.column : -1,
                    term.is_map ? a.map_cuts() : a.cuts,
                    term.is_map ? b.map_cuts() : std::vector<double>{},
                    {}};
    const std::vector<std::size_t> first = kept(t, a, true, own.first_cuts);
    const std::vector<std::size_t> second =
        term.is_map ? kept(t, b, false, own.second_cuts) : std::vector<std::size_t>{0};
    std::vector<double> value;
    for (const std::size_t i : first)
      for (const std::size_t j : second)
        for (std::size_t c = 0; c < e_; ++c) value.push_back(tables_[t][(i * term.n_second + j) * e_ + c]);
    own.value = per_class(value, n_classes_);
    out.grids.push_back(std::move(own));
  }

  // The lines of an axis that differ from the one before, and the cuts between them; all lines of categories.
  std::vector<std::size_t> kept(std::size_t t, const Bins& bins, bool is_first, std::vector<double>& cuts) const {
    const std::size_t n = is_first ? terms_[t].n_first : terms_[t].n_second;
    std::vector<std::size_t> out{0};
    std::vector<double> left;
    for (std::size_t k = 1; k < n; ++k) {
      if (!bins.is_categorical && k > 1) {
        if (is_same(t, k - 1, k, is_first)) continue;
        left.push_back(cuts[k - 2]);
      }
      out.push_back(k);
    }
    cuts = std::move(left);
    return out;
  }

  bool is_same(std::size_t t, std::size_t a, std::size_t b, bool is_first) const {
    const GridTerm& term = terms_[t];
    for (std::size_t k = 0; k < (is_first ? term.n_second : term.n_first); ++k)
      for (std::size_t c = 0; c < e_; ++c) {
        const auto at = [&](std::size_t l) {
          return (is_first ? l * term.n_second + k : k * term.n_second + l) * e_ + c;
        };
        if (tables_[t][at(a)] != tables_[t][at(b)]) return false;
      }
    return true;
  }

  const std::vector<BinnedColumn>& columns_;
  std::vector<GridTerm> terms_;
  std::vector<GridTable> tables_;
  const GridRows& rows_;
  const std::size_t e_;
  const int n_classes_;
  const std::vector<char> is_late_;
  std::vector<double> prior_;  // [channel]
};

// The rows for the choice: the rows of the path, and further rows that its rules were not fitted on. Rows are in random
// order, so the first ones are always a random part.
struct ChoiceRows {
  std::vector<Row> fit, other;
};

// Whether further rows validate, [row]. A group that validates the path also validates here; a group that the path is
// fitted on does not. Among the other groups, one in `one_in` validates.
std::vector<char> validating_groups(const Sample& sample, const std::vector<Row>& fit, const std::vector<Row>& other,
                                    std::uint64_t one_in) {
  std::unordered_map<double, char> known;
  for (const Row i : fit) known[sample.group[i]] = 0;
  for (const Row i : other) known[sample.group[i]] = 1;
  std::vector<char> out(sample.n_rows);
  for (std::size_t i = 0; i < sample.n_rows; ++i) {
    const auto found = known.find(sample.group[i]);
    out[i] = found != known.end() ? found->second : mix(value_bits(sample.group[i])) % one_in == 0;
  }
  return out;
}

ChoiceRows choice_rows(const Sample& sample, const std::vector<Row>& fit, const std::vector<Row>& other,
                       std::size_t n_most, const Tuning& tuning) {
  ChoiceRows out{fit, {}};
  const auto n_seen = static_cast<Row>(fit.size() + other.size()), one_in = static_cast<Row>(tuning.parts_of_many);
  const bool is_grouped = !sample.group.empty();
  std::vector<char> validates;
  if (is_grouped) validates = validating_groups(sample, fit, other, static_cast<std::uint64_t>(one_in));
  std::vector<Row> unseen = other;
  for (Row i = n_seen; i < sample.n_rows; ++i)
    ((is_grouped ? validates[i] != 0 : i % one_in == 0) ? unseen : out.fit).push_back(i);
  const std::size_t n_other = std::min(unseen.size(), std::min(tuning.grid_validation_rows, n_most));
  out.other.assign(unseen.begin(), unseen.begin() + static_cast<std::ptrdiff_t>(n_other));
  if (!is_grouped)  // else their groups validate
    out.fit.insert(out.fit.end(), unseen.begin() + static_cast<std::ptrdiff_t>(n_other), unseen.end());
  out.fit.resize(std::min(out.fit.size(), n_most));
  return out;
}

// The rows for the choice, with what was learned so far: rows to fit, and others.
struct ChoiceSides {
  ChoiceRows rows;
  GridRows fit, other;
};

// The same rows, of which one in `parts_of_many` validates, whatever its group is.
ChoiceSides divided_anew(const ChoiceSides& from, const Sample& sample, const std::vector<BinnedColumn>& columns,
                         std::size_t n_most, const Tuning& tuning, ThreadPool& pool) {
  const std::size_t e = from.fit.n_channels;
  std::vector<std::pair<Row, const float*>> all;
  for (std::size_t k = 0; k < from.rows.fit.size(); ++k) all.emplace_back(from.rows.fit[k], &from.fit.p[k * e]);
  for (std::size_t k = 0; k < from.rows.other.size(); ++k) all.emplace_back(from.rows.other[k], &from.other.p[k * e]);
  std::sort(all.begin(), all.end());
  ChoiceRows rows;
  std::vector<float> fit, other;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const bool validates =
        k % static_cast<std::size_t>(tuning.parts_of_many) == 0 && rows.other.size() < tuning.grid_validation_rows;
    if (!validates && rows.fit.size() == n_most) continue;
    (validates ? rows.other : rows.fit).push_back(all[k].first);
    std::vector<float>& p = validates ? other : fit;
    p.insert(p.end(), all[k].second, all[k].second + e);
  }
  GridRows fitted = grid_rows(sample, columns, rows.fit, std::move(fit), pool);
  GridRows validating = grid_rows(sample, columns, rows.other, std::move(other), pool);
  return {std::move(rows), std::move(fitted), std::move(validating)};
}

// The curves of all columns, or of the best columns if there are hundreds, in one stage or two: columns that conditions
// do not read come last, so that they explain only what the others leave over.
std::vector<GridStage> stages_of(const std::vector<BinnedColumn>& columns, const GridRows& rows,
                                 const std::vector<double>& used, const GridOptions& options, const Tuning& tuning,
                                 ThreadPool& pool) {
  std::vector<std::size_t> own(columns.size());
  std::iota(own.begin(), own.end(), std::size_t{0});
  GridStage first{{}, {}, most_maps(options)}, last = first;
  for (const std::size_t j : best_columns(columns, std::move(own), rows, used, tuning.grid_columns, pool)) {
    const auto column = static_cast<std::size_t>(columns[j].bins.column);
    const bool is_last = !options.curves_only.empty() && options.curves_only[column];
    const int sign = options.monotone.empty() ? 0 : options.monotone[column];
    (is_last ? last : first).curves.push_back(curve_of(columns, j, sign));
    if (sign != 0) continue;
    last.partners.push_back(j);
    if (!is_last) first.partners.push_back(j);
  }
  if (last.curves.empty()) return {first};
  first.max_maps -= std::min(first.max_maps / 2, tuning.grid_late_maps);
  return {first, last};
}

// What was learned so far: terms, and what they add.
struct Boosted {
  std::vector<GridTerm> terms;
  std::vector<GridTable> tables;
};

// Boosts the curves and maps of a plan from the probabilities of the rows, as far as the plan went, and changes these.
void boost_stage(const std::vector<BinnedColumn>& columns, const GridStage& stage, const GridPlan& plan, bool is_last,
                 GridRows& rows, const Tuning& tuning, ThreadPool& pool, Boosted& to) {
  const BoostOptions options = boost_options(total_weight(rows), tuning);
  std::vector<GridTable> tables;
  std::vector<GridTerm> terms = stage.curves;
  if (plan.is_used) {
    const std::vector<float> p = rows.p;
    GridBoost first(stage.curves, {}, rows, options, tuning, pool);
    first.up_to(plan.curves);
    GridBoost second(with_maps(stage.curves, columns, plan.pairs), first.tables(), rows, options, tuning, pool);
    if (!plan.pairs.empty()) second.up_to(plan.maps);
    tables = second.tables(), terms = second.terms();
    if (plan.price > 0)
      pool.run(tables.size(), true, [&](std::size_t t) {
        tables[t] = merged(tables[t], sum_cells(rows, terms[t]).h, terms[t], rows.n_channels, plan.price);
      });
    if (!is_last) {
      rows.p = p;
      apply(rows, terms, tables, pool);
    }
  }
  for (std::size_t t = 0; t < terms.size(); ++t) {  // curves that are not used may get main effects of later maps
    to.tables.push_back(plan.is_used ? std::move(tables[t]) : GridTable(terms[t].n_cells() * rows.n_channels, 0.0));
    to.terms.push_back(terms[t]);
  }
}

// The curves and maps of the plans of these stages, as models have them.
LearnedGrids boosted(const Sample& sample, const GridPlans& chosen, std::size_t n_stages, GridRows rows,
                     const Tuning& tuning, ThreadPool& pool) {
  Boosted found;
  for (std::size_t k = 0; k < n_stages; ++k)
    boost_stage(chosen.columns, chosen.stages[k], chosen.plans[k], k + 1 == n_stages, rows, tuning, pool, found);
  std::vector<char> is_late(chosen.columns.size(), 0);
  if (n_stages > 1)
    for (const GridTerm& curve : chosen.stages.back().curves) is_late[curve.first] = 1;
  return GridWriter(chosen.columns, found.terms, std::move(found.tables), rows, sample.n_classes, std::move(is_late))
      .written();
}

// The most rows that curves and maps are chosen on, on either side.
std::size_t most_choice_rows(const Sample& sample, const Tuning& tuning) {
  return std::max(tuning.grid_choice_work / n_channels(sample.n_classes), tuning.grid_least_rows);
}

}  // namespace

bool GridPlans::is_any_used() const {
  return std::any_of(plans.begin(), plans.end(), [](const GridPlan& plan) { return plan.is_used; });
}

GridPlans choose_grids(const Sample& sample, const WeightedRules& validated, const std::vector<Row>& fit,
                       const std::vector<Row>& other, const GridOptions& options, const Tuning& tuning,
                       ThreadPool& pool) {
  GridPlans out{bin_columns(sample, tuning, pool)};
  out.n_validating = other.size();
  if (out.columns.empty()) return out;
  const std::vector<double> used = worth_in_rules(sample, out.columns, validated);
  const std::size_t n_most = most_choice_rows(sample, tuning);
  ChoiceRows rows = choice_rows(sample, fit, other, n_most, tuning);
  out.n_validating = std::min(other.size(), rows.other.size());
  const auto rows_of = [&](const std::vector<Row>& own) {
    return grid_rows(sample, out.columns, own, chances(sample, validated, own, pool), pool);
  };
  GridRows fitted = rows_of(rows.fit), validating = rows_of(rows.other);
  ChoiceSides sides{std::move(rows), std::move(fitted), std::move(validating)};
  out.stages = stages_of(out.columns, sides.fit, used, options, tuning, pool);
  for (GridStage& stage : out.stages) {
    if (!out.plans.empty()) stage.max_maps = most_maps(options) - out.plans.front().pairs.size();
    GridChoice choice(out.columns, stage, sides.fit, sides.other, used, tuning, pool);
    out.plans.push_back(choice.run());
    for (const auto& [name, loss] : choice.log())
      out.log.emplace_back(out.plans.size() > 1 ? name + " in the last stage" : name, loss);
    if (out.plans.size() == out.stages.size()) break;
    choice.apply_choice();
    if (options.last_stage_ignores_groups) sides = divided_anew(sides, sample, out.columns, n_most, tuning, pool);
  }
  return out;
}

LearnedGrids learn_grids(const Sample& sample, GridPlans chosen, const WeightedRules& last, const Tuning& tuning,
                         ThreadPool& pool) {
  LearnedGrids out;
  if (chosen.is_any_used()) {
    const std::size_t n_most = std::max(tuning.grid_work / n_channels(sample.n_classes), tuning.grid_least_rows);
    std::vector<Row> rows(std::min(sample.n_rows, n_most));
    std::iota(rows.begin(), rows.end(), Row{0});
    GridRows all = first_grid_rows(sample, chosen.columns, rows.size(), chances(sample, last, rows, pool));
    out = boosted(sample, chosen, chosen.stages.size(), std::move(all), tuning, pool);
  }
  out.log = std::move(chosen.log);
  return out;
}

LearnedGrids learn_grids_on(const Sample& sample, const GridPlans& chosen, std::vector<Row> rows,
                            const WeightedRules& rules, std::size_t n_stages, const Tuning& tuning, ThreadPool& pool) {
  if (!chosen.is_any_used()) return {};
  rows.resize(std::min(rows.size(), most_choice_rows(sample, tuning)));
  GridRows own = grid_rows(sample, chosen.columns, rows, chances(sample, rules, rows, pool), pool);
  return boosted(sample, chosen, n_stages, std::move(own), tuning, pool);
}

}  // namespace ferl::rules
