// The door to what a finished tree learns from all rows, taken block by block.
#include <algorithm>
#include <cstring>

#include "bind/table.h"
#include "bind/tree.h"
#include "rows/moments.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

// Sums of 128 bits as pairs of words of 64.
nb::object sums_to_numpy(const std::vector<Sum>& sums) {
  std::vector<std::uint64_t> words(2 * sums.size());
  if (!sums.empty()) std::memcpy(words.data(), sums.data(), sizeof(Sum) * sums.size());
  return vector_of(words);
}

std::vector<Sum> sums_from_numpy(const nb::dict& state, const char* name, std::size_t size) {
  const auto words = entry<Words>(state, name);
  require(words.shape(0) == 2 * size, "The sums of a state must be those of this tree.");
  std::vector<Sum> sums(size);
  if (size > 0) std::memcpy(sums.data(), words.data(), sizeof(Sum) * size);
  return sums;
}

class BoundMoments {
 public:
  BoundMoments(const Codes& parent, const Codes& feature, const CMatrix& trapezoid, const Vector& share,
               const Codes& category_start, const Vector& category, const Codes& n_categories, int n_classes,
               const Vector& low, const Vector& high, double most_weight, std::size_t n_exemplars,
               const Words& key_bound, std::uint64_t seed, const Codes& columns)
      : tree_(tree_of(parent, feature, trapezoid, share, category_start, category)), n_columns_(low.shape(0)),
        n_classes_(n_classes), n_categories_(n_categories), low_(copy(low)), high_(copy(high)),
        most_weight_(most_weight), moments_(tree_, checked(n_exemplars, key_bound, seed, columns)) {}

  void add(const Matrix& x, const Codes& y, const Vector& weight, int n_threads, const nb::object& report) {
    const Turn turn(busy_);
    require(x.shape(1) == n_columns_, "X must have the columns of the tree.");
    const auto table = table_view(x, n_categories_, y, weight, n_classes_, n_threads);
    check_ranges(table, low_, high_, most_weight_, n_threads);
    auto monitor = python_monitor(report);
    nb::gil_scoped_release no_gil;
    moments_.add(table, n_threads, monitor);
  }

  nb::dict state() {
    const Turn turn(busy_);
    const MomentSums& sums = moments_.sums();
    const ExemplarTable kept = moments_.exemplars();
    nb::dict out;
    out["version"] = kStateVersion;
    out["n_rows"] = moments_.n_rows();
    out["of_class"] = sums_to_numpy(sums.of_class);
    out["first"] = sums_to_numpy(sums.first);
    out["second"] = sums_to_numpy(sums.second);
    out["known"] = sums_to_numpy(sums.known);
    out["low"] = vector_of(sums.low);
    out["high"] = vector_of(sums.high);
    out["key"] = vector_of(kept.key);
    out["x"] = to_numpy(kept.x, {kept.key.size(), n_columns_});
    out["exemplar"] = to_numpy(kept.exemplar, {tree_.size(), kept.n_most});
    return out;
  }

  void merge(const nb::dict& state) {
    const Turn turn(busy_);
    check_state_version(state);
    const std::size_t n = tree_.size();
    const auto low = entry<Vector>(state, "low"), high = entry<Vector>(state, "high");
    const auto key = entry<Words>(state, "key");
    const auto x = entry<CMatrix>(state, "x");
    const auto exemplar = entry<Indices>(state, "exemplar");
    require(low.shape(0) == n && high.shape(0) == n && exemplar.shape(0) == n && x.shape(0) == key.shape(0) &&
                x.shape(1) == n_columns_,
            "The arrays of a state must fit together, and this tree.");
    check_rows(x, n_categories_);
    const auto n_rows = static_cast<NodeId>(key.shape(0));
    require(std::all_of(exemplar.data(), exemplar.data() + exemplar.size(),
                        [=](NodeId index) { return index >= -1 && index < n_rows; }),
            "Every exemplar must be a row of the state.");
    moments_.add(
        MomentSums{sums_from_numpy(state, "of_class", n * n_classes_), sums_from_numpy(state, "first", n * n_columns_),
                   sums_from_numpy(state, "second", n * n_columns_), sums_from_numpy(state, "known", n * n_columns_),
                   copy(low), copy(high)},
        ExemplarTable{copy(key), copy(x), exemplar.shape(1), copy(exemplar)}, entry<std::uint64_t>(state, "n_rows"));
  }

  nb::dict finish() {
    const Turn turn(busy_);
    const std::size_t n = tree_.size(), d = n_columns_;
    std::vector<double> support;
    for (std::size_t o = 0; o < n; ++o)
      support.insert(support.end(), {moments_.sums().low[o], moments_.sums().high[o]});
    ExemplarTable kept = moments_.exemplars();
    const std::size_t n_rows = kept.key.size();
    nb::dict out;
    out["class_weight"] = to_numpy(moments_.class_weight(), {n, static_cast<std::size_t>(n_classes_)});
    out["support"] = to_numpy(std::move(support), {n, 2});
    out["mean"] = to_numpy(moments_.mean(), {n, d});
    out["variance"] = to_numpy(moments_.variance(), {n, d});
    out["known_weight"] = to_numpy(moments_.known_weight(), {n, d});
    out["exemplar"] = to_numpy(std::move(kept.exemplar), {n, kept.n_most});
    out["exemplar_row"] = to_numpy(std::move(kept.x), {n_rows, d});
    return out;
  }

 private:
  MomentOptions checked(std::size_t n_exemplars, const Words& key_bound, std::uint64_t seed, const Codes& columns) {
    require(n_classes_ > 0, "There must be a class.");
    require(key_bound.shape(0) == tree_.size(), "Every node needs a bound of keys.");
    require(high_.size() == n_columns_ && n_categories_.shape(0) == n_columns_, "Every column needs a range.");
    check_category_counts(n_categories_);
    for (std::size_t j = 0; j < n_columns_; ++j)
      require(low_[j] > high_[j] || (std::isfinite(low_[j]) && std::isfinite(high_[j])),
              "Every range must be finite, or empty.");
    require(most_weight_ > 0 && std::isfinite(most_weight_), "most_weight must be finite and above 0.");
    require(n_exemplars <= std::size_t{1} << 31, "n_exemplars must be below 2,147,483,648.");
    for (const Node& node : tree_.nodes)
      require(node.column < static_cast<Column>(n_columns_), "The tree asks for a column that is not there.");
    check_key_columns(columns, n_columns_);
    return {n_classes_, low_, high_, most_weight_, n_exemplars, copy(key_bound), seed, copy(columns)};
  }

  Tree tree_;
  std::size_t n_columns_;
  int n_classes_;
  Codes n_categories_;
  std::vector<double> low_, high_;
  double most_weight_;
  Moments moments_;
  std::atomic_flag busy_;
};

}  // namespace

void bind_moments(nb::module_& m) {
  nb::class_<BoundMoments>(m, "Moments")
      .def(
          nb::init<const Codes&, const Codes&, const CMatrix&, const Vector&, const Codes&, const Vector&, const Codes&,
                   int, const Vector&, const Vector&, double, std::size_t, const Words&, std::uint64_t, const Codes&>(),
          "parent"_a, "feature"_a, "trapezoid"_a, "share"_a, "category_start"_a, "category"_a, "n_categories"_a,
          "n_classes"_a, "low"_a, "high"_a, "most_weight"_a, "n_exemplars"_a, "key_bound"_a, "seed"_a, "columns"_a)
      .def("add", &BoundMoments::add, "x"_a, "y"_a, "weight"_a, "n_threads"_a, "report"_a.none())
      .def("state", &BoundMoments::state)
      .def("merge", &BoundMoments::merge, "state"_a)
      .def("finish", &BoundMoments::finish);
}

}  // namespace ferl::python
