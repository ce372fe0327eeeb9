"""An OpenAI-compatible server for tests and demos, with rule-based replies and faults on demand.

Run it standalone with ``python -m knotwork.testing.model_server --port 8123``.
"""

from knotwork._extensions.testing.model_server import (
    BatchPlan,
    Call,
    Fault,
    FaultPlan,
    ModelTestServer,
    Totals,
    Traffic,
)

__all__ = ["BatchPlan", "Call", "Fault", "FaultPlan", "ModelTestServer", "Totals", "Traffic"]

if __name__ == "__main__":
    from knotwork._extensions.testing.model_server.program import main

    main()
