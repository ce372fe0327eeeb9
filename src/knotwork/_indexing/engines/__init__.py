"""Engines: where the documents of a run are prepared and embedded."""
