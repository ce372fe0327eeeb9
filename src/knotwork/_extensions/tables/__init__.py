"""The tables of spreadsheets beside an index, and read-only SQL over them."""
