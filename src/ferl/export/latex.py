"""The rules as a table in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferl._answers import model_of
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._read.rules import Bound, Condition, Rule, listed_categories, read_rules
from ferl._read.score_table import lines_of_rules, read_score_table
from ferl._read.text import in_sentence, probability_text, shown_names
from ferl._read.wide_text import WideStyle, weight_text
from ferl._util.arrays import Floats
from ferl._util.text import support_text
from ferl.rules import FERLClassifier

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{''}",
    "`": r"\textasciigrave{}",
    "'": r"{'}",  # two of them would become a quotation mark
    "-": r"{-}",  # and two of these a dash
    "±": r"\ensuremath{\pm}",
    "\u00a0": "~",
}


def escaped(text: str) -> str:
    r"""Text as LaTeX prints it, letter by letter.

    Examples
    --------
    >>> print(escaped(r"50% of $x_1 & {y}\z"))
    50\% of \$x\_1 \& \{y\}\textbackslash{}z
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


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
    r"""Rules of a fitted classifier as a table in LaTeX, strongest support first.

    The document needs ``\usepackage{booktabs}``. Names are escaped; letters outside of ASCII stay as they are, so
    that some of them (Greek, say) need LuaLaTeX or XeLaTeX. Below the rules of a compact tree stands what its words
    mean.

    Of wide rules the table holds what adds up: the weights of evidence at the ends of each interval of a feature, of
    each category, and of rules on several features; of two classes the log-odds of the second one.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names, class_names : sequence of str, default=None
        Names to print; by default those of the training table, and the labels.
    decimals : int, default=None
        Digits after the point of thresholds; by default as many as a band's half-width gives meaning to.
    max_rules : int, default=None
        Print at most this many rules, and say how many are left out.
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
     & If & then & Confidence & Support \\
    \midrule
    1 & x2 $> 2.46 \pm 0.09$ and x3 $< 1.68 \pm 0.06$ & versicolor & 0.89 & 52.6 \\
    2 & x2 $< 2.46 \pm 0.09$ & setosa & 0.98 & 50.0 \\
    \multicolumn{5}{@{}l@{}}{\ldots{} and 1 more} \\
    \bottomrule
    \end{tabular}
    """
    model = model_of(estimator, "export_latex")
    names, labels = shown_names(model, feature_names, class_names)
    for name, value in (("decimals", decimals), ("max_rules", max_rules)):
        if value is not None and value < 0:
            raise ValueError(f"{name} is {value}; it must be at least 0, or None.")
    if label is not None and caption is None:
        raise ValueError(f"label is {label!r} and caption None; LaTeX numbers tables by their captions, so give one.")
    if isinstance(model, RuleModel):
        return "\n".join(_wide_table(model, names, labels, decimals, max_rules, caption, label, width))
    rules = read_rules(model)
    shown, categories = rules[:max_rules], model.category_names
    lines = [rf"\begin{{tabular}}{{@{{}}rp{{{width}}}lrr@{{}}}}", r"\toprule"]
    lines += [r" & If & then & Confidence & Support \\", r"\midrule"]
    for rule in shown:
        conditions = " and ".join(_condition(own, names, categories, decimals) for own in rule.conditions) or "always"
        answer = escaped(in_sentence(str(labels[rule.label])))
        confidence = probability_text(float(rule.consequent[rule.label]))
        lines.append(rf"{rule.number} & {conditions} & {answer} & {confidence} & {support_text(rule.support)} \\")
    if len(shown) < len(rules):
        lines.append(_note(rf"\ldots{{}} and {len(rules) - len(shown)} more"))
    lines += _meanings(model, shown, names)
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines if caption is None else _floating(lines, caption, label))


def _wide_table(
    model: Model,
    names: list[str],
    labels: list[Any],
    decimals: int | None,
    max_rules: int | None,
    caption: str | None,
    label: str | None,
    width: str,
) -> list[str]:
    """The table of a wide model."""
    style = WideStyle(model, names, [in_sentence(str(own)) for own in labels], decimals)
    table = read_score_table(style)
    heads = [style.classes[1]] if style.is_two else style.classes

    def weights(start: Floats, end: Floats) -> str:
        pairs = [(start[1] - start[0], end[1] - end[0])] if style.is_two else list(zip(start, end, strict=True))
        texts = [tuple(map(weight_text, pair)) for pair in pairs]
        return " & ".join(f"${low}$" if low == high else f"${low}$ to ${high}$" for low, high in texts)

    lines = [rf"\begin{{tabular}}{{@{{}}lp{{{width}}}{'r' * len(heads)}@{{}}}}", r"\toprule"]
    lines += [rf" & If & {' & '.join(map(escaped, heads))} \\", r"\midrule"]
    lines.append(rf"always &  & {weights(table.base, table.base)} \\")
    shown, told = lines_of_rules(table, max_rules)
    for own in shown:
        lines.append(rf"{escaped(own.name)} & {escaped(own.when)} & {weights(own.start, own.end)} \\")
    if told < model.n_rules:
        n_columns = 2 + len(heads)
        lines.append(_note(rf"\ldots{{}} and {model.n_rules - told} more rules", n_columns))
    lines += _meanings(model, read_rules(model), names, 2 + len(heads)) if model.tree.word else []
    lines += [r"\bottomrule", r"\end{tabular}"]
    return lines if caption is None else _floating(lines, caption, label)


def _condition(
    condition: Condition, names: list[str], categories: dict[int, Sequence[Any]], decimals: int | None
) -> str:
    name = escaped(names[condition.feature])
    if condition.word:
        return rf"{name} is \emph{{{escaped(condition.word)}}}"
    told = condition.told_by_kind()
    if told:
        return f"{name} {escaped(told)}"
    if condition.categories:
        inside = listed_categories(condition.categories, categories.get(condition.feature))
        return rf"{name} $\in$ \{{{escaped(inside)}\}}"
    if condition.overlap is not None:
        return f"{name} {escaped(condition.overlap.text(decimals))}"
    lower, upper = (None if own is None else _band(own, decimals) for own in (condition.lower, condition.upper))
    if lower is None:
        return f"{name} $< {upper}$"
    return f"{name} $> {lower}$" if upper is None else f"${lower} <$ {name} $< {upper}$"


def _band(bound: Bound, decimals: int | None) -> str:
    """Threshold and half-width, inside a formula."""
    return bound.text(decimals).replace("±", r"\pm ")


def _note(text: str, n_columns: int = 5) -> str:
    return rf"\multicolumn{{{n_columns}}}{{@{{}}l@{{}}}}{{{text}}} \\"


def _meanings(model: Model, rules: list[Rule], names: list[str], n_columns: int = 5) -> list[str]:
    """What the words of these rules mean."""
    used = sorted({condition.feature for rule in rules for condition in rule.conditions if condition.word})
    variables = model.words if model.words is not None else [None] * len(names)
    known = [(variables[j], names[j]) for j in used if j < len(variables) and variables[j] is not None]
    notes = [_note(rf"\footnotesize {escaped(own.text(name))}", n_columns) for own, name in known if own is not None]
    return [r"\midrule", *notes] if notes else []


def _floating(lines: list[str], caption: str, label: str | None) -> list[str]:
    named = [] if label is None else [rf"\label{{{label}}}"]
    return [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}", *named, *lines, r"\end{table}"]
