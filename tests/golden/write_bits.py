"""Write tests/golden/bits.json anew, after a change of the method that is meant: python tests/golden/write_bits.py.

Run it twice, with OPENBLAS_CORETYPE=Haswell and OPENBLAS_CORETYPE=SkylakeX: updates of rules depend on these kernels.
"""

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bits import KINDS, cases, digest_of, matrix_kernels, update_digest  # noqa: E402

before = json.loads((HERE / "bits.json").read_text(encoding="utf-8"))
digests: dict[str, dict[str, Any]] = {}
for name, kind in cases():
    digests.setdefault(name, {})[kind] = digest_of(name, kind)
digests["partial_fit"] = {**before["partial_fit"], matrix_kernels(): {kind: update_digest(kind) for kind in KINDS}}
(HERE / "bits.json").write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
