"""`knotwork demo`: index the bundled sample and answer three questions."""
