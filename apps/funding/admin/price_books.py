"""The back office's pages for price books, products, prices and cost centres."""

import datetime as dt
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import models
from django.db.models import Count, Model, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from unfold.admin import TabularInline
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RelatedDropdownFilter, TextFilter
from unfold.contrib.filters.forms import RangeDateForm
from unfold.decorators import display
from unfold.utils import parse_date_str
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.base import clock
from apps.base.drafts import apply_rules
from apps.core.admin_base import ArchivedFilter, LookupAdmin, RecordAdmin, fieldset
from apps.core.admin_base.display import format_amount, link, list_column, list_url
from apps.core.admin_base.forms import AmountField, NumberInput, with_local_days
from apps.core.admin_base.record_admin import is_autocomplete
from apps.funding.admin.actions import MENU
from apps.funding.admin.autocomplete import search_products
from apps.funding.choices import Zone
from apps.funding.drafts import PriceDraft, PriceListDraft, ProductDraft
from apps.funding.models import CostCentre, Price, PriceBook, PriceBookEntry, Product
from apps.funding.services.price_guide import save_entry_prices
from apps.funding.validation.prices import PRICE_RULES, PRODUCT_WARNINGS

# --- cost centres and price books ---------------------------------------------------------------------


@admin.register(CostCentre)
class CostCentreAdmin(LookupAdmin):
    """The accounts that invoice lines are booked on."""

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
    fieldsets = (fieldset(None, "name"),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PriceBook]:
        return super().get_queryset(request).annotate(entry_count=Count("entries"))

    @display(description="Products")
    def products(self, book: Any) -> str:
        address = list_url(PriceBookEntry, price_book__guid__exact=book.pk)
        return link(address, f"{book.entry_count:,} with their prices")


# --- products -----------------------------------------------------------------------------------------


@admin.register(Product)
class ProductAdmin(RecordAdmin):
    """Products, most of them support items."""

    purpose = "What can be claimed and invoiced. The scheme's price guide brings its support items."
    draft_class = ProductDraft
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
    search_fields = ("code",)  # see get_search_results
    search_help_text = "Code, name or category"
    ordering = ("code", "guid")
    fieldsets = (
        fieldset(
            None,
            ("code", "support_purpose"),
            "name",
            "long_description",
            ("unit", "type"),
            "is_quote_required",
            "prices",
        ),
        fieldset(
            "Price guide",
            ("category_number", "category_name"),
            ("category_number_pace", "category_name_pace"),
            ("registration_group_number", "registration_group_name"),
            ("non_face_to_face", "provider_travel"),
            ("short_notice_cancellation", "agency_requested_reports"),
            "irregular_sil",
            style="tab",
        ),
    )
    readonly_fields = ("support_purpose", "prices")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        if is_autocomplete(request):
            queryset = queryset.filter(archive_date=None)
        return search_products(queryset, search_term), False

    support_purpose = list_column("Support purpose", "support_purpose", is_sorted=False)

    @display(description="Prices")
    def prices(self, product: Product) -> str | None:
        books = PriceBook.objects.filter(entries__product=product.pk).order_by("name")
        names = ", ".join(books.values_list("name", flat=True))
        return (
            link(list_url(PriceBookEntry, product__guid__exact=product.pk), f"In {names}") if names else None
        )


# --- prices -------------------------------------------------------------------------------------------


class DayForm(forms.Form):
    """A filter with a day and its calendar."""

    Media = RangeDateForm.Media

    def __init__(self, name: str, label: str, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        widget = UnfoldAdminTextInputWidget({"class": "vCustomDateField", "placeholder": "dd/mm/yyyy"})
        self.fields[name] = forms.CharField(label=label, required=False, widget=widget)


class DayFilter(TextFilter):
    """The day whose prices are shown; today by default."""

    title = "prices on"
    parameter_name = "on"
    form_class = DayForm

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        if self.value() and parse_date_str(self.value().strip()) is None:
            message = f"“{self.value()}” is not a date, so these are the prices of today: write 31/12/2026."
            messages.warning(request, message, fail_silently=True)
        return queryset  # its columns, not its rows, are of that day

    @classmethod
    def day(cls, request: HttpRequest) -> dt.date:
        """The day of the filter; today for none, and for what is no day."""
        return parse_date_str(request.GET.get(cls.parameter_name, "").strip()) or clock.today()


def column(title: str, ordering: str | None, value: Callable[[Any], str | None]) -> object:
    """A column of the list of prices."""

    @display(description=title, ordering=ordering)
    def cell(entry: PriceBookEntry) -> str | None:
        return value(entry)

    return cell


def price_column(zone: Zone) -> object:
    """The column with the price of a zone on the day of the filter."""
    name = f"price_{zone.name.lower()}"
    return column(zone.label.capitalize(), name, lambda entry: format_amount(getattr(entry, name)))


class PriceFormSet(forms.BaseInlineFormSet):
    """The prices of one product in one book; what the rules of their service find is shown on its row."""

    def clean(self) -> None:
        super().clean()
        filled = [form for form in self.forms if form.is_valid() and form.cleaned_data.get("start_date")]
        prices = [PriceDraft(dict(form.cleaned_data)) for form in filled]
        for _, issue in apply_rules([PriceListDraft({"prices": prices})], PRICE_RULES):
            _, at, column = tuple(issue.field)
            message = with_local_days(issue).message
            filled[int(at)].add_error(str(column), forms.ValidationError(message, issue.code))


class PriceInline(TabularInline):
    """The ranges of each zone."""

    model = Price
    formset = PriceFormSet
    formfield_overrides = MappingProxyType(
        {models.DecimalField: {"form_class": AmountField, "widget": NumberInput}}
    )
    fields = ("zone", "start_date", "end_date", "amount")
    ordering = ("-start_date", "zone")
    extra = 0
    can_delete = False
    verbose_name_plural = "Prices by zone; an empty price means that it is quoted"


@admin.register(PriceBookEntry)
class PriceBookEntryAdmin(RecordAdmin):
    """Products in price books, with the price of each zone on a day."""

    purpose = "The price of a product in each zone, by price book and day."
    menu_group = MENU
    menu_order = 320
    icon = "sell"
    record_pages = ()
    actions = ()
    inlines = (PriceInline,)
    contained_lists = MappingProxyType({"prices": "Prices"})
    list_display = (
        column("Code", "product__code", lambda entry: entry.product.code),
        column("Name", "product__name", lambda entry: entry.product.name),
        column("Unit", None, lambda entry: entry.product.get_unit_display()),
        *(price_column(zone) for zone in Zone),
        "price_book",
    )
    list_select_related = ("product", "price_book")
    list_filter = (("price_book", RelatedDropdownFilter), DayFilter)
    search_fields = ("product__code",)  # see get_search_results
    search_help_text = "Code, name or category"
    ordering = ("product__code", "guid")
    fieldsets = (fieldset(None, ("price_book", "product"), "gst_inclusive"),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PriceBookEntry]:
        on = DayFilter.day(request)
        current = Price.objects.filter(
            Q(end_date=None) | Q(end_date__gte=on), entry=OuterRef("pk"), start_date__lte=on
        )
        zone_prices = {
            f"price_{zone.name.lower()}": Subquery(current.filter(zone=zone).values("amount")[:1])
            for zone in Zone
        }
        return super().get_queryset(request).annotate(**zone_prices)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        return search_products(queryset, search_term, "product__"), False

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        formset.save(commit=False)
        existing = [each.instance for each in formset.initial_forms]
        save_entry_prices(form.instance, [*existing, *formset.new_objects])
