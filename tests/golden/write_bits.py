"""Write tests/golden/bits.json anew, after a change of the method that is meant: python tests/golden/write_bits.py."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bits import EMBEDDED, FOLDER, VARIANTS, digest_of  # noqa: E402

names = [*EMBEDDED, *sorted(path.stem for path in FOLDER.glob("*.csv"))]
digests = {name: {variant: digest_of(name, variant) for variant in VARIANTS} for name in names}
(HERE / "bits.json").write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
