"""Names beside marks."""

from __future__ import annotations

from itertools import combinations

from matplotlib.figure import Figure

from ferl_bench.labels import label_marks


def test_names_cover_neither_each_other_nor_a_mark_and_stay_inside() -> None:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot(xlim=(0, 10), ylim=(0, 10))
    names = {"one tree": (5.0, 5.0), "another tree": (5.1, 5.1), "a third": (9.9, 5.0), "a fourth": (5.2, 9.9)}
    marks = [*names.values(), (5.6, 5.0)]
    axes.scatter(*zip(*marks, strict=True))
    label_marks(axes, names, marks)
    texts = [text for text in axes.texts if text.get_text()]
    assert sorted(text.get_text() for text in texts) == sorted(names)
    boxes, room = [text.get_window_extent() for text in texts], axes.get_window_extent()
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert not any(box.contains(*axes.transData.transform(mark)) for box in boxes for mark in marks)
    assert all(room.x0 <= box.x0 and box.x1 <= room.x1 and box.y1 <= room.y1 for box in boxes)


def test_names_of_many_marks_in_one_corner_go_farther_away_with_a_line() -> None:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot(xlim=(0, 10), ylim=(0, 10))
    names = {f"method number {k}": (4 + 0.2 * (k % 3), 5 + 0.3 * (k // 3)) for k in range(9)}
    marks = list(names.values())
    axes.scatter(*zip(*marks, strict=True))
    label_marks(axes, names, marks)
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 9
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert axes.lines
