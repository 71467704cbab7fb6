package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/lsp/lsptest"
	"artoo/tool/needs"
	"artoo/tool/shell"
)

func TestMain(m *testing.M) {
	if lsptest.Serve(os.Stdin, os.Stdout) {
		return
	}
	os.Exit(m.Run())
}

// manage is a Manager whose servers are of the kind.
func manage(t *testing.T, kind string) (*Manager, string) {
	t.Helper()
	root := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := New(Config{Root: root, Environ: append(os.Environ(), lsptest.Kind+"="+kind), Start: shell.StartHere,
		Servers: []Server{{"scripted", []string{self}, []string{".x"}}}, Patience: 10 * time.Second})
	t.Cleanup(m.Close)
	return m, filepath.Join(root, "a.x")
}

func lines(found *Found) (out []string) {
	if found != nil {
		for _, p := range found.Problems {
			out = append(out, p.String())
		}
	}
	return out
}

// ready waits until the server of a file can be asked.
func ready(t *testing.T, m *Manager, path string) {
	t.Helper()
	if _, err := m.asked(t.Context(), path); err != nil {
		t.Fatal(err)
	}
}

func TestAnEditIsToldOfItsNewProblemsOnly(t *testing.T) {
	t.Parallel()
	m, path := manage(t, "works")
	m.Before(path, "old bad\nfine\n")
	ready(t, m, path)
	for _, row := range []struct {
		text string
		want []string
	}{
		{"new line\nold bad\nfine\n", nil}, // the old one has moved
		{"new line\nold bad\nfine\nnew bad\n", []string{"line 4: error: this is bad"}},
		{"new line\nold bad\nfine\nnew bad\n\nodd\nhint\n", []string{"line 6: warning: odd"}},
		{"fine\n", nil},
	} {
		found := m.After(t.Context(), path, row.text)
		if diff := cmp.Diff(row.want, lines(found)); diff != "" {
			t.Errorf("%q: %s", row.text, diff)
		}
	}
	if late := m.Late(); late != nil {
		t.Errorf("told late: %+v", late)
	}
}

// rust-analyzer reports after an edit that changes no error only the end of its check.
func TestTheEndOfACheckIsWordOfAnEdit(t *testing.T) {
	m, path := manage(t, "checks")
	m.Before(path, "fine\n")
	ready(t, m, path)
	began := time.Now()
	for _, row := range []struct {
		text string
		want []string
	}{{"fine\n1\n", nil}, {"fine\n2\n", nil}, {"bad\n", []string{"line 1: error: this is bad"}}, {"bad\n3\n", nil}, {"fine\n", nil}} {
		found := m.After(t.Context(), path, row.text)
		if diff := cmp.Diff(row.want, lines(found)); diff != "" {
			t.Errorf("%q: %s", row.text, diff)
		}
	}
	if took := time.Since(began); took > m.cfg.Patience/2 {
		t.Errorf("five edits took %s", took)
	}
	// It refuses its first question, since the files have changed.
	if hover, err := m.Hover(t.Context(), path, "fine\n", 0, 0); err != nil || hover != "one\ntwo" {
		t.Errorf("hover %q, %v", hover, err)
	}
}

// An edit does not wait for a server that starts: its findings come later, once.
func TestWhatIsFoundLateIsToldLater(t *testing.T) {
	t.Parallel()
	m, path := manage(t, "works")
	if found := m.After(t.Context(), path, "bad\nodd\n"); found != nil && !found.Old {
		t.Errorf("found %+v", found)
	} else if found == nil {
		ready(t, m, path)
		if _, known := m.clients["scripted"].found(t.Context(), path, 1); !known {
			t.Fatal("nothing came")
		}
		late := m.Late()
		if len(late) != 1 || !late[0].Old || len(late[0].Problems) != 1 {
			t.Errorf("told late: %+v", late)
		}
	}
	if late := m.Late(); late != nil {
		t.Errorf("told twice: %+v", late)
	}
}

func TestABrokenServerHoldsNobodyUp(t *testing.T) {
	for _, kind := range []string{"dead", "mute", "garbage", "flood", "silent", "nowhere"} {
		t.Run(kind, func(t *testing.T) {
			m, path := manage(t, kind)
			m.cfg.Patience = 50 * time.Millisecond
			if kind == "nowhere" {
				m.cfg.Servers[0].Command[0] = "no-such-language-server"
			}
			began := time.Now()
			m.Before(path, "bad\n")
			for range 3 {
				if found := m.After(t.Context(), path, "bad\nbad too\n"); found != nil {
					t.Errorf("found %+v", found)
				}
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("three edits took %s", took)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if list, err := m.Problems(ctx, path, "bad\n"); err == nil {
				t.Errorf("problems %v", list)
			}
		})
	}
}

func TestAServerIsAskedAboutPlaces(t *testing.T) {
	t.Parallel()
	m, path := manage(t, "works")
	text := "x\n\tμ𝄞name\n"
	places, err := m.Places(t.Context(), "definition", path, text, 1, len("\tμ𝄞"))
	if err != nil || len(places) != 1 || places[0] != (Place{path, 5}) { // a tab, one unit, two units
		t.Errorf("definition %v, %v", places, err)
	}
	if places, err = m.Places(t.Context(), "references", path, text, 1, 0); err != nil || len(places) != 1 || places[0].Line != 3 {
		t.Errorf("references %v, %v", places, err)
	}
	if hover, err := m.Hover(t.Context(), path, text, 0, 0); err != nil || hover != "one\ntwo" {
		t.Errorf("hover %q, %v", hover, err)
	}
	symbols, err := m.Symbols(t.Context(), path, text)
	if diff := cmp.Diff([]Symbol{{"T", "struct", 2, 0}, {"f", "field", 3, 1}}, symbols); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := m.Hover(t.Context(), path, text, 7, 0); err == nil {
		t.Error("a line that is not there has a hover")
	}
	if _, err := m.Symbols(t.Context(), "a.unknown", text); err == nil {
		t.Error("a file of no server has symbols")
	}
}

// realServers are asked about a real project where they are on the PATH. In each file the
// third line defines one, and the fifth uses it twice.
var realServers = []struct {
	server, file, good string
	beside             map[string]string
	right, wrong       string
	problem            string
	define, use        int // the columns of one in lines 3 and 5
	hover              string
}{
	{"gopls", "a.go", "package a\n\nfunc one() int { return 1 }\n\nvar Two = one() + one()\n",
		map[string]string{"go.mod": "module a\n\ngo 1.24\n"},
		"return 1", "return uno", "line 3: error: undefined: uno", len("func "), len("var Two = "), "func one() int"},
	{"typescript-language-server", "a.ts", "export {}\n\nfunction one(): number { return 1 }\n\nconst two = one() + one()\n",
		map[string]string{"tsconfig.json": `{"compilerOptions": {"strict": true}}`},
		"return 1", "return uno", "line 3: error: Cannot find name 'uno'.", len("function "), len("const two = "), "function one(): number"},
	{"pyright-langserver", "a.py", "import sys\n\ndef one() -> int: return 1\n\ntwo = one() + one()\n", nil,
		"return 1", "return uno", `line 3: error: "uno" is not defined`, len("def "), len("two = "), "def one() -> int"},
	{"clangd", "a.c", "#include <stddef.h>\n\nstatic int one(void) { return 1; }\n\nint two(void) { return one() + one(); }\n", nil,
		"return 1", "return uno", "line 3: error: ", len("static int "), len("int two(void) { return "), "function one"},
	{"rust-analyzer", "src/lib.rs", "#![allow(dead_code)]\n\nfn one() -> i32 { 1 }\n\nfn two() -> i32 { one() + one() }\n",
		map[string]string{"Cargo.toml": "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"},
		"{ 1 }", "{ uno }", "line 3: error: ", len("fn "), len("fn two() -> i32 { "), "fn one() -> i32"},
}

func TestRealServersFindWhatAnEditBroke(t *testing.T) {
	t.Parallel()
	for _, row := range realServers {
		t.Run(row.server, func(t *testing.T) {
			needs.Program(t, row.server)
			if row.server == "rust-analyzer" { // rustup installs a name that starts nothing.
				needs.Thing(t, row.server, exec.Command(row.server, "--version").Run())
			}
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(root, row.file)
			files := map[string]string{row.file: row.good}
			maps.Copy(files, row.beside)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			m := New(Config{Root: root, Environ: os.Environ(), Start: shell.StartHere, Servers: Known(), Patience: time.Minute})
			defer m.Close()
			m.Before(path, row.good)
			ready(t, m, path)
			broken := strings.Replace(row.good, row.right, row.wrong, 1)
			if err := os.WriteFile(path, []byte(broken), 0o600); err != nil { // cargo reads it
				t.Fatal(err)
			}
			found := m.After(t.Context(), path, broken)
			if got := lines(found); len(got) != 1 || !strings.Contains(got[0], row.problem) {
				t.Errorf("it found %q", got)
			}
			m.After(t.Context(), path, row.good)
			places, err := m.Places(t.Context(), "references", path, row.good, 2, row.define)
			if err != nil || len(places) != 3 {
				t.Errorf("references %v, %v", places, err)
			}
			places, err = m.Places(t.Context(), "definition", path, row.good, 4, row.use)
			if err != nil || len(places) != 1 || places[0].Line != 3 {
				t.Errorf("definition %v, %v", places, err)
			}
			if hover, err := m.Hover(t.Context(), path, row.good, 4, row.use); err != nil || !strings.Contains(hover, row.hover) {
				t.Errorf("hover %q, %v", hover, err)
			}
		})
	}
}

// A crash while a message is handled ends the connection, and so every call that waits.
func TestACrashInAMessageEndsTheConnection(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer r.Close()
	c := newConn(io.Discard, r, func(string, json.RawMessage) { panic("planted") }, nil)
	go func() { _, _ = io.WriteString(w, "Content-Length: 14\r\n\r\n{\"method\":\"x\"}") }()
	if err := c.call(t.Context(), "y", nil, nil); !errors.Is(err, errGone) || !strings.Contains(err.Error(), "planted") {
		t.Error(err)
	}
}

// A server that still loads says so, as progress or as its status: a search without result then proves nothing.
func TestAServerThatLoadsSaysSo(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][]bool{"loads": {true, false}, "indexes": {true, false}, "works": {false, false}} {
		m, path := manage(t, kind)
		for i, loads := range want {
			if _, err := m.Places(t.Context(), "references", path, "one", 0, 0); err != nil {
				t.Fatal(err)
			}
			if got := m.Loads(path); got != loads {
				t.Errorf("%s: question %d: %v", kind, i, got)
			}
		}
		if m.Loads("a.none") {
			t.Error("there is no such server")
		}
	}
}
