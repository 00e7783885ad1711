#include "cases/cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/exponential.h"
#include "core/kernels.h"

namespace ferl {

namespace {

// The n-th least of some distances, or infinity if there are fewer; NaN counts as infinity.
float nth_least(const std::vector<float>& distance, std::size_t n_distances, std::size_t n, std::vector<float>& heap) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  if (n > n_distances) return kInfinite;
  heap.assign(n, kInfinite);
  float most = kInfinite;
  for (std::size_t first = 0; first < n_distances; first += kFloatLanes) {
    const std::size_t end = std::min(first + kFloatLanes, n_distances);
    bool is_any = false;  // in a loop that compilers turn into vectors: most lanes have none
    for (std::size_t i = first; i < end; ++i) is_any |= distance[i] < most;
    for (std::size_t i = first; is_any && i < end; ++i) {
      if (!(distance[i] < most)) continue;
      std::pop_heap(heap.begin(), heap.end());
      heap.back() = distance[i];
      std::push_heap(heap.begin(), heap.end());
      most = heap.front();
    }
  }
  return most;
}

}  // namespace

Cases::Cases(std::vector<double> row, std::vector<std::int32_t> start, std::vector<Label> label,
             std::vector<double> weight, Scale scale, std::vector<double> frequency, VoteWeights votes)
    : row_(std::move(row)), start_(std::move(start)), label_(std::move(label)), weight_(std::move(weight)),
      units_of_(std::move(scale)), frequency_(std::move(frequency)), votes_(std::move(votes)) {
  const std::size_t d = n_columns(), n_vectors = (n_places() + kFloatLanes - 1) / kFloatLanes;
  lanes_.resize(n_vectors * d * kFloatLanes);
  std::vector<float> units(d);
  for (std::size_t i = 0; i < n_vectors * kFloatLanes; ++i) {
    units_of_.of_kept(row_.data() + std::min(i, n_places() - 1) * d, units.data());
    for (std::size_t k = 0; k < d; ++k) lanes_[(i / kFloatLanes * d + k) * kFloatLanes + i % kFloatLanes] = units[k];
  }
}

// The distance in units of a value from that of a place.
double Cases::away(double value, std::size_t index, std::size_t j) const {
  const double own = row_[index * n_columns() + j];
  const double kept = is_missing(own) && units_of_.is_number(j) ? units_of_.centre(j) : own;
  return units_of_.away(value, kept, j) * units_of_.per_unit()[j];
}

// One over the number of known columns that count: a column that does not changes nothing, known or not.
double Cases::known_share(const double* x, std::ptrdiff_t stride) const {
  std::size_t n_known = 0;
  for (std::size_t j = 0; j < n_columns(); ++j)
    n_known += units_of_.per_unit()[j] > 0 && !is_missing(x[static_cast<std::ptrdiff_t>(j) * stride]);
  return 1.0 / static_cast<double>(std::max<std::size_t>(n_known, 1));
}

// The mean over the known columns that count of the distance in units.
double Cases::distance(const double* x, std::ptrdiff_t stride, std::size_t index, double share) const {
  double sum = 0;
  for (std::size_t j = 0; j < n_columns(); ++j) sum += away(x[static_cast<std::ptrdiff_t>(j) * stride], index, j);
  return sum * share;
}

void Cases::away(const double* x, std::ptrdiff_t stride, const std::int32_t* place, std::size_t n, double* out,
                 std::size_t out_stride) const {
  const double share = known_share(x, stride);
  for (std::size_t j = 0; j < n_columns(); ++j)
    for (std::size_t k = 0; k < n; ++k)
      out[j * out_stride + k] =
          share * away(x[static_cast<std::ptrdiff_t>(j) * stride], static_cast<std::size_t>(place[k]), j);
}

bool Cases::is_equal(const double* x, std::ptrdiff_t stride, std::size_t index) const {
  const double* row = row_.data() + index * n_columns();
  for (std::size_t j = 0; j < n_columns(); ++j) {
    const double value = x[static_cast<std::ptrdiff_t>(j) * stride];
    if (value != row[j] && !(is_missing(value) && is_missing(row[j]))) return false;
  }
  return true;
}

void Cases::find_nearest(const double* x, std::ptrdiff_t stride, std::size_t n, bool others_alone,
                         CaseSearch& search) const {
  const std::size_t d = n_columns();
  search.units.resize((d + kFloatLanes - 1) / kFloatLanes * kFloatLanes);
  search.distance.resize(lanes_.size() / d);
  float* units = search.units.data();
  const bool has_missing = units_of_.of(x, stride, units);
  const ExemplarQuery query{units, units_of_.mismatch().data(), units_of_.n_numbers(), d, has_missing, nullptr, nullptr,
                            0};
  kernels().distances(query, lanes_.data(), lanes_.size() / (d * kFloatLanes), search.distance.data());

  // Single precision only narrows the search: all cases that rounding may hide among the nearest are measured again.
  const std::size_t n_wanted = std::min(n + (others_alone ? 1 : 0), n_places());
  const double least = nth_least(search.distance, n_places(), n_wanted, search.least);
  double size = 0;
  for (std::size_t k = 0; k < units_of_.n_numbers(); ++k)
    if (!std::isnan(units[k])) size += std::abs(units[k]);
  const double rounding = static_cast<double>(d + 8) * 0x1p-23;
  const double most = least + rounding * (2 * least + 2 * size);
  const double share = known_share(x, stride);
  search.near.clear();
  for (std::size_t i = 0; i < n_places(); ++i)
    if (!(search.distance[i] > most) && !(others_alone && is_equal(x, stride, i)))
      search.near.push_back({distance(x, stride, i, share), static_cast<std::int32_t>(i)});
  std::sort(search.near.begin(), search.near.end(), [](const NearPlace& a, const NearPlace& b) {
    return a.distance < b.distance || (a.distance == b.distance && a.index < b.index);
  });
}

void Cases::vote(const double* x, std::ptrdiff_t stride, bool others_alone, CaseSearch& search, double* out) const {
  const std::size_t n_classes = frequency_.size();
  const auto most = static_cast<std::size_t>(votes_.n_nearest.back());
  find_nearest(x, stride, most + 1, others_alone, search);
  const std::vector<NearPlace>& near = search.near;
  search.vote.resize(n_classes);
  for (std::size_t k = 0; k < n_votes(); ++k, out += n_classes) {
    std::fill(search.vote.begin(), search.vote.end(), 0.0);
    double total = 0;
    if (!near.empty()) {
      const std::size_t n = std::min(static_cast<std::size_t>(votes_.n_nearest[k]), near.size() - 1);
      const double farthest = near[n].distance;
      // So many places may be at distance 0 that no next one is apart from them. Then all of these vote, together as much
      // as n would: their order must not matter.
      std::size_t n_there = 0;
      while (n_there < near.size() && near[n_there].distance == 0) ++n_there;
      const bool is_graded = farthest > 0;
      const double share = is_graded ? 1 : static_cast<double>(n) / static_cast<double>(n_there);
      for (const NearPlace& one : near) {
        if (!(is_graded ? one.distance < farthest : one.distance == 0)) break;
        const double closeness = is_graded ? 1 - one.distance / farthest : share;
        const auto place = static_cast<std::size_t>(one.index);
        for (auto own = static_cast<std::size_t>(start_[place]); own < static_cast<std::size_t>(start_[place + 1]);
             ++own) {
          search.vote[static_cast<std::size_t>(label_[own])] += weight_[own] * closeness;
          total += weight_[own] * closeness;
        }
      }
    }
    double mean = 0;
    for (std::size_t c = 0; c < n_classes; ++c) {
      out[c] = natural_log((search.vote[c] / frequency_[c] + 1) / (total + 1));
      mean += out[c];
    }
    mean /= static_cast<double>(n_classes);
    for (std::size_t c = 0; c < n_classes; ++c) out[c] -= mean;
  }
}

void Cases::add(const double* x, std::ptrdiff_t stride, CaseSearch& search, double* out) const {
  const std::size_t n_classes = frequency_.size();
  search.evidence.resize(n_votes() * n_classes);
  vote(x, stride, false, search, search.evidence.data());
  std::fill_n(out, n_classes, 0.0);
  for (std::size_t k = 0; k < n_votes(); ++k)
    for (std::size_t c = 0; c < n_classes; ++c) out[c] += votes_.strength[k] * search.evidence[k * n_classes + c];
}

}  // namespace ferl
