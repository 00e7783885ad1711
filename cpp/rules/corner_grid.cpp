#include "rules/corner_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/kernels.h"

namespace ferl {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr std::size_t kMostEntries = 20000;  // of a table
constexpr std::size_t kMostVariables = 8;    // of a table
constexpr std::size_t kMostWork = 1000000;   // entries that one proof may look at
constexpr double kLeastProgress = 0.05;      // of the way to the bound, that a pass must make to be repeated

// The least and the largest of some values. Four of each are kept, so that no comparison waits for the one before it.
struct Extremes {
  double low[4], high[4];

  explicit Extremes(const std::vector<double>& values) {
    std::fill_n(low, 4, values[0]);
    std::fill_n(high, 4, values[0]);
    const std::size_t n = values.size() - values.size() % 4;
    for (std::size_t i = 0; i < n; i += 4)
      for (std::size_t j = 0; j < 4; ++j) add(j, values[i + j]);
    for (std::size_t i = n; i < values.size(); ++i) add(0, values[i]);
  }
  void add(std::size_t j, double value) {
    low[j] = std::min(low[j], value);
    high[j] = std::max(high[j], value);
  }
  double least() const { return *std::min_element(low, low + 4); }
  double largest_size() const { return std::max(std::abs(least()), std::abs(*std::max_element(high, high + 4))); }
};

double least(const std::vector<double>& values) { return Extremes(values).least(); }
double largest_size(const std::vector<double>& values) { return Extremes(values).largest_size(); }

}  // namespace

CornerGrid::CornerGrid(const std::vector<std::size_t>& n_values, double base) : base_(base) {
  for (const std::size_t n : n_values) own_.emplace_back(n, 0.0);
}

template <class Visit>
void CornerGrid::over_runs(const Term& term, Visit&& visit) const {
  const std::size_t n_others = term.variable.size() - 1, n_last = own_[term.variable.back()].size();
  Choice prefix(n_others, 0);
  for (std::size_t offset = 0; offset < term.value.size(); offset += n_last) {
    visit(offset, prefix);
    for (std::size_t i = n_others; i-- > 0;) {
      if (++prefix[i] < own_[term.variable[i]].size()) break;
      prefix[i] = 0;
    }
  }
}

// All factors are at least zero.
void CornerGrid::add_least(double weight, const std::vector<std::size_t>& variable,
                           const std::vector<const double*>& factor) {
  for (std::size_t i = 0; i < variable.size(); ++i) {
    const auto [low, high] = std::minmax_element(factor[i], factor[i] + own_[variable[i]].size());
    weight *= weight > 0 ? *low : *high;
  }
  base_ += weight;
}

void CornerGrid::add(double weight, const std::vector<std::size_t>& variable,
                     const std::vector<const double*>& factor) {
  std::size_t n = 1;
  for (const std::size_t v : variable) n *= n > kMostEntries ? 1 : own_[v].size();
  if (n > kMostEntries || variable.size() > kMostVariables) return add_least(weight, variable, factor);
  if (variable.size() == 1) {
    for (std::size_t k = 0; k < n; ++k) own_[variable[0]][k] += weight * factor[0][k];
    return;
  }
  Term& term = term_of(variable);
  const std::size_t n_last = own_[variable.back()].size();
  over_runs(term, [&](std::size_t offset, const Choice& prefix) {
    double product = weight;
    for (std::size_t i = 0; i < prefix.size(); ++i) product *= factor[i][prefix[i]];
    for (std::size_t k = 0; k < n_last; ++k) term.value[offset + k] += product * factor.back()[k];
  });
}

void CornerGrid::add_table(const std::vector<std::size_t>& variable, const std::vector<double>& value) {
  if (variable.size() > 1 && value.size() > kMostEntries) {
    base_ += least(value);
    return;
  }
  std::vector<double>& sum = variable.size() == 1 ? own_[variable[0]] : term_of(variable).value;
  for (std::size_t k = 0; k < value.size(); ++k) sum[k] += value[k];
}

CornerGrid::Term& CornerGrid::term_of(const std::vector<std::size_t>& variable) {
  for (Term& term : terms_)
    if (term.variable == variable) return term;
  std::size_t n = 1;
  for (const std::size_t v : variable) n *= own_[v].size();
  return terms_.emplace_back(Term{variable, std::vector<double>(n, 0.0), 0});
}

bool CornerGrid::exceeds(double bound) const {
  CornerGrid copy = *this;
  for (Term& term : copy.terms_) term.least = least(term.value);
  std::size_t work = 0;
  return copy.proves(bound, work);
}

bool CornerGrid::proves(double bound, std::size_t& work) {
  double reached = lower_bound();
  while (!(reached > bound)) {
    const Choice chosen = best_of_each();
    if (!(value_at(chosen) > bound) || work > kMostWork) return false;
    const double before = reached;
    for (Term& term : terms_) pass(term);
    work += n_entries() + own_.size();
    reached = lower_bound();
    if (reached > bound || reached - before > kLeastProgress * (bound - reached)) continue;
    const std::size_t variable = most_disputed(best_of_each()), n = own_[variable].size();
    if (n == 1) return false;
    return half(variable, 0, n / 2).proves(bound, work) && half(variable, n / 2, n).proves(bound, work);
  }
  return true;
}

// What the other variables add to each run of the last variable.
const std::vector<double>& CornerGrid::said_of_runs(const Term& term) {
  said_.assign(1, 0.0);
  for (std::size_t i = 0; i + 1 < term.variable.size(); ++i) {
    longer_.clear();
    for (const double before : said_)
      for (const double own : own_[term.variable[i]]) longer_.push_back(before + own);
    said_.swap(longer_);
  }
  return said_;
}

// Takes the least sum of the term, and of all that depends on these variables alone, for each value of a variable. Each
// variable of the term gets an equal share of that sum. The lower bound never falls, except by rounding, which is
// counted.
void CornerGrid::pass(Term& term) {
  const std::size_t n_variables = term.variable.size(), n_last = own_[term.variable.back()].size();
  const std::size_t n_runs = term.value.size() / n_last;
  std::vector<std::vector<double>> share;
  for (const std::size_t v : term.variable) share.emplace_back(own_[v].size(), std::numeric_limits<double>::infinity());
  least_of_run_.resize(n_runs);
  const auto table = [&] {
    return RunTable{term.value.data(), n_runs, n_last, said_of_runs(term).data(), own_[term.variable.back()].data()};
  };
  kernels().add_to_runs(table(), least_of_run_.data(), share.back().data());
  for (std::size_t i = 0, step = n_runs; i + 1 < n_variables; ++i) {
    step /= share[i].size();  // runs between neighbouring values of the variable
    for (auto run = least_of_run_.begin(); run != least_of_run_.end();)
      for (double& own : share[i])
        for (const auto end = run + static_cast<std::ptrdiff_t>(step); run != end; ++run) own = std::min(own, *run);
  }
  double size = 0;
  for (std::size_t i = 0; i < n_variables; ++i) {
    for (double& value : share[i]) value /= static_cast<double>(n_variables);
    own_[term.variable[i]] = std::move(share[i]);
    size += largest_size(own_[term.variable[i]]);
  }
  double largest;
  kernels().take_from_runs(table(), &term.least, &largest);
  rounding_ +=
      8 * kEpsilon * static_cast<double>(n_variables + 1) * (size + std::max(std::abs(term.least), std::abs(largest)));
}

double CornerGrid::lower_bound() const {
  double sum = base_, size = std::abs(base_);
  for (const auto& own : own_) sum += least(own), size += std::abs(least(own));
  for (const Term& term : terms_) sum += term.least, size += std::abs(term.least);
  return sum - rounding_ - kEpsilon * static_cast<double>(own_.size() + terms_.size() + 1) * size;
}

CornerGrid::Choice CornerGrid::best_of_each() const {
  Choice chosen;
  for (const auto& own : own_)
    chosen.push_back(static_cast<std::size_t>(std::min_element(own.begin(), own.end()) - own.begin()));
  return chosen;
}

double CornerGrid::value_at(const Term& term, const Choice& chosen) const {
  std::size_t index = 0;
  for (const std::size_t v : term.variable) index = index * own_[v].size() + chosen[v];
  return term.value[index];
}

double CornerGrid::value_at(const Choice& chosen) const {
  double sum = base_;
  for (std::size_t v = 0; v < own_.size(); ++v) sum += own_[v][chosen[v]];
  for (const Term& term : terms_) sum += value_at(term, chosen);
  return sum;
}

// The variable on whose values the tables agree least: where the best values of the variables, taken together, are far
// from the best of the tables. A variable without a choice is never disputed, unless none has one.
std::size_t CornerGrid::most_disputed(const Choice& chosen) const {
  std::vector<double> dispute(own_.size(), -1.0);
  for (std::size_t v = 0; v < own_.size(); ++v)
    if (own_[v].size() > 1) dispute[v] = 0;
  for (const Term& term : terms_)
    for (const std::size_t v : term.variable)
      if (own_[v].size() > 1) dispute[v] += value_at(term, chosen) - term.least;
  return static_cast<std::size_t>(std::max_element(dispute.begin(), dispute.end()) - dispute.begin());
}

CornerGrid CornerGrid::half(std::size_t variable, std::size_t from, std::size_t to) const {
  CornerGrid found = *this;
  const std::size_t n = own_[variable].size();
  for (Term& term : found.terms_) {
    const auto at = std::find(term.variable.begin(), term.variable.end(), variable);
    if (at == term.variable.end()) continue;
    std::size_t step = 1;  // between neighbouring values of the variable
    for (auto later = at + 1; later != term.variable.end(); ++later) step *= own_[*later].size();
    std::vector<double> kept;
    for (std::size_t first = 0; first < term.value.size(); first += n * step)
      kept.insert(kept.end(), term.value.begin() + static_cast<std::ptrdiff_t>(first + from * step),
                  term.value.begin() + static_cast<std::ptrdiff_t>(first + to * step));
    term.value = std::move(kept);
    term.least = least(term.value);
  }
  auto& own = found.own_[variable];
  own = std::vector<double>(own_[variable].begin() + static_cast<std::ptrdiff_t>(from),
                            own_[variable].begin() + static_cast<std::ptrdiff_t>(to));
  return found;
}

std::size_t CornerGrid::n_entries() const {
  return std::accumulate(terms_.begin(), terms_.end(), std::size_t{0},
                         [](std::size_t sum, const Term& term) { return sum + term.value.size(); });
}

}  // namespace ferl
