"""`serve` and `keys`: what they refuse, and what they keep."""

from __future__ import annotations

import builtins
import sys

import pytest
from tests.cli.running import knotwork

from knotwork._extensions.server.keys import KeyFile


def test_a_key_is_made_listed_and_removed(tmp_path):
    made = knotwork("keys", "add", "bot", "--place", tmp_path, "-w", "one", "--json").json
    found = KeyFile(tmp_path / ".knotwork-keys.json").find(made["key"])
    assert (found.name, found.role, found.workspaces) == ("bot", "read", ("one",))
    listed = knotwork("keys", "list", "--place", tmp_path)
    assert "bot" in listed.out
    assert made["key"].split("_", 2)[2] not in listed.out
    assert knotwork("keys", "remove", "bot", "--place", tmp_path).code == 0
    assert knotwork("keys", "list", "--place", tmp_path, "--json").json == {"keys": []}
    gone = knotwork("keys", "remove", "bot", "--place", tmp_path)
    assert (gone.code, "Unknown key" in gone.err) == (2, True)


def test_the_file_of_keys_may_lie_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("KNOTWORK_SERVICE_KEYS", str(tmp_path / "kept.json"))
    assert knotwork("keys", "add", "bot").code == 0
    assert [key.name for key in KeyFile(tmp_path / "kept.json").listed()] == ["bot"]


def test_a_key_is_bound_to_the_documents_of_a_filter(tmp_path):
    where = "team = sales or public = true"
    made = knotwork("keys", "add", "ann", "--place", tmp_path, "--where", where, "--json").json
    assert made["where"] == where
    found = KeyFile(tmp_path / ".knotwork-keys.json").find(made["key"])
    assert (found.role, found.where) == ("read", where)
    assert where in knotwork("keys", "list", "--place", tmp_path).out
    (listed,) = knotwork("keys", "list", "--place", tmp_path, "--json").json["keys"]
    assert listed["where"] == where


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--where", ""), "is empty"),
        (("--where", "team ="), "cannot be read"),
        (("--where", "page = 3"), "not to pages"),
        (("--where", "team = sales", "--role", "write"), "can only read"),
        (("--role", "owner"), "Unknown role"),
        (("-w", "../up"), "not a workspace name"),
        (("--place", "no/such/folder"), "does not exist"),
    ],
)
def test_a_key_that_means_nothing_is_not_made(tmp_path, arguments, told):
    outcome = knotwork("keys", "add", "bot", *arguments)
    assert (outcome.code, told in outcome.err) == (2, True), outcome.err
    assert not list(tmp_path.glob(".*keys*"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--host", "0.0.0.0"), "requires a key"),
        (("--port", "70000"), "70000"),
        (("--host", "not.an.address.invalid"), "requires a key"),
    ],
)
def test_a_server_that_nobody_could_use_safely_does_not_start(tmp_path, arguments, told):
    outcome = knotwork("serve", tmp_path, *arguments)
    assert (outcome.code, told in outcome.err) == (2, True), outcome.err


def test_files_that_are_not_indexes_are_not_served(tmp_path):
    outcome = knotwork("serve", tmp_path / "missing")
    assert (outcome.code, "neither a folder" in outcome.err) == (2, True)


def test_without_its_extra_the_server_says_which_to_install(tmp_path, monkeypatch):
    whole = builtins.__import__

    def without(name, *rest, **named):
        if name.partition(".")[0] in ("fastapi", "uvicorn"):
            raise ImportError(name)
        return whole(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    outcome = knotwork("serve", tmp_path)
    monkeypatch.undo()
    assert outcome.code == 2
    assert "knotwork[serve]" in outcome.err


@pytest.mark.parametrize("given", ["~/papers", "=papers", "a b=papers", "papers="])
def test_a_watched_folder_of_a_server_of_many_indexes_needs_a_workspace(tmp_path, given):
    outcome = knotwork("serve", tmp_path, "--watch", given)
    assert outcome.code == 2
    assert "--watch NAME=FOLDER" in outcome.err


def test_watching_without_its_library_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    outcome = knotwork("serve", tmp_path, "--watch", f"notes={tmp_path}")
    assert outcome.code == 2
    assert "knotwork[watch]" in outcome.err
