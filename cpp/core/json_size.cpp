#include "core/json_size.h"

#include <algorithm>

namespace ferl {

JsonSize json_size(std::string_view text) {
  JsonSize size;
  std::size_t depth = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    size.highest_byte = std::max(size.highest_byte, static_cast<unsigned char>(letter));
    if (is_text) {
      if (letter == '\\') ++i;  // whatever follows is part of the text, a quote among others
      if (letter == '"') is_text = false;
      continue;
    }
    switch (letter) {
      case '"':
        is_text = true;
        ++size.n_texts;
        break;
      case '[':
      case '{':
        ++(letter == '[' ? size.n_lists : size.n_objects);
        size.depth = std::max(size.depth, ++depth);
        break;
      case ']':
      case '}':
        if (depth > 0) --depth;  // one too many is the parser's to refuse
        break;
      case ':': ++size.n_pairs; break;
      case ',': ++size.n_separators; break;
      default: break;
    }
  }
  return size;
}

}  // namespace ferl
