package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"
	"artoo/tool/lsp"
	"artoo/tool/lsp/lsptest"
	"artoo/tool/mcp/mcptest"
	"artoo/tool/shell"
)

func TestMain(m *testing.M) {
	if task := os.Getenv(crashVar); task != "" {
		os.Exit(crashed(task))
	}
	if lsptest.Serve(os.Stdin, os.Stdout) || mcptest.Serve(os.Args, os.Stdin, os.Stdout, os.Stderr, os.Exit) {
		return
	}
	os.Exit(m.Run())
}

// askServer makes calls in a project whose files a.x a scripted language server of the
// kind is for, and returns their results.
func askServer(t *testing.T, kind string, calls ...fake.Step) (results []string) {
	t.Helper()
	files, err := files.Open(files.Config{Root: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { files.Close() })
	must(t, os.WriteFile(filepath.Join(files.Root(), "a.x"), []byte("one\nold bad\n"), 0o600))
	self, err := os.Executable()
	must(t, err)
	servers := lsp.New(lsp.Config{Root: files.Root(), Environ: append(os.Environ(), lsptest.Kind+"="+kind),
		Start: shell.StartHere, Servers: []lsp.Server{{Name: "scripted", Command: []string{self}, Files: []string{".x"}}},
		Patience: 10 * time.Second})
	t.Cleanup(servers.Close)
	opt := testOptions(&fake.Provider{Steps: append(calls, fake.Say("ok"))}, builtin.Edit(), builtin.LSP())
	opt.Env = &tool.Env{Dir: files.Dir(), Files: files, LSP: servers}
	opt.Policy = &permission.Policy{Mode: permission.ModeEdits, Root: files.Root()}
	a, err := agent.New(opt)
	must(t, err)
	mustSend(t, a, &recorder{}, "go")
	for _, line := range history(a) {
		if strings.HasPrefix(line, "tool ") {
			results = append(results, line)
		}
	}
	return results
}

// A server that still loads may miss a symbol that exists.
func TestTheModelHearsThatALanguageServerLoads(t *testing.T) {
	t.Parallel()
	ask := func(id string) fake.Step {
		return fake.Calls(fake.ToolCall(id, "lsp", `{"action":"references","path":"a.x","symbol":"old"}`))
	}
	results := askServer(t, "loads", ask("c1"), ask("c2"))
	if len(results) != 2 || !strings.Contains(results[0], "still loading the project") || !strings.Contains(results[1], "none found") {
		t.Errorf("%q", results)
	}
}

// Errors that a language server finds follow the edit that caused them, or a later call where the server was late; the
// model may also ask it.
func TestWhatALanguageServerFindsIsToldToTheModel(t *testing.T) {
	t.Parallel()
	call := func(id, name, input string) fake.Step { return fake.Calls(fake.ToolCall(id, name, input)) }
	results := askServer(t, "works",
		call("c1", "lsp", `{"action":"problems","path":"a.x"}`),
		call("c2", "edit", `{"path":"a.x","old_string":"one","new_string":"one bad"}`),
		call("c3", "edit", `{"path":"a.x","old_string":"one bad","new_string":"one"}`),
		call("c4", "lsp", `{"action":"references","path":"a.x","symbol":"old"}`),
		call("c5", "lsp", `{"action":"hover","path":"a.x","symbol":"new"}`),
		call("c6", "lsp", `{"action":"hover","path":"a.x"}`),
		call("c7", "lsp", `{"action":"symbols","path":"a.y"}`),
	)
	for i, want := range []string{"line 2: error: this is bad", "[scripted: new problems in a.x:\nline 1: error: this is bad]",
		"edited a.x", "a.x:3: ", `the file has no "new"`, "hover needs a symbol", "no such file"} {
		if i >= len(results) || !strings.Contains(results[i], want) || i == 2 && strings.Contains(results[i], "scripted") {
			t.Errorf("result %d lacks %q; all:\n%s", i, want, strings.Join(results, "\n"))
		}
	}
}
