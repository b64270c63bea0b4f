from django.db import migrations

from apps.core.search_indexes import create_search_index


class Migration(migrations.Migration):
    dependencies = [("funding", "0004_claimed_provider_invoices")]

    operations = [
        create_search_index("funding.Claim", "claim_number", "provider_invoice_reference"),
        create_search_index("funding.Invoice", "invoice_number"),
        create_search_index("funding.ProviderInvoice", "reference"),
    ]
