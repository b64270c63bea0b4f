"""The site: settings, addresses, and the list of resources it serves."""
