"""TuGraph: written from its documentation and source, not tested against a server.

It needs labels and their properties to be declared before they are written, so that it can be a
source, but not a mirror.
"""

import re

from knotwork._graph_servers.dialects.dialect import Dialect

DIALECT = Dialect(
    name="TuGraph",
    mark="tugraph",
    is_tested=False,
    index="",
    is_mirror=False,
    plans_have_type=False,
    writing_steps=re.compile(
        r"\b(Create|Set|Delete|Merge|Remove|InQueryCall|StandaloneCall)\b", re.IGNORECASE
    ),
)
