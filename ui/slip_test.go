//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"errors"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
)

func TestHelpIsAskedForWithoutASlash(t *testing.T) {
	t.Parallel()
	page := func(shown string) string { // without the prompts around it
		_, rest, _ := strings.Cut(shown, "\n\n")
		text, _, _ := strings.Cut(rest, "\nyou: ")
		return strings.TrimSpace(text)
	}
	shown, _ := say(t, nil, "/help")
	want := page(shown)
	if !strings.HasPrefix(want, "ask  ") || !strings.HasSuffix(want, ", keys") {
		t.Fatalf("/help shows %q", want)
	}
	for _, typed := range []string{"help", "?", " help "} {
		if shown, sent := say(t, nil, typed); sent != nil || page(shown) != want {
			t.Errorf("%q: sent %q, shown %q", typed, sent, shown)
		}
	}
	if _, sent := say(t, nil, "help me"); len(sent) != 1 {
		t.Errorf("sent %q", sent)
	}
}

func TestCommandsThatNeedSomethingFirstNameIt(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"/resume 1": "no session number 1; /resume without a number lists them",
		"/login":    "artoo login",
		"/logout":   "artoo logout",
	} {
		if shown, sent := say(t, nil, typed); sent != nil || !strings.Contains(shown, want) {
			t.Errorf("%s: sent %q, shown %q", typed, sent, shown)
		}
	}
}

func TestOnlyANearNameIsGuessed(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"hlep": "help", "modle": "model", "statsu": "status", "sesions": "sessions", "quti": "quit",
		"foo": "", "xyz": "", "banana": "", "deploy": "", "h": "", strings.Repeat("x", 50): "",
	} {
		if got := nearestCommand(typed); got != want {
			t.Errorf("/%s: %q is guessed, want %q", typed, got, want)
		}
	}
}

func TestEveryCommandIsAmongWhatTabProposesForASlash(t *testing.T) {
	t.Parallel()
	term := &Terminal{opt: Options{Agent: testAgent(t)}}
	proposed := map[string]bool{}
	for _, c := range term.completions("/", 1).Candidates {
		proposed[strings.TrimSpace(c.Text)] = true
	}
	for _, c := range commands() {
		if c.run != nil && !proposed["/"+c.name] {
			t.Errorf("/%s is not proposed", c.name)
		}
	}
}

// A typing error must not send the next message to a model that does not exist: the
// user has to confirm an unlisted name.
func TestAModelThatIsNotListedIsAskedAbout(t *testing.T) {
	t.Parallel()
	find := func(name string) (FoundModel, error) {
		switch name {
		case "nowhere":
			return FoundModel{Provider: "mine", Model: name}, nil
		case "bad":
			return FoundModel{}, errors.New("mine has no default model")
		case "anthropic":
			return FoundModel{Provider: name, Model: "claude-usual", Known: true}, nil
		}
		f := FoundModel{Provider: "anthropic", Model: name, Listed: true, Known: name == "claude-opus-5"}
		if name == "claude-opsu-5" {
			f.Nearest = "claude-opus-5"
		}
		return f, nil
	}
	const ask = "anyway? [y,n] (n)"
	for _, test := range []struct {
		typed, answer string
		shown         []string
		now           string
	}{
		{"claude-opus-5", "", nil, "anthropic/claude-opus-5"},
		{"anthropic", "", nil, "anthropic/claude-usual"},
		{"claude-opsu-5", "", []string{`anthropic does not list a model "claude-opsu-5"; the nearest is claude-opus-5`,
			"switch to claude-opsu-5 " + ask, "model: anthropic/claude"}, "anthropic/claude"},
		{"claude-opsu-5", "n", []string{ask}, "anthropic/claude"},
		{"gpt-9", "y", []string{`anthropic does not list a model "gpt-9"`, ask}, "anthropic/gpt-9"},
		{"gpt-9", "?", []string{ask, "/model list shows all of them"}, "anthropic/claude"},
		{"nowhere", "", []string{"mine lists no models, so the name was not checked"}, "mine/nowhere"},
		{"bad", "", []string{"/model: mine has no default model"}, "anthropic/claude"},
	} {
		var a *agent.Agent
		k := startLines(t, &sender{}, func(o *Options) {
			a = o.Agent
			a.SwitchModel(testModel("anthropic", "claude"))
			o.Models = &testProgram{agent: a, find: find}
		})
		k.send("/model " + test.typed + "\n")
		if len(test.shown) > 0 && strings.Contains(strings.Join(test.shown, ""), ask) {
			k.expect(ask)
			for line := range strings.Lines(test.answer + "\n") {
				k.send(line)
			}
		}
		k.eof()
		k.end()
		shown := strings.Join(strings.Fields(k.status.String()), " ")
		for _, want := range test.shown {
			if !strings.Contains(shown, want) {
				t.Errorf("/model %s, %q: no %q in %q", test.typed, test.answer, want, shown)
			}
		}
		if now := a.Model().String(); now != test.now {
			t.Errorf("/model %s, %q: now %s, want %s", test.typed, test.answer, now, test.now)
		}
		if strings.Contains(shown, ask) != strings.Contains(strings.Join(test.shown, " "), ask) {
			t.Errorf("/model %s: %q", test.typed, shown)
		}
	}
}

func TestModelAloneLetsOneBeChosen(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"2": "anthropic/claude-sonnet-5", "opus": "anthropic/claude-opus-5",
		"claude": "anthropic/claude-opus-5-5", "": "anthropic/claude-opus-5-5", "zzz\n": "anthropic/claude-opus-5-5"} {
		var a *agent.Agent
		k := startLines(t, &sender{}, func(o *Options) {
			a = o.Agent
			a.SwitchModel(testModel("anthropic", "claude-opus-5-5"))
			o.Models = &testProgram{agent: a, models: []provider.ModelInfo{{ID: "claude-opus-5", Context: 200_000},
				{ID: "claude-sonnet-5"}, {ID: "claude-haiku\x1b[2J"}}}
		})
		k.send("/model\n")
		k.expect("number or part of the name")
		for line := range strings.Lines(answer + "\n") {
			k.send(line)
		}
		k.eof()
		k.end()
		if now := a.Model().String(); now != want {
			t.Errorf("%q: now %s, want %s", answer, now, want)
		}
		shown := k.status.String()
		for _, row := range []string{"model: anthropic/claude-opus-5-5; models of anthropic:", "  1  claude-opus-5 ", "200k window", "claude-haiku^[[2J"} {
			if !strings.Contains(shown, row) {
				t.Errorf("no %q in\n%s", row, shown)
			}
		}
	}
}
