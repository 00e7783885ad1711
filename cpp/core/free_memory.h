// Gives the memory of vectors back. To assign {} does not: it empties a vector, which keeps its memory.
#pragma once

namespace ferl {

template <class... Vector>
void free_memory(Vector&... vectors) {
  (Vector().swap(vectors), ...);
}

}  // namespace ferl
