"""Files that people write by hand, in JSON or YAML: read as untrusted input, with the keys that stand there twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

MAX_BYTES = 1_000_000  # thousands of entries

_YAML = (".yaml", ".yml")


class Mapping(dict[Any, Any]):
    """A mapping that knows which keys stood in the file more than once; parsers keep the last and say nothing."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        super().__init__()
        self.repeated: list[Any] = []
        for key, value in pairs:
            if key in self:
                self.repeated.append(key)
            self[key] = value


def read_written(path: Path, error: type[ValueError], what: str) -> Any:
    """What stands in a JSON or YAML file of at most 1 MB; objects are :class:`Mapping`.

    Parameters
    ----------
    path : Path
        A .json, .yaml or .yml file.
    error : type
        What is raised when the file cannot be read as what its name says.
    what : str
        What such files hold, in the plural, for errors.

    Returns
    -------
    object
    """
    read = _read_yaml(path) if is_yaml(path, error) else _read_json
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise error(f"{path.name} has more than {MAX_BYTES:,} bytes; {what} are smaller. Is it the right file?")
    try:
        return read(content.decode("utf-8-sig"))
    except Exception as failure:  # parsers fail on odd files in many ways: recursion, dates, huge integers, ...
        remedy = " Put text with special characters, such as %, in quotes." if is_yaml(path, error) else ""
        said = str(failure)[:300]
        raise error(f"{path.name} cannot be read as {path.suffix[1:]}: {said}.{remedy}") from failure


def is_yaml(path: Path, error: type[ValueError]) -> bool:
    """Whether the name of a file says that it is YAML and not JSON; an error for other names."""
    suffix = path.suffix.lower()
    if suffix not in (".json", *_YAML):
        raise error(f"{path.name!r} does not end in .json, .yaml or .yml, so its format is unknown. Rename it.")
    return suffix in _YAML


def yaml_module(path: Path) -> Any:
    """The package PyYAML; without it an error says how to get it."""
    try:
        return import_module("yaml")
    except ImportError as error:
        raise ImportError(
            f"{path.name} is a YAML file, which needs PyYAML: pip install pyyaml. JSON files need nothing."
        ) from error


def _read_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=Mapping)


def _read_yaml(path: Path) -> Callable[[str], Any]:
    yaml = yaml_module(path)

    # The safe loader, less what surprises: yes, no, on, off and dates stay the words they are.
    resolvers = {
        first: [(tag, form) for tag, form in forms if not tag.endswith((":bool", ":timestamp"))]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader: Any = type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers})

    def mapping(loader: Any, node: Any) -> Mapping:
        return Mapping([tuple(loader.construct_object(part, deep=True) for part in pair) for pair in node.value])

    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    return lambda text: yaml.load(text, Loader=Loader)
