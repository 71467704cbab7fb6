package agent_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool/builtin"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func promptInfo() agent.PromptInfo {
	return agent.PromptInfo{
		Dir: "/home/me/shop/cart", Root: "/home/me/shop", Platform: "linux/amd64", Shell: "/bin/bash", Git: true,
		Branch: "main", Programs: "python3, go, no node",
		Date:     time.Date(2026, 3, 14, 23, 59, 0, 0, time.UTC),
		Settings: agent.Settings{Rights: (&permission.Policy{Mode: permission.ModeAsk}).Rights(false), Tools: defaultTools()},
	}
}

// layered is a policy where lines run on layers.
func layered(mode permission.Mode, trusted bool) *permission.Policy {
	return &permission.Policy{Mode: mode, TrustsPrograms: trusted,
		Confinement: permission.Confinement{Sandbox: true, Layer: true, ByEntry: true}}
}

func defaultTools() []string { return []string{"read", "ls", "glob", "grep", "write", "edit", "bash"} }

func rules(t *testing.T, words ...string) []permission.Rule {
	t.Helper()
	var list []permission.Rule
	for _, w := range words {
		r, err := permission.ParseRule(w)
		must(t, err)
		list = append(list, r)
	}
	return list
}

// Each setting that the model must know of, as the whole prompt says it.
func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	at := promptInfo()
	at.Dir = at.Root
	for name, change := range map[string]func(*agent.PromptInfo){
		"rules": func(p *agent.PromptInfo) {
			p.Settings.Allow = []string{"bash(go test:*)", "edit(docs/**)"}
			p.Settings.Ask, p.Settings.Deny = []string{"bash(go mod:*)"}, []string{"read(customers/**)"}
		},
		"tools": func(p *agent.PromptInfo) {
			p.Settings.Tools, p.Settings.Without = []string{"bash"}, []string{"read", "ls", "glob", "grep", "write", "edit"}
		},
		"added_dirs": func(p *agent.PromptInfo) {
			p.Settings.Rights = p.Settings.Rights.In(permission.ModeEdits)
			p.Settings.ReadDirs, p.Settings.WriteDirs =
				[]string{"/usr/share/doc"}, []string{"/srv/out"}
		},
		"subdirectory": func(p *agent.PromptInfo) {
			p.Dir = "/home/me/shop/cart"
			p.Instructions = []agent.Instruction{{Path: "/home/me/shop/AGENTS.md", Text: "Run make check.\n\n"},
				{Path: "/home/me/shop/cart/AGENTS.md", Text: "No floats."}}
			p.Append = "Speak French.\n"
		},
		"headless": func(p *agent.PromptInfo) {
			p.Settings.Rights = (&permission.Policy{Mode: permission.ModeAsk}).Rights(true)
			p.Settings.Allow, p.Settings.Ask = []string{"bash(make:*)"}, []string{"bash(make deploy:*)"}
		},
		"plan": func(p *agent.PromptInfo) {
			p.Settings.Rights = p.Settings.Rights.In(permission.ModePlan)
			p.Git, p.Branch = false, ""
			p.Settings.Allow, p.Settings.Deny = []string{"bash(make:*)"}, []string{"read(customers/**)"}
		},
		"layers": func(p *agent.PromptInfo) {
			p.Settings.Rights = layered(permission.ModeAsk, false).Rights(false)
		},
		"layers_headless": func(p *agent.PromptInfo) {
			p.Settings.Rights = layered(permission.ModeEdits, false).Rights(true)
		},
		"layers_auto": func(p *agent.PromptInfo) {
			p.Settings.Rights = layered(permission.ModeAuto, true).Rights(false)
			p.Settings.Allow = []string{"bash!(git push)"}
		},
		"layers_plan": func(p *agent.PromptInfo) {
			p.Settings.Rights = layered(permission.ModePlan, true).Rights(true)
		},
		"replaced": func(p *agent.PromptInfo) {
			p.Replace, p.Settings.Rights = "You are a poet.", (&permission.Policy{Mode: permission.ModePlan}).Rights(true)
			p.Settings.Tools = nil
		},
	} {
		info := at
		change(&info)
		golden(t, "system_"+name+".txt", agent.SystemPrompt(info))
	}
	later := at
	later.Date = at.Date.Add(-10 * time.Hour)
	if agent.SystemPrompt(at) != agent.SystemPrompt(later) {
		t.Error("the prompt changes within a day")
	}
}

// The prompt's words on approval are true with every set of tools and in every mode.
func TestThePromptTellsOnlyOfToolsThereAre(t *testing.T) {
	t.Parallel()
	for _, mode := range []permission.Mode{permission.ModeAsk, permission.ModeEdits, permission.ModeAuto,
		permission.ModePlan} {
		for _, tools := range [][]string{nil, {"bash"}, {"read"}, {"edit"}, {"read", "edit"}, {"bash", "edit"},
			{"read", "bash"}, defaultTools()} {
			for _, noProject := range []string{"", "this is the home directory"} {
				s := agent.Settings{Rights: (&permission.Policy{Mode: mode, NoProject: noProject}).Rights(false), Tools: tools}
				text := s.String()
				for word, tool := range map[string]string{"command": "bash", "edit": "edit", "reading files": "read"} {
					if strings.Contains(text, word) && !slices.Contains(tools, tool) {
						t.Errorf("%s with %v: %s", mode, tools, text)
					}
				}
				asked := strings.Contains(text, "every edit")
				if want := slices.Contains(tools, "edit") &&
					(mode == permission.ModeAsk || noProject != "" && mode != permission.ModePlan); asked != want {
					t.Errorf("%s with %v, no project %v: %s", mode, tools, noProject, text)
				}
				if strings.Contains(text, "  ") || strings.Contains(text, ": ,") || strings.Contains(text, ": ;") {
					t.Errorf("%s with %v: %s", mode, tools, text)
				}
			}
		}
	}
}

// TestTheFirstRequestIsSmall holds the promise of a small prompt: system prompt
// and default tools together, as JSON, within nine tenths of the bound of a first request.
func TestTheFirstRequestIsSmall(t *testing.T) {
	t.Parallel()
	const most = 10_240
	type spec struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
	}
	body := struct {
		Model    string             `json:"model"`
		System   string             `json:"system"`
		Tools    []spec             `json:"tools"`
		Messages []provider.Message `json:"messages"`
	}{Model: "a-model-with-a-long-name-20250929", System: agent.SystemPrompt(promptInfo()),
		Messages: []provider.Message{provider.UserText("why does the test fail?")}}
	for _, t := range builtin.Tools(builtin.BashOptions{Path: "/bin/bash", Confined: true, Ask: true}) {
		if !t.Optional && t.Instead == "" && t.For == "" {
			body.Tools = append(body.Tools, spec{t.Name, t.Description, t.Schema()})
		}
	}
	if len(body.Tools) != 9 {
		t.Errorf("%d default tools, want 9", len(body.Tools))
	}
	data, err := json.Marshal(body)
	must(t, err)
	if len(data) > most*9/10 {
		for _, s := range body.Tools {
			t.Logf("%s: description %d, schema %d", s.Name, len(s.Description), len(s.Schema))
		}
		t.Errorf("the first request is %d bytes, of which %d are the system prompt; the limit is %d", len(data),
			len(body.System), most)
	}
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	p := filepath.Join(path...)
	must(t, os.MkdirAll(filepath.Dir(p), 0o755))
	must(t, os.WriteFile(p, []byte(text), 0o644))
}

func link(t *testing.T, to string, path ...string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(path...)); err != nil {
		t.Fatal(err)
	}
}

func TestInstructionsNote(t *testing.T) {
	t.Parallel()
	one, two := agent.Instruction{Path: "/p/AGENTS.md", Text: "one\n"},
		agent.Instruction{Path: "/p/a/AGENTS.md", Text: "two"}
	changed := agent.Instruction{Path: one.Path, Text: "three"}
	for _, c := range []struct {
		before, after []agent.Instruction
		want          string
	}{
		{nil, nil, ""},
		{[]agent.Instruction{one, two}, []agent.Instruction{one, two}, ""},
		{[]agent.Instruction{one, two}, []agent.Instruction{changed, two},
			"(The instructions in /p/AGENTS.md have changed. They now read:\nthree)"},
		{[]agent.Instruction{one, two}, []agent.Instruction{one},
			"(The instructions file /p/a/AGENTS.md is gone; it no longer holds.)"},
		{nil, []agent.Instruction{one}, "(The instructions in /p/AGENTS.md have changed. They now read:\none)"},
		{[]agent.Instruction{two}, []agent.Instruction{one},
			"(The instructions in /p/AGENTS.md have changed. They now read:\none)\n(The instructions file /p/a/AGENTS.md is gone; it no longer holds.)"},
	} {
		if got := agent.InstructionsNote(c.before, c.after); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestTheNoteComesBehindTheMessageOnce(t *testing.T) {
	t.Parallel()
	a := newAgent(newScript("ok", "ok"))
	must(t, a.SetMode(permission.ModePlan))
	for range 2 {
		mustSend(t, a, &recorder{}, "go")
	}
	wantLines(t, history(a), "user go "+a.ModeNote(permission.ModePlan), "assistant ok", "user go", "assistant ok")
}

// The prompt says which of the usual programs are there: a model that knows need not try.
func TestThePromptNamesThePrograms(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	for name, mode := range map[string]os.FileMode{"go": 0o755, "rg": 0o755, "node": 0o644} {
		must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), mode))
	}
	must(t, os.Mkdir(filepath.Join(bin, "cargo"), 0o755))
	for path, want := range map[string]string{
		"/nowhere:" + bin: "go, rg, no python3, no node, no cargo",
		"":                "no python3, no node, no go, no cargo, no rg",
	} {
		if got := agent.Programs([]string{"PATH=" + path}); got != want {
			t.Errorf("PATH=%s: %q, want %q", path, got, want)
		}
	}
}
