"""Tells the other machines of the site that this one is there, and whether they fit together."""

import logging
import threading
import time
from collections.abc import Sequence
from datetime import datetime

from django.db import DatabaseError, close_old_connections, connection, transaction

from runs.jobs import agreement, register
from runs.jobs.agreement import Disagreement
from runs.models import SiteHost, machine

logger = logging.getLogger(__name__)

ADVISORY_LOCK = 0xFABE + 1
LOOK_SECONDS = 0.5


class Unfit(Exception):
    """A sentence about why this machine may not work on the site."""


class Presence:
    """Where there can be only one machine it does nothing."""

    def __init__(self, *, works: bool) -> None:
        self._works = works
        self._told: set[str] = set()

    def enter(self) -> list[str]:
        """Join the site: what its operator should know, or Unfit when it may not join."""
        if not machine.is_one_of_many():
            return []
        first: dict[int, datetime] = {}
        while refused := self._refused():
            # Who was killed a moment ago looks as if it were there, but is not seen again.
            for host in refused.hosts:
                if host.pk and host.seen_at > first.setdefault(host.pk, host.seen_at):
                    raise Unfit(str(refused))
            time.sleep(LOOK_SECONDS)
        return sorted(self._told)

    def start(self) -> None:
        if machine.is_one_of_many():
            threading.Thread(target=self.run, daemon=True, name="presence").start()

    def stop_working(self) -> None:
        """Be there without workers from now on."""
        self._works = False

    def leave(self) -> None:
        """Let another machine have this one's name at once."""
        if not machine.is_one_of_many():
            return
        try:
            register.leave()
        except DatabaseError:
            logger.warning("the database is out of reach; others wait to see whether it is gone")

    def _refused(self) -> Disagreement | None:
        """Join, unless that would not be right."""
        with transaction.atomic(), connection.cursor() as cursor:
            # Of two that start at the same moment, the second sees the first.
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ADVISORY_LOCK])
            own = self._this_machine()
            found = [each for each in agreement.disagreements(own) if each.is_ours]
            refused = next((each for each in found if each.about.is_fatal), None)
            if refused is None:
                register.tell(own)
                self._told = set(map(str, found))
        return refused

    def _this_machine(self) -> SiteHost:
        own = register.this_machine(works=self._works)
        own.lacks = register.missing(own.lacks)
        return own

    def run(self) -> None:
        trouble = ""
        while True:
            time.sleep(register.SIGN_SECONDS)
            try:
                close_old_connections()
                self._sign()
                trouble = ""
            except DatabaseError as error:
                if trouble != str(error):
                    logger.warning("this machine can't report to the others: %s", error)
                trouble = str(error)

    def _sign(self) -> None:
        own = self._this_machine()
        register.tell(own)
        register.catch_up()
        self._warn_of([each for each in agreement.disagreements(own) if each.is_ours])

    def _warn_of(self, found: Sequence[Disagreement]) -> None:
        now = set(map(str, found))
        for sentence in sorted(now - self._told):
            logger.warning("%s", sentence)
        self._told = now
