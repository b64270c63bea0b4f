"""Demo documents: small files that open, made in code."""
