#include "learn/sort.h"

#include <algorithm>

namespace ferl {

void RowSorter::operator()(std::vector<KeyedRow>& rows, Monitor* monitor) {
  if (rows.size() < 200) {
    std::stable_sort(rows.begin(), rows.end(), [](const KeyedRow& a, const KeyedRow& b) { return a.key < b.key; });
    return;
  }
  std::array<std::array<std::uint32_t, 256>, 8> counts{};
  for (const auto& r : rows)
    for (int byte = 0; byte < 8; ++byte) ++counts[byte][(r.key >> (8 * byte)) & 255];
  buffer_.resize(rows.size());
  for (int byte = 0; byte < 8; ++byte) {
    if (monitor) monitor->tick(0);
    auto& count = counts[byte];
    if (count[(rows[0].key >> (8 * byte)) & 255] == rows.size()) continue;
    std::uint32_t start = 0;
    for (auto& c : count) start += std::exchange(c, start);
    for (const auto& r : rows) buffer_[count[(r.key >> (8 * byte)) & 255]++] = r;
    rows.swap(buffer_);
  }
}

}  // namespace ferl
