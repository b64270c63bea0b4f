"""What this service offers, in the order its service document lists it."""

from apps.documents.resources import DocumentCategoryResource, DocumentResource
from apps.engagements.resources import ClientEngagementResource, SupportCategoryResource
from apps.funding.resources import (
    ClaimResource,
    CostCentreResource,
    InvoiceResource,
    PriceBookResource,
    ProviderInvoiceResource,
)
from apps.odata.declaration.service import Service
from apps.people.resources import (
    ClientResource,
    ContactResource,
    CustomFieldResource,
    LocationResource,
    PositionResource,
    RoleResource,
    StaffResource,
    TeamResource,
)
from apps.sales.resources import (
    OpportunityOutcomeReasonResource,
    OpportunityResource,
    OpportunityStageResource,
    OpportunityTemplateResource,
    OpportunityTypeResource,
)

service = Service(
    StaffResource,
    ClientResource,
    ContactResource,
    RoleResource,
    PositionResource,
    LocationResource,
    TeamResource,
    CustomFieldResource,
    DocumentResource,
    DocumentCategoryResource,
    ClientEngagementResource,
    SupportCategoryResource,
    OpportunityResource,
    OpportunityTemplateResource,
    OpportunityTypeResource,
    OpportunityStageResource,
    OpportunityOutcomeReasonResource,
    ClaimResource,
    InvoiceResource,
    ProviderInvoiceResource,
    PriceBookResource,
    CostCentreResource,
)
