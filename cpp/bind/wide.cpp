// The door to learning wide rules, and to its stages for the tests.
#include <algorithm>

#include "bind/array.h"
#include "learn/wide/grow_wide.h"
#include "learn/wide/prune.h"
#include "learn/wide/scan.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

using wide::Rule;

wide::WideOptions wide_options(const nb::dict& given, const Sample& sample) {
  wide::WideOptions o;
  o.max_rules = nb::cast<std::size_t>(given["max_rules"]);
  o.max_conditions = nb::cast<std::size_t>(given["max_conditions"]);
  o.prune = nb::cast<double>(given["prune"]);
  for (const auto sign : given["monotone"]) o.monotone.push_back(nb::cast<int>(sign));
  o.n_threads = nb::cast<int>(given["n_threads"]);
  o.seed = nb::cast<std::uint64_t>(given["seed"]);
  require(o.max_rules > 0 && o.max_conditions >= 1 && o.max_conditions <= 3,
          "max_rules must be positive, and max_conditions 1, 2 or 3.");
  require(o.monotone.empty() || (o.monotone.size() == sample.n_columns && sample.n_classes == 2),
          "monotone needs one number per column of X, and two classes.");
  return o;
}

// A chain of nodes from the root for each rule.
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

nb::dict grow_wide(const Sample& sample, const nb::dict& given, const nb::object& report) {
  const auto options = wide_options(given, sample);
  auto monitor = python_monitor(report);
  wide::WideRules found;
  {
    nb::gil_scoped_release no_gil;
    found = wide::grow_wide(sample, options, monitor);
  }
  const std::size_t n_rules = found.rules.size();
  nb::dict out = chains(found.rules);
  out["weight"] = to_numpy(std::move(found.weight), {n_rules, static_cast<std::size_t>(sample.n_classes)});
  out["prior"] = vector_of(found.prior);
  out["n_grown"] = found.n_grown;
  out["n_averaged"] = found.n_averaged;
  out["divergence"] = found.divergence;
  nb::list choices;
  for (const wide::Choice& own : found.choices)
    choices.append(nb::make_tuple(own.loss, own.start == 0 ? "linear" : "empty", own.n_rules, own.ridge));
  out["choices"] = choices;
  return out;
}

}  // namespace

void bind_wide(nb::module_& m) {
  m.def("grow_wide", &grow_wide, "sample"_a, "options"_a, "report"_a.none());
}

}  // namespace ferl::python
