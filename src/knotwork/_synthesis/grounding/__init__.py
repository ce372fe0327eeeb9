"""Check that the statements of a model are said by the passages that they cite."""
