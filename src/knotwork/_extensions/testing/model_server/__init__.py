"""An OpenAI-compatible server for tests and demos, with rule-based replies and faults on demand.

Run it standalone with ``python -m knotwork.testing.model_server --port 8123``.
"""

from knotwork._extensions.testing.model_server.batches import BatchPlan
from knotwork._extensions.testing.model_server.server import ModelTestServer
from knotwork._extensions.testing.model_server.traffic import (
    Call,
    Fault,
    FaultPlan,
    Totals,
    Traffic,
)

__all__ = ["BatchPlan", "Call", "Fault", "FaultPlan", "ModelTestServer", "Totals", "Traffic"]
