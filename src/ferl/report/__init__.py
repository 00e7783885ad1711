"""The report: a model and a table as one HTML file, with a page where any row can be tried out.

:func:`write_report` is all that is needed. ``judged_table`` judges the rows; ``content`` makes the sections of the page
with those that ``views`` has of each kind of model, by the sentences of ``templates/words.json``; ``charts`` draws what
is no text; ``writing`` puts the page around them. ``page_form`` is the model for ``static/ferl.js``, its arithmetic in
the browser.
"""

try:
    import jinja2  # noqa: F401 - is it there
except ImportError as error:
    raise ImportError(f"ferl.report needs jinja2 ({error}): pip install jinja2.") from error

from ferl.report.writing import Shown, report_html, show, write_report

__all__ = ["Shown", "report_html", "show", "write_report"]
