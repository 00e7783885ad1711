"""From the dict of :func:`ferl.report.summarise.summarise` to one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_HERE = Path(__file__).parent
# What would end a script element or, in old engines, a line of script; written so that JSON reads the same text.
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def render(summary: dict[str, Any]) -> str:
    """The report as HTML.

    Parameters
    ----------
    summary : dict
        What it says.

    Returns
    -------
    str
        A page with its style, its scripts and the model inside, and a policy that forbids any other, and any request.
    """
    style = _static("style.css")
    scripts = [_static("ferl.js"), _static("page.js")]
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["amount"] = amount
    return environment.get_template("report.html").render(
        **summary,
        policy=_policy(style, scripts),
        style=Markup(style),
        engine_script=Markup(scripts[0]),
        page_script=Markup(scripts[1]),
        page_json=Markup(script_json(summary["page"])),
    )


def amount(value: float) -> str:
    """A number that is not negative and may be of any size, short; as ``amount`` in page.js.

    Examples
    --------
    >>> amount(0.8126), amount(2.5e150), amount(float("inf"))
    ('0.81', '2.5e+150', 'beyond all numbers')
    """
    if not math.isfinite(value):
        return "beyond all numbers"
    return f"{value:.2f}" if value < 10_000 else f"{value:.3g}"


def script_json(value: Any) -> str:
    r"""JSON that can stand inside a script element.

    Examples
    --------
    >>> print(script_json({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


def _static(name: str) -> str:
    text = (_HERE / "static" / name).read_text(encoding="utf-8")
    assert "</" not in text, f"{name} would end its element"
    return text


def _policy(style: str, scripts: list[str]) -> str:
    """What the page may do: run its own scripts and style, known by their hashes; fetch nothing."""
    allowed = " ".join(_hash(script) for script in scripts)
    return f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
