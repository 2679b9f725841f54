#!/bin/sh
# Fetches nginx, so that the site is tried behind the proxy of the example in deploy/.
set -eu

PATH="$PATH:/usr/sbin"
command -v nginx >/dev/null 2>&1 && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing nginx for the tests behind a proxy (once) …" >&2
    apt-get install -y -qq --no-install-recommends nginx-light >/dev/null 2>&1 && exit 0
    apt-get update -qq >&2 || true
    apt-get install -y -qq --no-install-recommends nginx-light >/dev/null && exit 0
fi
echo "NO NGINX: the site is not tried behind a proxy." >&2
