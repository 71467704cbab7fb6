//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool/project"
	"artoo/ui/prompt"
)

// projectIn is an agent over a tree, with a session that holds one exchange; kept
// says whether it has a file.
func projectIn(t *testing.T, tree map[string]string, kept bool) *agent.Agent {
	t.Helper()
	dir := reaching(t, tree).env.Dir
	a, err := agent.New(agent.Options{
		Model: testModel("demo", "demo-1"), Workspace: &agent.Workspace{Project: project.Project{Root: dir, Dir: dir}},
		Sessions: agent.Sessions{Store: conversation.Store{Dir: t.TempDir()}, Ephemeral: !kept},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	appendAll(t, a.Conversation(), provider.UserText("why?"), said("That is why."))
	return a
}

// The session in use is written whole, kept or not, and no file is replaced.
func TestTheSessionIsExported(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{true, false} {
		a := projectIn(t, map[string]string{"old.md": "mine"}, kept)
		path := filepath.Join(a.Env().Dir, "new.json")
		shown, _ := say(t, func(o *Options) { o.Agent = a }, "/export new.json", "/save old.md")
		shown = strings.Join(strings.Fields(shown), " ")
		if !strings.Contains(shown, "written to "+path) ||
			!strings.Contains(shown, "already exists, and artoo does not overwrite it; give another name") {
			t.Fatalf("kept %v: %q", kept, shown)
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), "That is why.") || !strings.Contains(string(data), "why?") {
			t.Errorf("kept %v: %s, %v", kept, data, err)
		}
	}
	if shown, _ := say(t, nil, "/export"); !strings.Contains(shown, "nothing was said yet") {
		t.Errorf("an empty session: %q", shown)
	}
}

func TestFilesAreCompleted(t *testing.T) {
	t.Parallel()
	term := &Terminal{opt: Options{Agent: projectIn(t, map[string]string{"a b.txt": "", "apple/x": ""}, false)}}
	for text, want := range map[string][]string{
		"@a": {`@a\ b.txt `, "@apple/"}, `@"a`: {`@"a b.txt" `, `@"apple/`}, "@": {`@a\ b.txt `, "@apple/"},
		"@zzz": nil, "a": nil,
	} {
		var got []string
		for _, c := range term.completions(text, len(text)).Candidates {
			got = append(got, c.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

// Files named in a typed line come with its message; those in a paste do not, and a
// note says so.
func TestPastedPathsAreData(t *testing.T) {
	t.Parallel()
	d := projectIn(t, map[string]string{"week.go": "package cart\n"}, false)
	opt := func(o *Options) { o.Agent = d }
	shown, sent := say(t, opt, "why @week.go?", "mail me@week.go", `\@week.go`)
	if diff := cmp.Diff([]string{"why @week.go?", "mail me@week.go", "@week.go"}, sent); diff != "" {
		t.Error(diff)
	}
	if strings.Count(shown, "attached: week.go, 1 line") != 1 {
		t.Errorf("shown %q", shown)
	}
	k := startLines(t, &sender{}, opt)
	for _, tt := range []struct {
		line  prompt.Line
		text  string
		parts int
	}{
		{prompt.Line{Text: "@week.go"}, "@week.go", 1},
		{prompt.Line{Text: "@week.go", Literal: true, Pasted: prompt.Literal("@week.go").Pasted}, "@week.go", 0},
		{prompt.Line{Text: `see \@a, @week.go`, Pasted: []prompt.Span{{From: 4, To: 18}}}, `see \@a, @week.go`, 0},
		{prompt.Line{Text: `say @"x, see @week.go`, Pasted: []prompt.Span{{From: 0, To: 7}}}, `say @"x, see @week.go`, 1},
	} {
		if got, parts := k.term.attach(t.Context(), tt.line); len(parts) != tt.parts || got != tt.text {
			t.Errorf("%+v: %q, %v", tt.line, got, parts)
		}
	}
	k.eof()
	k.end()
}

// A terminal without bracketed paste types the path of a dropped file, which
// begins as a command does.
func TestADroppedImageIsNoCommand(t *testing.T) {
	t.Parallel()
	d := projectIn(t, map[string]string{"week.png": screenshot(t)}, false)
	message := d.Env().Dir + "/week.png what is it?"
	shown, sent := say(t, func(o *Options) { o.Agent = d }, message, "/export "+d.Env().Dir+"/week.png")
	if diff := cmp.Diff([]string{message}, sent); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(shown, "attached: week.png, image, 80x60") || !strings.Contains(shown, "/export") {
		t.Errorf("shown %q", shown)
	}
}
