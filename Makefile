# What people and CI run. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SHORTFLOW := target/release/shortflow
SMOKE := target/smoke
# Why the figures of bench-guard are renewed; empty is refused.
export REASON ?=

.PHONY: help build demo test bench bench-guard bench-peers setup tidy format lint unit doc smoke

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

build: ## Build target/release/shortflow
	@command -v cargo >/dev/null || { echo "needs a Rust toolchain with cargo: https://rustup.rs" >&2; exit 1; }
	cargo build --release --locked

demo: build ## Compare best effort with the Fair Marker on a congested link
	$(SHORTFLOW) compare scenarios/quickstart.toml \
		--policies policies/best-effort.toml,policies/fair-marker.toml --out results/demo

test: setup tidy format lint unit doc smoke bench-guard ## Install what the tests need, and run them all

bench: build ## Measure the simulator's speed on five pieces of work
	@for work in A B S D H; do $(SHORTFLOW) bench $$work; done

# Growth alone, or the peers alone: python3 -B bench/performance --only growth
bench-peers: setup-peers build ## Measure speed against ns-2 and ns-3, and growth; write docs/performance.md
	$(MAKE) --no-print-directory -C bench/peers/ns3
	$(PYTHON) -B bench/performance

bench-guard: build ## Count instructions; more than 3 % above the figures fails (RENEW=1 REASON='…' for new ones)
	cargo xtask guard $(if $(RENEW),--renew "$$REASON")

# The report is looked at in a browser, instructions are counted by valgrind. What lacks its tool
# says "skipped: needs …".
setup: ## Install what the tests need (as root, on Debian and its kin)
	@missing=$$(for tool in chromium valgrind; do command -v $$tool >/dev/null || echo $$tool; done); \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null || \
		echo "could not be installed:" $$missing >&2; \
	fi

tidy: ## Check the rules of STYLE.md and the map in ARCHITECTURE.md
	cargo xtask tidy

format: ## Check the formatting
	cargo fmt --all --check

lint: ## Check with clippy, warnings being errors
	cargo clippy --workspace --all-targets --locked -- -D warnings

unit: ## Run the tests of all crates
	cargo test --workspace --locked

doc: ## Build the documentation, warnings being errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

smoke: build ## Reproduce the first study in its short form; the verdicts must be the known ones
	rm -rf $(SMOKE)
	mkdir -p $(SMOKE)
	$(SHORTFLOW) reproduce cm05 --quick --out $(SMOKE)/cm05 > $(SMOKE)/cm05.txt || [ $$? = 1 ]
	grep -oE '^(holds|fails|unsettled) +cm05\.[0-9]+' $(SMOKE)/cm05.txt | diff papers/cm05/quick.txt -
