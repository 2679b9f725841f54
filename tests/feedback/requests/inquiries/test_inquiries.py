"""A reviewer asks the agent before deciding: the gate stays shut, the thread is on record."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django import Settings

from faber_site.monitoring.metrics import FromDatabase
from feedback.api import long_poll
from feedback.audit import costs, integrity
from feedback.models import FeedbackRequest, Inquiry
from feedback.requests.inquiries import answering
from feedback.requests.inquiries.asking import ask
from feedback.requests.request_json import request_shape
from runs.accounts.membership import EVERYTHING
from runs.domain.values.actors import Scope
from runs.domain.values.errors import FaberError, Invalid, NotAllowed, Refused
from runs.models import AuditEntry, Run, StepAttempt
from tests import factories as f
from tests.api_client import Program, body_of, error_of, program
from tests.commands import faber
from tests.fake_agents.programs import FakeAgents
from tests.jobs import work_off

pytestmark = [pytest.mark.django_db, pytest.mark.database]

AGENT = Scope.AGENT
REVIEWED = {"requires_approval": True, "approval_type": "review", "artifact": "plan.md"}
PLANNED = {"status": "success", "message": "Planned.", "writes": {"plan.md": "# Plan\n"}}
WHY = "Why no index on `amount`?"
BECAUSE = "Because nobody **filters** by it."


def planned(agents: FakeAgents, folder: Path, *answers: object, **step: object) -> FeedbackRequest:
    """A plan that an agent wrote, waiting for its review."""
    agents.will_say(PLANNED, *answers)
    planning: f.Json = {"id": "plan", "prompt": "Plan it.", **REVIEWED, **step}
    document = f.workflow({"architect": [planning], "build": [f.step("code")]})
    return f.pending(f.started(document, folder))


def thread_of(asked: FeedbackRequest) -> list[f.Json]:
    thread = request_shape(FeedbackRequest.objects.get(pk=asked.pk))["thread"]
    assert isinstance(thread, list)
    return thread


def test_a_question_goes_to_the_session_of_the_agent_and_its_answer_into_the_thread(
    agents: FakeAgents, tmp_path: Path
) -> None:
    asked = planned(agents, tmp_path, BECAUSE)
    seal = asked.seal

    ask(asked.request_id, WHY, actor=f.person())
    assert [entry["status"] for entry in thread_of(asked)] == ["pending"]
    work_off()

    (entry,) = thread_of(asked)
    assert (entry["question"], entry["answer"], entry["status"]) == (WHY, BECAUSE, "answered")
    assert (entry["agent"], entry["cost_usd"]) == ("claude", 0.0421)
    assert entry["asked_by"] == {**f.person().describe()}
    step, question = agents.calls
    assert question["session"] == step["session"]
    assert WHY in question["prompt"]
    assert "Only answer the question" in question["prompt"]
    now = FeedbackRequest.objects.get(pk=asked.pk)
    assert (now.status, now.seal, now.run.status) == ("pending", seal, "awaiting_feedback")
    assert now.responses.count() == 0


def test_the_agent_can_only_read_while_it_answers(
    agents: FakeAgents, tmp_path: Path, settings: Settings
) -> None:
    settings.FABER_AGENT_COMMAND = (
        *("claude", "-p", "--dangerously-skip-permissions", "--permission-mode", "acceptEdits"),
        *("--allowedTools", "Bash", "Write", "--mcp-config", "mine.json", "--model", "small"),
    )
    asked = planned(agents, tmp_path, BECAUSE)

    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    argv = agents.calls[-1]["argv"]
    assert not {"--dangerously-skip-permissions", "acceptEdits", "Bash", "mine.json"} & set(argv)
    assert argv[argv.index("--permission-mode") + 1] == "plan"
    assert argv[argv.index("--tools") + 1] == "Read,Grep,Glob"
    assert argv[argv.index("--model") + 1] == "small"
    assert "--json-schema" not in argv


def test_codex_can_only_read_while_it_answers(
    agents: FakeAgents, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text("[mcp_servers.mine]\ncommand = 'mine'\n")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    settings.FABER_AGENT_COMMAND = (
        *("codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "--model", "small"),
    )
    asked = planned(agents, tmp_path, BECAUSE, artifact=None)

    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    step, question = agents.calls
    assert question["session"] == step["session"]
    words = question["argv"]
    assert "--dangerously-bypass-approvals-and-sandbox" not in words
    assert words[words.index("--sandbox") + 1] == "read-only"
    assert "mcp_servers.mine.enabled=false" in words
    assert words[-3:] == ["resume", step["session"], "-"]
    assert thread_of(asked)[0]["answer"] == BECAUSE


def test_an_agent_whose_session_is_gone_gets_the_context_with_the_question(
    agents: FakeAgents, tmp_path: Path
) -> None:
    asked = planned(agents, tmp_path, BECAUSE)
    agents.forget_sessions()

    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    prompt = agents.calls[-1]["prompt"]
    assert "## The step: architect:plan" in prompt
    assert "## Context" in prompt
    assert WHY in prompt
    assert thread_of(asked)[0]["answer"] == BECAUSE


def test_an_agent_without_sessions_gets_the_context_with_the_question(
    agents: FakeAgents, tmp_path: Path, settings: Settings
) -> None:
    agents.install(
        "mine",
        "import sys, json, pathlib\n"
        "text = sys.stdin.read()\n"
        "asked = '## The question' in text and '## Context' in text\n"
        "pathlib.Path('plan.md').write_text('# Plan\\n') if not asked else None\n"
        "print('It is fine.' if asked else json.dumps({'status': 'success', 'message': 'x'}))\n",
    )
    settings.FABER_AGENT_COMMAND = ("mine",)
    asked = planned(agents, tmp_path)

    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    assert thread_of(asked)[0]["answer"] == "It is fine."


def test_a_step_without_an_agent_leaves_the_question_to_the_one_that_worked_before(
    agents: FakeAgents, tmp_path: Path
) -> None:
    agents.will_say({"status": "success", "message": "Coded."}, BECAUSE)
    document = f.workflow(
        {"build": [{"id": "code", "prompt": "Do it."}, f.step("test", requires_approval=True)]}
    )
    asked = f.pending(f.started(document, tmp_path))

    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    assert thread_of(asked)[0]["answer"] == BECAUSE
    assert agents.calls[0]["session"] == agents.calls[1]["session"]


def test_questions_are_answered_one_after_the_other_and_cost_what_they_cost(
    agents: FakeAgents, tmp_path: Path
) -> None:
    asked = planned(agents, tmp_path, "One.", "Two.", "Three.")
    before = Run.objects.get(pk=asked.run_id)

    for question in ("First?", "Second?", "Third?"):
        ask(asked.request_id, question, actor=f.person())
    work_off()

    said = [(entry["number"], entry["question"], entry["answer"]) for entry in thread_of(asked)]
    assert said == [(1, "First?", "One."), (2, "Second?", "Two."), (3, "Third?", "Three.")]
    run = Run.objects.get(pk=asked.run_id)
    assert run.cost_usd == pytest.approx((before.cost_usd or 0) + 3 * 0.0421)
    assert run.output_tokens == (before.output_tokens or 0) + 3 * 45


@pytest.mark.parametrize("older", [False, True], ids=["of the session", "of each call"])
def test_steps_and_answers_in_one_session_are_counted_once_each(
    agents: FakeAgents, tmp_path: Path, older: bool
) -> None:
    if older:
        agents.are_older()
    asked = planned(agents, tmp_path, BECAUSE, PLANNED, BECAUSE)
    ask(asked.request_id, WHY, actor=f.person())
    work_off()
    f.answered(asked.run, "request_changes", "Add it all the same.")
    ask(f.pending(asked.run).request_id, WHY, actor=f.person())
    work_off()

    run = Run.objects.get(pk=asked.run_id)
    assert len({call["session"] for call in agents.calls}) == 1
    assert run.cost_usd == pytest.approx(4 * 0.0421)
    assert run.output_tokens == 4 * 45


def test_the_tokens_of_a_codex_thread_are_counted_once(
    agents: FakeAgents, tmp_path: Path, settings: Settings
) -> None:
    settings.FABER_AGENT_COMMAND = ("codex", "exec")
    asked = planned(agents, tmp_path, BECAUSE, artifact=None)
    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    run = Run.objects.get(pk=asked.run_id)
    assert (run.input_tokens, run.output_tokens) == (2 * 24763, 2 * 122)


def test_the_session_knows_of_the_question_when_changes_are_requested(
    agents: FakeAgents, tmp_path: Path
) -> None:
    asked = planned(agents, tmp_path, BECAUSE, PLANNED)
    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    f.answered(asked.run, "request_changes", "Add it all the same.")

    first, question, revision = agents.calls
    assert first["session"] == question["session"] == revision["session"]
    assert "--json-schema" in revision["argv"]


def test_an_agent_that_fails_leaves_the_reason_and_the_gate_shut(
    agents: FakeAgents, tmp_path: Path
) -> None:
    broken = {"envelope": {"subtype": "success", "is_error": True, "result": "Credit is low"}}
    asked = planned(agents, tmp_path, broken)

    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    (entry,) = thread_of(asked)
    assert (entry["status"], entry["answer"]) == ("failed", None)
    assert "Credit is low" in str(entry["problem"])
    assert f.pending(asked.run).request_id == asked.request_id


def test_no_secret_of_an_answer_is_kept(agents: FakeAgents, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    asked = planned(agents, tmp_path, f"The token is {token}.")

    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    assert token not in str(thread_of(asked))
    assert "The token is" in str(thread_of(asked))


def test_a_decision_ends_what_is_still_asked(agents: FakeAgents, tmp_path: Path) -> None:
    asked = planned(agents, tmp_path, BECAUSE)
    ask(asked.request_id, WHY, actor=f.person())

    f.answered(asked.run, "approve")
    work_off()

    assert thread_of(asked)[0]["status"] == "closed"
    assert [call for call in agents.calls if WHY in call["prompt"]] == []


SLOW = """
import json, pathlib, sys, time
asked = "## The question" in sys.stdin.read()
if asked:
    pathlib.Path(sys.argv[1]).touch()
    time.sleep(600)
print(json.dumps({"status": "success", "message": "x"}))
"""


def test_a_decision_ends_the_agent_that_is_answering(
    agents: FakeAgents, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = agents.bin / "begun"  # the workspace can only be read
    agents.install("slow", SLOW)
    settings.FABER_AGENT_COMMAND = ("slow", str(begun))
    asked = planned(agents, tmp_path, artifact=None)
    ask(asked.request_id, WHY, actor=f.person())
    look = answering.Holding._look

    def decided_once_begun(holding: answering.Holding, now: float) -> None:
        if begun.exists():
            FeedbackRequest.objects.filter(pk=asked.pk).update(status="cancelled")
        look(holding, now)

    monkeypatch.setattr(answering.Holding, "_look", decided_once_begun)
    work_off()

    assert begun.exists()
    assert Inquiry.objects.get().state == Inquiry.Stage.DROPPED


def test_a_worker_that_lost_its_question_leaves_it_to_whoever_has_it(
    agents: FakeAgents, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = agents.bin / "begun"  # the workspace can only be read
    agents.install("slow", SLOW)
    settings.FABER_AGENT_COMMAND = ("slow", str(begun))
    settings.FABER_LEASE_SECONDS = 6
    asked = planned(agents, tmp_path, artifact=None)
    ask(asked.request_id, WHY, actor=f.person())
    look = answering.Holding._look

    def taken_once_begun(holding: answering.Holding, now: float) -> None:
        if begun.exists():
            Inquiry.objects.update(worker="another:1:x")
        look(holding, now)

    monkeypatch.setattr(answering.Holding, "_look", taken_once_begun)
    work_off()

    inquiry = Inquiry.objects.get()
    assert (inquiry.state, inquiry.worker) == (Inquiry.Stage.ASKING, "another:1:x")


@pytest.mark.parametrize("hooked", [True, False])
def test_an_agent_that_waits_for_a_permission_cannot_be_asked(hooked: bool) -> None:
    caller = program(AGENT, name="ci")
    call = {"tool": "Bash", "input": {"command": "ls"}, "session": "s", "event": "e"}
    wish = {"type": "confirmation", "prompt": "Allow Bash?", "context": {"tool": "Bash"}}
    if hooked:
        caller.post("/tool-calls", {**call, "waiter": "12345678", "wait": 0})
    else:
        caller.post("/requests", wish)

    with pytest.raises(Refused, match="waiting for this permission"):
        ask(FeedbackRequest.objects.get().request_id, WHY, actor=f.person())


def test_a_question_under_way_survives_its_worker(
    agents: FakeAgents, tmp_path: Path, settings: Settings
) -> None:
    asked = planned(agents, tmp_path, BECAUSE)
    inquiry = ask(asked.request_id, WHY, actor=f.person())
    long_ago = timezone.now() - timedelta(seconds=10 * settings.FABER_LEASE_SECONDS)
    Inquiry.objects.filter(pk=inquiry.pk).update(
        state=Inquiry.Stage.ASKING, worker="gone:1:x", lease_until=long_ago, tries=1
    )

    answering.catch_up()
    work_off()

    assert thread_of(asked)[0]["answer"] == BECAUSE
    assert [call for call in agents.calls if WHY in call["prompt"]] != []


def test_a_question_whose_workers_die_again_and_again_says_so(
    agents: FakeAgents, tmp_path: Path, settings: Settings
) -> None:
    asked = planned(agents, tmp_path)
    inquiry = ask(asked.request_id, WHY, actor=f.person())
    long_ago = timezone.now() - timedelta(seconds=10 * settings.FABER_LEASE_SECONDS)
    Inquiry.objects.filter(pk=inquiry.pk).update(
        state=Inquiry.Stage.ASKING,
        worker="gone:1:x",
        lease_until=long_ago,
        tries=answering.MOST_TRIES,
    )

    answering.catch_up()

    (entry,) = thread_of(asked)
    assert (entry["status"], entry["problem"]) == ("failed", answering.DIED)


def test_a_question_whose_job_was_lost_is_asked_by_the_sweep(
    agents: FakeAgents, tmp_path: Path
) -> None:
    asked = planned(agents, tmp_path, BECAUSE)
    inquiry = ask(asked.request_id, WHY, actor=f.person())
    OrmQ.objects.all().delete()
    Inquiry.objects.filter(pk=inquiry.pk).update(queued_at=timezone.now() - timedelta(minutes=1))

    answering.catch_up()
    work_off()

    assert thread_of(asked)[0]["answer"] == BECAUSE


def test_an_agent_never_asks(agents: FakeAgents, tmp_path: Path) -> None:
    asked = planned(agents, tmp_path)

    refused = program(AGENT).post(f"/requests/{asked.request_id}/questions", {"question": WHY})

    assert (refused.status_code, error_of(refused)["code"]) == (403, "not_allowed")
    with pytest.raises(NotAllowed):
        ask(asked.request_id, WHY, actor=f.person(is_agent=True))


@pytest.mark.parametrize("question", ["", "  \n", "x" * 10_001])
def test_a_question_that_says_nothing_or_too_much_is_refused(
    agents: FakeAgents, tmp_path: Path, question: str
) -> None:
    asked = planned(agents, tmp_path)

    with pytest.raises(Invalid):
        ask(asked.request_id, question, actor=f.person())
    assert thread_of(asked) == []


def test_without_an_agent_there_is_nobody_to_ask(tmp_path: Path) -> None:
    asked = f.reviewed_list(tmp_path)

    with pytest.raises(Refused, match="No agent has worked on this run"):
        ask(asked.request_id, WHY, actor=f.person())


def test_a_closed_request_takes_no_question(agents: FakeAgents, tmp_path: Path) -> None:
    asked = planned(agents, tmp_path)
    f.answered(asked.run, "approve")

    with pytest.raises(FaberError, match="Already answered"):
        ask(asked.request_id, WHY, actor=f.person())


def test_the_thread_is_on_record_and_a_change_of_it_is_found(
    agents: FakeAgents, tmp_path: Path
) -> None:
    asked = planned(agents, tmp_path, BECAUSE)
    ask(asked.request_id, WHY, actor=f.person())
    work_off()
    listed = faber("audit", "--json").document["items"]
    told = [(line["kind"], line["who"], line["comment"]) for line in listed]
    assert told == [("inquiry", "Rita", WHY), ("reply", "claude", BECAUSE)]
    assert integrity.faults() == []

    Inquiry.objects.update(answer="Because I said so.")
    (fault,) = integrity.faults()
    assert f"the agent's reply to question 1 on {asked.request_id} was changed" in fault

    Inquiry.objects.all().delete()
    assert len(integrity.faults()) == 1
    assert "is gone" in integrity.faults()[0]


def test_the_thread_goes_with_an_export_and_is_on_record_where_it_comes_to(
    agents: FakeAgents, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    asked = planned(agents, tmp_path / "work", BECAUSE)
    ask(asked.request_id, WHY, actor=f.person())
    work_off()
    ask(asked.request_id, "And then?", actor=f.person())
    spent = Run.objects.get(pk=asked.run_id).cost_usd
    assert faber("export", asked.run.run_id, str(tmp_path / "out")).code == 0
    asked.run.delete()
    AuditEntry.objects.all().delete()

    assert faber("import", str(tmp_path / "out")).code == 0

    there = FeedbackRequest.objects.get(request_id=asked.request_id)
    assert [(entry["answer"], entry["status"]) for entry in thread_of(there)] == [
        (BECAUSE, "answered"),
        (None, "closed"),
    ]
    assert there.run.cost_usd == pytest.approx(spent)
    assert integrity.faults() == []
    work_off()
    assert len(agents.calls) == 2


def test_what_an_answer_cost_is_on_the_page_of_costs(agents: FakeAgents, tmp_path: Path) -> None:
    asked = planned(agents, tmp_path, BECAUSE)
    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    found = costs.costs(since=None, now=timezone.now(), sight=EVERYTHING)

    assert found.total.usd == pytest.approx(2 * 0.0421)
    (project,) = found.projects
    assert (project.runs, project.cost) == (1, found.total)
    assert found.dearest[0].cost.usd == found.this_week.usd == pytest.approx(0.0842)


def test_metrics_tell_what_an_answer_cost(agents: FakeAgents, tmp_path: Path) -> None:
    asked = planned(agents, tmp_path, BECAUSE)
    ask(asked.request_id, WHY, actor=f.person())
    work_off()

    told = {each.name: each for each in FromDatabase().collect()}

    (spent,) = told["faber_agent_cost_usd"].samples
    assert spent.value == pytest.approx(2 * 0.0421)


def test_the_terminal_waits_for_the_answer(agents: FakeAgents, tmp_path: Path) -> None:
    asked = planned(agents, tmp_path, BECAUSE)

    answered = faber("ask", asked.request_id, WHY)

    assert (answered.code, answered.out.strip()) == (0, BECAUSE)
    shown = faber("show", asked.request_id).out
    assert WHY in shown
    assert BECAUSE in shown


def test_a_detached_question_is_left_to_a_worker(agents: FakeAgents, tmp_path: Path) -> None:
    asked = planned(agents, tmp_path, BECAUSE)

    told = faber("ask", asked.request_id, WHY, "--detach", "--json").document

    assert [entry["status"] for entry in told["thread"]] == ["pending"]
    work_off()
    assert thread_of(asked)[0]["answer"] == BECAUSE


# Programs


def asked_by_program() -> tuple[f.Json, Program]:
    caller = program(AGENT, name="ci")
    body = {"type": "approval", "prompt": "Deploy?"}
    return body_of(caller.post("/requests", body)), caller


def test_a_program_hears_of_a_question_in_its_wait_and_replies() -> None:
    asked, caller = asked_by_program()
    path = f"/requests/{asked['request_id']}"
    ask(str(asked["request_id"]), "Which version?", actor=f.person())

    heard = caller.get(f"{path}/wait?timeout=30")
    assert heard.status_code == 202
    (entry,) = body_of(heard)["thread"]
    assert (entry["question"], entry["status"]) == ("Which version?", "pending")

    replied = caller.post(f"{path}/questions/1/reply", {"answer": "1.2.3"})

    (entry,) = body_of(replied)["thread"]
    assert (entry["answer"], entry["agent"], entry["status"]) == ("1.2.3", "ci", "answered")
    assert body_of(replied)["status"] == "pending"
    again = caller.post(f"{path}/questions/1/reply", {"answer": "9"})
    assert again.status_code == 409


def test_a_program_hears_of_a_question_also_from_a_site_that_is_about_to_end() -> None:
    asked, caller = asked_by_program()
    path = f"/requests/{asked['request_id']}/wait?timeout=30"
    caller.environ[long_poll.IS_ENDING] = lambda: True
    ask(str(asked["request_id"]), "Which version?", actor=f.person())

    heard, again = caller.get(path), caller.get(path)

    assert [entry["status"] for entry in body_of(heard)["thread"]] == ["pending"]
    assert "Retry-After" not in heard  # else it would be put off, and is not told again
    assert "Retry-After" in again


def test_only_the_program_that_is_asked_replies() -> None:
    asked, _ = asked_by_program()
    ask(str(asked["request_id"]), "Which version?", actor=f.person())
    other = program(AGENT, name="other")

    refused = other.post(f"/requests/{asked['request_id']}/questions/1/reply", {"answer": "9"})

    assert (refused.status_code, error_of(refused)["code"]) == (403, "not_allowed")


def test_the_executor_of_a_remote_step_gets_the_question_with_its_next_call(
    tmp_path: Path,
) -> None:
    away: f.Json = {"id": "away", "remote": True, "requires_approval": True}
    run = f.start(f.workflow({"build": [away]}), tmp_path)
    caller = program(AGENT, name="team/runner")
    step = body_of(caller.post(f"/runs/{run.run_id}/next", {}))
    done = {"lease": step["lease"], "response": {"status": "success", "message": "Done."}}
    assert body_of(caller.post(f"/runs/{run.run_id}/finish", done))["action"] == "wait"
    request = f.pending(run)

    ask(request.request_id, "Did you run the tests?", actor=f.person())

    waiting = body_of(caller.post(f"/runs/{run.run_id}/next", {}))
    assert (waiting["action"], waiting["request_id"]) == ("wait", request.request_id)
    assert [each["question"] for each in waiting["questions"]] == ["Did you run the tests?"]
    path = f"/requests/{request.request_id}/questions/1/reply"
    assert caller.post(path, {"answer": "Yes."}).status_code == 200
    assert "questions" not in body_of(caller.post(f"/runs/{run.run_id}/next", {}))
    assert StepAttempt.objects.filter(run=run).count() == 1
