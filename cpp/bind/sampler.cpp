// The door to the sample of the rows that a tree is grown on, taken block by block.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "bind/table.h"
#include "rows/sampler.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

// A copy, column-major as the sample itself.
nb::object columns_to_numpy(const Sample& sample) {
  auto* owned = new std::vector<double>(sample.x);
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double>(owned->data(), {sample.n_rows, sample.n_columns}, owner,
                                                 {1, static_cast<std::int64_t>(sample.n_rows)}));
}

// The same rows with other columns, which were computed from theirs.
Sample with_columns(const Sample& sample, const Matrix& x, const Codes& n_categories) {
  require(x.shape(0) == sample.n_rows && x.shape(1) == n_categories.shape(0),
          "x needs a row for each row of the sample, and n_categories a number for each column of x.");
  check_category_counts(n_categories);
  const MatrixView from = view(x);
  Sample out = sample;
  out.n_columns = x.shape(1);
  out.n_categories = copy(n_categories);
  out.x.resize(out.n_rows * out.n_columns);
  for (std::size_t j = 0; j < out.n_columns; ++j)
    for (std::size_t i = 0; i < out.n_rows; ++i) {
      const double value = from(i, j);
      const int n_levels = out.n_categories[j];
      require(is_missing(value) || (n_levels == 0 ? std::isfinite(value) : value >= 0 && value < n_levels),
              "The rows of a sample must hold finite numbers and known categories.");
      out.x[j * out.n_rows + i] = value;
    }
  return out;
}

// Some of the rows, in their order, with other weights.
Sample part_of(const Sample& sample, const Codes& rows, const Vector& weight) {
  const std::size_t n = rows.shape(0);
  require(weight.shape(0) == n && n > 0, "A part of a sample needs rows, and a weight for each of them.");
  for (std::size_t k = 0; k < n; ++k)
    require(rows.data()[k] >= 0 && static_cast<std::size_t>(rows.data()[k]) < sample.n_rows &&
                (k == 0 || rows.data()[k - 1] < rows.data()[k]) && weight.data()[k] > 0 &&
                std::isfinite(weight.data()[k]),
            "The rows of a part must ascend within the sample, and their weights must be above 0.");
  Sample out;
  out.n_rows = n, out.n_columns = sample.n_columns, out.n_classes = sample.n_classes;
  out.n_categories = sample.n_categories, out.weight = copy(weight);
  out.x.reserve(n * sample.n_columns);
  for (std::size_t j = 0; j < sample.n_columns; ++j)
    for (std::size_t k = 0; k < n; ++k) out.x.push_back(sample.column(j)[rows.data()[k]]);
  for (std::size_t k = 0; k < n; ++k) {
    const auto i = static_cast<std::size_t>(rows.data()[k]);
    out.y.push_back(sample.y[i]), out.key.push_back(sample.key[i]), out.place.push_back(sample.place[i]);
  }
  for (std::size_t k = 0; k < n && !sample.group.empty(); ++k) out.group.push_back(sample.group[rows.data()[k]]);
  return out;
}

// The same rows in groups, which inner validation does not divide.
Sample with_groups(const Sample& sample, const Vector& group) {
  require(group.shape(0) == sample.n_rows, "group needs one number per row of the sample.");
  require(all_of(group, [](double number) { return std::isfinite(number); }), "The numbers of groups must be finite.");
  Sample out = sample;
  out.group = copy(group);
  return out;
}

class BoundSampler {
 public:
  BoundSampler(const Codes& n_categories, int n_classes, std::uint64_t seed, std::size_t n_rows,
               std::size_t n_class_rows, const Codes& columns)
      : n_columns_(n_categories.shape(0)), n_classes_(n_classes), n_categories_(n_categories),
        sampler_(checked(n_categories, n_classes, seed, n_rows, n_class_rows, columns)) {}

  void add(const Matrix& x, const Codes& y, const Vector& weight, std::uint64_t first_place, int n_threads) {
    const Turn turn(busy_);
    require(x.shape(1) == n_columns_, "X must have one column per entry of n_categories.");
    const auto table = table_view(x, n_categories_, y, weight, n_classes_, n_threads);
    auto monitor = python_monitor(nb::none());
    nb::gil_scoped_release no_gil;
    sampler_.add(table, first_place, n_threads, monitor);
  }

  void limit(std::uint64_t of_all, const Words& of_class) {
    const Turn turn(busy_);
    require(of_class.shape(0) == static_cast<std::size_t>(n_classes_), "of_class needs one key per class.");
    sampler_.limit(of_all, copy(of_class));
  }

  nb::dict state() {
    const Turn turn(busy_);
    const Candidates& candidates = sampler_.candidates();
    nb::dict out;
    out["version"] = kStateVersion;
    out["key"] = vector_of(candidates.key);
    out["place"] = vector_of(candidates.place);
    out["count"] = vector_of(candidates.count);
    out["y"] = vector_of(candidates.y);
    out["weight"] = vector_of(candidates.weight);
    out["x"] = to_numpy(candidates.x, {candidates.size(), n_columns_});
    out["low"] = vector_of(sampler_.low);
    out["high"] = vector_of(sampler_.high);
    out["most_weight"] = sampler_.most_weight;
    return out;
  }

  void merge(const nb::dict& state) {
    const Turn turn(busy_);
    check_state_version(state);
    const auto key = entry<Words>(state, "key"), place = entry<Words>(state, "place");
    const auto count = entry<Words>(state, "count");
    const auto y = entry<Codes>(state, "y");
    const auto weight = entry<Vector>(state, "weight");
    const auto low = entry<Vector>(state, "low"), high = entry<Vector>(state, "high");
    const auto x = entry<CMatrix>(state, "x");
    const std::size_t n = key.shape(0);
    require(place.shape(0) == n && count.shape(0) == n && y.shape(0) == n && weight.shape(0) == n && x.shape(0) == n &&
                x.shape(1) == n_columns_ && low.shape(0) == n_columns_ && high.shape(0) == n_columns_,
            "The arrays of a sampler's state must fit together, and this sampler.");
    require(std::all_of(y.data(), y.data() + n, [&](Label c) { return c >= 0 && c < n_classes_; }),
            "Every class code must be at least 0 and below n_classes.");
    check_rows(x, n_categories_);
    const double most_weight = entry<double>(state, "most_weight");
    require(all_of(weight, [=](double w) { return w > 0 && w <= most_weight; }) && std::isfinite(most_weight),
            "Every weight of a state must be above 0 and at most its largest.");
    require(all_of(count, [](std::uint64_t rows) { return rows > 0 && rows <= kMostRows; }),
            "Every count of a state must be that of some rows.");
    for (std::size_t j = 0; j < n_columns_; ++j) {
      sampler_.low[j] = std::min(sampler_.low[j], low.data()[j]);
      sampler_.high[j] = std::max(sampler_.high[j], high.data()[j]);
    }
    sampler_.most_weight = std::max(sampler_.most_weight, most_weight);
    sampler_.add({copy(key), copy(place), copy(count), copy(y), copy(weight), copy(x)});
  }

  Sample finish(int n_threads) {
    const Turn turn(busy_);
    nb::gil_scoped_release no_gil;
    return sampler_.finish(n_threads);
  }

  nb::object low() {
    const Turn turn(busy_);
    return vector_of(sampler_.low);
  }
  nb::object high() {
    const Turn turn(busy_);
    return vector_of(sampler_.high);
  }
  double most_weight() {
    const Turn turn(busy_);
    return sampler_.most_weight;
  }

 private:
  static constexpr std::uint64_t kMostRows = std::uint64_t{1} << 48;  // so that sums of counts do not overflow

  static SamplerOptions checked(const Codes& n_categories, int n_classes, std::uint64_t seed, std::size_t n_rows,
                                std::size_t n_class_rows, const Codes& columns) {
    require(n_classes > 0 && n_rows > 0, "A sampler needs classes, and rows to keep.");
    check_category_counts(n_categories);
    check_key_columns(columns, n_categories.shape(0));
    return {n_categories.shape(0), n_classes, seed, n_rows, n_class_rows, copy(n_categories), copy(columns)};
  }

  std::size_t n_columns_;
  int n_classes_;
  Codes n_categories_;
  Sampler sampler_;
  std::atomic_flag busy_;
};

// A number that rows, their classes and their weights have in any order and in any pieces: the sum of their hashes.
std::uint64_t rows_digest(const Matrix& x, const Codes& y, const Vector& weight) {
  require(x.shape(0) == y.shape(0) && x.shape(0) == weight.shape(0), "X, y and weight must have the same length.");
  std::vector<Column> columns(x.shape(1));
  std::iota(columns.begin(), columns.end(), 0);
  std::vector<std::uint64_t> keys(x.shape(0));
  const TableView table{view(x), nullptr, y.data(), weight.data(), 0};
  nb::gil_scoped_release no_gil;
  RowHash(0, columns)(table, 0, keys.size(), keys.data());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) sum += mix(keys[i] ^ value_bits(weight.data()[i]));
  return sum;
}

}  // namespace

void bind_sampler(nb::module_& m) {
  nb::class_<Sample>(m, "Sample")
      .def_ro("n_rows", &Sample::n_rows)
      .def_prop_ro("x", &columns_to_numpy)
      .def_prop_ro("y", [](const Sample& sample) { return vector_of(sample.y); })
      .def_prop_ro("weight", [](const Sample& sample) { return vector_of(sample.weight); })
      .def_prop_ro("place", [](const Sample& sample) { return vector_of(sample.place); })
      .def("with_columns", &with_columns, "x"_a, "n_categories"_a)
      .def("part", &part_of, "rows"_a, "weight"_a)
      .def("with_groups", &with_groups, "group"_a);
  nb::class_<BoundSampler>(m, "Sampler")
      .def(nb::init<const Codes&, int, std::uint64_t, std::size_t, std::size_t, const Codes&>(), "n_categories"_a,
           "n_classes"_a, "seed"_a, "n_rows"_a, "n_class_rows"_a, "columns"_a)
      .def("add", &BoundSampler::add, "x"_a, "y"_a, "weight"_a, "first_place"_a, "n_threads"_a)
      .def("limit", &BoundSampler::limit, "of_all"_a, "of_class"_a)
      .def("state", &BoundSampler::state)
      .def("merge", &BoundSampler::merge, "state"_a)
      .def("finish", &BoundSampler::finish, "n_threads"_a)
      .def_prop_ro("low", &BoundSampler::low)
      .def_prop_ro("high", &BoundSampler::high)
      .def_prop_ro("most_weight", &BoundSampler::most_weight);
  m.def("rows_digest", &rows_digest, "x"_a, "y"_a, "weight"_a);
}

}  // namespace ferl::python
