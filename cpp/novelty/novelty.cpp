#include "novelty/novelty.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/kernels.h"
#include "core/walk.h"

namespace ferl {

namespace {

// Vectors of exemplars, of which a first look at codes spares less than it takes.
constexpr std::size_t kFewVectors = 4;

bool fits_a_child(const Tree& tree, std::size_t node, const Block& block, Row row) {
  for (std::size_t child = node + 1; child < tree.nodes[node].end; child = tree.nodes[child].end)
    if (tree.nodes[child].fits(block.value(row, tree.nodes[child].column)) > 0) return true;
  return false;
}

}  // namespace

Exemplars::Exemplars(std::vector<double> row, const NodeId* exemplar, std::size_t per_node,
                     const std::vector<NodeId>& group, Scale scale)
    : row_(std::move(row)), units_of_(std::move(scale)), group_(group.size()) {
  const std::size_t d = units_of_.n_columns(), n_numbers = units_of_.n_numbers();
  std::vector<float> units(d);
  for (std::size_t o = 0; o < group.size(); ++o) {
    if (group[o] < 0) continue;
    const NodeId* own = exemplar + static_cast<std::size_t>(group[o]) * per_node;
    const auto n = static_cast<std::size_t>(std::find(own, own + per_node, -1) - own);
    group_[o] = {index_.size() / kFloatLanes, (n + kFloatLanes - 1) / kFloatLanes};
    for (std::size_t first = 0; first < n; first += kFloatLanes) {
      const std::size_t at = units_.size();
      units_.resize(at + kFloatLanes * d);
      for (std::size_t lane = 0; lane < kFloatLanes; ++lane) {
        index_.push_back(own[std::min(first + lane, n - 1)]);  // the last one fills up the vector
        units_of_.of_kept(row_.data() + static_cast<std::size_t>(index_.back()) * d, units.data());
        for (std::size_t k = 0; k < d; ++k) units_[at + k * kFloatLanes + lane] = units[k];
      }
    }
  }
  const auto has_many = [](const Group& own) { return own.n > kFewVectors; };
  if (std::any_of(group_.begin(), group_.end(), has_many))
    codes_ = ExemplarCodes(units_, n_numbers, units_of_.mismatch());
  if (codes_.n_groups() > 0) {  // few exemplars are measured, one by one
    AlignedVector<float> by_exemplar(units_.size());
    for (std::size_t v = 0; v < index_.size() / kFloatLanes; ++v)
      for (std::size_t k = 0; k < d; ++k)
        for (std::size_t lane = 0; lane < kFloatLanes; ++lane)
          by_exemplar[(v * kFloatLanes + lane) * d + k] = units_[(v * d + k) * kFloatLanes + lane];
    units_ = std::move(by_exemplar);
  }
  for (std::size_t k = 0; k < row_.size(); ++k)
    if (is_missing(row_[k]) && units_of_.is_number(k % d)) row_[k] = units_of_.centre(k % d);
}

void Exemplars::distance(const Tree& tree, const MatrixView& x, int n_threads, std::size_t n_out, double* out) const {
  const std::size_t d = units_of_.n_columns(), n_groups = codes_.n_groups();
  const std::size_t stride = (d + kFloatLanes - 1) / kFloatLanes * kFloatLanes;  // whole vectors
  const CodeView codes = codes_.view();
  const auto nearest = kernels().nearest_exemplar;
  over_blocks(x, n_threads, [&](const Block& block, Levels& level) {
    AlignedVector<float> units(block.size * stride);
    std::vector<std::uint64_t> code(2 * block.size * n_groups), best(block.size, kNoExemplar);
    std::vector<ExemplarQuery> query(block.size);
    for (std::size_t i = 0; i < block.size; ++i) {
      float* own = units.data() + i * stride;
      std::uint64_t *own_code = code.data() + 2 * i * n_groups, *known = own_code + n_groups;
      const bool has_missing = units_of_.of(x.row(block.first + i), x.column_stride, own);
      const double slack = codes_.encode(own, own_code, has_missing ? known : nullptr);
      query[i] = {own, units_of_.mismatch().data(), units_of_.n_numbers(), d, has_missing, own_code, known, slack};
    }
    walk(tree, block, false, level, [&](std::size_t o, const Firing& firing) {
      if (group_[o].n == 0) return;
      for (std::size_t k = 0; k < firing.size; ++k) {
        const Row i = firing.row[k];
        if (!tree.is_leaf(o) && fits_a_child(tree, o, block, i)) continue;
        const auto [begin, n] = group_[o];
        best[i] = nearest(query[i], units_.data(), codes, begin, n, best[i]);
      }
    });
    const auto fetch = [&](std::size_t i) {  // exemplars lie anywhere in more memory than a cache has
      if (i >= block.size || best[i] == kNoExemplar) return;
      const double* row = row_.data() + static_cast<std::size_t>(index_[best[i] & 0xffffffff]) * d;
      for (std::size_t j = 0; j < d; j += 8) __builtin_prefetch(row + j);
    };
    constexpr std::size_t kAhead = 8;
    for (std::size_t i = 0; i < kAhead; ++i) fetch(i);
    for (std::size_t i = 0; i < block.size; ++i) {
      fetch(i + kAhead);
      double* own = out + (block.first + i) * n_out;
      if (best[i] == kNoExemplar)
        std::fill_n(own, n_out, kNaN);
      else
        measure(x.row(block.first + i), x.column_stride, query[i].has_missing, index_[best[i] & 0xffffffff], n_out,
                own);
    }
  });
}

// The distance again, exactly: the search rounds.
void Exemplars::measure(const double* x, std::ptrdiff_t stride, bool has_missing, NodeId exemplar, std::size_t n_out,
                        double* out) const {
  constexpr std::size_t kAtOnce = 32;
  const std::size_t d = units_of_.n_columns();
  const double* row = row_.data() + static_cast<std::size_t>(exemplar) * d;
  const auto value = [&](std::size_t j) { return x[static_cast<std::ptrdiff_t>(j) * stride]; };
  std::size_t n_known = d;
  for (std::size_t j = 0; has_missing && j < d; ++j) n_known -= is_missing(value(j));
  const double share = 1.0 / static_cast<double>(std::max<std::size_t>(n_known, 1));
  double sum = 0, values[kAtOnce], part[kAtOnce];
  for (std::size_t first = 0; first < d; first += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, d - first);
    for (std::size_t k = 0; stride != 1 && k < n; ++k) values[k] = value(first + k);
    const DistanceScale scale{units_of_.per_unit() + first, units_of_.is_category() + first, share};
    kernels().distance_parts(n, stride == 1 ? x + first : values, row + first, scale, part);
    if (n_out > 1) std::copy_n(part, n, out + first);
    for (std::size_t k = 0; k < n; ++k) sum += part[k];
  }
  if (n_out == 1) *out = sum;
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
