"""No bit of a fitted model or of its answers changes unless the method does; tests/golden/write_bits.py writes them."""

import json
from pathlib import Path

import pytest

from bits import KINDS, cases, digest_of, update_digest

DIGESTS = json.loads((Path(__file__).parent / "golden" / "bits.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "kind"), cases())
def test_the_bits_of_a_model_and_its_answers_stay(name, kind):
    assert digest_of(name, kind) == DIGESTS[name][kind]


@pytest.mark.parametrize("kind", KINDS)
def test_the_bits_of_an_updated_model_stay(kind):
    assert update_digest(kind) == DIGESTS["partial_fit"][kind]
