"""Imports of records from files of many formats, validated by the rules of the interface."""
