#include "moments.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ferl {

namespace {

constexpr double kFiringUnit = 0x1p-50, kPerFiringUnit = 0x1p50;
constexpr double kTrifle = 0.05;  // firing of a row that is no example of a node
constexpr std::size_t kPieceRows = 32 * kBlockRows;

double power_of_two_above(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, exponent);
}

template <class T>
void add_to(std::vector<T>& sums, const std::vector<T>& others) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
}

}  // namespace

// Some rows in columns of their own, without those of weight zero; and what they add.
struct Moments::Piece {
  std::vector<double> x;  // column-major
  std::vector<Label> y;
  std::vector<double> weight;
  std::vector<std::int64_t> units;  // of weight
  std::vector<std::uint64_t> key;
  MomentSums sums;
  ExemplarKeeper exemplars;
  Levels level;
  std::array<NodeId, kBlockRows> kept;  // place of a block's row among the exemplars

  Piece(const TableView& table, std::size_t from, std::size_t to, double weight_unit, MomentSums none,
        ExemplarKeeper keeper)
      : sums(std::move(none)), exemplars(std::move(keeper)) {
    std::vector<std::size_t> rows;
    for (std::size_t i = from; i < to; ++i)
      if (table.weight[i] > 0) rows.push_back(i);
    const std::size_t n = rows.size(), d = table.x.n_columns;
    x.resize(n * d);
    constexpr std::size_t kRows = 32;  // read once while their cache lines are hot
    for (std::size_t first = 0; first < n; first += kRows)
      for (std::size_t j = 0; j < d; ++j)
        for (std::size_t i = first; i < std::min(first + kRows, n); ++i)
          x[j * n + i] = canonical_value(table.x(rows[i], j));
    for (const std::size_t row : rows) {
      y.push_back(table.y[row]);
      weight.push_back(table.weight[row]);
      units.push_back(static_cast<std::int64_t>(table.weight[row] / weight_unit));
    }
  }

  MatrixView view(std::size_t n_columns) const {
    return {x.data(), y.size(), n_columns, 1, static_cast<std::ptrdiff_t>(y.size())};
  }
};

Moments::Moments(const Tree& tree, MomentOptions options)
    : tree_(tree),
      options_(std::move(options)),
      hash_(options_.seed, options_.columns),
      weight_unit_(std::ldexp(power_of_two_above(options_.most_weight), -45)),
      exemplars_(tree.size(), options_.low.size(), options_.n_exemplars) {
  for (std::size_t j = 0; j < options_.low.size(); ++j) {
    const double low = options_.low[j], high = options_.high[j];
    centre_.push_back(low <= high ? 0.5 * low + 0.5 * high : 0.0);
    half_.push_back(high > low ? 0.5 * high - 0.5 * low : 1.0);
  }
  sums_ = no_sums();
}

MomentSums Moments::no_sums() const {
  MomentSums none;
  none.of_class.assign(tree_.size() * options_.n_classes, 0);
  none.first.assign(tree_.size() * half_.size(), 0);
  none.second = none.known = none.first;
  none.low.assign(tree_.size(), kInfinity);
  none.high.assign(tree_.size(), -kInfinity);
  return none;
}

void Moments::add(const TableView& table, int n_threads, Monitor& monitor) {
  const std::size_t n = table.x.n_rows, d = half_.size(), n_pieces = (n + kPieceRows - 1) / kPieceRows;
  auto add_piece = [&](std::size_t number) {
    ExemplarKeeper keeper(tree_.size(), d, options_.n_exemplars);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      keeper.copy_bounds(exemplars_);
    }
    Piece piece(table, number * kPieceRows, std::min((number + 1) * kPieceRows, n), weight_unit_, no_sums(),
                std::move(keeper));
    const MatrixView x = piece.view(d);
    if (options_.n_exemplars > 0) {
      piece.key.resize(x.n_rows);
      hash_({x, nullptr, piece.y.data(), piece.weight.data(), options_.n_classes}, 0, x.n_rows, piece.key.data());
    }
    for (std::size_t first = 0; first < x.n_rows; first += kBlockRows)
      add_block({x, first, std::min(kBlockRows, x.n_rows - first)}, piece);
    const ExemplarTable found = piece.exemplars.table();
    const std::lock_guard<std::mutex> lock(mutex_);
    add(piece.sums, found);
  };
  parallel_for(n_pieces, n_threads, add_piece, [&] { monitor.tick(tree_.size() / 2 + 1); });
}

void Moments::add_block(const Block& block, Piece& piece) const {
  piece.kept.fill(-1);
  walk(tree_, block, false, piece.level, [&](std::size_t o, const Firing& firing) {
    Sum* of_class = piece.sums.of_class.data() + o * options_.n_classes;
    for (std::size_t i = 0; i < firing.size; ++i) {
      const std::size_t row = block.first + firing.row[i];
      of_class[piece.y[row]] +=
          static_cast<Sum>(static_cast<std::int64_t>(firing.phi[i] * kPerFiringUnit)) * piece.units[row];
    }
    if (!tree_.is_split(o)) add_features(o, block, piece, firing);
    if (options_.n_exemplars > 0) add_exemplars(o, block, piece, firing);
    auto &low = piece.sums.low, &high = piece.sums.high;
    for (std::size_t child = o + 1; child < tree_.nodes[o].end; child = tree_.nodes[child].end) {
      for (std::size_t i = 0; i < firing.size; ++i) {
        const bool counts = firing.phi[i] > kNegligibleFiring;
        const double x = block.value(firing.row[i], tree_.nodes[child].column);
        low[child] = counts && x < low[child] ? x : low[child];
        high[child] = counts && x > high[child] ? x : high[child];
      }
    }
  });
}

void Moments::add_features(std::size_t node, const Block& block, Piece& piece, const Firing& firing) const {
  const std::size_t n_columns = half_.size();
  const std::int64_t* units = piece.units.data() + block.first;
  const bool same_weight = std::all_of(firing.row.begin(), firing.row.begin() + static_cast<std::ptrdiff_t>(firing.size),
                                       [&](Row row) { return units[row] == units[firing.row[0]]; });
  for (std::size_t j = 0; j < n_columns; ++j) {
    const double centre = centre_[j], scale = 1 / half_[j];
    // Values lie within their range, so no term is above 1 and the sum of a block's 256 fits into 64 bits.
    const auto terms = [&](std::size_t i, auto&& take) {
      const double value = block.value(firing.row[i], static_cast<Column>(j));
      const double own = is_missing(value) ? 0.0 : firing.phi[i] * kPerFiringUnit;
      const double z = is_missing(value) ? 0.0 : (value - centre) * scale;
      take(static_cast<std::int64_t>(own * z), static_cast<std::int64_t>(own * z * z), static_cast<std::int64_t>(own));
    };
    Sum first = 0, second = 0, known = 0;
    if (same_weight) {  // as nearly always: one multiplication for all rows, with the same result
      std::int64_t a = 0, b = 0, c = 0;
      for (std::size_t i = 0; i < firing.size; ++i)
        terms(i, [&](std::int64_t u, std::int64_t v, std::int64_t w) { a += u, b += v, c += w; });
      const Sum unit = firing.size > 0 ? units[firing.row[0]] : 0;
      first = a * unit, second = b * unit, known = c * unit;
    } else {
      for (std::size_t i = 0; i < firing.size; ++i)
        terms(i, [&](Sum u, Sum v, Sum w) {
          const Sum unit = units[firing.row[i]];
          first += u * unit, second += v * unit, known += w * unit;
        });
    }
    piece.sums.first[node * n_columns + j] += first;
    piece.sums.second[node * n_columns + j] += second;
    piece.sums.known[node * n_columns + j] += known;
  }
}

void Moments::add_exemplars(std::size_t node, const Block& block, Piece& piece, const Firing& firing) const {
  for (std::size_t i = 0; i < firing.size; ++i) {
    const std::size_t row = block.first + firing.row[i];
    if (firing.phi[i] <= kTrifle || !piece.exemplars.wants(node, piece.key[row])) continue;
    NodeId& place = piece.kept[firing.row[i]];
    if (place < 0) place = piece.exemplars.add_row(piece.key[row], block.x.row(row), block.x.column_stride);
    piece.exemplars.add(node, place);
  }
}

void Moments::add(const MomentSums& sums, const ExemplarTable& exemplars) {
  add_to(sums_.of_class, sums.of_class);
  add_to(sums_.first, sums.first);
  add_to(sums_.second, sums.second);
  add_to(sums_.known, sums.known);
  for (std::size_t o = 0; o < sums_.low.size(); ++o) {
    sums_.low[o] = std::min(sums_.low[o], sums.low[o]);
    sums_.high[o] = std::max(sums_.high[o], sums.high[o]);
  }
  exemplars_.merge(exemplars);
}

// A row that reaches a split is shared by its two sides, so the sums over features above splits are those of the sides.
MomentSums Moments::with_splits() const {
  MomentSums sums = sums_;
  const std::size_t d = half_.size();
  for (std::size_t o = tree_.size(); o-- > 0;) {
    if (!tree_.is_split(o)) continue;
    for (const std::size_t child : {o + 1, tree_.nodes[o + 1].end})
      for (std::size_t j = 0; j < d; ++j) {
        sums.first[o * d + j] += sums.first[child * d + j];
        sums.second[o * d + j] += sums.second[child * d + j];
        sums.known[o * d + j] += sums.known[child * d + j];
      }
  }
  return sums;
}

std::vector<double> Moments::class_weight() const {
  std::vector<double> out;
  for (const Sum sum : sums_.of_class) out.push_back(static_cast<double>(sum) * kFiringUnit * weight_unit_);
  return out;
}

double Moments::mean_in_ranges(const MomentSums& sums, std::size_t cell) const {
  return sums.known[cell] > 0 ? static_cast<double>(sums.first[cell]) / static_cast<double>(sums.known[cell]) : 0.0;
}

std::vector<double> Moments::mean() const {
  const MomentSums sums = with_splits();
  std::vector<double> out;
  const std::size_t d = half_.size();
  for (std::size_t i = 0; i < sums.first.size(); ++i)
    out.push_back(centre_[i % d] + mean_in_ranges(sums, i) * half_[i % d]);
  return out;
}

std::vector<double> Moments::variance() const {
  const MomentSums sums = with_splits();
  std::vector<double> out;
  const std::size_t d = half_.size();
  for (std::size_t i = 0; i < sums.first.size(); ++i) {
    const double z = mean_in_ranges(sums, i), half = half_[i % d];
    const double square =
        sums.known[i] > 0 ? static_cast<double>(sums.second[i]) / static_cast<double>(sums.known[i]) : 0.0;
    out.push_back(std::max(0.0, square - z * z) * half * half);
  }
  return out;
}

}  // namespace ferl
