"""Load files of many formats as documents: text, title, headings, pages, tables and metadata."""
