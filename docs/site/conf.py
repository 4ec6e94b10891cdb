"""The documentation site: the pages of docs/, the notebooks, and the reference from docstrings.

`scripts/docs` gathers them in build/site-source (docs/ and notebooks/ beside the contents of this
folder, so that links between pages hold) and builds build/site. A warning ends it.
"""

from typing import Any

import tilewright

project = "tilewright"
author = "The tilewright authors"
release = version = tilewright.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
nb_execution_mode = "off"  # the tests run the notebooks; their outputs are stored
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
suppress_warnings = [
    "myst.header",  # pages of commands begin at their second level
    "misc.highlighting_failure",  # loops as pseudo-code in blocks of Python
    "ref.python",  # a type such as bytes that is the name of an attribute, too
]

html_theme = "furo"
html_title = "tilewright"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
autodoc_preserve_defaults = True
napoleon_use_rtype = False
exclude_patterns = ["README.md", "docs/README.md"]


def setup(app: Any) -> None:
    """Before the pages of sources are made: modules without a source have none to link to."""

    def forget_modules_without_source(app: Any) -> list[Any]:
        modules = getattr(app.env, "_viewcode_modules", {})
        for name in [name for name, source in modules.items() if not source]:
            del modules[name]
        return []

    app.connect("html-collect-pages", forget_modules_without_source, priority=100)
