# Everything that runs Go goes through GOTOOLCHAIN=auto: a machine with an older Go fetches the one that go.mod names.
export GOTOOLCHAIN := auto

GO := $(shell command -v go 2>/dev/null || echo /usr/local/go/bin/go)
# The folders that tests read their cases and data from; see CONTRIBUTING.md.
export WEIR_CASES ?= $(abspath ../shared/cases)
export WEIR_DATA  ?= $(abspath ../shared/data)
# How many test binaries run at once. Brokers and state stores inside them use cores of their own.
P ?= 2

.PHONY: help demo demo-crash test test-real race lint vuln bench bench-all bench-kafka bench-peers bench-nexmark soak tidy

help: ## print this list
	@echo "weir: an embeddable stream-processing framework for Go"; echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-22s %s\n", $$1, $$2}'

demo: ## count January's flights through an embedded Kafka; needs nothing but Go
	@$(GO) run ./examples/flights

demo-crash: ## kill the flights program again and again and show that no flight is lost or counted twice
	@$(GO) run ./examples/flights -crash

test: ## all tests, with embedded brokers; needs nothing but Go
	$(GO) test -p $(P) -timeout 20m ./...

# The flags are those of test, so that what does not look at the broker is not run again.
test-real: ## the same tests against Apache Kafka 4.4.0 and a schema registry; needs Java and Maven
	scripts/test-real $(GO) test -p 1 -timeout 20m ./...

race: ## the packages with goroutines in them, under the race detector
	$(GO) test -race -p $(P) -timeout 15m $$($(GO) list ./internal/engine/... ./internal/task/... ./connector/kafka/... ./table/... 2>/dev/null)

lint: ## vet, staticcheck's analyzers and gofmt, in every module
	scripts/check vet lint gofmt

vuln: ## known vulnerabilities among what the code calls
	scripts/check vuln

bench-all: ## every suite that fits into 30 minutes (WITHIN=2h for more), and the figures of docs/benchmarks.md
	cd benchmarks && $(GO) run ./cmd/weirbench all -within $(or $(WITHIN),30m)

bench: ## micro-benchmarks: operators, serdes, state, windows
	cd benchmarks && $(GO) run ./cmd/weirbench micro

bench-kafka: ## weir, sarama and franz-go on one real broker
	cd benchmarks && $(GO) run ./cmd/weirbench kafka

bench-peers: ## weir, Kafka Streams, Flink and goka on one real broker
	cd benchmarks && $(GO) run ./cmd/weirbench peers

bench-nexmark: ## the Nexmark queries
	cd benchmarks && $(GO) run ./cmd/weirbench nexmark

# With SEEDS, seeds of faults on the memory cluster and a tenth as many on the embedded broker, from FROM on. What fails is shrunk to a
# script in testdata, which is a test from then on.
soak: ## an hour of load with kills in it, watching memory and goroutines (SOAK=10m for less), or SEEDS=1000 seeds of faults
ifdef SEEDS
	$(GO) test ./internal/faults -timeout 24h -run TestSeeds -v -args -keep -seed $(or $(FROM),0) -seeds $(SEEDS)
	$(GO) test ./internal/crashtest -timeout 24h -run 'TestSeeds|TestBrokerSeeds|TestSameHoweverItRuns' -v -args -keep \
		-seed $(or $(FROM),0) -seeds $(SEEDS) -brokerseeds $$(( ($(SEEDS) + 9) / 10 )) -topologies $(SEEDS)
else
	cd benchmarks && $(GO) run ./cmd/weirbench soak -for $(or $(SOAK),1h)
endif

tidy: ## go mod tidy in every module
	for m in . benchmarks scripts/lint; do (cd $$m && $(GO) mod tidy) || exit 1; done
