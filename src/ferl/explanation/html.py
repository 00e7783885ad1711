"""A page of sections as a fragment of HTML: no script, no link, every word of it escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ferl.explanation.page import Section, Table

# Colours come from the page around it (currentColor), so the fragment reads on light and on dark ground.
STYLE = """\
.ferl-story{font:14px/1.5 system-ui,sans-serif;max-width:60rem;overflow-wrap:anywhere}
.ferl-story h4{margin:1em 0 .2em;font-size:1em;border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent)}
.ferl-story p{margin:.15em 0;padding-left:1em;text-indent:-1em}
.ferl-story .ferl-lead{font-weight:600;font-size:1.1em}
.ferl-story table{border-collapse:collapse;margin:.3em 0}
.ferl-story th,.ferl-story td{padding:.1em .8em .1em 0;text-align:right;background:none;color:inherit}
.ferl-story th{font-weight:400;opacity:.7}
.ferl-story th:first-child,.ferl-story td:first-child{text-align:left}"""


def as_html(sections: Sequence[Section]) -> str:
    """The page as a fragment that needs nothing else."""
    body = "".join(_section(section) for section in sections)
    return f'<div class="ferl-story"><style>{STYLE}</style>{body}</div>'


def _section(section: Section) -> str:
    title = f"<h4>{escape(section.title)}</h4>" if section.title else ""
    table = "" if section.table is None else _table(section.table)
    opening = '<p class="ferl-lead">' if section.is_lead else "<p>"
    return title + table + "".join(f"{opening}{escape(line)}</p>" for line in section.lines)


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in table.headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
