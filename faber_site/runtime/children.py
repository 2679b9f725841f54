"""The processes a supervisor keeps: the site, the cluster, and the watch over both."""

import signal
import socket
from importlib import import_module

from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.urls import get_resolver

from faber_site.command_socket import agreement
from faber_site.runtime import http_server, memory, processes
from faber_site.runtime.forks import Child
from faber_site.runtime.presence import Presence
from faber_site.runtime.pulse import Pulse
from faber_site.runtime.vitals import Vitals
from runs.domain.workflow import definition
from runs.jobs import queue
from runs.jobs.table import Job


def load(*, for_site: bool, for_cluster: bool) -> None:
    """Load what they need before they are forked: once, and in memory that all of them share."""
    for name in agreement.COMMANDS:
        load_command_class(str(get_commands()[name]), name)
    if for_cluster:
        for job in Job:
            import_module(job.module)
        definition.build_validators()
    if for_site:
        _ = get_resolver().url_patterns
    memory.keep_what_is_loaded()


def load_application() -> None:
    """Once the static files are there: it lists them."""
    import_module("faber_site.wsgi")
    memory.keep_what_is_loaded()


class WebChild(Child):
    """On a socket that outlives it: while it is replaced, visitors wait a moment."""

    def __init__(self, listener: socket.socket) -> None:
        super().__init__("the site", self._serve, called="faber-web", inherits=(listener.fileno(),))
        self._listener = listener

    def ask_to_end(self) -> None:
        """Nobody comes after it: from here on connections that it does not take are refused."""
        self._listener.close()
        super().ask_to_end()

    def _serve(self) -> None:
        from faber_site.wsgi import application  # noqa: PLC0415  it is loaded by now

        processes.begin()
        http_server.allow_many_files()
        server = http_server.Server(application, self._listener)
        signal.signal(signal.SIGTERM, lambda _number, _frame: server.end())
        server.serve()


class Cluster(Child):
    """Executes jobs; its workers take steps until there is an order to drain."""

    def __init__(self, vitals: Vitals) -> None:
        super().__init__("the cluster", _execute_jobs, called="faber-cluster", works=True)
        self._vitals = vitals

    @property
    def trouble(self) -> str:
        return super().trouble or ("no longer takes jobs" if self._vitals.is_stuck else "")

    def start(self) -> None:
        super().start()
        self._vitals.watch(self.session)


def watch(pulse: Pulse, presence: Presence) -> Child:
    """From outside of the cluster: it tells when that is stuck, and sweeps."""

    def main() -> None:
        processes.begin()
        presence.start()
        pulse.run()

    return Child("the watch", main, called="faber-watch", works=True)


def sign(presence: Presence) -> Child:
    """Where there are no workers: it only tells the other machines that this one is there."""
    return Child("the sign of life", presence.run, called="faber-watch")


def _execute_jobs() -> None:
    processes.begin()
    if settings.FABER_NOTIFY_URLS:
        from feedback.channels.notices import chat  # noqa: PLC0415  takes a second

        chat.load()
        memory.keep_what_is_loaded()
    queue.run_worker(processes)
