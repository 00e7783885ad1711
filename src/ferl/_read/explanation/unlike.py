"""What is unlike the training rows, in sentences."""

from __future__ import annotations

import math

from ferl._read.explanation.page import Section, Table
from ferl._read.explanation.story import Story
from ferl._read.explanation.typical import NoveltyPart, Usual
from ferl._read.verdicts import novelty_verdict
from ferl._util.text import listed, number_text, share_text, spoken, value_text

MAX_FEATURES = 5
LEAST_LOST, ALL_LOST = 0.005, 0.995  # that two decimals tell from nothing and from all
TITLE = "How unusual the row is"


class Unlike(str):
    """What is most unlike the training rows, as a clause; what it says first, and the same for where that is said."""

    named: str
    usually: str


def unlike(story: Story) -> Unlike:
    """What is most unlike the training rows, where something clearly is; "" where nothing is."""
    odd = [part for part in story.novelty_parts if part.is_unusual]
    lost = [name for name, _ in story.lost_support]
    if lost:  # a gate that closed names its feature, whatever else is unusual
        odd = [part for part in story.novelty_parts if part.feature == lost[0]]
    if not odd:
        return Unlike()
    part, name = odd[0], spoken(odd[0].feature)
    found = Unlike(f"{name} is {_value_beside_usual(part, story)}")
    found.named, usual = f"{name} is {value_text(part.value)}", usual_text(part.usual)
    is_known = usual and _is_outside(part) and not any(own == part.feature for own, _ in story.unseen)
    found.usually = f"{name} is usually {usual}" if is_known else found
    return found


def what_lacks(story: Story) -> str:
    """Which values are missing, to follow another clause."""
    names = [spoken(name) for name in story.missing]
    if not names:
        return ""
    if len(names) > 3:
        return f", with {len(names)} values missing"
    return f", and {listed(names)} {'is' if len(names) == 1 else 'are'} missing"


def _value_beside_usual(part: NoveltyPart, story: Story) -> str:
    if any(name == part.feature for name, _ in story.unseen):
        return f"{value_text(part.value)}, a category that training did not have"
    usual = usual_text(part.usual)
    if usual and _is_outside(part):
        return f"{value_text(part.value)}, while {usual} is usual{'' if story.balance else ' for such rows'}"
    return f"{value_text(part.value)}, outside what a rule saw in training"


def _is_outside(part: NoveltyPart) -> bool:
    usual = part.usual
    if usual is None or usual.low is None or usual.high is None or not isinstance(part.value, float):
        return part.is_unusual
    return not usual.low <= part.value <= usual.high


def usual_text(usual: Usual | None) -> str:
    """What is usual, in words; "" where nothing is known."""
    if usual is None:
        return ""
    if usual.categories:
        return listed([spoken(own) for own in usual.categories], "or")
    if usual.low is None or usual.high is None:
        return ""
    if usual.low == usual.high:
        return number_text(usual.low)
    return f"{number_text(usual.low)} to {number_text(usual.high)}"


def novelty_section(story: Story) -> Section:
    """Novelty by feature, beside what is usual."""
    if len(story.missing) == len(story.novelty_parts):
        return Section(TITLE, ("Nobody can say, since all values are missing.",))
    if story.novelty == 0:
        return Section(TITLE, ("Not at all unusual: novelty is 0.",))
    lines = [
        f"{spoken(name)} is {value_text(value)}, a category that training did not have." for name, value in story.unseen
    ]
    parts = [part for part in story.novelty_parts if part.part >= 0.005 * story.novelty][:MAX_FEATURES]
    rows = tuple(
        (spoken(part.feature), value_text(part.value), usual_text(part.usual), _share(part.part, story.novelty))
        for part in parts
    )
    is_tree = story.balance is None
    what, verb, who = ("the firing", "is", "rules") if is_tree else ("all weights", "are", "training")
    for name, lost in story.lost_support[:MAX_FEATURES]:
        if lost >= LEAST_LOST:
            part = f"{share_text(lost)} of {what} is lost" if lost < ALL_LOST else f"{what} {verb} lost".capitalize()
            lines.append(f"{part}, since {who} saw no such {spoken(name)}.")
    lines.insert(0, _amount(story.novelty, story.novelty_rank))
    usual = "usual for such rows" if is_tree else "usual"
    return Section(TITLE, tuple(lines), Table(("feature", "value", usual, "share of novelty"), rows))


def _amount(novelty: float, rank: float | None) -> str:
    """How novel a row is, on the scale of the training rows where that is known."""
    if not math.isfinite(novelty):
        return "Novelty is too large to be told."
    told = number_text(novelty if novelty < 100 else round(novelty), digits=3)
    return f"Novelty is {told}." if rank is None else f"{novelty_verdict(rank)} (novelty {told})."


def _share(part: float, novelty: float) -> str:
    return f"{100 * part / novelty:.0f} %" if math.isfinite(novelty) else ""
