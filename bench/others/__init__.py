"""Clients as other frameworks would serve them, over the same tables."""
