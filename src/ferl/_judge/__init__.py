"""What is answered to rows: labels, sets, abstention and what calibration rows promise of them; no scikit-learn.

``judgement.py`` decides on rows, ``answers.py`` writes answers as columns and files, ``conformity.py`` has sets with a
coverage guarantee, ``promises.py`` all that calibration rows promise, thresholds that keep an error rate among it, and
its file. The command line and the wrappers of :mod:`ferl.conformal`, :mod:`ferl.abstention` and
:mod:`ferl.calibration` share them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferl._util.files import TableFileError


class TakenNameError(TableFileError):
    """A table has a column already that has the name of an answer; ``column`` is that name."""

    def __init__(self, file: str, column: str) -> None:
        super().__init__(f"{file} has a column {column!r} already, which is the name of an answer. Rename the column.")
        self.file, self.column = file, column


class PromiseError(ValueError):
    """Calibration rows cannot support the requested guarantee.

    Parameters
    ----------
    text : str
        The message, with names in braces: ``{alpha}`` is a parameter and its value, ``{alpha_name}`` its name alone.
    parameters : dict
        Values of the parameters, by name.
    **facts : object
        What the other names in braces stand for.
    """

    def __init__(self, text: str, parameters: dict[str, Any], **facts: object) -> None:
        self.text, self.parameters, self.facts = text, parameters, facts
        super().__init__(self.worded(lambda name: name, lambda name, value: f"{name}={value:g}"))

    def worded(self, spell_name: Callable[[str], str], spell: Callable[[str, Any], str]) -> str:
        """The message, with parameters spelled in other words than Python's."""
        spelled = {name: spell(name, value) for name, value in self.parameters.items()}
        return self.text.format(**self.facts, **spelled, **{f"{name}_name": spell_name(name) for name in spelled})
