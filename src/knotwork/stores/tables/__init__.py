"""Tables of rows, beside an index, which statements can read and do no more."""

from knotwork.stores.tables.database import TableFile, TableShape, tables_path

__all__ = ["TableFile", "TableShape", "tables_path"]
