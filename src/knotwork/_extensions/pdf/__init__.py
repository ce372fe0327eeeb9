"""The loader of PDF files: characters, lines, columns, tables, forms and scanned pages."""
