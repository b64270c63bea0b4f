"""What ``GET /api/`` answers: the list of entity sets (OData 4.01, JSON Format 5)."""

from __future__ import annotations

import json

from apps.odata.declaration.service import Service


def service_document(service: Service, base_url: str) -> bytes:
    """``{"@odata.context", "value": [{"name", "kind", "url"}]}``; ``base_url`` ends on a slash."""
    return json.dumps(
        {
            "@odata.context": f"{base_url}$metadata",
            "value": [
                {"name": entity_set.name, "kind": "EntitySet", "url": entity_set.path}
                for entity_set in service.entity_sets
            ],
        },
        ensure_ascii=False,
    ).encode()
