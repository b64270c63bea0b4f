"""The choices of funding: those of the scheme's price guide, and those of interface.md 2 to 4."""

import datetime as dt
from uuid import UUID

from django.db import models

from apps.base.declaration.resource import Enumeration, Numbered

#: What whoever is assigned a claim or an invoice needs.
ADMINISTER_PERMISSION = "funding.administer_funding_invoices"


class Zone(models.TextChoices):
    """The place where a support is given; the price guide has a price for each."""

    NATIONAL = "National"
    REMOTE = "Remote"
    VERY_REMOTE = "Very Remote"


class Unit(models.TextChoices):
    """The unit that a quantity of a product counts."""

    HOUR = "H", "Hour"
    EACH = "E", "Each"
    DAY = "D", "Day"
    WEEK = "WK", "Week"
    MONTH = "MON", "Month"
    YEAR = "YR", "Year"


class ItemType(models.TextChoices):
    """How the price guide prices a support item."""

    PRICED = "Priced", "Price limited"
    QUOTABLE = "Quotable", "Quotable"
    UNIT_PRICE = "UnitPrice", "Unit price of $1"


class Flag(models.TextChoices):
    """An answer of the price guide: a support item may be claimed in some way, or not."""

    YES = "Y", "Yes"
    NO = "N", "No"
    NOT_APPLICABLE = "NA", "Not applicable"


class ClaimFileStatus(Enumeration):
    """The status of a claim file: the agency has it, or not."""

    NOT_SENT = "NotSent", 0, "Not sent"
    SENT = "Sent", 1
    WITHDRAWN = "Withdrawn", 2


class WindowUnit(models.TextChoices):
    """The unit of the time within which a support can be claimed."""

    DAYS = "Days", "days"
    YEARS = "Years", "years"


#: The claim windows of a new installation: key, claimed from, number, unit, whether the rule was read. Two
#: years are section 45A(5)(a) of the Act; the 90 days were reported, and their text was not seen.
USUAL_WINDOWS = (
    (UUID("5b1d2a52-9c0e-5c3f-8f0a-6f1d0f6b0001"), None, 2, WindowUnit.YEARS.value, True),
    (UUID("5b1d2a52-9c0e-5c3f-8f0a-6f1d0f6b0002"), dt.date(2026, 12, 1), 90, WindowUnit.DAYS.value, False),
)


class BillPermission(models.TextChoices):
    """The steps of claims and invoices that different people may take, besides administering them."""

    APPROVE = "approve_funding_invoices", "Can approve claims and invoices"
    CLAIM = "claim_funding_invoices", "Can claim from the agency, submit and send"
    SEND_FILES = "send_claim_files", "Can make, send and withdraw claim files"
    PAY = "pay_funding_invoices", "Can record payments of claims and invoices"


class SendPaymentTo(Numbered):
    """Who is paid what a claim brings in."""

    PROVIDER = "Provider", 0
    CLIENT = "Client", 1
    PLAN_MANAGER = "PlanManager", 2, "Plan manager"
    SUPPORT_COORDINATOR = "SupportCoordinator", 3, "Support coordinator"
    CLIENT_REPRESENTATIVE = "ClientRepresentative", 4, "Client's representative"


class MissingAbnReason(Enumeration):
    """Why a claim has no business number of its provider."""

    EXCLUDED = "EXCLS", 0, "EXCLS: the provider has none"
    REIMBURSEMENT = "REIMB", 1, "REIMB: somebody is paid back"


class ApprovalStatus(Enumeration):
    """The approval status of a provider invoice."""

    UNACTIONED = "Unactioned", 0, "To review"
    APPROVED = "Approved", 1
    REJECTED = "Rejected", 2
    ON_HOLD_BY_CLIENT = "OnHoldByClient", 3, "On hold by the client"
    ON_HOLD_BY_PLAN_MANAGER = "OnHoldByPlanManager", 4, "On hold by the plan manager"


class ApprovalAction(models.TextChoices):
    """An action on a provider invoice."""

    APPROVE = "Approve"
    REJECT = "Reject"
    HOLD_BY_CLIENT = "HoldByClient", "Hold for the client"
    HOLD_BY_PLAN_MANAGER = "HoldByPlanManager", "Hold for the plan manager"
    RELEASE = "Release"


class InvoiceClaimType(Numbered):
    """Who an invoice goes to."""

    INVOICE_TO_AGENCY = "InvoiceToAgency", 40200, "The agency"
    INVOICE_TO_CLIENT = "InvoiceToClient", 40300, "The client"


class RecurringFrequency(Numbered):
    """How often a recurring invoice is made again, by the calendar."""

    DAILY = "Daily", 33950
    WEEKLY = "Weekly", 34000
    FORTNIGHTLY = "Fortnightly", 34100
    MONTHLY = "Monthly", 34200
    YEARLY = "Yearly", 34250


class TaxChoice(Numbered):
    """How a line is taxed, in the words of accounting packages."""

    BAS_EXCLUDED = "BasExcluded", 34300, "BAS excluded"
    GST_FREE_EXPORTS = "GstFreeExports", 34600, "GST free exports"
    GST_FREE_INCOME = "GstFreeIncome", 34700, "GST free income"
    GST_ON_INCOME = "GstOnIncome", 35200, "GST on income"


class ClaimType(Numbered):
    """In what way a support is claimed."""

    NONE = "None", 0
    CANCELLATION = "Cancellation", 1
    AGENCY_REQUIRED_REPORT = "AgencyRequiredReport", 2, "Report the agency asked for"
    PROVIDER_TRAVEL = "ProviderTravel", 3, "Provider travel"
    NON_FACE_TO_FACE_SERVICES = "NonFaceToFaceServices", 4, "Non-face-to-face services"
    DIRECT_SERVICE = "DirectService", 5, "Direct service"
    IRREGULAR_SIL_SUPPORTS = "IrregularSilSupports", 6, "Irregular SIL supports"
    TELEHEALTH = "Telehealth", 7

    __names_only__ = ("None",)


class CancellationReason(Numbered):
    """Why a support that is claimed as cancelled was not given."""

    NONE = "None", 0
    HEALTH_REASON = "HealthReason", 1, "Health reason"
    FAMILY_ISSUES = "FamilyIssues", 2, "Family issues"
    UNAVAILABILITY_OF_TRANSPORT = "UnavailabilityOfTransport", 3, "Unavailability of transport"
    OTHER = "Other", 4

    __names_only__ = ("None",)
