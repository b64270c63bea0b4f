"""The files of banks and accounting packages: pure functions from rows to bytes, and back."""
