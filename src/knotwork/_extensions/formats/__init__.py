"""Loaders of office files, mail, tables, books and other formats."""
