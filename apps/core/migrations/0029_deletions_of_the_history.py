"""The entries of deletions, which a search of the history reads for the names of deleted records."""

from django.db import migrations, models


class Migration(migrations.Migration):
    accepted = {"LOCKS": "deletions are few; 2,000,000 entries are read in half a second"}

    dependencies = [("core", "0028_moment_of_exports")]

    operations = [
        migrations.AddIndex(
            "change",
            models.Index(condition=models.Q(kind="Deleted"), fields=["id"], name="core_change_deletions"),
        ),
    ]
