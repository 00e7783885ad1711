#include "bind/rule_arrays.h"

namespace ferl::python {

using rules::Rule;

std::optional<std::vector<Condition>> words_of(const nb::object& given) {
  if (given.is_none()) return {};
  const auto arrays = nb::cast<nb::tuple>(given);
  require(arrays.size() == 2, "Words are two arrays: their columns and their trapezoids.");
  const auto column = nb::cast<Codes>(arrays[0]);
  const auto ends = nb::cast<CMatrix>(arrays[1]);
  require(ends.shape(0) == column.shape(0) && ends.shape(1) == 4, "Every word needs a column and a trapezoid.");
  check_trapezoids(ends);
  std::vector<Condition> words;
  for (std::size_t t = 0; t < column.shape(0); ++t) {
    const double* word_ends = ends.data() + 4 * t;
    words.push_back({column.data()[t], {word_ends[0], word_ends[1], word_ends[2], word_ends[3]}, 1.0, {}});
  }
  return words;
}

void check_words(const std::optional<std::vector<Condition>>& words, const Sample& sample) {
  for (const Condition& word : words ? *words : std::vector<Condition>{})
    require(word.column >= 0 && static_cast<std::size_t>(word.column) < sample.n_columns,
            "A word's column must be one of X.");
}

nb::dict chains(const std::vector<Rule>& rules) {
  std::vector<NodeId> parent{-1}, rule_node;
  std::vector<Column> feature{-1};
  std::vector<double> trapezoid(kEverything.begin(), kEverything.end()), share{1.0}, category;
  std::vector<std::int32_t> category_start{0, 0};
  for (const Rule& rule : rules) {
    NodeId above = 0;
    for (const Condition& condition : rule) {
      parent.push_back(above);
      above = static_cast<NodeId>(parent.size() - 1);
      feature.push_back(condition.column);
      trapezoid.insert(trapezoid.end(), condition.ends.begin(), condition.ends.end());
      share.push_back(condition.share);
      category.insert(category.end(), condition.category.begin(), condition.category.end());
      category_start.push_back(static_cast<std::int32_t>(category.size()));
    }
    rule_node.push_back(above);
  }
  const std::size_t n = parent.size();
  nb::dict out;
  out["parent"] = vector_of(parent);
  out["feature"] = vector_of(feature);
  out["trapezoid"] = to_numpy(std::move(trapezoid), {n, 4});
  out["share"] = vector_of(share);
  out["category_start"] = vector_of(category_start);
  out["category"] = vector_of(category);
  out["rule_node"] = vector_of(rule_node);
  return out;
}

nb::dict weights_by_class(const rules::Weights& weights, std::size_t n_rules, int n_classes) {
  nb::dict out;
  out["weight"] = to_numpy(rules::per_class(weights.v, n_classes), {n_rules, static_cast<std::size_t>(n_classes)});
  out["prior"] = vector_of(rules::per_class(weights.b, n_classes));
  return out;
}

FitArrays::FitArrays(const CMatrix& firing, const CMatrix& target, const Vector& weight, const Codes& sign)
    : n_classes_(static_cast<int>(target.shape(1))), n_(rules::padded(firing.shape(0))) {
  const std::size_t n = firing.shape(0), n_rules = firing.shape(1), e = rules::n_channels(n_classes_);
  require(target.shape(0) == n && weight.shape(0) == n && sign.shape(0) == n_rules && n > 0,
          "firing, target and weight need as many rows, and sign one number per rule.");
  require(n_classes_ >= 1 && all_of(sign, is_sign) && (n_classes_ == 2 || all_of(sign, [](int s) { return s == 0; })),
          "target needs a column per class, and sign must be -1, 0 or 1, and 0 unless there are two classes.");
  weight_.assign(weight.data(), weight.data() + n);
  weight_.resize(n_, 0.0f);
  target_.assign(e * n_, 0.0f);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < e; ++c)
      target_[c * n_ + i] = static_cast<float>(target.data()[i * target.shape(1) + (n_classes_ == 2 ? 1 : c)]);
  for (std::size_t k = 0; k < n_rules; ++k) {
    firing_.emplace_back(n_, 0.0f);
    for (std::size_t i = 0; i < n; ++i) firing_[k][i] = static_cast<float>(firing.data()[i * n_rules + k]);
  }
  for (std::size_t k = 0; k < n_rules; ++k)
    columns.push_back(
        {firing_[k].data(), rules::firing_moments(firing_[k].data(), weight_.data(), n_), sign.data()[k]});
}

void FitArrays::set_offset(const CMatrix& offset) {
  const std::size_t n_given = static_cast<std::size_t>(n_classes_), e = rules::n_channels(n_classes_);
  require(offset.shape(0) <= n_ && rules::padded(offset.shape(0)) == n_ && offset.shape(1) == n_given,
          "offset needs one row per row of firing and one column per class.");
  offset_.assign(e * n_, 0.0f);
  for (std::size_t i = 0; i < offset.shape(0); ++i) {
    const double* given = offset.data() + i * n_given;
    for (std::size_t c = 0; c < e; ++c)
      offset_[c * n_ + i] = static_cast<float>(n_classes_ == 2 ? given[1] - given[0] : given[c]);
  }
}

void FitArrays::pack() {
  packed_.reserve(firing_.size());
  for (std::size_t k = 0; k < firing_.size(); ++k) {
    packed_.emplace_back(firing_[k].data(), n_);
    columns[k].packed = &packed_[k];
    columns[k].n_plain = 0;
  }
}

}  // namespace ferl::python
