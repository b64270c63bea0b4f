"""The demo data of funding."""

from apps.funding.demo.loading import DEMO as DEMO
