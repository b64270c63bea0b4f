"""The choices of funding: those of the scheme's price guide, and those of interface.md 2 to 4."""

from django.db import models

from apps.base.declaration.resource import Numbered

#: What whoever is assigned a claim or an invoice needs.
ADMINISTER_PERMISSION = "funding.administer_funding_invoices"


class Zone(models.TextChoices):
    """Where a support is given; the price guide has a price for each."""

    NATIONAL = "National"
    REMOTE = "Remote"
    VERY_REMOTE = "Very Remote"


class Unit(models.TextChoices):
    """What a quantity of a product counts."""

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
    """Whether a support item may be claimed in some way."""

    YES = "Y", "Yes"
    NO = "N", "No"
    NOT_APPLICABLE = "NA", "Not applicable"


class BillPermission(models.TextChoices):
    """The steps of claims and invoices that different people may take, besides administering them."""

    APPROVE = "approve_funding_invoices", "Can approve claims and invoices"
    CLAIM = "claim_funding_invoices", "Can claim from the agency, submit and send"
    PAY = "pay_funding_invoices", "Can record payments of claims and invoices"


class WarningCode(models.TextChoices):
    """The warnings about claims and invoices (validation/warnings.py)."""

    GIVEN_DIFFERS = "GivenDiffers", "Given differs"
    TOTAL_DIFFERS = "TotalDiffers", "Total differs"
    DUPLICATE_INVOICE = "DuplicateInvoice", "Duplicate invoice"
    DUPLICATE_LINE = "DuplicateLine", "Duplicate line"
    OUTSIDE_PERIOD = "OutsidePeriod", "Outside period"
    ABN_MISSING = "AbnMissing", "ABN missing"
    ABN_INVALID = "AbnInvalid", "ABN invalid"
    NO_ENGAGEMENT = "NoEngagement", "No plan"
    OUTSIDE_PLAN = "OutsidePlan", "Outside plan"
    NO_BOOKING = "NoBooking", "No booking"
    OUTSIDE_BOOKING = "OutsideBooking", "Outside booking"
    WRONG_MANAGEMENT = "WrongManagement", "Wrong management"
    OVER_BUDGET = "OverBudget", "Over budget"
    AFTER_BOOKING = "AfterBooking", "After booking"
    PRICE_OVER_CAP = "PriceOverCap", "Price over cap"
    ITEM_NOT_CURRENT = "ItemNotCurrent", "Item not current"
    QUOTE_REQUIRED = "QuoteRequired", "Quote required"
    CLAIM_TYPE_NOT_ALLOWED = "ClaimTypeNotAllowed", "Claim type not allowed"
    DAY_MISMATCH = "DayMismatch", "Day mismatch"
    TOO_OLD = "TooOld", "Too old"
    FUTURE_SERVICE = "FutureService", "Future service"


class SendPaymentTo(Numbered, models.TextChoices):
    """Who is paid what a claim brings in."""

    PROVIDER = "Provider"
    CLIENT = "Client"
    PLAN_MANAGER = "PlanManager", "Plan manager"
    SUPPORT_COORDINATOR = "SupportCoordinator", "Support coordinator"
    CLIENT_REPRESENTATIVE = "ClientRepresentative", "Client's representative"

    __numbers__ = {
        0: "Provider",
        1: "Client",
        2: "PlanManager",
        3: "SupportCoordinator",
        4: "ClientRepresentative",
    }


class MissingAbnReason(models.TextChoices):
    """Why a claim has no business number of its provider."""

    EXCLUDED = "EXCLS", "EXCLS: the provider has none"
    REIMBURSEMENT = "REIMB", "REIMB: somebody is paid back"


class ApprovalStatus(models.TextChoices):
    """The approval status of a provider invoice."""

    UNACTIONED = "Unactioned", "To review"
    APPROVED = "Approved"
    REJECTED = "Rejected"
    ON_HOLD_BY_CLIENT = "OnHoldByClient", "On hold by the client"
    ON_HOLD_BY_PLAN_MANAGER = "OnHoldByPlanManager", "On hold by the plan manager"


class ApprovalAction(models.TextChoices):
    """An action on a provider invoice (decisions.md 7)."""

    APPROVE = "Approve"
    REJECT = "Reject"
    HOLD_BY_CLIENT = "HoldByClient", "Hold for the client"
    HOLD_BY_PLAN_MANAGER = "HoldByPlanManager", "Hold for the plan manager"
    RELEASE = "Release"


class ClaimStatus(models.TextChoices):
    """The status of a claim, from its entry to its payment."""

    # What each of them means is a row of STATUSES in statuses.py.
    AWAITING_STAFF_APPROVAL = "AwaitingStaffApproval", "Awaiting staff approval"
    SUBMITTED_TO_PAYMENT_PROVIDER = "SubmittedToPaymentProvider", "Submitted to the payment provider"
    ON_HOLD = "OnHold", "On hold"
    APPROVED = "Approved"
    AGENCY_CLAIMED = "AgencyClaimed", "Claimed from the agency"
    AGENCY_FULLY_PAID = "AgencyFullyPaid", "Fully paid by the agency"
    AGENCY_PARTIALLY_PAID = "AgencyPartiallyPaid", "Partially paid by the agency"
    CANCELLATION_REQUESTED = "PaymentProviderCancellationRequested", "Cancellation requested"
    CANCELLED = "PaymentProviderCancelled", "Cancelled"
    REJECTED = "PaymentProviderRejected", "Rejected by the payment provider"


class InvoiceStatus(models.TextChoices):
    """The status of an invoice: like a claim's, or with the client or plan manager it was sent to."""

    AWAITING_STAFF_APPROVAL = "AwaitingStaffApproval", "Awaiting staff approval"
    SUBMITTED_TO_PAYMENT_PROVIDER = "SubmittedToPaymentProvider", "Submitted to the payment provider"
    ON_HOLD = "OnHold", "On hold"
    APPROVED = "Approved"
    AGENCY_CLAIMED = "AgencyClaimed", "Claimed from the agency"
    AGENCY_FULLY_PAID = "AgencyFullyPaid", "Fully paid by the agency"
    AGENCY_PARTIALLY_PAID = "AgencyPartiallyPaid", "Partially paid by the agency"
    CANCELLATION_REQUESTED = "PaymentProviderCancellationRequested", "Cancellation requested"
    CANCELLED = "PaymentProviderCancelled", "Cancelled"
    REJECTED = "PaymentProviderRejected", "Rejected by the payment provider"
    CLIENT_REJECTED = "ClientRejected", "Rejected by the client"
    PLAN_MANAGER_REJECTED = "PlanManagerRejected", "Rejected by the plan manager"
    SENT = "Sent"
    PAID = "Paid"


class InvoiceClaimType(Numbered, models.TextChoices):
    """Who an invoice goes to."""

    INVOICE_TO_AGENCY = "InvoiceToAgency", "The agency"
    INVOICE_TO_CLIENT = "InvoiceToClient", "The client"

    __numbers__ = {40200: "InvoiceToAgency", 40300: "InvoiceToClient"}


class RecurringFrequency(Numbered, models.TextChoices):
    """How often a recurring invoice is made again, by the calendar."""

    DAILY = "Daily"
    WEEKLY = "Weekly"
    FORTNIGHTLY = "Fortnightly"
    MONTHLY = "Monthly"
    YEARLY = "Yearly"

    __numbers__ = {33950: "Daily", 34000: "Weekly", 34100: "Fortnightly", 34200: "Monthly", 34250: "Yearly"}


class TaxChoice(Numbered, models.TextChoices):
    """How a line is taxed, in the words of accounting packages."""

    BAS_EXCLUDED = "BasExcluded", "BAS excluded"
    GST_FREE_EXPORTS = "GstFreeExports", "GST free exports"
    GST_FREE_INCOME = "GstFreeIncome", "GST free income"
    GST_ON_INCOME = "GstOnIncome", "GST on income"

    __numbers__ = {
        34300: "BasExcluded",
        34600: "GstFreeExports",
        34700: "GstFreeIncome",
        35200: "GstOnIncome",
    }


class ClaimType(Numbered, models.TextChoices):
    """In what way a support is claimed."""

    NONE = "None"
    CANCELLATION = "Cancellation"
    AGENCY_REQUIRED_REPORT = "AgencyRequiredReport", "Report the agency asked for"
    PROVIDER_TRAVEL = "ProviderTravel", "Provider travel"
    NON_FACE_TO_FACE_SERVICES = "NonFaceToFaceServices", "Non-face-to-face services"
    DIRECT_SERVICE = "DirectService", "Direct service"
    IRREGULAR_SIL_SUPPORTS = "IrregularSilSupports", "Irregular SIL supports"
    TELEHEALTH = "Telehealth"

    __numbers__ = {
        1: "Cancellation",
        2: "AgencyRequiredReport",
        3: "ProviderTravel",
        4: "NonFaceToFaceServices",
        5: "DirectService",
        6: "IrregularSilSupports",
        7: "Telehealth",
    }


class CancellationReason(Numbered, models.TextChoices):
    """Why a support that is claimed as cancelled was not given."""

    NONE = "None"
    HEALTH_REASON = "HealthReason", "Health reason"
    FAMILY_ISSUES = "FamilyIssues", "Family issues"
    UNAVAILABILITY_OF_TRANSPORT = "UnavailabilityOfTransport", "Unavailability of transport"
    OTHER = "Other"

    __numbers__ = {1: "HealthReason", 2: "FamilyIssues", 3: "UnavailabilityOfTransport", 4: "Other"}
