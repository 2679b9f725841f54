#!/bin/sh
# Fetches bubblewrap, so that steps are tried in both ways of isolating them.
set -eu

command -v bwrap >/dev/null 2>&1 && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing bubblewrap for the tests of isolated steps (once) …" >&2
    apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null 2>&1 && exit 0
    apt-get update -qq >&2 || true
    apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null && exit 0
fi
echo "NO BUBBLEWRAP: isolated steps are tried with user namespaces alone." >&2
