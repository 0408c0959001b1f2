# ruff: noqa: INP001 - no package, but what Sphinx reads
"""How `make docs` makes a site of README, docs and spec: Sphinx, with nothing from elsewhere."""

from __future__ import annotations

import hedgerow

project = "hedgerow"
author = "the hedgerow authors"
copyright = author  # noqa: A001 - what Sphinx calls it
version = release = hedgerow.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/site/index"
include_patterns = [
    "docs/**", "spec/*.md", "README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md",
    "benches/README.md", "clients/typescript/README.md",
]  # fmt: skip
exclude_patterns = ["docs/pictures"]

# Two hyphens are an option, and a word between backquotes is code, as everywhere here.
smartquotes = False
default_role = "code"
myst_heading_anchors = 6

autodoc_member_order = "bysource"
autodoc_typehints = "description"

html_theme = "furo"
html_title = f"hedgerow {version}"
html_copy_source = False
html_show_sphinx = False
html_extra_path = ["root"]  # leads from the folder of the site to its first page
