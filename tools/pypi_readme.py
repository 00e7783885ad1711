"""Prepare README.md and pyproject.toml for the package index: absolute links and pictures, addresses of the project.

The index shows README.md outside of the repository, where relative links lead nowhere. The workflow runs this in its
checkout before it builds: ``python tools/pypi_readme.py --repository OWNER/NAME --ref v0.1.0``
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURES = (".png", ".svg", ".jpg", ".gif")
TARGET = re.compile(r'(?P<before>\]\(|src=")(?P<path>[^)"#:\s]*)(?P<after>[^)"]*[)"])')


def absolute_links(text: str, repository: str, ref: str) -> str:
    """The text with the address of the repository before every relative link; pictures as raw files.

    >>> absolute_links("[guide](docs/guide.md#top) ![x](a.png) [web](https://x.org)", "me/it", "v1")
    '[guide](https://github.com/me/it/blob/v1/docs/guide.md#top) ![x](https://raw.githubusercontent.com/me/it/v1/a.png) [web](https://x.org)'
    """

    def absolute(result: re.Match[str]) -> str:
        path, after = result["path"], result["after"]
        if not path or after.startswith(":"):
            return result[0]
        is_picture = path.lower().endswith(PICTURES)
        base = f"raw.githubusercontent.com/{repository}" if is_picture else f"github.com/{repository}/blob"
        return f"{result['before']}https://{base}/{ref}/{path}{after}"

    return TARGET.sub(absolute, text)


def with_urls(project: str, repository: str) -> str:
    r"""The text of pyproject.toml with the addresses of the project; those that it has stay.

    >>> print(with_urls('[project.urls]\nHomepage = "https://x.org"\n', "me/it").splitlines()[1:3])
    ['Homepage = "https://x.org"', 'Documentation = "https://github.com/me/it/blob/main/docs/index.md"']
    """
    address = f"https://github.com/{repository}"
    urls = {
        "Homepage": address,
        "Documentation": f"{address}/blob/main/docs/index.md",
        "Source": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/main/CHANGELOG.md",
    }
    known = tomllib.loads(project).get("project", {}).get("urls")
    lines = "".join(f'{name} = "{item}"\n' for name, item in urls.items() if name not in (known or {}))
    if known is None:
        return project.replace("[project.scripts]", f"[project.urls]\n{lines}\n[project.scripts]", 1)
    return re.sub(
        r"^\[project\.urls\]\n(?:[^\[\n].*\n)*", lambda result: result[0] + lines, project, count=1, flags=re.MULTILINE
    )


def main(arguments: list[str] | None = None) -> None:
    """Change both files in place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", required=True, help="owner and name on GitHub, OWNER/NAME")
    parser.add_argument("--ref", default="main", help="branch, tag or commit that links lead to")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of the two files")
    asked = parser.parse_args(arguments)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", asked.repository):
        parser.error(f"--repository is {asked.repository!r}; it must be OWNER/NAME.")
    for name, change in (
        ("README.md", lambda text: absolute_links(text, asked.repository, asked.ref)),
        ("pyproject.toml", lambda text: with_urls(text, asked.repository)),
    ):
        path = asked.root / name
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
