"""Everything that writes bank accounts, payment runs and what follows from them."""
