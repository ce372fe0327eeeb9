"""Models on this machine: embedders and an answer reader on onnxruntime, GGUF files, PyTorch."""
