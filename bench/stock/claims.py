"""Claims and their lines, served and stored as most would: nested serializers, a loop of ``create``."""

from __future__ import annotations

from typing import Any

from django.db.models.base import Model
from rest_framework.serializers import ModelSerializer, UUIDField

from apps.funding.models import Claim, ClaimLine, PriceBook, Product
from bench.stock.serializers import ContactBriefSerializer, UniqueTwinValidator
from bench.stock.viewsets import StockViewSet

CLAIM = (
    "guid",
    "claim_number",
    "provider_invoice_reference",
    "external_invoice_number",
    "start_date",
    "end_date",
    "due_date",
    "payment_date",
    "total",
    "resubmitted",
    "funding_status",
    "send_payment_to",
    "missing_abn_reason_code",
    "creation_date",
    "archive_date",
    "approved_date",
    "contact",
    "provider",
    "staff",
    "provider_invoice",
)
LINE = (
    "guid",
    "notes",
    "from_date",
    "to_date",
    "quantity",
    "price",
    "total",
    "amount_paid",
    "tax_choice",
    "claim_type",
    "cancellation_reason",
    "creation_date",
    "modify_date",
    "archive_date",
    "price_book",
    "product",
)


class PriceBookBriefSerializer(ModelSerializer):
    class Meta:
        model = PriceBook
        fields = ("guid", "name")


class ProductBriefSerializer(ModelSerializer):
    class Meta:
        model = Product
        fields = ("guid", "code", "name", "long_description")


class LineSerializer(ModelSerializer):
    price_book = PriceBookBriefSerializer(read_only=True)
    product = ProductBriefSerializer(read_only=True)

    class Meta:
        model = ClaimLine
        fields = LINE


class ClaimSerializer(ModelSerializer):
    client = UUIDField(source="contact.client_id", read_only=True)

    class Meta:
        model = Claim
        fields = (*CLAIM, "client")


class ClaimWithContactSerializer(ClaimSerializer):
    contact_record = ContactBriefSerializer(source="contact", read_only=True)

    class Meta(ClaimSerializer.Meta):
        fields = (*ClaimSerializer.Meta.fields, "contact_record")


class WholeClaimSerializer(ClaimSerializer):
    line_items = LineSerializer(many=True, read_only=True)

    class Meta(ClaimSerializer.Meta):
        fields = (*ClaimSerializer.Meta.fields, "line_items")


class NewLineSerializer(ModelSerializer):
    """A line as it is entered: price books and products by their keys."""

    class Meta:
        model = ClaimLine
        fields = ("quantity", "price", "total", "from_date", "to_date", "notes", "tax_choice", "claim_type",
                  "price_book", "product", "first_day", "last_day")  # fmt: skip
        extra_kwargs = {name: {"read_only": False} for name in ("total", "first_day", "last_day")}


class NewClaimSerializer(ClaimSerializer):
    """A claim with its lines; what the product works out is in the body, so that both store the same."""

    line_items = NewLineSerializer(many=True)

    class Meta(ClaimSerializer.Meta):
        fields = (*ClaimSerializer.Meta.fields, "line_items")
        read_only_fields = ("funding_status", "resubmitted", "creation_date")
        extra_kwargs = {
            "claim_number": {"validators": [UniqueTwinValidator("claim_number_key", Claim)]},
            "total": {"read_only": False},
        }

    def create(self, validated_data: dict[str, Any]) -> Claim:
        lines = validated_data.pop("line_items")
        claim = super().create(validated_data)
        for position, line in enumerate(lines):
            made = ClaimLine(claim=claim, position=position, **line)
            Model.save(made, force_insert=True)  # the product tells a claim's history, not each new line's
        return claim

    def to_representation(self, instance: Claim) -> Any:
        return WholeClaimSerializer(instance, context=self.context).data


CLAIMS = Claim.objects.select_related("contact").order_by("-creation_date", "-guid")


class ClaimViewSet(StockViewSet):
    queryset = CLAIMS
    serializer_class = ClaimSerializer


class ClaimWithContactViewSet(StockViewSet):
    queryset = CLAIMS
    serializer_class = ClaimWithContactSerializer


class WholeClaimViewSet(StockViewSet):
    queryset = CLAIMS.prefetch_related("line_items__price_book", "line_items__product")
    serializer_class = WholeClaimSerializer


class NewClaimViewSet(StockViewSet):
    queryset = CLAIMS
    serializer_class = NewClaimSerializer
