// The door to the count of what a JSON text would take.
#include <string_view>

#include "bind/array.h"
#include "core/json_size.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

nb::dict size_of(const nb::bytes& content) {
  const JsonSize size = json_size({static_cast<const char*>(content.data()), content.size()});
  nb::dict result;
  result["depth"] = size.depth;
  result["n_lists"] = size.n_lists;
  result["n_objects"] = size.n_objects;
  result["n_pairs"] = size.n_pairs;
  result["n_separators"] = size.n_separators;
  result["n_texts"] = size.n_texts;
  result["highest_byte"] = static_cast<int>(size.highest_byte);
  return result;
}

}  // namespace

void bind_json(nb::module_& m) { m.def("json_size", &size_of, "content"_a); }

}  // namespace ferl::python
