"""Models on this machine beside the built-in ones: GGUF files, cross-encoders, PyTorch."""
