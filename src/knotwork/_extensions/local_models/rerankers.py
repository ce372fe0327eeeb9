"""Cross-encoders on this machine: in ONNX format (extra `rerank`), or on PyTorch."""

from __future__ import annotations

from pathlib import Path

from knotwork._config import RerankSettings
from knotwork._inference.cross_encoders import Reranker


def open_local_reranker(model: str, settings: RerankSettings) -> Reranker:
    """Open a reranker that runs in this process: its folder, or its name."""
    from knotwork._extensions.local_models.onnx_reranker import OnnxReranker, find_graph

    folder = Path(model).expanduser()
    if find_graph(folder) is not None:
        return OnnxReranker(folder, threads=settings.threads)
    from knotwork._extensions.local_models.torch_reranker import LocalReranker

    return LocalReranker(model, download=settings.download)
