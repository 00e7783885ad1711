// What a JSON text would take in memory, counted before anything is parsed.
#pragma once

#include <cstddef>
#include <string_view>

namespace ferl {

struct JsonSize {
  std::size_t depth = 0;         // how deep the brackets outside of text are nested
  std::size_t n_lists = 0;       // opening brackets
  std::size_t n_objects = 0;     // opening braces
  std::size_t n_pairs = 0;       // colons outside of text
  std::size_t n_separators = 0;  // commas outside of text: there is at most one value more, in each list and object
  std::size_t n_texts = 0;
  unsigned char highest_byte = 0;  // says how wide the letters of the decoded text are
};

JsonSize json_size(std::string_view text);

}  // namespace ferl
