"""Names beside the marks of a picture, where they cover neither each other nor a mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Mark = tuple[float, float]
MARK_POINTS = 5  # half the width of a mark
# Right or left of the mark, above it, below it: offsets in points, and how the text lies there.
PLACES = (
    (8, 3, "left", "bottom"),
    (8, -3, "left", "top"),
    (-8, 3, "right", "bottom"),
    (-8, -3, "right", "top"),
    (0, 8, "center", "bottom"),
    (0, -8, "center", "top"),
)
# Farther away, with a thin line from the mark to its name.
FAR_PLACES = tuple(
    (sign * right, up, "left" if sign > 0 else "right", "center")
    for distance in (18, 30, 44, 60)
    for up, right in (
        (distance, 10),
        (-distance, 10),
        (distance / 2, distance),
        (-distance / 2, distance),
        (0, distance),
    )
    for sign in (1, -1)
)


def label_marks(axes: Any, names: Mapping[str, Mark], marks: Sequence[Mark], texts: Sequence[Any] = ()) -> None:
    """Write each name at the first place beside its mark where there is room, or farther away with a line to the mark.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The picture, finished but for the names.
    names : mapping of str to pair of float
        Where the marks are that have a name.
    marks : sequence of pair of float
        All marks.
    texts : sequence of matplotlib.text.Text, default=()
        Text that is in the picture already.
    """
    from matplotlib.transforms import Bbox

    axes.figure.draw_without_rendering()  # so that everything is in its place
    half = MARK_POINTS * axes.figure.dpi / 72
    centres = [axes.transData.transform(mark) for mark in marks]
    taken = [Bbox.from_extents(x - half, y - half, x + half, y + half) for x, y in centres]
    taken += [text.get_window_extent() for text in texts]
    room = axes.get_window_extent()
    for name, mark in names.items():
        candidates = [_write(axes, name, mark, *place) for place in (*PLACES, *FAR_PLACES)]
        boxes = [text.get_window_extent() for text in candidates]
        # Leaving the picture is worse than covering something.
        cost = [
            100 * (box.x0 < room.x0 or box.x1 > room.x1 or box.y0 < room.y0 or box.y1 > room.y1)
            + sum(box.overlaps(other) for other in taken)
            for box in boxes
        ]
        best = cost.index(min(cost))
        taken.append(boxes[best])
        for place, text in enumerate(candidates):
            if place != best:
                text.remove()
        if best >= len(PLACES):
            _draw_line(axes, mark, boxes[best])


def _write(axes: Any, name: str, mark: Mark, right: float, up: float, horizontal: str, vertical: str) -> Any:
    place = {"xytext": (right, up), "textcoords": "offset points", "ha": horizontal, "va": vertical}
    text = axes.annotate(name, mark, fontsize="small", **place)
    text.set_in_layout(False)  # names do not move the picture
    return text


def _draw_line(axes: Any, mark: Mark, box: Any) -> None:
    """A thin line from a mark to the nearest end of its name."""
    x, _ = axes.transData.transform(mark)
    end = axes.transData.inverted().transform((box.x0 if x < box.x0 else box.x1, (box.y0 + box.y1) / 2))
    axes.plot(*zip(mark, end, strict=True), color="gray", linewidth=0.6, zorder=1)
