"""Clients by django-ninja: schemas from the models, a bearer token, a list in one transaction."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest
from ninja import ModelSchema, NinjaAPI, Schema
from ninja.security import HttpBearer

from apps.access.authentication import find_application_by_token
from apps.people.models import Client, Contact
from bench.stock.serializers import ADDRESS, CLIENT, POSTAL_ADDRESS


class Token(HttpBearer):
    def authenticate(self, request: HttpRequest, token: str) -> Any:
        return find_application_by_token(token)


class KeyContact(ModelSchema):
    class Meta:
        model = Contact
        fields = ["guid", "first_name", "last_name", "archive_date"]


class ClientOut(ModelSchema):
    class Meta:
        model = Client
        fields = [*CLIENT]


class WholeClient(ModelSchema):
    key_contact: KeyContact | None

    class Meta:
        model = Client
        fields = [*CLIENT, *ADDRESS, *POSTAL_ADDRESS]


class ClientIn(Schema):
    business_name: str
    business_number: str
    unique_code: str
    external_reference: str
    business_phone: str
    web_address: str
    street_address: str
    suburb: str
    state: str
    country: str
    post_code: str


api = NinjaAPI(auth=Token(), urls_namespace="ninja")
ordered = Client.objects.order_by("-creation_date", "-guid")


@api.get("/client/{guid}", response=ClientOut)
def get_client(request: HttpRequest, guid: UUID) -> Client:
    return Client.objects.get(guid=guid)


@api.get("/client", response=list[ClientOut])
def list_clients(request: HttpRequest, size: int) -> Any:
    return ordered.all()[:size]


@api.get("/whole-client", response=list[WholeClient])
def list_whole_clients(request: HttpRequest, size: int) -> Any:
    return ordered.select_related("key_contact")[:size]


@api.post("/client", response={201: list[WholeClient]})
def create_clients(request: HttpRequest, records: list[ClientIn]) -> Any:
    with transaction.atomic():
        return 201, [Client.objects.create(**record.dict()) for record in records]
