"""Files that the back office imports into payments: bank accounts, and the bank's returned payments."""
