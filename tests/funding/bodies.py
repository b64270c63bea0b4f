"""Bodies of claims and invoices, as little of them as will do; words given replace or add."""

from django.contrib.auth.models import Permission

from apps.odata.write.dispatch import create
from tests.funding.builders import a_price, a_provider_invoice, an_entry
from tests.people.builders import as_body, entity_set
from tests.people.records import a_client, a_contact, a_role, a_staff_member


def a_funder(**members):
    """A staff member who may do everything."""
    return a_staff_member(role=a_role(all_permissions=True), **members)


def a_role_that_may(*codenames):
    """A role with these permissions of funding and no others."""
    role = a_role()
    role.permissions.set(Permission.objects.filter(content_type__app_label="funding", codename__in=codenames))
    return role


def a_priced_entry(amount="70.00", **columns):
    """A product in a price book, with a price from July 2025 on."""
    entry = an_entry(**columns)
    a_price(entry, amount=amount)
    return entry


def a_full_provider_invoice(**columns):
    """A provider invoice that says all that a claim needs of it."""
    provider_invoice = {"contact": a_contact, "provider": lambda: a_client(business_number="51 824 753 556")}
    return a_provider_invoice(
        **{**{n: make() for n, make in provider_invoice.items() if n not in columns}, **columns}
    )


def a_line_body(entry=None, **members):
    entry = entry or a_priced_entry()
    return {
        "Quantity": 2,
        "PriceBook": {"PriceBookGuid": str(entry.price_book_id)},
        "Product": {"ProductGuid": str(entry.product_id)},
        **members,
    }


def a_claim_body(provider_invoice=None, staff=None, entry=None, **members):
    if "LineItems" not in members:
        members["LineItems"] = [a_line_body(entry)]
    return {
        "StartDate": "2025-07-07",
        "EndDate": "2025-07-13",
        "StaffGuid": str((staff or a_funder()).pk),
        "ProviderInvoiceGuid": str((provider_invoice or a_full_provider_invoice()).pk),
        **members,
    }


def an_invoice_body(contact=None, staff=None, entry=None, **members):
    if "LineItems" not in members:
        members["LineItems"] = [a_line_body(entry)]
    return {
        "InvoiceClaimType": "InvoiceToAgency",
        "StartDate": "2025-07-07",
        "EndDate": "2025-07-13",
        "IsRecurring": False,
        "ContactGuid": str((contact or a_contact()).pk),
        "StaffGuid": str((staff or a_funder()).pk),
        **members,
    }


def submitted(path, *bodies):
    """The keys of claims or invoices stored through the interface's write path, whatever it warns of."""
    return create(entity_set(path), as_body(*bodies), None, ignore_warnings=True).keys
