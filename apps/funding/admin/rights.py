"""Rights of several pages of funding."""

from django.http import HttpRequest

from apps.core.admin_base.pages import sees_everybody
from apps.funding.choices import ADMINISTER_PERMISSION


def may_administer(request: HttpRequest) -> bool:
    return bool(request.user.has_perm(ADMINISTER_PERMISSION))


def may_administer_all(request: HttpRequest) -> bool:
    """True for those who administer the bills of all participants, which claim files and remittances have."""
    return may_administer(request) and sees_everybody(request)
