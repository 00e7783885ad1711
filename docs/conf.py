"""Settings of the site. ``make -C docs html`` builds it without network access; a warning is an error."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import ferl  # noqa: E402 - conf.py needs its own folder first

project = "ferl"
author = "The FERL developers"
copyright = "the FERL developers"
release = version = ferl.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
exclude_patterns = ["_build", "_inventories", "**/README.*", "gallery", "auto_*/*.ipynb"]
templates_path = ["_templates"]
default_role = "code"

# Pages in Markdown; notebooks are executed when they have changed.
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = True
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 120
html_math_renderer = "mathml"
suppress_warnings = [
    "config.cache",  # the sort order of the gallery is a function
    "misc.highlighting_failure",  # what commands print is shown as plain text
]

# The reference lists __all__ of each module. Docstrings already contain the types.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_mock_imports = ["mlflow"] if importlib.util.find_spec("mlflow") is None else []  # large, and only named here
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = {"optional", "default", "of", "or", "shape", "n_samples", "n_features", "n_classes"}
# numpydoc would link these to terms of inventories that are not here.
_UNLINKED = "array_like array-like array bool boolean sequence iterable iterator file scalar callable list_like"
numpydoc_xref_aliases = {name: name for name in _UNLINKED.split()}
intersphinx_mapping = {
    "python": ("https://docs.python.org/3/", str(HERE / "_inventories" / "python.inv")),
    "sklearn": ("https://scikit-learn.org/stable/", str(HERE / "_inventories" / "sklearn.inv")),
    "pandas": ("https://pandas.pydata.org/docs/", str(HERE / "_inventories" / "pandas.inv")),
}

sphinx_gallery_conf = {
    "examples_dirs": ["gallery", "../examples/integrations"],
    "gallery_dirs": ["auto_gallery", "auto_integrations"],
    "filename_pattern": r"/gallery/plot_",  # integrations need services and packages; the tests run them
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "reference_url": {"ferl": None},
    "abort_on_example_error": True,
    "write_computation_times": False,
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"ferl {release}"
html_static_path = ["_static"]
html_css_files = ["ferl.css"]
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# The repository, as pyproject.toml names it, in the bar at the top.
_project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
if _repository := next((url for name, url in _project.get("urls", {}).items() if name in ("Repository", "Source")), ""):
    html_theme_options["icon_links"] = [
        {"name": "Repository", "url": _repository, "icon": "fa-brands fa-github", "type": "fontawesome"}
    ]
html_sidebars: dict[str, list[str]] = {
    page: [] for page in ("index", "start", "which_tool", "faq", "glossary", "changelog")
}


def _skip(app: Sphinx, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:
    """Skip what scikit-learn adds to every estimator: scikit-learn documents it."""
    module = getattr(inspect.unwrap(found), "__module__", "") if callable(found) else ""
    return (
        True
        if (module or "").startswith("sklearn") or (name.startswith("set_") and name.endswith("_request"))
        else None
    )


def _link_pages(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Turn page names in docstrings, such as docs/guide/rules.md, into links."""
    for index, line in enumerate(lines):
        lines[index] = re.sub(r"(?:``)?docs/([\w/]+)\.md(?:``)?", r":doc:`/\1`", line)


def _limit_pictures(app: Sphinx, doctree: nodes.document) -> None:
    """Draw the pictures of the guide at two thirds of their pixels: their text is then as large as the page's."""
    for image in doctree.findall(nodes.image):
        if re.search(r"pictures/(guide|results)/", image["uri"]):
            image["width"] = "640px"


def setup(app: Sphinx) -> None:
    """Connect the functions above; ignore deprecation warnings of other packages."""
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _link_pages)
    app.connect("doctree-read", _limit_pictures)
