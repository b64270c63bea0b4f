"""The organisation's own sentences about what the agency refuses: rows of the organisation's settings."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import models

from apps.core.models import NormalisedField, Record


class RejectionSentence(Record):
    """A sentence about lines that the agency refuses with this code, or a text that begins so: what to do."""

    caseload_path = ""

    has_personal_data = False

    beginning = models.CharField(
        "code or beginning of the text",
        max_length=90,
        help_text="As the agency writes it, in any case: C04, or the first words of its text.",
    )
    beginning_key = NormalisedField(of="beginning", unique=True)
    sentence = models.CharField("what to do next", max_length=300)

    class Meta(Record.Meta):
        verbose_name = "sentence for refusals"
        verbose_name_plural = "sentences for refusals"
        ordering = ("beginning", "guid")
        default_permissions = ()  # they belong to the organisation's settings

    def __str__(self) -> str:
        return self.beginning

    @classmethod
    def current(cls) -> Mapping[str, str]:
        """The sentences of now by their beginnings, in the form in which texts are compared."""
        rows = cls.objects.filter(archive_date=None).order_by()
        return dict(rows.values_list("beginning_key", "sentence"))
