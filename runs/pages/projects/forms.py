"""The form a project's settings are changed with, in the browser and on the command line."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django import forms

from runs.accounts import notify_urls, users
from runs.domain.values.actors import Actor
from runs.domain.values.errors import FaberError, Invalid
from runs.domain.values.members import EVERYONE, read_members
from runs.domain.values.moments.business_hours import read_hours, zone_of
from runs.domain.values.moments.durations import maybe_duration
from runs.domain.values.questions import Action, known_action
from runs.domain.workflow import agents
from runs.domain.workflow.definition import LABEL
from runs.engine import starting
from runs.models import Project, places
from runs.pages.projects import settings
from runs.trackers import AWAITING_LABEL
from runs.workspaces import worktrees

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Project]
else:
    _ModelForm = forms.ModelForm


_TIME = (
    *("due", "remind", "escalate_after", "escalate_to", "on_timeout", "business_hours"),
    "timezone",
)
_ISSUES = (
    *("tracker", "repository", "start_workflow", "start_label", "tells_runs", "labels_issues"),
    "github_allow",
)
_LONGEST_LABEL = 50  # of GitHub; GitLab's may be longer
_GROUPS = (
    ("Workspace", "git-branch", ("workspace", "base_branch", "worktree", "exclusive", "needs")),
    ("Agent", "bot", ("agent", "context_tokens", "context_bytes")),
    ("Decisions", "stamp", ("reviewers", "assign")),
    ("Time", "clock", _TIME),
    ("Members", "users", ("visibility", "members")),
    ("Notices", "bell", ("notify",)),
    ("Issues", "message-square", _ISSUES),
)


@contextmanager
def _sentence() -> Iterator[None]:
    """What a value cannot be, as a sentence beside its field."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        raise forms.ValidationError(f"{said[:1].upper()}{said[1:]}.") from error


class NamesField(forms.CharField):
    """Names in one line, separated by commas."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        names = (name.strip() for name in str(value or "").split(","))
        return list(dict.fromkeys(name for name in names if name))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool((initial or []) != self.to_python(data))


class AddressesField(forms.CharField):
    """Addresses that are secrets: shown by their service alone, and kept as they are shown."""

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return ", ".join(notify_urls.shown(url) for url in notify_urls.unseal(value))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.prepare_value(initial or []) != str(data or "").strip())


class ProjectForm(_ModelForm):
    workspace = forms.CharField(
        label="Folder",
        required=False,
        max_length=1000,
        help_text="Absolute path of the code on the server.",
    )
    needs = NamesField(
        label="Needs",
        required=False,
        help_text="Labels that a machine must have to run its steps, separated by commas.",
    )
    reviewers = NamesField(
        label="Reviewers",
        required=False,
        help_text="Accounts and group:NAME, separated by commas. Used by steps without reviewers.",
    )
    members = NamesField(
        label="Members",
        required=False,
        help_text="NAME:ROLE and group:NAME:ROLE, separated by commas. The role (viewer, reviewer,"
        " operator) replaces the site role in this project.",
    )
    escalate_to = NamesField(
        label="Escalate to",
        required=False,
        help_text="Accounts and group:NAME, separated by commas; they are asked too.",
    )
    on_timeout = NamesField(
        label="On timeout",
        required=False,
        help_text="Options that end the run when a decision is due, such as reject, abort; "
        "the first that a request offers is taken.",
    )
    github_allow = NamesField(
        label="Logins that can use commands",
        required=False,
        help_text="In addition to people with write access. Separated by commas.",
    )

    notify = AddressesField(
        label="Notify",
        required=False,
        help_text="Apprise URLs such as slack://… or ntfys://…, separated by commas; told besides"
        " the site's. They are secrets and are not shown again.",
    )

    class Meta:
        model = Project
        fields = tuple(key for key in settings.KEYS if key != "notify")
        labels = {
            "base_branch": "Base branch",
            "worktree": "Separate git worktree for each run",
            "exclusive": "One run at a time",
            "visibility": "Visible to",
            "agent": "Agent",
            "context_tokens": "Context token limit",
            "context_bytes": "Context byte limit",
            "start_workflow": "Workflow started from issues",
            "start_label": "Label that starts it",
            "tells_runs": "Keep a status comment on the issue for every run",
            "labels_issues": "Label issues waiting for a decision",
            "due": "Due",
            "remind": "Remind every",
            "escalate_after": "Escalate after",
            "business_hours": "Business hours",
            "assign": "Assign requests to",
            "timezone": "Time zone",
            "tracker": "Tracker",
            "repository": "Repository",
        }
        help_texts = {
            "base_branch": "Base for worktrees and comparisons. Leave empty for the checked-out "
            "branch.",
            "worktree": "Workflows can override this.",
            "visibility": "Site operators see all projects.",
            "exclusive": "The next run starts when the previous one has completed or is cancelled.",
            "agent": "claude, codex or a command. Leave empty for the site default.",
            "context_tokens": "A token counts as 4 bytes. Leave empty for no limit.",
            "context_bytes": "The smaller limit applies.",
            "due": "30s, 45m, 2h or 3d after the asking; workflows can override this.",
            "remind": "Reviewers are reminded each time it has passed.",
            "business_hours": "mon-fri 09:00-17:00; then only working time counts, and a day is "
            "a working day. Empty: around the clock.",
            "assign": "Round-robin: each new request for group:NAME goes to the next member first; "
            "the others may answer too.",
            "tracker": "Name it when the site has more than one.",
            "repository": "What the tracker calls it, such as group/subgroup/name. Leave empty for "
            "the project's own name.",
            "start_workflow": "Started by @faber start, by the label, or by assigning the issue to "
            "FABER's account.",
            "start_label": "Set on an issue by someone with write access. Leave empty for none.",
            "timezone": "Of the business hours, such as Europe/Berlin; empty: UTC.",
        }

    def __init__(self, data: Mapping[str, Any] | None = None, *, project: Project) -> None:
        here = {"workspace": str(project.folder or ""), "notify": project.notify}
        super().__init__(data, instance=project, initial=here)
        self.fields["visibility"].required = False

    @property
    def groups(self) -> list[tuple[str, str, list[forms.BoundField]]]:
        """Titles with their icons and fields, as the page shows them."""
        return [(title, icon, [self[name] for name in names]) for title, icon, names in _GROUPS]

    def clean_needs(self) -> list[str]:
        named: list[str] = self.cleaned_data["needs"]
        if wrong := next((name for name in named if not LABEL.fullmatch(name)), ""):
            raise forms.ValidationError(f"{wrong!r} is not a label such as gpu or linux-arm64.")
        return named

    def clean_workspace(self) -> str:
        named = self.cleaned_data["workspace"].strip()
        if not named:
            return ""
        folder = Path(named)
        if not folder.is_absolute():
            raise forms.ValidationError(f"{named} is not an absolute path.")
        if not folder.is_dir():
            raise forms.ValidationError(f"{named} is not a folder on this machine.")
        return places.stored(folder.resolve())

    def clean_reviewers(self) -> list[str]:
        return self._known("reviewers", self.cleaned_data["reviewers"])

    def clean_visibility(self) -> str:
        return self.cleaned_data["visibility"] or EVERYONE

    def clean_members(self) -> list[str]:
        try:
            members = read_members(self.cleaned_data["members"])
        except Invalid as error:
            said = [f"{problem.message}." for problem in error.problems]
            raise forms.ValidationError(said) from error
        self._known("members", [member.who for member in members])
        return [str(member) for member in members]

    def _known(self, field: str, names: list[str]) -> list[str]:
        """The names, when each is somebody's; those that stood there before are left alone."""
        people = users.people() if field in self.changed_data and names else None
        problems = [wrong for name in names if people and (wrong := people.problem_with(name))]
        if problems:
            raise forms.ValidationError([f"{text[:1].upper()}{text[1:]}." for text in problems])
        return names

    def clean_due(self) -> str:
        return self._duration("due")

    def clean_remind(self) -> str:
        return self._duration("remind")

    def clean_escalate_after(self) -> str:
        return self._duration("escalate_after")

    def _duration(self, field: str) -> str:
        with _sentence():
            return str(maybe_duration(self.cleaned_data[field].strip()) or "")

    def clean_escalate_to(self) -> list[str]:
        return self._known("escalate_to", self.cleaned_data["escalate_to"])

    def clean_on_timeout(self) -> list[str]:
        named: list[str] = self.cleaned_data["on_timeout"]
        for name in named:
            if known_action(name) is not Action.ABORT:
                raise forms.ValidationError(
                    f"{name} does not end the run. Only a workflow can let time approve."
                )
        return named

    def clean_business_hours(self) -> str:
        hours: str = self.cleaned_data["business_hours"].strip()
        with _sentence():
            read_hours(hours, "")
        return hours

    def clean_timezone(self) -> str:
        named: str = self.cleaned_data["timezone"].strip()
        with _sentence():
            return zone_of(named).key if named else ""

    def clean_notify(self) -> list[str]:
        known = notify_urls.unseal(self.instance.notify)
        try:
            urls = notify_urls.changed(self.cleaned_data["notify"], known)
        except Invalid as error:
            said = [f"{each.message[:1].upper()}{each.message[1:]}." for each in error.problems]
            raise forms.ValidationError(said) from error
        return [notify_urls.seal(url) for url in urls]

    def clean_start_label(self) -> str:
        label: str = self.cleaned_data["start_label"].strip()
        if len(label) > _LONGEST_LABEL or "," in label:
            raise forms.ValidationError("A label has at most 50 characters and no comma.")
        if label.casefold() == AWAITING_LABEL:
            raise forms.ValidationError(f"FABER sets {AWAITING_LABEL} itself. Choose another.")
        return label

    def clean_agent(self) -> str:
        named: str = self.cleaned_data["agent"].strip()
        try:
            agents.named(named)
        except ValueError as error:
            raise forms.ValidationError(f"{named!r} is not a command: {error}.") from error
        return named

    def clean(self) -> dict[str, Any]:
        said = super().clean() or self.cleaned_data
        for name in ("context_tokens", "context_bytes"):
            if said.get(name) == 0:
                self.add_error(name, "Enter a number above 0, or leave empty for no limit.")
        if bool(said.get("escalate_after")) != bool(said.get("escalate_to")):
            self.add_error("escalate_after", "Say both when to escalate and to whom.")
        if said.get("on_timeout") and not said.get("due"):
            self.add_error("on_timeout", "Nothing times out without due.")
        if said.get("start_label") and not said.get("start_workflow"):
            self.add_error("start_label", "Say which workflow it starts.")
        if "workspace" in said and "start_workflow" in self.changed_data:
            self._check_workflow(said)
        if "workspace" in said and "base_branch" in said:
            self._check_repository(said)
        return said

    def _check_workflow(self, said: dict[str, Any]) -> None:
        """A workflow that cannot be loaded is told of now, not on the first issue."""
        named = said["start_workflow"] = said.get("start_workflow", "").strip()
        folder = places.found(said["workspace"]) if said["workspace"] else None
        try:
            if named:
                starting.load_for_issue(named, folder)
        except FaberError as error:
            self.add_error("start_workflow", str(error))

    def _check_repository(self, said: Mapping[str, Any]) -> None:
        """A worktree is asked for, or a branch named, where there is none: said now, not later."""
        folder, base = said["workspace"], said["base_branch"]
        if not folder or not (said.get("worktree") or base):
            return
        place = places.found(folder)
        if base and not worktrees.commit_of(place, base):
            self.add_error("base_branch", f"There is no branch {base} in {place}.")
            return
        try:
            if said.get("worktree"):
                worktrees.check(place, base)
        except Invalid as error:
            for problem in error.problems:
                self.add_error("worktree", f"{problem.message[:1].upper()}{problem.message[1:]}.")

    def change(self, actor: Actor) -> None:
        """Set what was filled in, when it is valid."""
        values = {name: self.cleaned_data[name] for name in self.changed_data}
        if values:
            settings.change(self.instance, values, actor=actor)
