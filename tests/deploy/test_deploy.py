"""The files for containers follow their schemas, and say what the package does."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import kubernetes_validate
import psycopg
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from tests.postgres_server import server_programs

import knotwork
from knotwork._cli.main import app
from knotwork._config import load_settings
from knotwork._config.settings import setting_fields
from knotwork._extensions.postgres.connection import read_address
from knotwork._extensions.server import make_app
from knotwork._extensions.server.server import ServerConfig

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
PORT = load_settings(environ={}).settings.service.port
PINNED = re.compile(r"[\w./-]+:[\w.-]*\d[\w.-]*")
VARIABLE = re.compile(r"KNOTWORK_[A-Z_]+")
PASSWORD = "KNOTWORK_PASSWORD"
"""A variable of the database's container: no setting of Knotwork."""


@pytest.fixture(scope="module")
def steps() -> ModuleType:
    """The script that carries out the steps of the Containerfile."""
    spec = importlib.util.spec_from_file_location("run_steps", DEPLOY / "run_steps.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stages(steps: ModuleType) -> Any:
    return steps.read_stages((DEPLOY / "Containerfile").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


def objects() -> dict[str, dict[str, Any]]:
    """Return the objects of the manifests, by kind and name."""
    found = {}
    for path in KUBERNETES.glob("*.yaml"):
        if path.name != "kustomization.yaml":
            for item in yaml.safe_load_all(path.read_text(encoding="utf-8")):
                found[f"{item['kind']} {item['metadata']['name']}"] = item
    return found


def container(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the pod and the container of an object."""
    pod = objects()[name]["spec"]["template"]["spec"]
    for item in pod["containers"]:
        yield pod, item


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    served = make_app(ServerConfig(tmp_path_factory.mktemp("served")))
    return set(served.openapi()["paths"])


def parse(arguments: list[str]) -> None:
    """Parse a command line, without running it. Raises click.UsageError."""
    with app.make_context("knotwork", list(arguments)) as context:
        name, command, rest = app.resolve_command(context, list(arguments))
        assert command is not None
        command.make_context(name, rest, parent=context).close()


class TestImage:
    def test_the_server_runs_as_a_user_without_rights(self, stages: Any) -> None:
        *_, image = stages
        users = [step.text for step in image.steps if step.instruction == "USER"]
        assert users == ["10001:10001"]
        assert image.entry == ["knotwork"]
        parse(image.command)

    def test_base_images_are_pinned(self, stages: Any) -> None:
        assert len(stages) == 3
        assert all(PINNED.fullmatch(stage.base) for stage in stages)

    def test_copied_files_exist_and_are_not_ignored(self, stages: Any, steps: ModuleType) -> None:
        ignored = steps.GitIgnoreSpec.from_lines(steps.IGNORED.read_text().splitlines())
        names = {stage.name for stage in stages}
        for stage in stages:
            for step in stage.steps:
                words = step.text.split()
                if step.instruction != "COPY":
                    continue
                if words[0].startswith("--from="):
                    assert words[0].removeprefix("--from=") in names
                    continue
                for source in words[:-1]:
                    assert (ROOT / source).exists()
                    assert not ignored.match_file(source)
        for private in (".git/config", ".env", "deploy/.env", "notes.knot", "tests/conftest.py"):
            assert ignored.match_file(private)
        assert not ignored.match_file("src/knotwork/__init__.py")
        assert ignored.match_file("src/knotwork/_extensions/server/web/index.html"), (
            "it is built again"
        )

    def test_the_extras_that_are_installed_exist(self, stages: Any) -> None:
        text = " ".join(step.text for stage in stages for step in stage.steps)
        (listed,) = re.findall(r'"\.\[([\w,-]+)\]"', text)
        project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        for extra in listed.split(","):
            assert f"\n{extra} = [" in project
        assert {"serve", "postgres", "local"} <= set(listed.split(","))

    def test_its_health_check_asks_a_route_of_the_server(
        self, stages: Any, routes: set[str]
    ) -> None:
        *_, image = stages
        (address,) = re.findall(r"http://\S+?(?=')", image.health[-1])
        parts = urlsplit(address)
        assert parts.path in routes
        assert parts.port == PORT
        assert str(PORT) in [s.text for s in image.steps if s.instruction == "EXPOSE"]
        compile(image.health[-1], "health check", "exec")

    def test_its_environment_matches_settings(self, stages: Any) -> None:
        *_, image = stages
        settings = load_settings(environ=image.env).settings
        assert settings.service.host == "0.0.0.0"
        assert not any("PASSWORD" in name or "KEY" in name for name in image.env)

    def test_an_unknown_instruction_is_no_step(self, steps: ModuleType) -> None:
        assert [s.instruction for s in steps.read_steps("# note\nRUN a && \\\n    b\n")] == ["RUN"]
        with pytest.raises(ValueError, match="SHELL"):
            steps.read_steps('SHELL ["sh"]')


class TestCompose:
    def test_it_follows_the_schema_of_compose_files(self, compose: dict[str, Any]) -> None:
        schema = get_builtin_schema("vendor.compose-spec")
        jsonschema.validate(compose, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**compose, "servces": {}}, schema)

    def test_the_server_has_few_rights_and_is_reached_from_this_machine(
        self, compose: dict[str, Any]
    ) -> None:
        server = compose["services"]["knotwork"]
        assert server["read_only"] is True
        assert server["cap_drop"] == ["ALL"]
        assert server["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
        assert "ports" not in compose["services"]["database"]
        for service in compose["services"].values():
            assert service["security_opt"] == ["no-new-privileges:true"]
            assert PINNED.fullmatch(service["image"]) or "build" in service
            assert service["mem_limit"]
        assert (DEPLOY / server["build"]["context"] / server["build"]["dockerfile"]).is_file()

    def test_no_password_is_in_the_file(self, compose: dict[str, Any]) -> None:
        for service in compose["services"].values():
            for name, value in service["environment"].items():
                if "PASSWORD" in name:
                    assert re.fullmatch(r"\$\{\w+:\?.+\}", value)

    def test_the_server_waits_for_the_database_and_finds_it(self, compose: dict[str, Any]) -> None:
        server, database = compose["services"]["knotwork"], compose["services"]["database"]
        assert server["depends_on"] == {"database": {"condition": "service_healthy"}}
        parse(server["command"])
        check_address(server["environment"]["KNOTWORK_STORE_PATH"], host="database")
        mounted = [volume.split(":") for volume in database["volumes"] if volume.startswith("./")]
        assert [(DEPLOY / source).is_file() for source, *_ in mounted] == [True]


def check_address(url: str, *, host: str) -> None:
    """Check that a URL of an index names a host, and the user and database that are made."""
    address = read_address(url)
    parts = urlsplit(url)
    assert (parts.hostname, parts.username, parts.password) == (host, "knotwork", None)
    assert parse_qs(parts.query) == {"index": [address.schema]}
    script = (KUBERNETES / "create-database.sh").read_text(encoding="utf-8")
    assert f"CREATE DATABASE {parts.path[1:]} OWNER {parts.username} " in script


class TestKubernetes:
    @pytest.mark.parametrize("version", ["1.31", "1.37"])
    def test_manifests_follow_the_schemas(self, version: str) -> None:
        known = objects()
        assert len(known) == 7
        for item in known.values():
            kubernetes_validate.validate(item, version, strict=True)
        broken = {**known["Deployment knotwork"], "spek": {}}
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(broken, version, strict=True)

    def test_the_kustomization_names_files_that_exist(self) -> None:
        found = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text(encoding="utf-8"))
        files = [*found["resources"], *found["configMapGenerator"][0]["files"]]
        assert all((KUBERNETES / name).is_file() for name in files)
        assert "secrets.example.yaml" not in files

    @pytest.mark.parametrize("name", ["Deployment knotwork", "StatefulSet knotwork-database"])
    def test_containers_have_few_rights(self, name: str) -> None:
        for pod, item in container(name):
            assert pod["securityContext"]["runAsNonRoot"] is True
            assert pod["securityContext"]["runAsUser"] > 0
            assert pod["automountServiceAccountToken"] is False
            rights = item["securityContext"]
            assert rights["allowPrivilegeEscalation"] is False
            assert rights["capabilities"] == {"drop": ["ALL"]}
            assert item["resources"]["limits"]["memory"]
            assert PINNED.fullmatch(item["image"]) or item["image"] == "knotwork:local"

    def test_the_server_is_the_one_of_the_image(self, stages: Any, routes: set[str]) -> None:
        *_, image = stages
        ((pod, item),) = container("Deployment knotwork")
        assert item["securityContext"]["readOnlyRootFilesystem"] is True
        assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" in [
            step.text for step in image.steps if step.instruction == "USER"
        ]
        parse(item["args"])
        assert item["ports"] == [{"name": "http", "containerPort": PORT}]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert item[probe]["httpGet"]["path"] in routes
            assert item[probe]["httpGet"]["port"] == "http"
        assert "/data" in [mount["mountPath"] for mount in item["volumeMounts"]]
        port = objects()["Service knotwork"]["spec"]["ports"][0]
        assert (port["port"], port["targetPort"]) == (PORT, "http")
        plain = {entry["name"]: entry["value"] for entry in item["env"] if "value" in entry}
        check_address(plain["KNOTWORK_STORE_PATH"], host="knotwork-database")
        assert load_settings(environ=plain).settings.service.keys == "/etc/knotwork/keys.json"

    @pytest.mark.parametrize("name", ["Deployment knotwork", "StatefulSet knotwork-database"])
    def test_references_exist(self, name: str) -> None:
        known = objects()
        ((pod, item),) = container(name)
        for entry in item["env"]:
            if "valueFrom" in entry:
                wanted = entry["valueFrom"]["secretKeyRef"]
                assert wanted["key"] in known[f"Secret {wanted['name']}"]["stringData"]
        claims = {
            claim["metadata"]["name"]
            for claim in known[name]["spec"].get("volumeClaimTemplates", ())
        }
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for mount in item["volumeMounts"]:
            assert mount["name"] in volumes.keys() | claims
        for volume in volumes.values():
            if "secret" in volume:
                assert f"Secret {volume['secret']['secretName']}" in known
            if "persistentVolumeClaim" in volume:
                name_of = volume["persistentVolumeClaim"]["claimName"]
                assert f"PersistentVolumeClaim {name_of}" in known
        labels = known[name]["spec"]["template"]["metadata"]["labels"]
        assert known[name]["spec"]["selector"]["matchLabels"].items() <= labels.items()

    def test_the_example_of_keys_is_a_file_of_keys(self) -> None:
        text = objects()["Secret knotwork-keys"]["stringData"]["keys.json"]
        assert json.loads(text) == {"keys": []}


def test_variables_are_settings() -> None:
    settings = {field.variable for field in setting_fields()}
    files = [*KUBERNETES.iterdir(), DEPLOY / "compose.yaml", DEPLOY / "Containerfile"]
    found = {name for file in files for name in VARIABLE.findall(file.read_text(encoding="utf-8"))}
    assert {"KNOTWORK_STORE_PATH", "KNOTWORK_SERVICE_HOST", PASSWORD} <= found
    assert found - {PASSWORD} <= settings


@pytest.mark.slow
def test_the_script_makes_a_database_whose_owner_makes_an_index(
    postgres_server: str, tmp_path: Path
) -> None:
    programs = server_programs()
    assert programs is not None
    parts = urlsplit(postgres_server)
    (host,) = parse_qs(parts.query)["host"]
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PGHOST": host,
        "POSTGRES_USER": "postgres",
        PASSWORD: "it's a \\ secret",
    }
    try:
        subprocess.run([KUBERNETES / "create-database.sh"], env=environment, check=True)
        url = f"postgresql://knotwork@/knotwork?host={host}&index=documents"
        with psycopg.connect(f"host={host} user=knotwork dbname=knotwork") as connection:
            ((is_super,),) = connection.execute(
                "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchall()
            assert is_super is False
        (tmp_path / "a.md").write_text("Ann Teal designed the bridge of Corvane.", "utf-8")
        with knotwork.open(url, embedding_model="none") as base:
            assert base.index(tmp_path / "a.md").added == 1
    finally:
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS knotwork WITH (FORCE)")
            connection.execute("DROP ROLE IF EXISTS knotwork")
