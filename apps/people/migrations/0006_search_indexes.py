from django.db import migrations

from apps.core.search_indexes import create_search_index


class Migration(migrations.Migration):
    accepted = {"LOCKS": "no row is changed; the indexes of 100,000 contacts are built in a few seconds"}

    dependencies = [("people", "0005_merged_records")]

    operations = [
        create_search_index("people.Contact", "first_name", "last_name", "scheme_number", "unique_code"),
        create_search_index("people.Client", "business_name", "business_number", "unique_code"),
    ]
