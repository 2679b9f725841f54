#!/bin/sh
# Fetches a browser for the browser tests where that is possible, and says so where it is not.
set -eu

for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
[ -n "${FABER_CHROMIUM:-}" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Chromium for the browser tests (once) …" >&2
    apt-get update -qq >&2 || true  # the lists at hand may do; the installation tells
    for package in chromium-headless-shell chromium; do
        apt-get install -y -qq --no-install-recommends "$package" >/dev/null && exit 0
    done
fi
echo "NO BROWSER: the browser tests will be skipped. Install chromium, or set FABER_CHROMIUM." >&2
