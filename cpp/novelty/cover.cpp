#include "novelty/cover.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/kernels.h"

namespace ferl {

namespace {

constexpr std::size_t kLanesOfVector = kFloatLanes;
constexpr float kChosen = -1;  // a distance that no row has: never the farthest again, even where all are equal

}  // namespace

CoverRows::CoverRows(std::size_t n_rows, std::vector<float> mismatch)
    : n_(n_rows), n_vectors_((n_rows + kLanesOfVector - 1) / kLanesOfVector), mismatch_(std::move(mismatch)),
      value_(n_vectors_ * mismatch_.size() * kLanesOfVector, 0.0F) {}

std::size_t CoverRows::place(std::size_t row, std::size_t column) const {
  return (row / kLanesOfVector * mismatch_.size() + column) * kLanesOfVector + row % kLanesOfVector;
}

std::vector<std::int32_t> CoverRows::choose(std::size_t n_kept) const {
  AlignedVector<float> nearest(n_vectors_ * kLanesOfVector, kChosen);
  std::fill_n(nearest.begin(), n_, std::numeric_limits<float>::infinity());
  std::vector<float> largest(n_vectors_), x(mismatch_.size());
  std::vector<std::int32_t> chosen;
  for (std::size_t next = 0; chosen.size() < std::min(n_kept, n_);) {
    chosen.push_back(static_cast<std::int32_t>(next));
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = value_[place(next, j)];
    nearest[next] = kChosen;
    kernels().approach({value_.data(), mismatch_.data(), x.size(), n_vectors_}, x.data(), nearest.data(),
                       largest.data());
    const auto vector = std::max_element(largest.begin(), largest.end()) - largest.begin();
    const auto first = nearest.begin() + vector * static_cast<std::ptrdiff_t>(kLanesOfVector);
    const auto farthest = std::find(first, first + kLanesOfVector, largest[static_cast<std::size_t>(vector)]);
    next = static_cast<std::size_t>(farthest - nearest.begin());
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace ferl
