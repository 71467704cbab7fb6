//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"artoo/ui/prompt"
	"artoo/ui/screen"
)

func someChoices(names ...string) choices {
	c := choices{title: "the models:"}
	for i, name := range names {
		c.list = append(c.list, listed{name: name, cells: []string{name, "200k window"}, now: i == 1})
	}
	return c
}

// answering chooses with these lines, the last of which is followed by the end of
// the input.
func answering(t *testing.T, c choices, lines ...string) (index int, shown string, err error) {
	t.Helper()
	var out bytes.Buffer
	s := screen.New(screen.Options{Out: io.Discard, Err: &out, Profile: screen.Plain})
	index, err = c.dialogue(s).ask(t.Context(), asker{Screen: s, ask: func(context.Context, prompt.Question) (prompt.Line, error) {
		if len(lines) == 0 {
			return prompt.Line{}, io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return prompt.Line{Text: line}, nil
	}})
	return index, out.String(), err
}

func TestOneIsChosenByNumberOrPartOfItsName(t *testing.T) {
	t.Parallel()
	c := someChoices("claude-opus-5", "claude-sonnet-5", "claude-sonnet-5-5", "gpt-6-sol")
	for _, test := range []struct {
		name  string
		lines []string
		want  int
	}{
		{"number", []string{"3"}, 2},
		{"part", []string{"gpt"}, 3},
		{"part in another case", []string{" OPUS "}, 0},
		{"whole name that is part of another", []string{"claude-sonnet-5"}, 1},
		{"a part of two, then its number", []string{"sonnet", "2"}, 1},
		{"unknown, then known", []string{"llama", "99", "gpt"}, 3},
		{"Enter", []string{""}, nothingChosen},
		{"Enter after a slip", []string{"llama", ""}, nothingChosen},
		{"no", []string{"no"}, nothingChosen},
		{"quit", []string{" q"}, nothingChosen},
		{"n, a part of names", []string{"n"}, nothingChosen},
		{"no command", []string{"/help", "gpt"}, 3},
	} {
		if got, shown, err := answering(t, c, test.lines...); err != nil || got != test.want {
			t.Errorf("%s: %d, %v, want %d\n%s", test.name, got, err, test.want, shown)
		}
	}
	if _, _, err := answering(t, c, "sonnet"); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the input: %v", err)
	}
}

// A name goes before the word for leaving, and a slash command leaves, where there are commands.
func TestAChoiceCanBeLeft(t *testing.T) {
	t.Parallel()
	c := someChoices("yes", "no", "/usr/lib")
	if got, _, err := answering(t, c, "no"); err != nil || got != 1 {
		t.Errorf("%d, %v", got, err)
	}
	command := ""
	c.command = &command
	if got, _, err := answering(t, c, "/help keys"); err != nil || got != nothingChosen || command != "/help keys" {
		t.Errorf("%d, %v, %q", got, err, command)
	}
	if got, _, err := answering(t, c, "/usr"); err != nil || got != 2 {
		t.Errorf("%d, %v", got, err)
	}
}

func TestTheListToChooseFromIsNumbered(t *testing.T) {
	t.Parallel()
	c := someChoices("claude-opus-5", "claude-sonnet-5", "evil\x1b[2J-sonnet")
	_, shown, _ := answering(t, c, "sonnet", "claude-opsu-5", "zzz", "")
	for _, want := range []string{"the models:\n", "  1   claude-opus-5 ", "  *2  claude-sonnet-5 ", "^[[2J-sonnet",
		"2 match \"sonnet\":\n  *2  claude-sonnet-5", "no match for \"claude-opsu-5\"; the nearest is claude-opus-5",
		"no match for \"zzz\"\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "\x1b") {
		t.Errorf("shown raw: %q", shown)
	}
}

// A router has hundreds of models; the present one is shown wherever it stands in the list.
func TestALongListIsCut(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 100 {
		names = append(names, "model-"+strconv.Itoa(i))
	}
	c := someChoices(names...)
	c.list[1].now, c.list[70].now = false, true
	got, shown, err := answering(t, c, "model-99")
	if err != nil || got != 99 {
		t.Errorf("%d, %v", got, err)
	}
	for _, want := range []string{"  20   model-19 ", "  *71  model-70 ", "79 more; type part of a name"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "model-20 ") {
		t.Errorf("shown\n%s", shown)
	}
}

func TestChooseWantsAnAnswer(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"2\n": "openai", "ANTH\n": "anthropic", "o\nopenai\nrest": "openai", "\n": "", "": ""} {
		s := screen.New(screen.Options{Out: io.Discard, Err: io.Discard, Profile: screen.Plain})
		got, err := Choose(t.Context(), strings.NewReader(in), s, "Whose key?", []string{"anthropic", "openai"})
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}
