"""Settings of the documentation site: `python3 -m nox -s docs`."""

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

# Imported before autodoc does, which sets TYPE_CHECKING: some frameworks cannot be imported then.
import knotwork.adapters.haystack
import knotwork.adapters.langchain
import knotwork.adapters.llama_index  # noqa: F401

project = "Knotwork"
author = "The Knotwork authors"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "Knotwork"
html_show_sphinx = False
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "groupwise"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True


def setup(app: Sphinx) -> None:
    """Show CSV as plain text: Pygments has no lexer for it."""
    app.add_lexer("csv", TextLexer)
