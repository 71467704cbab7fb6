package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// world is one where everything is as it should be; nothing is asked of the
// real one.
func world(t *testing.T, env map[string]string) *Probes {
	for _, name := range []string{"TERM", "TMUX", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy",
		"no_proxy", "SSL_CERT_FILE"} {
		t.Setenv(name, env[name])
	}
	programs := map[string]string{"git": "git version 2.47.1", "claude": "2.1.0 (Claude Code)", "tmux": "10"}
	return &Probes{
		LookPath: func(name string) (string, error) {
			if _, ok := programs[name]; ok {
				return name, nil
			}
			return "", errors.New("not found")
		},
		Exec: func(_ context.Context, name string, _ ...string) (string, error) {
			return programs[name] + "\n", nil
		},
		HTTP:     http.DefaultClient,
		Terminal: Terminal{Input: true, Output: true, Profile: "rich", Color: true, UTF8: true, Columns: 100},
		Shell:    "/bin/bash", Project: "/p", ConfigFile: "~/.config/artoo/config.toml",
	}
}

// failing is a network on which every request ends in the error.
type failing struct{ error }

// RoundTrip implements http.RoundTripper.
func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.error }

// report is what Run tells of a world, a line each.
func report(t *testing.T, w *Probes) (lines string, failed int) {
	t.Helper()
	var b strings.Builder
	failed, err := Run(t.Context(), w, func(f Finding) error {
		fmt.Fprintf(&b, "%s %s: %s | %s\n", f.Level, f.Topic, f.Text, f.Fix)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), failed
}

func TestAllIsWell(t *testing.T) {
	lines, failed := report(t, world(t, map[string]string{"TERM": "xterm-256color"}))
	if failed != 0 || strings.Contains(lines, "warn ") {
		t.Errorf("%d failed:\n%s", failed, lines)
	}
	for _, want := range []string{
		"ok terminal: TERM=xterm-256color, 100 columns, rich, colour, UTF-8 |", "ok shell: /bin/bash runs commands |",
		"ok git: git version 2.47.1 |",
		"ok project: /p |", "ok config: ~/.config/artoo/config.toml |", "ok keys: none is set |", "ok proxy: none |",
		"ok claude: 2.1.0 (Claude Code) |", "ok codex: not installed (optional) |",
		"ok sandbox: none here: nothing confines commands but your answers and rules |",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, lines)
		}
	}
}

// hinted is an error that knows what to do.
type hinted struct{ hint string }

func (hinted) Error() string       { return "it is broken" }
func (h hinted) ErrorHint() string { return h.hint }

// troubles are worlds in which something is worth a word.
var troubles = []struct {
	name string
	env  map[string]string
	make func(*Probes)
	want []string // lines of the report; the level comes first
}{
	{"no TERM, no UTF-8, narrow", nil, func(w *Probes) { w.Terminal.UTF8, w.Terminal.Columns = false, 30 },
		[]string{"warn terminal: TERM is not set | TERM=", "warn terminal: the locale is not UTF-8", "LANG=C.UTF-8",
			"warn terminal: 30 columns"}},
	{"plain for a reason", map[string]string{"TERM": "dumb"},
		func(w *Probes) { w.Terminal.Profile, w.Terminal.Why = "plain", "TERM=dumb" },
		[]string{"ok terminal: TERM=dumb, 100 columns, plain (TERM=dumb), colour"}},
	{"no terminal", nil, func(w *Probes) { w.Terminal = Terminal{} }, []string{"ok terminal: stderr is no terminal"}},
	{"tmux", map[string]string{"TERM": "xterm-256color", "TMUX": "x"},
		func(w *Probes) {
			w.Exec = func(context.Context, string, ...string) (string, error) { return "500\n", nil }
		},
		[]string{"warn tmux: TERM is xterm-256color inside tmux | set -g default-terminal",
			"warn tmux: the Escape key waits 500 ms | set -sg escape-time"}},
	{"tmux well", map[string]string{"TERM": "tmux-256color", "TMUX": "x"}, nil, []string{"ok tmux: set up well |"}},
	{"no shell", nil, func(w *Probes) { w.Shell = "" }, []string{"fail shell: neither bash nor sh"}},
	{"only sh", nil, func(w *Probes) { w.Shell = "/bin/sh" },
		[]string{"warn shell: /bin/sh runs commands, since there is no bash | install bash"}},
	{"no git", nil, func(w *Probes) { w.LookPath = func(string) (string, error) { return "", errors.New("no") } },
		[]string{"warn git: there is no git | install git"}},
	{"home", nil, func(w *Probes) { w.NoProject = "the home directory" },
		[]string{"warn project: the home directory: every change"}},
	{"settings", nil, func(w *Probes) { w.ConfigErr = hinted{"mend line 3"} },
		[]string{"fail config: it is broken | mend line 3"}},
	{"warnings", nil, func(w *Probes) { w.Warnings = []string{"ARTOO_MODLE: unknown"} },
		[]string{"warn config: ARTOO_MODLE: unknown |"}},
	{"a place that cannot be written", nil, func(w *Probes) {
		w.Places = []Place{{Path: "/s", What: "sessions", Err: errors.New("read-only file system")},
			{Path: "/c", What: "cache", Exists: true, Files: 1, Bytes: 3 << 20}, {Path: "/d", What: "keys"},
			{Path: "/t/artoo-1", Left: true, Exists: true, Files: 2, Bytes: 10},
			{Path: "/t/artoo-2", Left: true, Exists: true, Files: 1, Bytes: 10}}
	}, []string{"fail files: /s (sessions): read-only file system | check the owner",
		"ok files: /c: cache, 1 file, 3.0 MB |", "ok files: /t: left by earlier runs: 3 files, 20 bytes"}},
	{"keys", nil, func(w *Probes) {
		w.Keys = []Keys{{Provider: "openai", Places: []string{"keyring"}},
			{Provider: "gemini", Places: []string{"ARTOO_API_KEY", "GEMINI_API_KEY"}},
			{Provider: "a", Err: hinted{"chmod 600 it"}}, {Provider: "b", Err: hinted{"chmod 600 it"}}, {Provider: "c"}}
	}, []string{"ok keys: openai: from keyring |",
		"ok keys: gemini: from ARTOO_API_KEY, which comes before GEMINI_API_KEY |",
		"fail keys: it is broken | chmod 600 it"}},
	{"proxy", map[string]string{"HTTPS_PROXY": "http://me:hunter22@proxy:3128", "http_proxy": "proxy:80",
		"no_proxy": "localhost"}, nil,
		[]string{"ok proxy: HTTPS_PROXY: proxy:3128, with a user and password |", "ok proxy: http_proxy: proxy:80 |",
			"ok proxy: no_proxy: not for localhost |"}},
	{"no proxy's address", map[string]string{"HTTPS_PROXY": "http://me:hunter22@ho st"}, nil,
		[]string{"fail proxy: HTTPS_PROXY is no address of a proxy | HTTPS_PROXY=http://host:port"}},
	{"certificates", map[string]string{"SSL_CERT_FILE": "/x.pem"}, func(w *Probes) {
		w.HTTPErr, w.HTTP = hinted{"a PEM file"}, nil
	}, []string{"fail certificates: it is broken | a PEM file", "fail certificates: SSL_CERT_FILE: open /x.pem: no such file or directory |"}},
	{"more certificates", nil, func(w *Probes) { w.CAFile = "/ca.pem" },
		[]string{"ok certificates: ARTOO_CA_FILE: those of /ca.pem are trusted too |"}},
	{"no provider", nil, func(w *Probes) { w.ServerErr = hinted{"artoo login"} },
		[]string{"fail provider: it is broken | artoo login"}},
	{"a CLI that is chosen and not there", nil, func(w *Probes) { w.CLI = "codex" },
		[]string{"fail codex: the chosen provider's program is not on PATH | install it"}},
	{"a CLI that fails", nil, func(w *Probes) {
		w.Exec = func(context.Context, string, ...string) (string, error) { return "", errors.New("exit status 1") }
	}, []string{"warn claude: claude does not work: exit status 1 | run claude --version"}},
	{"a CLI that is too old", nil, func(w *Probes) {
		w.TooOld = func(name, version string) (string, string) {
			return name + " 3.0", "npm install " + name + " of " + version
		}
	}, []string{"warn claude: 2.1.0 (Claude Code) is too old as a provider: claude 3.0 or newer is needed | " +
		"npm install claude of 2.1.0 (Claude Code)"}},
	{"a chosen CLI that is too old", nil, func(w *Probes) {
		w.CLI, w.TooOld = "claude", func(string, string) (string, string) { return "3.0", "npm" }
	}, []string{"fail claude: 2.1.0 (Claude Code) is too old as a provider: 3.0 or newer is needed | npm"}},
	{"a CLI that is new enough", nil, func(w *Probes) {
		w.CLI, w.TooOld = "claude", func(string, string) (string, string) { return "", "" }
	}, []string{"ok claude: 2.1.0 (Claude Code) |"}},
	{"a chosen CLI and no network allowed", nil, func(w *Probes) { w.CLI, w.Offline = "claude", true },
		[]string{"fail claude: it connects to its vendor, and ARTOO_OFFLINE forbids that | unset ARTOO_OFFLINE"}},
	{"a server that ARTOO_OFFLINE keeps from being found", nil, func(w *Probes) {
		w.Offline, w.Server = true, &Server{Provider: "openai", Model: "m", Offline: true,
			Key: func(context.Context) (string, string, error) { return "k", "you", nil }}
		w.HTTP = &http.Client{Transport: failing{&net.DNSError{Err: "no such host", Name: "api.openai.com"}}}
	}, []string{"ok offline: ARTOO_OFFLINE is set: only what is on this machine or network is connected to |",
		"fail provider: openai: api.openai.com cannot be looked up | unset ARTOO_OFFLINE, or use a server on this " +
			"machine or network"}},
	{"a sandbox that is switched off", nil, func(w *Probes) { w.Sandbox = Sandbox{Off: true, Mechanism: "none"} },
		[]string{"ok sandbox: off, as ARTOO_SANDBOX says"}},
	{"a sandbox without layers", nil, func(w *Probes) {
		w.Sandbox = Sandbox{Mechanism: "namespaces", Text: "namespaces: no network",
			Missing: []Lack{{What: "layer", Why: "overlay is not loaded", Cure: "sudo modprobe overlay"}}}
	}, []string{"ok sandbox: namespaces: no network |", "warn sandbox: no layer: overlay is not loaded | sudo modprobe overlay"}},
	{"no sandbox", nil, func(w *Probes) {
		w.Sandbox = Sandbox{Mechanism: "none", Missing: []Lack{{What: "sandbox", Why: "this system has none"}}}
	}, []string{"warn sandbox: no sandbox: this system has none | nothing known"}},
	{"no sandbox where one is needed", nil, func(w *Probes) {
		w.Sandbox = Sandbox{Mechanism: "none", Needed: true, Missing: []Lack{{What: "sandbox", Why: "old", Cure: "a newer kernel"}}}
	}, []string{"fail sandbox: no sandbox: old | a newer kernel"}},
}

func TestWhatIsWrongIsFound(t *testing.T) {
	for _, test := range troubles {
		t.Run(test.name, func(t *testing.T) {
			w := world(t, test.env)
			if test.make != nil {
				test.make(w)
			}
			lines, failed := report(t, w)
			for _, want := range test.want {
				if !strings.Contains(lines, want) {
					t.Errorf("no line %q in\n%s", want, lines)
				}
			}
			if got := strings.Count("\n"+lines, "\nfail "); got != failed {
				t.Errorf("%d lines say fail, and %d failed", got, failed)
			}
			if strings.Contains(lines, "hunter22") {
				t.Errorf("a password is shown:\n%s", lines)
			}
			for line := range strings.Lines(lines) {
				if !strings.HasPrefix(line, "ok ") && strings.HasSuffix(line, "| \n") {
					t.Errorf("%q does not say what to do", line)
				}
			}
		})
	}
}

// TestAHangingProgramIsGivenUp: each gets a few seconds, all CLIs at once.
func TestAHangingProgramIsGivenUp(t *testing.T) { synctest.Test(t, hanging) }

func hanging(t *testing.T) {
	w := world(t, map[string]string{"TERM": "xterm"})
	w.LookPath = func(name string) (string, error) { return name, nil }
	w.Exec = func(ctx context.Context, name string, _ ...string) (string, error) {
		if name == "codex" {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return name + " 1\n", nil
	}
	lines, _ := report(t, w)
	if !strings.Contains(lines, "warn codex: codex does not work: no answer within 3s |") ||
		!strings.Contains(lines, "ok gemini: gemini 1 |") {
		t.Errorf("%s", lines)
	}
	w.Exec = func(ctx context.Context, _ string, _ ...string) (string, error) { <-ctx.Done(); return "", ctx.Err() }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, w, func(Finding) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
