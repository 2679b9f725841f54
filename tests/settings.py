"""The site's own settings on a scratch data directory, and on PostgreSQL when asked for."""

import os
import tempfile

from tests import postgres

# The workers of one test run inherit what their parent set; each has a directory, and so the locks
# and spools in it, of its own. Processes that a test starts keep what the test gave them.
if "FABER_DATA_DIR" not in os.environ or os.environ.get("TESTS_OF", "") != os.environ.get(
    "PYTEST_XDIST_WORKER", ""
):
    os.environ["FABER_DATA_DIR"] = tempfile.mkdtemp(prefix="faber-tests-")
os.environ["TESTS_OF"] = os.environ.get("PYTEST_XDIST_WORKER", "")
os.environ.setdefault("FABER_PYTHON_STEPS", "tests.steps")
os.environ.setdefault("FABER_UNDO_SECONDS", "0")  # a test of the undo time asks for it
if os.environ.get("FABER_TEST_DATABASE") == "postgres" and "FABER_DATABASE_URL" not in os.environ:
    os.environ["FABER_DATABASE_URL"] = postgres.start_for_tests()

from faber_site.settings import *  # noqa: F403
from faber_site.settings import DATABASES, FABER_DATA_DIR, STATIC_ROOT

FABER_NOTICE_THREADS = 0  # a test that works off jobs sees what they sent
STATIC_ROOT.mkdir(exist_ok=True)  # nothing is collected: files are served as they are found
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
if "sqlite" in str(DATABASES["default"]["ENGINE"]):
    # Threads and other processes must see the same test database, so it is a file.
    DATABASES["default"]["TEST"] = {"NAME": FABER_DATA_DIR / "test.sqlite3"}
