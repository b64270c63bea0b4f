"""The back office's pages for price books, products, prices and cost centres."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from unfold.admin import TabularInline
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RelatedDropdownFilter, TextFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.core import history
from apps.core.admin_base import ArchivedFilter, RecordAdmin
from apps.funding.admin.actions import MENU
from apps.funding.admin.display import format_amount
from apps.funding.choices import Zone
from apps.funding.models import CostCentre, Price, PriceBook, PriceBookEntry, Product
from apps.funding.validation.prices import PRICE_RULES, PRODUCT_WARNINGS
from apps.odata import clock
from apps.odata.write.drafts import Draft, apply_rules
from apps.people.admin import LookupAdmin


def entries_link(text: str, **filters: Any) -> SafeString:
    """A link to the prices of these filters."""
    address = reverse("admin:funding_pricebookentry_changelist")
    return format_html('<a class="text-link" href="{}?{}">{}</a>', address, urlencode(filters), text)


# --- cost centres and price books ---------------------------------------------------------------------


@admin.register(CostCentre)
class CostCentreAdmin(LookupAdmin):
    """Where invoice lines are booked."""

    menu_group = MENU
    menu_order = 340
    icon = "account_tree"


@admin.register(PriceBook)
class PriceBookAdmin(LookupAdmin):
    """Price books; the scheme's comes from its price guide (import_price_guide)."""

    menu_group = MENU
    menu_order = 310
    icon = "menu_book"
    list_display = ("name", "products", "archived")
    fieldsets = ((None, {"fields": ("name",)}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PriceBook]:
        return super().get_queryset(request).annotate(entry_count=Count("entries"))

    @display(description="Products")
    def products(self, book: Any) -> SafeString:
        count = number_format(book.entry_count, force_grouping=True)
        return entries_link(f"{count} with their prices", price_book__guid__exact=book.pk)


# --- products -----------------------------------------------------------------------------------------


@admin.register(Product)
class ProductAdmin(RecordAdmin):
    """Products, most of them support items."""

    warnings = PRODUCT_WARNINGS
    menu_group = MENU
    menu_order = 330
    icon = "inventory_2"
    list_display = ("code", "name", "unit", "type", "is_quote_required", "category_number", "archived")
    list_filter = (
        ArchivedFilter,
        ("type", ChoicesDropdownFilter),
        ("unit", ChoicesDropdownFilter),
        "is_quote_required",
    )
    list_filter_submit = True
    search_fields = ("code", "name")
    search_help_text = "Code or name"
    ordering = ("code", "guid")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("code", "support_purpose"),
                    "name",
                    "long_description",
                    ("unit", "type"),
                    "is_quote_required",
                    "prices",
                )
            },
        ),
        (
            "Price guide",
            {
                "fields": (
                    ("category_number", "category_name"),
                    ("category_number_pace", "category_name_pace"),
                    ("registration_group_number", "registration_group_name"),
                    ("non_face_to_face", "provider_travel"),
                    ("short_notice_cancellation", "agency_requested_reports"),
                    "irregular_sil",
                ),
                "classes": ("tab",),
            },
        ),
    )
    readonly_fields = ("support_purpose", "prices")

    @display(description="Support purpose")
    def support_purpose(self, product: Product) -> str | None:
        return product.support_purpose

    @display(description="Prices")
    def prices(self, product: Product) -> SafeString | None:
        if product._state.adding:
            return None
        books = list(product.entries.select_related("price_book").order_by("price_book__name"))
        names = ", ".join(entry.price_book.name for entry in books)
        return entries_link(f"In {names}", product__guid__exact=product.pk) if books else None


# --- prices -------------------------------------------------------------------------------------------


class DayForm(forms.Form):
    """A filter with a day."""

    def __init__(self, name: str, label: str, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        widget = UnfoldAdminTextInputWidget(attrs={"type": "date"})
        self.fields[name] = forms.CharField(label=label, required=False, widget=widget)


class DayFilter(TextFilter):
    """The day whose prices are shown; today by default."""

    title = "prices on"
    parameter_name = "on"
    form_class = DayForm

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset  # its columns, not its rows, are of that day


def filter_day(request: HttpRequest) -> dt.date:
    """The day of the filter; today for none, and for what is no day."""
    try:
        return dt.date.fromisoformat(request.GET.get(DayFilter.parameter_name, ""))
    except ValueError:
        return clock.today()


class PriceFormSet(forms.BaseInlineFormSet):
    """The prices of one product in one book, which their rules check together."""

    def clean(self) -> None:
        super().clean()
        filled = [form for form in self.forms if form.is_valid() and form.cleaned_data.get("start_date")]
        prices = [Draft(dict(form.cleaned_data)) for form in filled]
        for _, issue in apply_rules([Draft({"prices": prices})], PRICE_RULES):
            _, at, column = tuple(issue.field)
            filled[int(at)].add_error(str(column), forms.ValidationError(issue.message, issue.code))


class PriceInline(TabularInline):
    """The ranges of each zone."""

    model = Price
    formset = PriceFormSet
    fields = ("zone", "start_date", "end_date", "amount")
    ordering = ("-start_date", "zone")
    extra = 0
    can_delete = False
    verbose_name_plural = "Prices by zone; an empty price means that it is quoted"


@admin.register(PriceBookEntry)
class PriceBookEntryAdmin(RecordAdmin):
    """Products in price books, with the price of each zone on a day."""

    menu_group = MENU
    menu_order = 320
    icon = "sell"
    may_be_archived = False
    actions = ()
    inlines = (PriceInline,)
    list_display = ("product_code", "product_name", "unit", "national", "remote", "very_remote", "price_book")
    list_select_related = ("product", "price_book")
    list_filter = (("price_book", RelatedDropdownFilter), DayFilter)
    list_filter_submit = True
    search_fields = ("product__code", "product__name")
    search_help_text = "Code or name"
    ordering = ("product__code", "guid")
    fieldsets = ((None, {"fields": (("price_book", "product"), "gst_inclusive")}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PriceBookEntry]:
        on = filter_day(request)
        current = Price.objects.filter(
            Q(end_date=None) | Q(end_date__gte=on), entry=OuterRef("pk"), start_date__lte=on
        )
        zone_prices = {
            f"price_{zone.name.lower()}": Subquery(current.filter(zone=zone).values("amount")[:1])
            for zone in Zone
        }
        return super().get_queryset(request).annotate(**zone_prices)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """Which product it is of which book stays: lines were priced by it."""
        readonly = super().get_readonly_fields(request, obj)
        return (*readonly, "price_book", "product") if obj is not None else readonly

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The history of the product in the book names its prices."""
        entry = form.instance
        before = price_labels(entry)
        super().save_related(request, form, formsets, change)
        after = price_labels(entry)
        if before != after:
            history.record_list(entry, "prices", before, after)
            PriceBookEntry.objects.filter(pk=entry.pk).update(modify_date=clock.now())

    @display(description="Code", ordering="product__code")
    def product_code(self, entry: PriceBookEntry) -> str:
        return entry.product.code

    @display(description="Name", ordering="product__name")
    def product_name(self, entry: PriceBookEntry) -> str:
        return entry.product.name

    @display(description="Unit")
    def unit(self, entry: PriceBookEntry) -> str | None:
        return entry.product.get_unit_display()

    @display(description="National", ordering="price_national")
    def national(self, entry: Any) -> str | None:
        return format_amount(entry.price_national)

    @display(description="Remote", ordering="price_remote")
    def remote(self, entry: Any) -> str | None:
        return format_amount(entry.price_remote)

    @display(description="Very remote", ordering="price_very_remote")
    def very_remote(self, entry: Any) -> str | None:
        return format_amount(entry.price_very_remote)


def price_labels(entry: PriceBookEntry) -> list[str]:
    return [f"{each}: {format_amount(each.amount) or 'quoted'}" for each in entry.prices.all()]
