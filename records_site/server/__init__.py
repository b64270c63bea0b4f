"""The production server: a parent, its workers, and in each of them a loop beside threads."""
