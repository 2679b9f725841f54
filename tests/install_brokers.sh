#!/bin/sh
# Fetches Redis and RabbitMQ, so that Celery is tried on both.
set -eu

have() { command -v redis-server >/dev/null 2>&1 && command -v rabbitmq-server >/dev/null 2>&1; }

have && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Redis and RabbitMQ for the tests of Celery (once) …" >&2
    # The tests start servers of their own: none of the system's is wanted.
    RUNLEVEL=1 apt-get install -y -qq --no-install-recommends redis-server rabbitmq-server \
        >/dev/null 2>&1 && exit 0
    apt-get update -qq >&2 || true
    RUNLEVEL=1 apt-get install -y -qq --no-install-recommends redis-server rabbitmq-server \
        >/dev/null && exit 0
fi
echo "NO REDIS OR NO RABBITMQ: Celery is not tried where a server is missing." >&2
