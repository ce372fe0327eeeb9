"""Cross-encoders on this machine: in ONNX format (extra `rerank`), or on PyTorch."""
