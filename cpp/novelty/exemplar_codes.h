// Exemplars and rows in bytes, for the first look of the search of the nearest exemplar.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "core/kernels.h"

namespace ferl {

// A number's code counts steps from the centre, of one length for all features, as far as a byte reaches. For a
// category only the parity of the code counts: different codes are different categories.
class ExemplarCodes {
 public:
  ExemplarCodes() = default;
  // `lanes`: [vector of exemplars][feature][lane] in units, numbers first; `mismatch`: [feature], what categories that
  // differ are apart.
  ExemplarCodes(const AlignedVector<float>& lanes, std::size_t n_numbers, const std::vector<float>& mismatch);

  // Words of codes that a row takes.
  std::size_t n_groups() const { return n_groups_; }
  CodeView view() const { return {code_.data(), slack_.data(), n_groups_, per_step_, rounding_}; }

  // The codes of a row in units, its features in the order of the lanes, [group], and the largest error of
  // distances from it, in steps. `known`, if not null: the bytes of the features that are not missing.
  double encode(const float* units, std::uint64_t* code, std::uint64_t* known) const;

 private:
  std::uint8_t category_code(std::size_t k, float category) const;

  std::size_t n_numbers_ = 0, n_coded_ = 0, n_groups_ = 0;  // features
  double per_step_ = 0, rounding_ = 0;
  std::vector<std::uint8_t> mismatch_;  // [feature]
  AlignedVector<std::uint8_t> code_;    // as in CodeView
  AlignedVector<std::uint16_t> slack_;  // as in CodeView
};

}  // namespace ferl
