#include "read/novelty.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/kernels.h"
#include "core/walk.h"

namespace ferl {

namespace {

constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

bool fits_a_child(const Tree& tree, std::size_t node, const Block& block, Row row) {
  for (std::size_t child = node + 1; child < tree.nodes[node].end; child = tree.nodes[child].end)
    if (tree.nodes[child].fits(block.value(row, tree.nodes[child].column)) > 0) return true;
  return false;
}

}  // namespace

Exemplars::Exemplars(std::vector<double> row, const NodeId* exemplar, std::size_t per_node,
                     const std::vector<NodeId>& group, Scale scale)
    : row_(std::move(row)), scale_(std::move(scale)), group_(group.size()) {
  const std::size_t d = n_features();
  for (const bool number : {true, false})
    for (std::size_t j = 0; j < d; ++j)
      if (is_number(j) == number) column_.push_back(j), n_numbers_ += number;
  for (const std::size_t j : column_) mismatch_.push_back(static_cast<float>(scale_.per_unit[j]));
  std::vector<float> units(d);
  for (std::size_t o = 0; o < group.size(); ++o) {
    if (group[o] < 0) continue;
    const NodeId* own = exemplar + static_cast<std::size_t>(group[o]) * per_node;
    const auto n = static_cast<std::size_t>(std::find(own, own + per_node, -1) - own);
    group_[o] = {index_.size() / kFloatLanes, (n + kFloatLanes - 1) / kFloatLanes};
    for (std::size_t first = 0; first < n; first += kFloatLanes) {
      const std::size_t at = lanes_.size();
      lanes_.resize(at + kFloatLanes * d);
      for (std::size_t lane = 0; lane < kFloatLanes; ++lane) {
        index_.push_back(own[std::min(first + lane, n - 1)]);  // the last one fills up the vector
        to_units(row_.data() + static_cast<std::size_t>(index_.back()) * d, 1, units.data());
        for (std::size_t k = 0; k < d; ++k) {
          const float lacking = k < n_numbers_ ? 0.0F : -1.0F;  // the centre, or a category like no other
          lanes_[at + k * kFloatLanes + lane] = std::isnan(units[k]) ? lacking : units[k];
        }
      }
    }
  }
}

// In the order of column_; whether a value is missing.
bool Exemplars::to_units(const double* values, std::ptrdiff_t stride, float* out) const {
  if (n_numbers_ == column_.size()) {
    kernels().to_units(values, stride, n_numbers_, scale_.centre.data(), scale_.per_unit.data(), kFarAway, out);
  } else {
    for (std::size_t k = 0; k < column_.size(); ++k) {
      const std::size_t j = column_[k];
      const double value = values[static_cast<std::ptrdiff_t>(j) * stride];
      if (k < n_numbers_) kernels().to_units(&value, 1, 1, &scale_.centre[j], &scale_.per_unit[j], kFarAway, out + k);
      else out[k] = static_cast<float>(value);
    }
  }
  return std::any_of(out, out + column_.size(), [](float unit) { return std::isnan(unit); });
}

void Exemplars::distance(const Tree& tree, const MatrixView& x, int n_threads, std::size_t n_out, double* out) const {
  const std::size_t d = n_features();
  const auto nearest = kernels().nearest_exemplar;
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    std::vector<float> units(block.size * d);
    std::vector<char> has_missing(block.size);
    std::vector<std::uint64_t> best(block.size, kNowhere);
    for (std::size_t i = 0; i < block.size; ++i)
      has_missing[i] = to_units(x.row(block.first + i), x.column_stride, units.data() + i * d);
    walk(tree, block, false, level, [&](std::size_t o, const Firing& firing) {
      if (group_[o].n == 0) return;
      for (std::size_t k = 0; k < firing.size; ++k) {
        const Row i = firing.row[k];
        if (!tree.is_leaf(o) && fits_a_child(tree, o, block, i)) continue;
        const auto [begin, n] = group_[o];
        const ExemplarQuery query{units.data() + i * d, mismatch_.data(), n_numbers_, d, has_missing[i] != 0};
        best[i] = std::min(best[i], nearest(query, lanes_.data(), begin, n));
      }
    });
    for (std::size_t i = 0; i < block.size; ++i) {
      double* own = out + (block.first + i) * n_out;
      if (best[i] == kNowhere) std::fill_n(own, n_out, kNaN);
      else if (n_out == 1 && !has_missing[i] && n_numbers_ == d)
        *own = sum_of_numbers(x.row(block.first + i), x.column_stride, index_[best[i] & 0xffffffff]);
      else measure(x.row(block.first + i), x.column_stride, index_[best[i] & 0xffffffff], n_out, own);
    }
  });
}

// The distance again, exactly: the search rounds.
void Exemplars::measure(const double* x, std::ptrdiff_t stride, NodeId exemplar, std::size_t n_out, double* out) const {
  const std::size_t d = n_features();
  const double* row = row_.data() + static_cast<std::size_t>(exemplar) * d;
  std::size_t n_known = 0;
  for (std::size_t j = 0; j < d; ++j) n_known += !is_missing(x[static_cast<std::ptrdiff_t>(j) * stride]);
  const double share = 1.0 / static_cast<double>(std::max<std::size_t>(n_known, 1));
  double sum = 0;
  for (std::size_t j = 0; j < d; ++j) {
    const double part = away(x[static_cast<std::ptrdiff_t>(j) * stride], row[j], j) * scale_.per_unit[j] * share;
    if (n_out > 1) out[j] = part;
    sum += part;
  }
  if (n_out == 1) *out = sum;
}

// The same sum, term by term, for the rows that nearly all are: nothing but numbers, none of them missing.
double Exemplars::sum_of_numbers(const double* x, std::ptrdiff_t stride, NodeId exemplar) const {
  const std::size_t d = n_features();
  const double* row = row_.data() + static_cast<std::size_t>(exemplar) * d;
  const double share = 1.0 / static_cast<double>(d);
  double sum = 0;
  for (std::size_t j = 0; j < d; ++j) {
    const double other = is_missing(row[j]) ? scale_.centre[j] : row[j];
    sum += std::abs(x[static_cast<std::ptrdiff_t>(j) * stride] - other) * scale_.per_unit[j] * share;
  }
  return sum;
}

double Exemplars::away(double value, double exemplar, std::size_t j) const {
  if (is_missing(value)) return 0;
  if (!is_number(j)) return value != exemplar;
  return std::abs(value - (is_missing(exemplar) ? scale_.centre[j] : exemplar));
}

void residual(const Tree& tree, const MatrixView& x, const double* mean, const double* precision, int n_threads,
              double* out) {
  const std::size_t d = x.n_columns;
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    std::vector<double> total(block.size, 0.0);
    const auto add = [&](std::size_t o, Row i, double phi) {
      total[i] += phi;
      double* own = out + (block.first + i) * d;
      for (std::size_t j = 0; j < d; ++j) {
        const double value = block.value(i, static_cast<Column>(j));
        if (is_missing(value)) continue;
        // The precision first: where it is zero a square that overflows must not make a NaN of it.
        const double away = value - mean[o * d + j];
        own[j] += phi * (away * precision[o * d + j]) * away;
      }
    };
    walk(tree, block, false, level, [&](std::size_t o, const Firing& firing) {
      if (!tree.is_leaf(o)) return;
      for (std::size_t k = 0; k < firing.size; ++k) add(o, firing.row[k], firing.phi[k]);
    });
    for (std::size_t i = 0; i < block.size; ++i) {
      if (total[i] == 0) add(0, static_cast<Row>(i), 1.0);
      for (std::size_t j = 0; j < d; ++j) out[(block.first + i) * d + j] /= total[i];
    }
  });
}

}  // namespace ferl
