"""API applications, their tokens, their usage, and idempotency keys of their requests."""

from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import Q

from apps.access.callers import ApplicationCaller, check_scope, new_client_id, split_scope
from apps.base import clock
from apps.base.batched_queries import AnyOf, fetch_all, prepared_query
from apps.core.caseload import Caseload, Criteria
from apps.core.computed import ComputedDecimal
from apps.core.models import Lookup, Record, new_guid


class ApiApplication(Lookup, Record):
    """A program that calls the API; archived means revoked. The secret itself is stored nowhere."""

    caseload_path = None

    client_id = models.CharField(
        "client id", max_length=64, unique=True, default=new_client_id, editable=False
    )
    secret_hash = models.CharField(max_length=64, editable=False)
    previous_secret_hash = models.CharField(max_length=64, null=True, editable=False)
    previous_secret_until = models.DateTimeField(
        "previous secret works until", null=True, blank=True, editable=False
    )
    scope = models.TextField(
        "scopes",
        blank=True,
        default="",
        validators=[check_scope],
        help_text="read and write for everything, or those of single resources. write does not include read.",
    )
    requests_per_minute = models.PositiveIntegerField(
        null=True, blank=True, help_text="Empty: the service's setting. 0: no limit."
    )
    requests_per_day = models.PositiveIntegerField(
        "requests in 24 hours", null=True, blank=True, help_text="Empty: the service's setting. 0: no limit."
    )
    sees_everybody = models.BooleanField(
        "sees all participants",
        default=True,
        db_default=True,
        help_text="Without it: those only whose account managers work at these locations, in these teams, or "
        "are named here, and the records of these.",
    )
    locations = models.ManyToManyField("people.Location", blank=True, related_name="+")
    teams = models.ManyToManyField("people.Team", blank=True, related_name="+")
    account_managers = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="+")
    last_used_at = models.DateTimeField("last used", null=True, blank=True, editable=False)

    #: Of an application that was given a new secret in this request, to be shown once; stored nowhere.
    one_time_secret: str | None = None

    secret_columns = frozenset({"secret_hash", "previous_secret_hash"})
    unrecorded_columns = frozenset({"last_used_at"})

    class Meta(Record.Meta):
        verbose_name = "API application"
        ordering = ("name",)
        # Its secret is a way to all that its scopes allow, roles among it: who makes one may do everything.
        default_permissions = ("view",)

    @property
    def caseload(self) -> Caseload | None:
        """The participants whom it sees; ``None``: all."""
        if self.sees_everybody:
            return None
        [rows] = fetch_all([managers_of([self.pk])])
        return Caseload(tuple(key for (key,) in rows), self.read_criteria)

    @property
    def caller(self) -> ApplicationCaller:
        """The application itself, with all of its scopes: what is done for it without a request."""
        return ApplicationCaller(self.pk, self.name, (split_scope(self.scope),), sees=self.caseload)

    def read_criteria(self) -> Criteria:
        lists = (self.locations, self.teams, self.account_managers)
        locations, teams, staff = (list(each.order_by().values_list("pk", flat=True)) for each in lists)
        return locations, teams, staff


@prepared_query
def managers_of(applications: Any) -> models.QuerySet[Any, Any]:
    """The keys of the staff by whom an application is limited, in one trip with what they are chosen by."""

    def named(relation: Any, column: str) -> models.QuerySet[Any, Any]:
        rows = relation.through._base_manager.filter(AnyOf("apiapplication", applications))
        return rows.order_by().values(column)

    in_teams = Q(teams__in=named(ApiApplication.teams, "team"))
    everybody = get_user_model()._base_manager.order_by()
    chosen = Q(location__in=named(ApiApplication.locations, "location"))
    chosen |= Q(pk__in=named(ApiApplication.account_managers, "staff"))
    chosen |= Q(pk__in=everybody.filter(in_teams).values("pk"))
    return everybody.filter(chosen).values_list("pk")


def count_of_messages(state: str) -> ComputedDecimal:
    """How many messages of a webhook are in a state."""
    sql = (
        "(SELECT count(*) FROM access_webhookmessage m WHERE m.webhook_id = {row}.guid AND m.state = 'STATE')"
    )
    return ComputedDecimal(sql.replace("STATE", state), max_digits=9, decimal_places=0)


class Webhook(Record):
    """An address of an application's, which is told of changes of an entity set; archived means stopped.

    ``position`` is the delta token behind the changes that it was told of, empty while nothing may be sent.
    """

    has_personal_data = False

    application = models.ForeignKey(
        ApiApplication, on_delete=models.PROTECT, related_name="webhooks", verbose_name="API application"
    )
    entity_set = models.CharField(max_length=60)
    filter = models.TextField(
        blank=True,
        default="",
        help_text="As in $filter: ArchiveDate eq null and FundingStatus eq 'OnHold'. A record that no longer "
        "matches is told as removed. Empty: all records.",
    )
    address = models.CharField(max_length=500, help_text="Messages are sent here by POST, over https.")
    includes_records = models.BooleanField(
        "send the records",
        default=False,
        help_text="Messages hold personal data then; without it only keys and addresses.",
    )
    secret = models.CharField(max_length=64, editable=False)
    waiting_count = count_of_messages("Waiting")
    failed_count = count_of_messages("Failed")
    position = models.TextField(default="", editable=False)
    position_date = models.DateTimeField(default=clock.now, editable=False)
    #: Attempts in a row that the receiver has not accepted; it is not asked before ``paused_until``.
    failures = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    paused_until = models.DateTimeField(null=True, editable=False)

    #: Of a webhook that was given a new secret in this request, to be shown once.
    one_time_secret: str | None = None

    secret_columns = frozenset({"secret"})
    unrecorded_columns = frozenset({"position", "position_date", "failures", "paused_until"})

    class Meta(Record.Meta):
        ordering = ("application__name", "entity_set", "guid")
        default_permissions = ("view",)  # what the application reads is sent to its address

    def __str__(self) -> str:
        return f"{self.entity_set} to {self.address}"


class WebhookMessage(models.Model):
    """A message of a webhook: sent until the receiver accepts it, or has not for three days.

    ``body`` is what is signed and sent, ``result`` the last status or what failed. ``next_attempt`` is null
    once it is delivered or has failed; before, it waits for older messages of its webhook, and for the pause
    of a webhook that fails.
    """

    class State(models.TextChoices):
        WAITING = "Waiting"
        DELIVERED = "Delivered"
        FAILED = "Failed"

    guid = models.UUIDField("identifier", primary_key=True, default=new_guid, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="messages")
    body = models.TextField()
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    creation_date = models.DateTimeField("created", default=clock.now)
    next_attempt = models.DateTimeField(null=True, blank=True, default=clock.now)
    result = models.CharField("last result", max_length=200, default="")

    class Meta:
        ordering = ("-creation_date", "-guid")
        default_permissions = ("view", "change")
        indexes = (
            models.Index(
                fields=["next_attempt"],
                condition=models.Q(next_attempt__isnull=False),
                name="access_waiting_messages",
            ),
        )

    def __str__(self) -> str:
        return f"Message {self.guid} of {self.webhook}"


class AccessToken(models.Model):
    """A bearer token of an application; only its hash is known."""

    hash = models.CharField(max_length=64, primary_key=True, editable=False)
    application = models.ForeignKey(ApiApplication, on_delete=models.CASCADE, related_name="tokens")
    scope = models.TextField("scopes", blank=True)
    creation_date = models.DateTimeField("issued", default=clock.now)
    expires_at = models.DateTimeField("expires", db_index=True)

    class Meta:
        ordering = ("-creation_date", "hash")
        default_permissions = ("view", "delete")

    def __str__(self) -> str:
        return f"Token of {self.application}, {self.hash[:8]}…"


class Usage(models.Model):
    """How many requests a caller was granted in one minute, over all workers.

    ``caller`` is a caller's ``identity``; ``minute`` counts from 1970, UTC.
    """

    caller = models.CharField(max_length=80)
    minute = models.PositiveIntegerField()
    requests = models.PositiveIntegerField()

    class Meta:
        default_permissions: ClassVar[tuple[str, ...]] = ()
        constraints = (models.UniqueConstraint(fields=["caller", "minute"], name="access_usage_of_a_minute"),)

    def __str__(self) -> str:
        return f"{self.caller}: {self.requests} in minute {self.minute}"


class IdempotencyKey(models.Model):
    """The response to a caller's POST with an Idempotency-Key, to be sent again.

    Stored with the records of that POST in one transaction: one is never there without the other.
    """

    caller = models.CharField(max_length=80)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    creation_date = models.DateTimeField(default=clock.now, db_index=True)
    status = models.PositiveSmallIntegerField(null=True)
    headers = models.JSONField(default=dict)
    body = models.BinaryField(default=b"")

    class Meta:
        default_permissions: ClassVar[tuple[str, ...]] = ()
        constraints = (models.UniqueConstraint(fields=["caller", "key"], name="access_idempotency_key_once"),)

    def __str__(self) -> str:
        return f"{self.caller}: {self.key}"
