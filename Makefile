# What people and CI run. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SHORTFLOW := target/release/shortflow
SMOKE := target/smoke
STUDIES := cm05 harp05 lhl03 mtk99 nt02
DEMO := policies/best-effort.toml,policies/fq-codel.toml,policies/short-first.toml,policies/calls-first.toml
# Why the figures of bench-guard are renewed; empty is refused.
export REASON ?=

PYTHON := python3

# The eBPF programs are built by clang and loaded by libbpf, which is built here. Where something is missing they are
# left out, and policies that ask for the state of a kernel's TCP are not rehearsed. It is looked for when it is needed,
# since `setup` may just have installed it.
CLANG = $(firstword $(foreach name,clang clang-19,$(shell command -v $(name))))
EBPF = $(if $(CLANG),$(shell pkg-config --exists libelf zlib 2>/dev/null && echo ebpf))
FEATURES = --features network$(if $(EBPF),$(comma)ebpf)
# What CI does with the release build needs no directory, and CI has little time.
BUILD_FEATURES = $(if $(CI),$(if $(EBPF),--features ebpf),$(FEATURES))
comma := ,
# CI builds everything once, and reads no back traces.
ifdef CI
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := 0
endif

.PHONY: help build install demo agent-demo picture test bench bench-router bench-agents bench-ebpf soak-rehearse bench-guard bench-peers validate validate-predict validate-rehearse validate-live rehearse-lhl03 advice setup setup-peers tidy format lint unit doc smoke peers-test fuzz

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

build: ## Build target/release/shortflow
	@command -v cargo >/dev/null || { echo "needs a Rust toolchain with cargo: https://rustup.rs" >&2; exit 1; }
	@$(if $(EBPF),:,echo "left out: rehearsing policies that ask for the state of TCP, which needs clang, pkg-config, libelf and zlib: make setup" >&2)
	cargo build --release --locked $(BUILD_FEATURES)

PREFIX ?= $(HOME)/.local

install: build ## Install shortflow, its man pages and completions below PREFIX (~/.local)
	@mkdir -p $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
	@install -m 755 $(SHORTFLOW) $(DESTDIR)$(PREFIX)/bin/shortflow
	@pages=$$(mktemp -d); $(SHORTFLOW) --quiet man --out $$pages/man; \
		install -m 644 $$pages/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1; rm -r $$pages
	@$(SHORTFLOW) completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/shortflow
	@$(SHORTFLOW) completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_shortflow
	@$(SHORTFLOW) completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/shortflow.fish
	@echo "installed $$($(SHORTFLOW) --version) as $(DESTDIR)$(PREFIX)/bin/shortflow"
	@case ":$$PATH:" in *:$(PREFIX)/bin:*) ;; *) echo "put $(PREFIX)/bin on your PATH to call it by its name";; esac

demo: build ## Rank four policies on an office line; then what a contract protects and costs
	@echo
	@echo "Pages, calls and downloads share an office line of 20 Mbit/s (scenarios/office.toml)"
	@echo
	@$(SHORTFLOW) compare scenarios/office.toml --no-transfers --brief --out results/demo --policies $(DEMO)
	@echo
	@echo "A shop has a contract for part of a link, others have none (scenarios/contract.toml)"
	@echo
	@$(SHORTFLOW) compare scenarios/contract.toml --no-transfers --brief --out results/demo-contract \
		--policies policies/best-effort.toml,policies/fair-marker.toml

# STAY=1 waits for Ctrl-C at the end, with the live console and metrics at the addresses that it prints.
agent-demo: build ## Three agents, a directory, traffic; a change, one that is worse, and a way back (needs root and slapd)
	@$(PYTHON) -B bench/agent-demo $(if $(STAY),--stay)

picture: demo ## Draw the README's picture anew, from the demo
	cargo xtask picture results/demo/figures/ranking.svg

test: setup tidy format lint unit doc smoke peers-test bench-guard ## Run all that CI runs; says what it would install first (SKIP_SETUP=1: nothing)

bench: build ## Measure the simulator's speed on six pieces of work
	@for work in A B S D H H1; do $(SHORTFLOW) bench $$work; done

# Writes that table of docs/performance.md. About a minute, on an idle machine.
bench-agents: ## Let a thousand agents take a change from one LDAP directory (needs slapd and ldap-utils)
	ulimit -n $$(ulimit -Hn); SHORTFLOW_AGENTS=100,300,1000 cargo test --release -p shortflow-agent --features network --test it -- --nocapture many_agents

bench-ebpf: build ## Measure what the eBPF program that marks takes for a packet (needs root)
	$(SHORTFLOW) bench ebpf

bench-router: build ## Measure how fast the router forwards under several policies, beside the kernel (needs root)
	$(SHORTFLOW) bench router $(BENCH_ROUTER)

soak-rehearse: build ## Rehearse ten minutes at 50 Mbit/s; memory and descriptors must stay flat (needs root)
	$(PYTHON) -B bench/soak $(SOAK)

# Growth alone, or the peers alone: python3 -B bench/performance --only growth
bench-peers: setup-peers build ## Measure speed against ns-2, ns-3 (and HTSIM=checkout), and growth; write docs/performance.md
	$(MAKE) --no-print-directory -C bench/peers/ns3
	$(if $(HTSIM),$(MAKE) --no-print-directory -C bench/peers/htsim HTSIM=$(abspath $(HTSIM)))
	$(PYTHON) -B bench/performance

bench-guard: build ## Count instructions; more than 3 % above the figures fails (RENEW=1 REASON='…' for new ones)
	cargo xtask guard $(if $(RENEW),--renew "$$REASON")

validate: setup-peers build ## Hold the simulator against ns-2, ns-3 and theory; write docs/validation.md
	$(PYTHON) -B bench/peers/validate

# About 10 minutes on two cores.
advice: build ## Ask for advice on five kinds of network; write it into docs/choosing.md
	$(PYTHON) -B bench/advice

validate-predict: build ## Hold predictions against the simulator over scenarios drawn at random; write that chapter of docs/validation.md
	$(PYTHON) -B bench/predictions

# Real time: about 35 minutes, as root, on a machine that has little else to do.
validate-rehearse: build ## Hold the simulator against this machine's own TCP; write that chapter of docs/validation.md
	$(PYTHON) -B bench/agreement

validate-live: build ## Hold deployed policies against what is predicted, simulated and rehearsed; write that table of docs/deploy.md (needs root)
	unshare -n $(PYTHON) -B bench/live
	unshare -n $(PYTHON) -B bench/live/split.py

rehearse-lhl03: build ## Rehearse the testbed of papers/lhl03 beside its simulation; write papers/lhl03/rehearsed.md
	$(PYTHON) -B bench/agreement/testbed.py

# Prints those of the packages that follow that are not installed. A package may be known to dpkg and
# not be installed, so its status is asked for.
missing_packages = for package in $(1); do \
	status=$$(dpkg-query -W -f '$${db:Status-Status}' $$package 2>/dev/null || true); \
	[ "$$status" = installed ] || echo $$package; done

# Installs packages, if this is Debian or its kin and the user is root; tells them in any case.
# SKIP_SETUP=1 leaves them out.
define install_packages
	if [ -z "$$missing" ]; then exit 0; fi; \
	echo "not installed, and used by $(1):" $$missing; \
	if [ -n "$(SKIP_SETUP)" ]; then echo "left out: SKIP_SETUP is set"; exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo "to install them, as root on Debian: apt-get install --no-install-recommends" $$missing; exit 0; fi; \
	echo "installing them with apt-get (SKIP_SETUP=1 leaves them out)"; \
	apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null || \
	echo "could not be installed:" $$missing >&2
endef

# A peer that is still absent ends `validate` with exit code 3 and the package to install.
setup-peers: ## Install the peers, if root on Debian and its kin
	@command -v dpkg-query >/dev/null || exit 0; \
	missing=$$($(call missing_packages,ns2 libns3-dev g++ python3)); \
	$(call install_packages,the comparisons with ns-2 and ns-3)

# Prints a package of the machines of CI. Elsewhere it is left to people, since Debian starts its service as soon as it is
# installed; the tests start one of their own.
service = if [ -n "$${CI:-}" ]; then echo $(1); else \
	echo "not installed, and left to you since Debian starts a service with it: $(1)" >&2; fi

# The report is looked at in a browser, traces are read by tshark and tcptrace, instructions are
# counted by valgrind, queues are deployed by tc. What lacks its tool says "skipped: needs …".
setup: ## Say what the tests need, and install it if root on Debian and its kin (SKIP_SETUP=1: do not)
	@missing=$$(for tool in chromium tshark tcptrace valgrind python3; do command -v $$tool >/dev/null || echo $$tool; done; \
		$(PYTHON) -c 'import jsonschema' 2>/dev/null || echo python3-jsonschema; \
		$(if $(CLANG),:,echo clang-19); \
		command -v tc >/dev/null || echo iproute2; \
		[ -x /usr/sbin/slapd ] || $(call service,slapd); \
		command -v openssl >/dev/null || echo openssl; \
		command -v ldapadd >/dev/null || echo ldap-utils; \
		command -v systemd-analyze >/dev/null || echo systemd; \
		{ command -v prometheus && command -v promtool; } >/dev/null || $(call service,prometheus); \
		$(if $(EBPF),:,$(call missing_packages,pkg-config libelf-dev zlib1g-dev))); \
	$(call install_packages,rehearsals of policies that ask for the state of TCP (clang-19 pkg-config libelf-dev zlib1g-dev) and by tests that look at reports (chromium) read traces (tshark tcptrace) count instructions (valgrind) deploy queues (iproute2) read a unit (systemd) take repositories through a directory (slapd, ldap-utils, openssl) scrape metrics (prometheus) and compare with peers or hold schemas against files (python3, python3-jsonschema); without them these tests say \"skipped\")

tidy: ## Check the rules of STYLE.md and the map in ARCHITECTURE.md
	cargo xtask tidy

format: ## Check the formatting
	cargo fmt --all --check
	rustfmt --check --edition 2024 crates/policy/src/schemes/*/*.rs # listed by a build script, so unknown to cargo fmt

lint: ## Check with clippy, warnings being errors
	cargo clippy --workspace --all-targets --locked $(FEATURES) -- -D warnings

unit: ## Run the tests of all crates
	@$(if $(EBPF),:,echo "skipped: needs clang, pkg-config, libelf and zlib: rehearsals of policies that ask for the state of TCP" >&2; \
		[ -z "$${CI:-}" ] || { echo "with CI set nothing may be skipped: make setup, as root on Debian" >&2; exit 1; })
	cargo test --workspace --locked $(FEATURES)

doc: ## Build the documentation, warnings being errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked $(FEATURES)

smoke: build ## Reproduce the studies in their short forms; the verdicts must be the known ones
	rm -rf $(SMOKE)
	mkdir -p $(SMOKE)
	for study in $(STUDIES); do \
		$(SHORTFLOW) reproduce $$study --quick --out $(SMOKE)/$$study > $(SMOKE)/$$study.txt || [ $$? = 1 ]; \
		grep -oE "^(holds|fails|depends|unsettled) +$$study\.[0-9]+" $(SMOKE)/$$study.txt | diff papers/$$study/quick.txt -; \
		$(SHORTFLOW) reproduce $$study --quick --json --out $(SMOKE)/$$study > $(SMOKE)/$$study.json || [ $$? = 1 ]; \
		cmp $(SMOKE)/$$study/ledger.json $(SMOKE)/$$study.json; \
	done

peers-test: ## Test the comparisons with peers
	@if command -v $(PYTHON) >/dev/null; \
	then \
		PYTHONPATH=bench/peers/validate:bench/peers/theory $(PYTHON) -B -m unittest discover -s bench/peers/tests; \
		PYTHONPATH=bench/performance $(PYTHON) -B -m unittest discover -s bench/performance/tests; \
		PYTHONPATH=bench/predictions:bench/peers/validate $(PYTHON) -B -m unittest discover -s bench/predictions/tests; \
		PYTHONPATH=bench/agreement:bench/peers/validate $(PYTHON) -B -m unittest discover -s bench/agreement/tests; \
	else echo "skipped: needs python3" >&2; fi

FUZZ_SECONDS ?= 60

# What it finds on its way is kept beside the program, and the seeds of the repository stay as they are.
fuzz: ## Look for bytes that break the packet parser, the router or the agent, FUZZ_SECONDS each (needs cargo-fuzz and a nightly toolchain)
	@if cargo fuzz --version >/dev/null 2>&1 && rustup run nightly rustc --version >/dev/null 2>&1; \
	then for target in parse:512 route:1600 agent_entries:2000 agent_http:9000 agent_request:512; do \
			name=$${target%:*}; mkdir -p fuzz/target/found/$$name; \
			cargo +nightly fuzz run $$name fuzz/target/found/$$name fuzz/corpus/$$name -- -max_len=$${target#*:} -max_total_time=$(FUZZ_SECONDS); \
		done; \
	else echo "skipped: needs cargo-fuzz (cargo install cargo-fuzz; rustup toolchain install nightly)" >&2; fi
