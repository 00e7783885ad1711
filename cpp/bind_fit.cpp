// The door to learning: a sample of the rows, the tree grown on it, and what the tree learns from all rows.
//
// Each of the three takes its rows block by block, and tells others what it has seen as a dict of arrays.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "bind.h"
#include "grow.h"
#include "linguistic.h"
#include "moments.h"
#include "resample.h"
#include "sampler.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

using Words = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// `n_categories`: for each column, 0 where it holds numbers.
TableView table_view(const Matrix& x, const Codes& n_categories, const Codes& y, const Vector& weight, int n_classes,
                     int n_threads) {
  require(n_categories.shape(0) == x.shape(1), "n_categories must have one number per column of X.");
  require(x.shape(0) == y.shape(0) && x.shape(0) == weight.shape(0), "X, y and weight must have the same length.");
  require(x.shape(0) < std::numeric_limits<Row>::max(), "At most 4,294,967,294 rows can be fitted at once.");
  const TableView table{view(x), n_categories.data(), y.data(), weight.data(), n_classes};
  const std::size_t n = x.shape(0);
  constexpr std::size_t kPieceRows = 1 << 16;
  const auto check = [&](std::size_t piece) {
    const std::size_t first = piece * kPieceRows, end = std::min(first + kPieceRows, n);
    for (std::size_t j = 0; j < x.shape(1); ++j) {
      const int n_levels = table.n_categories[j];
      for (std::size_t i = first; n_levels > 0 && i < end; ++i)
        require(is_missing(table.x(i, j)) || (table.x(i, j) >= 0 && table.x(i, j) < n_levels),
                "Every category code must be at least 0 and below n_categories.");
    }
    require(std::all_of(table.y + first, table.y + end, [=](Label c) { return c >= 0 && c < n_classes; }),
            "Every class code must be at least 0 and below n_classes.");
  };
  parallel_for((n + kPieceRows - 1) / kPieceRows, n_threads, check, [] {});
  return table;
}

template <class T>
T entry(const nb::dict& from, const char* key) {
  return nb::cast<T>(from[key]);
}

template <class T>
nb::object vector_of(const std::vector<T>& values) {
  return to_numpy(values, {values.size()});
}

// A copy, column-major as the sample itself.
nb::object columns_to_numpy(const Sample& sample) {
  auto* owned = new std::vector<double>(sample.x);
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double>(owned->data(), {sample.n_rows, sample.n_columns}, owner,
                                                 {1, static_cast<std::int64_t>(sample.n_rows)}));
}

class BoundSampler {
 public:
  BoundSampler(const Codes& n_categories, int n_classes, std::uint64_t seed, std::size_t n_rows, std::size_t n_class_rows,
               const Codes& columns)
      : n_columns_(n_categories.shape(0)), n_classes_(n_classes), n_categories_(n_categories),
        sampler_({n_columns_, n_classes, seed, n_rows, n_class_rows, copy(n_categories), copy(columns)}) {
    require(n_classes > 0 && n_rows > 0, "A sampler needs classes, and rows to keep.");
    for (std::size_t j = 0; j < columns.shape(0); ++j)
      require(columns.data()[j] >= 0 && static_cast<std::size_t>(columns.data()[j]) < n_columns_,
              "Keys are made of columns of the table.");
  }

  void add(const Matrix& x, const Codes& y, const Vector& weight, std::uint64_t first_place, int n_threads) {
    require(x.shape(1) == n_columns_, "X must have one column per entry of n_categories.");
    const auto table = table_view(x, n_categories_, y, weight, n_classes_, n_threads);
    auto monitor = python_monitor(nb::none());
    nb::gil_scoped_release no_gil;
    sampler_.add(table, first_place, n_threads, monitor);
  }

  nb::dict state() {
    const Candidates& found = sampler_.candidates();
    nb::dict out;
    out["key"] = vector_of(found.key);
    out["place"] = vector_of(found.place);
    out["count"] = vector_of(found.count);
    out["y"] = vector_of(found.y);
    out["weight"] = vector_of(found.weight);
    out["x"] = to_numpy(found.x, {found.size(), n_columns_});
    out["low"] = vector_of(sampler_.low);
    out["high"] = vector_of(sampler_.high);
    out["most_weight"] = sampler_.most_weight;
    return out;
  }

  void merge(const nb::dict& state) {
    const auto key = entry<Words>(state, "key"), place = entry<Words>(state, "place"), count = entry<Words>(state, "count");
    const auto y = entry<Codes>(state, "y");
    const auto weight = entry<Vector>(state, "weight"), low = entry<Vector>(state, "low"), high = entry<Vector>(state, "high");
    const auto x = entry<CMatrix>(state, "x");
    const std::size_t n = key.shape(0);
    require(place.shape(0) == n && count.shape(0) == n && y.shape(0) == n && weight.shape(0) == n && x.shape(0) == n &&
                x.shape(1) == n_columns_ && low.shape(0) == n_columns_ && high.shape(0) == n_columns_,
            "The arrays of a sampler's state must fit together, and this sampler.");
    require(std::all_of(y.data(), y.data() + n, [&](Label c) { return c >= 0 && c < n_classes_; }),
            "Every class code must be at least 0 and below n_classes.");
    for (std::size_t j = 0; j < n_columns_; ++j) {
      sampler_.low[j] = std::min(sampler_.low[j], low.data()[j]);
      sampler_.high[j] = std::max(sampler_.high[j], high.data()[j]);
    }
    sampler_.most_weight = std::max(sampler_.most_weight, entry<double>(state, "most_weight"));
    sampler_.add({copy(key), copy(place), copy(count), copy(y), copy(weight), copy(x)});
  }

  Sample finish(int n_threads) {
    nb::gil_scoped_release no_gil;
    return sampler_.finish(n_threads);
  }

  nb::object low() const { return vector_of(sampler_.low); }
  nb::object high() const { return vector_of(sampler_.high); }
  double most_weight() const { return sampler_.most_weight; }

 private:
  std::size_t n_columns_;
  int n_classes_;
  Codes n_categories_;
  Sampler sampler_;
};

GrowOptions grow_options(const nb::dict& given) {
  GrowOptions o;
  const auto band = nb::cast<std::string>(given["band"]), criterion = nb::cast<std::string>(given["criterion"]);
  require(band == "mean_std" || band == "median_mad", "The band must be mean_std or median_mad.");
  require(criterion == "gini" || criterion == "entropy" || criterion == "cci",
          "The criterion must be gini, entropy or cci.");
  o.band.form = band == "mean_std" ? BandForm::mean_std : BandForm::median_mad;
  o.band.criterion = criterion == "gini"      ? Criterion::gini
                     : criterion == "entropy" ? Criterion::entropy
                                              : Criterion::cci;
  o.band.scale = nb::cast<double>(given["band_scale"]);
  o.band.two_mode = nb::cast<bool>(given["two_mode"]);
  // A hair less, so that rounding does not refuse two rows a leaf weight of two.
  o.band.min_leaf_weight = nb::cast<double>(given["min_leaf_weight"]) * (1 - 1e-10);
  o.max_rules = nb::cast<std::size_t>(given["max_rules"]);
  o.max_depth = nb::cast<std::size_t>(given["max_depth"]);
  o.min_gain = nb::cast<double>(given["min_gain"]);
  o.patience = nb::cast<int>(given["patience"]);
  o.min_coverage = nb::cast<double>(given["min_coverage"]);
  o.n_resamples = nb::cast<int>(given["n_resamples"]);
  o.n_banded = nb::cast<std::size_t>(given["n_banded_features"]);
  for (const auto unit : given["class_unit"]) o.class_unit.push_back(nb::cast<double>(unit));
  for (const auto sign : given["monotone"]) o.monotone.push_back(nb::cast<int>(sign));
  o.n_exemplars = nb::cast<std::size_t>(given["n_exemplars"]);
  o.n_threads = nb::cast<int>(given["n_threads"]);
  return o;
}

LinguisticOptions linguistic_options(const nb::dict& given) {
  LinguisticOptions o;
  o.max_rules = nb::cast<std::size_t>(given["max_rules"]);
  o.max_depth = nb::cast<std::size_t>(given["max_depth"]);
  o.min_leaf_weight = nb::cast<double>(given["min_leaf_weight"]) * (1 - 1e-10);
  o.min_gain = nb::cast<double>(given["min_gain"]);
  o.patience = nb::cast<int>(given["patience"]);
  o.min_coverage = nb::cast<double>(given["min_coverage"]) * (1 - 1e-10);
  o.min_rule_worth = nb::cast<double>(given["min_rule_worth"]);
  o.soft_share = nb::cast<double>(given["soft_share"]);
  o.n_threads = nb::cast<int>(given["n_threads"]);
  return o;
}

nb::dict grown_arrays(GrownTree grown) {
  const std::size_t n = grown.parent.size();
  nb::dict out;
  out["parent"] = to_numpy(std::move(grown.parent), {n});
  out["feature"] = to_numpy(std::move(grown.column), {n});
  out["trapezoid"] = to_numpy(std::move(grown.trapezoid), {n, 4});
  out["gain"] = to_numpy(std::move(grown.gain), {n});
  out["share"] = to_numpy(std::move(grown.share), {n});
  std::vector<double> category;
  std::vector<std::int32_t> category_start{0};
  for (const auto& own : grown.category) {
    category.insert(category.end(), own.begin(), own.end());
    category_start.push_back(static_cast<std::int32_t>(category.size()));
  }
  const std::size_t n_memberships = category.size();
  out["category"] = to_numpy(std::move(category), {n_memberships});
  out["category_start"] = to_numpy(std::move(category_start), {n + 1});
  out["cuts"] = to_numpy(std::move(grown.cuts), {n, 3});
  out["key_bound"] = to_numpy(std::move(grown.key_bound), {n});
  return out;
}

nb::dict grow_tree(const Sample& sample, const nb::dict& given, const nb::object& report) {
  const auto options = grow_options(given);
  require(options.class_unit.size() == static_cast<std::size_t>(sample.n_classes), "class_unit needs one number per class.");
  require(options.monotone.empty() || (options.monotone.size() == sample.n_columns && sample.n_classes == 2),
          "monotone needs one number per column of X, and two classes.");
  auto monitor = python_monitor(report);
  GrownTree grown;
  {
    nb::gil_scoped_release no_gil;
    grown = grow(sample, options, monitor);
  }
  return grown_arrays(std::move(grown));
}

nb::dict grow_words(const Sample& sample, const Codes& term_feature, const CMatrix& term_trapezoid,
                    const Codes& term_is_complement, const nb::dict& given, const nb::object& report) {
  const std::size_t n_terms = term_feature.shape(0);
  require(term_trapezoid.shape(0) == n_terms && term_trapezoid.shape(1) == 4 && term_is_complement.shape(0) == n_terms,
          "Every term needs a feature, a trapezoid, and whether it is a complement.");
  std::vector<Term> terms;
  for (std::size_t t = 0; t < n_terms; ++t) {
    const Column column = term_feature.data()[t];
    require(column >= 0 && static_cast<std::size_t>(column) < sample.n_columns, "A term's feature must be a column of X.");
    const double* ends = term_trapezoid.data() + 4 * t;
    terms.push_back({column, {ends[0], ends[1], ends[2], ends[3]}, term_is_complement.data()[t] != 0});
  }
  const auto options = linguistic_options(given);
  auto monitor = python_monitor(report);
  GrownTree grown;
  {
    nb::gil_scoped_release no_gil;
    grown = grow_linguistic(sample, terms, options, monitor);
  }
  return grown_arrays(std::move(grown));
}

// For the oracle, which grows its own tree on the same rows and resamples.
nb::object resample(const Sample& sample, int n_resamples) {
  auto monitor = python_monitor(nb::none());
  Crew crew(1, [&] { monitor.tick(0); });
  const Resamples resamples(sample, n_resamples, crew);
  std::vector<double> counts;
  for (Row i = 0; i < sample.n_rows; ++i)
    for (int b = 0; b < n_resamples; ++b)
      counts.push_back(resamples.counts(b / kLanes, i)[b % kLanes] * resamples.occurrence(i));
  return to_numpy(std::move(counts), {sample.n_rows, static_cast<std::size_t>(n_resamples)});
}

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
        n_classes_(n_classes), n_categories_(n_categories),
        moments_(tree_, {n_classes, copy(low), copy(high), most_weight, n_exemplars, copy(key_bound), seed,
                         copy(columns)}) {
    require(key_bound.shape(0) == tree_.size(), "Every node needs a bound of keys.");
    require(high.shape(0) == n_columns_ && n_categories.shape(0) == n_columns_, "Every column needs a range.");
    require(most_weight > 0, "most_weight must be above 0.");
    for (const Node& node : tree_.nodes)
      require(node.column < static_cast<Column>(n_columns_), "The tree asks for a column that is not there.");
    for (std::size_t j = 0; j < columns.shape(0); ++j)
      require(columns.data()[j] >= 0 && static_cast<std::size_t>(columns.data()[j]) < n_columns_,
              "Keys are made of columns of the table.");
  }

  void add(const Matrix& x, const Codes& y, const Vector& weight, int n_threads, const nb::object& report) {
    require(x.shape(1) == n_columns_, "X must have the columns of the tree.");
    const auto table = table_view(x, n_categories_, y, weight, n_classes_, n_threads);
    auto monitor = python_monitor(report);
    nb::gil_scoped_release no_gil;
    moments_.add(table, n_threads, monitor);
  }

  nb::dict state() {
    const MomentSums& sums = moments_.sums();
    const ExemplarTable kept = moments_.exemplars();
    nb::dict out;
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
    const std::size_t n = tree_.size();
    const auto low = entry<Vector>(state, "low"), high = entry<Vector>(state, "high");
    const auto key = entry<Words>(state, "key");
    const auto x = entry<CMatrix>(state, "x");
    const auto exemplar = entry<Places>(state, "exemplar");
    require(low.shape(0) == n && high.shape(0) == n && exemplar.shape(0) == n && x.shape(0) == key.shape(0) &&
                x.shape(1) == n_columns_, "The arrays of a state must fit together, and this tree.");
    const auto n_rows = static_cast<NodeId>(key.shape(0));
    require(std::all_of(exemplar.data(), exemplar.data() + exemplar.size(),
                        [=](NodeId place) { return place >= -1 && place < n_rows; }),
            "Every exemplar must be a row of the state.");
    moments_.add(MomentSums{sums_from_numpy(state, "of_class", n * n_classes_), sums_from_numpy(state, "first", n * n_columns_),
                            sums_from_numpy(state, "second", n * n_columns_),
                            sums_from_numpy(state, "known", n * n_columns_), copy(low), copy(high)},
                 ExemplarTable{copy(key), copy(x), exemplar.shape(1), copy(exemplar)});
  }

  nb::dict finish() {
    const std::size_t n = tree_.size(), d = n_columns_;
    std::vector<double> support;
    for (std::size_t o = 0; o < n; ++o) support.insert(support.end(), {moments_.sums().low[o], moments_.sums().high[o]});
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
  Tree tree_;
  std::size_t n_columns_;
  int n_classes_;
  Codes n_categories_;
  Moments moments_;
};

}  // namespace

void bind_fit(nb::module_& m) {
  nb::class_<Sample>(m, "Sample")
      .def_ro("n_rows", &Sample::n_rows)
      .def_prop_ro("x", &columns_to_numpy)
      .def_prop_ro("y", [](const Sample& own) { return vector_of(own.y); })
      .def_prop_ro("weight", [](const Sample& own) { return vector_of(own.weight); })
      .def_prop_ro("place", [](const Sample& own) { return vector_of(own.place); });
  nb::class_<BoundSampler>(m, "Sampler")
      .def(nb::init<const Codes&, int, std::uint64_t, std::size_t, std::size_t, const Codes&>(), "n_categories"_a,
           "n_classes"_a, "seed"_a, "n_rows"_a, "n_class_rows"_a, "columns"_a)
      .def("add", &BoundSampler::add, "x"_a, "y"_a, "weight"_a, "first_place"_a, "n_threads"_a)
      .def("state", &BoundSampler::state)
      .def("merge", &BoundSampler::merge, "state"_a)
      .def("finish", &BoundSampler::finish, "n_threads"_a)
      .def_prop_ro("low", &BoundSampler::low)
      .def_prop_ro("high", &BoundSampler::high)
      .def_prop_ro("most_weight", &BoundSampler::most_weight);
  m.def("grow_tree", &grow_tree, "sample"_a, "options"_a, "report"_a.none());
  m.def("grow_words", &grow_words, "sample"_a, "term_feature"_a, "term_trapezoid"_a, "term_is_complement"_a, "options"_a,
        "report"_a.none());
  m.def("resample", &resample, "sample"_a, "n_resamples"_a);
  nb::class_<BoundMoments>(m, "Moments")
      .def(nb::init<const Codes&, const Codes&, const CMatrix&, const Vector&, const Codes&, const Vector&, const Codes&, int,
                    const Vector&, const Vector&, double, std::size_t, const Words&, std::uint64_t,
                    const Codes&>(),
           "parent"_a, "feature"_a, "trapezoid"_a, "share"_a, "category_start"_a, "category"_a, "n_categories"_a,
           "n_classes"_a, "low"_a, "high"_a, "most_weight"_a, "n_exemplars"_a, "key_bound"_a, "seed"_a,
           "columns"_a)
      .def("add", &BoundMoments::add, "x"_a, "y"_a, "weight"_a, "n_threads"_a, "report"_a.none())
      .def("state", &BoundMoments::state)
      .def("merge", &BoundMoments::merge, "state"_a)
      .def("finish", &BoundMoments::finish);
}

}  // namespace ferl::python
