#include "rows/moments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <mutex>
#include <stdexcept>

#include "core/kernels.h"

namespace ferl {

namespace {

constexpr double kFiringUnit = 0x1p-50, kPerFiringUnit = 0x1p50;
constexpr std::size_t kPieceRows = 8 * kBlockRows;

double power_of_two_above(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, exponent);
}

[[noreturn]] void refuse_sums() {
  throw std::invalid_argument("The sums of a state are larger than those of any rows, or negative.");
}

void add_to(Sum& sum, Sum other) {
  if (add_overflows(sum, other, &sum)) refuse_sums();
}

void add_to(std::vector<Sum>& sums, const std::vector<Sum>& others) {
  for (std::size_t i = 0; i < sums.size(); ++i) add_to(sums[i], others[i]);
}

// Checks sums from another process: each row adds from `least` to `most` times the largest firing and weight.
void check_sums(const std::vector<Sum>& sums, std::uint64_t n_rows, double least, double most) {
  const double row = static_cast<double>(n_rows) * kPerFiringUnit * std::ldexp(1.0, kWeightBits);
  for (const Sum sum : sums)
    if (!(to_double(sum) >= least * row && to_double(sum) <= most * row)) refuse_sums();
}

}  // namespace

// Some rows, copied to columns without the rows of weight zero, and the tally that they are added to.
struct Moments::Piece {
  std::vector<double> x;  // column-major
  std::vector<Label> y;
  std::vector<double> weight;
  std::vector<std::int64_t> units;  // of weight
  std::vector<std::uint64_t> key;
  MomentSums& sums;
  ExemplarKeeper& exemplars;
  Levels level;
  std::array<NodeId, kBlockRows> kept;  // index of a block's row among the exemplars

  Piece(const TableView& table, std::size_t from, std::size_t to, double weight_unit, Tally& tally)
      : sums(tally.sums), exemplars(tally.exemplars) {
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
    : tree_(tree), options_(std::move(options)), hash_(options_.seed, options_.columns),
      weight_unit_(std::ldexp(power_of_two_above(options_.most_weight), -kWeightBits)), tally_(no_rows()) {
  tally_.exemplars.set_bounds(options_.key_bound);
  for (std::size_t j = 0; j < options_.low.size(); ++j) {
    const double low = options_.low[j], high = options_.high[j];
    centre_.push_back(low <= high ? 0.5 * low + 0.5 * high : 0.0);
    half_.push_back(high > low ? 0.5 * high - 0.5 * low : 1.0);
  }
}

Moments::Tally Moments::no_rows() const {
  const std::size_t n = tree_.size(), d = options_.low.size();
  MomentSums none;
  none.of_class.assign(n * options_.n_classes, 0);
  none.first.assign(n * d, 0);
  none.second = none.known = none.first;
  none.low.assign(n, kInfinity);
  none.high.assign(n, -kInfinity);
  return {std::move(none), ExemplarKeeper(n, d, options_.n_exemplars)};
}

// No two threads add to one tally at the same time. The first tally belongs to this object: one thread need not merge.
void Moments::add(const TableView& table, int n_threads, Monitor& monitor) {
  const std::size_t n = table.x.n_rows, d = half_.size(), n_pieces = (n + kPieceRows - 1) / kPieceRows;
  count_rows(n);
  const std::vector<std::uint64_t> bounds = tally_.exemplars.bounds();  // before threads change them
  std::deque<Tally> others;                                             // whose members stay where they are
  std::vector<Tally*> idle{&tally_};
  std::mutex mutex;
  const auto take_idle = [&]() -> Tally& {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!idle.empty()) {
        Tally& tally = *idle.back();
        idle.pop_back();
        return tally;
      }
    }
    Tally none = no_rows();
    none.exemplars.set_bounds(bounds);
    const std::lock_guard<std::mutex> lock(mutex);
    return others.emplace_back(std::move(none));
  };
  auto add_piece = [&](std::size_t number) {
    Tally& tally = take_idle();
    Piece piece(table, number * kPieceRows, std::min((number + 1) * kPieceRows, n), weight_unit_, tally);
    const MatrixView x = piece.view(d);
    if (options_.n_exemplars > 0) {
      piece.key.resize(x.n_rows);
      hash_({x, nullptr, piece.y.data(), piece.weight.data(), options_.n_classes}, 0, x.n_rows, piece.key.data());
    }
    for (std::size_t first = 0; first < x.n_rows; first += kBlockRows)
      add_block({x, first, std::min(kBlockRows, x.n_rows - first)}, piece);
    tally.exemplars.tidy();
    const std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(&tally);
  };
  parallel_for(n_pieces, n_threads, add_piece, [&] { monitor.tick(tree_.size() / 2 + 1); });
  for (Tally& other : others) {
    add(other.sums);
    tally_.exemplars.merge(other.exemplars);
  }
}

void Moments::add_block(const Block& block, Piece& piece) const {
  piece.kept.fill(-1);
  walk(tree_, block, false, piece.level, [&](std::size_t o, const Firing& firing) {
    Sum* of_class = piece.sums.of_class.data() + o * options_.n_classes;
    for (std::size_t i = 0; i < firing.size; ++i) {
      const std::size_t row = block.first + firing.row[i];
      of_class[piece.y[row]] += static_cast<Sum>(to_integer(firing.phi[i] * kPerFiringUnit)) * piece.units[row];
    }
    if (!is_sum_of_sides(o)) add_features(o, block, piece, firing);
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
  const std::size_t n = firing.size, n_padded = (n + kLanes - 1) / kLanes * kLanes, n_columns = half_.size();
  const std::int64_t* units = piece.units.data() + block.first;
  bool same_weight = true;
  std::array<double, kBlockRows + kLanes> weight{}, value{};
  for (std::size_t i = 0; i < n; ++i) {
    weight[i] = firing.phi[i] * kPerFiringUnit;
    same_weight = same_weight && units[firing.row[i]] == units[firing.row[0]];
  }
  for (std::size_t j = 0; j < n_columns; ++j) {
    const double centre = centre_[j], scale = 1 / half_[j];
    const double* column = block.x.data + static_cast<std::ptrdiff_t>(j) * block.x.column_stride + block.first;
    for (std::size_t i = 0; i < n; ++i) value[i] = column[firing.row[i]];
    Sum sums[3] = {0, 0, 0};  // of weights, values and squares
    // Values lie within their range, so no term is above 2^50 and the sum of a block's 256 fits into 64 bits.
    if (same_weight) {  // as nearly always: one multiplication for all rows, with the same result
      std::int64_t terms[3] = {0, 0, 0};
      kernels().sum_powers(n_padded, value.data(), weight.data(), centre, scale, terms);
      for (int power = 0; power < 3; ++power) sums[power] = static_cast<Sum>(terms[power]) * units[firing.row[0]];
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        if (is_missing(value[i])) continue;
        const double z = (value[i] - centre) * scale, product = weight[i] * z;
        const Sum unit = units[firing.row[i]];
        sums[0] += unit * to_integer(weight[i]);
        sums[1] += unit * to_integer(product);
        sums[2] += unit * to_integer(product * z);
      }
    }
    piece.sums.known[node * n_columns + j] += sums[0];
    piece.sums.first[node * n_columns + j] += sums[1];
    piece.sums.second[node * n_columns + j] += sums[2];
  }
}

void Moments::add_exemplars(std::size_t node, const Block& block, Piece& piece, const Firing& firing) const {
  for (std::size_t i = 0; i < firing.size; ++i) {
    const std::size_t row = block.first + firing.row[i];
    if (firing.phi[i] <= kExemplarFiring || !piece.exemplars.wants(node, piece.key[row])) continue;
    NodeId& index = piece.kept[firing.row[i]];
    if (index < 0) index = piece.exemplars.add_row(piece.key[row], block.x.row(row), block.x.column_stride);
    piece.exemplars.add(node, index);
  }
}

// Rows of weight zero count as well: the limit is far away, and the state for other processes stays simple.
void Moments::count_rows(std::uint64_t n_more) {
  if (n_more > kMostRowsOfSums - n_rows_)
    throw std::invalid_argument(
        "More than 2,147,483,647 rows would overflow the sums. Fit on a part of the rows, or merge equal rows by "
        "weight.");
  n_rows_ += n_more;
}

void Moments::add(const MomentSums& sums, const ExemplarTable& exemplars, std::uint64_t n_rows) {
  // A value in units of half its range, from its centre, is 1 at most; where the range is one rounding step, 2.
  check_sums(sums.of_class, n_rows, 0, 1);
  check_sums(sums.known, n_rows, 0, 1);
  check_sums(sums.first, n_rows, -2, 2);
  check_sums(sums.second, n_rows, 0, 4);
  count_rows(n_rows);
  add(sums);
  tally_.exemplars.merge(exemplars);
}

void Moments::add(const MomentSums& sums) {
  MomentSums& total = tally_.sums;
  add_to(total.of_class, sums.of_class);
  add_to(total.first, sums.first);
  add_to(total.second, sums.second);
  add_to(total.known, sums.known);
  for (std::size_t o = 0; o < total.low.size(); ++o) {
    total.low[o] = std::min(total.low[o], sums.low[o]);
    total.high[o] = std::max(total.high[o], sums.high[o]);
  }
}

// Whether every row that reaches a node is shared out among its children in full. Two words may divide all values
// between them and still leave a part of what is missing to none.
bool Moments::is_sum_of_sides(std::size_t node) const {
  if (!tree_.is_split(node)) return false;
  const Node& left = tree_.nodes[node + 1];
  return std::abs(left.share + tree_.nodes[left.end].share - 1) < 1e-9;
}

// A row that reaches a split is shared by its two sides, so sums over features above splits equal the sums of the sides.
MomentSums Moments::with_splits() const {
  MomentSums sums = tally_.sums;
  const std::size_t d = half_.size();
  for (std::size_t o = tree_.size(); o-- > 0;) {
    if (!is_sum_of_sides(o)) continue;
    for (const std::size_t child : {o + 1, tree_.nodes[o + 1].end})
      for (std::size_t j = 0; j < d; ++j) {
        add_to(sums.first[o * d + j], sums.first[child * d + j]);
        add_to(sums.second[o * d + j], sums.second[child * d + j]);
        add_to(sums.known[o * d + j], sums.known[child * d + j]);
      }
  }
  return sums;
}

std::vector<double> Moments::in_rows(const std::vector<Sum>& sums) const {
  std::vector<double> out;
  for (const Sum sum : sums) out.push_back(to_double(sum) * kFiringUnit * weight_unit_);
  return out;
}

std::vector<double> Moments::class_weight() const { return in_rows(tally_.sums.of_class); }

std::vector<double> Moments::known_weight() const { return in_rows(with_splits().known); }

double Moments::mean_in_ranges(const MomentSums& sums, std::size_t cell) const {
  return sums.known[cell] > 0 ? to_double(sums.first[cell]) / to_double(sums.known[cell]) : 0.0;
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
    const double square = sums.known[i] > 0 ? to_double(sums.second[i]) / to_double(sums.known[i]) : 0.0;
    out.push_back(std::max(0.0, square - z * z) * half * half);
  }
  return out;
}

}  // namespace ferl
