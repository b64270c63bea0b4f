"""The records a guided tour can count on: the same whatever the seed, the first of their kind."""

from __future__ import annotations

from typing import Any

from apps.people.demo import lists

ORGANISATION = "Southern Light Plan Management (demo)"

NEWTOWN = {
    "suburb": "Newtown",
    "city": "Sydney",
    "state": "NSW",
    "country": "Australia",
    "post_code": "2042",
}
PARRAMATTA = {
    "suburb": "Parramatta",
    "city": "Sydney",
    "state": "NSW",
    "country": "Australia",
    "post_code": "2150",
}

#: Two of its digits changed places, so that its check fails.
WRONG_BUSINESS_NUMBER = "51824753565"

CLIENTS: tuple[dict[str, Any], ...] = (
    {
        "business_name": ORGANISATION,
        "is_self": True,
        "street_address": "Level 2, 16 Church Street",
        "business_phone": "(02) 5550 0100",
        "web_address": "https://southern-light.example.com",
        **PARRAMATTA,
    },
    {
        "business_name": "Harbour Lights Support Services (demo)",
        "street_address": "48 Station Street",
        "business_phone": "(02) 5550 0148",
        "web_address": "https://harbour-lights.example.com",
        **NEWTOWN,
    },
    {
        "business_name": "Two Creeks Occupational Therapy (demo)",
        "street_address": "5 Riverside Avenue",
        "business_phone": "(02) 7010 0205",
        "web_address": "https://two-creeks.example.com",
        **PARRAMATTA,
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

STAFF: tuple[dict[str, Any], ...] = (
    {
        "first_name": "Morgan",
        "gender": "Unspecified",
        "personal_title": "Mx",
        "last_name": "Whitfield",
        "primary_email": "administrator@example.com",
        "role": lists.ADMINISTRATOR,
    },
    {
        "first_name": "Priya",
        "gender": "Female",
        "personal_title": "Ms",
        "last_name": "Nair",
        "primary_email": "plan.manager@example.com",
        "role": lists.PLAN_MANAGER,
    },
    {
        "first_name": "Liam",
        "gender": "Male",
        "personal_title": "Mr",
        "last_name": "O'Connor",
        "primary_email": "accounts.officer@example.com",
        "role": lists.ACCOUNTS_OFFICER,
    },
    {
        "first_name": "Eleni",
        "gender": "Female",
        "personal_title": "Mrs",
        "last_name": "Papadopoulos",
        "primary_email": "support.coordinator@example.com",
        "role": lists.SUPPORT_COORDINATOR,
    },
    {
        "first_name": "Wei",
        "gender": "Male",
        "personal_title": "Mr",
        "last_name": "Chen",
        "primary_email": "read.only@example.com",
        "role": lists.READ_ONLY,
    },
)

#: The first four contacts: a child, the child's mother, and two participants who speak for themselves.
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
        "use_primary_email": True,
    },
    {
        "first_name": "Minh",
        "last_name": "Tran",
        "gender": "Male",
        "personal_title": "Mr",
        "scheme_number": "430000022",
        "primary_email": "minh.tran@example.com",
        "use_primary_email": True,
    },
    {
        "first_name": "Rosa",
        "last_name": "De Luca",
        "gender": "Female",
        "personal_title": "Mrs",
        "scheme_number": "430000033",
        "primary_email": "rosa.deluca@example.com",
        "use_primary_email": True,
    },
)
