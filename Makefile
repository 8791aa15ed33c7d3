# Entry points for people and CI. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SHORTFLOW := target/release/shortflow
DEMO := policies/best-effort.toml,policies/fq-codel.toml,policies/short-first.toml,policies/calls-first.toml
# The reason for renewing the figures of bench-guard; it must not be empty.
export REASON ?=

PYTHON := python3

FEATURES = --features $(shell setup/features)
# Simulations, studies and counts need no commands for live machines, and without them a build is faster. A program that
# has these commands keeps them.
SMALL = $(if $(shell $(SHORTFLOW) --version 2>/dev/null | grep -w live),$(FEATURES),--no-default-features)
HAS_EBPF = $(findstring ebpf,$(FEATURES))
# CI builds everything once and needs no back traces.
ifdef CI
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := 0
endif

.PHONY: deny python python-unit test-python manual reference site help toolchain toolchain-for-tests build small tested symbols install static deb release test-packages demo agent-demo picture test bench bench-router bench-inline bench-agents bench-ebpf soak-rehearse soak-inline bench-fail-open bench-guard bench-peers validate validate-predict judge-predict validate-rehearse validate-live validate-stock live-lhl03 rehearse-lhl03 advice setup setup-peers tidy format lint unit doc smoke peers-test test-kernels test-kernels-short attack attack-short fuzz

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1\t/' | expand -t 20

build: toolchain ## Build target/release/shortflow
	@$(if $(HAS_EBPF),:,echo "left out: rehearsing policies that ask for the state of TCP, which needs clang, pkg-config, libelf and zlib: make setup" >&2)
	cargo build --release --locked $(FEATURES)

small: toolchain
	cargo build --release --locked $(SMALL)

SYMBOLS := target/symbols/release/shortflow

symbols: build ## Write the symbols of target/release/shortflow into shortflow.debug beside it, for debuggers and profilers
	CARGO_PROFILE_RELEASE_STRIP=none cargo build --release --locked --target-dir target/symbols $(FEATURES)
	objcopy --only-keep-debug $(SYMBOLS) $(SHORTFLOW).debug

RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

toolchain:
	@setup/rust $(RUST_VERSION)

PREFIX ?= $(HOME)/.local

install: build ## Install shortflow, its man pages and completions below PREFIX (~/.local)
	@DESTDIR=$(DESTDIR) setup/install $(SHORTFLOW) $(PREFIX)

static: toolchain ## Build a static program for PROCESSOR (x86_64, aarch64), which needs no libraries of the machine
	@setup/packages release
	@packages/static/build $(or $(PROCESSOR),$(shell uname -m))

# The program of the package is static, so one package fits every release of Debian and its derivatives.
deb: toolchain ## Build the Debian package of this machine's processor into target/packages
	@setup/packages release
	@packages/deb/build "$$(packages/static/build $$(uname -m))" $$(dpkg --print-architecture)

release: toolchain ## Build all packages, notices and checksums into target/release-VERSION (RELEASE='--twice': compare two builds; '--tag': tag it)
	@setup/packages release
	@packages/release $(RELEASE)

test-packages: ## Try the packages of `make release` on clean Debian systems, and that for aarch64 in QEMU (needs root)
	@packages/try

SMALLER := This build has no rehearse, inline, verify or agent; `make build` adds them

demo: small ## Rank four policies on an office line; then show what a contract protects and costs
	@echo
	@echo "Pages, calls and downloads share an office line of 20 Mbit/s (scenarios/office.toml)"
	@echo
	@$(SHORTFLOW) compare scenarios/office.toml --no-transfers --brief --out results/demo --policies $(DEMO)
	@echo
	@echo "A shop has a contract for part of a link, others have none (scenarios/contract.toml)"
	@echo
	@$(SHORTFLOW) compare scenarios/contract.toml --no-transfers --brief --out results/demo-contract \
		--policies policies/best-effort.toml,policies/fair-marker.toml
	@$(if $(findstring no-default,$(SMALL)),printf '\n%s\n' '$(SMALLER)')

# STAY=1 keeps the console and metrics running at the printed addresses until Ctrl-C.
agent-demo: build ## Run three agents with an LDAP directory and traffic: a change, a worse change, a rollback (needs root and slapd)
	@$(PYTHON) -B bench/agent-demo $(if $(STAY),--stay)

picture: demo ## Redraw the README's picture from the demo
	cargo xtask picture results/demo/figures/ranking.svg

test: setup tidy format lint unit doc smoke peers-test python-unit manual attack-short bench-guard ## Run everything that CI runs; `setup` first lists the packages to install (SKIP_SETUP=1: skip it)

bench: small ## Measure the simulator's speed on six workloads
	@for work in A B S D H H1; do $(SHORTFLOW) bench $$work; done

# Writes the table in docs/performance.md. Takes about a minute on an idle machine.
bench-agents: ## Measure a thousand agents that take a change from one LDAP directory (needs slapd and ldap-utils)
	ulimit -n $$(ulimit -Hn); SHORTFLOW_AGENTS=100,300,1000 cargo test --release -p shortflow-agent --features network --test it -- --nocapture many_agents

bench-ebpf: build ## Measure the marking eBPF program's time per packet (needs root)
	$(SHORTFLOW) bench ebpf

bench-router: build ## Measure the router's forwarding rate under several policies, compared with the kernel's (needs root)
	$(SHORTFLOW) bench router $(BENCH_ROUTER)

bench-inline: build ## Measure how fast the inline router forwards, compared with a bare forwarder and the kernel (needs root)
	$(SHORTFLOW) bench inline $(BENCH_ROUTER)

soak-rehearse: build ## Rehearse ten minutes at 50 Mbit/s; fail if memory or descriptors grow (needs root)
	$(PYTHON) -B bench/soak $(SOAK)

bench-fail-open: build ## Kill the inline router a hundred times under traffic, and measure the gaps (needs root)
	$(PYTHON) -B bench/fail_open

soak-inline: build ## Flood the inline router for ten minutes; fail if memory or descriptors grow (needs root)
	$(PYTHON) -B bench/soak --inline $(SOAK)

# One part alone (growth, peers): python3 -B bench/performance --only growth
bench-peers: setup-peers build ## Compare speed with ns-2, ns-3 (and HTSIM=checkout), measure growth; write docs/performance.md
	$(MAKE) --no-print-directory -C bench/peers/ns3
	$(if $(HTSIM),$(MAKE) --no-print-directory -C bench/peers/htsim HTSIM=$(abspath $(HTSIM)))
	$(PYTHON) -B bench/performance

# Takes about ten minutes per kernel without hardware acceleration, and fetches 100 MB of packages once.
test-kernels: build ## Try every shipped policy on Debian's stock kernels in virtual machines; write docs/kernels.md
	@setup/packages kernels
	$(PYTHON) -B bench/kernels $(foreach suite,$(KERNELS),--kernel $(suite))

# Takes about ten minutes. In CI it follows `make test`, whose program it takes.
test-kernels-short: tested ## Try every shipped policy once on the stock kernels of Debian 13 and sid
	@setup/packages kernels
	$(PYTHON) -B bench/kernels --short --kernel trixie --kernel sid --shortflow $(TESTED)

bench-guard: small ## Count instructions; fail if more than 3 % above the recorded figures (RENEW=1 REASON='…' records new ones)
	cargo xtask guard $(if $(RENEW),--renew "$$REASON")

validate: setup-peers build ## Compare the simulator with ns-2, ns-3 and theory; write their chapters of docs/validation
	$(PYTHON) -B bench/peers/validate

# Takes about 10 minutes on two cores.
advice: build ## Run `advise` on five kinds of network; write the results into docs/choosing.md
	$(PYTHON) -B bench/advice

validate-predict: build ## Compare predictions with simulations of random scenarios; write that chapter of docs/validation
	$(PYTHON) -B bench/predictions

judge-predict: build ## Judge predictions of random scenarios of every kind, in the models' range or not; write that chapter (SEED=…: print others)
	$(PYTHON) -B bench/predictions --mixed $(if $(SEED),--seed $(SEED),--seed 20261128 11 12 13 --write)

# Runs in real time: about 35 minutes, as root, on an otherwise idle machine.
validate-rehearse: build ## Compare the simulator with this kernel's TCP; write that chapter of docs/validation
	$(PYTHON) -B bench/agreement

validate-live: build ## Compare deployed policies with predictions, simulations and rehearsals; write the tables of docs/deploy-results.md (needs root)
	unshare -n $(PYTHON) -B bench/live
	unshare -n $(PYTHON) -B bench/live/split.py

# In virtual machines with clocks of their own: two to three minutes of CPU time for a policy and replica.
validate-stock: build ## Compare every shipped policy on a stock kernel's live line with its simulation; write docs/live.md
	@setup/packages kernels
	$(PYTHON) -B bench/live/stock.py

# Runs in real time: about 15 minutes, as root.
live-lhl03: build ## Run the testbed of papers/lhl03 live, on a line with `deploy`; write papers/lhl03/live.md
	unshare -n $(PYTHON) -B bench/agreement/live_testbed.py

rehearse-lhl03: build ## Rehearse and simulate the testbed of papers/lhl03; write papers/lhl03/rehearsed.md
	$(PYTHON) -B bench/agreement/testbed.py

# If a peer is still missing, `validate` ends with exit code 3 and names the package to install.
setup-peers: ## Install the peers (as root on Debian and its derivatives)
	@setup/packages peers

setup: toolchain-for-tests ## List the packages that the tests need, and install them as root on Debian and its derivatives (SKIP_SETUP=1: skip)
	@setup/packages tests

toolchain-for-tests:
	@setup/rust $(RUST_VERSION) clippy rustfmt

tidy: ## Check the rules of STYLE.md and the map in ARCHITECTURE.md
	cargo xtask tidy

format: ## Check the formatting
	cargo fmt --all --check

# A newer toolchain than ours knows more warnings, which fail nobody's tests.
DENY = $(if $(findstring $(RUST_VERSION),$(shell cargo --version)),-D warnings)

lint: ## Run clippy, with warnings as errors where the toolchain is ours
	cargo clippy --workspace --all-targets --locked $(FEATURES) -- $(DENY)
	$(if $(HAS_EBPF),cargo clippy --workspace --all-targets --locked --features network -- $(DENY)) # where clang is missing

deny: ## Check licences, known vulnerabilities and sources of all crates (needs cargo-deny, and a network for the advisories)
	cargo deny check $(DENY_CHECKS)

unit: ## Run the tests of all crates
	@$(if $(HAS_EBPF),:,echo "skipped: needs clang, pkg-config, libelf and zlib: rehearsals of policies that ask for the state of TCP" >&2; \
		[ -z "$${CI:-}" ] || { echo "with CI set nothing may be skipped: make setup, as root on Debian" >&2; exit 1; })
	cargo test --workspace --locked $(FEATURES)

python: toolchain ## Build the wheel of the Python package into target/wheels (needs maturin, from PyPI)
	@$(PYTHON) -m venv target/wheel-venv
	@target/wheel-venv/bin/pip install --quiet --disable-pip-version-check 'maturin>=1.9.4,<2'
	target/wheel-venv/bin/maturin build --out target/wheels

test-python: ## Build and test the Python package alone
	cargo build --locked -p shortflow-python -p shortflow-cli
	@setup/python-tests

# In `make test` the module is built with the features of all tests, so that nothing is compiled twice.
python-unit: unit
	cargo build --workspace --locked $(FEATURES)
	@setup/python-tests

doc: ## Build the documentation, with warnings as errors where the toolchain is ours
	RUSTDOCFLAGS="$(DENY)" cargo doc --workspace --no-deps --locked $(FEATURES)

smoke: demo ## Reproduce the studies in their short forms; fail if verdicts differ from the recorded ones
	cargo xtask smoke

reference: build ## Write docs/reference from the code
	$(PYTHON) -B bench/docs reference

# In `make test` these steps take the program that the tests have built; alone they build it for users.
ifneq ($(filter test,$(MAKECMDGOALS)),)
TESTED := target/debug/shortflow
tested: unit
else
TESTED := $(SHORTFLOW)
tested: build
endif

manual: tested ## Check docs/reference, run the commands of the documentation, check its TOML blocks
	@setup/python bench/docs reference --check --shortflow $(TESTED)
	@setup/python bench/docs examples --shortflow $(TESTED)

site: ## Build the documentation site into target/site (needs packages from PyPI)
	@$(PYTHON) -B bench/docs site

peers-test: ## Test the scripts that compare Shortflow with peers
	@setup/python bench/tests.py

ATTACK_SECONDS ?= 600

# Findings are kept in target/attack. Parts that need root, slapd or a feature say so.
attack: build ## Attack the program as local users, servers and files could; mutate inputs for ATTACK_SECONDS
	$(PYTHON) -B bench/attack --seconds $(ATTACK_SECONDS)

attack-short: tested ## Run the part of `attack` that `make test` includes
	@SHORTFLOW=$(TESTED) setup/python bench/attack --short --seconds 20 --seed 1

FUZZ_SECONDS ?= 60

fuzz: ## Fuzz each reader of packets, captures, policies, scenarios and fleets, FUZZ_SECONDS each (needs cargo-fuzz and nightly)
	@fuzz/run $(FUZZ_SECONDS)
