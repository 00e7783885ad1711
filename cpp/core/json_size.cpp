#include "core/json_size.h"

#include <algorithm>

namespace ferl {

JsonSize json_size(std::string_view text) {
  JsonSize found;
  std::size_t depth = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    found.highest_byte = std::max(found.highest_byte, static_cast<unsigned char>(letter));
    if (is_text) {
      if (letter == '\\') ++i;  // whatever follows is part of the text, a quote among others
      if (letter == '"') is_text = false;
      continue;
    }
    switch (letter) {
      case '"':
        is_text = true;
        ++found.n_texts;
        break;
      case '[':
      case '{':
        ++(letter == '[' ? found.n_lists : found.n_objects);
        found.depth = std::max(found.depth, ++depth);
        break;
      case ']':
      case '}':
        if (depth > 0) --depth;  // one too many is the parser's to refuse
        break;
      case ':': ++found.n_pairs; break;
      case ',': ++found.n_separators; break;
      default: break;
    }
  }
  return found;
}

}  // namespace ferl
