"""Categories as files spell them: 3, 3.0 and "3" are one category, whatever a file makes of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ferl._tables.files import spelled_number
from ferl._util.arrays import Floats


def arrow_text(level: Any) -> str:
    """A category as Arrow writes it."""
    return str(level).lower() if isinstance(level, bool) else str(level)


class Spelling:
    """The categories of one feature as text.

    A text that is exactly that of a category is this category. Where all categories are numbers, or spell numbers,
    another text is the category of the same number, if there is one alone: programs write 3 as 3.0 when a value is
    missing further down, and drop leading zeros. Booleans are known in any case.

    Parameters
    ----------
    levels : ndarray of shape (n_categories,)
        The categories.

    Attributes
    ----------
    texts : list of str
        That of each category, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl._tables.text_categories import Spelling
    >>> spelling = Spelling(np.array([3, 17]))
    >>> [spelling.canonical(text) for text in ("3", "3.0", "17", "x", "4")]
    ['3', '3', '17', 'x', '4']
    """

    def __init__(self, levels: NDArray[Any]) -> None:
        self.texts = [arrow_text(level) for level in levels.tolist()]
        self._place = {text: place for place, text in enumerate(self.texts)}
        self._is_bool = levels.dtype.kind == "b"
        self._by_number: dict[float, str | None] = {}
        numbers = [float(level == "true") if self._is_bool else spelled_number(level) for level in self.texts]
        if all(number is not None and math.isfinite(number) for number in numbers):
            for number, text in zip(numbers, self.texts, strict=True):
                assert number is not None
                self._by_number[number] = None if number in self._by_number else text

    def canonical(self, text: str) -> str:
        """The text of the category that a text stands for; of an unseen one the text itself."""
        if text in self._place:
            return text
        if self._is_bool and text.strip().lower() in self._place:
            return text.strip().lower()
        number = spelled_number(text) if self._by_number else None
        return text if number is None else self._by_number.get(number) or text

    def encode(self, column: pa.ChunkedArray) -> tuple[Floats, dict[str, int]]:
        """A text column as places of categories, their number for unseen ones and NaN where missing.

        The second value says how often each unseen category occurs.
        """
        encoded = column.combine_chunks().dictionary_encode()
        texts = [self.canonical(text) for text in encoded.dictionary.to_pylist()]
        n_categories = len(self.texts)
        # The last entry is what a missing value, -1, looks up. A feature without categories knows nothing.
        places = np.array([*(self._place.get(text, n_categories) for text in texts), math.nan])
        indices = encoded.indices.fill_null(-1).to_numpy()
        unseen = [place for place, text in enumerate(texts) if text not in self._place]
        times = np.bincount(indices[indices >= 0], minlength=len(texts)) if unseen else np.zeros(0)
        counts = {texts[place]: int(times[place]) for place in unseen}
        return places[indices] if n_categories else np.full(len(indices), math.nan), counts
