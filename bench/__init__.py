"""Measurements: what a request costs here and in stock Django REST framework, in one run (README.md)."""
