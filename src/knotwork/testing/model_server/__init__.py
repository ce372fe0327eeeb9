"""An OpenAI-compatible server for tests and demos, with rule-based replies and faults on demand.

Run it standalone with ``python -m knotwork.testing.model_server --port 8123``.
"""

from knotwork.testing.model_server._batches import BatchPlan
from knotwork.testing.model_server._server import ModelTestServer
from knotwork.testing.model_server._traffic import Call, Fault, FaultPlan, Totals, Traffic

__all__ = ["BatchPlan", "Call", "Fault", "FaultPlan", "ModelTestServer", "Totals", "Traffic"]
