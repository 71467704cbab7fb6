package conversation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLongResultKeepsHeadTailAndFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "out")
	c := New(Config{ToolResultMaxChars: 1000, OutputDir: dir}, nil)
	whole := lines(500)
	r := addResult(t, c, result("c1", whole))

	if r.File != filepath.Join(dir, "bash-1.txt") || readFile(t, r.File) != whole {
		t.Fatalf("the whole is not in %q", r.File)
	}
	want := lines(15) + "[... 471 lines, 10.5 KB left out here. " // 340 characters on each side
	if !strings.HasPrefix(r.Text, want) {
		t.Errorf("text begins\n%s\nwant\n%s", r.Text[:min(len(r.Text), 500)], want)
	}
	for _, part := range []string{r.File + ": read it with offset 16 and a limit, or grep it ...]\n",
		"line 487 of the output\n", "\nline 500 of the output\n"} {
		if !strings.Contains(r.Text, part) {
			t.Errorf("no %q in\n%s", part, r.Text)
		}
	}
	if n := utf8.RuneCountInString(r.Text); n > 1000+len(dir) {
		t.Errorf("%d characters", n)
	}
	if got := c.Messages()[0].Parts[0]; !cmp.Equal(got, any(r)) {
		t.Error(cmp.Diff(any(r), got))
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, r.File: 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
}

func TestResultAtTheLimitIsUntouched(t *testing.T) {
	t.Parallel()
	c := New(Config{ToolResultMaxChars: 100, OutputDir: t.TempDir()}, nil)
	text := strings.Repeat("ü", 100)
	if r := addResult(t, c, result("c1", text)); r.Text != text || r.File != "" {
		t.Errorf("%+v", r)
	}
	if r := addResult(t, c, result("c1", text+"!")); r.File == "" {
		t.Error("a character more was not cut")
	}
	if r := addResult(t, c, result("c1", " \n")); r.Text != "(no output)" {
		t.Errorf("empty result is %q", r.Text)
	}
}

func TestOneEnormousLine(t *testing.T) {
	t.Parallel()
	c := New(Config{ToolResultMaxChars: 1000, OutputDir: t.TempDir()}, nil)
	r := addResult(t, c, result("c1", strings.Repeat("{\"k\":\"ü🎉\"},", 1<<16)+"\xff"))
	if !utf8.ValidString(r.Text) || len(r.Text) > 3000 {
		t.Errorf("%d bytes, valid %v", len(r.Text), utf8.ValidString(r.Text))
	}
	if !strings.Contains(r.Text, "its lines are long, so grep it, or take a piece: tail -c +") {
		t.Error(r.Text)
	}
}

func TestWholeCannotBeKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for name, tc := range map[string]struct{ dir, want string }{
		"no directory":         {"", "left out here. The rest is not kept. ...]"},
		"directory impossible": {filepath.Join(file, "out"), "left out here. The rest could not be kept: "},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Config{ToolResultMaxChars: 1000, OutputDir: tc.dir}, nil)
			r := addResult(t, c, result("c1", lines(500)))
			if r.File != "" || !strings.Contains(r.Text, tc.want) {
				t.Errorf("file %q, text\n%s", r.File, r.Text)
			}
			if strings.Contains(r.Text, file) {
				t.Error("the error repeats the path")
			}
		})
	}
}

func TestFileIsCappedBetweenCharacters(t *testing.T) {
	t.Parallel()
	o := outputs{dir: t.TempDir()}
	data := "x" + strings.Repeat("ü", maxOutput/2+10)
	place := o.keep("bash", ".txt", data)
	info, err := os.Stat(place.path)
	must(t, err)
	if info.Size() != maxOutput-1 || place.why != "The first 50 MB are in" {
		t.Errorf("%d bytes, %q", info.Size(), place.why)
	}
}

func TestOutputsNeverOverwrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "mcp__a_b-1.txt"), []byte("old"), 0o600))
	o := outputs{dir: dir}
	place := o.keep("mcp__a/b", ".txt", "new")
	if filepath.Base(place.path) != "mcp__a_b-2.txt" || readFile(t, filepath.Join(dir, "mcp__a_b-1.txt")) != "old" {
		t.Error(place)
	}
}
