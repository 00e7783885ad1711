"""The report: a model and a table as one HTML file, with a page where any row can be tried out.

:func:`write_report` is all that is needed. ``judged_table`` predicts the rows. ``content`` makes the sections of the
page, ``views`` the sections of each kind of model, and ``templates/words.json`` has their sentences. ``charts`` draws
the pictures, ``writing`` writes the page. ``page_form`` prepares the model for ``static/ferl.js``, the arithmetic in
the browser.
"""

try:
    import jinja2  # noqa: F401 - is it there
except ImportError as error:
    raise ImportError(f"ferl.report needs jinja2 ({error}): pip install jinja2.") from error

from ferl.report.writing import Shown, report_html, show, write_report

__all__ = ["Shown", "report_html", "show", "write_report"]
