package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/ui/doctor"
)

func TestInvocations(t *testing.T) {
	type flags = map[string][]string
	on := []string{"true"}
	for _, test := range []struct {
		args string
		want invocation
	}{
		{"", invocation{}},
		{"fix it", invocation{Words: []string{"fix", "it"}}},
		{"-p fix -q it -m x", invocation{Words: []string{"fix", "it"},
			Flags: flags{"print": on, "quiet": on, "model": {"x"}}}},
		{"-pqm x fix", invocation{Words: []string{"fix"}, Flags: flags{"print": on, "quiet": on, "model": {"x"}}}},
		{"-pm sessions fix", invocation{Words: []string{"fix"}, Flags: flags{"print": on, "model": {"sessions"}}}},
		{"--allow a --allow=b,c x", invocation{Words: []string{"x"}, Flags: flags{"allow": {"a", "b,c"}}}},
		{"--quiet=no --model=", invocation{Flags: flags{"quiet": {"no"}, "model": {""}}}},
		{"-v -- login -p fails", invocation{Words: []string{"login", "-p", "fails"}, Flags: flags{"debug": on}}},
		{"-- demo", invocation{Words: []string{"demo"}}},
		{"login_fails_on_staging", invocation{Words: []string{"login fails on staging"}}},
		{"why login", invocation{Words: []string{"why", "login"}}},
		{"_ sessions", invocation{Words: []string{" ", "sessions"}}},
		{"- sessions", invocation{Words: []string{"-", "sessions"}}},
		{"--version", invocation{Own: flags{"version": on}}},
		{"version", invocation{Command: "version"}},
		{"demo", invocation{Command: "demo"}},
		{"-v demo --yes --ui plain", invocation{Command: "demo", Flags: flags{"debug": on, "ui": {"plain"}},
			Own: flags{"yes": on}}},
		{"sessions", invocation{Command: "sessions"}},
		{"sessions list --json", invocation{Command: "sessions list", Own: flags{"json": on}}},
		{"sessions show abc", invocation{Command: "sessions show", Words: []string{"abc"}}},
		{"sessions export abc a.md", invocation{Command: "sessions export", Words: []string{"abc", "a.md"}}},
		{"sessions export --format json abc", invocation{Command: "sessions export", Words: []string{"abc"},
			Own: flags{"format": {"json"}}}},
		{"login", invocation{Command: "login"}},
		{"login openai --no-check", invocation{Command: "login", Words: []string{"openai"}, Own: flags{"no-check": on}}},
		{"-q logout openai", invocation{Command: "logout", Words: []string{"openai"}, Flags: flags{"quiet": on}}},
		{"doctor -m x", invocation{Command: "doctor", Flags: flags{"model": {"x"}}}},
		{"doctor --offline --json", invocation{Command: "doctor", Own: flags{"offline": on, "json": on}}},
		{"rules", invocation{Command: "rules"}},
		{"rules list --json --allow x", invocation{Command: "rules list", Flags: flags{"allow": {"x"}},
			Own: flags{"json": on}}},
		{"rules explain git_push_--force", invocation{Command: "rules explain",
			Words: []string{"git push --force"}}},
		{"rules explain --allow x -- git push -f", invocation{Command: "rules explain",
			Words: []string{"git", "push", "-f"}, Flags: flags{"allow": {"x"}}}},
	} {
		t.Run(test.args, func(t *testing.T) {
			args := strings.Fields(test.args)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "_", " ") // a space in a word
			}
			got, err := parse(args)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []*flags{&got.Flags, &got.Own} {
				if len(*m) == 0 {
					*m = nil
				}
			}
			if len(got.Words) == 0 {
				got.Words = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWhatIsListed: lists show text from files and models without its escapes, and
// JSON has it unchanged.
func TestWhatIsListed(t *testing.T) {
	session := conversation.Info{ID: "abc", CWD: "/p", First: "hi\x1b[2J"}
	rules := []permission.RuleInForce{
		{Verdict: permission.Refuse, Rule: "bash(rm:*)", Origin: "--deny"},
		{Verdict: permission.Run, Rule: "bash(go test:*)", Origin: "config.toml line 4", Remark: "-exec"},
	}
	decided := permission.Explanation{
		Verdict: permission.Ask, Reason: "why", Narrow: "bash(go test)", Suggested: "bash(go test:*)",
	}
	found := doctor.Finding{Level: doctor.OK, Topic: "git", Text: "hi\x1b[2J\u009b\u202e"}
	missing := doctor.Finding{Level: doctor.Fail, Topic: "keys", Text: "none", Fix: "set\none"}
	place := doctor.Place{Path: "/p\x1b[2J", What: "keys", Exists: true, Files: 2, Bytes: 9}
	model := listedModel{Source: "config"}
	model.ID, model.Provider, model.Context, model.MaxOutput = "m\x1b[2J", "own", 200_000, 8100
	var b bytes.Buffer
	for _, test := range []struct {
		name  string
		print func(asJSON bool) error
		text  string
		json  string
	}{
		{
			"sessions", func(asJSON bool) error { return printEach(&b, []conversation.Info{session}, asJSON, sessionLine) },
			"abc  0001-01-01 00:00     0        -  /p  hi^[[2J\n",
			`{"id":"abc","path":"","cwd":"/p","started":"0001-01-01T00:00:00Z","updated":"0001-01-01T00:00:00Z",` +
				`"first":"hi\u001b[2J","messages":0,"provider":"","model":"","cost_usd":null}` + "\n",
		},
		{
			"rules", func(asJSON bool) error { return printRules(&b, rules, asJSON) },
			"deny   bash(rm:*)       --deny\nallow  bash(go test:*)  config.toml line 4; also covers -exec\n",
			`{"effect":"deny","rule":"bash(rm:*)","origin":"--deny"}` + "\n" +
				`{"effect":"allow","rule":"bash(go test:*)","origin":"config.toml line 4","remark":"-exec"}` + "\n",
		},
		{
			"a decision", func(asJSON bool) error { return printOne(&b, decided, asJSON, explanation) },
			"ask: why\nto allow just this: --allow 'bash(go test)'\na wider rule: --allow 'bash(go test:*)'\n" +
				"this also covers -exec, -vettool and -toolexec, which run any program\n",
			`{"tool":"","call":"","mode":"","effect":"ask","reason":"why","rule":"","narrow":"bash(go test)",` +
				`"suggested":"bash(go test:*)","parts":null}` + "\n",
		},
		{
			"findings",
			func(asJSON bool) error {
				return printEach(&b, []doctor.Finding{found, missing}, asJSON, func(f doctor.Finding) string { return findingText(f, 0) })
			},
			"ok    git           hi^[[2J^[[<U+202E>\nfail  keys          none\n                    try: set^Jone\n",
			`{"level":"ok","topic":"git","text":"hi\u001b[2J\u009b\u202e"}` + "\n" +
				`{"level":"fail","topic":"keys","text":"none","fix":"set\none"}` + "\n",
		},
		{
			"places", func(asJSON bool) error { return printEach(&b, []doctor.Place{place}, asJSON, placeText) },
			"/p^[[2J  (keys, 2 files, 9 bytes)\n",
			`{"path":"/p\u001b[2J","what":"keys","exists":true,"files":2,"bytes":9,"left":false}` + "\n",
		},
		{
			"models", func(asJSON bool) error { return printModels(&b, []listedModel{model}, time.Time{}, asJSON) },
			"MODEL       WINDOW  REPLY  $/M IN  $/M OUT  CACHED  FROM\nown/m^[[2J    200k   8.1k       ?        ?       ?        no tools\n",
			`{"provider":"own","id":"m\u001b[2J","name":"","context":200000,"max_output":8100,"price":null,"images":false,` +
				`"tools":false,"reasoning":false,"patches":false,"efforts":null,"guess":false,"context_from":{"source":"","date":""},"price_from":{"source":"","date":""},"default":false,"source":"config"}` + "\n",
		},
	} {
		for asJSON, want := range map[bool]string{false: test.text, true: test.json} {
			b.Reset()
			if err := test.print(asJSON); err != nil {
				t.Fatal(err)
			}
			if got := b.String(); got != want {
				t.Errorf("%s, JSON %v:\n%q\nwant\n%q", test.name, asJSON, got, want)
			}
		}
	}
}

func TestFlagsOfSessionsGoWithTheirVerbs(t *testing.T) {
	for line, why := range map[string]string{
		"sessions show a --format md": "sessions show: does not take --format\nartoo sessions show ID",
		"sessions --format json":      "sessions list: does not take --format\nartoo sessions list --json",
		"sessions export a --format md --json": "sessions export: takes --json or --format, not both\n" +
			"artoo sessions export ID [FILE]",
		"sessions export a b.md --format json": "sessions export: the file's extension decides the format\n" +
			"artoo sessions export ID [FILE]",
	} {
		l := commandLine{newApp(&session{process: Process{Args: strings.Fields(line)}})}
		var usage *agent.Failure
		if err := l.run(t.Context()); !errors.As(err, &usage) || usage.Error()+"\n"+usage.Hint != why {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, test := range []struct{ line, message, hint string }{
		{"login fails on staging", `login: unexpected argument "fails on staging"`, "artoo -- login fails on staging"},
		{"-p login fails -o json on staging", "login: does not take --print", "artoo -p -o json -- login fails on staging"},
		{"-q sessions don't load", `sessions: unexpected argument "don't load"`, `artoo -q -- sessions 'don'\''t' load`},
		{"sessions don't load", `sessions: unexpected argument "don't load"`, `artoo -- sessions 'don'\''t' load`},
		{"sessions list of mine", `sessions list: unexpected argument "of mine"`, "artoo -- sessions list of mine"},
		{"demo of it", `demo: unexpected argument "of it"`, "artoo -- demo of it"},
		{"version now", `version: unexpected argument "now"`, "artoo -- version now"},
		{"completion bash please", `completion bash: unexpected argument "please"`, "artoo -- completion bash please"},
		{"completion tcsh", `completion: unexpected argument "tcsh"`,
			"artoo completion bash|zsh|fish, or artoo -- completion tcsh"},
		{"help me", `help: unexpected argument "me"`, "artoo help topics, or artoo -- help me"},
		{"rules for naming", `rules: unexpected argument "for naming"`, "artoo -- rules for naming"},
		{"completion", "completion: for which shell?", "artoo completion bash, zsh or fish"},
		{"rules explain", "rules explain: which command?", "artoo rules explain 'COMMAND'"},
		{"login openai gemini", `login: unexpected argument "openai gemini"`, "artoo -- login openai gemini"},
		{"doctor who", `doctor: unexpected argument "who"`, "artoo -- doctor who"},
		{"acp now", `acp: unexpected argument "now"`, "artoo acp, or artoo -- acp now"},
		{"sessions rename abc def", `sessions: unexpected argument "rename abc def"`, "artoo -- sessions rename abc def"},
		{"sessions rename", `sessions: unexpected argument "rename"`,
			"artoo sessions [list|show|export|grep|rm|import], or artoo -- sessions rename"},
		{"sessions grep", "sessions grep: which words?", "artoo sessions grep WORD ..."},
		{"sessions show abc def", `sessions show: unexpected argument "def"`, "artoo -- sessions show abc def"},
		{"sessions export a b c", `sessions export: unexpected argument "c"`, "artoo -- sessions export a b c"},
		{"sessions show", "sessions show: which session?", "artoo sessions show ID"},
		{"sessions export", "sessions export: which session?", "artoo sessions export ID [FILE]"},
		{"rules add x", `rules: unexpected argument "add x"`, "artoo -- rules add x"},
		{"rules list of mine", `rules list: unexpected argument "of mine"`, "artoo -- rules list of mine"},
		{"--modle x", "--modle: unknown flag, did you mean --model?", dashHint},
		{"hi --xyzzy-plugh", "--xyzzy-plugh: unknown flag", dashHint},
		{"-pz hi", "-z: unknown flag", dashHint},
		{"-model x hi", "-model: long flags have two dashes, did you mean --model?", dashHint},
		{"-m", "--model: needs a value", "--model ID"},
		{"hi --output", "--output: needs a value", "--output FORMAT"},
		{"--=x", "--=x: is not a flag", dashHint},
		{"demo --provider x", "demo: does not take --provider", "artoo --provider x -- demo"},
		{"demo --yse", "--yse: unknown flag, did you mean --yes?", dashHint},
		{"version -p", "version: does not take --print", "artoo -p -- version"},
	} {
		t.Run(test.line, func(t *testing.T) {
			inv, err := parse(strings.Fields(test.line))
			var usage *agent.Failure
			if !errors.As(err, &usage) {
				t.Fatalf("%v (%T), %+v", err, err, inv)
			}
			if usage.Error() != test.message || usage.ErrorHint() != test.hint || usage.ErrorKind() != "usage" {
				t.Errorf("%s\n  try: %s\nwant %s\n  try: %s", usage, usage.ErrorHint(), test.message, test.hint)
			}
		})
	}
}

func TestPrompt(t *testing.T) {
	for _, test := range []struct {
		words string
		text  string
		stdin bool
	}{
		{"", "", false}, {"fix it", "fix it", false}, {"-", "", true}, {"- explain this", "explain this", true},
		{"explain -", "explain", true}, {"5 - 3", "5 - 3", false}, {"- -", "", true},
	} {
		text, stdin := promptOf(strings.Fields(test.words))
		if text != test.text || stdin != test.stdin {
			t.Errorf("%q gives %q, %v", test.words, text, stdin)
		}
	}
}

// Every command that prints a page reports a failed write.
func TestAWriterThatFailsIsSaid(t *testing.T) {
	closed, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, line := range []string{
		"--help", "-h", "demo --help", "help", "help environment", "--version", "version", "completion bash",
	} {
		l := commandLine{newApp(&session{process: Process{Args: strings.Fields(line), Out: closed}})}
		if err := l.run(t.Context()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// invocation is the meaning of a command line.
type invocation struct {
	Command    string // with its verb; "" for none
	Words      []string
	Flags, Own map[string][]string // of settings by key, and of the command
	Page       string              // that it prints by itself
}

// parse has cobra parse a command line, whose command is not run unless it only prints.
func parse(args []string) (inv invocation, err error) {
	l := commandLine{newApp(&session{process: Process{Args: args, Docs: os.DirFS(moduleDir)}})}
	root := l.commands()
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		if c.RunE != nil && !slices.Contains([]string{"help", "completion"}, topCommand(c).Name()) {
			c.RunE = func(c *cobra.Command, words []string) error {
				inv.Command, inv.Words = strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "artoo"), " "), words
				inv.Flags, inv.Own = l.app.flags, map[string][]string{}
				c.Flags().Visit(func(f *pflag.Flag) {
					if v, ok := f.Value.(*flagValue); !ok || v.set == nil {
						inv.Own[f.Name] = []string{f.Value.String()}
					}
				})
				return nil
			}
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(root)
	var out bytes.Buffer
	err = l.execute(context.Background(), root, &out)
	inv.Page = out.String()
	return inv, err
}

// output is the page that a command line prints by itself.
func output(t *testing.T, line string) string {
	t.Helper()
	inv, err := parse(strings.Fields(line))
	if err != nil || inv.Page == "" {
		t.Fatalf("%s: %+v, %v", line, inv, err)
	}
	return inv.Page
}

func TestPages(t *testing.T) {
	for _, test := range []struct{ line, golden string }{
		{"--help", "help.txt"}, {"help", "help.txt"}, {"-h fix it", "help.txt"}, {"-p -m x --help", "help.txt"},
		{"help environment", "environment.txt"}, {"--help environment", "environment.txt"},
		{"demo --help", "demo.txt"}, {"help demo", "demo.txt"}, {"models -h", "models.txt"}, {"help models", "models.txt"},
	} {
		got := output(t, test.line)
		golden(t, test.golden, got)
		for i, l := range strings.Split(got, "\n") {
			if utf8.RuneCountInString(l) > width || strings.ContainsAny(l, "\x1b\t\r") || strings.HasSuffix(l, " ") {
				t.Errorf("%s line %d: %q", test.line, i+1, l)
			}
		}
	}
	golden(t, "version.txt", build{Version: "1.2.3", Commit: "abc", Go: "go1.26", Platform: "linux/amd64"}.String())
}

func TestCompletion(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "ARTOO_PROVIDER", "ARTOO_MODEL"} {
		t.Setenv(v, "")
	}
	both := []string{"ollama", "openai", "openrouter"}
	for shell, word := range map[string]string{"bash": "__start_artoo", "zsh": "#compdef artoo",
		"fish": "complete -c artoo"} {
		if got := output(t, "completion "+shell); !strings.Contains(got, word) {
			t.Errorf("%s script lacks %q", shell, word)
		}
	}
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"--output", ""}, []string{"text", "json", "jsonl", "patch"}},
		{[]string{"d"}, []string{"doctor", "demo"}},
		{[]string{"login", "an"}, []string{"anthropic"}},
		{[]string{"logout", "o"}, both},
		{[]string{"login", "openai", ""}, nil},
		{[]string{"completion", "z"}, []string{"zsh"}},
		{[]string{"demo", "--y"}, []string{"--yes"}},
		{[]string{"--prov"}, []string{"--provider"}},
		{[]string{"--provider", "o"}, both},
		{[]string{"--provider=a"}, []string{"anthropic", "azure"}},
		{[]string{"--provider", "demo", "-m", ""}, []string{"demo"}},
		{[]string{"-m", "demo/"}, []string{"demo/demo"}},
		{[]string{"rules", ""}, []string{"list", "explain", "suggest"}},
		{[]string{"sessions", ""}, []string{"list", "show", "export", "grep", "rm", "import"}},
		{[]string{"sessions", "show", ""}, nil},
		{[]string{"help", "doc"}, []string{"doctor"}},
		{[]string{"sessions", "--format", ""}, []string{"md", "json"}},
		{[]string{"rules", "explain", ""}, nil},
	} {
		inv, err := parse(append([]string{"__complete"}, test.args...))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range strings.Split(inv.Page, "\n") {
			word, _, _ := strings.Cut(l, "\t")
			if word != "" && !strings.HasPrefix(word, ":") && !strings.HasPrefix(word, "_active") {
				got = append(got, word)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: %s", test.args, diff)
		}
	}
}

// Candidates come from files and the config: each is shown as one line, without escapes.
func TestCandidatesAreSafe(t *testing.T) {
	words, _ := offered([]candidate{{"of-x", "said\x1b[2J\tin\nlines"}, {word: "of\n"}, {word: "else"}}, "of")
	if diff := cmp.Diff([]string{"of-x\tsaid^[[2J in lines"}, words); diff != "" {
		t.Error(diff)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func TestASubcommandWithASlipIsNoPrompt(t *testing.T) {
	for _, c := range []struct {
		args string
		near string // "" when it is sent
	}{
		{"sesions", "sessions"},
		{"sessoins", "sessions"},
		{"docter", "doctor"},
		{"-m x lgoin", "login"},
		{"-p sesions", ""},
		{"-- sesions", ""},
		{"sesions of yesterday", ""},
		{"session-list", ""},
		{"hi", ""},
	} {
		inv, err := parse(strings.Fields(c.args))
		var usage *agent.Failure
		switch {
		case c.near == "" && (err != nil || inv.Command != ""):
			t.Errorf("%s: %q, %v", c.args, inv.Command, err)
		case c.near != "" && (!errors.As(err, &usage) || !strings.Contains(usage.Error(), c.near) ||
			!strings.Contains(usage.Hint, "artoo "+c.near)):
			t.Errorf("%s: %q, %v", c.args, inv.Command, err)
		}
	}
}

// Every terminal has 80 columns: no help of a command or of a verb is wider.
func TestNoHelpIsWiderThanATerminal(t *testing.T) {
	root := commandLine{newApp(&session{process: Process{Docs: os.DirFS(moduleDir)}})}.commands()
	for _, c := range append(root.Commands(), root) {
		for line := range strings.Lines(output(t, strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), "artoo")+" --help"))) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%s --help: %d columns: %s", c.CommandPath(), n, line)
			}
		}
	}
}
