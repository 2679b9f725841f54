"""Static files as browsers can keep them: named by their content, and compressed once."""

import hashlib
import shutil
import tempfile
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.management.commands.collectstatic import Command
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage

_MARK = "made-from"
# Served as they are found, when somebody asks; each takes time at the first start.
_RARELY_READ = ["i18n", "*.map", "LICENSE*", "BUNDLED_LICENSES", "ORIGIN"]


class HashedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # no types
    """Where nothing was collected, as in tests, files keep their names and are served as found."""

    def stored_name(self, name: str) -> str:
        return str(self.hashed_files.get(self.hash_key(self.clean_name(name)), name))


def collect() -> None:
    """Make them anew when any of them changed since the last start."""
    root, made_from = Path(settings.STATIC_ROOT), _made_from()
    mark = root / _MARK
    if mark.exists() and mark.read_text() == made_from:
        return
    # Made elsewhere and moved into place whole: a start that is killed leaves none by halves.
    with tempfile.TemporaryDirectory(prefix="static-", dir=root.parent) as folder:
        new = Path(folder) / "static"
        command = Command()
        command.storage = HashedFiles(location=str(new))
        call_command(command, interactive=False, verbosity=0, ignore_patterns=_RARELY_READ)
        (new / _MARK).write_text(made_from)
        shutil.rmtree(root, ignore_errors=True)
        new.rename(root)


def _made_from() -> str:
    """Changes with every file that is added, removed or written."""
    found = hashlib.sha256()
    for finder in finders.get_finders():
        for name, storage in finder.list([]):
            known = Path(storage.path(name)).stat()
            found.update(f"{name} {known.st_size} {known.st_mtime_ns}\n".encode())
    return found.hexdigest()
