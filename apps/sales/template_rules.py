"""What must be true of opportunity templates (interface.md 2.8)."""

from apps.sales.prospect_rules import PROSPECT_RULES

RULES = PROSPECT_RULES
