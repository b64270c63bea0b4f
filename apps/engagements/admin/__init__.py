"""The back office of plans and their budgets; Django registers the pages when it imports this package."""

from apps.engagements.admin import booking_list, budgets, component_files, home, notices, plans
from apps.engagements.admin.plans import BUDGET_LISTS, PERIOD_BILLS, BudgetList
