"""Two servers serve one index on a database server; what one indexes, the other finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.serving import API, await_job, make_settings, open_client, upload

from knotwork._service.server import ServerConfig

pytestmark = pytest.mark.slow


def test_what_one_server_indexes_the_other_finds(postgres_url: str, tmp_path: Path) -> None:
    url = postgres_url.replace("postgres@", "postgres:s3cret@")
    places = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "served.knot"
        places.append(ServerConfig(path, make_settings(), url=url))
        places[-1].check()
    with open_client(places[0]) as one, open_client(places[1]) as other:
        text = "Ann Teal designed the bridge of Corvane."
        response = upload(one, "default", {"bridges.md": text})
        assert response.status_code == 202, response.text
        assert await_job(one, "default", response.json()["data"]["job"])["state"] == "finished"
        asked = {"question": "Who designed the bridge of Corvane?"}
        found = other.post(f"{API}/workspaces/default/search", json=asked)
        assert "Ann Teal" in found.text
        listed = other.get(f"{API}/workspaces").text
        assert "default" in listed
        assert "s3cret" not in found.text + listed
    assert not list(tmp_path.rglob("*s3cret*"))
    assert not places[0].path.exists()
