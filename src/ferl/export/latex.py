"""The rules as a table in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from ferl._answers import model_of
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.tree_model import TreeModel
from ferl._tell.conditions import Condition, listed_categories
from ferl._tell.curves import MAX_RANGES, read_score_table
from ferl._tell.page import escaped, latex_table
from ferl._tell.statements import Statement, Style, in_sentence, probability_text, reader_names, statements, weight_text
from ferl._util.arrays import Floats
from ferl._util.text import support_text
from ferl.export.text import check_counts
from ferl.rules import FERLClassifier


def export_latex(
    estimator: FERLClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    decimals: int | None = None,
    max_rules: int | None = None,
    caption: str | None = None,
    label: str | None = None,
    width: str = r"0.55\linewidth",
) -> str:
    r"""Rules of a fitted classifier as a table in LaTeX, those that apply to most rows first.

    The document needs ``\usepackage{booktabs}``. Names are escaped; letters outside of ASCII stay as they are, so
    that some of them (Greek, say) need LuaLaTeX or XeLaTeX. Below the rules of a compact tree stands what its words
    mean.

    Rules whose weights add up are printed as their sums: the weights of evidence at the ends of each interval of a
    feature, of each category, and of rules on several features. With two classes these are log-odds of the second
    class. In a curve with more than 12 ranges, or a map with more than 12 cells, the most similar neighbours are
    merged, with their mean over the training rows; :func:`ferl.export_scorecard` lists all of them.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names, class_names : sequence of str, default=None
        Names to print; by default the names in the training table, and the labels.
    decimals : int, default=None
        Digits after the point of thresholds; by default enough digits for the half-width of the band.
    max_rules : int, default=None
        Print at most this many rules, and the number of omitted rules.
    caption : str, default=None
        Caption of the table, which makes it a floating one. LaTeX, not escaped: it may hold formulas and references.
    label : str, default=None
        For ``\ref``; needs a caption.
    width : str, default="0.55\linewidth"
        Width of the column of conditions, a length of LaTeX.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier, export_latex
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> print(export_latex(clf, class_names=iris.target_names, max_rules=2))
    \begin{tabular}{@{}rp{0.55\linewidth}lrr@{}}
    \toprule
     & If & then & Confidence & Applies to \\
    \midrule
    1 & x2 $> 2.46 \pm 0.09$ and x3 $< 1.68 \pm 0.06$ & versicolor & 0.89 & 52.6 \\
    2 & x2 $< 2.46 \pm 0.09$ & setosa & 0.98 & 50.0 \\
    \multicolumn{5}{@{}l@{}}{\ldots{} and 1 more} \\
    \bottomrule
    \end{tabular}
    """
    model = model_of(estimator, "export_latex")
    names, labels = reader_names(model, feature_names, class_names)
    check_counts(decimals=decimals, max_rules=max_rules)
    if label is not None and caption is None:
        raise ValueError(f"label is {label!r} and caption None; LaTeX numbers tables by their captions, so give one.")
    style = Style(model, names, [in_sentence(str(label)) for label in labels], decimals, max_listed=None)
    table = _table(model, style, max_rules, width)
    if caption is None:
        return table
    named = [] if label is None else [rf"\label{{{label}}}"]
    return "\n".join([r"\begin{table}", r"\centering", rf"\caption{{{caption}}}", *named, table, r"\end{table}"])


@singledispatch
def _table(model: Any, style: Style, max_rules: int | None, width: str) -> str:
    raise TypeError(f"A {type(model).__name__} has no table of rules.")


@_table.register
def _(model: TreeModel, style: Style, max_rules: int | None, width: str) -> str:
    rules = statements(model)
    shown = rules[:max_rules]
    rows = [
        (
            str(rule.number),
            " and ".join(_condition(condition, style) for condition in rule.conditions) or "always",
            escaped(style.classes[rule.label]),
            probability_text(float(rule.adds[rule.label])),
            support_text(rule.support),
        )
        for rule in shown
    ]
    more = [(rf"\ldots{{}} and {len(rules) - len(shown)} more",)] if len(shown) < len(rules) else []
    headings = ("", "If", "then", "Confidence", "Applies to")
    return latex_table(f"rp{{{width}}}lrr", headings, [*rows, *more], _meanings(model, shown, style))


@_table.register
def _(model: RuleModel, style: Style, max_rules: int | None, width: str) -> str:
    table, heads = read_score_table(model, style), [style.classes[1]] if style.is_two else style.classes

    def weights(start: Floats, end: Floats) -> list[str]:
        pairs = [(start[1] - start[0], end[1] - end[0])] if style.is_two else list(zip(start, end, strict=True))
        texts = [tuple(map(weight_text, pair)) for pair in pairs]
        return [f"${low}$" if low == high else f"${low}$ to ${high}$" for low, high in texts]

    rows: list[Sequence[str]] = [("always", "", *weights(table.base, table.base))]
    printed: set[int] = set()
    for line in table.score_lines(MAX_RANGES):
        if max_rules is not None and len(printed | set(line.rules)) > max_rules:
            break
        printed |= set(line.rules)
        rows.append((escaped(line.name), escaped(line.when), *weights(line.start, line.end)))
    if len(printed) < model.n_rules:
        rows.append((rf"\ldots{{}} and {model.n_rules - len(printed)} more rules",))
    columns, headings = f"lp{{{width}}}{'r' * len(heads)}", ("", "If", *map(escaped, heads))
    return latex_table(columns, headings, rows, _meanings(model, statements(model), style))


def _condition(condition: Condition, style: Style) -> str:
    name, decimals = escaped(style.names[condition.feature]), style.decimals
    if condition.word:
        return rf"{name} is \emph{{{escaped(condition.word)}}}"
    if condition.by_kind:
        return f"{name} {escaped(condition.by_kind)}"
    if condition.categories:
        inside = listed_categories(condition.categories, condition.names)
        return rf"{name} $\in$ \{{{escaped(inside)}\}}"
    if condition.overlap is not None:
        return f"{name} {escaped(condition.overlap.text(decimals))}"
    bounds = (condition.lower, condition.upper)
    lower, upper = (None if bound is None else bound.text(decimals).replace("±", r"\pm ") for bound in bounds)
    if lower is None:
        return f"{name} $< {upper}$"
    return f"{name} $> {lower}$" if upper is None else f"${lower} <$ {name} $< {upper}$"


def _meanings(model: Model, rules: Sequence[Statement], style: Style) -> list[str]:
    """What the words of these rules mean."""
    used = sorted({condition.feature for rule in rules for condition in rule.conditions if condition.word})
    variables = [] if model.words is None else [(model.words[j], style.names[j]) for j in used]
    return [rf"\footnotesize {escaped(item.text(name))}" for item, name in variables if item is not None]
