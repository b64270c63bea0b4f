"""Records from files: read in many formats, validated by the rules of the interface, every error with its cell."""
