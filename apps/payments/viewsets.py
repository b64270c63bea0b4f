"""The endpoints of payments (docs/versions.md)."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from apps.base.errors import NotFound
from apps.documents.openapi import file_operation
from apps.odata.http.router import ODataRouter
from apps.odata.http.viewsets import ODataViewSet
from apps.odata.metadata.json_schema import COUNT
from apps.odata.metadata.openapi_components import path_key
from apps.payments import resources
from apps.payments.downloads import bank_file_response, statement_response
from apps.payments.models import BankFile, Statement

BANK_FILE_POSITION = path_key("position", COUNT, "Of the file in its run, from 1 on.", "1")


class PaymentRunViewSet(ODataViewSet):
    """Payment runs, and the bytes of their bank files, in which accounts stand."""

    resource = resources.PaymentRunResource

    @extend_schema(
        operation=file_operation("PaymentRun", "paymentRun", "The bytes of a bank file", BANK_FILE_POSITION)
    )
    @action(
        detail=True,
        methods=["get"],
        url_path=r"BankFiles\((?P<position>[^/()]*)\)/Download",
        url_name="bank-file",
        right="files",
    )
    def download(self, request: Request, key: str, position: str) -> HttpResponse:
        """A file for the bank as it is kept."""
        self.refuse_plain_filters()
        guid = self.read_key(key)
        number = int(position) if position.isdecimal() and len(position) < 5 else 0
        file = BankFile.objects.filter(run__in=self.get_queryset(), run=guid, position=number).first()
        if file is None:
            raise NotFound(f"There is no BankFiles({position[:60]}) of {self.entity_set.name} {guid}.")
        return bank_file_response(file)


class StatementViewSet(ODataViewSet):
    """Statements, and their documents."""

    resource = resources.StatementResource

    @extend_schema(operation=file_operation("Statement", "statement", "The document of a statement"))
    @action(detail=True, methods=["get"], url_path="Download", url_name="download", right="files")
    def download(self, request: Request, key: str) -> HttpResponse:
        """The document as it was made, of replaced statements as well."""
        self.refuse_plain_filters()
        guid = self.read_key(key)
        statement: Statement | None = self.get_queryset().filter(pk=guid).first()
        response = None if statement is None else statement_response(statement)
        if response is None:
            raise NotFound(f"There is no document of {self.entity_set.name} {guid}.")
        return response


router = ODataRouter()
router.register_module(resources, PaymentRunViewSet, StatementViewSet)
