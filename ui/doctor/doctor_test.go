package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"

	"artoo/provider"
	"artoo/tool/environ"
	"artoo/tool/sandbox"
)

// programs runs three programs that work.
func programs(_ context.Context, name string, _ ...string) (string, string, error) {
	said := map[string]string{"git": "git version 2.47.1", "claude": "2.1.0 (Claude Code)", "tmux": "10"}[name]
	if said == "" {
		return "", "", exec.ErrNotFound
	}
	return name, said + "\n", nil
}

// answer runs every program with the same outcome.
func answer(output string, err error) Exec {
	return func(_ context.Context, name string, _ ...string) (string, string, error) { return name, output, err }
}

func upToDate(string, string) (string, string) { return "", "" }

// wide is a terminal that can do all.
func wide(vars ...string) Terminal {
	return Terminal{Input: true, Output: true, Profile: "rich", Color: true, UTF8: true, Columns: 100, Environ: vars}
}

// failing is a network on which every request ends in the error.
type failing struct{ error }

// RoundTrip implements http.RoundTripper.
func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.error }

// report returns the findings of Run, a line each.
func report(t *testing.T, checks ...Check) (lines string, failed int) {
	t.Helper()
	var b strings.Builder
	failed, err := Run(t.Context(), checks, func(f Finding) error {
		fmt.Fprintf(&b, "%s %s: %s | %s\n", f.Level, f.Topic, f.Text, f.Fix)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), failed
}

func TestAllIsWell(t *testing.T) {
	lines, failed := report(t, CheckTerminal(wide("TERM=xterm-256color"), programs), CheckShell("/bin/bash"), CheckGit(programs),
		CheckProject("/p", ""), CheckConfig("~/.config/artoo/config.toml", nil, nil), CheckFiles(nil), CheckKeys(nil),
		CheckProxy(nil, false), CheckCertificates(nil, "", nil), CheckCLIs("", false, programs, upToDate), CheckSandbox(sandbox.Facts{}, "auto"))
	if failed != 0 || strings.Contains(lines, "warn ") {
		t.Errorf("%d failed:\n%s", failed, lines)
	}
	for _, want := range []string{
		"ok terminal: TERM=xterm-256color, 100 columns, rich, colour, UTF-8 |", "ok shell: /bin/bash runs commands |",
		"ok git: git version 2.47.1 |",
		"ok project: /p |", "ok config: ~/.config/artoo/config.toml |", "ok keys: none set |", "ok proxy: none |",
		"ok claude: 2.1.0 (Claude Code) |", "ok codex: not installed (optional) |",
		"ok sandbox: none here: nothing confines commands but your answers and rules |",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, lines)
		}
	}
}

// hinted is an error with a hint.
type hinted struct{ hint string }

func (hinted) Error() string       { return "it is broken" }
func (h hinted) ErrorHint() string { return h.hint }

// troubles are the states that lead to a warning or a failure.
var troubles = []struct {
	name  string
	check Check
	want  []string // lines of the report; the level comes first
}{
	{"no TERM, no UTF-8, narrow", CheckTerminal(Terminal{Input: true, Output: true, Columns: 30}, programs),
		[]string{"warn terminal: TERM is not set | TERM=", "warn terminal: the locale is not UTF-8", "LANG=C.UTF-8",
			"warn terminal: only 30 columns"}},
	{"plain for a reason",
		CheckTerminal(Terminal{Environ: environ.Vars{"TERM=dumb"}, Input: true, Output: true, Profile: "plain", Why: "TERM=dumb", Color: true, UTF8: true,
			Columns: 100}, programs),
		[]string{"ok terminal: TERM=dumb, 100 columns, plain (TERM=dumb), colour"}},
	{"no terminal", CheckTerminal(Terminal{}, programs), []string{"ok terminal: stderr is not a terminal"}},
	{"tmux",
		CheckTerminal(wide("TERM=xterm-256color", "TMUX=x"), answer("500\n", nil)),
		[]string{"warn tmux: TERM is xterm-256color inside tmux | set -g default-terminal",
			"warn tmux: the Escape key waits 500 ms | set -sg escape-time"}},
	{"tmux well", CheckTerminal(wide("TERM=tmux-256color", "TMUX=x"), programs),
		[]string{"ok tmux: set up well |"}},
	{"no shell", CheckShell(""), []string{"fail shell: neither bash nor sh"}},
	{"only sh", CheckShell("/bin/sh"),
		[]string{"warn shell: /bin/sh runs commands, since there is no bash | install bash"}},
	{"no git", CheckGit(func(context.Context, string, ...string) (string, string, error) { return "", "", exec.ErrNotFound }),
		[]string{"warn git: git is not installed | install git"}},
	{"home", CheckProject("/home/me", "the home directory"),
		[]string{"warn project: the home directory: artoo asks before every change"}},
	{"settings", CheckConfig("", nil, hinted{"fix line 3"}),
		[]string{"fail config: it is broken | fix line 3"}},
	{"warnings", CheckConfig("", []string{"ARTOO_MODLE: unknown"}, nil),
		[]string{"warn config: ARTOO_MODLE: unknown |"}},
	{"a place that cannot be written", CheckFiles([]Place{{Path: "/s", What: "sessions", Err: errors.New("read-only file system")},
		{Path: "/c", What: "cache", Exists: true, Files: 1, Bytes: 3 << 20}, {Path: "/d", What: "keys"},
		{Path: "/t/artoo-1", Left: true, Exists: true, Files: 2, Bytes: 10},
		{Path: "/t/artoo-2", Left: true, Exists: true, Files: 1, Bytes: 10}}),
		[]string{"fail files: /s (sessions): read-only file system | check the owner",
			"ok files: /c: cache, 1 file, 3.0 MB |", "ok files: /t: left by earlier runs: 3 files, 20 bytes"}},
	{"keys", CheckKeys([]Keys{{Provider: "openai", Places: []string{"keyring"}},
		{Provider: "gemini", Places: []string{"ARTOO_API_KEY", "GEMINI_API_KEY"}},
		{Provider: "a", Err: hinted{"chmod 600 it"}}, {Provider: "b", Err: hinted{"chmod 600 it"}}, {Provider: "c"}}), []string{"ok keys: openai: from keyring |",
		"ok keys: gemini: from ARTOO_API_KEY, which comes before GEMINI_API_KEY |",
		"fail keys: it is broken | chmod 600 it"}},
	{"proxy", CheckProxy(environ.Vars{"HTTPS_PROXY=http://me:hunter22@proxy:3128", "http_proxy=proxy:80",
		"no_proxy=localhost"}, false),
		[]string{"ok proxy: HTTPS_PROXY: proxy:3128, with a user and password |", "ok proxy: http_proxy: proxy:80 |",
			"ok proxy: installs: the proxy resolves host names, so artoo cannot check their addresses |",
			"ok proxy: no_proxy: no proxy for localhost |"}},
	{"no proxy's address", CheckProxy(environ.Vars{"HTTPS_PROXY=http://me:hunter22@ho st"}, false),
		[]string{"fail proxy: HTTPS_PROXY is not an address of a proxy | HTTPS_PROXY=http://host:port"}},
	{"certificates", CheckCertificates(environ.Vars{"SSL_CERT_FILE=/x.pem"}, "", hinted{"a PEM file"}),
		[]string{"fail certificates: it is broken | a PEM file", "fail certificates: SSL_CERT_FILE: open /x.pem: no such file or directory |"}},
	{"more certificates", CheckCertificates(nil, "/ca.pem", nil),
		[]string{"ok certificates: ARTOO_CA_FILE: those of /ca.pem are trusted too |"}},
	{"no provider", CheckServer(nil, hinted{"artoo login"}, nil),
		[]string{"fail provider: it is broken | artoo login"}},
	{"a CLI that is chosen and not there", CheckCLIs("codex", false, programs, upToDate),
		[]string{"fail codex: the chosen provider's program is not on PATH | install it"}},
	{"a CLI that fails", CheckCLIs("", false, answer("", errors.New("exit status 1")), upToDate),
		[]string{"warn claude: claude does not work: exit status 1 | run claude --version"}},
	{"a CLI that is too old", CheckCLIs("", false, programs, func(name, version string) (string, string) {
		return name + " 3.0", "npm install " + name + " of " + version
	}), []string{"warn claude: 2.1.0 (Claude Code) is too old: claude 3.0 or newer is needed | " +
		"npm install claude of 2.1.0 (Claude Code)"}},
	{"a chosen CLI that is too old", CheckCLIs("claude", false, programs,
		func(string, string) (string, string) { return "3.0", "npm" }),
		[]string{"fail claude: 2.1.0 (Claude Code) is too old: 3.0 or newer is needed | npm"}},
	{"a CLI that is new enough", CheckCLIs("claude", false, programs, upToDate),
		[]string{"ok claude: 2.1.0 (Claude Code) |"}},
	{"a chosen CLI and no network allowed", CheckCLIs("claude", true, programs, upToDate),
		[]string{"fail claude: it connects to its vendor, which ARTOO_OFFLINE forbids | unset ARTOO_OFFLINE"}},
	{"a server that ARTOO_OFFLINE keeps from being found", CheckServer(&Server{Server: provider.Server{Name: "openai"}, Model: "m",
		Offline: true, Key: func(context.Context) (string, string, error) { return "k", "you", nil }}, nil,
		&http.Client{Transport: failing{&net.DNSError{Err: "no such host", Name: "api.openai.com"}}}),
		[]string{"fail provider: openai: api.openai.com cannot be looked up | unset ARTOO_OFFLINE, or use a server on this " +
			"machine or network"}},
	{"ARTOO_OFFLINE", CheckProxy(nil, true),
		[]string{"ok offline: ARTOO_OFFLINE is set: artoo connects only to this machine and network |"}},
	{"a sandbox that is switched off", CheckSandbox(sandbox.Facts{Mechanism: sandbox.None}, "off"),
		[]string{"ok sandbox: off, as ARTOO_SANDBOX says"}},
	{"a sandbox without layers", CheckSandbox(sandbox.Facts{Mechanism: sandbox.Namespaces, Network: true,
		Missing: []sandbox.Lack{{What: "layer", Why: "overlay is not loaded", Cure: "sudo modprobe overlay"}}}, "auto"),
		[]string{"ok sandbox: namespaces (no network) |", "warn sandbox: no layer: overlay is not loaded | sudo modprobe overlay"}},
	{"no sandbox", CheckSandbox(sandbox.Facts{Mechanism: sandbox.None, Missing: []sandbox.Lack{{What: "sandbox", Why: "this system has none"}}}, "auto"),
		[]string{"warn sandbox: no sandbox: this system has none | no fix known"}},
	{"no sandbox where one is needed", CheckSandbox(sandbox.Facts{Mechanism: sandbox.None, Missing: []sandbox.Lack{{What: "sandbox", Why: "old", Cure: "a newer kernel"}}}, "on"),
		[]string{"fail sandbox: no sandbox: old | a newer kernel"}},
}

func TestWhatIsWrongIsFound(t *testing.T) {
	for _, test := range troubles {
		t.Run(test.name, func(t *testing.T) {
			lines, failed := report(t, test.check)
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
	lines, _ := report(t, CheckCLIs("", false, func(ctx context.Context, name string, _ ...string) (string, string, error) {
		if name == "codex" {
			<-ctx.Done()
			return name, "", ctx.Err()
		}
		return name, name + " 1\n", nil
	}, upToDate))
	if !strings.Contains(lines, "warn codex: codex does not work: no answer within 3s |") ||
		!strings.Contains(lines, "ok gemini: gemini 1 |") {
		t.Errorf("%s", lines)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hang := func(ctx context.Context, _ string, _ ...string) (string, string, error) {
		<-ctx.Done()
		return "", "", ctx.Err()
	}
	if _, err := Run(ctx, []Check{CheckGit(hang)}, func(Finding) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
