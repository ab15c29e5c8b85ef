# What a person does every day, one line each. Only Python 3.11+ and make are needed. Longer checks are listed by
# `.venv/bin/python -m tests`.
PYTHON ?= python3
BIN := .venv/bin
# One more than there are cores: tests of servers spend a third of their time waiting.
WORKERS = $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')
ORDINARY = 'not kube and not slurm and not long and not browser'
# Tests start hundreds of processes, which would compile every module again without bytecode.
export PYTHONDONTWRITEBYTECODE =
.DEFAULT_GOAL := help
.PHONY: help demo cluster slurm slurm-e2e test console-test lint bench e2e compiled plugin proto image docs dist lock clean

help: ## show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.venv/installed: pyproject.toml # what users need
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tenure needs Python 3.11 or later: make PYTHON=/path/to/python3.11")'
	@echo 'Installing Tenure in .venv: about a minute, 180 MB.'
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[console]'
	@touch $@

.venv/ready: .venv/installed client/tenure-kubernetes/pyproject.toml client/tenure-slurm/pyproject.toml docker/locks/development.txt # and what developers need
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement docker/locks/development.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable client/tenure-kubernetes --editable client/tenure-slurm
	@touch $@

demo: .venv/installed ## decide on a small cluster; on a terminal also one that moves, in the browser, until Ctrl-C
	@$(BIN)/tenure demo

cluster: .venv/ready ## a Kubernetes cluster here, with Tenure and workloads (EMPTY=1: without), until Ctrl-C (Go)
	@$(BIN)/python -m tests build kubeapi kwok $(if $(EMPTY),kubectl helm)
	@$(BIN)/python -m tests.cluster $(if $(EMPTY),--empty)

slurm: .venv/ready ## a Slurm cluster here, with Tenure (EMPTY=1: without), until Ctrl-C (root, Debian 12)
	@$(BIN)/python -m tests build slurm
	@$(BIN)/python -m tests.slurm $(if $(EMPTY),--empty)

test: .venv/ready ## run the tests (long ones, and those on a real API server: make e2e)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m $(ORDINARY)

compiled: .venv-compiled/ready ## run the same tests with the solver compiled (a C compiler; minutes): make compiled [TESTS=tests/solver]
	env -u PYTHONPATH .venv-compiled/bin/pytest -n $(WORKERS) --dist worksteal -o pythonpath=. -m $(ORDINARY) $(TESTS)

.venv-compiled/ready: pyproject.toml client/tenure-kubernetes/pyproject.toml docker/build_hook.py docker/locks/development.txt $(shell find protos server client -type f -not -name '*.pyc' -not -path 'client/go/*')
	$(PYTHON) -m venv --clear .venv-compiled  # an installed Tenure would be what the compiler reads
	.venv-compiled/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement docker/locks/development.txt
	TENURE_COMPILED=1 .venv-compiled/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation . ./client/tenure-kubernetes ./client/tenure-slurm
	@touch $@

lint: .venv/ready ## style, types, architecture
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv-compiled/ready ## how long decisions take: make bench [BENCH="--only W9@500 --compare EARLIER.json"]
	env -u PYTHONPATH .venv-compiled/bin/python -m tests.bench $(BENCH)

console-test: .venv/ready ## the web console in a real browser (Debian's Chromium, npm)
	$(BIN)/python -m tests build browser axe
	REQUIRE_BROWSER=1 $(BIN)/pytest -m browser tests/console

e2e: .venv/ready ## long tests; the adapter on real clusters; the image, chart, manifests (Go): make e2e [WITHOUT=thorough]
	$(BIN)/python -m tests build kubeapi kube-filters kwok kubectl krew helm
	REQUIRE_KUBE=1 $(BIN)/pytest -n auto --dist loadgroup --timeout 600 -m '(kube or long)$(if $(WITHOUT), and not $(WITHOUT))'

slurm-e2e: .venv/ready ## the adapter on real Slurm clusters (root, Debian 12): make slurm-e2e [SLURM="-k page"]
	@$(BIN)/python -m tests build slurm
	REQUIRE_SLURM=1 $(BIN)/pytest -n 2 --dist worksteal -m slurm tests/slurm tests/attacks/slurm $(SLURM)

plugin: .venv/ready ## archives and a krew manifest of kubectl tenure, in dist/krew: make plugin URL=https://WHERE/THEY/WILL/BE
	$(BIN)/python docker/krew/build.py --url $(URL)

proto: .venv-proto/ready .venv/ready ## regenerate the message classes, rows and facts
	.venv-proto/bin/python -m grpc_tools.protoc -Iprotos --python_out=protos --pyi_out=protos protos/tenure/v1/*.proto
	.venv-proto/bin/python -m grpc_tools.protoc -Iprotos --grpc_python_out=protos protos/tenure/v1/decision_service.proto
	$(BIN)/python -m tenure.wire.generate

# The oldest compiler we support, so that the generated classes run on every later protobuf.
.venv-proto/ready: Makefile
	$(PYTHON) -m venv .venv-proto
	.venv-proto/bin/pip install --quiet --disable-pip-version-check 'grpcio-tools==1.76.0' 'protobuf==6.33.6' 'setuptools<80'
	@touch $@

image: .venv-release/ready ## the image, by buildah on bases of Debian packages, as root: make image [IMAGE=--interpreted]
	.venv-release/bin/python docker/image/build.py $(IMAGE)

docs: .venv-release/ready ## the documentation as a site with search, in dist/site; fails for broken links and orphans
	.venv-release/bin/python docker/site/build.py dist/site

dist: .venv-release/ready ## wheels, source distributions, bills of materials and checksums, in dist/release
	rm -rf dist/release
	.venv-release/bin/python docker/release/build.py dist/release

lock: .venv-release/ready ## pin dependencies with hashes in docker/locks: make lock [LOCK=--upgrade]
	.venv-release/bin/python docker/release/lock.py $(LOCK)

.venv-release/ready: docker/locks/release.txt # the tools of locks, builds and releases
	$(PYTHON) -m venv --clear .venv-release
	.venv-release/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement docker/locks/release.txt
	@touch $@

clean: ## remove everything that was made
	rm -rf .venv .venv-compiled .venv-proto .venv-release .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
