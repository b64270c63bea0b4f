"""The resources of payments: read only, in version 2.1."""

from apps.base.declaration.resource import (
    V2_1,
    Contains,
    Key,
    NestedType,
    ReadOnly,
    UnrestrictedResource,
)
from apps.core.resources import RECORD_DATES
from apps.payments.models import (
    BankFile,
    PaymentRun,
    PaymentRunClaim,
    PaymentRunItem,
    Statement,
    StatementBudget,
    StatementLine,
)


class PaidClaimType(NestedType):
    """The part of a payment that is for one claim; negative where something was set off."""

    type_name = "PaidClaim"
    model = PaymentRunClaim
    fields = (
        ReadOnly("ClaimGuid", source="claim"),
        ReadOnly("Amount"),
        ReadOnly("Returned"),
    )


class PaymentRunItemType(NestedType):
    """A payment of a run to one payee; accounts are not in the interface."""

    type_name = "PaymentRunItem"
    model = PaymentRunItem
    fields = (
        ReadOnly("Reference"),
        ReadOnly("ClientGuid", source="client"),
        ReadOnly("ContactGuid", source="contact"),
        ReadOnly("Amount"),
        ReadOnly("ReturnedDate", source="returned_at"),
        ReadOnly("ReturnReason"),
        Contains("Claims", PaidClaimType, read_only=True, order=("id",)),
    )


class BankFileType(NestedType):
    """A file for the bank; its bytes are at BankFiles({Position})/Download."""

    model = BankFile
    fields = (
        Key("Position", source="position"),
        ReadOnly("FileName"),
        ReadOnly("PaymentCount"),
        ReadOnly("Total"),
        ReadOnly("Sha256", description="Of the file as it was made."),
        ReadOnly("ErasedDate", source="erased_at", description="Since when people are erased in it."),
    )


class PaymentRunResource(UnrestrictedResource):
    """Payments that were released at once, payee by payee."""

    model = PaymentRun
    path = "paymentRun"
    since = V2_1
    order = ("-number",)
    further_rights = {"files": "Download the bank files of payment runs, in which accounts stand."}
    fields = (
        Key("PaymentRunGuid"),
        ReadOnly("Number"),
        ReadOnly("Status"),
        ReadOnly("Day"),
        ReadOnly("Total"),
        ReadOnly("MadeByStaffGuid", source="made_by"),
        ReadOnly("ReleasedDate", source="released_at"),
        ReadOnly("ReleasedByStaffGuid", source="released_by"),
        *RECORD_DATES,
        Contains("Items", PaymentRunItemType, read_only=True, order=("position",)),
        Contains("BankFiles", BankFileType, read_only=True, order=("position",)),
    )


class StatementLineType(NestedType):
    """A line of a statement: one claim or invoice on one budget, as it was then."""

    type_name = "StatementLine"
    model = StatementLine
    fields = (
        ReadOnly("BudgetName", source="budget"),
        ReadOnly("ProviderName", source="provider"),
        ReadOnly("BillNumber", source="number"),
        ReadOnly("Reference"),
        ReadOnly("Paid"),
        ReadOnly("Claimed"),
        ReadOnly("Waiting"),
        ReadOnly("Refused"),
        ReadOnly("Reason"),
    )


class StatementBudgetType(NestedType):
    """A budget of the plan when the statement was made."""

    type_name = "StatementBudget"
    model = StatementBudget
    fields = (
        ReadOnly("BudgetName", source="name"),
        ReadOnly("Budget"),
        ReadOnly("Used"),
        ReadOnly("RunOutDate", source="runs_out"),
    )


class StatementResource(UnrestrictedResource):
    """A participant's statement of a month; the document is at Download."""

    model = Statement
    path = "statement"
    since = V2_1
    further_rights = {"files": "Download the documents of statements."}
    order = ("-month", "-creation_date")
    fields = (
        Key("StatementGuid"),
        ReadOnly("ContactGuid", source="contact"),
        ReadOnly("Month"),
        ReadOnly("VersionNumber", source="version"),
        ReadOnly("IsReplaced"),
        ReadOnly("Paid"),
        ReadOnly("Claimed"),
        ReadOnly("Waiting"),
        ReadOnly("Refused"),
        ReadOnly("PlanStartDate", source="plan_first_day"),
        ReadOnly("PlanEndDate", source="plan_last_day"),
        ReadOnly("Changes"),
        ReadOnly("Sha256"),
        ReadOnly("MadeByStaffGuid", source="made_by"),
        ReadOnly("SentDate", source="sent_at"),
        *RECORD_DATES,
        Contains("Lines", StatementLineType, read_only=True, order=("position",)),
        Contains("Budgets", StatementBudgetType, read_only=True, order=("position",)),
    )
