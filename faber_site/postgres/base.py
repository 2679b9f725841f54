"""Django's PostgreSQL, with a look at the connection that asks the server nothing."""

import select

from django.db.backends.postgresql import base

# A server that is there answers at once; one that is cut off must be noticed before leases run out.
# Whoever names one of these in the address of the database is obeyed.
_PATIENCE: dict[str, object] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, object]:
        return {**_PATIENCE, **super().get_connection_params()}

    def is_usable(self) -> bool:
        """Asked before the first statement of every request and job.

        A server that went away closed its end, and then there is something to read; between two
        statements there is nothing else. Only then is the server asked.
        """
        if self.connection is None or self.connection.closed:  # by us, or found lost by a statement
            return False
        heard = select.poll()
        heard.register(self.connection.fileno(), select.POLLIN)
        return not heard.poll(0) or super().is_usable()
