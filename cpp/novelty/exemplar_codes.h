// Exemplars and rows in bytes, for the first look of the search of the nearest exemplar.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "core/kernels.h"

namespace ferl {

// A code counts steps from the centre, of one length for all features, as far as a byte reaches; the features of a wide
// table share codes. Of a category only the parity counts: different ones are different categories.
class ExemplarCodes {
 public:
  ExemplarCodes() = default;
  // `lanes`: [vector of exemplars][feature][lane] in units, numbers first; `mismatch`: [feature], what categories that
  // differ are apart.
  ExemplarCodes(const AlignedVector<float>& lanes, std::size_t n_numbers, const std::vector<float>& mismatch);

  // Words of codes that a row takes.
  std::size_t n_groups() const { return n_groups_; }
  // Floats that an exemplar takes, zeros behind its features among them.
  std::size_t n_padded() const { return mismatch_.size(); }
  CodeView view() const {
    return {code_.data(), mismatch_.data(), n_groups_, n_padded(), per_step_, slack_, rounding_};
  }

  // Floats that a row takes: zeros behind its features up to here are read, too.
  std::size_t n_read() const;
  // The codes of a row in units, its features in the order of the lanes, [group], and the largest error of distances from
  // it, in steps. `known`, if not null: the bytes that no missing feature belongs to.
  double encode(const float* units, std::uint64_t* code, std::uint64_t* known) const;

 private:
  // What the codes sum up of a feature: a number itself, of a category its parity.
  float summand(std::size_t feature, float units) const;

  std::size_t n_numbers_ = 0, n_features_ = 0, n_groups_ = 0, n_layers_ = 0;
  double per_step_ = 0, slack_ = 0, rounding_ = 0;
  AlignedVector<float> mismatch_;     // as in CodeView
  AlignedVector<std::uint8_t> code_;  // as in CodeView
};

}  // namespace ferl
