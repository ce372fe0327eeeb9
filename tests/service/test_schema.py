"""Requests made from the OpenAPI document find no failure of the server and no breach of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.service.serving import copy_index, make_settings, run_server

from knotwork._extensions.server import make_app
from knotwork._extensions.server.server import ServerConfig

pytestmark = pytest.mark.slow


CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
KEPT = ["open", "default"]
schema = schemathesis.openapi.from_dict(make_app(ServerConfig(Path("nowhere"))).openapi())
schema.config.phases.coverage.enabled = False
schema.config.phases.examples.enabled = False


@pytest.fixture(scope="module")
def address(sample_index, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzzed")
    copy_index(sample_index, folder / "open.knot")
    with run_server(ServerConfig(folder, make_settings(timeout_s=20.0))) as address:
        yield address


def test_the_document_is_one_of_openapi_3_1():
    document = make_app(ServerConfig(Path("nowhere"))).openapi()
    assert document["openapi"].startswith("3.1")
    names = [o["operationId"] for path in document["paths"].values() for o in path.values()]
    assert len(names) == len(set(names)) > 30


@schema.parametrize()
@settings(
    max_examples=settings().max_examples // 10,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_no_request_makes_the_server_fail_or_break_its_word(case, address):
    if case.meta.generation.mode is GenerationMode.POSITIVE and "workspace" in case.path_parameters:
        case.path_parameters["workspace"] = "open"
    if case.method == "DELETE" and case.path_parameters.get("workspace") in KEPT:
        case.path_parameters["workspace"] = "ghost"
    case.call_and_validate(base_url=address, checks=CHECKS)
