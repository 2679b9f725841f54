"""The form a project's settings are changed with, in the browser and on the command line."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django import forms

from runs.accounts import users
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid
from runs.domain.values.members import EVERYONE, read_members
from runs.domain.workflow import agents
from runs.models import Project, places
from runs.pages.projects import settings
from runs.workspaces import worktrees

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Project]
else:
    _ModelForm = forms.ModelForm


_GROUPS = (
    ("Workspace", "git-branch", ("workspace", "base_branch", "worktree", "exclusive")),
    ("Agent", "bot", ("agent", "context_tokens", "context_bytes")),
    ("Decisions", "stamp", ("reviewers",)),
    ("Members", "users", ("visibility", "members")),
    ("GitHub", "message-square", ("tells_runs", "labels_issues", "github_allow")),
)


class NamesField(forms.CharField):
    """Names in one line, separated by commas."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        names = (name.strip() for name in str(value or "").split(","))
        return list(dict.fromkeys(name for name in names if name))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool((initial or []) != self.to_python(data))


class ProjectForm(_ModelForm):
    workspace = forms.CharField(
        label="Folder",
        required=False,
        max_length=1000,
        help_text="Where its code lies on the server, as a full path.",
    )
    reviewers = NamesField(
        label="Reviewers",
        required=False,
        help_text="Accounts and group:NAME, separated by commas; for steps that name none.",
    )
    members = NamesField(
        label="Members",
        required=False,
        help_text="NAME:ROLE and group:NAME:ROLE, separated by commas; the role (viewer, reviewer,"
        " operator) counts here in place of the site's.",
    )
    github_allow = NamesField(
        label="GitHub logins that may command",
        required=False,
        help_text="Besides those who may write to the repository; separated by commas.",
    )

    class Meta:
        model = Project
        fields = settings.KEYS
        labels = {
            "base_branch": "Base branch",
            "worktree": "Each run in a git worktree of its own",
            "exclusive": "One run at a time",
            "visibility": "Exists for",
            "agent": "Agent",
            "context_tokens": "Most tokens of context",
            "context_bytes": "Most bytes of context",
            "tells_runs": "Comment on the issue when a run starts and ends",
            "labels_issues": "Label issues that wait for a decision",
        }
        help_texts = {
            "base_branch": "What worktrees are made from and branches compared with; "
            "empty: what is checked out.",
            "worktree": "A workflow that says otherwise goes first.",
            "visibility": "Operators of the site see every project.",
            "exclusive": "The next run waits until the one before has completed or is cancelled.",
            "agent": "claude, codex, or a command that reads a prompt; empty: as the site says.",
            "context_tokens": "A token counts as four bytes; empty: as much as there is.",
            "context_bytes": "The smaller of the two counts.",
        }

    def __init__(self, data: Mapping[str, Any] | None = None, *, project: Project) -> None:
        here = {"workspace": str(project.folder or "")}
        super().__init__(data, instance=project, initial=here)
        self.fields["visibility"].required = False

    @property
    def groups(self) -> list[tuple[str, str, list[forms.BoundField]]]:
        """Titles with their icons and fields, as the page shows them."""
        return [(title, icon, [self[name] for name in names]) for title, icon, names in _GROUPS]

    def clean_workspace(self) -> str:
        named = self.cleaned_data["workspace"].strip()
        if not named:
            return ""
        folder = Path(named)
        if not folder.is_absolute():
            raise forms.ValidationError(f"{named} is not a full path.")
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
                self.add_error(name, "Nothing can be told in 0; leave it empty for no limit.")
        if "workspace" in said and "base_branch" in said:
            self._check_repository(said)
        return said

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
