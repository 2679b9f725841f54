"""The invoices of a small shop; amounts are whole cents."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Invoice:
    number: str
    day: date
    customer: str
    cents: int  # negative for a credit note


def total(invoices: Iterable[Invoice]) -> int:
    return sum(invoice.cents for invoice in invoices)
