"""Nothing of payments is imported as records; files of returned payments are a kind of their own (admin)."""
