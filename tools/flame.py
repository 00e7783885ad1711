"""Draw a flame graph from the samples of perf: which function called which, and how much time was spent below it.

Build the core with frame pointers, so that perf can follow its calls, and record a fit:

    export CXXFLAGS=-fno-omit-frame-pointer
    cmake -S . -B build/flame -G Ninja -DCMAKE_BUILD_TYPE=Release -DFERL_WERROR=ON -DPython_EXECUTABLE=$(which python)
    cmake --build build/flame && cp build/flame/_core*.so src/ferl/
    python tools/fit_loop.py wide pima.csv --seconds 5 --samples perf.data
    perf script -i perf.data -F comm,ip,sym > samples.txt
    python tools/flame.py docs/pictures/flame_wide_pima.svg --title "fit of wide rules, pima" < samples.txt

What is not below a function of the core is one box, "Python": before Python 3.12 perf cannot tell Python's functions
apart; cProfile can.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, ROW, MARGIN = 1000, 17, 10
LEAST_SHARE = 0.004
"""Boxes below this part of the time are not drawn."""
LETTER = 6.3  # width of a letter of this size, about
COLOURS = ("#e8a33d", "#e0793a", "#d9953b", "#eab65a", "#de8650")
SKIPPED = re.compile(r"nanobind|nb_func|func_create|_M_invoke|^work$|^run$|^operator$|^\[unknown\]|^0x")
"""Frames that say nothing of the method: how calls are handed on."""


@dataclass
class Box:
    """A function as called from where it is drawn: samples in it or below it, and what it called."""

    samples: int = 0
    below: dict[str, Box] = field(default_factory=dict)

    def add(self, stack: list[str]) -> None:
        """Count one sample, the outermost function first."""
        self.samples += 1
        if stack:
            self.below.setdefault(stack[0], Box()).add(stack[1:])


def stacks(lines: Iterable[str]) -> Iterator[list[str]]:
    """The functions of each sample in what ``perf script -F comm,ip,sym`` prints, the outermost first."""
    stack: list[str] = []
    for line in lines:
        if not line.strip():
            if stack:
                yield stack[::-1]
            stack = []
        elif line[0] in " \t":
            stack.append(line.split(maxsplit=1)[1].strip() if len(line.split()) > 1 else "[unknown]")
    if stack:
        yield stack[::-1]


def short(symbol: str) -> str:
    """A function's name without namespaces, arguments and lambdas.

    Examples
    --------
    >>> short("ferl::rules::(anonymous namespace)::v3::score_channels<5ul>(float const*)")
    'score_channels'
    """
    name = symbol.replace("(anonymous namespace)", "").replace("std::_Function_handler<void (unsigned long), ", "")
    name = re.split(r"[(<{]", name)[0]
    return name.rstrip(":").split("::")[-1] or symbol[:40]


def own_calls(stack: list[str]) -> list[str]:
    """The calls from the first function of the core on; frames before it, and stacks without one, are Python's."""
    first = next((k for k, symbol in enumerate(stack) if "ferl::" in symbol), None)
    if first is None:
        return ["Python"]
    names = [short(symbol) for symbol in stack[first:] if not SKIPPED.search(symbol) or "ferl::" in symbol]
    names = [name for name in names if not SKIPPED.search(name)]
    return [name for k, name in enumerate(names) if k == 0 or name != names[k - 1]] or ["core"]


def boxes(box: Box, x: float, width: float, depth: int, all_samples: int) -> Iterator[str]:
    """SVG of what a box called, and of what those called."""
    for name, item in sorted(box.below.items()):
        wide = width * item.samples / max(box.samples, 1)
        share = item.samples / all_samples
        if share >= LEAST_SHARE:
            y = MARGIN + 24 + depth * ROW
            colour = COLOURS[sum(map(ord, name)) % len(COLOURS)]
            label = f"{name} {100 * share:.0f} %"
            shown = label if len(label) * LETTER < wide else name[: max(0, int(wide / LETTER) - 1)]
            yield (
                f'<g><title>{escape(label)}</title><rect x="{x:.1f}" y="{y}" width="{max(wide - 0.5, 0.3):.1f}" '
                f'height="{ROW - 1}" fill="{colour}"/><text x="{x + 3:.1f}" y="{y + 12}">{escape(shown)}</text></g>'
            )
            yield from boxes(item, x, wide, depth + 1, all_samples)
        x += wide


def depth_of(box: Box, all_samples: int) -> int:
    """How many boxes lie below one another."""
    shown = [item for item in box.below.values() if item.samples >= LEAST_SHARE * all_samples]
    return 1 + max((depth_of(item, all_samples) for item in shown), default=-1)


def draw(root: Box, title: str) -> str:
    """The flame graph as SVG, the outermost function at the top."""
    height = 2 * MARGIN + 24 + ROW * depth_of(root, root.samples)
    body = "\n".join(boxes(root, MARGIN, WIDTH - 2 * MARGIN, 0, root.samples))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="monospace" '
        f'font-size="10.5">\n<rect width="100%" height="100%" fill="white"/>\n'
        f'<text x="{MARGIN}" y="{MARGIN + 10}" font-size="13">{escape(title)}</text>\n{body}\n</svg>\n'
    )


def main() -> None:
    """Read samples from standard input and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path, help="SVG file to write")
    parser.add_argument("--title", default="", help="what was recorded")
    given = parser.parse_args()
    root = Box()
    for stack in stacks(sys.stdin):
        root.add(own_calls(stack))
    if root.samples == 0:
        sys.exit("No samples on standard input. Pipe in what `perf script -F comm,ip,sym` prints.")
    given.picture.write_text(draw(root, f"{given.title} ({root.samples:,} samples)"), encoding="utf-8")
    shares = {name: item.samples / root.samples for name, item in root.below.items()}
    for name, share in sorted(shares.items(), key=lambda item: -item[1]):
        print(f"{name}: {100 * share:.1f} %")


if __name__ == "__main__":
    main()
