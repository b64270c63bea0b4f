"""Stock DRF and django-ninja on a web server."""

from records_site.wsgi import application  # isort: skip: it loads the apps, before their models

from django.db.models.base import Model

from apps.core.models import TimestampedModel

__all__ = ["application"]

# Instances load without what our history needs: stock code has no such cost.
TimestampedModel.from_db = classmethod(Model.from_db.__func__)
