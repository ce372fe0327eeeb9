"""The types of the web pages are those of the server's own description."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from knotwork._extensions.server import make_app
from knotwork._extensions.server.server import ServerConfig

pytestmark = pytest.mark.slow


KEPT = Path(__file__).parents[2] / "web" / "openapi.json"


def test_the_kept_description_of_the_server_is_current():
    told = make_app(ServerConfig(Path("nowhere"))).openapi()
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert kept == json.loads(json.dumps(told)), "run: npm run schema, in web/"
