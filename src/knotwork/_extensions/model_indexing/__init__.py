"""What a language model does for an index: it reads documents, judges names and writes reports."""
