"""Any runs are looked at and answered as those of a batch, by whoever sees them."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from feedback.batches import aggregate
from feedback.batches.answering import answer_text
from feedback.batches.group import selected
from feedback.models import FeedbackResponse
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.domain.values.errors import Invalid, NotFound, Refused
from runs.models import Batch, Project, Run
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]

RITA = f.person("Rita")


@pytest.fixture
def runs() -> list[Run]:
    """Three runs that have nothing to do with each other."""
    asking = f.started(f.five_steps(), work_id="124")
    failed = f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]}), work_id="125")
    done = f.started(f.workflow({"build": [f.step("y")]}), work_id="126")
    return [asking, failed, done]


@pytest.fixture
def hidden() -> Run:
    run = f.started(f.five_steps(), work_id="127")
    closed = Project.objects.create(
        name="acme/closed", visibility="members", members=["olga:operator"]
    )
    Run.objects.filter(pk=run.pk).update(project=closed)
    return f.fresh(run)


@pytest.fixture
def rita() -> User:
    return users.create("rita", role=Role.REVIEWER)


@pytest.fixture
def client(rita: User) -> Client:
    client = Client()
    client.force_login(rita)
    return client


def named(*runs: Run) -> str:
    return ",".join(str(run.uuid) for run in runs)


def rows_in(response: Any) -> list[str]:
    return re.findall(r'<li class="row batch-row" id="row-([0-9a-f-]+)"', response.content.decode())


def test_any_runs_are_aggregated_as_the_seeds_do(runs: list[Run]) -> None:
    report = aggregate.aggregate(selected([named(*runs)], seen_by=RITA))

    counts = ("total_runs", "completed", "awaiting_feedback", "error", "in_progress")
    assert [report[key] for key in counts] == [3, 1, 2, 0, 0]
    assert (report["batch_id"], report["all_stopped"]) == (None, True)
    assert re.fullmatch(r"coord-\d{8}-[0-9a-f]{6}", str(report["coordinator_id"]))
    assert [run["work_id"] for run in report["runs"]] == ["124", "125", "126"]  # type: ignore[attr-defined]
    assert not Batch.objects.exists()


def test_runs_are_named_in_any_way_and_each_counts_once(runs: list[Run]) -> None:
    first, second, _ = runs
    names = [first.run_id, f"{first.uuid}", str(first.uuid)[:8], f" {second.run_id.upper()} "]

    assert selected(names, seen_by=None).pks == (first.pk, second.pk)
    assert selected([",".join(names)], seen_by=RITA).pks == (first.pk, second.pk)


@pytest.mark.parametrize("names", [[], [""], [" , "]])
def test_somebody_has_to_name_a_run(names: list[str]) -> None:
    with pytest.raises(Invalid, match="give at least one"):
        selected(names, seen_by=RITA)


def test_what_does_not_exist_or_is_hidden_is_named(runs: list[Run], hidden: Run) -> None:
    for name in ("00000000", hidden.run_id, str(hidden.uuid), str(hidden.uuid)[:8]):
        with pytest.raises(NotFound, match="There is no run"):
            selected([str(runs[0].uuid), name], seen_by=RITA)
    assert selected([str(hidden.uuid)], seen_by=None).pks == (hidden.pk,)


def test_too_many_are_refused() -> None:
    with pytest.raises(Invalid, match="1001 are too many"):
        selected([f"{number:08x}" for number in range(1001)], seen_by=RITA)


def test_a_prefix_of_two_runs_is_refused(runs: list[Run]) -> None:
    first, second, _ = runs
    twin = f"{str(first.uuid)[:8]}{str(second.uuid)[8:]}"
    Run.objects.filter(pk=second.pk).update(uuid=twin, run_id=f"acme/app/{twin}")

    with pytest.raises(Refused, match="matches several runs"):
        selected([str(first.uuid)[:8]], seen_by=RITA)


def test_each_run_gets_its_own_answer_and_nothing_else_is_kept(runs: list[Run]) -> None:
    selection = selected([named(*runs)], seen_by=RITA)

    results = answer_text(selection, "#124: approve\n#125: retry flaky\n#126: approve", RITA)

    assert [result.outcome.value for result in results] == ["applied", "applied", "not_awaiting"]
    answers = FeedbackResponse.objects.order_by("pk")
    assert [(each.response, each.comment) for each in answers] == [
        ("approve", ""),
        ("retry", "flaky"),
    ]
    assert {each.source for each in answers} == {"parallel_coordination"}
    assert {each.provided_by["coordinator_id"] for each in answers} == {selection.batch_id}
    assert not Batch.objects.exists()


def test_each_answer_is_checked_as_a_single_one(runs: list[Run]) -> None:
    gated = f.started(
        f.workflow({"build": [f.step("z", requires_approval=True, reviewers=["group:reviewer"])]}),
        work_id="128",
    )
    outsider = f.person("Otto", groups=frozenset({"operator"}))
    selection = selected([named(runs[0], gated)], seen_by=outsider)

    results = answer_text(selection, "all: approve", outsider)

    assert [result.outcome.value for result in results] == ["applied", "not_allowed"]


def test_a_work_id_of_two_projects_must_be_named_by_its_run(runs: list[Run]) -> None:
    other = f.started(f.five_steps(), work_id="124")
    selection = selected([named(runs[0], other)], seen_by=RITA)

    (result,) = answer_text(selection, "#124: approve", RITA)

    assert result.outcome.value == "ambiguous"
    assert other.run_id in result.message


# In the browser


def test_selected_runs_have_a_page_like_a_batchs(runs: list[Run], client: Client) -> None:
    page = client.get("/batches/", {"runs": [str(run.uuid) for run in runs]})

    assert page.status_code == 200
    assert sorted(rows_in(page)) == sorted(str(run.uuid) for run in runs)
    text = page.content.decode()
    assert "Selected runs" in text
    assert f'action="/batches/?runs={"%2C".join(str(run.uuid) for run in runs)}"' in text


def test_the_page_of_selected_runs_answers_them(runs: list[Run], client: Client) -> None:
    asking, failed, _ = runs
    address = f"/batches/?runs={named(*runs)}"
    asked = f.pending(asking)

    sent = client.post(
        address,
        {
            f"choice-{asked.request_id}": "approve",
            f"choice-{f.pending(failed).request_id}": "abort",
            "seals": f"{asked.request_id}={asked.seal}",
        },
    )

    assert sent.status_code == 303
    assert "2 answers recorded" in client.get(sent["Location"]).content.decode()
    assert f.fresh(failed).status == "cancelled"
    assert FeedbackResponse.objects.get(request=asked).response == "approve"


def test_lines_are_pasted_and_the_text_is_read(runs: list[Run], client: Client) -> None:
    query = f"?runs={named(*runs)}"

    text = client.get(f"/batches/prompt/{query}").content.decode()
    sent = client.post(f"/batches/paste/{query}", {"text": "#124: approve\n#999: approve"})

    assert "**Run #124**" in text
    assert sent.status_code == 200
    assert "#999: approve" in sent.content.decode()
    assert FeedbackResponse.objects.get().response == "approve"


def test_news_come_to_the_page_of_selected_runs(runs: list[Run], client: Client) -> None:
    address = f"/batches/?runs={named(*runs)}"
    htmx = {"HX-Request": "true"}
    version = re.search(r"[?&;]v=([0-9-]+)", client.get(address).content.decode())
    assert version
    same = client.get(f"{address}&v={version[1]}", headers=htmx)

    f.answered(runs[0], "approve")
    news = client.get(f"{address}&v={version[1]}", headers=htmx)

    assert same.status_code == 204
    assert str(runs[0].uuid) in rows_in(news)


def test_hidden_runs_are_not_there(runs: list[Run], hidden: Run, client: Client) -> None:
    for path in ("", "prompt/"):
        answer = client.get(f"/batches/{path}?runs={named(runs[0], hidden)}")
        assert answer.status_code == 404
    refused = client.post(
        f"/batches/paste/?runs={named(runs[0], hidden)}", {"text": "all: approve"}
    )
    assert refused.status_code == 404
    assert client.get(f"/batches/peek/{f.pending(hidden).request_id}/").status_code == 404
    assert not FeedbackResponse.objects.exists()


def test_without_a_selection_the_runs_are_listed(client: Client) -> None:
    answer = client.get("/batches/")

    assert (answer.status_code, answer["Location"]) == (303, "/runs/")


@pytest.mark.parametrize("address", ["/runs/", "/"])
def test_runs_are_selected_in_the_lists(runs: list[Run], client: Client, address: str) -> None:
    text = client.get(address).content.decode()

    assert 'id="selection"' in text
    assert f'name="runs" value="{runs[0].uuid}"' in text
