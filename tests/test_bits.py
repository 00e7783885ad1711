"""No bit of a fitted tree or of its answers changes unless the method does; tests/golden/write_bits.py writes them."""

import json
from pathlib import Path

import pytest

from bits import EMBEDDED, FOLDER, VARIANTS, digest_of

DIGESTS = json.loads((Path(__file__).parent / "golden" / "bits.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", sorted(DIGESTS))
def test_the_bits_of_a_tree_and_its_answers_stay(name, variant):
    if name not in EMBEDDED and not (FOLDER / f"{name}.csv").exists():
        pytest.skip(f"the data set {name} is not beside the project")
    assert digest_of(name, variant) == DIGESTS[name][variant]
