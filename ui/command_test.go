//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/config"
	"artoo/conversation"
	"artoo/provider"
)

// say sends lines and returns the output, without prompts.
func say(t *testing.T, change func(*Options), lines ...string) (shown string, sent []string) {
	t.Helper()
	k := startLines(t, &sender{}, change)
	k.send(strings.Join(lines, "\n") + "\n")
	k.eof()
	k.end()
	return k.status.String(), k.sender.messages()
}

// busy gives a conversation such an agent.
func busy(t testing.TB) func(*Options) {
	return func(o *Options) {
		a, _ := busyAgent(t, newManual().now)
		o.Agent, o.Program, o.Models = a, &testProgram{agent: a}, &testProgram{agent: a}
	}
}

func TestCommandTable(t *testing.T) {
	t.Parallel()
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
	done := "help quit exit clear model provider effort approval plan permissions context cost status config sessions resume fork export undo redo diff edit copy out queue tools init debug doctor"
	for _, name := range strings.Fields(done) {
		if c, ok := findCommand(name); !ok || c.run == nil {
			t.Errorf("/%s is not there", name)
		}
	}
	for _, name := range strings.Fields("memory add read-only add-dir theme statusline agents login vim terminal-setup output-style todos bug cost upgrade plugin") {
		if c, ok := findCommand(name); !ok || c.run == nil && c.instead == "" {
			t.Errorf("/%s says nothing", name)
		}
	}
}

// Every command is in the manual, with its other names.
func TestCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/conversation.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands() {
		if c.run == nil {
			continue
		}
		for _, name := range append([]string{c.name}, c.aliases...) {
			if !regexp.MustCompile("`/" + regexp.QuoteMeta(name) + "[` ]").Match(page) {
				t.Errorf("docs/conversation.md does not tell of /%s", name)
			}
		}
	}
}

// TestCommandsOfProgramsAreDocumented compares the list of commands that programs can send with the page's.
func TestCommandsOfProgramsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/headless.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "A program can send these commands: ")
	list, _, _ = strings.Cut(list, ", prompts of MCP servers")
	var want []string
	for _, c := range commands() {
		if c.program {
			want = append(want, "`/"+c.name+"`")
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(strings.Join(want, ", "), strings.Join(strings.Fields(list), " ")); diff != "" {
		t.Error(diff)
	}
}

// A name that is not known is answered with the nearest one, and neither run
// nor sent.
func TestUnknownCommandsAreNotSent(t *testing.T) {
	t.Parallel()
	for typed, nearest := range map[string]string{"/quti": "/quit", "/hlep": "/help", "/modle x": "/model",
		"/sesions": "/sessions", "/permisions": "/permissions"} {
		shown, sent := say(t, nil, typed, "after")
		if diff := cmp.Diff([]string{"after"}, sent); diff != "" || !strings.Contains(shown, "did you mean "+nearest+"?") {
			t.Errorf("%s: sent %q, shown %q", typed, sent, shown)
		}
	}
	if shown, sent := say(t, nil, "/"+strings.Repeat("x", 1<<16)+"\x1b[31m"); sent != nil ||
		strings.Contains(shown, "\x1b") {
		t.Errorf("sent %d messages", len(sent))
	}
}

func TestCommandsOfOtherAgentsSayWhatToDoHere(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"/undo 2":          "/undo: this session keeps no undo journal",
		"/rewind":          "/rewind: no messages yet",
		"/rewind 0":        "is not a number of messages",
		"/rewind 1 half":   "is followed by talk, files or nothing",
		"/btw":             "follow it with a question",
		"/mcp":             "no MCP servers are set up",
		"/add x.go":        "write @PATH in a message",
		"/read-only x":     "write @PATH in a message",
		"/add-dir /tmp":    "--add-dir DIR",
		"/memory":          "memory is off",
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
	t.Parallel()
	for _, typed := range []string{"/clear the table in README", "/exit code 2?", "/tools of it"} {
		a := answered(t, "kept")
		shown, sent := say(t, func(o *Options) { o.Agent = a }, typed, "after")
		cleared := a.Conversation().MessageCount() == 0
		if cleared || len(sent) != 1 || !strings.Contains(shown, "takes no arguments; nothing was done") {
			t.Errorf("%q: cleared %v, sent %q, shown %q", typed, cleared, sent, shown)
		}
	}
}

func TestLeaving(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	var all []string
	for _, p := range helpPages() {
		for _, name := range strings.Fields(p[1]) {
			all = append(all, "/"+name+" ")
		}
	}
	for page, wants := range map[string][]string{
		"/help": append(all, "!CMD", "!!CMD", "@FILE", "#TEXT", "/help ask, ", ", keys"),
		"/?":    all,
		"/help keys": {"Esc, ", "Esc Esc", "Shift-Tab", "Ctrl-O", "Ctrl-R", "Ctrl-G", "Ctrl-X Ctrl-E", "Tab ",
			"ARTOO_EDIT_MODE=vi",
			"Ctrl-C", "Ctrl-D", "Ctrl-Z", "Ctrl-L", "Alt-Enter"},
		"/help approvals": {"y ", "n [reason]", "a [rule]", "A [rule]", "e ", "p ", "q ", "? ", "Enter alone",
			"/permissions", "/approval"},
	} {
		shown, _ := say(t, nil, page)
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(shown), "\n"), func(l string) bool {
			return strings.HasPrefix(l, "you:") // the command and the next prompt, which leave 22 rows of 24
		})
		if len(lines) > 22 {
			t.Errorf("%s has %d lines", page, len(lines))
		}
		column := 0
		for _, l := range lines {
			if len(l) > 80 {
				t.Errorf("%s: %d columns: %q", page, len(l), l)
			}
			if i := strings.LastIndex(l, "  /"); page == "/help" && i > 20 {
				if column == 0 {
					column = i
				}
				if i != column {
					t.Errorf("a column begins at %d, not at %d: %q", i, column, l)
				}
			}
		}
		for _, want := range wants {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: no %q in\n%s", page, want, shown)
			}
		}
	}
	if shown, _ := say(t, nil, "/help nothing"); !strings.Contains(shown, "use ask, changes, ") {
		t.Errorf("shown %q", shown)
	}
	narrow := func(o *Options) { o.Size = func() (int, int) { return 60, 24 } }
	if shown, _ := say(t, narrow, "/help"); !strings.Contains(shown, "\n  /quit") ||
		!strings.Contains(shown, "\n  changes:\n  /diff ") {
		t.Errorf("the narrow page is\n%s", shown)
	}
}

// Each command is on one page of help, and the names of those pages are on /help.
func TestEveryCommandIsOnAPageOfHelp(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		on := 0
		for _, p := range helpPages() {
			on += strings.Count(" "+p[1]+p[2]+" ", " "+c.name+" ")
		}
		if want := map[bool]int{true: 1}[c.run != nil]; on != want {
			t.Errorf("/%s is on %d pages of help", c.name, on)
		}
	}
	for _, topic := range helpTopics() {
		shown, _ := say(t, nil, "/help "+topic)
		if strings.Contains(shown, "no topic") || strings.Count(shown, "\n") < 5 {
			t.Errorf("/help %s shows %s", topic, shown)
		}
	}
}

func TestCommandsShow(t *testing.T) {
	t.Parallel()
	now := newManual().now
	for command, wants := range map[string][]string{
		"/sessions": {"1  ONE", "2 hours ago", "4 messages", "fix the test", "3 days ago", "2 messages", "^[[2J"},
		"/resume 1": {"resumed ONE, 2 hours ago, demo/demo, approval ask", "you: fix the", "Done.", "was cut off here",
			"changed since: a.go"},
		"/resume nope": {"/resume: session nope: no such ID or name"},
		"/clear":       {"a new session begins"},
		"/model":       {"demo/demo"},
		"/model list": {"demo: half of it ^[[31mis missing", "small       32k window, 8k reply", "smart^[[2J",
			"newest      0 window, 0 reply, vision"},
		"/provider":        {"now demo/demo", "openai  gpt", "/provider: a key cannot be read"},
		"/provider x":      {"/provider: there is no provider x"},
		"/provider openai": {"model: openai/gpt"},
		"/effort":          {"effort: model default", "off, low, medium, high, max"},
		"/effort high":     {"effort: high"},
		"/effort huge":     {"use one of off, low, medium, high, max"},
		"/fork":            {"/fork: nothing was said yet"},
		"/status":          {"model      demo/demo", "directory  DIR", "context", "limits     none", "withheld   CHAT_WEBHOOK"},
		"/session":         {"directory"},
		"/export":          {"/export: nothing was said yet"},
		"/model small":     {"model: demo/small"},
		"/config":          {"effort  high  (ARTOO_EFFORT)", "/config all shows them"},
		"/config all":      {"effort  high  (ARTOO_EFFORT)", "model   demo  (default)"},
		"/config some":     {`/config: unknown word "some"`},
		"/tools":           {"read  read  Show a file: text", "bash  run   runs commands"},
		"/permissions": {"mode ask: asks before edits", "sandbox: none, commands are not confined", "1  deny   bash(rm:*)  (settings)",
			"2  allow  bash(ls)    (this session)", "/permissions rm N"},
		"/context": {"tokens in 0 messages, 0% of the budget of 150k (the model takes", "200k)",
			"system prompt", "tools"},
		"/cost":        {"no requests yet"},
		"/doctor":      {"warn  locale", "not UTF-8", "try:", "LANG=C.UTF-8"},
		"/debug on":    {"debug: on"},
		"/theme":       {"set ARTOO_COLORS to " + strings.Join(config.Palettes(), ", ") + " or styles"},
		"/statusline":  {"set ARTOO_STATUS to full, short, off or a command"},
		"/agents":      {".artoo/agents/NAME.md makes one"},
		"/debug maybe": {"neither on nor off"},
	} {
		a, earlier := busyAgent(t, now)
		shown, sent := say(t, func(o *Options) { o.Agent, o.Program, o.Models = a, &testProgram{agent: a}, &testProgram{agent: a} }, "/sessions", command)
		if sent != nil {
			t.Errorf("%s was sent", command)
		}
		for _, want := range wants {
			want = strings.NewReplacer("ONE", earlier[0], "DIR", a.Env().Dir).Replace(want)
			if !strings.Contains(shown, want) {
				t.Errorf("%s: no %q in\n%s", command, want, shown)
			}
		}
		if strings.Contains(shown, "\x1b") {
			t.Errorf("%s shows an escape: %q", command, shown)
		}
	}
}

// A session that was left can be gone back to, and a copy of one that was begun.
func TestTheOldSessionIsNamed(t *testing.T) {
	t.Parallel()
	a := projectIn(t, nil, true)
	old := a.SessionID()
	shown, _ := say(t, func(o *Options) { o.Agent = a }, "/fork", "/clear")
	shown = strings.Join(strings.Fields(shown), " ")
	for _, want := range []string{"now in session ",
		"; /resume " + old + " returns to the original",
		"a new session begins; /resume "} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %q", want, shown)
		}
	}
}

func TestResumedIsShownFirst(t *testing.T) {
	t.Parallel()
	store := conversation.Store{Dir: t.TempDir()}
	s := store.Create(conversation.Header{Provider: "demo", Model: "demo"})
	appendAll(t, conversation.New(conversation.Config{}, s), provider.UserText("why?"),
		said(strings.Repeat("line\n", 30)+"a **bold** end\n"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(s.ID())
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Options{Model: testModel("demo", "demo"), Sessions: agent.Sessions{Store: store, First: s}})
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := say(t, func(o *Options) { o.Agent, o.First = a, "go on" })
	for _, want := range []string{"resumed " + s.ID(), ", demo/demo", "you: why?", "19 lines before this", "a bold end"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %q", want, shown)
		}
	}
	if strings.Index(shown, "resumed") > strings.Index(shown, "you: why?") {
		t.Errorf("shown %q", shown)
	}
}

func TestFirstMessage(t *testing.T) {
	t.Parallel()
	k := startLines(t, &sender{}, func(o *Options) { o.First = "/quit is what?" })
	k.send("then this\n")
	k.eof()
	k.end()
	k.wasSent("/quit is what?", "then this")
}

func TestFailuresAreShownAndTheConversationGoesOn(t *testing.T) {
	t.Parallel()
	k := startLines(t, &sender{play: func(_ context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		if text == "one" {
			return &agent.Response{}, &agent.Failure{Kind: agent.KindOverloaded, Hint: "again later", Err: errTest}
		}
		return &agent.Response{}, nil
	}}, nil)
	k.send("one\ntwo\n")
	k.eof()
	k.ends(0)
	k.expect("artoo: it broke")
	k.expect("try: again later")
	k.wasSent("one", "two")
}

// A conversation has no flags, so hints name commands in their place.
func TestHintsNameCommandsInAConversation(t *testing.T) {
	t.Parallel()
	k := startLines(t, &sender{play: func(context.Context, string, agent.Callbacks) (*agent.Response, error) {
		return &agent.Response{}, &agent.Failure{Kind: agent.KindOverloaded,
			Hint: "choose another with --model, or with --provider, or -v to see the request", Err: errTest}
	}}, nil)
	k.send("one\n")
	k.eof()
	k.end()
	k.expect("try: choose another with /model, or with /provider, or /debug on to see the")
}

// A session that is not kept knows its tokens and not how many requests they
// took: nothing is said of those.
func TestCostWithoutACountOfRequests(t *testing.T) {
	t.Parallel()
	free := 0.0
	spent := provider.Usage{Input: 1200, Output: 300}
	for want, info := range map[string]conversation.Totals{
		"no requests yet; nothing spent": {CostUSD: &free},
		"1.2k in, 300 out, $0.00":        {Usage: spent, CostUSD: &free},
		"1 request, 1.2k in, 300 out":    {Requests: 1, Usage: spent, CostUSD: &free},
	} {
		if got := costText(info); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
