# `make up` starts FABER, `make test` tests it; both work from a bare checkout.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: up test quick next chaos check bench bench-peers lighthouse screenshots docs format lock
.DELETE_ON_ERROR:

# pip checks every hash, so next year's set-up gives the same tree.
.venv/installed: requirements.lock requirements-build.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "FABER needs Python 3.11 or newer; set PYTHON=…" >&2; exit 1; }
	@test -x $(BIN)/pip || { echo "Setting up .venv (once) …" >&2; $(PYTHON) -m venv --clear .venv; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements.lock -r requirements-build.lock >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e . >&2
	@$(BIN)/python -m compileall -q faber_site runs feedback  # once, also where Python keeps no bytecode
	@touch $@

.venv/installed-dev: requirements-dev.lock .venv/installed
	@echo "Installing what tests need (once) …" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock >&2
	@touch $@

up: .venv/installed
	@exec $(BIN)/faber up

# To compile a thousand modules again for each of the workers takes minutes.
test quick: export PYTHONDONTWRITEBYTECODE =

# Browser tests use the system's Chromium; as root it is fetched when it is not there.
test: .venv/installed-dev
	@sh tests/browser/install.sh
	@sh tests/install_bubblewrap.sh
	@sh tests/install_nginx.sh
	@sh tests/install_brokers.sh
	$(BIN)/python -m pytest -n 4 --dist loadgroup
	FABER_TEST_DATABASE=postgres $(BIN)/python -m pytest -n 4 --dist loadgroup -m "database or postgres"

# The inner loop: no browser, no killed processes, no PostgreSQL, nothing that starts programs.
quick: .venv/installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not browser and not chaos and not postgres and not slow"

# What leans on Django's insides, on the newest Django; it needs a Python from 3.12 on.
NEXT_PYTHON ?= $(firstword $(wildcard $(foreach version,3.14 3.13 3.12,\
	/usr/bin/python$(version) /usr/local/bin/python$(version) $(HOME)/.pyenv/versions/$(version)*/bin/python)))

.venv-next/installed: requirements-next.lock
	@test -n "$(NEXT_PYTHON)" || { echo "No Python from 3.12 on was found; set NEXT_PYTHON=…" >&2; exit 1; }
	@test -d .venv-next || { echo "Setting up .venv-next (once) …" >&2; $(NEXT_PYTHON) -m venv .venv-next; }
	@.venv-next/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-next.lock >&2
	@touch $@

next: .venv-next/installed
	.venv-next/bin/python -m pytest -n 2 --dist loadgroup -W "ignore:The 'partial'and 'partialdef' template tags:DeprecationWarning" \
		tests/runs/models tests/runs/engine tests/runs/jobs tests/runs/worker tests/feedback/requests tests/journeys

# Kills, outages and jumping clocks for ten minutes on each database; a seed repeats the faults.
CHAOS_SECONDS ?= 600
CHAOS_SEED ?=
CHAOS_DATABASES ?= sqlite postgres
CHAOS_QUEUE ?= database

chaos: .venv/installed-dev
	@DJANGO_SETTINGS_MODULE=tests.settings $(BIN)/python -m tests.chaos.storm --seconds $(CHAOS_SECONDS) --queue $(CHAOS_QUEUE) \
		$(if $(CHAOS_SEED),--seed $(CHAOS_SEED)) $(foreach name,$(CHAOS_DATABASES),--database $(name))

check: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	FABER_BASE_URL=https://faber.example.org $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python check_dependencies.py

bench: .venv/installed-dev
	$(BIN)/python -m bench

# Peers are installed once, each in an environment of its own below BENCH_PEERS_DIR.
BENCH_ROUNDS ?= 5
BENCH_PEERS ?= faber langgraph dbos burr prefect

bench-peers: .venv/installed-dev
	$(BIN)/python -m bench.peers --rounds $(BENCH_ROUNDS) --only $(BENCH_PEERS)

lighthouse: .venv/installed-dev
	$(BIN)/python -m bench.web.lighthouse

screenshots: .venv/installed-dev
	$(BIN)/python docs/take_screenshots.py

# What is made from the code; tests compare it.
docs: .venv/installed-dev
	$(BIN)/python -m faber_site.references docs
	$(BIN)/python manage.py shell -v 0 -c "from feedback.mcp import greeting; print(greeting.text())" \
		> .venv/greeting.json && mv .venv/greeting.json feedback/mcp/greeting.json

format: .venv/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: .venv/installed
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --no-emit-index-url --no-annotate \
		-q pyproject.toml --all-extras -o requirements.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --no-emit-index-url --no-annotate \
		-q --group build -c requirements.lock -o requirements-build.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --no-emit-index-url --no-annotate \
		-q pyproject.toml --all-extras --group dev -o requirements-dev.lock
	echo 'django>=6,<7' > .venv/next.txt
	$(BIN)/uv pip compile --universal --python-version 3.12 --generate-hashes --no-header --no-emit-index-url --no-annotate \
		-q pyproject.toml --all-extras --group dev --override .venv/next.txt -o requirements-next.lock
