//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
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
		if (c.run == nil) != (c.help == "") || (c.run == nil) != (c.instead != "") {
			t.Errorf("/%s is neither done nor explained", c.name)
		}
	}
	done := "help quit exit clear model provider effort approval plan permissions context cost status config sessions resume fork export edit copy out queue tools init debug doctor"
	for _, name := range strings.Fields(done) {
		if c, ok := findCommand(name); !ok || c.run == nil {
			t.Errorf("/%s is not there", name)
		}
	}
	for _, name := range strings.Fields("uncompact undo redo diff mcp skills hooks memory add read-only add-dir") {
		if c, ok := findCommand(name); !ok || c.run == nil && c.instead == "" {
			t.Errorf("/%s says nothing", name)
		}
	}
	for alias, name := range map[string]string{
		"?": "help", "bye": "quit", "new": "clear", "reset": "clear", "compress": "compact", "continue": "resume", "usage": "cost", "tokens": "cost",
		"stats": "cost", "session": "status", "approvals": "permissions", "rewind": "undo", "restore": "undo", "editor": "edit", "e": "edit",
		"settings": "config", "save": "export", "log": "out",
	} {
		if c, ok := findCommand(alias); !ok || c.name != name {
			t.Errorf("/%s is not /%s", alias, name)
		}
	}
}

// Every command is in the manual, with its other names.
func TestCommandsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands() {
		if c.run == nil {
			continue
		}
		for _, name := range append([]string{c.name}, c.aliases...) {
			if !regexp.MustCompile("`/" + regexp.QuoteMeta(name) + "[` ]").Match(page) {
				t.Errorf("docs/commands.md does not tell of /%s", name)
			}
		}
	}
}

// A name that is not known is answered with the nearest one, and neither run
// nor sent.
func TestUnknownCommandsAreNotSent(t *testing.T) {
	for typed, nearest := range map[string]string{"/quti": "/quit", "/hlep": "/help", "/modle x": "/model", "/sesions": "/sessions", "/permisions": "/permissions"} {
		shown, sent := say(t, nil, typed, "after")
		if diff := cmp.Diff([]string{"after"}, sent); diff != "" || !strings.Contains(shown, "did you mean "+nearest+"?") {
			t.Errorf("%s: sent %q, shown %q", typed, sent, shown)
		}
	}
	if shown, sent := say(t, nil, "/"+strings.Repeat("x", 1<<20)+"\x1b[31m"); sent != nil || strings.Contains(shown, "\x1b") {
		t.Errorf("sent %d messages", len(sent))
	}
}

func TestCommandsOfLaterVersionsSayWhatToDo(t *testing.T) {
	for typed, want := range map[string]string{
		"/undo 2":          "/undo: comes with a later version; until then !git diff",
		"/rewind":          "/rewind: comes with a later version",
		"/mcp":             "comes with a later version",
		"/add x.go":        "write @PATH in a message",
		"/read-only x":     "write @PATH in a message",
		"/add-dir /tmp":    "--add-dir DIR",
		"/memory":          "AGENTS.md",
		"/multiline-mode":  `write """`,
		"/DIFF is unknown": "did you mean",
	} {
		if shown, sent := say(t, nil, typed); sent != nil || !strings.Contains(shown, want) {
			t.Errorf("%s: sent %q, shown %q", typed, sent, shown)
		}
	}
}

// A sentence that happens to begin as a command takes no session away.
func TestCommandsWithoutArgumentsTakeNone(t *testing.T) {
	for _, typed := range []string{"/clear the table in README", "/exit code 2?", "/fork it"} {
		cleared := false
		opt := func(o *Options) {
			o.Deps.Clear = func() (string, error) { cleared = true; return "", nil }
		}
		shown, sent := say(t, opt, typed, "after")
		if cleared || len(sent) != 1 || !strings.Contains(shown, "takes nothing behind it, so nothing was done") {
			t.Errorf("%q: cleared %v, sent %q, shown %q", typed, cleared, sent, shown)
		}
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

// The pages of the help fit a terminal of 80x24, and say all there is.
func TestHelpFitsAScreen(t *testing.T) {
	var all []string
	for _, c := range commands() {
		if c.run != nil {
			all = append(all, "/"+c.name+" ")
		}
	}
	for page, wants := range map[string][]string{
		"/help": append(all, "!COMMAND", "!!COMMAND", "@FILE", "/help keys", "/help approvals"),
		"/?":    all,
		"/help keys": {"Esc, ", "Esc Esc", "Shift-Tab", "Ctrl-O", "Ctrl-R", "Ctrl-G", "Ctrl-X Ctrl-E", "Tab ", "ARTOO_EDIT_MODE=vi",
			"Ctrl-C", "Ctrl-D", "Ctrl-Z", "Ctrl-L", "Alt-Enter"},
		"/help approvals": {"y ", "n [reason]", "a [rule]", "A [rule]", "e ", "p ", "q ", "? ", "Enter alone", "/permissions", "/approval"},
	} {
		shown, _ := say(t, nil, page)
		lines := strings.Split(strings.TrimSpace(shown), "\n")
		if len(lines) > 23 {
			t.Errorf("%s has %d lines", page, len(lines))
		}
		for _, l := range lines {
			if len(l) > 80 {
				t.Errorf("%s: %d columns: %q", page, len(l), l)
			}
			if i := strings.LastIndex(l, "  /"); page == "/help" && i > 2 && i+2 != 2+helpCells {
				t.Errorf("a column begins at %d: %q", i+2, l)
			}
		}
		for _, want := range wants {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: no %q in\n%s", page, want, shown)
			}
		}
	}
	if shown, _ := say(t, nil, "/help nothing"); !strings.Contains(shown, "there are keys and approvals") {
		t.Errorf("shown %q", shown)
	}
	narrow := func(o *Options) { o.Size = func() (int, int) { return 60, 24 } }
	if shown, _ := say(t, narrow, "/help"); !strings.Contains(shown, "\n  /quit") || !strings.Contains(shown, "\n  /status") {
		t.Errorf("the narrow page is\n%s", shown)
	}
}

func testDeps(now time.Time) Deps {
	cost, debug := 0.0625, false
	mode, effort := permission.ModeAsk, provider.Effort("")
	rules := []permission.RuleInForce{
		{Effect: permission.Deny, Rule: "bash(rm:*)", Origin: "settings"}, {Effect: permission.Allow, Rule: "bash(ls)", Origin: "this session", Session: true},
	}
	rows := []conversation.Info{{ID: "3f2a", Updated: now.Add(-2 * time.Hour), Messages: 3, First: "fix the\ntest"}, {ID: "77\x1b[2Jbc", Updated: now.Add(-72 * time.Hour), Messages: 1}}
	return Deps{
		Sessions: func() ([]conversation.Info, error) { return rows, nil },
		Resume: func(id string) (*agent.Resumed, error) {
			if id != rows[0].ID && id != rows[1].ID {
				return nil, errors.New("no session " + id)
			}
			return &agent.Resumed{ID: "3f2a", When: now.Add(-2 * time.Hour), Model: "demo/demo", Mode: permission.ModeAsk, User: "fix the test", Answer: "Done.\x1b[31m", Cut: true, Changed: []string{"a.go"}}, nil
		},
		Clear:       func() (string, error) { return "3f2a", nil },
		Model:       func() string { return "demo/demo" },
		SwitchModel: func(_ context.Context, name string) (string, error) { return "demo/" + name, nil },
		Models:      func() []Choice { return []Choice{{"small", "the small one"}, {"smart", "the \x1b[2Jother"}} },
		ListModels: func(context.Context) ([]Choice, error) {
			return []Choice{{"small", "the small one"}, {"smart", "the \x1b[2Jother"}, {"newest", "of today"}}, errors.New("demo: half of it \x1b[31mis missing")
		},
		Providers: func() ([]Choice, error) {
			return []Choice{{"demo", "demo"}, {"openai", "gpt"}}, errors.New("a key cannot be read")
		},
		SwitchProvider: func(_ context.Context, name string) (string, error) {
			if name != "openai" {
				return "", errors.New("there is no provider " + name)
			}
			return "openai/gpt", nil
		},
		Effort: func(set *provider.Effort) provider.Effort {
			if set != nil {
				effort = *set
			}
			return effort
		},
		Mode: func() permission.Mode { return mode },
		SetMode: func(m permission.Mode) error {
			if m == permission.ModeAuto {
				return &agent.Failure{Kind: agent.KindUsage, What: "--approval auto", Err: errors.New("no project here")}
			}
			mode = m
			return nil
		},
		DropRule: func(rule string) error { rules = rules[:1]; return nil },
		Fork:     func() (string, string, error) { return "3f2a", "88cc", nil },
		Status:   func() []Choice { return []Choice{{"model", "demo/demo"}, {"directory", "/tmp/\x1b[2Jx"}} },
		Answer:   func(n int) string { return map[int]string{1: "the last", 2: "the one before"}[n] },
		Export: func(_ context.Context, name string) (string, error) {
			if name == "there.md" {
				return "", errors.New("there.md exists; give another name")
			}
			return "written to " + name, nil
		},
		Init:   func(context.Context) (string, error) { return "AGENTS.md, 12 lines", nil },
		Config: func() []ConfigRow { return []ConfigRow{{"model", "demo", "default"}} },
		Tools: func() []tool.Tool {
			return []tool.Tool{{Name: "read", Kind: tool.KindRead, Description: "reads files. All of them."}, {Name: "bash", Kind: tool.KindRun, Description: "runs commands\nof all kinds"}}
		},
		Rules: func() []permission.RuleInForce { return rules },
		Context: func() agent.ContextUse {
			return agent.ContextUse{Used: 16200, Budget: 180000, Window: 200000, Messages: 4, Parts: []agent.ContextPart{{Name: "tool results", Tokens: 8100}, {Name: "system prompt", Tokens: 900}}}
		},
		Cost: func() conversation.Totals {
			return conversation.Totals{Requests: 2, Usage: provider.Usage{Input: 1200, CacheRead: 900, Output: 300}, CostUSD: &cost}
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
		"/sessions":        {"1  3f2a", "2 hours ago", "3 messages", "fix the …", "3 days ago", "^["},
		"/resume 1":        {"resumed 3f2a, 2 hours ago, demo/demo, approval ask", "you: fix the test", "Done.", "broke off", "changed since: a.go"},
		"/resume nope":     {"/resume: no session nope"},
		"/clear":           {"a new session begins; /resume 3f2a goes back"},
		"/model":           {"demo/demo"},
		"/model list":      {"demo: half of it ^[[31mis missing", "small   the small one", "smart", "^[[2J", "newest  of today"},
		"/provider":        {"now demo/demo", "openai  gpt", "/provider: a key cannot be read"},
		"/provider x":      {"/provider: there is no provider x"},
		"/provider openai": {"model: openai/gpt"},
		"/effort":          {"effort: not set", "off, low, medium, high, max"},
		"/effort high":     {"effort: high"},
		"/effort huge":     {"none of off, low, medium, high, max"},
		"/fork":            {"goes on as session 88cc", "/resume 3f2a"},
		"/status":          {"model      demo/demo", "directory  /tmp/^[[2Jx"},
		"/session":         {"directory"},
		"/export":          {"written to"},
		"/save x.md":       {"written to x.md"},
		"/export there.md": {"/export: there.md exists; give another name"},
		"/init":            {"AGENTS.md, 12 lines"},
		"/model small":     {"model: demo/small"},
		"/config":          {"model  demo  (default)"},
		"/tools":           {"read  read  reads files", "bash  run   runs commands"},
		"/permissions":     {"mode ask", "not confined", "1  deny   bash(rm:*)  (settings)", "2  allow  bash(ls)    (this session)", "/permissions rm N"},
		"/context":         {"16.2k tokens in 4 messages, 9% of the budget of 180.0k (the model takes\n  200.0k)", "tool results   8.1k  50%", "system prompt  900   5%"},
		"/cost":            {"2 requests, 1.2k in and 900 from, 0 to the cache, 300 out, $0.0625"},
		"/debug on":        {"debug: on"},
		"/debug maybe":     {"neither on nor off"},
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
	for _, command := range []string{"/sessions", "/resume x", "/clear", "/model", "/model x", "/config", "/tools", "/permissions", "/context", "/cost", "/debug",
		"/model list", "/provider", "/provider x", "/effort", "/approval", "/plan", "/permissions rm 1", "/fork", "/status", "/export", "/init", "/copy"} {
		if shown, _ := say(t, nil, command); !strings.Contains(shown, "not to be had here") {
			t.Errorf("%s without what it needs: %q", command, shown)
		}
	}
}

func TestResumedIsShownFirst(t *testing.T) {
	shown, _ := say(t, func(o *Options) {
		o.Resumed = &agent.Resumed{ID: "3f2a", User: "why?", Answer: strings.Repeat("line\n", 30) + "a **bold** end\n", Model: "demo/demo"}
		o.First = "go on"
	})
	for _, want := range []string{"resumed 3f2a, demo/demo", "you: why?", "19 lines before this", "a bold end"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %q", want, shown)
		}
	}
	if strings.Index(shown, "resumed") > strings.Index(shown, "you: why?") {
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

// Who talks has no flags: what a hint says of them is done by a command.
func TestHintsNameCommandsInAConversation(t *testing.T) {
	k := startLines(t, &sender{play: func(context.Context, string, agent.Callbacks) (*agent.Response, error) {
		return &agent.Response{}, &agent.Failure{Kind: agent.KindOverloaded, Hint: "choose another with --model, or with --provider, or -v to see what was sent", Err: errTest}
	}}, nil)
	k.send("one\n")
	k.eof()
	k.end()
	k.expect("try: choose another with /model, or with /provider, or /debug on to see what")
}

// A session that is not kept knows its tokens and not how many requests they
// took: nothing is said of those.
func TestCostWithoutACountOfRequests(t *testing.T) {
	free := 0.0
	spent := provider.Usage{Input: 1200, Output: 300}
	for want, info := range map[string]conversation.Totals{
		"nothing was asked yet, so nothing was spent": {CostUSD: &free},
		"1.2k in, 300 out, $0.0000":                   {Usage: spent, CostUSD: &free},
		"1 request, 1.2k in, 300 out":                 {Requests: 1, Usage: spent, CostUSD: &free},
	} {
		shown, _ := say(t, func(o *Options) { o.Deps.Cost = func() conversation.Totals { return info } }, "/cost")
		if !strings.Contains(shown, "  "+want) {
			t.Errorf("%q is not in %q", want, shown)
		}
	}
}
