# Everything a person does with this checkout, one line each. Only Python 3.11+ and make are needed.
PYTHON ?= python3
BIN := .venv/bin
SHARED ?= ../shared
# One more than there are cores: tests of servers spend a third of their time waiting.
WORKERS = $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')
.DEFAULT_GOAL := help
.PHONY: help demo test compiled lint proto proto-check proto-lint proto-breaking clients go-client bench bench-counters conformance differential full-size delta-sequences kill-points faults adapter-size drain-load crowd collector promtool kubeapi helm manifests e2e telemetry-overhead telemetry-trouble telemetry-picture fuzz clean

help: ## show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tenure needs Python 3.11 or later: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: .venv/ready ## start a server and let it decide on a small cluster
	@$(BIN)/tenure demo

test: .venv/ready ## run the tests (those on a real API server: make e2e)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m 'not kube'

compiled: .venv-compiled/ready ## cases, properties, states, contract and processes with the solver compiled (a C compiler; minutes)
	env -u PYTHONPATH .venv-compiled/bin/pytest -n $(WORKERS) -o pythonpath=. tests/conformance tests/properties tests/states tests/contract tests/server/test_solver_process.py

.venv-compiled/ready: pyproject.toml docker/build_hook.py $(shell find server/tenure/solver server/tenure/server/codec server/tenure/server/prescan -name '*.py')
	$(PYTHON) -m venv .venv-compiled
	TENURE_COMPILED=1 .venv-compiled/bin/pip install --quiet --disable-pip-version-check --force-reinstall '.[dev]'
	@touch $@

lint: .venv/ready ## style, types, architecture
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv-compiled/ready ## how long decisions take: make bench [BENCH="--only W9@500 --compare EARLIER.json"]
	env -u PYTHONPATH .venv-compiled/bin/python -m tests.bench $(BENCH)

bench-counters: .venv/ready ## the work of every benchmark, exact, against the golden file
	$(BIN)/python -m tests.bench --counters $(BENCH)

conformance: .venv/ready ## the reference scheduler's own cases: make conformance SHARED=DIR
	$(BIN)/python -m tests.conformance --cases $(SHARED)/conformance

differential: .venv/ready ## the pruned against the plain search on 10,000 random clusters (a minute)
	$(BIN)/python -m tests.properties.pruning

full-size: .venv/ready ## 5,000 nodes and 50,000 pods in every form: the same answer (two minutes)
	$(BIN)/python -m tests.states.full_size

delta-sequences: .venv/ready ## 100,000 random sequences of good and bad deltas (half an hour)
	$(BIN)/python -m tests.states.sequences

kill-points: .venv/ready ## kill the server 250 times under a client; nothing is lost or doubled (three minutes)
	$(BIN)/python -m tests.states.killing

faults: .venv/ready kubeapi ## all that can fail around the adapter, on real API servers (half an hour): make faults [FAULTS="--only etcd"]
	$(BIN)/python -m tests.kube.faults $(FAULTS)

adapter-size: .venv/ready kubeapi ## the adapter on 1,000 nodes and 10,000 pods of a real API server (five minutes)
	$(BIN)/python -m tests.kube.size $(SIZE)

drain-load: .venv/ready ## stop servers under 10,000 calls; no decision is lost (a minute)
	$(BIN)/python -m tests.load.drain

crowd: .venv/ready ## 10,000 connections, calls and pings; health is answered (two minutes)
	$(BIN)/python -m tests.load.crowd

collector: .cache/collector/collector ## the OpenTelemetry Collector that tests send through (needs Go; a minute or two)

.cache/collector/collector: $(wildcard tests/telemetry/collector/*)
	cd tests/telemetry/collector && go build -buildvcs=false -o $(CURDIR)/$@ .

promtool: .cache/promtool/promtool ## Prometheus' own checker, for the tests of metrics and alerts (from Debian's package)

.cache/promtool/promtool:
	mkdir -p $(@D)
	cd $(@D) && apt-get -qq -o APT::Sandbox::User=root download prometheus && dpkg-deb -x prometheus_*.deb package
	cp $(@D)/package/usr/bin/promtool $@ && rm -r $(@D)/package $(@D)/*.deb

kubeapi: .cache/kubeapi/ready ## a real kube-apiserver and etcd for tests of the adapter (needs Go; five minutes, once)

.cache/kubeapi/ready: tests/kubeapi/go.sum $(wildcard tests/kubeapi/cmd/*/main.go)
	cd tests/kubeapi && CGO_ENABLED=0 go build -buildvcs=false -trimpath \
		-ldflags '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3' -o $(CURDIR)/$(@D)/bin/ ./cmd/...
	@touch $@

helm: .cache/helm/ready ## helm and kustomize for tests of the chart and the manifests (needs Go)

.cache/helm/ready: tests/helm/go.sum
	cd tests/helm && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '-s -w' -o $(CURDIR)/$(@D)/bin/ tool
	@touch $@

manifests: .cache/helm/ready ## write docker/manifests anew, from the chart with its defaults
	.cache/helm/bin/helm template tenure docker/helm/tenure --namespace tenure-system > docker/manifests/tenure.yaml

e2e: .venv/ready kubeapi helm ## the adapter on a real API server; the image, the chart and the manifests
	REQUIRE_KUBE=1 $(BIN)/pytest -n auto -m kube tests/kube tests/e2e/kube tests/shipping

telemetry-overhead: .venv-compiled/ready ## what telemetry costs a cycle on 500 nodes (two minutes)
	env -u PYTHONPATH .venv-compiled/bin/python -m tests.telemetry.overhead

telemetry-trouble: .venv-compiled/ready ## what a collector in trouble costs the service (a minute)
	env -u PYTHONPATH .venv-compiled/bin/python -m tests.telemetry.trouble

telemetry-picture: .venv/ready kubeapi ## draw docs/trace.svg from a real run: adapter, server, API server
	$(BIN)/python -m tests.telemetry.picture

fuzz: .venv/ready ## 100,000 mutated requests to a server; those that end badly are kept in .cache/fuzz
	$(BIN)/python -m tests.fuzz

proto: .venv-proto/ready ## regenerate the message classes
	.venv-proto/bin/python -m grpc_tools.protoc -Iprotos --python_out=protos --pyi_out=protos protos/tenure/v1/*.proto
	.venv-proto/bin/python -m grpc_tools.protoc -Iprotos --grpc_python_out=protos protos/tenure/v1/decision_service.proto

proto-check: proto ## fail when the committed message classes are not what the protos give
	git diff --exit-code -- protos

proto-lint: .cache/buf/ready ## style of the protos (needs Node)
	.cache/buf/node_modules/.bin/buf lint protos
	.cache/buf/node_modules/.bin/buf format --exit-code --diff protos

proto-breaking: .cache/buf/ready ## fail when a caller of the last release would break (needs Node)
	.ci/breaking .cache/buf/node_modules/.bin/buf

clients: .venv/ready .cache/go-client/client ## clients in Go, by reflection and in Python against a server (needs Go, Node)
	$(BIN)/python -m tests.clients

go-client: .venv/ready .cache/go-client/client ## the client in Go alone: tests/clients/go
	$(BIN)/python -m tests.clients go_client

.cache/go-client/client: .cache/buf/ready $(wildcard tests/clients/go/*.*) $(wildcard protos/tenure/v1/*.proto)
	cd tests/clients/go && $(CURDIR)/.cache/buf/node_modules/.bin/buf generate
	cd tests/clients/go && test -z "$$(gofmt -l *.go)" || { gofmt -d *.go; exit 1; }
	cd tests/clients/go && go vet ./... && go build -buildvcs=false -o $(CURDIR)/$@ .

.cache/buf/ready: Makefile
	npm install --silent --no-fund --no-audit --prefix .cache/buf '@bufbuild/buf@^1.50'
	@touch $@

# The oldest compiler we support, so that the generated classes run on every later protobuf.
.venv-proto/ready: Makefile
	$(PYTHON) -m venv .venv-proto
	.venv-proto/bin/pip install --quiet --disable-pip-version-check 'grpcio-tools==1.76.0' 'protobuf==6.33.6' 'setuptools<80'
	@touch $@

clean: ## remove everything that was made
	rm -rf .venv .venv-proto .cache tests/clients/go/gen .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
