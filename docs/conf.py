"""Settings of the documentation site: `python3 -m nox -s docs`."""

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
exclude_patterns = ["site"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "groupwise"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
