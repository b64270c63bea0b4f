"""The router serves what a module declares."""

from types import ModuleType

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.base.declaration.resource import UnrestrictedResource
from apps.odata.http.router import ODataRouter
from apps.odata.http.viewsets import ODataViewSet
from tests.odata import sample


class JobResource(UnrestrictedResource):
    model, path, fields = sample.Job, "job", ()


class TaskResource(UnrestrictedResource):
    model, path, fields = sample.Job, "task", ()


class TaskViewSet(ODataViewSet):
    resource = TaskResource


class PathlessResource(UnrestrictedResource):
    model, fields = sample.Job, ()


@pytest.fixture
def module():
    """``jobs``: it imports one resource, and defines the others."""
    module = ModuleType("jobs")

    def add(*resources):
        vars(module).update({each.__name__: each for each in (UnrestrictedResource, *resources)}, number=1)
        for each in resources:
            each.__module__ = "jobs"
        return module

    return add


def test_a_module_is_served_in_its_order_and_by_its_viewsets(module):
    router = ODataRouter()
    router.register_module(module(TaskResource, JobResource), TaskViewSet)
    assert [(prefix, viewset.resource) for prefix, viewset, _ in router.registry] == [
        ("task", TaskResource),
        ("job", JobResource),
    ]
    assert router.registry[0][1] is TaskViewSet


def test_a_resource_without_a_path_is_named(module):
    with pytest.raises(ImproperlyConfigured, match=r"^jobs\.PathlessResource has no path"):
        ODataRouter().register_module(module(PathlessResource))
