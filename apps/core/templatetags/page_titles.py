"""The title in the header of the back office's pages: the list, then the page, or the record of a form."""

from typing import Any

from django import template
from django.contrib import admin
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters

register = template.Library()


@register.simple_tag(takes_context=True)
def title_parts(context: dict[str, Any]) -> list[tuple[str, str]]:
    """The texts with their links; what is open itself has none."""
    opts = context.get("opts")
    if opts is None or not admin.site.is_registered(opts.model):
        return [(str(context.get("content_title") or context.get("title") or ""), "")]
    page: Any = admin.site.get_model_admin(opts.model)
    if context.get("cl"):
        return [(page.list_title, "")]
    list_url = add_preserved_filters(context, page.page_url("changelist"))
    record = context.get("original")
    if record and "adminform" in context:
        return [(page.list_title, list_url), (str(record), page.record_url(record))]
    return [(page.list_title, list_url), (str(context.get("title") or ""), "")]
