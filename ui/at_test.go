package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/mcp"
	"artoo/ui/prompt"
)

// reaching is the access to a directory with the given files, whose names use
// slashes; the working directory is the project root.
func reaching(t testing.TB, tree map[string]string) fileAccess {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range tree {
		abs := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(abs, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := files.Open(files.Config{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return fileAccess{env: &tool.Env{Files: files, Dir: dir}, home: dir, own: true}
}

func TestAtWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                nil,
		"see @week.go and @lib/":          {"week.go", "lib/"},
		"@a, (@b) [@c] {@d} \"@e\" '@f'":  {"a,", "b)", "c]", "d}", "e\"", "f'"},
		"mail me@example.org, a@b":        nil,
		`@a\ b.txt @"c d.txt" @"e \" f"x`: {"a b.txt", "c d.txt", `e " f`},
		`@src\main.go`:                    {`src\main.go`},
		"@\n@":                            nil,
		`@"open`:                          {"open"},
		"@\"two\nlines\"":                 {"two"},
		"@dé/ü@x":                         {"dé/ü@x"},
	} {
		var got []string
		for _, w := range atWords(text, nil) {
			got = append(got, w.path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

// Whatever a file is called, the word that completion writes for it means it.
func FuzzEscapeAt(f *testing.F) {
	for _, name := range []string{"a.go", "a b", `a\b`, `"a"`, "a\\ b", "tab\tname", "\u00a0", "\u2003x"} {
		f.Add(name, true)
		f.Add(name, false)
	}
	f.Fuzz(func(t *testing.T, name string, quoted bool) {
		name = strings.ToValidUTF8(strings.ReplaceAll(name, "\n", ""), "")
		if name == "" {
			return
		}
		text := "@" + escapeAt(name, quoted) + " more"
		if quoted {
			text = `@"` + escapeAt(name, true) + `" more`
		}
		words := atWords(text, nil)
		if len(words) == 0 || words[0].path != name {
			t.Errorf("%q became %q: %+v", name, text, words)
		}
	})
}

// A word that names a file brings it along; the text stays as it was typed.
func TestTypedPathsAreAttached(t *testing.T) {
	t.Parallel()
	a := reaching(t, map[string]string{"week.go": "package cart\n\nvar Days = 7\n", "lib/a b.txt": "one\n",
		"lib/c.txt": "", "x.bin": "\x00\x01"})
	e := a.expand(t.Context(), "why is @week.go, like (@lib/a\\ b.txt) in @lib? again @./week.go; @x.bin", nil)
	if want := "why is @week.go, like (@lib/a\\ b.txt) in @lib? again @./week.go; @x.bin"; e.Text != want {
		t.Errorf("the text became %q", e.Text)
	}
	want := []provider.Part{
		provider.Text{
			Text: "[@week.go: week.go, 3 lines, as read shows it]\n     1\tpackage cart\n     2\t\n     3\tvar Days = 7\n"},
		provider.Text{Text: "[@lib/a b.txt: lib/a b.txt, 1 line, as read shows it]\n     1\tone\n"},
		provider.Text{Text: "[@lib: lib/, 2 entries, as ls lists it]\n         4  a b.txt\n         0  c.txt\n"},
		provider.Text{
			Text: "[@x.bin: x.bin, binary, 2 bytes, as read shows it]\nx.bin is a binary file (application/octet-stream, 2 bytes), which cannot be shown as text"},
	}
	if diff := cmp.Diff(want, e.Parts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"attached: week.go, 3 lines; lib/a b.txt, 1 line; lib/, 2 entries; x.bin, binary, 2 bytes"}, e.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestExpandLeavesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	a := reaching(t, map[string]string{"week.go": "x\n", "decorated": ""})
	for text, want := range map[string]string{
		"mail me@week.go":               "",
		"install @types/node":           "",
		"the @decorator and @property":  "",
		`\@week.go is literal, a\@b`:    "@week.go is literal, a\\@b",
		"@week.go/below @missing":       "",
		`@"week.go`:                     "",
		"@" + strings.Repeat("x", 5000): "",
		"@nul\x00byte":                  "",
		"@~nobody @... @":               "",
	} {
		if want == "" {
			want = text
		}
		if e := a.expand(t.Context(), text, nil); e.Text != want || e.Parts != nil || e.Notes != nil {
			t.Errorf("%.60q became %+v", text, e)
		}
	}
	if e := (fileAccess{env: &tool.Env{}}).expand(t.Context(), "@week.go", nil); e.Text != "@week.go" || e.Parts != nil {
		t.Errorf("without files: %+v", e)
	}
}

// A typed name of a missing file is reported, and sent as text; pasted names are data.
func TestAMissingFileIsSaid(t *testing.T) {
	t.Parallel()
	a := reaching(t, map[string]string{"week.go": "x\n"})
	for text, want := range map[string]string{
		"look at @nofile.x, please":    "@nofile.x: no such file; sent as text",
		"@src/none.go and @week.go":    "@src/none.go: no such file; sent as text",
		`@"a b.txt"`:                   "@a b.txt: no such file; sent as text",
		"@../gone.md.":                 "@../gone.md: no such file; sent as text",
		"@" + strings.Repeat("y", 300): "",
	} {
		e := a.expand(t.Context(), text, nil)
		if got := strings.Join(e.Notes, "\n"); e.Text != text || (want == "") != (got == "") ||
			!strings.Contains(got, want) {
			t.Errorf("%.40q: %q, sent %q", text, got, e.Text)
		}
	}
	if e := a.expand(t.Context(), "@nofile.x", []prompt.Span{{From: 0, To: 9}}); e.Notes != nil {
		t.Errorf("pasted: %q", e.Notes)
	}
}

func TestExpandReachesWhatTheFileToolsReach(t *testing.T) {
	t.Parallel()
	a := reaching(t, map[string]string{".env": "KEY=hunter2", "logo.png": "\x89PNG\r\n\x1a\n", "sub/in.txt": "in\n",
		"id_rsa": "hunter2"})
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "out.txt"), []byte("hunter2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(a.env.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	root := a.env.Dir
	a.env.Dir = filepath.Join(root, "sub")
	for word, want := range map[string]string{
		"in.txt":                "attached: sub/in.txt, 1 line",
		"../sub/in.txt":         "attached: sub/in.txt, 1 line",
		"~/sub/in.txt":          "attached: sub/in.txt, 1 line",
		root + "/sub/in.txt":    "attached: sub/in.txt, 1 line",
		"../.env":               "@../.env is not attached: .env may hold passwords",
		"../id_rsa":             "@../id_rsa is not attached: id_rsa is or holds a private key",
		"../link/out.txt":       "outside the project",
		elsewhere + "/out.txt":  "outside the project",
		elsewhere + "/none.txt": "no such file",
		"../logo.png":           "@../logo.png is not attached: logo.png: is an image (image/png, 8 bytes) that cannot be shown",
	} {
		e := a.expand(t.Context(), "@"+word, nil)
		got := strings.Join(e.Notes, "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) || strings.Contains(fmt.Sprint(e), "hunter2") {
			t.Errorf("@%s: %q, %v", word, got, e.Parts)
		}
		if attached := strings.HasPrefix(want, "attached"); attached != (len(e.Parts) == 1) {
			t.Errorf("@%s attached %v", word, e.Parts)
		}
	}
}

func TestExpandHasLimits(t *testing.T) {
	t.Parallel()
	tree := map[string]string{}
	var small, large []string
	for i := range maxAttached + 1 {
		name := fmt.Sprintf("small%02d", i)
		tree[name], small = "x\n", append(small, "@"+name)
		name = fmt.Sprintf("large%02d", i)
		tree[name], large = strings.Repeat("0123456789abcdef\n", 4<<10), append(large, "@"+name)
	}
	a := reaching(t, tree)
	e := a.expand(t.Context(), strings.Join(small, " "), nil)
	if last := e.Notes[len(e.Notes)-1]; len(e.Parts) != maxAttached ||
		last != "@small20 is not attached: one message takes at most 20 files" {
		t.Errorf("%d parts, %q", len(e.Parts), e.Notes)
	}
	e = a.expand(t.Context(), strings.Join(large, " "), nil)
	size := 0
	for _, p := range e.Parts {
		size += len(p.(provider.Text).Text)
	}
	if size > maxAttachedBytes+len(e.Parts)*100 || len(e.Parts) < 2 ||
		!strings.Contains(e.Notes[len(e.Notes)-1], "more than 200 KB in one message") {
		t.Errorf("%d parts of %d bytes, %q", len(e.Parts), size, e.Notes)
	}
	if first := e.Parts[0].(provider.Text).Text; !strings.Contains(first, "use offset=") {
		t.Errorf("a long file does not say how to go on: %.200q", first[len(first)-200:])
	}
}

func TestExpandQuotesNames(t *testing.T) {
	t.Parallel()
	a := reaching(t, map[string]string{"a\u202eog.txt": "x\n"})
	e := a.expand(t.Context(), "@a\u202eog.txt", nil)
	if len(e.Parts) != 1 || strings.Contains(e.Parts[0].(provider.Text).Text, "\u202e") {
		t.Errorf("%+q", e.Parts)
	}
}

// A resource in the prompt of a headless run is not read, and that is said.
func TestAResourceThatIsNotAttachedIsNamed(t *testing.T) {
	t.Parallel()
	a := reaching(t, map[string]string{})
	a.own = false
	var config mcp.Config
	var server mcp.Info
	server.Name, server.Command = "s", []string{"no-such-program"}
	config.Servers = append(config.Servers, server.Server)
	a.env.MCP = mcp.New(config)
	e := a.expand(t.Context(), "see @s:r://x and @t:r://y", nil)
	if len(e.Parts) != 0 || len(e.Notes) != 1 || !strings.HasPrefix(e.Notes[0], "@s:r://x is not attached") {
		t.Errorf("%d parts, %q", len(e.Parts), e.Notes)
	}
}
