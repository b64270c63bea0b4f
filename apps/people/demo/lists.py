"""The short lists of the demo: roles, positions, locations, teams and custom fields."""

from __future__ import annotations

from apps.people.choices import AnswerKind, AppliesTo

ADMINISTRATOR = "Administrator"
PLAN_MANAGER = "Plan manager"
ACCOUNTS_OFFICER = "Accounts officer"
SUPPORT_COORDINATOR = "Support coordinator"
READ_ONLY = "Read only"
PARTICIPANT = "Participant"
REPRESENTATIVE = "Representative"
PROVIDER_CONTACT = "Provider contact"

#: What claiming needs: what the staff member in charge must be allowed, and entering and changing bills.
FUNDING = (
    "funding.administer_funding_invoices",
    *(
        f"funding.{verb}_{kind}"
        for verb in ("add", "change")
        for kind in ("claim", "invoice", "providerinvoice")
    ),
)

#: What each role may do in the back office, as patterns of ``app.codename``.
ROLES: dict[str, tuple[str, ...]] = {
    ADMINISTRATOR: (),  # all permissions, now and later
    PLAN_MANAGER: (
        "people.view_*",
        "documents.view_*",
        "documents.add_document",
        "documents.change_document",
        "people.add_client",
        "people.change_client",
        "people.add_contact",
        "people.change_contact",
        "sales.view_*",
        "sales.add_opportunity",
        "sales.change_opportunity",
        "engagements.*",
        "funding.view_*",
        *FUNDING,
        "core.view_change",
    ),
    ACCOUNTS_OFFICER: (
        "people.view_*",
        "documents.view_*",
        "documents.add_document",
        "documents.change_document",
        "people.add_client",
        "people.change_client",
        "engagements.view_*",
        "funding.view_*",
        *FUNDING,
        "funding.administer_credit_invoices",
        "funding.*_costcentre",
        "funding.*_price*",
        "funding.*_product",
        "core.view_change",
    ),
    SUPPORT_COORDINATOR: (
        "people.view_*",
        "documents.view_*",
        "documents.add_document",
        "documents.change_document",
        "people.add_contact",
        "people.change_contact",
        "sales.view_*",
        "sales.change_opportunity",
        "engagements.view_*",
        # Prices may be looked up and provider invoices put into the inbox; what is claimed is not shown.
        "funding.view_price*",
        "funding.view_product",
        "funding.view_providerinvoice",
        "funding.add_providerinvoice",
    ),
    READ_ONLY: (
        "people.view_*",
        "documents.view_*",
        "sales.view_*",
        "engagements.view_*",
        "funding.view_*",
    ),
    PARTICIPANT: (),
    REPRESENTATIVE: (),
    PROVIDER_CONTACT: (),
}
#: The roles of staff who have no role of their own in the tour, each as often as it stands here.
STAFF_ROLES = (PLAN_MANAGER,) * 4 + (ACCOUNTS_OFFICER, SUPPORT_COORDINATOR) * 2 + (READ_ONLY, ADMINISTRATOR)

POSITIONS = {
    ADMINISTRATOR: ("Operations Manager", "Systems Administrator"),
    PLAN_MANAGER: ("Plan Manager", "Senior Plan Manager", "Team Leader"),
    ACCOUNTS_OFFICER: ("Accounts Officer", "Senior Accounts Officer"),
    SUPPORT_COORDINATOR: ("Support Coordinator", "Specialist Support Coordinator"),
    READ_ONLY: ("Intake Officer", "Quality and Compliance Officer"),
}
LOCATIONS = (
    "Parramatta office",
    "Newcastle office",
    "Melbourne office",
    "Brisbane office",
    "Working from home",
)
CLOSED_LOCATIONS = ("Wollongong office (closed)",)
TEAMS = ("Plan management north", "Plan management south", "Accounts", "Support coordination", "Intake")
CLOSED_TEAMS = ("Transition project",)

#: One custom field of each kind for staff, clients and contacts: name, kind, options.
CUSTOM_FIELDS: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    AppliesTo.STAFF.value: (
        ("Worker screening number", AnswerKind.TEXT.value, ()),
        ("Years of experience", AnswerKind.NUMBER.value, ()),
        ("First aid certificate expires", AnswerKind.DATE.value, ()),
        ("Drives own car", AnswerKind.YES_NO.value, ()),
        ("Preferred way to meet", AnswerKind.CHOICE.value, ("In person", "By phone", "By video")),
        (
            "Languages spoken",
            AnswerKind.CHOICES.value,
            (
                "Arabic",
                "Auslan",
                "Cantonese",
                "English",
                "Greek",
                "Hindi",
                "Italian",
                "Mandarin",
                "Vietnamese",
            ),
        ),
    ),
    AppliesTo.CLIENT.value: (
        ("Liability insurance policy", AnswerKind.TEXT.value, ()),
        ("Number of support workers", AnswerKind.NUMBER.value, ()),
        ("Registration expires", AnswerKind.DATE.value, ()),
        ("Registered provider", AnswerKind.YES_NO.value, ()),
        ("Payment terms", AnswerKind.CHOICE.value, ("7 days", "14 days", "30 days")),
        (
            "Registration groups",
            AnswerKind.CHOICES.value,
            (
                "Assist Personal Activities",
                "Community Nursing Care",
                "Household Tasks",
                "Participate Community",
                "Therapeutic Supports",
            ),
        ),
    ),
    AppliesTo.CONTACT.value: (
        ("Communication needs", AnswerKind.TEXT.value, ()),
        ("Support hours a week", AnswerKind.NUMBER.value, ()),
        ("Next plan review", AnswerKind.DATE.value, ()),
        ("Interpreter needed", AnswerKind.YES_NO.value, ()),
        (
            "Preferred language",
            AnswerKind.CHOICE.value,
            ("English", "Arabic", "Auslan", "Cantonese", "Greek", "Italian", "Mandarin", "Vietnamese"),
        ),
        (
            "Goals",
            AnswerKind.CHOICES.value,
            (
                "Communication",
                "Daily living",
                "Friends and community",
                "Health",
                "Learning",
                "Moving about",
                "Work",
            ),
        ),
    ),
}

#: What a text field is answered with.
TEXT_ANSWERS = {
    "Worker screening number": ("WSC-DEMO-10482", "WSC-DEMO-22917", "WSC-DEMO-30655", "WSC-DEMO-48120"),
    "Liability insurance policy": ("PL-DEMO-70021", "PL-DEMO-71540", "PL-DEMO-73388"),
    "Communication needs": (
        "Uses a communication book",
        "Lip-reads: face each other when speaking",
        "Large print",
        "Easy English",
        "Uses a speech device; allow time for answers",
    ),
}
