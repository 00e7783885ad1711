"""Names that users type."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence


def near_name(wanted: str, names: Sequence[str]) -> str | None:
    """The name most like one that was typed: in other case, with other spaces, or spelled much alike."""
    for fold in (str.casefold, lambda text: re.sub(r"[\W_]+", "", text.casefold())):
        for name in names:
            if fold(name) == fold(wanted):
                return name
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(wanted.casefold(), list(folded), n=1)
    return folded[near[0]] if near else None
