"""Models that run in this process, on onnxruntime or by sentence-transformers."""
