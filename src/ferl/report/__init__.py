"""The report: a model and a table as one HTML file, with a page where any row can be tried out.

:func:`write_report` is all that is needed. ``table_reading`` judges the rows, ``summarise`` turns model and rows into a
plain dict, ``writing`` makes HTML of it; ``static/ferl.js`` is the model's arithmetic in the browser.
"""

try:
    import jinja2  # noqa: F401 - is it there
except ImportError as error:
    raise ImportError(f"ferl.report needs jinja2 ({error}): pip install jinja2.") from error

from ferl.report.writing import report_html, write_report

__all__ = ["report_html", "write_report"]
