"""Tables of rows, beside an index, which statements can read and do no more."""

from knotwork.stores.tables.database import TABLES_SUFFIX, TableFile, tables_path
from knotwork.stores.tables.layout import TableShape

__all__ = ["TABLES_SUFFIX", "TableFile", "TableShape", "tables_path"]
