"""Rare lines of the record are found among very many."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench.ground import filling
from feedback.audit import lines
from feedback.audit.decisions import DecisionFilter
from runs.accounts.membership import EVERYTHING
from runs.models import AuditEntry
from tests import factories as f
from tests.plans import explained, read_whole

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_no_look_for_refusals_and_sign_ins_reads_the_whole_record(admin_client: Client) -> None:
    f.answered(f.started(f.five_steps()), "approve")
    filling.fill_up_to(300)
    assert AuditEntry.objects.count() > 1000

    with CaptureQueriesContext(connection) as queries:
        lines.newest_refusals(EVERYTHING, 20)
        page = admin_client.get("/audit/", {"kind": "sign_in"}).content.decode()

    assert "1 line" in page
    assert list(read_whole(queries, "faber_runs_auditentry")) == []
    about = [query["sql"] for query in queries if "kind IN (" in query["sql"]]
    assert len(about) == 3  # the refusals; the count and a page
    if connection.vendor == "sqlite":
        for sql in about:
            assert "USING COVERING INDEX rare_entries" in explained(sql) or (
                "USING INDEX rare_entries" in explained(sql)
            )


def test_whether_a_decision_was_taken_back_is_read_from_an_index() -> None:
    with CaptureQueriesContext(connection) as queries:
        list(lines.found(DecisionFilter(kind="decision"))[:50])

    if connection.vendor == "sqlite":
        assert "INDEX entries_taken_back" in explained(queries[0]["sql"])
