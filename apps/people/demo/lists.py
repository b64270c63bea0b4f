"""Short lists of the demo's people, and the first records of each kind: the same for every seed."""

from __future__ import annotations

from typing import Any

from apps.core.demo import listed
from apps.people.choices import AnswerKind, AppliesTo

ADMINISTRATOR = "Administrator"
PLAN_MANAGER = "Plan manager"
ACCOUNTS_OFFICER = "Accounts officer"
SUPPORT_COORDINATOR = "Support coordinator"
READ_ONLY = "Read only"
PARTICIPANT = "Participant"
REPRESENTATIVE = "Representative"
PROVIDER_CONTACT = "Provider contact"

#: What all who work with records may see and add.
OFFICE = ("people.view_*", "documents.view_*", "documents.add_document", "documents.change_document")
#: What claiming needs: the permission of the staff member responsible, and entering and changing bills.
FUNDING = (
    "funding.administer_funding_invoices",
    *("funding.add_claim", "funding.add_invoice", "funding.add_providerinvoice"),
    *("funding.change_claim", "funding.change_invoice", "funding.change_providerinvoice"),
)

#: The permissions of each role in the back office, as patterns of ``app.codename``.
ROLES: dict[str, tuple[str, ...]] = {
    ADMINISTRATOR: (),  # all permissions, now and later
    PLAN_MANAGER: (
        *OFFICE,
        *("people.add_client", "people.change_client", "people.add_contact", "people.change_contact"),
        *("sales.view_*", "sales.add_opportunity", "sales.change_opportunity"),
        *("engagements.*", "funding.view_*", *FUNDING, "core.view_change"),
    ),
    ACCOUNTS_OFFICER: (
        *OFFICE,
        *("people.add_client", "people.change_client", "engagements.view_*", "funding.view_*", *FUNDING),
        *("funding.administer_credit_invoices", "funding.*_costcentre", "funding.*_price*"),
        *("funding.*_product", "core.view_change"),
    ),
    SUPPORT_COORDINATOR: (
        *OFFICE,
        *("people.add_contact", "people.change_contact", "sales.view_*", "sales.change_opportunity"),
        # Prices may be looked up and provider invoices added; claims are not shown.
        *("engagements.view_*", "funding.view_price*", "funding.view_product"),
        *("funding.view_providerinvoice", "funding.add_providerinvoice"),
    ),
    READ_ONLY: ("people.view_*", "documents.view_*", "sales.view_*", "engagements.view_*", "funding.view_*"),
    PARTICIPANT: (),
    REPRESENTATIVE: (),
    PROVIDER_CONTACT: (),
}
#: The roles of the staff who are not among ``STAFF``, in turn.
STAFF_ROLES = (PLAN_MANAGER,) * 4 + (ACCOUNTS_OFFICER, SUPPORT_COORDINATOR) * 2 + (READ_ONLY, ADMINISTRATOR)
POSITIONS = {
    ADMINISTRATOR: ("Operations Manager", "Systems Administrator"),
    PLAN_MANAGER: ("Plan Manager", "Senior Plan Manager", "Team Leader"),
    ACCOUNTS_OFFICER: ("Accounts Officer", "Senior Accounts Officer"),
    SUPPORT_COORDINATOR: ("Support Coordinator", "Specialist Support Coordinator"),
    READ_ONLY: ("Intake Officer", "Quality and Compliance Officer"),
}
LOCATIONS = listed(
    "Parramatta office, Newcastle office, Melbourne office, Brisbane office, Working from home"
)
CLOSED_LOCATION = "Wollongong office (closed)"
TEAMS = listed("Plan management north, Plan management south, Accounts, Support coordination, Intake")
CLOSED_TEAM = "Transition project"

#: One custom field of each kind for staff, clients and contacts: name, kind, options or examples.
CUSTOM_FIELDS: dict[str, tuple[tuple[str, AnswerKind, str], ...]] = {
    AppliesTo.STAFF.value: (
        ("Worker screening number", AnswerKind.TEXT, "WSC-DEMO-10482, WSC-DEMO-22917, WSC-DEMO-30655"),
        ("Years of experience", AnswerKind.NUMBER, ""),
        ("First aid certificate expires", AnswerKind.DATE, ""),
        ("Drives own car", AnswerKind.YES_NO, ""),
        ("Preferred way to meet", AnswerKind.CHOICE, "In person, By phone, By video"),
        (
            "Languages spoken",
            AnswerKind.CHOICES,
            "Arabic, Auslan, English, Greek, Hindi, Mandarin, Vietnamese",
        ),
    ),
    AppliesTo.CLIENT.value: (
        ("Liability insurance policy", AnswerKind.TEXT, "PL-DEMO-70021, PL-DEMO-71540, PL-DEMO-73388"),
        ("Number of support workers", AnswerKind.NUMBER, ""),
        ("Registration expires", AnswerKind.DATE, ""),
        ("Registered provider", AnswerKind.YES_NO, ""),
        ("Payment terms", AnswerKind.CHOICE, "7 days, 14 days, 30 days"),
        (
            "Registration groups",
            AnswerKind.CHOICES,
            "Assist Personal Activities, Community Nursing Care, Household Tasks, Therapeutic Supports",
        ),
    ),
    AppliesTo.CONTACT.value: (
        (
            "Communication needs",
            AnswerKind.TEXT,
            "Uses a communication book, Large print, Easy English, Uses a speech device",
        ),
        ("Support hours a week", AnswerKind.NUMBER, ""),
        ("Next plan review", AnswerKind.DATE, ""),
        ("Interpreter needed", AnswerKind.YES_NO, ""),
        ("Preferred language", AnswerKind.CHOICE, "English, Arabic, Auslan, Greek, Italian, Vietnamese"),
        ("Goals", AnswerKind.CHOICES, "Communication, Daily living, Health, Learning, Moving about, Work"),
    ),
}

# --- the first records of each kind ---------------------------------------------------------------------

ORGANISATION = "Southern Light Plan Management (demo)"
SYDNEY = {"city": "Sydney", "state": "NSW", "country": "Australia"}
#: Two of its digits changed places, so that its check fails.
WRONG_BUSINESS_NUMBER = "51824753565"

CLIENTS: tuple[dict[str, Any], ...] = (
    {
        "business_name": ORGANISATION,
        "is_self": True,
        "street_address": "Level 2, 16 Church Street",
        "suburb": "Parramatta",
        "post_code": "2150",
        "business_phone": "(02) 5550 0100",
        "web_address": "https://southern-light.example.com",
        **SYDNEY,
    },
    {
        "business_name": "Harbour Lights Support Services (demo)",
        "street_address": "48 Station Street",
        "suburb": "Newtown",
        "post_code": "2042",
        "business_phone": "(02) 5550 0148",
        "web_address": "https://harbour-lights.example.com",
        **SYDNEY,
    },
    {
        "business_name": "Two Creeks Occupational Therapy (demo)",
        "street_address": "5 Riverside Avenue",
        "suburb": "Parramatta",
        "post_code": "2150",
        "business_phone": "(02) 7010 0205",
        "web_address": "https://two-creeks.example.com",
        **SYDNEY,
    },
    # Without a business number: a claim that pays it has to give the reason.
    {
        "business_name": "Aunty Bev's Garden Help (demo)",
        "business_number": None,
        "business_phone": "0491 570 156",
        "web_address": None,
    },
    {
        "business_name": "Old Mill Transport (demo)",
        "business_number": WRONG_BUSINESS_NUMBER,
        "business_phone": "0491 570 157",
        "web_address": None,
    },
)
#: Title, first and last name, gender, local part of the email, role.
STAFF = (
    ("Mx", "Morgan", "Whitfield", "Unspecified", "administrator", ADMINISTRATOR),
    ("Ms", "Priya", "Nair", "Female", "plan.manager", PLAN_MANAGER),
    ("Mr", "Liam", "O'Connor", "Male", "accounts.officer", ACCOUNTS_OFFICER),
    ("Mrs", "Eleni", "Papadopoulos", "Female", "support.coordinator", SUPPORT_COORDINATOR),
    ("Mr", "Wei", "Chen", "Male", "read.only", READ_ONLY),
)
#: A child, the child's mother, and two participants who speak for themselves.
CONTACTS: tuple[dict[str, Any], ...] = (
    {
        "first_name": "Matilda",
        "last_name": "Walsh",
        "gender": "Female",
        "scheme_number": "430000011",
        "additional_information": "Uses a communication device; allow time for answers.",
    },
    {
        "first_name": "Erin",
        "last_name": "Walsh",
        "gender": "Female",
        "personal_title": "Ms",
        "primary_email": "erin.walsh@example.com",
    },
    {
        "first_name": "Minh",
        "last_name": "Tran",
        "gender": "Male",
        "personal_title": "Mr",
        "scheme_number": "430000022",
        "primary_email": "minh.tran@example.com",
    },
    {
        "first_name": "Rosa",
        "last_name": "De Luca",
        "gender": "Female",
        "personal_title": "Mrs",
        "scheme_number": "430000033",
        "primary_email": "rosa.deluca@example.com",
    },
)
