#include "learn/cover.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferl {

namespace {

// Distance of every row from one of them, summed column by column, so that the order of the sums is fixed.
void measure_from(const CoverRows& rows, std::size_t centre, std::vector<float>& distance) {
  std::fill(distance.begin(), distance.end(), 0.0F);
  for (std::size_t j = 0; j < rows.mismatch.size(); ++j) {
    const float* column = rows.value.data() + j * rows.n;
    const float value = column[centre], apart = rows.mismatch[j];
    if (apart < 0)
      for (std::size_t i = 0; i < rows.n; ++i) distance[i] += std::fabs(column[i] - value);
    else
      for (std::size_t i = 0; i < rows.n; ++i) distance[i] += column[i] == value ? 0.0F : apart;
  }
}

}  // namespace

std::vector<std::int32_t> choose_cover(const CoverRows& rows, std::size_t n_kept) {
  std::vector<float> nearest(rows.n, std::numeric_limits<float>::infinity()), distance(rows.n);
  std::vector<std::int32_t> chosen;
  for (std::size_t next = 0; chosen.size() < std::min(n_kept, rows.n);) {
    chosen.push_back(static_cast<std::int32_t>(next));
    measure_from(rows, next, distance);
    for (std::size_t i = 0; i < rows.n; ++i) nearest[i] = std::min(nearest[i], distance[i]);
    nearest[next] = -1;  // chosen, so not again, even where all others are equal to it
    next = static_cast<std::size_t>(std::max_element(nearest.begin(), nearest.end()) - nearest.begin());
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace ferl
