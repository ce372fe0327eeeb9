"""A cluster of several nodes that runs already: it is found by its address, and may lose a node."""

import os
import socket
import subprocess
import sys

import pytest
from tests.indexing.ray_parts import built, open_index, write_documents
from tests.indexing.snapshots import snapshot

from knotwork._run import Stage

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="a cluster of nodes needs POSIX"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

DRIVER = """
import sys
from tests.indexing.ray_parts import open_index

if __name__ == "__main__":
    with open_index(sys.argv[1], compute=sys.argv[3]) as kb:
        report = kb.index(sys.argv[2])
        print(report.added, report.failed)
"""


@pytest.fixture
def folder(tmp_path):
    return write_documents(tmp_path / "docs")


@pytest.fixture
def nodes(monkeypatch):
    """Start a cluster of two nodes with a processor each, and a server for clients."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "ray_client_server_port": port},
    )
    cluster.client_port = port
    cluster.second = cluster.add_node(num_cpus=1)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_a_lost_node_costs_only_what_was_in_progress(nodes, tmp_path, folder):
    ray.init(address=nodes.address, log_to_driver=False)
    with open_index(tmp_path / "ray.knot") as kb:
        for event in kb.index.run(folder):
            if event.stage is Stage.ADDED and nodes.second is not None:
                nodes.remove_node(nodes.second)
                nodes.second = None
        on_ray = snapshot(kb.store)
    assert nodes.second is None
    assert on_ray == built(tmp_path / "here.knot", folder, compute="processes")[0]


@pytest.mark.parametrize("compute", ["ray:{address}", "ray://127.0.0.1:{port}"])
def test_a_cluster_is_found_by_its_address(nodes, tmp_path, folder, compute):
    named = compute.format(address=nodes.address, port=nodes.client_port)
    run = subprocess.run(
        [sys.executable, "-c", DRIVER, tmp_path / "ray.knot", folder, named],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout) == (0, "26 2\n"), run.stderr
    with open_index(tmp_path / "ray.knot", compute="processes") as kb:
        assert snapshot(kb.store) == built(tmp_path / "h.knot", folder, compute="processes")[0]
