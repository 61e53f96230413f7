# Every command of the house. `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

# The tools, pinned here and nowhere else. They run as `go run path@version`, so no go.mod requires them.
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT       := mvdan.cc/gofumpt@v0.12.0
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.8.0

# Every module of the repository; go.work holds all of them but the benchmarks, whose peers would raise everyone's versions.
ALL_MODULES := $(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path '*/testdata/*')))
MODULES     := $(filter-out ./internal/benchmarks,$(ALL_MODULES))

# More flags for go test, such as TESTFLAGS='-run Shed -count 10'.
TESTFLAGS ?=

# $(call each,modules,command) runs the command in every module, also after one has failed, and fails if any did.
each = @status=0; for m in $(1); do echo "==> $$m: $(2)"; (cd "$$m" && $(2)) || status=1; done; exit $$status

.PHONY: help test install gofmt vet staticcheck race alone lint vulncheck fmt api bench soak demo screenshots check-upstream-faults release-check

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A test that needs a server skips itself where the server is missing. After install none is, so a skip is a failure.
test: export SPILLWAY_REQUIRE_SERVICES := 1
test: install gofmt vet staticcheck race alone ## everything that must pass: what is missing is installed (root) or listed

install: # what the tests need beyond Go
	@.ci/install

gofmt: # the formatting of every file
	@echo "==> gofmt -l ."; files=$$(gofmt -l .) && if [ -n "$$files" ]; then echo "$$files"; echo "gofmt: run make fmt"; exit 1; fi

vet:
	$(call each,$(MODULES),go vet ./...)

staticcheck:
	$(call each,$(MODULES),go run $(STATICCHECK) ./...)

# A machine that others use too may need more than the ten minutes that go test gives a package.
PATIENT := -timeout=30m

# The SQLite that was translated from C to Go is not ours to look for races in, and would be ten times slower.
UNRACED := -gcflags=modernc.org/...=-race=false

race: ## the tests of every module under the race detector, in the workspace
	$(call each,$(MODULES),CGO_ENABLED=1 go test -race $(UNRACED) $(PATIENT) $(TESTFLAGS) ./...)

# Nobody imports the integration tests, which wait for other programs most of the time: they must build, and those of the stores do more
# without the race detector.
alone: ## the tests of each module as its users get it: without the workspace, without the race detector
	$(call each,$(filter-out ./internal/integration,$(ALL_MODULES)),GOWORK=off go test $(PATIENT) $(TESTFLAGS) ./...)
	$(call each,./internal/integration,GOWORK=off go vet ./... && GOWORK=off go test $(PATIENT) $(TESTFLAGS) ./stores)

lint: ## golangci-lint with .golangci.yml; the first run builds it, which takes minutes
	$(call each,$(MODULES),go run $(GOLANGCI_LINT) run ./...)

vulncheck: ## known vulnerabilities in what we import, by the database at vuln.go.dev, or GOVULNDB
	@.ci/vulncheck $(GOVULNCHECK) $(ALL_MODULES)

fmt: ## format every Go file
	go run $(GOFUMPT) -l -w .

api: ## bring api/next.txt up to date: what is exported now, and was not, or was otherwise, in the last release
	go run ./internal/api

bench: ## Spillway and its peers, measured here and printed as a table
	cd internal/benchmarks && GOWORK=off go run .

soak: ## three examples in trouble, ten minutes with the race detector and ten without: does anything grow?
	cd internal/integration && go run ./soak && go run ./soak -race=false

demo: ## the storefront: a backend collapses without a throttle and holds with one
	go run ./examples/storefront -open

screenshots: ## the pictures of our pages, taken anew with Chromium, which takes three minutes
	@.ci/install chromium
	cd internal/integration && go test ./browser -count=1 -run TestScreenshots -screenshots $(CURDIR)/examples/storefront/screenshots

check-upstream-faults: ## the suite against the published github.com/deixis/faults instead of our stand-in
	@.ci/upstream-faults $(ALL_MODULES)

release-check: ## whether this commit can be tagged as the release that throttle.Version names, and how
	@.ci/release-check $(ALL_MODULES)
