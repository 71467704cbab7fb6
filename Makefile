# artoo: `make demo` shows it at work, `make test` tests it.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
DATE    ?= $(shell git log -1 --format=%cs 2>/dev/null || echo unknown)

GO      ?= go
LDFLAGS  = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)
# Without inlining the program is 3 MB smaller. Left out is what much work goes through: the standard library, what
# reads shell lines and judges calls, search, the journal, and what each piece of an answer passes. Nothing that is
# built here keeps data for debuggers, so that the compiler need not make any, except for the standard library: without
# flags it is the same as in the go commands of tests. Tests build with the flags that stand here, quoted as in GOFLAGS.
GCFLAGS  = '-gcflags=all=-l -dwarf=false' -gcflags=std= -gcflags=mvdan.cc/sh/...=-dwarf=false -gcflags=./agent/permission=-dwarf=false -gcflags=./conversation=-dwarf=false -gcflags=./tool/files=-dwarf=false -gcflags=./tool/journal=-dwarf=false -gcflags=./tool/names=-dwarf=false -gcflags=./tool/outline=-dwarf=false -gcflags=./tool/search=-dwarf=false -gcflags=./tool/text=-dwarf=false -gcflags=./ui/sanitize=-dwarf=false -gcflags=./ui/screen=-dwarf=false
# The program, the tests without the race detector and the checkers have the same flags: what one
# of them compiled serves the others. Each further set of flags compiles all libraries again.
FLAGS    = -trimpath $(GCFLAGS)
# The checker, the separate test modules and the go commands of tests share these flags, so that one compiled standard
# library serves them all. Version and commit are in LDFLAGS: a go command that asks git for them too changes .git, and
# tests that look through the tree would never come from Go's cache.
export GOFLAGS ?= -trimpath -buildvcs=false
export CGO_ENABLED = 0
PREFIX  ?= /usr/local
MANDIR  ?= $(PREFIX)/share/man/man1
# Where the shells look for completions.
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
FUZZTIME ?= 60s

# A pinned checker and a pinned packer, each built once into this directory.
STATICCHECK = .tools/staticcheck
GORELEASER = .tools/goreleaser

.PHONY: build run demo picture test test-bare test-shipped test-others test-confining test-lines test-race test-tmux test-tokenizer test-otlp test-fleet check check-format check-vet check-static check-imports bench fuzz integration install uninstall release test-release check-release module clean

build:
	@echo "$(GO) build -o artoo ."; $(GO) build $(FLAGS) -ldflags "$(LDFLAGS)" -o artoo .

run: build
	./artoo

# A whole session on the built-in model, with real tools and approvals.
# Without a terminal it runs unattended.
demo: build
	./artoo demo

# The packages that take longest begin first, and others fill the time in which they
# wait; memory is cheaper here than collecting it often.
# Without symbols and data for debuggers a test program takes 0.6 of the time to link. What go vet
# reports is for make check: from an empty cache it takes half a minute of work.
FAST  = -vet=off -ldflags=-s
TESTS = -p 3 -parallel 4 $(FAST)
# Their tests start many processes, each of which is as slow as a test program is under
# the race detector: minutes of make check. They pass with it too. What they confine
# lies on a disk, as a user's projects do: the sandbox has rules of its own for /dev/shm.
CONFINING = ./tool/sandbox/... ./agent/confine
# A shell's command: the lines that agent/confine tries by the hundred make and remove a layer
# each. Where root may mount, their project lies in memory too, but not in /dev/shm.
LAYERS = $${TMPDIR:-/tmp}/artoo-layers-$$(id -u)
ON_LAYERS = if [ "$$(id -u)" = 0 ] && mkdir -p -m 700 $(LAYERS) 2>/dev/null && [ -O $(LAYERS) ] && \
		unshare -m mount -t tmpfs artoo $(LAYERS) 2>/dev/null; then \
		trap 'rmdir $(LAYERS) 2>/dev/null' EXIT; layers=$(LAYERS); \
		in_memory() { unshare -m sh -c 'mount -t tmpfs artoo "$$0" && TMPDIR="$$0" exec "$$@"' "$$layers" "$$@"; }; \
	else in_memory() { "$$@"; }; fi
OTHERS = ./ui/cli ./ui $$($(GO) list ./... | grep -v -e /tool/sandbox -e /agent/confine -e '/ui/cli$$' -e '/ui$$')
# A shell's command: from here on what tests write is kept in memory, where there is
# room for it and programs may be started from it: then none of them waits for a disk.
# It has the same name each time, or no result would be found in Go's cache.
MEMORY = /dev/shm/artoo-$$(id -u)
IN_MEMORY = if mkdir -p -m 700 $(MEMORY) 2>/dev/null && [ -O $(MEMORY) ]; then trap 'rmdir $(MEMORY) 2>/dev/null' EXIT; \
	if cp /bin/sh $(MEMORY)/sh && $(MEMORY)/sh -c : && \
		[ "$$(df -Pk $(MEMORY) | awk 'NR == 2 { print $$4 }')" -gt 4000000 ]; then export TMPDIR=$(MEMORY); fi 2>/dev/null; \
	rm -f $(MEMORY)/sh; fi
test: export GOGC ?= 400
check: export GOGC ?= 400

# Go test does not say which tests were skipped, for want of what, and what sweeps left out: REPORT keeps that of a
# stage, SUM prints that of all but test-bare, which lacks things on purpose. A stage that fails does not keep the next from running.
REPORT = $(GO) run $(FLAGS) ./tool/needs/gotest -to .tools/stages/$@
STAGES = rm -rf .tools/stages; failed=; all() { $(MAKE) --no-print-directory -k "$$@" || failed=1; }
SUM    = $(GO) run $(FLAGS) ./tool/needs/gotest -sum $$(ls .tools/stages/* | grep -v test-bare)
# Tests with many cases try a sample of them, which this chooses: tool/sweep.
export SWEEP ?= $(shell date -u +%Y%m%d)

# One after the other: where a process takes 0.1 s to start, ui/cli beside the sandbox's tests exceeds its time.
test:
	@$(STAGES); all test-others; all -j2 test-confining test-lines; $(SUM) && [ -z "$$failed" ]

test-others:
	@$(IN_MEMORY); echo "$(GO) test, except $(CONFINING)"; $(REPORT) $(GO) test $(FLAGS) -timeout 14m $(TESTS) $(OTHERS)

test-confining:
	@echo "$(GO) test ./tool/sandbox/..."; $(REPORT) $(GO) test $(FLAGS) $(FAST) -parallel 4 -timeout 14m ./tool/sandbox/...

test-lines:
	@$(ON_LAYERS); echo "$(GO) test ./agent/confine"; in_memory $(REPORT) $(GO) test $(FLAGS) $(FAST) -parallel 4 -timeout 14m ./agent/confine

# The tests that need something of the machine, on one that has little: tool/needs/bare. As nobody where root runs
# this, but for the scripts, which build the program. With -short: what counts is that each passes or is skipped by name.
BARE = $(CURDIR)/.tools/bare
test-bare:
	@echo "$(GO) test -exec bare"; $(GO) build $(FLAGS) -o .tools/bare ./tool/needs/bare && \
	$(REPORT) $(GO) test $(FLAGS) -vet=off -short -timeout 14m $(TESTS) -exec $(BARE) $$($(GO) list \
		-f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | sed -n '/ui.cli /d; s,^\([^ ]*\) .*/tool/needs[] ].*,\1,p') && \
	$(REPORT)-scripts $(GO) test $(FLAGS) -vet=off -short -timeout 14m $(TESTS) -exec '$(BARE) -builds' -run '^TestScript$$' ./ui/cli

# make test runs most scripts, and the tests that call ran, within the test's process. Here each runs the program that is
# shipped: exit status, stdout and stderr have to be what the same test expects of both.
SHIPPED = $$(grep -l '\<ran(t, ' ui/cli/*_test.go | xargs sed -n 's/^func \(Test[A-Za-z]*\)(t .*/\1/p' | tr '\n' '|')TestScript
test-shipped:
	@$(IN_MEMORY); echo "$(GO) test ./ui/cli -shipped"; $(REPORT) $(GO) test $(FLAGS) -vet=off -timeout 14m -parallel 4 -ldflags=-s -run "^($(SHIPPED))\$$" ./ui/cli -shipped

# The tests that look at a real terminal's screen.
test-tmux:
	@if command -v tmux >/dev/null 2>&1; then \
		echo "$(GO) test -tags tmux -run TestTmux -timeout 5m ./ui/cli ./ui"; $(REPORT) $(GO) test $(FLAGS) $(FAST) -tags tmux -run TestTmux -timeout 5m ./ui/cli ./ui; \
	else \
		echo "no tmux here: leaving its tests out"; \
	fi

# The estimate of tokens against a real tokenizer, which is no dependency of artoo: a
# module of its own, for where modules can be had.
TOKENIZER = conversation/internal/tokenizer
test-tokenizer:
	@if (cd $(TOKENIZER) && $(GO) mod download) >/dev/null 2>&1; then \
		echo "$(GO) test ./... in $(TOKENIZER)"; cd $(TOKENIZER) && $(GO) test ./...; \
	else \
		echo "no modules can be had here: leaving the tokenizer's tests out"; \
	fi

# The files of docs/fleet on engines of the tests' own, on loopback: minutes, most of which are
# Slurm's, so that make check leaves it out. What needs no engine is in ui/cli's other tests. The
# manifests are read by the types of Kubernetes and a checker of workflows, in a module of its own.
test-fleet: export PATH := $(PATH):/usr/sbin
test-fleet:
	@missing=; for program in slurmctld slurmd munged sbatch parallel sshd rsync; do command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	[ "$$(id -u)" = 0 ] || missing="$$missing root"; \
	if [ -n "$$missing" ]; then echo "make test-fleet lacks:$$missing (Debian has them in slurm-wlm, munge, parallel, openssh-server and rsync)"; exit 1; fi
	mkdir -p /run/sshd
	$(GO) test $(FLAGS) -count=1 -tags fleet -run TestFleet -timeout 20m -v ./ui/cli
	cd testdata/manifests && $(GO) test -count=1 ./...

# What is sent to a collector, decoded with the official types: a module of its own, too.
OTLP = provider/telemetry/internal/otlp
test-otlp:
	@if (cd $(OTLP) && $(GO) mod download) >/dev/null 2>&1; then \
		echo "$(GO) test ./... in $(OTLP)"; cd $(OTLP) && $(GO) test ./...; \
	else \
		echo "no modules can be had here: leaving the decoding of spans out"; \
	fi

# Format, vet, the types as they are for macOS, staticcheck, import rules, then all tests, with the race
# detector where there is a C compiler for it, and without it all cases of those that make test samples.
check:
	@$(STAGES); all check-format check-vet check-static test-tmux test-tokenizer test-otlp check-release; \
	all -j3 test-race test-confining test-lines; all test-bare test-shipped crash; $(SUM) || failed=1; all check-imports; [ -z "$$failed" ]

check-format:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi

check-vet:
	@echo "$(GO) vet ./..."; $(GO) vet $(FLAGS) -tags tmux,integration,fleet ./...

check-static: $(STATICCHECK)
	@echo "$(STATICCHECK) ./..."; GOFLAGS="$(FLAGS)" $(STATICCHECK) ./...

check-imports:
	@echo "$(GO) test . -strict"; $(GO) test $(FLAGS) $(FAST) . -strict

# It makes every byte of work several times slower, and finds nothing in what runs in one
# goroutine: with -short, tests that try many seeds or much text try a smaller part of them here,
# all of it in make crash. None is left out. go vet has seen them. A program under it would also sleep a second
# at its end, for others of its goroutines to be heard of.
test-race:
	@$(IN_MEMORY); if command -v $${CC:-cc} >/dev/null 2>&1; then \
		echo "$(GO) test -race -short, except $(CONFINING)"; \
		$(REPORT) env GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 $(GO) test -race -short -timeout 30m $(TESTS) $(OTHERS); \
	else \
		echo "no C compiler here: testing without the race detector"; $(REPORT) $(GO) test $(FLAGS) -timeout 14m $(TESTS) $(OTHERS); \
	fi

$(STATICCHECK):
	GOBIN=$(CURDIR)/.tools $(GO) install honnef.co/go/tools/cmd/staticcheck@v0.8.2

$(GORELEASER):
	GOBIN=$(CURDIR)/.tools $(GO) install github.com/goreleaser/goreleaser/v2@v2.13.0

# All that is published of one version, in dist: docs/dev/release.md. The version is the first one
# of CHANGELOG.md. With KEY, a file with an ssh key, the checksums are signed; that takes the
# version's tag and no change behind it. Equal commits give equal bytes, wherever they are built.
RELEASE   = $(shell sed -n 's/^## \([0-9][^ ]*\).*/\1/p' CHANGELOG.md | head -1)
URL      ?= https://example.org/artoo/$(RELEASE)
PUBLISHER ?= unnamed publisher <nobody@example.org>
release: VERSION = v$(RELEASE)
release: COMMIT = $(shell git rev-parse --short=12 HEAD)
release: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
release: export TIME = $(shell TZ=UTC git log -1 --date=format-local:%FT%TZ --format=%cd)
release: $(GORELEASER)
	@if [ -n "$(KEY)" ]; then \
		case "$(URL)$(PUBLISHER)" in *example.org*) echo "make release: a signed release needs URL= and PUBLISHER="; exit 2;; esac; \
		[ "$$(git describe --tags --exact-match --dirty 2>/dev/null)" = v$(RELEASE) ] || { echo "make release: this is not v$(RELEASE) as tagged; commit, then: git tag v$(RELEASE)"; exit 2; }; \
		ssh-keygen -y -f "$(KEY)" >/dev/null || exit 2; \
	fi
	rm -rf .tools/root && $(MAKE) --no-print-directory install DESTDIR=.tools/root PREFIX=/usr
	gzip -9nc docs/artoo.1 >.tools/artoo.1.gz
	mkdir -p .tools/root/usr/share/doc/artoo && $(GO) -C docs/dev/release run . -licenses '$(CURDIR)/.tools/root/usr/share/doc/artoo/THIRD-PARTY-LICENSES'
	printf -- '- semver: %s\n  date: %s\n  packager: "%s"\n  deb: {urgency: medium, distributions: [unstable]}\n  changes:\n    - note: CHANGELOG.md of the source lists the changes.\n' \
		'$(RELEASE)' "$$TIME" '$(PUBLISHER)' >.tools/changelog.yaml
	sed 's/@APK_PRERELEASE@/'$$(echo $(RELEASE) | sed -n 's/^[^-]*-//p' | tr -d .)'/' .goreleaser.yaml >.tools/goreleaser.yaml
	RELEASE='$(RELEASE)' URL='$(URL)' PUBLISHER='$(PUBLISHER)' GOFLAGS="$(GCFLAGS)" LDFLAGS='$(LDFLAGS)' \
		$(GORELEASER) release --snapshot --clean --config .tools/goreleaser.yaml
	$(GO) -C docs/dev/release run . -dist '$(CURDIR)/dist' -version $(RELEASE) -time $$SOURCE_DATE_EPOCH -url '$(URL)' \
		-signer "$$([ -z '$(KEY)' ] || ssh-keygen -y -f '$(KEY)' | cut -d' ' -f1,2)"
	@if [ -n "$(KEY)" ]; then ssh-keygen -q -Y sign -f "$(KEY)" -n artoo dist/checksums.txt; \
	else echo "dist: not signed, for trying only; give KEY= to sign"; fi

# Builds a signed release in two places, compares them, and installs, uses and removes each
# package in a root of its own. Publishes a clone under another name, for go install and go get.
test-release: $(GORELEASER)
	cd docs/dev/release && $(GO) test -count=1 -timeout 30m .

# The release's test takes minutes and these tools, which CI does not install.
RELEASE_TOOLS = ./$(GORELEASER) ssh-keygen curl dpkg rpm skopeo umoci
check-release:
	@if [ "$$(id -u)" = 0 ] && (for tool in $(RELEASE_TOOLS); do command -v $$tool >/dev/null 2>&1 || exit 1; done); then \
		$(MAKE) --no-print-directory test-release; \
	else \
		echo "not root, or not all of $(notdir $(RELEASE_TOOLS)) here: leaving make test-release out"; \
	fi

# All cases of the tests of which make test tries a sample: kills and faults at each write, hostile and random lines in
# each mode and as each user, small windows, a log cut at each byte. Each has Any in its name, by which it is found here.
SWEEPS = $$(grep -rlE 'sweep\.(Cases|Of|Whole)' --include='*_test.go' . | sed 's,/[^/]*$$,,' | sort -u)
crash: export SWEEP = all
crash:
	@echo "$(GO) test -run Any, all cases"; $(REPORT) $(GO) test $(FLAGS) -timeout 30m $(TESTS) -run Any $(SWEEPS)

# Prints the figures of docs/dev/performance.md; with ARTOO_BENCH_UPDATE=1 writes them there.
bench: build
	ARTOO_BENCH=1 $(GO) test -run '^$$' -bench . -benchtime 1x -timeout 20m ./ui/cli

fuzz:
	@trap 'exit 130' INT; failed=; for target in $$(grep -roE '^func Fuzz[A-Za-z]+' --include='*_test.go' . | sed -E 's,/[^/]*:func ,:,' | sort); do \
		echo "fuzzing $$target"; \
		$(GO) test -run '^$$' -fuzz "^$${target#*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "$${target%:*}" || failed="$$failed $$target"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

# docs/demo.png: the demo in a real terminal, answered by typing. With BEFORE=cbd2449a it makes
# docs/before-after.png of that commit and today's. Needs Xvfb,
# xterm, xdotool and ImageMagick.
picture: build
	docs/picture/make.sh $(BEFORE)

# A short real conversation with each provider whose key is set.
integration:
	$(GO) test -tags integration -count=1 -run TestIntegration -v ./ui/cli

install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 0755 artoo $(DESTDIR)$(PREFIX)/bin/artoo
	install -d $(DESTDIR)$(MANDIR) $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	install -m 0644 docs/artoo.1 $(DESTDIR)$(MANDIR)/artoo.1
	./artoo completion bash >$(DESTDIR)$(BASHDIR)/artoo
	./artoo completion zsh >$(DESTDIR)$(ZSHDIR)/_artoo
	./artoo completion fish >$(DESTDIR)$(FISHDIR)/artoo.fish
	chmod 0644 $(DESTDIR)$(BASHDIR)/artoo $(DESTDIR)$(ZSHDIR)/_artoo $(DESTDIR)$(FISHDIR)/artoo.fish

# What install put there, nothing else: settings and sessions stay.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/artoo $(DESTDIR)$(MANDIR)/artoo.1 $(DESTDIR)$(BASHDIR)/artoo \
		$(DESTDIR)$(ZSHDIR)/_artoo $(DESTDIR)$(FISHDIR)/artoo.fish
	@echo "Each user's own data stays, or where XDG_CONFIG_HOME and the like say:"
	@echo "  ~/.config/artoo       settings"
	@echo "  ~/.local/share/artoo  keys; those in the system's keyring are called artoo there"
	@echo "  ~/.local/state/artoo  sessions, journal, history"
	@echo "  ~/.cache/artoo        caches"
	@echo "To remove it: chmod -R u+w ~/.cache/artoo; rm -rf ~/.config/artoo ~/.local/share/artoo ~/.local/state/artoo ~/.cache/artoo"

# Gives the module the name under which somebody publishes it:
# make module NAME=example.org/you/artoo
module:
	@test -n "$(NAME)" || { echo "make module NAME=example.org/you/artoo"; exit 2; }
	@old=$$($(GO) list -m) && $(GO) mod edit -module "$(NAME)" && \
	find . -name '*.go' -not -path './.tools/*' -exec sed -i.old -E "s#^(	|import )([a-z_]+ )?\"$$old(/|\")#\1\2\"$(NAME)\3#" {} + && \
	find . -mindepth 2 -name go.mod -not -path './.tools/*' -exec sed -i.old -E "s#^(module |replace |	)$$old([/ ])#\1$(NAME)\2#" {} + && \
	find . '(' -name '*.go.old' -o -name go.mod.old ')' -not -path './.tools/*' -delete && gofmt -w $$(find . -name '*.go' -not -path './.tools/*') && \
	$(GO) list -deps -test ./... >/dev/null && echo "the module is called $(NAME) now"

clean:
	rm -rf artoo .tools dist
