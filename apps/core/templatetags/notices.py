"""The number beside the bell in the header of the back office."""

from django import template

from apps.core.models import Notice
from apps.core.notices import visible_notices

register = template.Library()

#: Beyond it nobody counts.
MOST = 99


@register.simple_tag(takes_context=True)
def unread_notices(context: dict[str, object]) -> str:
    """How many notices the person has not read; empty for none."""
    person = getattr(context.get("request"), "user", None)
    if person is None or not person.is_authenticated:
        return ""
    unread = visible_notices(person, Notice.objects.filter(staff_id=person.pk, read_at=None))
    count = unread[: MOST + 1].count()
    return f"{MOST}+" if count > MOST else str(count or "")
