"""The form a run or a batch is started with in the browser."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings

from runs.domain.planning.batch import MOST_AT_ONCE, listed
from runs.domain.workflow.definition import AutonomyLevel
from runs.engine import starting, turns
from runs.engine.batches import AT_ONCE, BatchWish
from runs.engine.starting import Wish
from runs.engine.turns import BusyProject
from runs.models import Project
from runs.workflow_files import library
from runs.workflow_files.documents import EXTENSIONS


class StartForm(forms.Form):
    """Who operates the site may name any folder and file; others what is known to a project."""

    project = forms.ChoiceField(label="Project", required=False)
    workflow = forms.CharField(
        label="Workflow", max_length=1000, widget=forms.TextInput({"list": "workflows"})
    )
    work_ids = forms.CharField(
        label="Work ids",
        help_text="Separated by commas, spaces or lines; none at all starts one run without.",
        required=False,
        widget=forms.Textarea({"rows": 3, "placeholder": "124, 125, 126", "spellcheck": "false"}),
    )
    concurrency = forms.IntegerField(
        label="At a time", min_value=1, max_value=MOST_AT_ONCE, initial=AT_ONCE, required=False
    )
    autonomy = forms.ChoiceField(
        label="Autonomy",
        required=False,
        choices=[
            ("", "As the workflow says"),
            *((level.value, level.value) for level in AutonomyLevel),
        ],
    )
    prompt = forms.CharField(
        label="More instructions",
        required=False,
        max_length=10_000,
        widget=forms.Textarea({"rows": 2, "dir": "auto"}),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, operates: bool) -> None:
        super().__init__(data)
        self.projects = list(Project.objects.order_by("name"))
        names = [(project.name, project.name) for project in self.projects]
        self.fields["project"].choices = [("", "None"), *names]  # type: ignore[attr-defined]
        self.operates = operates
        if operates:
            self.fields["folder"] = forms.CharField(
                label="Folder",
                required=False,
                max_length=1000,
                help_text="Where steps are executed on the server, if not in the project's own.",
            )
            self.order_fields(["project", "folder"])
        self.fields["workflow"].help_text = (
            "An id, or the path of a JSON or YAML file on the server."
            if operates
            else "One of the ids that the project knows."
        )

    @property
    def workflows(self) -> list[str]:
        """The ids that can be started by name in some project."""
        folders = {project.folder for project in self.projects if project.folder}
        known = {name for folder in folders for name in library.known_workflows(folder)}
        return sorted(known | set(library.known_workflows(None)))

    @property
    def busy(self) -> list[BusyProject]:
        return turns.busy(self.projects)

    @property
    def ids(self) -> tuple[str, ...]:
        return listed(self.cleaned_data.get("work_ids", ""))

    @property
    def is_for_many(self) -> bool:
        return len(self.ids) > 1

    def clean(self) -> dict[str, Any]:
        said = super().clean() or self.cleaned_data
        needs_one = not starting.brings_workspace(said.get("workflow", ""))
        if "workflow" in said and needs_one and not self._folder():
            self.add_error("project", "Choose a project that has a folder on this server.")
        return said

    def clean_workflow(self) -> str:
        named = str(self.cleaned_data["workflow"]).strip()
        if not self.operates and Path(named).suffix in EXTENSIONS:
            raise forms.ValidationError("Only operators start a workflow from a file; name an id.")
        return named

    @property
    def wish(self) -> Wish:
        said = self.cleaned_data
        return Wish(
            workflow=said["workflow"],
            workspace=Path(self._folder() or settings.FABER_DATA_DIR),
            project=said["project"],
            work_id="" if self.is_for_many else "".join(self.ids),
            autonomy=said["autonomy"],
            prompt=said["prompt"],
        )

    @property
    def batch_wish(self) -> BatchWish:
        return BatchWish(
            wish=self.wish,
            work_ids=self.ids,
            concurrency=self.cleaned_data["concurrency"] or AT_ONCE,
        )

    def _folder(self) -> str:
        chosen = self.cleaned_data.get("project")
        project = next((p for p in self.projects if p.name == chosen), None)
        own: str = self.cleaned_data.get("folder", "")
        return own or (str(project.folder or "") if project else "")
