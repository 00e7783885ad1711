"""What a report shows of a model, by its kind: rules, a tree, charts, a scorecard, reason codes.

:func:`view_of` gives the view of a model. A third kind of model needs a class here with its sections, its sentences in
``templates/words.json``, a form in ``page_form`` and an engine in ``static/ferl.js``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property, partial, singledispatch
from itertools import groupby
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np

from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.shapes import Curve, Interaction, feature_importances, read_shapes
from ferl._models.tree_model import TreeModel
from ferl._tell.conditions import Condition
from ferl._tell.curves import Points, ScoreTable, outside_card, read_score_table
from ferl._tell.explanation import REMEDIES
from ferl._tell.page import Block, Marked, Section, Table
from ferl._tell.reasons import read_reasons
from ferl._tell.statements import Statement, Style, conditions_of, statements
from ferl._util.arrays import Floats
from ferl._util.text import counted, cut, number_text, shown_line, shown_names
from ferl.report.charts import drawn, percent, rounded, shape_charts
from ferl.report.page_form import numbers, slider_range

MAX_CATEGORY_LETTERS = 30
MAX_SHARES = 6  # classes of a bar; the rest is one part
MAX_CARD_CLASSES = 6  # columns of points that a page has room for
MAX_OPEN_RULES, MAX_OPEN_CURVES = 12, 6  # that are not folded away
N_TINTS = 8  # colours of classes
MAX_LETTERS = 300  # of what a line is about
N_REASONS = 4  # for each row; lenders name at most four
POINTS = Points()
AND = Marked(" and ", tone="soft")


class View:
    """A model with the names that readers see.

    Attributes
    ----------
    model : Model
        The model.
    features, columns, classes : list of str
        Names of the features, of the columns that conditions read, and of the classes.
    categories : dict
        Names of the categories of each column that has some.
    shown : Model
        The model with these names.
    style : Style
        Puts its statements into words.
    target : str or None
        Name of what is predicted; None: the model does not hold it.
    glossary : dict
        Words of the page, and what they mean.
    rules : list of Statement
        In the order of the page.
    """

    def __init__(self, model: Model) -> None:
        self.model, schema = model, model.schema
        self.features, self.classes = shown_names(model.feature_names()), shown_names(model.labels)
        self.columns = model.column_names(self.features)
        self.categories = {j: shown_names(item, MAX_CATEGORY_LETTERS) for j, item in model.category_names.items()}
        self.target = shown_line(schema.target.name, 60) or None
        categories = [
            None if known is None else np.array(self.categories.get(j, ()), dtype=object)
            for j, known in enumerate(schema.categories)
        ]
        # Names have their units already, and categories their meanings.
        kinds = [
            replace(kind, label="", unit="", values=kind.values if categories[j] is None else {})
            for j, kind in enumerate(schema.kinds)
        ]
        renamed = replace(schema, names=tuple(self.features), categories=tuple(categories), kinds=tuple(kinds))
        self.shown = replace(model, schema=renamed)
        self.style = Style(self.shown, self.columns, self.classes, all_classes=False)
        self.glossary, self._sentences, self._tiles = words_of(model.kind)
        self.rules = list(statements(self.shown))

    def sections(self) -> list[Section]:
        """What the kind of the model has, the rules among it."""
        raise NotImplementedError

    @property
    def remedies(self) -> dict[str, str]:
        """What to do about each concern that the page can judge."""
        return REMEDIES

    def form(self) -> dict[str, Any]:
        """What the form shows besides: averages, and reason codes; None where the kind has none."""
        return {"usual": None, "reasons": None}

    def reason_codes(self, rows: Floats, labels: list[int]) -> list[list[str]]:
        """What cost rows of these most probable classes most; empty lists for other kinds of models."""
        return [[] for _ in labels]

    def value(self, feature: int, value: float) -> str:
        """A value of a row, in words."""
        if math.isnan(value):
            return "missing"
        if self.model.schema.categories[feature] is None:
            return number_text(self.model.number(feature, value))
        names = self.categories.get(feature, ())
        return str(names[int(value)]) if value < len(names) else "not in training"

    def conditions(self, conditions: Sequence[Condition]) -> list[str]:
        """Conditions in words; a threshold stays with its band where a line wraps."""
        return [
            cut(condition.text(self.columns[condition.feature])).replace(" ±", "\u00a0±") for condition in conditions
        ]

    def term(self, text: str) -> Marked:
        """A word that the glossary explains, or text and its word, "Novelty|novelty"; all others are code."""
        shown, _, word = text.rpartition("|")
        if word not in self.glossary:
            return Marked(text, tone="code")
        return Marked(shown or word, tone="term", term=word, title=self.glossary[word])

    def sentence(self, name: str, tone: str = "", /, **values: Any) -> Marked:
        """A sentence of the page by its name."""
        return self._filled(self._sentences[name], values, tone)

    def _filled(self, text: str, values: dict[str, Any], tone: str = "") -> Marked:
        """A text with its values, as _Texts has them; what is in brackets is a term."""
        pieces = [_TEXTS.vformat(word, (), values) for word in re.split(r"[\[\]]", text)]
        marks = {"tone": tone} if tone else {}
        return Marked(*(self.term(piece) if k % 2 else piece for k, piece in enumerate(pieces)), **marks)

    def tiles(self, name: str, figures: dict[str, Any]) -> Table:
        """Figures side by side: what each is called, its value, and more of it; unknown figures are left out."""
        rows = []
        for key, *texts, more in self._tiles[name]:
            if figures.get(key) is not None:
                cells = [self._filled(text, figures) for text in texts]
                rows.append((*cells, self._filled(self._sentences.get(more, more), figures, "more")))
        return Table((), tuple(rows), "lrl", "tiles")

    @cached_property
    def asked(self) -> list[dict[str, Any]]:
        """The features: what they hold, how many conditions, curves and maps read them, and how much that explains."""
        model, schema, uses = self.model, self.model.schema, self.model.uses
        importance, names = feature_importances(model), model.feature_names()
        return [
            {
                "name": name,
                "full_name": shown_line(names[j]),
                "kind": "number" if schema.categories[j] is None else "category",
                "n_uses": sum(use[j] for use in uses.values()),
                "is_read": j in model.read_features,
                "uses": {name: item[j] for name, item in uses.items()},
                "importance": float(importance[j]),
            }
            for j, name in enumerate(self.features)
        ]

    def chip(self, c: int, **marks: Any) -> Marked:
        """The name of a class beside its colour."""
        return Marked(self.classes[c], tone=f"chip c{c % N_TINTS}", **marks)

    @cached_property
    def texts(self) -> dict[int | None, list[str]]:
        """The conditions of each rule, by its number."""
        return {rule.number: self.conditions(rule.conditions) for rule in self.rules}

    def page_rules(self) -> list[dict[str, Any]]:
        """The rules as the form lists them; their index is the index of their contributions."""
        index = {node: k for k, node in enumerate(self.shown.rule_numbers)}
        return [
            {
                "number": rule.number,
                "index": index[rule.node],
                "node": rule.node,
                "conditions": self.texts[rule.number],
                "label": self.classes[rule.label],
                "class": rule.label,
                "confidence": float(rule.adds[rule.label]),
            }
            for rule in self.rules
        ]

    def _rule_cells(self, rule: Statement, *more: str) -> list[Marked]:
        """The cells that rules of all kinds have: number, conditions and support."""
        texts = [Marked(text, tone="condition") for text in self.texts[rule.number]]
        joined = [piece for text in texts for piece in (AND, text)][1:] or [Marked("always", tone="soft")]
        return [
            Marked(str(rule.number), key=rule.number, name=f"rule-{rule.number}"),
            Marked(*joined, *more),
            Marked(with_soft(f"{rounded(rule.support)} rows", f"({100 * rule.share:.0f} %)"), key=rule.support),
        ]

    def _rules_section(self, about: str, table: Table) -> Section:
        count, tools = counted(len(table.rows), "rule"), "rule_tools"
        look = "open" if len(table.rows) <= MAX_OPEN_RULES else ""
        listed = Section(f"All {count}", (Marked(html=drawn("drawings", tools, count)), table), look=look)
        return Section("Rules", (about, listed), name="rules")


@cache
def words_of(kind: str) -> tuple[dict[str, str], dict[str, str], dict[str, Any]]:
    """The words for a kind of model, "rules" or "trees": glossary in alphabetical order, sentences by name, tiles."""
    words = json.loads((Path(__file__).parent / "templates" / "words.json").read_text(encoding="utf-8"))
    glossary, sentences = (words[part]["all"] | words[part][kind] for part in ("glossary", "sentences"))
    return dict(sorted(glossary.items(), key=lambda item: item[0].lower())), sentences, words["tiles"]


class _Texts(Formatter):
    """Texts with values: "{share!p}" is a percentage, "{count!n}" a number of rows."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        if conversion == "n":
            return counted(value, "row")
        return percent(value) if conversion == "p" else super().convert_field(value, conversion)


_TEXTS = _Texts()


def with_soft(text: str, more: str) -> Marked:
    """Text, and more of it that does not stand out."""
    return Marked(text, *([Marked(f" {more}", tone="soft")] if more else []))


@singledispatch
def view_of(model: Model) -> View:
    """The view of a model."""
    raise TypeError(f"A report has no view of {type(model).__name__}.")


def class_shares(consequent: Floats) -> list[dict[str, Any]]:
    """Parts of a bar of classes, in their order; of many the largest, and the rest as one part of no class."""
    largest = np.argsort(-consequent, kind="stable")[:MAX_SHARES]
    kept = [c for c in sorted(largest.tolist()) if consequent[c] >= 0.005]
    parts: list[dict[str, Any]] = [{"class": c, "share": float(consequent[c])} for c in kept]
    rest = 1 - sum(part["share"] for part in parts)
    return [*parts, {"class": None, "share": rest}] if rest > 0.005 else parts


# ---------------------------------------------------------------------------------------------------------------------
# Trees
# ---------------------------------------------------------------------------------------------------------------------


@view_of.register(TreeModel)
class TreeView(View):
    """The view of a tree: its rules, the largest first, and its nodes."""

    model: TreeModel

    @property
    def remedies(self) -> dict[str, str]:
        """Whether few rows are the main cause of a discounted tree's ignorance needs more than the page computes."""
        return {"novelty": REMEDIES["novelty"]} if self.model.reading.discount > 0 else REMEDIES

    def sections(self) -> list[Section]:
        """Rules and tree."""
        table = Table(
            ("#", "If", "Then", "Confidence", "Applies to"),
            tuple(map(self._rule_row, self.rules)),
            "rllrr",
            "rule-table of-trees",
        )
        leaf, note = self.model.tree.is_leaf, self.sentence("rules", "note")
        if not all(leaf[rule.node] for rule in self.rules):
            note = Marked(note, self.sentence("beginnings"), tone="note")
        tree = (self.sentence("tree", "note"), Marked(html=self._drawing()))
        return [self._rules_section(note, table), Section("Tree", tree, name="tree")]

    def _rule_row(self, rule: Statement) -> tuple[str, ...]:
        is_leaf, confidence = self.model.tree.is_leaf[rule.node], float(rule.adds[rule.label])
        more = [] if is_leaf else [Marked(" (beginning of a rule)", tone="note")]
        number, conditions, support = self._rule_cells(rule, *more)
        bar = Marked(html=drawn("drawings", "class_bar", class_shares(rule.adds), self.classes))
        then = Marked(self.chip(rule.label), bar, key=rule.label)
        return number, conditions, then, Marked(f"{confidence:.2f}", key=confidence), support

    def _drawing(self) -> str:
        """All nodes, in the order of the tree: a flat list, since a template that called itself has a limited depth."""
        tree, nodes = self.model.tree, range(1, self.model.tree.n_nodes)
        ranges = [slider_range(self.model, feature) for feature in range(self.model.n_features)]
        conditions = ["", *(self.conditions(conditions_of(self.shown, [node]))[0] for node in nodes)]
        bands = [None, *(self._band(node, ranges) for node in nodes)]
        numbered = {rule.node: rule.number for rule in self.rules}
        return drawn(
            "tree", "nodes", tree, conditions, bands, numbered, list(map(class_shares, tree.consequent)), self.classes
        )

    def _band(self, node: int, ranges: list[tuple[float, float]]) -> str | None:
        """Membership over the range of training as the points of a polygon, 100 wide and 20 high."""
        tree = self.model.tree
        if len(tree.memberships(node)):
            return None
        low, high = ranges[tree.feature[node]]
        a, b, c, d = np.clip(tree.trapezoid[node], low, high)
        left = [(low, 1.0)] if not np.isfinite(tree.trapezoid[node, 0]) else [(a, 0.0), (b, 1.0)]
        right = [(high, 1.0)] if not np.isfinite(tree.trapezoid[node, 3]) else [(c, 1.0), (d, 0.0)]
        corners = [(low, 0.0), *left, *right, (high, 0.0)]
        return " ".join(f"{100 * (x - low) / (high - low):.4g},{20 - 18 * y:.4g}" for x, y in corners)


# ---------------------------------------------------------------------------------------------------------------------
# Rules that add up
# ---------------------------------------------------------------------------------------------------------------------


@view_of.register(RuleModel)
class RuleView(View):
    """The view of rules that add up: rules by their features, curves, maps, and a scorecard."""

    model: RuleModel
    shown: RuleModel

    def __init__(self, model: RuleModel) -> None:
        super().__init__(model)
        self.shapes = read_shapes(self.shown)
        self.rules = [self.rules[index] for shape in self.shapes.all for index in shape.rules]
        self.card: ScoreTable | None = None
        if model.n_terms and len(model.classes) > 1 and model.cases is None:  # no points stand for the vote of cases
            scale, style = partial(POINTS.scale, positive=1), replace(self.style, max_listed=None)
            self.card = read_score_table(self.shown, style, scale, partial(scale, offset=POINTS.neutral))

    def sections(self) -> list[Section]:
        """Curves and maps, rules, the most important features first, and the scorecard."""
        result = [self._shapes_section(), self._listed_section()]
        if self.card is not None and len(self.classes) <= MAX_CARD_CLASSES:
            result.append(self._card_section(self.card))
        return result

    def form(self) -> dict[str, Any]:
        """What rows have on average, and what reason codes are chosen from."""
        usual = self.model.share_among_features(self.model.mean_contributions[None])[0]
        if self.card is None:
            return {"usual": numbers(usual), "reasons": None}
        shares: dict[int, list[tuple[int, float]]] = {}  # by feature: the terms that read it, and the share of each
        for term, columns in enumerate(self.model.term_columns):
            for feature in map(self.model.feature_of, columns):
                shares.setdefault(feature, []).append((term, 1 / len(columns)))
        reasons = {
            "candidates": [{"feature": feature, "terms": item} for feature, item in sorted(shares.items())],
            "usual": numbers(self.model.mean_contributions),
            "unit": POINTS.unit,
            "neutral": POINTS.neutral,
            "most": N_REASONS,
        }
        return {"usual": numbers(usual), "reasons": reasons}

    def _shapes_section(self) -> Section:
        names, charts = self.classes, shape_charts(self.shown, self.style, self.shapes)
        curves, maps, top = charts["curves"], charts["maps"], charts["top"]
        drawn_for = f"{names[1]} (up) and {names[0]} (down)" if len(names) == 2 else "each class"

        def figure(curves_drawn: list[dict[str, Any]]) -> Marked:
            return Marked(html=drawn("shapes", "curves", curves_drawn, names, top))

        blocks: list[Block] = [self.sentence("no_curve", "note")]
        if curves:
            blocks = [self.sentence("curves", drawn=drawn_for, top=top), figure(curves[:MAX_OPEN_CURVES])]
        if len(curves) > MAX_OPEN_CURVES:
            n_more = counted(len(curves) - MAX_OPEN_CURVES, "more curve")
            blocks.append(Section(n_more, (figure(curves[MAX_OPEN_CURVES:]),)))
        if maps:
            chips = [piece for c in range(min(len(names), N_TINTS)) for piece in (self.chip(c), " ")]
            drawing = Marked(html=drawn("shapes", "maps", maps))
            blocks.append(
                Section(f"{counted(len(maps), 'pair')} of features", (Marked(self.sentence("maps"), *chips), drawing))
            )
        return Section("Curves", tuple(blocks), name="shapes")

    def _listed_section(self) -> Section:
        order = [(group, item, rule) for group, item in enumerate(self.shapes.all) for rule in item.rules]
        rows = tuple(
            self._rule_row(group, shape, rule) for (group, shape, _), rule in zip(order, self.rules, strict=True)
        )
        if not rows and self.model.size_beside_rules:
            return Section("Rules", (self.sentence("no_rules", "note"),), name="rules")
        heads = ("#", "About", "If", "Supports", "Weight", "Applies to")
        return self._rules_section(self.sentence("rules", "note"), Table(heads, rows, "rlllrr", "rule-table of-rules"))

    def _rule_row(self, group: int, shape: Curve | Interaction, rule: Statement) -> tuple[str, ...]:
        number, conditions, support = self._rule_cells(rule)
        about = Marked(" and ".join(self.columns[column] for column in shape.features), key=group)
        against = Marked(f" against {self.classes[int(rule.adds.argmin())]}", tone="note")
        label = Marked(self.chip(rule.label), *([against] if len(self.classes) > 2 else []), key=rule.label)
        weight = float(np.ptp(rule.adds))
        return number, about, conditions, label, Marked(f"{weight:.2f}", key=weight), support

    def _card_note(self) -> Block:
        return self.sentence("card_note", "note", outside=outside_card(self.model))

    def _card_section(self, table: ScoreTable) -> Section:
        lines, rows = table.with_base(), []
        sizes = [(name, len(list(item))) for name, item in groupby(lines, key=lambda line: line.name)]
        names = [cell for name, n in sizes for cell in (Marked(name, scope="rowgroup", span=n), *[""] * (n - 1))]
        rows = [
            (name, cut(line.when, MAX_LETTERS), *POINTS.texts(line)) for name, line in zip(names, lines, strict=True)
        ]
        heads = [f"Points for {self.classes[1]}"] if len(self.classes) == 2 else self.classes
        align = "ll" + "r" * len(heads)
        card = Table(("Feature", "Value", *heads), tuple(rows), align, "card-table", "Scorecard")
        n, things = len(sizes) - 1, "feature or rule" if len(sizes) == 2 else "features and rules"
        about = self.sentence("card", meaning=" ".join(POINTS.meaning(self.classes, 1)))
        return Section(
            "Scorecard", (about, Section(f"The card: {n} {things}", (card,)), self._card_note()), name="scorecard"
        )

    def reason_codes(self, rows: Floats, labels: list[int]) -> list[list[str]]:
        """What cost each row most on its way to the less probable class, of two; others leave open which one."""
        result: list[list[str]] = [[] for _ in labels]
        if self.card is None or len(self.classes) != 2:
            return result
        for wanted, name in enumerate(self.model.classes.tolist()):
            indices = [index for index, label in enumerate(labels) if label != wanted]
            if not indices:
                continue
            reasons = read_reasons(self.shown, rows[indices], N_REASONS, name, feature_names=self.features)
            for index, item in zip(indices, reasons, strict=True):
                result[index] = [cut(reason.text, MAX_LETTERS) for reason in item]
        return result
