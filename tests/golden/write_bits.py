"""Write tests/golden/bits.json anew, after a change of the method that is meant: python tests/golden/write_bits.py."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bits import KINDS, cases, digest_of, update_digest  # noqa: E402

digests: dict[str, dict[str, str]] = {}
for name, kind in cases():
    digests.setdefault(name, {})[kind] = digest_of(name, kind)
digests["partial_fit"] = {kind: update_digest(kind) for kind in KINDS}
(HERE / "bits.json").write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
