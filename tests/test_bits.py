"""No bit of a fitted model or of its answers changes unless the method does; tests/golden/write_bits.py writes them."""

import json
from pathlib import Path

import numpy as np
import pytest

from bits import KINDS, cases, digest_of, matrix_kernels, update_digest

DIGESTS = json.loads((Path(__file__).parent / "golden" / "bits.json").read_text(encoding="utf-8"))


def skip_other_rounding(kind):
    """Pignistic probabilities, attributions and updates of rules use NumPy's logarithms and products of matrices."""
    if ("rules" in kind or "words" in kind) and np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip(f"NumPy {np.__version__} rounds logarithms in another way than the versions since 2.0")


@pytest.mark.parametrize(("name", "kind"), cases())
def test_the_bits_of_a_model_and_its_answers_stay(name, kind):
    skip_other_rounding(kind)
    assert digest_of(name, kind) == DIGESTS[name][kind]


@pytest.mark.parametrize("kind", KINDS)
def test_the_bits_of_an_updated_model_stay(kind):
    skip_other_rounding(kind)
    if ("rules" in kind or "words" in kind) and np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        pytest.skip(f"NumPy {np.__version__} rounds products of matrices in another way than 2.0 to 2.4")
    known, kernels = DIGESTS["partial_fit"], matrix_kernels()
    if kernels not in known:
        pytest.skip(f"NumPy's products of matrices take the kernels {kernels!r} here; digests: {', '.join(known)}")
    assert update_digest(kind) == known[kernels][kind]
