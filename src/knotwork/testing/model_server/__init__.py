"""A model server for tests and demos: OpenAI-compatible, local, without a model, with faults.

Run it by itself with ``python -m knotwork.testing.model_server --port 8123``.
"""

from knotwork.testing.model_server.server import ModelTestServer
from knotwork.testing.model_server.traffic import Call, Fault, FaultPlan, Totals, Traffic

__all__ = ["Call", "Fault", "FaultPlan", "ModelTestServer", "Totals", "Traffic"]
