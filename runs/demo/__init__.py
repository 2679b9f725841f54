"""The demo: a whole workflow on a scratch repository, without network and agent; not a test."""

import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from django.utils import timezone

from runs.demo.steps import make_repository
from runs.domain.values.actors import Actor, Role, Source
from runs.engine import starting
from runs.engine.starting import Wish
from runs.models import DEMO, Run, places

HERE = Path(__file__).parent
FIRST_START = Actor(
    name="faber up",
    source=Source.CLI,
    method="first_start",
    groups=frozenset({Role.OPERATOR.value}),
    sees_all=True,
)


def start_demo() -> Run:
    """Start a demo for the worker, so that the first page of a new site is not empty."""
    run, _ = starting.start(Wish(workflow="demo", workspace=HERE), FIRST_START)
    return run


def with_scratch(wish: Wish) -> Wish:
    """The wish on a scratch repository made for it; the steps are told where their scripts are."""
    return replace(
        wish,
        workspace=_scratch(),
        project=wish.project or DEMO,
        # Ours last: what is given from outside must not choose the program.
        inputs={**wish.inputs, "python": sys.executable, "demo": str(HERE)},
    )


def _scratch() -> Path:
    parent = places.found("demo")
    parent.mkdir(mode=0o700, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{timezone.now():%Y%m%d-%H%M%S}-", dir=parent))
    for file in (HERE / "start").iterdir():
        if file.is_file():
            shutil.copyfile(file, folder / file.name)
    # Without git the first step says so, where somebody can answer it.
    if shutil.which("git"):
        make_repository(folder)
    return folder
