"""Language models from GGUF files, which llama.cpp serves from a process of its own."""
