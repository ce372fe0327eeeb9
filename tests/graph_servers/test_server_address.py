"""Addresses of graph servers: what they name, and that no password is ever shown."""

from __future__ import annotations

import pytest

from knotwork._config import SecretRef, load_settings
from knotwork._extensions.graphs.servers.server_address import (
    check_connection_name,
    password_variable,
    read_address,
)
from knotwork.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "shown", "endpoint", "database"),
    [
        ("bolt://h", "bolt://h", "bolt://h", ""),
        ("bolt+s://u:pw@h:7687/g", "bolt+s://u@h:7687/g", "bolt+s://h:7687", "g"),
        ("NEO4J://H:1/a%20b/", "neo4j://h:1/a%20b", "neo4j://h:1", "a b"),
        ("bolt://[::1]:7687", "bolt://[::1]:7687", "bolt://[::1]:7687", ""),
        ("sparql+http://h:3/q?x=1", "sparql+http://h:3/q?x=1", "http://h:3/q?x=1", ""),
        ("sparql+https://u:pw@h/q", "sparql+https://u@h/q", "https://h/q", ""),
    ],
)
def test_a_url_is_read_and_shown_without_its_password(url, shown, endpoint, database):
    address = read_address(url)
    assert (address.url, address.endpoint, address.database) == (shown, endpoint, database)
    assert "pw" not in repr(address)


def test_login_and_password_are_decoded():
    address = read_address("bolt://a%40b:p%3Aw%2F@h/g")
    assert address.credentials() == ("a@b", "p:w/")
    assert address.url == "bolt://a%40b@h/g"


def test_a_variable_has_the_password(monkeypatch):
    address = read_address("bolt://ann@h").with_secret(SecretRef("ANN_KEY"))
    with pytest.raises(ConfigError, match="ANN_KEY"):
        address.credentials()
    monkeypatch.setenv("ANN_KEY", "hidden")
    assert address.credentials() == ("ann", "hidden")
    assert read_address("bolt://h").credentials() is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:7687",
        "http://u:hidden@h",
        "bolt://",
        "bolt://u:hidden@h/a/b",
        "bolt://u:hidden@h/g?x=1",
        "bolt://u:hidden@h:port",
        "postgresql://u:hidden@h",
    ],
)
def test_other_urls_are_refused_without_their_password(url):
    with pytest.raises(ConfigError, match="graph server") as refused:
        read_address(url)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "1a", "a b", "a/b", "../a", "a" * 65, "名"])
def test_other_names_of_connections_are_refused(name):
    with pytest.raises(ConfigError, match="not a name for a connection"):
        check_connection_name(name)


def test_the_variable_of_a_connection_follows_from_its_name():
    assert password_variable(check_connection_name("my-movies.2")) == "MY_MOVIES_2_PASSWORD"


def test_a_password_in_the_url_of_the_mirror_is_refused_and_not_shown():
    for given in (
        {"overrides": {"graph.mirror": "bolt://u:hidden@h"}},
        {"environ": {"KNOTWORK_GRAPH_MIRROR": "bolt://u:hidden@h"}},
    ):
        with pytest.raises(ConfigError, match="mirror_password") as refused:
            load_settings(**given)
        assert "hidden" not in str(refused.value)
