#include "rules/grid_steps.h"

#include <algorithm>
#include <utility>

namespace ferl::rules {

namespace {

double level(double g, double h, const StepOptions& options) {
  return options.rate * std::clamp(g / (h + options.ridge), -options.most, options.most);
}

struct Cut {
  double gain = 0;
  std::size_t at = 0;  // the first bin above it; 0: none
};

// A run of bins that gets one level, and the best cut of it.
struct Run {
  std::size_t from, to;
  Cut cut;
};

class CurveCuts {
 public:
  CurveCuts(const GridSums& sums, std::size_t n_bins, int sign, const StepOptions& options)
      : options_(options), e_(options.n_channels), sign_(sign), g_((n_bins + 1) * e_, 0.0), h_((n_bins + 1) * e_, 0.0) {
    for (std::size_t k = 0; k < n_bins * e_; ++k) {
      g_[k + e_] = g_[k] + sums.g[k];
      h_[k + e_] = h_[k] + sums.h[k];
    }
  }

  double g(std::size_t from, std::size_t to, std::size_t c) const { return g_[to * e_ + c] - g_[from * e_ + c]; }
  double h(std::size_t from, std::size_t to, std::size_t c) const { return h_[to * e_ + c] - h_[from * e_ + c]; }

  Cut best(std::size_t from, std::size_t to) const {
    double whole = 0;
    for (std::size_t c = 0; c < e_; ++c) whole += square(g(from, to, c)) / (h(from, to, c) + options_.ridge);
    Cut out;
    double most = 0;
    for (std::size_t k = from + 1; k < to; ++k) {
      double sum = 0, left = 0, right = 0;
      for (std::size_t c = 0; c < e_; ++c) {
        const double g1 = g(from, k, c), h1 = h(from, k, c), g2 = g(k, to, c), h2 = h(k, to, c);
        sum += g1 * g1 / (h1 + options_.ridge) + g2 * g2 / (h2 + options_.ridge);
        left += h1, right += h2;
      }
      if (sum > most && left >= options_.least && right >= options_.least && is_allowed(from, k, to))
        most = sum, out.at = k;
    }
    if (out.at > 0) out.gain = most - whole;
    return out;
  }

 private:
  static double square(double x) { return x * x; }

  // A constraint holds between bins of known values only.
  bool is_allowed(std::size_t from, std::size_t k, std::size_t to) const {
    if (sign_ == 0 || k == 1) return true;
    const double below = g(from, k, 0) / (h(from, k, 0) + options_.ridge),
                 above = g(k, to, 0) / (h(k, to, 0) + options_.ridge);
    return sign_ * (above - below) >= 0;
  }

  const StepOptions& options_;
  const std::size_t e_;
  const int sign_;
  std::vector<double> g_, h_;  // cumulated
};

// Neighbouring levels that go the wrong way become one, by their curvature; the run of missing values alone stays.
void make_monotone(std::vector<double>& value, const std::vector<double>& weight, std::size_t first, int sign) {
  struct Pool {
    double value, weight;
    std::size_t n;
  };
  std::vector<Pool> pools;
  for (std::size_t k = first; k < value.size(); ++k) {
    pools.push_back({value[k], weight[k], 1});
    while (pools.size() > 1 && sign * (pools.back().value - pools[pools.size() - 2].value) < 0) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& own = pools.back();
      own.value = (own.value * own.weight + last.value * last.weight) / (own.weight + last.weight);
      own.weight += last.weight, own.n += last.n;
    }
  }
  std::size_t k = first;
  for (const Pool& own : pools)
    for (std::size_t i = 0; i < own.n; ++i) value[k++] = own.value;
}

// Sums over rectangles of cells, from cumulated ones.
struct Cumulated {
  std::size_t n_first, n_second, e;
  std::vector<double> g, h;  // [n_first + 1][n_second + 1][channel]

  std::size_t at(std::size_t i, std::size_t j) const { return (i * (n_second + 1) + j) * e; }
};

Cumulated cumulated(const GridSums& sums, std::size_t n_first, std::size_t n_second, std::size_t e) {
  Cumulated out{n_first, n_second, e, std::vector<double>((n_first + 1) * (n_second + 1) * e, 0.0), {}};
  out.h = out.g;
  std::vector<double> g(e), h(e);
  for (std::size_t i = 0; i < n_first; ++i) {
    std::fill(g.begin(), g.end(), 0.0), std::fill(h.begin(), h.end(), 0.0);
    for (std::size_t j = 0; j < n_second; ++j) {
      const std::size_t cell = (i * n_second + j) * e, above = out.at(i, j + 1), own = out.at(i + 1, j + 1);
      for (std::size_t c = 0; c < e; ++c) {
        g[c] += sums.g[cell + c], h[c] += sums.h[cell + c];
        out.g[own + c] = out.g[above + c] + g[c];
        out.h[own + c] = out.h[above + c] + h[c];
      }
    }
  }
  return out;
}

Cumulated turned(const Cumulated& own) {
  Cumulated out{own.n_second, own.n_first, own.e, std::vector<double>(own.g.size()), std::vector<double>(own.h.size())};
  for (std::size_t i = 0; i <= own.n_first; ++i)
    for (std::size_t j = 0; j <= own.n_second; ++j)
      for (std::size_t c = 0; c < own.e; ++c) {
        out.g[out.at(j, i) + c] = own.g[own.at(i, j) + c];
        out.h[out.at(j, i) + c] = own.h[own.at(i, j) + c];
      }
  return out;
}

// A cut along the first axis, and one along the second on either side of it.
struct Cross {
  double sum = 0;  // of the four levels' gains
  std::size_t first = 0, below = 0, above = 0;
};

// The best cut along the second axis of the lines from .. to - 1 of the first.
Cut best_across(const Cumulated& own, std::size_t from, std::size_t to, const StepOptions& options) {
  Cut out{-1.0, 0};
  const std::size_t low = own.at(from, 0), high = own.at(to, 0), last = own.n_second * own.e;
  for (std::size_t j = 1; j < own.n_second; ++j) {
    double sum = 0, left = 0, right = 0;
    const std::size_t at = j * own.e;
    for (std::size_t c = 0; c < own.e; ++c) {
      const double g1 = own.g[high + at + c] - own.g[low + at + c], h1 = own.h[high + at + c] - own.h[low + at + c];
      const double g2 = own.g[high + last + c] - own.g[low + last + c] - g1,
                   h2 = own.h[high + last + c] - own.h[low + last + c] - h1;
      sum += g1 * g1 / (h1 + options.ridge) + g2 * g2 / (h2 + options.ridge);
      left += h1, right += h2;
    }
    if (sum > out.gain && left >= options.least && right >= options.least) out = {sum, j};
  }
  return out;
}

Cross best_cross(const Cumulated& own, const StepOptions& options) {
  Cross out;
  for (std::size_t i = 1; i < own.n_first; ++i) {
    const Cut below = best_across(own, 0, i, options);
    if (below.at == 0) continue;
    const Cut above = best_across(own, i, own.n_first, options);
    if (above.at > 0 && below.gain + above.gain > out.sum) out = {below.gain + above.gain, i, below.at, above.at};
  }
  return out;
}

// A rectangle of cells that gets one level: from the first line or column of cells to before the second.
struct Part {
  std::size_t top, bottom, left, right;

  double sum(const Cumulated& own, const std::vector<double>& of, std::size_t c) const {
    return of[own.at(bottom, right) + c] - of[own.at(top, right) + c] - of[own.at(bottom, left) + c] +
           of[own.at(top, left) + c];
  }
  double curvature(const Cumulated& own) const {
    double out = 0;
    for (std::size_t c = 0; c < own.e; ++c) out += sum(own, own.h, c);
    return out;
  }
  double worth(const Cumulated& own, const StepOptions& options) const {
    double out = 0;
    for (std::size_t c = 0; c < own.e; ++c) {
      const double g = sum(own, own.g, c);
      out += g * g / (sum(own, own.h, c) + options.ridge);
    }
    return out;
  }
};

std::vector<Part> parts_of(const Cross& cross, const Cumulated& own) {
  const std::size_t n = own.n_first, m = own.n_second;
  return {{0, cross.first, 0, cross.below},
          {0, cross.first, cross.below, m},
          {cross.first, n, 0, cross.above},
          {cross.first, n, cross.above, m}};
}

// A part, and what its best cut gains and leaves.
struct Division {
  Part whole, low = {}, high = {};
  double gain = 0;
};

Division best_division(const Cumulated& own, const Part& whole, const StepOptions& options) {
  Division out{whole};
  const double before = whole.worth(own, options);
  const auto attempt = [&](const Part& low, const Part& high) {
    const double gain = low.worth(own, options) + high.worth(own, options) - before;
    if (gain > out.gain && low.curvature(own) >= options.least && high.curvature(own) >= options.least)
      out = {whole, low, high, gain};
  };
  const auto [top, bottom, left, right] = whole;
  for (std::size_t i = top + 1; i < bottom; ++i) attempt({top, i, left, right}, {i, bottom, left, right});
  for (std::size_t j = left + 1; j < right; ++j) attempt({top, bottom, left, j}, {top, bottom, j, right});
  return out;
}

// Divides the part whose cut gains most, as long as that is the threshold.
void divide(std::vector<Part>& parts, const Cumulated& own, const StepOptions& options) {
  std::vector<Division> open;
  for (const Part& part : parts) open.push_back(best_division(own, part, options));
  while (open.size() < options.n_levels) {
    const auto best = std::max_element(open.begin(), open.end(),
                                       [](const Division& a, const Division& b) { return a.gain < b.gain; });
    if (best->gain <= 0 || best->gain < options.threshold) break;
    const Part high = best->high;
    *best = best_division(own, best->low, options);
    open.push_back(best_division(own, high, options));
  }
  parts.clear();
  for (const Division& division : open) parts.push_back(division.whole);
}

}  // namespace

bool curve_step(const GridSums& sums, std::size_t n_bins, int sign, const StepOptions& options,
                std::vector<double>& step) {
  const std::size_t e = options.n_channels;
  const CurveCuts cuts(sums, n_bins, sign, options);
  step.assign(n_bins * e, 0.0);
  std::vector<Run> runs{{0, n_bins, cuts.best(0, n_bins)}};
  while (runs.size() < options.n_levels) {
    const auto best =
        std::max_element(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.cut.gain < b.cut.gain; });
    if (best->cut.at == 0 || best->cut.gain < options.threshold) break;
    const std::size_t at = best->cut.at, to = best->to;
    *best = {best->from, at, cuts.best(best->from, at)};
    runs.push_back({at, to, cuts.best(at, to)});
  }
  if (runs.size() == 1) return false;
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.from < b.from; });
  std::vector<double> value, weight;
  for (std::size_t c = 0; c < e; ++c) {
    value.clear(), weight.clear();
    for (const Run& own : runs) {
      value.push_back(level(cuts.g(own.from, own.to, c), cuts.h(own.from, own.to, c), options));
      weight.push_back(cuts.h(own.from, own.to, c) + options.ridge);
    }
    if (sign != 0) make_monotone(value, weight, runs.front().to == 1 ? 1 : 0, sign);
    if (e == 1 && std::all_of(value.begin(), value.end(), [&](double own) { return own == value[0]; })) return false;
    for (std::size_t r = 0; r < runs.size(); ++r)
      for (std::size_t k = runs[r].from; k < runs[r].to; ++k) step[k * e + c] = value[r];
  }
  return true;
}

double spread_gain(const GridSums& sums, const StepOptions& options) {
  const std::size_t e = options.n_channels;
  double gain = 0;
  for (std::size_t c = 0; c < e; ++c) {
    double g = 0, h = 0;
    for (std::size_t k = c; k < sums.g.size(); k += e) {
      gain += sums.g[k] * sums.g[k] / (sums.h[k] + options.ridge);
      g += sums.g[k], h += sums.h[k];
    }
    gain -= g * g / (h + options.ridge);
  }
  return gain;
}

bool category_step(const GridSums& sums, std::size_t n_bins, const StepOptions& options, std::vector<double>& step) {
  step.assign(n_bins * options.n_channels, 0.0);
  const double gain = spread_gain(sums, options);
  if (gain < options.threshold || gain <= 0) return false;
  for (std::size_t k = 0; k < step.size(); ++k) step[k] = level(sums.g[k], sums.h[k], options);
  return true;
}

double map_step(const GridSums& sums, std::size_t n_first, std::size_t n_second, const StepOptions& options,
                std::vector<double>& step) {
  const std::size_t e = options.n_channels;
  Cumulated own = cumulated(sums, n_first, n_second, e), other = turned(own);
  Cross best = best_cross(own, options);
  const Cross across = best_cross(other, options);
  const bool is_turned = across.sum > best.sum;
  if (is_turned) best = across, own = std::move(other);
  const double gain = best.sum - Part{0, own.n_first, 0, own.n_second}.worth(own, options);
  step.assign(n_first * n_second * e, 0.0);
  if (best.first == 0 || gain < options.threshold) return best.first == 0 ? 0.0 : gain;
  std::vector<Part> parts = parts_of(best, own);
  divide(parts, own, options);
  for (const Part& part : parts)
    for (std::size_t c = 0; c < e; ++c) {
      const double value = level(part.sum(own, own.g, c), part.sum(own, own.h, c), options);
      for (std::size_t i = part.top; i < part.bottom; ++i)
        for (std::size_t j = part.left; j < part.right; ++j)
          step[(is_turned ? j * own.n_first + i : i * own.n_second + j) * e + c] = value;
    }
  return gain;
}

}  // namespace ferl::rules
