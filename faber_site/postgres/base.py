"""Django's PostgreSQL, with a look at the connection that asks the server nothing."""

import select

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        """Asked before the first statement of every request and job.

        A server that went away closed its end, and then there is something to read; between two
        statements there is nothing else. Only then is the server asked.
        """
        if self.connection is None:
            return False
        heard = select.poll()
        heard.register(self.connection.fileno(), select.POLLIN)
        return not heard.poll(0) or super().is_usable()
