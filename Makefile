# Every command of the repository. `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

# The tools, pinned here and nowhere else. They run as `go run path@version`, so no go.mod requires them.
APIDIFF       := golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e
GOFUMPT       := mvdan.cc/gofumpt@v0.12.0
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOTESTSUM     := gotest.tools/gotestsum@v1.13.0
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.8.0
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
VALE          := github.com/vale-cli/vale/v3/cmd/vale@v3.22.0

# Every module. go.work lists all but the benchmarks, whose peers would raise the versions of all other modules.
ALL_MODULES := $(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path '*/testdata/*')))
MODULES     := $(filter-out ./internal/benchmarks,$(ALL_MODULES))
# The modules that users import.
PUBLISHED   := . ./throttle/grpcthrottle ./throttle/redisstore
# The modules whose tests need Go and a C compiler only.
UNIT        := $(filter-out ./internal/integration,$(MODULES))

# The packages of a list of modules.
packages = $(patsubst %,%/...,$(1))

# Tests that run without the race detector, which allocates and slows the simulator down: they count allocations, or
# compare with known figures. And the packages that have such tests.
NAMES        := Alloc|KnownFigures
WITHOUT_RACE := $(sort $(dir $(shell grep -rlE --include='*_test.go' '^func Test[A-Za-z]*($(NAMES))' throttle otelthrottle examples)))

# More flags for go test, such as TESTFLAGS='-run Shed -count 10'.
TESTFLAGS ?=

# gotestsum runs go test, prints a line for each package, and at the end the failures and the counts.
GO_TEST := go run $(GOTESTSUM) --format pkgname --format-hide-empty-pkg --

# SQLite in Go is a translation from C: the race detector makes it ten times slower and has nothing to find there.
RACE := -race -gcflags=modernc.org/...=-race=false

# $(call each,modules,command) runs the command in every module, also after a failure, and fails if any failed.
each = @status=0; for m in $(1); do echo "==> $$m: $(2)"; (cd "$$m" && $(2)) || status=1; done; exit $$status

.PHONY: help test test-services test-all gofmt staticcheck alone unit without-race long fuzz lint prose vulncheck fmt api \
	api-check bench soak demo screenshots check-upstream-faults release-check

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: gofmt alone staticcheck unit without-race ## before each push: format, vet, staticcheck, unit tests; Go and a C compiler, 5 minutes

# A test that needs a server skips itself where the server is missing. After the installation, that is a failure.
test-services: export SPILLWAY_REQUIRE_SERVICES := 1
test-services: ## real Redis, PostgreSQL, MariaDB, Prometheus, Chromium: root installs what is missing, others get a list; 8 minutes
	@.ci/install
	cd internal/integration && $(GO_TEST) -short -p 8 -timeout 15m $(TESTFLAGS) ./...

test-all: test test-services api-check lint long fuzz soak ## before a release and each night: all of it, and everything that takes long; more than an hour

gofmt: # the formatting of every file
	@echo "==> gofmt -l ."; files=$$(gofmt -l .) && if [ -n "$$files" ]; then echo "$$files"; echo "gofmt: run make fmt"; exit 1; fi

alone: # each module builds as its users get it: without the workspace
	$(call each,$(ALL_MODULES),GOWORK=off go build -o /dev/null ./... && GOWORK=off go vet ./...)

staticcheck: # of each module alone too, which has compiled what this needs
	$(call each,$(MODULES),GOWORK=off go run $(STATICCHECK) ./...)

unit: # go test vets too; alone has done that
	CGO_ENABLED=1 $(GO_TEST) $(RACE) -short -vet=off -timeout 15m $(TESTFLAGS) $(call packages,$(UNIT))

without-race:
	$(GO_TEST) -short -vet=off $(TESTFLAGS) -run '$(NAMES)' $(addprefix ./,$(WITHOUT_RACE))

long: export SPILLWAY_REQUIRE_SERVICES := 1
long: # every test at its full length: with the race detector in the workspace, and each module alone without it
	CGO_ENABLED=1 $(GO_TEST) $(RACE) -timeout 60m $(TESTFLAGS) $(call packages,$(MODULES))
	$(call each,$(ALL_MODULES),GOWORK=off go test -timeout 60m $(TESTFLAGS) ./...)

fuzz: # each fuzz test for FUZZTIME
	@.ci/fuzz $(or $(FUZZTIME),1m)

lint: prose ## vale on comments and documentation, golangci-lint on code; the first run builds both, which takes minutes
	$(call each,$(MODULES),go run $(GOLANGCI_LINT) run ./...)

# The glob leaves out tests, texts that a third party chose, and files that are generated from others here.
prose: # the words of comments, pages, rules and dashboards, by .vale.ini and styles/
	go run $(VALE) --glob='!{*_test.*,*/testdata/*,internal/third_party/*,dashboards/kubernetes/*}' .

vulncheck: ## known vulnerabilities in what we import, by the database at vuln.go.dev, or GOVULNDB
	@.ci/vulncheck $(GOVULNCHECK) $(ALL_MODULES)

fmt: ## format every Go file
	go run $(GOFUMPT) -l -w .

api: ## write api/next.txt: what the exported API has lost and gained since the commit in api/base
	@.ci/api $(APIDIFF) $(PUBLISHED)

api-check: api # that api/next.txt was up to date
	@git diff --exit-code -- api/next.txt || { echo "api: commit the new api/next.txt" >&2; exit 1; }

bench: ## Spillway and its peers, measured here and printed as a table
	cd internal/benchmarks && GOWORK=off go run .

soak: ## three examples in trouble, ten minutes with the race detector and ten without: does anything grow?
	cd internal/integration && go run ./soak && go run ./soak -race=false

demo: ## the storefront: a backend collapses without a throttle and holds with one
	go run ./examples/storefront -open

screenshots: ## new pictures of our pages, taken with Chromium, which takes three minutes
	@.ci/install chromium
	cd internal/integration && go test ./browser -count=1 -run TestScreenshots -screenshots $(CURDIR)/examples/storefront/screenshots

check-upstream-faults: ## the tests against the published github.com/deixis/faults instead of our stand-in
	@.ci/upstream-faults $(ALL_MODULES)

release-check: ## whether this commit can be tagged as the release that throttle.Version names, and how
	@.ci/release-check $(ALL_MODULES)
