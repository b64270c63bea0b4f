"""The models of funding: prices, provider invoices, claims and invoices, and their status history."""

from apps.funding.models.claim_files import ClaimFile, ClaimFileLine
from apps.funding.models.claim_sums import CLAIM_SUMS, ClaimSum
from apps.funding.models.claim_windows import (
    ClaimWindow,
    ClaimWindows,
    ExpiredWindow,
    find_expired_window,
    supports_that_end,
)
from apps.funding.models.claims import (
    IS_PAID_OUT,
    NOT_RESUBMITTED,
    TO_PAY_OUT,
    Bill,
    Claim,
    ClaimLine,
    Invoice,
    InvoiceLine,
    LineItem,
    resubmission_exists,
)
from apps.funding.models.moves import MOVED_MONEY, AcknowledgedWarning, NumberSequence, StatusMove
from apps.funding.models.prices import CostCentre, Price, PriceBook, PriceBookEntry, Product, is_within
from apps.funding.models.provider_invoices import WAITS_FOR_CLAIM, EntryList, ProviderInvoice
from apps.funding.models.rejection_sentences import RejectionSentence
from apps.funding.models.remittances import ClaimResult, Remittance, RemittanceLine, may_still_be_paid
