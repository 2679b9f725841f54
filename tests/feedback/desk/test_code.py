"""The tab of code changes: what a reviewer sees of them, comments on and has viewed."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from feedback.models import FeedbackRequest, ReviewComment, ViewedFile
from runs.domain.values.actors import Role
from runs.models import Run
from runs.workspaces.git import environment
from tests import factories as f
from tests.api_client import account
from tests.repositories import Repository, reviewed

pytestmark = pytest.mark.django_db

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "app")
    made.write("long.py", "".join(f"line_{number} = {number}\n" for number in range(1, 101)))
    made.commit("A long file")
    return made


@pytest.fixture
def run(repository: Repository) -> Run:
    text = (repository.folder / "long.py").read_text()
    repository.write("long.py", text.replace("line_50 = 50", "line_50 = 51  # <changed>"))
    repository.write("package-lock.json", '{"locked": true}\n')
    repository.write("src/<b>.txt", "new\n")
    (repository.folder / "pixel.png").write_bytes(PIXEL)
    return reviewed(repository)


@pytest.fixture(autouse=True)
def at_once(settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 0


@pytest.fixture
def rita() -> User:
    return account("rita", Role.REVIEWER)


@pytest.fixture
def client(client: Client, rita: User) -> Client:
    client.force_login(rita)
    return client


def page(client: Client, run: Run, query: str = "tab=changes", target: str = "") -> str:
    headers = {"HX-Request": "true", "HX-Target": target} if target else {}
    address = f"/requests/{f.pending(run).request_id}/?{query}"
    return client.get(address, headers=headers).content.decode()


def comment(client: Client, run: Run, **fields: object) -> int:
    address = f"/requests/{f.pending(run).request_id}/remarks/"
    place = {"path": "long.py", "side": "new", "line": 50, "body": "Why?", "kind": "must"}
    return client.post(address, {**place, **fields}).status_code


def test_a_request_without_files_opens_on_its_code_changes(client: Client, run: Run) -> None:
    shown = page(client, run, "")

    assert 'aria-label="Code changes"' in shown
    assert "4 files" in shown
    assert "src/&lt;b&gt;.txt" in shown
    assert "<b>.txt" not in shown


def test_changed_words_are_marked_and_coloured(client: Client, run: Run) -> None:
    shown = page(client, run)

    assert '<ins><span class="mi">51</span>' in shown
    assert '<del><span class="mi">50</span></del>' in shown
    assert "&lt;changed&gt;" in shown


def test_side_by_side_has_both_numbers(client: Client, run: Run) -> None:
    shown = page(client, run, "tab=changes&layout=split")

    assert "data-split" in shown
    assert 'data-side="old" data-at="50"' in shown
    assert 'data-side="new" data-at="50"' in shown


def test_the_layout_chosen_before_holds_unless_the_address_names_another(
    client: Client, run: Run
) -> None:
    client.cookies["layout"] = "split"

    assert "data-split" in page(client, run)
    assert "data-split" not in page(client, run, "tab=changes&layout=unified")


def test_a_suggestion_stands_beside_its_lines_with_its_words(client: Client, run: Run) -> None:
    comment(client, run, kind="suggestion", replacement="line_50 = 5", body="Say why.")

    note = page(client, run).split('class="inline-remark"')[1].partition("</td>")[0]

    assert "Say why." in note
    assert "<code>line_50 = 5</code>" in note


def test_a_new_file_has_no_empty_half_beside_it(client: Client, run: Run) -> None:
    shown = page(client, run, "tab=changes&layout=split&path=package-lock.json", "change-body-1")

    assert "locked" in shown
    assert "data-split" not in shown


def test_what_a_program_wrote_is_closed_until_it_is_opened(client: Client, run: Run) -> None:
    assert "locked" not in page(client, run)

    assert "locked" in page(client, run, "tab=changes&path=package-lock.json", "change-body-1")
    assert "locked" in page(client, run, "tab=changes&path=package-lock.json")


def test_a_deleted_file_is_closed_until_it_is_opened(
    client: Client, repository: Repository
) -> None:
    (repository.folder / "old.txt").unlink()
    run = reviewed(repository)

    assert '<span class="tag">deleted</span>' in page(client, run)
    assert 'data-kind="removed"' not in page(client, run)
    assert 'data-kind="removed"' in page(client, run, "tab=changes&path=old.txt")


def test_the_tree_lists_files_in_the_order_of_the_page(
    client: Client, repository: Repository
) -> None:
    for path in ("b.txt", "docs/z.txt", "docs/deep/a.txt", "docs/a.txt"):
        repository.write(path, "new\n")
    shown = page(client, reviewed(repository))

    assert re.findall(r'<a href="#change-(\d)" data-status', shown) == ["0", "1", "2", "3"]


def test_a_file_that_was_only_renamed_has_no_counts(client: Client, repository: Repository) -> None:
    repository("mv", "old.txt", "new.txt")
    repository.write("other.txt", "other\n")
    shown = page(client, reviewed(repository))

    assert '<span class="diffstat">renamed</span>' in shown
    assert ">+0<" not in shown


def test_a_run_that_changed_nothing_has_no_tab_of_changes(
    client: Client, repository: Repository
) -> None:
    run = reviewed(repository)

    assert f.pending(run).snapshot is not None
    for query in ("", "tab=changes"):
        assert "Code changes" not in page(client, run, query)


def test_unchanged_lines_are_shown_on_demand(client: Client, run: Run) -> None:
    assert "Show 46 unchanged lines" in page(client, run)
    assert "line_7 " not in page(client, run)

    more = page(client, run, "tab=changes&path=long.py&first=54&last=60", "gap-0-54")

    assert 'id="c0-new-54"' in more
    assert '<td class="number">60</td><td class="number">60</td>' in more
    assert 'id="c0-new-61"' not in more
    without_scripts = page(client, run, "tab=changes&path=long.py&first=54&last=60")
    assert 'id="c0-new-7"' in without_scripts


def test_a_picture_is_shown_and_nothing_else_as_one(client: Client, run: Run) -> None:
    asked = f.pending(run)
    shown = page(client, run)
    address = shown.partition('<img src="')[2].partition('"')[0]

    answer = client.get(f"/requests/{asked.request_id}/{address}")

    assert (answer.content, answer["Content-Type"]) == (PIXEL, "image/png")
    assert client.get(f"/requests/{asked.request_id}/changes/base/new/nothing").status_code == 404


@pytest.mark.parametrize(("side", "label"), [("new", "line 50"), ("old", "old line 50")])
def test_a_comment_on_a_line_becomes_an_item_of_the_answer(
    client: Client, run: Run, side: str, label: str
) -> None:
    assert f'aria-label="Comment on {label}"' in page(client, run)

    assert comment(client, run, side=side) == 303

    shown = page(client, run)
    assert "Why?" in shown.partition('class="code-note"')[2].partition("</tr>")[0]
    asked = f.pending(run)
    client.post(
        f"/requests/{asked.request_id}/",
        {"response": "request_changes", "comment": "See there.", "seal": asked.seal},
    )
    (item,) = FeedbackRequest.objects.get(pk=asked.pk).responses.get().items
    quote = "line_50 = 50" if side == "old" else "line_50 = 51  # <changed>"
    assert item == {
        "number": 1,
        "path": "long.py",
        "side": side,
        "line": 50,
        "end_line": 50,
        "quote": quote,
        "body": "Why?",
        "kind": "must",
    }


def test_without_scripts_the_field_stands_at_the_line(client: Client, run: Run) -> None:
    shown = page(client, run, "tab=changes&path=long.py&side=old&line=50")

    field = shown.partition('class="code-note"')[2].partition("</tr>")[0]
    assert "Comment on old line 50" in field
    assert "csrfmiddlewaretoken" in field


def test_a_comment_on_what_is_not_there_is_refused(client: Client, run: Run) -> None:
    assert comment(client, run, path="other.py") == 404
    assert comment(client, run, line=5000) == 422
    assert not ReviewComment.objects.exists()


def test_viewed_marks_are_a_person_s_own_and_end_when_the_file_changes(
    client: Client, run: Run, repository: Repository
) -> None:
    asked = f.pending(run)

    def view(path: str, viewed: str = "1") -> int:
        fields = {"path": path, "since": "base", "viewed": viewed}
        return client.post(f"/requests/{asked.request_id}/viewed/", fields).status_code

    assert view("long.py") == 303
    assert view("nothing.py") == 404
    assert "1 viewed" in page(client, run)
    client.force_login(account("rolf", Role.REVIEWER))
    assert "0 viewed" in page(client, run)
    client.force_login(User.objects.get(username="rita"))
    view("long.py", "")
    assert not ViewedFile.objects.exists()
    view("long.py")
    f.answer(run, "request_changes", "Once more.")
    repository.write("long.py", "another\n")
    f.work(run)
    assert "0 viewed" in page(client, run, "tab=changes&since=base")


def test_the_next_round_opens_on_what_grew(
    client: Client, run: Run, repository: Repository
) -> None:
    f.answer(run, "request_changes", "One more file.")
    repository.write("grown.txt", "grown\n")
    f.work(run)

    assert "1 file<" in page(client, run)
    assert "grown.txt" in page(client, run)
    assert "5 files" in page(client, run, "tab=changes&since=base")


def test_files_outside_the_plan_s_paths_are_marked(client: Client, repository: Repository) -> None:
    repository.write("src/in.py", "x = 1\n")
    repository.write("docs/out.md", "out\n")
    look = f.step("look", requires_approval=True, approval_type="review", paths=["src/**/*.py"])
    run = f.started(
        f.workflow({"build": [look]}, paths=["setup.cfg"]),
        repository.folder,
        environment={"git_commit": repository.head},
    )

    shown = page(client, run)

    assert "1 outside the plan" in shown
    after = shown.partition('data-path="docs/out.md"')[2].partition("</summary>")[0]
    assert "outside the plan" in after
    inside = shown.partition('data-path="src/in.py"')[2].partition("</summary>")[0]
    assert "outside the plan" not in inside


def test_many_files_are_shown_in_parts(
    client: Client, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedback.desk.code.page.FILES_AT_ONCE", 2)
    for number in range(5):
        repository.write(f"{number}.txt", f"{number}\n")
    run = reviewed(repository)

    monkeypatch.setattr("feedback.desk.code.tree._WHOLE_UP_TO", 4)
    assert page(client, run).count('class="change"') == 2
    assert "3 more files</a>" in page(client, run)
    last = page(client, run, "tab=changes&path=4.txt")
    assert 'data-path="4.txt"' in last
    assert last.count('class="change"') == 1


def test_the_next_round_shows_what_became_of_a_comment_on_code(
    client: Client, run: Run, repository: Repository
) -> None:
    comment(client, run, line=49, end_line=50, body="Why `51`?")
    comment(client, run, side="old", line=51)
    asked = f.pending(run)
    client.post(
        f"/requests/{asked.request_id}/",
        {"response": "request_changes", "comment": "", "seal": asked.seal},
    )
    text = (repository.folder / "long.py").read_text()
    repository.write("long.py", text.replace("line_50 = 51", "line_50 = 52"))
    f.work(run)

    shown = page(client, run)

    first, second = (part.partition("</li>")[0] for part in shown.split('class="ledger-line"')[1:])
    assert "View change" in first
    assert "Why <code>51</code>?" in first
    assert "long.py:49–50</span>" in first
    assert "long.py:51 (old)</span>" in second


@pytest.mark.parametrize("side", ["new", ""], ids=["code", "document"])
def test_the_next_round_opens_on_what_was_commented_on(
    client: Client, repository: Repository, side: str
) -> None:
    asked = f.reviewed_list(repository.folder, environment=environment(repository.folder))
    run = asked.run
    assert 'id="changes"' not in page(client, run, "")
    assert comment(client, run, path="list.md", side=side, line=3, revision=1) == 303
    client.post(
        f"/requests/{asked.request_id}/",
        {"response": "request_changes", "comment": "", "seal": asked.seal},
    )
    f.work(run)

    assert f.pending(run).round == 2
    assert ('id="changes"' in page(client, run, "")) is (side == "new")
    assert 'id="changes"' not in page(client, run, "tab=files")
    # As a link to a line of a document asks for it
    assert 'class="source"' in page(client, run, "view=source&file=list.md&start=3")


def test_without_scripts_the_page_of_a_comment_on_code_names_no_revision(
    client: Client, run: Run
) -> None:
    comment(client, run)
    address = f"/requests/{f.pending(run).request_id}/remarks/{ReviewComment.objects.get().pk}/"

    shown = client.get(address).content.decode()

    assert "<span>code changes</span>" in shown
    assert "revision 0" not in shown


# The way to them from the page of the run


def way(client: Client, run: Run) -> str:
    shown = re.sub(r"\s+", " ", client.get(f"/runs/{run.run_id}/").content.decode())
    section = shown.partition('aria-labelledby="code-title"')[2].partition("</section>")[0]
    return section.partition("</h2>")[2]


def test_the_page_of_a_run_leads_to_what_it_changed_while_it_asks_and_when_it_is_done(
    client: Client, repository: Repository, run: Run
) -> None:
    first = f.pending(run)
    assert f'href="/requests/{first.request_id}/?tab=changes"' in way(client, run)
    assert "4 files changed" in way(client, run)

    repository.write("more.py", "more = 1\n")
    run = f.answered(run, "request_changes", "More.")
    second = f.pending(run)
    assert f'href="/requests/{second.request_id}/?tab=changes"' in way(client, run)
    assert "5 files changed" in way(client, run)
    assert '<span data-tone="bad">−1</span>' in way(client, run)

    run = f.answered(run, "approve")
    assert run.status == "completed"
    assert f'href="/requests/{second.request_id}/?tab=changes"' in way(client, run)


def test_the_page_of_a_run_without_code_changes_does_not_speak_of_them(client: Client) -> None:
    run = f.started(f.five_steps())

    assert f"/runs/{run.run_id}/" in client.get(f"/runs/{run.run_id}/").content.decode()
    assert way(client, run) == ""
