#include "rules/curves_and_maps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/count_below.h"

namespace ferl {

void CurvesAndMaps::Input::find_bins(const double* x, std::size_t n, Bin* out) const {
  if (n_categories == 0) count_below(cuts.data(), cuts.size(), x, n, std::less<>(), out);
  for (std::size_t i = 0; i < n; ++i)
    if (is_missing(x[i]))
      out[i] = 0;
    else
      out[i] = 1 + (n_categories == 0 ? out[i] : static_cast<Bin>(std::min(x[i], static_cast<double>(n_categories))));
}

Bin CurvesAndMaps::Input::bin(double x) const {
  Bin out;
  find_bins(&x, 1, &out);
  return out;
}

void CurvesAndMaps::find_bins(const double* row, std::vector<Bin>& bins) const {
  bins.resize(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) bins[k] = inputs[k].bin(row[inputs[k].column]);
}

namespace {

std::size_t input_of(CurvesAndMaps& all, const GivenAxis& given) {
  const auto found = std::find_if(all.inputs.begin(), all.inputs.end(),
                                  [&](const CurvesAndMaps::Input& own) { return own.column == given.column; });
  if (found != all.inputs.end()) return static_cast<std::size_t>(found - all.inputs.begin());
  all.inputs.push_back({given.column, given.n_categories, {}});
  return all.inputs.size() - 1;
}

std::size_t n_cells(const GivenAxis& given) {
  return (given.n_categories > 0 ? static_cast<std::size_t>(given.n_categories) : given.n_cuts) + 2;
}

}  // namespace

CurvesAndMaps merged(const std::vector<std::vector<GivenAxis>>& terms, std::size_t n_classes,
                     std::vector<double> value) {
  CurvesAndMaps out;
  out.n_classes = n_classes;
  out.value = std::move(value);
  std::size_t first = 0;
  for (const auto& axes : terms) {
    CurvesAndMaps::Term term{static_cast<std::uint32_t>(first), 1, {}};
    for (const GivenAxis& given : axes) {
      const std::size_t input = input_of(out, given);
      auto& cuts = out.inputs[input].cuts;
      cuts.insert(cuts.end(), given.cuts, given.cuts + given.n_cuts);
      term.axes.push_back({input, {}});
      term.n_cells *= static_cast<std::uint32_t>(n_cells(given));
    }
    first += term.n_cells;
    out.terms.push_back(std::move(term));
  }
  for (auto& input : out.inputs) {
    std::sort(input.cuts.begin(), input.cuts.end());
    input.cuts.erase(std::unique(input.cuts.begin(), input.cuts.end()), input.cuts.end());
  }
  for (std::size_t t = 0; t < terms.size(); ++t) {
    std::size_t stride = 1;
    for (std::size_t a = terms[t].size(); a-- > 0;) {  // the last axis runs fastest
      const GivenAxis& given = terms[t][a];
      CurvesAndMaps::Axis& axis = out.terms[t].axes[a];
      const CurvesAndMaps::Input& input = out.inputs[axis.input];
      for (std::size_t bin = 0; bin < input.n_bins(); ++bin) {
        std::size_t cell = bin;
        if (given.n_categories == 0 && bin > 0) {  // values of the bin are above the cut before it, or all are below
          const double* end = given.cuts + given.n_cuts;
          cell = 1;
          if (bin > 1)
            cell += static_cast<std::size_t>(std::upper_bound(given.cuts, end, input.cuts[bin - 2]) - given.cuts);
        }
        axis.step.push_back(static_cast<std::uint32_t>(cell * stride));
      }
      stride *= n_cells(given);
    }
  }
  for (std::size_t cell = 0; cell * n_classes < out.value.size(); ++cell) {
    double sum = 0;
    for (std::size_t c = 0; c < n_classes; ++c) sum += std::fabs(out.value[cell * n_classes + c]);
    out.size.push_back(sum);
  }
  return out;
}

}  // namespace ferl
