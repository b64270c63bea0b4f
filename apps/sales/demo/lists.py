"""The short lists of the demo's sales: stages, types, reasons and templates."""

from __future__ import annotations

from typing import Any

from apps.sales.choices import Outcome, Source

RESULT = "Result"
#: In the order of the board.
STAGES = ("Enquiry", "First meeting", "Agreement sent", "Waiting for the plan", RESULT)

PLAN_MANAGEMENT = "Plan management"
COORDINATION = "Support coordination"
PARTNERSHIP = "Provider partnership"
TYPES = (PLAN_MANAGEMENT, COORDINATION, PARTNERSHIP)
CLOSED_TYPES = ("Transition programme",)

REASONS: dict[str, tuple[str, ...]] = {
    Outcome.DEFERRED.value: ("Waiting for a plan review", "Plan starts later", "Family decides next year"),
    Outcome.SALE_SUCCESSFUL.value: ("Recommended by others", "Invoices paid fast", "Office nearby"),
    Outcome.SALE_UNSUCCESSFUL.value: (
        "Chose another plan manager",
        "Manages the plan themselves",
        "Plan is agency-managed",
        "Could not be reached",
    ),
}

#: Name of a template, and what it fills in.
TEMPLATES: dict[str, dict[str, Any]] = {
    "New participant, by referral": {
        "opportunity_name": "Plan management for a new participant",
        "source": Source.REFERRAL.value,
        "referrer_organisation": "Harbour Lights Support Services (demo)",
        "upfront_value_of_sale": "232.35",
        "recurring_annual_value": "1254.48",
        "chance_of_sales": "60.00",
        "expiry_date_interval": 90,
        "follow_up_date_interval": 7,
        "stage": STAGES[0],
        "type": PLAN_MANAGEMENT,
    },
    "Expo visitor": {
        "opportunity_name": "Visitor to our stand",
        "source": Source.MARKETING_EVENT.value,
        "source_details": "Disability expo",
        "recurring_annual_value": "1254.48",
        "chance_of_sales": "15.00",
        "expiry_date_interval": 60,
        "follow_up_date_interval": 14,
        "stage": STAGES[0],
        "type": PLAN_MANAGEMENT,
    },
    "Coordination for a plan we manage": {
        "opportunity_name": "Support coordination added to plan management",
        "source": Source.CLIENT_CUSTOMER.value,
        "source_details": "Plan review",
        "recurring_annual_value": "4005.60",
        "chance_of_sales": "40.00",
        "follow_up_date_interval": 21,
        "stage": STAGES[1],
        "type": COORDINATION,
    },
}
CLOSED_TEMPLATES = ("Transition programme intake",)

#: Names of opportunities that come from no template, by type.
NAMES: dict[str, tuple[str, ...]] = {
    PLAN_MANAGEMENT: ("Plan management", "Change of plan manager", "Plan management for two siblings"),
    COORDINATION: ("Support coordination", "Specialist support coordination", "Coordination after hospital"),
    PARTNERSHIP: ("Referral partnership", "Group intake with a provider", "Information session for staff"),
}
#: How each source that can be described is.
DETAILS: dict[str, tuple[str, ...]] = {
    Source.CALL_COLD.value: ("Call list of providers",),
    Source.CALL_WARM.value: ("Asked to be called back", "Met at a network meeting"),
    Source.CLIENT_CUSTOMER.value: ("Plan review", "Sibling of a participant"),
    Source.E_MARKETING.value: ("Newsletter, autumn", "Newsletter, spring"),
    Source.MARKETING_EVENT.value: ("Disability expo", "Open day at Parramatta"),
    Source.SEARCH_ENGINE.value: ("Searched for a plan manager nearby",),
    Source.TRAINING.value: ("Workshop on plan reviews",),
    Source.SOCIAL_MEDIA.value: ("Parents' group", "Advertisement"),
    Source.OTHER.value: ("Walked into the office",),
}
SOURCES = (
    *(Source.REFERRAL.value,) * 7,
    *(Source.CLIENT_CUSTOMER.value, Source.SEARCH_ENGINE.value, Source.CALL_WARM.value) * 3,
    *(Source.MARKETING_EVENT.value, Source.E_MARKETING.value, Source.SOCIAL_MEDIA.value) * 2,
    *(Source.CALL_COLD.value, Source.TRAINING.value, Source.OTHER.value),
    None,
)
REFERRERS = (
    ("Rosa", "De Luca", "Two Creeks Occupational Therapy (demo)", "rosa.deluca@example.com"),
    ("Erin", "Walsh", None, "erin.walsh@example.com"),
    (None, None, "Harbour Lights Support Services (demo)", None),
)
