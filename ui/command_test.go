//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/provider"
)

// say sends lines and returns what was shown, without prompts.
func say(t *testing.T, change func(*Options), lines ...string) (shown string, sent []string) {
	t.Helper()
	k := startLines(t, &sender{}, change)
	k.send(strings.Join(lines, "\n") + "\n")
	k.eof()
	k.end()
	return k.chrome.String(), k.sender.messages()
}

func TestCommandTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range commands() {
		for _, name := range append([]string{c.name}, c.aliases...) {
			if seen[name] {
				t.Errorf("/%s means two things", name)
			}
			seen[name] = true
			if got, ok := findCommand(name); !ok || got.name != c.name {
				t.Errorf("/%s is not found", name)
			}
		}
		if c.run != nil && c.help == "" {
			t.Errorf("/%s has no help", c.name)
		}
	}
	for _, name := range strings.Fields("help quit exit bye clear new reset model provider effort approval plan permissions approvals compact compress uncompact undo redo diff context cost usage tokens stats status config sessions resume continue fork export edit copy out queue tools init doctor debug run") {
		if !seen[name] {
			t.Errorf("/%s is not known", name)
		}
	}
}

func TestI2_UnknownCommandsAreNotSent(t *testing.T) {
	for typed, nearest := range map[string]string{"/quti": "/quit", "/hlep": "/help", "/modle x": "/model", "/sesions": "/sessions", "/permisions": "/permissions"} {
		shown, sent := say(t, nil, typed)
		if sent != nil || !strings.Contains(shown, "did you mean "+nearest+"?") {
			t.Errorf("%s: sent %q, shown %q", typed, sent, shown)
		}
	}
	shown, sent := say(t, nil, "/undo 2", "!ls")
	if sent != nil || !strings.Contains(shown, "/undo comes with a later version") || !strings.Contains(shown, "later version; nothing was sent") {
		t.Errorf("sent %q, shown %q", sent, shown)
	}
}

func TestLeaving(t *testing.T) {
	for _, word := range []string{"quit", "exit", "/quit", "/exit", "/bye", " quit "} {
		if _, sent := say(t, nil, word, "more"); sent != nil {
			t.Errorf("%q did not leave: sent %q", word, sent)
		}
	}
	for _, text := range []string{"quit smoking", "exit code 2?", "what does /quit do"} {
		if _, sent := say(t, nil, text); len(sent) != 1 {
			t.Errorf("%q was not sent", text)
		}
	}
}

func TestW5_HelpFitsAScreen(t *testing.T) {
	for _, page := range []string{"/help", "/help keys", "/help approvals", "/?"} {
		shown, _ := say(t, nil, page)
		lines := strings.Split(strings.TrimSpace(shown), "\n")
		if len(lines) > 23 {
			t.Errorf("%s has %d lines", page, len(lines))
		}
		for _, l := range lines {
			if len(l) > 80 {
				t.Errorf("%s: %d columns: %q", page, len(l), l)
			}
		}
	}
	if shown, _ := say(t, nil, "/help nothing"); !strings.Contains(shown, "there are keys and approvals") {
		t.Errorf("shown %q", shown)
	}
}

func testDeps(now time.Time) Deps {
	cost, debug := 0.0625, false
	rows := []SessionRow{{ID: "3f2a", When: now.Add(-2 * time.Hour), Messages: 3, Title: "fix the\ntest"}, {ID: "77\x1b[2Jbc", When: now.Add(-72 * time.Hour), Messages: 1, InUse: true}}
	return Deps{
		Sessions: func() ([]SessionRow, error) { return rows, nil },
		Resume: func(_ context.Context, id string) (*Resumed, error) {
			if id != rows[0].ID && id != rows[1].ID {
				return nil, errors.New("no session " + id)
			}
			return &Resumed{ID: "3f2a", When: now.Add(-2 * time.Hour), Model: "demo/demo", Mode: agent.ModeAsk, User: "fix the test", Answer: "Done.\x1b[31m", Cut: true, Changed: []string{"a.go"}}, nil
		},
		Clear:       func(context.Context) (string, error) { return "3f2a", nil },
		Model:       func() string { return "demo/demo" },
		SwitchModel: func(_ context.Context, name string) (string, error) { return "demo/" + name, nil },
		Config:      func() []ConfigRow { return []ConfigRow{{"model", "demo", "default"}} },
		Tools:       func() []ToolRow { return []ToolRow{{"read", "read", "reads files"}, {"bash", "run", "runs commands"}} },
		Permissions: func() Permissions {
			return Permissions{Mode: agent.ModeAsk, Rules: []RuleRow{{agent.Allow, "bash(ls)", "this session", true}}}
		},
		Context: func() ContextInfo { return ContextInfo{Used: 16200, Budget: 180000, Window: 200000, Messages: 4} },
		Cost: func() CostInfo {
			return CostInfo{Requests: 2, Usage: provider.Usage{Input: 1200, CacheRead: 900, Output: 300}, CostUSD: &cost}
		},
		Debug: func(on *bool) bool {
			if on != nil {
				debug = *on
			}
			return debug
		},
	}
}

func TestCommandsShow(t *testing.T) {
	now := newManual().now
	for command, wants := range map[string][]string{
		"/sessions":    {"1  3f2a", "2 hours ago", "3 messages", "fix the …", "3 days ago", "(in use)", "^["},
		"/resume 1":    {"resumed 3f2a, 2 hours ago, demo/demo, approval ask", "> fix the test", "Done.", "broke off", "changed since: a.go"},
		"/resume nope": {"/resume: no session nope"},
		"/clear":       {"a new session begins; /resume 3f2a goes back"},
		"/model":       {"demo/demo"},
		"/model small": {"model: demo/small"},
		"/config":      {"model  demo  (default)"},
		"/tools":       {"read  read  reads files", "bash  run   runs commands"},
		"/permissions": {"mode ask", "not confined", "allow  bash(ls)  (this session)"},
		"/context":     {"16.2k tokens in 4 messages, 9% of the budget of 180.0k (the model takes\n  200.0k)"},
		"/cost":        {"2 requests, 1.2k in and 900 from, 0 to the cache, 300 out, $0.0625"},
		"/debug on":    {"debug: on"},
		"/debug maybe": {"neither on nor off"},
	} {
		shown, sent := say(t, func(o *Options) { o.Deps = testDeps(now) }, "/sessions", command)
		if sent != nil {
			t.Errorf("%s was sent", command)
		}
		for _, want := range wants {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: no %q in\n%s", command, want, shown)
			}
		}
		if strings.Contains(shown, "\x1b") {
			t.Errorf("%s shows an escape: %q", command, shown)
		}
	}
	for _, command := range []string{"/sessions", "/resume x", "/clear", "/model", "/model x", "/config", "/tools", "/permissions", "/context", "/cost", "/debug"} {
		if shown, _ := say(t, nil, command); !strings.Contains(shown, "not to be had here") {
			t.Errorf("%s without what it needs: %q", command, shown)
		}
	}
}

func TestResumedIsShownFirst(t *testing.T) {
	shown, _ := say(t, func(o *Options) {
		o.Resumed = &Resumed{ID: "3f2a", User: "why?", Answer: strings.Repeat("line\n", 30) + "a **bold** end\n", Model: "demo/demo"}
		o.First = "go on"
	})
	for _, want := range []string{"resumed 3f2a, demo/demo", "> why?", "19 lines before this", "a bold end"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %q", want, shown)
		}
	}
	if strings.Index(shown, "resumed") > strings.Index(shown, "> why?") {
		t.Errorf("shown %q", shown)
	}
}

func TestFirstMessage(t *testing.T) {
	k := startLines(t, &sender{}, func(o *Options) { o.First = "/quit is what?" })
	k.send("then this\n")
	k.eof()
	k.end()
	if diff := cmp.Diff([]string{"/quit is what?", "then this"}, k.sender.messages()); diff != "" {
		t.Error(diff)
	}
}

func TestFailuresAreShownAndTheConversationGoesOn(t *testing.T) {
	k := startLines(t, &sender{play: func(_ context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		if text == "one" {
			return &agent.Response{}, &agent.Failure{Kind: agent.KindOverloaded, Hint: "again later", Err: errTest}
		}
		return &agent.Response{}, nil
	}}, nil)
	k.send("one\ntwo\n")
	k.eof()
	if o := k.end(); o.code != 0 {
		t.Errorf("ended with %+v", o)
	}
	k.expect("artoo: it broke")
	k.expect("try: again later")
	if diff := cmp.Diff([]string{"one", "two"}, k.sender.messages()); diff != "" {
		t.Error(diff)
	}
}
