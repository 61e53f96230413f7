# Every command of the repository. `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

# The versions of the tools. They run as `go run path@version`, so no go.mod requires them.
CYCLONEDX     := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
APIDIFF       := golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e
GOFUMPT       := mvdan.cc/gofumpt@v0.12.0
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOTESTSUM     := gotest.tools/gotestsum@v1.13.0
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.8.0
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
VALE          := github.com/vale-cli/vale/v3/cmd/vale@v3.22.0

# Every module. go.work lists all except two with benchmarks, whose peers would raise the versions of the others.
ALL_MODULES := $(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path '*/testdata/*')))
MODULES     := $(filter-out ./internal/benchmarks ./internal/admission,$(ALL_MODULES))
# The modules that users import.
PUBLISHED   := . ./throttle/connectthrottle ./throttle/grpcthrottle ./throttle/redisstore
# The module whose tests need servers. It imports Prometheus, Helm and Kubernetes, which take minutes to compile, so make test leaves
# it to make test-services.
SERVICES    := ./internal/integration
# The examples with data in SQLite, whose tests are left to make test-services too: see nosqlite.
SQLITE      := ./examples/quota ./examples/webhooks
# The modules whose tests need Go and a C compiler only.
UNIT        := $(filter-out $(SERVICES),$(MODULES))

# The packages of a list of modules.
packages = $(patsubst %,%/...,$(1))

# The tests that run without the race detector, and their packages. Some count allocations, and the race
# detector allocates. Some compare with known figures of the simulator, which the race detector slows down.
NAMES        := [Aa]lloc|KnownFigures
WITHOUT_RACE := $(sort $(dir $(shell grep -rl --include='*_test.go' '^//go:build !race' throttle otelthrottle examples)))

# More flags for go test, such as TESTFLAGS='-run Shed -count 10'.
TESTFLAGS ?=

# How often a failed test runs again. CI sets 1, and lists these tests: each is a bug of the test or of the code.
RERUN ?= 0

# gotestsum runs go test and prints a line for each package, and at the end the failures and the counts.
# $(call go_test,packages,flags) runs it.
go_test = go run $(GOTESTSUM) --format pkgname --format-hide-empty-pkg $(if $(filter-out 0,$(RERUN)),--rerun-fails=$(RERUN)) --packages="$(1)" -- $(2) $(TESTFLAGS)

# SQLite in Go is translated from C. The race detector makes it ten times slower, and finds nothing there.
RACE := -race -gcflags=modernc.org/...=-race=false

# A program with the race detector sleeps for a second when it ends: every test binary, and the programs that tests start.
export GORACE := atexit_sleep_ms=0 $(GORACE)

# Gin without MessagePack, which nothing here uses, and which takes longer to compile than Gin. Tests run go list with it too.
export GOFLAGS := $(shell go env GOFLAGS) -tags=nomsgpack

# The driver of SQLite is 13 MB of source, which take half a minute to compile with the race detector. So what make test runs
# is built without it.
alone unit without-race: export GOFLAGS := $(GOFLAGS),nosqlite

# $(call each,modules,command) runs the command in every module, also after a failure. It fails if any
# command failed. After Ctrl-C go test and go run end with 1 and not by the signal, so the shell would go on without the trap.
each = @trap 'exit 130' INT; status=0; for m in $(1); do echo "==> $$m: $(2)"; (cd "$$m" && $(2)) || status=1; done; exit $$status

.PHONY: help test test-services test-all gofmt alone unit without-race long fuzz lint prose vulncheck fmt api \
	api-check check compat bench admission soak demo screenshots check-upstream-faults release-check

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: gofmt alone unit without-race ## before each push: format, vet, unit tests; Go and a C compiler, 2 minutes, 5 the first time

# A test that needs a missing server is skipped. After the installation a missing server is a failure instead.
test-services: export SPILLWAY_REQUIRE_SERVICES := 1
test-services: ## real Redis, PostgreSQL, MariaDB, Prometheus, Chromium; and staticcheck: root installs missing servers, other users get a list; 8 minutes
	@.ci/install
	cd $(SERVICES) && GOWORK=off go vet ./...
	go run $(STATICCHECK) $(call packages,$(MODULES))
	CGO_ENABLED=1 $(call go_test,$(SQLITE),$(RACE) -short)
	cd $(SERVICES) && $(call go_test,./...,-short -vet=off -p 8 -parallel 4 -timeout 15m)
	cd $(SERVICES) && $(call go_test,./overload,-count=1 -vet=off -timeout 15m)

test-all: test test-services api-check compat lint long fuzz soak ## before a release and each night: both, the lists and linters, every test at full length, fuzz tests, the soak; more than an hour

gofmt: # every file is formatted
	@echo "==> gofmt -l ."; files=$$(gofmt -l .) && if [ -n "$$files" ]; then echo "$$files"; echo "gofmt: run make fmt"; exit 1; fi

# With the race detector, so that unit finds what was compiled. Without -race all of it would be compiled twice.
alone: # each module without the workspace, as users build it: vet compiles what is imported, and type-checks the rest
	$(call each,$(filter-out $(SERVICES),$(ALL_MODULES)),CGO_ENABLED=1 GOWORK=off go vet $(RACE) ./...)

# Without the vet of go test, because alone vets. The examples first: the longest test is there.
unit:
	CGO_ENABLED=1 $(call go_test,$(call packages,./examples $(filter-out ./examples,$(UNIT))),$(RACE) -short -vet=off -timeout 15m)

without-race:
	go vet $(addprefix ./,$(WITHOUT_RACE))
	$(call go_test,$(addprefix ./,$(WITHOUT_RACE)),-short -vet=off -run '$(NAMES)')

long: export SPILLWAY_REQUIRE_SERVICES := 1
long: # every test without -short: in the workspace with the race detector, and each module alone without it
	CGO_ENABLED=1 $(call go_test,$(call packages,$(MODULES)),$(RACE) -timeout 60m)
	$(call each,$(ALL_MODULES),GOWORK=off go test -timeout 60m $(TESTFLAGS) ./...)

fuzz: # each fuzz test for FUZZTIME
	@.ci/fuzz $(or $(FUZZTIME),1m)

lint: prose ## vale on comments and documentation, golangci-lint on code; the first run builds both and takes minutes
	$(call each,$(MODULES),go run $(GOLANGCI_LINT) run ./...)

# The glob excludes tests, texts of a third party, and files that are generated from others here.
prose: # the language of comments, pages, rules and dashboards, by .vale.ini and styles/
	go run $(VALE) --glob='!{*_test.*,*/testdata/*,internal/third_party/*,dashboards/kubernetes/*,charts/*/files/*}' .

vulncheck: ## known vulnerabilities in dependencies, by the database at vuln.go.dev or GOVULNDB
	@.ci/vulncheck $(GOVULNCHECK) $(ALL_MODULES)

fmt: ## format every Go file
	go run $(GOFUMPT) -l -w .

api: ## write api/next.txt: the changes of the exported API since the commit in api/base
	@.ci/api $(APIDIFF) $(PUBLISHED)

check: api-check compat ## the exported API since the commit in api/base, and whether the modules of that commit still build
	@if [ -s api/next.txt ]; then cat api/next.txt; else echo "api: all is new: nothing was released yet, and nothing has changed since the commit in api/base"; fi

api-check: api # api/next.txt is up to date
	@git diff --exit-code -- api/next.txt || { echo "api: commit the new api/next.txt" >&2; exit 1; }

compat: ## build each nested module of the last release (api/base) with this main module
	@.ci/compat $(PUBLISHED)

bench: ## measure Spillway and its peers and print a table
	cd internal/benchmarks && GOWORK=off go run .

admission: ## overload real servers with and without Spillway and print a table; needs a quiet machine, 16 minutes
	cd internal/admission && GOWORK=off go run .

soak: ## disrupt three examples, ten minutes with the race detector and ten without, and check that nothing grows
	cd internal/integration && for detect in true false; do go test ./soak -count=1 -v -timeout 30m -run TestSoak -duration 10m -detect=$$detect || exit 1; done

demo: ## the storefront: a backend collapses without a throttle and keeps serving with one
	go run ./examples/storefront -open

screenshots: ## take new screenshots of the pages with Chromium, on a quiet machine; four minutes
	@.ci/install chromium
	cd internal/integration && go test ./browser -count=1 -run TestScreenshots -screenshots $(CURDIR)/examples

check-upstream-faults: ## the tests with the published github.com/deixis/faults instead of the stand-in
	@.ci/upstream-faults $(ALL_MODULES)

release-check: ## check that this commit can be tagged as release throttle.Version, and print the commands
	@.ci/release-check $(CYCLONEDX) $(ALL_MODULES)
