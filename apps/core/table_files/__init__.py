"""Files that are tables: CSV, XLSX, JSON and NDJSON as a header and rows of text."""
