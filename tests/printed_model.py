"""A slow reader of ``export_text(clf, exact=True)``: works out probabilities from the printed text and nothing else.

It follows the sentences at the head of the text. Rows are a data frame; a missing value is whatever pandas calls so.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

STRING = r'"(?:[^"\\]|\\.)*"'
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
CELL = rf"missing|known|other|{STRING}|\([^\]]*\]"
RANGE = rf"({NUMBER})\.\.({NUMBER})"

Floats = NDArray[np.float64]
Ends = tuple[float, float]


def pairs(text: str) -> dict[str, float]:
    """`"a" 0.5, "b" 1` as a dict."""
    return {json.loads(name): float(value) for name, value in re.findall(rf"({STRING}) ({NUMBER})", text)}


def climb(x: Floats, ends: Ends) -> Floats:
    low, high = ends
    return (x >= high).astype(float) if low == high else np.clip((x - low) / (high - low), 0.0, 1.0)


def gate(x: Floats, ends: Ends, margin: float) -> Floats:
    low, high = ends
    outside = np.maximum(0.0, np.maximum(low - x, x - high))
    return np.where(outside == 0, 1.0, np.clip(1 - outside / (margin * (high - low)), 0, 1) if high > low else 0.0)


@dataclass(frozen=True)
class PrintedCondition:
    """One line of a rule."""

    name: str
    missing: float
    above: Ends | None = None
    below: Ends | None = None
    seen: Ends | None = None
    categories: dict[str, float] | None = None
    is_indicator: bool = False

    @classmethod
    def read(cls, line: str) -> PrintedCondition:
        head = re.match(rf"({STRING}) (.*)$", line)
        assert head is not None, line
        name, rest = json.loads(head[1]), head[2]
        if of_categories := re.match(r"(is missing or known|is) (?=\")(.*) \(missing or other (.*)\)$", rest):
            known = pairs(of_categories[2])
            return cls(name, float(of_categories[3]), categories=known, is_indicator=of_categories[1] != "is")
        ends = {word: (float(a), float(b)) for word, a, b in re.findall(rf"(above|below|seen) {RANGE}", rest)}
        missing = re.search(rf"missing ({NUMBER})\)$", rest)
        assert missing is not None, line
        return cls(name, float(missing[1]), ends.get("above"), ends.get("below"), ends.get("seen"))

    def fits(self, rows: pd.DataFrame, margin: float, unseen: float) -> Floats:
        values = rows[self.name]
        lacks = values.isna().to_numpy()
        if self.categories is not None:
            if self.is_indicator:
                return np.where(lacks, self.categories["missing"], self.categories["known"])
            known = [self.categories.get(str(value), self.missing * unseen) for value in values]
            return np.where(lacks, self.missing, known)
        x = values.to_numpy(dtype=float, na_value=0.0)
        fit = climb(x, self.above) if self.above else np.ones(len(x))
        fit = np.minimum(fit, climb(-x, (-self.below[1], -self.below[0]))) if self.below else fit
        return np.where(lacks, self.missing, fit * (gate(x, self.seen, margin) if self.seen else 1.0))


@dataclass(frozen=True)
class PrintedRule:
    """A rule: the lines of its conditions, and what it says of each class."""

    conditions: tuple[str, ...]
    says: dict[str, float]
    believed: float


@dataclass(frozen=True)
class PrintedPicture:
    """A curve or map: the names of its features, and what each cell adds."""

    names: tuple[str, ...]
    cells: dict[tuple[str, ...], dict[str, float]]

    @classmethod
    def read(cls, text: str) -> PrintedPicture:
        head, *lines = text.splitlines()
        names = tuple(json.loads(item) for item in re.findall(STRING, head))
        cells = {}
        for line in lines:
            result = re.match(rf" +at ({CELL})(?: and ({CELL}))?: (.*)$", line)
            assert result is not None, line
            cells[tuple(group for group in result.groups()[:2] if group is not None)] = pairs(result[3])
        return cls(names, cells)

    def adds(self, rows: pd.DataFrame, labels: list[str]) -> Floats:
        result = []
        for values in rows[list(self.names)].itertuples(index=False):
            fits = [cell for cell in self.cells if all(map(self.is_in, values, cell, range(len(cell))))]
            assert len(fits) == 1, (values, fits)
            result.append([self.cells[fits[0]][label] for label in labels])
        return np.array(result)

    def is_in(self, value: Any, cell: str, axis: int) -> bool:
        if pd.isna(value) or cell == "missing":
            return bool(pd.isna(value)) and cell == "missing"
        if cell == "known":
            return True
        if cell.startswith("("):
            low, high = map(float, cell[1:-1].split(", "))
            return low < float(value) <= high
        known = {cell[axis] for cell in self.cells}
        return (
            json.dumps(str(value), ensure_ascii=False) == cell
            if cell != "other"
            else (json.dumps(str(value), ensure_ascii=False) not in known)
        )


@dataclass
class PrintedModel:
    """A model as its text tells it."""

    text: str
    rules: list[PrintedRule] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.head, *blocks = re.split(r"\n(?= *\d+\. )", self.text)
        self.head, *pictures = re.split(r"\n(?=(?:curve|map): )", self.head)
        self.pictures = [PrintedPicture.read(picture) for picture in pictures]
        for block in blocks:
            lines = [re.sub(r"^ *(\d+\. )?(if |and |then )?", "", line) for line in block.splitlines()]
            conditions = tuple(line for line in lines[:-1] if line != "always")
            believed = re.search(rf"; believed by ({NUMBER})$", lines[-1])
            self.rules.append(PrintedRule(conditions, pairs(lines[-1]), float(believed[1]) if believed else 1.0))
        margin = re.search(rf"0 from ({NUMBER}) times the length", self.head)
        self.margin = float(margin[1]) if margin else 1.0
        unseen = re.search(rf"(?:multiplied by|on;) ({NUMBER}) for (?:each value that|any other)", self.head)
        self.unseen = float(unseen[1]) if unseen else 1.0
        self.is_wide = self.head.startswith("Begin with the prior")
        self.labels = list(pairs(self.line("prior")) if self.is_wide else self.rules[0].says)

    def line(self, title: str) -> str:
        result = re.search(rf"^{title}: (.*)$", self.head, flags=re.MULTILINE)
        return result[1] if result else ""

    def as_numbers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows with the numbers that stand for dates and ordered categories."""
        rows = rows.assign(**self.derived(rows))
        for part in filter(None, self.line("dates").split("; ")):
            name = json.loads(part)
            rows[name] = (pd.to_datetime(rows[name]) - pd.Timestamp(0)) / pd.Timedelta(days=1)
        for part in filter(None, self.line("orders").split("; ")):
            name, *order = [json.loads(item) for item in re.findall(STRING, part)]
            rows[name] = rows[name].astype(object).map({value: index for index, value in enumerate(order)})
        return rows

    def derived(self, rows: pd.DataFrame) -> dict[str, pd.Series]:
        """The columns that are computed from others."""
        result: dict[str, pd.Series] = {}
        for name, source, how in re.findall(
            rf"^({STRING}) is computed from ({STRING}): (.*)$", self.head, re.MULTILINE
        ):
            values = rows[json.loads(source)]
            if ends := re.match(rf"a date before or after {RANGE} ", how):
                first, last = (pd.Timestamp(0) + pd.Timedelta(days=float(end)) for end in ends.groups())
                clipped = values.clip(first, last)
            elif ends := re.match(rf"a date outside {RANGE} counts as missing", how):
                first, last = (pd.Timestamp(0) + pd.Timedelta(days=float(end)) for end in ends.groups())
                clipped = values.where(values.between(first, last))
            elif part := re.match(r"its (.*)$", how):
                clipped = {
                    "weekday": values.dt.day_name(),
                    "month": values.dt.month_name(),
                    "hour": values.dt.hour + values.dt.minute / 60 + values.dt.second / 3600,
                    "day of the year": values.dt.day_of_year,
                }[part[1]]
            else:
                is_date = pd.api.types.is_datetime64_any_dtype(values)
                text = values.dt.strftime("%Y-%m-%d") if is_date else values.astype(object)
                clipped = text.where(text.notna(), "missing").map(pairs(how)).fillna(0.0)
                if how.endswith("; missing if the date is"):
                    clipped = clipped.where(values.notna())
            result[json.loads(name)] = clipped
        return result

    def probabilities(self, rows: pd.DataFrame) -> Floats:
        """One row for each row, one column for each of the labels."""
        rows = self.as_numbers(rows)
        weights = np.array([[rule.says[label] for label in self.labels] for rule in self.rules])
        fit = self.fits(rows)
        if self.is_wide:
            prior = pairs(self.line("prior"))
            scores = np.array([prior[label] for label in self.labels])
            added = sum((picture.adds(rows, self.labels) for picture in self.pictures), np.zeros((len(rows), 1)))
            scores = scores + added + (fit @ weights if len(weights) else np.zeros((len(rows), 1)))
            if base := pairs(self.line("base")):
                fading = self.support(rows)[:, None]
                scores = fading * scores + (1 - fading) * [base[label] for label in self.labels]
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
            return np.asarray(odds / odds.sum(axis=1, keepdims=True))
        fit = fit * [rule.believed for rule in self.rules]
        masses = [self.combined(item, weights) for item in fit]
        return np.array([belief + ignorance / len(self.labels) for belief, ignorance in masses])

    def fits(self, rows: pd.DataFrame) -> Floats:
        """How far each row fits each rule."""
        lines = {line for rule in self.rules for line in rule.conditions}
        unseen = 1.0 if self.is_wide else self.unseen
        fits = {line: PrintedCondition.read(line).fits(rows, self.margin, unseen) for line in lines}
        ones = np.ones(len(rows))
        return np.array([np.prod([ones, *(fits[k] for k in rule.conditions)], axis=0) for rule in self.rules]).T

    def support(self, rows: pd.DataFrame) -> Floats:
        """The product of the gates of rules."""
        open_by = np.ones(len(rows))
        for name, low, high in re.findall(rf"({STRING}) {RANGE}", self.line("seen")):
            values = rows[json.loads(name)]
            x = values.to_numpy(dtype=float, na_value=0.0)
            open_by *= np.where(values.isna(), 1.0, gate(x, (float(low), float(high)), self.margin))
        for part in filter(None, self.line("categories").split("; ")):
            name, *categories = [json.loads(item) for item in re.findall(STRING, part)]
            if categories != ["known", "missing"]:
                known = rows[name].isna() | rows[name].astype(str).isin(categories)
                open_by *= np.where(known, 1.0, self.unseen)
        return open_by

    def combined(self, fit: Floats, shares: Floats) -> tuple[Floats, float]:
        """Belief in each class and ignorance of one row, by the rule that the head of the text tells."""
        if self.head.startswith("Rules vote"):
            return fit @ shares / max(fit.sum(), 1.0), max(0.0, 1 - fit.sum())
        capped = np.minimum(fit, 1 - 1e-12)
        odds = (capped / (1 - capped))[:, None] * shares
        if self.head.startswith("The strongest of all rules counts"):
            most = odds.max(axis=0)
            return most / (1 + most.sum()), float(1 / (1 + most.sum()))
        if self.head.startswith("Along a path"):
            chosen = [group for group in self.paths if fit[group[0]] > 0]
            total: Any = sum(
                (np.log1p(odds_of_path(capped, shares, item)) for item in chosen), np.zeros(len(self.labels))
            )
            product, left = np.exp(total - total.max()), float(np.exp(-total.max()))
        else:
            assert self.head.startswith("Rules are combined by Dempster's rule")
            product, left = np.prod((1 - fit)[:, None] + fit[:, None] * shares, axis=0), float(np.prod(1 - fit))
        weight = (product - left).sum() + left
        return ((product - left) / weight, left / weight) if weight > 0 else (0 * product, 1.0)

    @cached_property
    def paths(self) -> list[list[int]]:
        """Indices of the rules of each path, the longest first."""
        texts = [rule.conditions for rule in self.rules]
        ends = [
            k for k, item in enumerate(texts) if not any(len(o) > len(item) and o[: len(item)] == item for o in texts)
        ]
        return [
            [end, *(k for k, item in enumerate(texts) if k != end and texts[end][: len(item)] == item)] for end in ends
        ]


def odds_of_path(capped: Floats, shares: Floats, group: list[int]) -> Floats:
    """The largest odds of each class over the rules of a path, which speak as its longest rule, the first, fits."""
    return np.asarray(capped[group[0]] / (1 - capped[group[0]]) * shares[group].max(axis=0))
