"""The files that the agency, banks and accounts read and write: rows to bytes, and bytes to rows."""
