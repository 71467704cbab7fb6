package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/config"
	"artoo/ui/doctor"
)

// record is what a run of the command line did.
type record struct {
	out  bytes.Buffer
	call string // run, demo, sessions, export, explain
	inv  Invocation
	yes  bool
	line string
}

// testDeps is a small program with every func there.
func testDeps(r *record) Deps {
	noted := func(call string, inv Invocation) error {
		r.call, r.inv = call, inv
		return nil
	}
	return Deps{
		Out:   &r.out,
		Build: Build{Version: "1.2.3", Commit: "abc", Go: "go1.26", Platform: "linux/amd64"},
		Options: []config.Option{
			{Key: "model", Section: "provider", Group: "Model", Flag: "model", Short: "m", Arg: "ID", Env: "ARTOO_MODEL", Kind: "string", Default: "the provider's own", Meaning: "model id, or provider/model"},
			{Key: "provider", Section: "provider", Group: "Model", Flag: "provider", Arg: "NAME", Env: "ARTOO_PROVIDER", Kind: "string", Aliases: []string{"default"}, Meaning: "provider name"},
			{Key: "ca_file", Section: "provider", Group: "Model", Env: "ARTOO_CA_FILE", Kind: "string", Meaning: "more root certificates, which are added to those the system has and trusted as much"},
			{Key: "allow", Section: "permissions", Group: "Permissions", Flag: "allow", Arg: "RULE", Env: "ARTOO_ALLOW", Kind: "list", Meaning: "calls that need no question, a|b"},
			{Key: "approval", Section: "permissions", Group: "Permissions", Flag: "approval", Arg: "MODE", Env: "ARTOO_APPROVAL", Kind: "enum", Choices: []string{"ask", "edits"}, Default: "ask", Meaning: "what runs unasked; ask: nothing; edits: writes"},
			{Key: "output", Section: "ui", Group: "Output", Flag: "output", Short: "o", Arg: "FORMAT", Env: "ARTOO_OUTPUT", Kind: "enum", Choices: []string{"text", "json"}, Default: "text", Meaning: "what stdout gets"},
			{Key: "quiet", Section: "ui", Group: "Output", Flag: "quiet", Short: "q", Env: "ARTOO_QUIET", Kind: "bool", Default: "false", Meaning: "nothing on stderr unless something fails"},
			{Key: "ui", Section: "ui", Group: "Output", Flag: "ui", Arg: "PROFILE", Env: "ARTOO_UI", Kind: "enum", Choices: []string{"rich", "plain"}, Meaning: "how the terminal is used"},
			{Key: "print", Section: "session", Group: "Session", Flag: "print", Short: "p", NoFile: true, Kind: "bool", Default: "false", Meaning: "print the answer and leave"},
			{Key: "debug", Section: "session", Group: "Session", Flag: "verbose", Short: "v", Env: "ARTOO_DEBUG", Kind: "bool", Default: "false", Meaning: "what is sent and received"},
		},
		Exits: []agent.Exit{
			{Code: 0, Meaning: "done"},
			{Code: 2, Kinds: []agent.Kind{"usage", "config"}, Meaning: "flags, variables, files"},
		},
		Variables: []config.Foreign{{Name: "NO_COLOR", Meaning: "not empty: no colour"}, {Name: "A_VARIABLE_WITH_A_VERY_LONG_NAME", Meaning: "nothing"}},
		Files:     []config.Foreign{{Name: "~/.config/artoo/config.toml", Meaning: "settings"}},
		Complete: func(inv Invocation, key string) []Candidate {
			switch key {
			case "provider":
				return []Candidate{{Word: "anthropic"}, {Word: "openai"}}
			case "model":
				if len(inv.Flags["provider"]) > 0 {
					return []Candidate{{Word: "of-" + inv.Flags["provider"][0], Meaning: "said\x1b[2J\tin\nlines"}}
				}
			}
			return nil
		},
		Nearest: func(word string, candidates []string) string {
			for _, c := range candidates {
				if len(c) == len(word) && c[0] == word[0] {
					return c
				}
			}
			return ""
		},
		Run:  func(_ context.Context, inv Invocation) error { return noted("run", inv) },
		Demo: func(_ context.Context, inv Invocation, yes bool) error { r.yes = yes; return noted("demo", inv) },
		Sessions: func(_ context.Context, inv Invocation) ([]Session, error) {
			return []Session{{ID: "abc", CWD: "/p", First: "hi\x1b[2J"}}, noted("sessions", inv)
		},
		Export: func(_ context.Context, inv Invocation, e Export) error {
			r.line = fmt.Sprintf("%+v", e)
			return noted("export", inv)
		},
		Explain: func(_ context.Context, inv Invocation, line string) (permission.Explanation, error) {
			r.line = line
			return permission.Explanation{Effect: permission.Ask, Reason: "why", Narrow: "bash(git push)", Suggested: "bash(git push:*)"}, noted("explain", inv)
		},
		Rules: func(_ context.Context, inv Invocation) ([]permission.RuleInForce, error) {
			return []permission.RuleInForce{{Effect: permission.Deny, Rule: "bash(rm:*)", Origin: "--deny"},
				{Effect: permission.Allow, Rule: "bash(go test:*)", Origin: "config.toml line 4", Remark: "-exec"}}, noted("rules", inv)
		},
		Login: func(_ context.Context, inv Invocation, provider string, check bool) error {
			r.line, r.yes = provider, check
			return noted("login", inv)
		},
		Logout: func(_ context.Context, inv Invocation, provider string) error {
			r.line = provider
			return noted("logout", inv)
		},
		Doctor: func(_ context.Context, inv Invocation, offline bool, tell func(doctor.Finding) error) error {
			r.yes = offline
			return errors.Join(noted("doctor", inv), tell(doctor.Finding{Level: doctor.OK, Topic: "git", Text: "hi\x1b[2J"}), tell(doctor.Finding{Level: doctor.Fail, Topic: "keys", Text: "none", Fix: "set\none"}))
		},
		Paths: func(_ context.Context, inv Invocation) ([]doctor.Place, error) {
			return []doctor.Place{{Path: "/p\x1b[2J", What: "keys", Exists: true, Files: 2, Bytes: 9}}, noted("paths", inv)
		},
	}
}

func TestInvocations(t *testing.T) {
	const decided = "ask: why\nto allow just this: --allow 'bash(git push)'\na wider rule: --allow 'bash(git push:*)'\n" +
		"which covers also --upload-pack and --receive-pack, which run a program\n"
	type flags = map[string][]string
	for _, test := range []struct {
		args  []string
		call  string
		words []string
		flags flags
		yes   bool
		line  string
		out   string
	}{
		{args: nil, call: "run", words: []string{}, flags: flags{}},
		{args: []string{"fix", "it"}, call: "run", words: []string{"fix", "it"}, flags: flags{}},
		{args: []string{"-p", "fix", "-q", "it", "-m", "x"}, call: "run", words: []string{"fix", "it"}, flags: flags{"print": {"true"}, "quiet": {"true"}, "model": {"x"}}},
		{args: []string{"-pqm", "x", "fix"}, call: "run", words: []string{"fix"}, flags: flags{"print": {"true"}, "quiet": {"true"}, "model": {"x"}}},
		{args: []string{"-pm", "sessions", "fix"}, call: "run", words: []string{"fix"}, flags: flags{"print": {"true"}, "model": {"sessions"}}},
		{args: []string{"--allow", "a", "--allow=b,c", "x"}, call: "run", words: []string{"x"}, flags: flags{"allow": {"a", "b,c"}}},
		{args: []string{"--quiet=no", "--model="}, call: "run", words: []string{}, flags: flags{"quiet": {"no"}, "model": {""}}},
		{args: []string{"-v", "--", "login", "-p", "fails"}, call: "run", words: []string{"login", "-p", "fails"}, flags: flags{"debug": {"true"}}},
		{args: []string{"--", "demo"}, call: "run", words: []string{"demo"}, flags: flags{}},
		{args: []string{"login fails on staging"}, call: "run", words: []string{"login fails on staging"}, flags: flags{}},
		{args: []string{"why", "login"}, call: "run", words: []string{"why", "login"}, flags: flags{}},
		{args: []string{"", "sessions"}, call: "run", words: []string{"", "sessions"}, flags: flags{}},
		{args: []string{"-", "sessions"}, call: "run", words: []string{"-", "sessions"}, flags: flags{}},
		{args: []string{"demo"}, call: "demo", flags: flags{}},
		{args: []string{"-v", "demo", "--yes", "--ui", "plain"}, call: "demo", flags: flags{"debug": {"true"}, "ui": {"plain"}}, yes: true},
		{args: []string{"sessions"}, call: "sessions", flags: flags{}, out: "abc  0001-01-01 00:00     0  /p  hi^[[2J\n"},
		{args: []string{"sessions", "list", "--json"}, call: "sessions", flags: flags{}, out: `{"id":"abc","path":"","cwd":"/p","started":"0001-01-01T00:00:00Z","updated":"0001-01-01T00:00:00Z","first":"hi\u001b[2J","messages":0,"provider":"","model":""}` + "\n"},
		{args: []string{"sessions", "show", "abc"}, call: "export", flags: flags{}, line: "{ID:abc File: Format: Brief:true}"},
		{args: []string{"sessions", "show", "abc", "--json"}, call: "export", flags: flags{}, line: "{ID:abc File: Format:json Brief:false}"},
		{args: []string{"sessions", "export", "abc"}, call: "export", flags: flags{}, line: "{ID:abc File: Format: Brief:false}"},
		{args: []string{"sessions", "export", "abc", "a.html"}, call: "export", flags: flags{}, line: "{ID:abc File:a.html Format: Brief:false}"},
		{args: []string{"sessions", "export", "--format", "html", "abc"}, call: "export", flags: flags{}, line: "{ID:abc File: Format:html Brief:false}"},
		{args: []string{"login"}, call: "login", flags: flags{}, yes: true},
		{args: []string{"login", "openai", "--no-check"}, call: "login", flags: flags{}, line: "openai"},
		{args: []string{"-q", "logout", "openai"}, call: "logout", flags: flags{"quiet": {"true"}}, line: "openai"},
		{args: []string{"doctor", "-m", "x"}, call: "doctor", flags: flags{"model": {"x"}}, out: "ok    git           hi^[[2J\nfail  keys          none\n                    try: set^Jone\n"},
		{args: []string{"doctor", "--offline", "--json"}, call: "doctor", flags: flags{}, yes: true, out: `{"level":"ok","topic":"git","text":"hi\u001b[2J"}` + "\n" + `{"level":"fail","topic":"keys","text":"none","fix":"set\none"}` + "\n"},
		{args: []string{"doctor", "--paths"}, call: "paths", flags: flags{}, out: "/p^[[2J  (keys, 2 files, 9 bytes)\n"},
		{args: []string{"doctor", "--paths", "--json"}, call: "paths", flags: flags{}, out: `{"path":"/p\u001b[2J","what":"keys","exists":true,"files":2,"bytes":9,"left":false}` + "\n"},
		{args: []string{"rules"}, call: "rules", flags: flags{}, out: "deny   bash(rm:*)       --deny\nallow  bash(go test:*)  config.toml line 4; covers also -exec\n"},
		{args: []string{"rules", "list", "--json", "--allow", "x"}, call: "rules", flags: flags{"allow": {"x"}}, out: `{"effect":"deny","rule":"bash(rm:*)","origin":"--deny"}` + "\n" +
			`{"effect":"allow","rule":"bash(go test:*)","origin":"config.toml line 4","remark":"-exec"}` + "\n"},
		{args: []string{"rules", "explain", "git push --force"}, call: "explain", flags: flags{}, line: "git push --force", out: decided},
		{args: []string{"rules", "explain", "--allow", "x", "--", "git", "push", "-f"}, call: "explain", flags: flags{"allow": {"x"}}, line: "git push -f", out: decided},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			var r record
			if err := Execute(t.Context(), test.args, testDeps(&r)); err != nil {
				t.Fatal(err)
			}
			if r.call != test.call || r.yes != test.yes || r.line != test.line || r.out.String() != test.out {
				t.Errorf("called %q, yes %v, line %q, printed %q", r.call, r.yes, r.line, r.out.String())
			}
			if diff := cmp.Diff(Invocation{Words: test.words, Flags: test.flags}, r.inv); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsageErrors(t *testing.T) {
	for _, test := range []struct{ line, message, hint string }{
		{"login fails on staging", `login: cannot take "fails on staging"`, "artoo -- login fails on staging"},
		{"-p login fails -o json on staging", "login: does not take --print", "artoo -p -o json -- login fails on staging"},
		{"-q sessions don't load", `sessions: cannot take "don't load"`, `artoo -q -- sessions 'don'\''t' load`},
		{"sessions don't load", `sessions: cannot take "don't load"`, `artoo -- sessions 'don'\''t' load`},
		{"sessions list of mine", `sessions: cannot take "of mine"`, "artoo -- sessions list of mine"},
		{"demo of it", `demo: cannot take "of it"`, "artoo -- demo of it"},
		{"version now", `version: cannot take "now"`, "artoo -- version now"},
		{"completion bash please", `completion: cannot take "please"`, "artoo completion bash|zsh|fish, or artoo -- completion bash please"},
		{"completion tcsh", `completion: cannot take "tcsh"`, "artoo completion bash|zsh|fish, or artoo -- completion tcsh"},
		{"help me", `help: cannot take "me"`, "artoo -- help me"},
		{"rules for naming", `rules: cannot take "for naming"`, "artoo -- rules for naming"},
		{"completion", "completion: for which shell?", "artoo completion bash, zsh or fish"},
		{"rules explain", "rules explain: which command?", "artoo rules explain 'git push'"},
		{"login openai gemini", `login: cannot take "openai gemini"`, "artoo -- login openai gemini"},
		{"doctor who", `doctor: cannot take "who"`, "artoo -- doctor who"},
		{"usage", "usage: comes with a later version", "artoo -o json -p ... tells them for one run"},
		{"mcp add db -- npx db", "mcp: comes with a later version", "artoo --help"},
		{"sessions rm abc def", "sessions rm: comes with a later version", "artoo sessions list, and artoo -r ID"},
		{"sessions show abc def", `sessions show: cannot take "def"`, "artoo -- sessions show abc def"},
		{"sessions export a b c", `sessions export: cannot take "c"`, "artoo -- sessions export a b c"},
		{"sessions show", "sessions show: which session?", "artoo sessions show ID"},
		{"sessions export", "sessions export: which session?", "artoo sessions export ID [FILE]"},
		{"sessions show a --format md", "sessions show: does not take --format", "artoo sessions show ID"},
		{"sessions export a --format md --json", "sessions export: takes --json or --format, not both", "artoo sessions export ID [FILE]"},
		{"sessions export a b.md --format json", "sessions export: the end of the file's name decides the format", "artoo sessions export ID [FILE]"},
		{"sessions --format json", "sessions list: does not take --format", "artoo sessions list --json"},
		{"rules add x", "rules add: comes with a later version", "--allow RULE, or allow = [\"RULE\"] under [permissions] in config.toml"},
		{"rules list of mine", `rules list: cannot take "of mine"`, "artoo -- rules list of mine"},
		{"--modle x", "--modle: unknown flag, did you mean --model?", dashHint},
		{"hi --xyzzy-plugh", "--xyzzy-plugh: unknown flag", dashHint},
		{"-pz hi", "-z: unknown flag", dashHint},
		{"-model x hi", "-model: long flags have two dashes, did you mean --model?", dashHint},
		{"-m", "--model: needs a value", "--model ID"},
		{"hi --output", "--output: needs a value", "--output FORMAT"},
		{"--=x", "--=x: is no flag", dashHint},
		{"demo --provider x", "demo: does not take --provider", "artoo --provider x -- demo"},
		{"demo --yse", "--yse: unknown flag, did you mean --yes?", dashHint},
		{"version -p", "version: does not take --print", "artoo -p -- version"},
	} {
		t.Run(test.line, func(t *testing.T) {
			var r record
			deps := testDeps(&r)
			err := Execute(t.Context(), strings.Fields(test.line), deps)
			var usage *UsageError
			if !errors.As(err, &usage) {
				t.Fatalf("%v (%T), called %q", err, err, r.call)
			}
			if usage.Error() != test.message || usage.ErrorHint() != test.hint || usage.ErrorKind() != "usage" {
				t.Errorf("%s\n  try: %s\nwant %s\n  try: %s", usage, usage.ErrorHint(), test.message, test.hint)
			}
			if r.call != "" || r.out.Len() > 0 {
				t.Errorf("called %q, printed %q", r.call, r.out.String())
			}
		})
	}
}

func TestCommandsWithoutFuncComeLater(t *testing.T) {
	for _, name := range []string{"demo", "sessions", "rules explain x"} {
		var r record
		deps := testDeps(&r)
		deps.Demo, deps.Sessions, deps.Explain = nil, nil, nil
		err := Execute(t.Context(), strings.Fields(name), deps)
		if err == nil || !strings.Contains(err.Error(), "comes with a later version") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsOfTheFuncsComeBack(t *testing.T) {
	var r record
	deps := testDeps(&r)
	want := errors.New("no")
	deps.Run = func(context.Context, Invocation) error { return want }
	if err := Execute(t.Context(), []string{"x"}, deps); err != want {
		t.Errorf("%v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestAWriterThatFailsIsSaid(t *testing.T) {
	for _, line := range []string{"--help", "-h", "demo --help", "help", "help environment", "--version", "version", "completion bash"} {
		var r record
		deps := testDeps(&r)
		deps.Out = brokenWriter{}
		if err := Execute(t.Context(), strings.Fields(line), deps); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", line, err)
		}
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
		text, stdin := Invocation{Words: strings.Fields(test.words)}.Prompt()
		if text != test.text || stdin != test.stdin {
			t.Errorf("%q gives %q, %v", test.words, text, stdin)
		}
	}
}

func output(t *testing.T, line string) string {
	t.Helper()
	var r record
	if err := Execute(t.Context(), strings.Fields(line), testDeps(&r)); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if r.call != "" {
		t.Errorf("%s called %s", line, r.call)
	}
	return r.out.String()
}

func TestPages(t *testing.T) {
	for _, test := range []struct{ line, golden string }{
		{"--help", "help.txt"}, {"help", "help.txt"}, {"-h fix it", "help.txt"}, {"-p -m x --help", "help.txt"},
		{"help environment", "environment.txt"}, {"--help environment", "environment.txt"},
		{"demo --help", "demo.txt"}, {"help demo", "demo.txt"}, {"models -h", "models.txt"}, {"help models", "models.txt"},
		{"version", "version.txt"},
	} {
		got := output(t, test.line)
		golden(t, test.golden, got)
		for i, l := range strings.Split(got, "\n") {
			if utf8.RuneCountInString(l) > width || strings.ContainsAny(l, "\x1b\t\r") || strings.HasSuffix(l, " ") {
				t.Errorf("%s line %d: %q", test.line, i+1, l)
			}
		}
	}
	if got := output(t, "--version"); got != "artoo 1.2.3\n" {
		t.Errorf("--version prints %q", got)
	}
}

func TestSettingsPage(t *testing.T) {
	var r record
	golden(t, "configuration.md", ConfigurationDoc(testDeps(&r)))
}

func TestCompletion(t *testing.T) {
	for shell, word := range map[string]string{"bash": "__start_artoo", "zsh": "#compdef artoo", "fish": "complete -c artoo"} {
		if got := output(t, "completion "+shell); !strings.Contains(got, word) {
			t.Errorf("%s script lacks %q", shell, word)
		}
	}
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"--output", ""}, []string{"text", "json"}},
		{[]string{"d"}, []string{"demo", "doctor"}},
		{[]string{"login", ""}, []string{"anthropic", "openai"}},
		{[]string{"logout", "o"}, []string{"openai"}},
		{[]string{"login", "openai", ""}, nil},
		{[]string{"completion", "z"}, []string{"zsh"}},
		{[]string{"demo", "--y"}, []string{"--yes"}},
		{[]string{"--prov"}, []string{"--provider"}},
		{[]string{"--provider", "o"}, []string{"openai"}},
		{[]string{"--provider=a"}, []string{"anthropic"}},
		{[]string{"--provider", "x", "-m", ""}, []string{"of-x"}},
		{[]string{"-m", ""}, nil},
		{[]string{"rules", ""}, []string{"explain", "list"}},
		{[]string{"rules", "explain", ""}, nil},
	} {
		var r record
		if err := Execute(t.Context(), append([]string{"__complete"}, test.args...), testDeps(&r)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range strings.Split(r.out.String(), "\n") {
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

// What is offered comes from files and the config: it is one line, without
// escapes.
func TestCandidatesAreSafe(t *testing.T) {
	var r record
	if err := Execute(t.Context(), []string{"__complete", "--provider", "x", "-m", ""}, testDeps(&r)); err != nil {
		t.Fatal(err)
	}
	if want := "of-x\tsaid^[[2J in lines\n:36\n"; !strings.HasPrefix(r.out.String(), want) {
		t.Errorf("%q, want %q", r.out.String(), want)
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
