#include "rules/grid_merge.h"

#include <algorithm>
#include <cmath>

namespace ferl::rules {

namespace {

constexpr double kLeastCurvature = 1e-9;  // a mean of lines without any

using Lines = std::vector<std::vector<double>>;  // [line][entry]: an entry is a bin of the other axis and a channel

// Neighbouring lines of a table, merged one after the other; line 0 holds missing values and stays.
class Bands {
 public:
  Bands(Lines values, Lines h, std::size_t n_channels)
      : values_(std::move(values)), h_(std::move(h)), n_channels_(n_channels), size_(values_.size(), 1) {}

  void merge(double price) {
    std::vector<double> cost;  // of joining lines k + 1 and k + 2
    for (std::size_t k = 0; k + 2 < values_.size(); ++k) cost.push_back(cost_of(k + 1));
    while (!cost.empty()) {
      const auto k = static_cast<std::size_t>(std::min_element(cost.begin(), cost.end()) - cost.begin());
      if (cost[k] >= price * n_lines(values_[k + 1])) return;
      join(k + 1);
      cost.erase(cost.begin() + static_cast<std::ptrdiff_t>(k));
      if (k < cost.size()) cost[k] = cost_of(k + 1);
      if (k > 0) cost[k - 1] = cost_of(k);
    }
  }

  const Lines& values() const { return values_; }
  const Lines& h() const { return h_; }

  // Every original line, with the values of its band.
  Lines expanded(const Lines& of_band) const {
    Lines out;
    for (std::size_t k = 0; k < size_.size(); ++k) out.insert(out.end(), size_[k], of_band[k]);
    return out;
  }

 private:
  // The cost of replacing lines k and k + 1 by their mean.
  double cost_of(std::size_t k) const {
    double sum = 0;
    for (std::size_t i = 0; i < values_[k].size(); ++i) {
      const double a = h_[k][i], b = h_[k + 1][i], apart = values_[k][i] - values_[k + 1][i];
      sum += a * b / (a + b + kLeastCurvature) * apart * apart;
    }
    return 0.5 * sum;
  }

  // The price factor of a line: one for a curve, the square root of the number of different cells for a map.
  double n_lines(const std::vector<double>& line) const {
    std::size_t n = 1;
    for (std::size_t i = n_channels_; i < line.size(); i += n_channels_)
      n += !std::equal(line.begin() + static_cast<std::ptrdiff_t>(i),
                       line.begin() + static_cast<std::ptrdiff_t>(i + n_channels_),
                       line.begin() + static_cast<std::ptrdiff_t>(i - n_channels_));
    return std::sqrt(static_cast<double>(n));
  }

  void join(std::size_t k) {
    for (std::size_t i = 0; i < values_[k].size(); ++i) {
      const double a = h_[k][i], b = h_[k + 1][i];
      if (a + b > 0) values_[k][i] = (values_[k][i] * a + values_[k + 1][i] * b) / (a + b);
      h_[k][i] = a + b;
    }
    size_[k] += size_[k + 1];
    const auto next = static_cast<std::ptrdiff_t>(k + 1);
    values_.erase(values_.begin() + next), h_.erase(h_.begin() + next), size_.erase(size_.begin() + next);
  }

  Lines values_, h_;
  std::size_t n_channels_;
  std::vector<std::size_t> size_;  // [band]: lines in it
};

Lines lines_of(const std::vector<double>& table, std::size_t n_lines) {
  Lines out;
  const auto n = static_cast<std::ptrdiff_t>(table.size() / n_lines);
  for (auto at = table.begin(); at != table.end(); at += n) out.emplace_back(at, at + n);
  return out;
}

Lines transposed(const Lines& lines, std::size_t e) {
  Lines out(lines.front().size() / e);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) out[i / e].push_back(line[i]);
  return out;
}

}  // namespace

double worth_beyond_curves(const GridTable& table, const std::vector<double>& h, const GridTerm& term,
                           std::size_t n_channels) {
  constexpr int kSweeps = 3;  // only ranks maps
  const std::size_t n = term.n_first, m = term.n_second;
  double worth = 0;
  std::vector<double> f(n * m);
  for (std::size_t c = 0; c < n_channels; ++c) {
    const auto at = [&](std::size_t cell) { return h[cell * n_channels + c] + kLeastCurvature; };
    for (std::size_t cell = 0; cell < n * m; ++cell) f[cell] = table[cell * n_channels + c];
    const auto centre = [&](std::size_t n_lines, std::size_t n_own, std::size_t line_stride, std::size_t stride) {
      for (std::size_t l = 0; l < n_lines; ++l) {
        double sum = 0, all = 0;
        for (std::size_t k = 0, cell = l * line_stride; k < n_own; ++k, cell += stride)
          sum += at(cell) * f[cell], all += at(cell);
        for (std::size_t k = 0, cell = l * line_stride; k < n_own; ++k, cell += stride) f[cell] -= sum / all;
      }
    };
    for (int sweep = 0; sweep < kSweeps; ++sweep) centre(m, n, 1, m), centre(n, m, m, 1);
    for (std::size_t cell = 0; cell < n * m; ++cell) worth += 0.5 * at(cell) * f[cell] * f[cell];
  }
  return worth;
}

GridTable merged(const GridTable& table, const std::vector<double>& h, const GridTerm& term, std::size_t n_channels,
                 double price) {
  if (term.is_categorical) return table;
  Bands first(lines_of(table, term.n_first), lines_of(h, term.n_first), n_channels);
  first.merge(price);
  Lines values = first.values();
  if (term.is_map) {
    Bands second(transposed(values, n_channels), transposed(first.h(), n_channels), n_channels);
    second.merge(price);
    values = transposed(second.expanded(second.values()), n_channels);
  }
  GridTable out;
  for (const auto& line : first.expanded(values)) out.insert(out.end(), line.begin(), line.end());
  return out;
}

MainEffects purify(GridTable& table, const std::vector<double>& weight, std::size_t n_first, std::size_t n_second,
                   std::size_t n_channels, Axes axes) {
  constexpr int kMostSweeps = 200;
  constexpr double kSmall = 1e-12;  // a mean below this counts as zero
  const std::size_t e = n_channels;
  MainEffects out{std::vector<double>(n_first * e, 0.0), std::vector<double>(n_second * e, 0.0)};
  const auto centre = [&](bool along_first) {
    double largest = 0;
    const std::size_t n_lines = along_first ? n_first : n_second, n_own = along_first ? n_second : n_first;
    for (std::size_t l = 0; l < n_lines; ++l)
      for (std::size_t c = 0; c < e; ++c) {
        const auto cell = [&](std::size_t k) { return along_first ? l * n_second + k : k * n_second + l; };
        double sum = 0, all = 0;
        for (std::size_t k = 0; k < n_own; ++k) sum += weight[cell(k)] * table[cell(k) * e + c], all += weight[cell(k)];
        if (all <= 0) continue;
        const double mean = sum / all;
        for (std::size_t k = 0; k < n_own; ++k) table[cell(k) * e + c] -= mean;
        (along_first ? out.first : out.second)[l * e + c] += mean;
        largest = std::max(largest, std::fabs(mean));
      }
    return largest;
  };
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    const double first = axes == Axes::kSecond ? 0.0 : centre(true);
    const double second = axes == Axes::kFirst ? 0.0 : centre(false);
    if (std::max(first, second) < kSmall) break;
  }
  return out;
}

}  // namespace ferl::rules
