"""Records from files: read in many forms, judged by the rules of the interface, every fault named."""
