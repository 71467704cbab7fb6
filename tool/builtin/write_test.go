package builtin

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/files"
)

func TestWriteNew(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, nil)
	access, result, err := w.call(Write(), in{"path": "docs/a.md", "content": "one\ntwo\n"})
	if err != nil {
		t.Fatal(err)
	}
	want := tool.Access{
		Kind: tool.KindWrite, Paths: []string{w.path("docs/a.md")}, Verb: "write", Object: "docs/a.md", Added: 2,
		Diff:     "--- /dev/null\n+++ b/docs/a.md\n@@ -0,0 +1,2 @@\n+one\n+two\n",
		Outcomes: []tool.Outcome{{Path: w.path("docs/a.md"), Data: []byte("one\ntwo\n")}},
	}
	want.Digest = access.Digest
	if diff := cmp.Diff(want, access); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(tool.Result{Text: "wrote docs/a.md (new, 2 lines)", Summary: "new, 2 lines"}, result); diff != "" {
		t.Error(diff)
	}
	if got := w.content("docs/a.md"); got != "one\ntwo\n" {
		t.Errorf("content %q", got)
	}
	// The model has seen its own text: it may write the file again.
	if result := w.ok(Write(), in{"path": "docs/a.md", "content": "one\n2\n"}); result.Summary != "+1 -1" {
		t.Errorf("%+v", result)
	}
	w.fails(Write(), in{"path": "docs/a.md", "content": "one\n2\n"}, "nothing to do")
}

func TestWriteBytesOfNewFiles(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "no newline", "a\r\nb\r\n", "\ufeffmarked", "ä😀"} {
		w := newFileWorld(t, nil)
		w.ok(Write(), in{"path": "f", "content": content})
		if got := w.content("f"); got != content {
			t.Errorf("%q was written as %q", content, got)
		}
	}
}

func TestWriteKeepsForm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, old, content, want string }{
		{"crlf", "a\r\nb\r\n", "a\nc\nd\n", "a\r\nc\r\nd\r\n"},
		{"crlf given", "a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n"},
		{"no newline at the end", "a\r\nb\r\n", "a\nc", "a\r\nc"},
		{"mixed", "a\r\nb\nc\r\nd\n", "a\nb\nX\nd\n", "a\r\nb\nX\r\nd\n"},
		{"mark", "\xef\xbb\xbfa\n", "b\n", "\xef\xbb\xbfb\n"},
		{"mark given", "\xef\xbb\xbfa\n", "\ufeffb\n", "\xef\xbb\xbfb\n"},
		{"utf-16", wide(binary.BigEndian, "a\r\nb"), "ä\nb", wide(binary.BigEndian, "ä\r\nb")},
		{"cr", "a\rb\r", "a\nc\nd\n", "a\rc\rd\r"},
		{"cr given", "a\rb\r", "a\rc\r\nd", "a\rc\rd"},
		{"cr, emptied but for a line", "a\rb\r", "c\n", "c\r"},
		{"cr, mixed", "a\rb\nc\rd\r\ne\r", "a\nb\nX\nd\ne\n", "a\rb\nX\rd\r\ne\r"},
		{"cr, utf-16", wide(binary.BigEndian, "a\rb\r"), "ä\nb\n", wide(binary.BigEndian, "ä\rb\r")},
		{"an empty line behind a cr", "a\rb\nc\rd\r", "a\n\nc\nd\n", "a\r\rc\rd\r"},
		{"lf with a return", "a\n", "b\r\n", "b\r\n"},
		{"returns within lines", "1%\r2%\nb\nc\n", "1%\r2%\nX\nc\n", "1%\r2%\nX\nc\n"},
		{"emptied", "a\r\n", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newFileWorld(t, map[string]string{"f": test.old})
			w.ok(Read(), in{"path": "f"})
			w.ok(Write(), in{"path": "f", "content": test.content})
			if got := w.content("f"); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestWriteMakesNoNamesWithLineBreaks(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"there\n": "x"})
	for _, path := range []string{"a\nb", "a\n", "\tx", "d\r/x", "a\x1b[31m", "a\u0085b"} {
		w.fails(Write(), in{"path": path, "content": "x"}, "holds no line breaks")
	}
	if diff := cmp.Diff([]string{"there\n"}, w.names(".")); diff != "" {
		t.Error(diff)
	}
	w.ok(Read(), in{"path": "there\n"})
	w.ok(Write(), in{"path": "there\n", "content": "y"})
}

func TestWriteOnlyWhatWasRead(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "one\n", "empty": "", "bin": "\x00\x01", "d/x": ""})
	w.fails(Write(), in{"path": "f", "content": "x"}, "was not read yet")
	w.ok(Read(), in{"path": "f", "limit": 1})
	w.put(w.path("f"), "two\n")
	w.fails(Write(), in{"path": "f", "content": "x"}, "has changed since it was read")
	if w.content("f") != "two\n" {
		t.Error("was written")
	}
	w.ok(Read(), in{"path": "f"})
	w.put(w.path("f"), "two\n") // touched, but the same
	w.ok(Write(), in{"path": "f", "content": "x\n"})
	w.ok(Write(), in{"path": "empty", "content": "x\n"})
	w.fails(Write(), in{"path": "bin", "content": "x"}, "binary")
	w.fails(Write(), in{"path": "d", "content": "x"}, "is a directory")
	w.fails(Write(), in{"path": "f/x", "content": "x"}, "not a directory")
	w.fails(Write(), in{"path": "", "content": "x"}, "path is empty")
	w.fails(Write(), in{"path": "f"}, "content")
}

// The last look at the file is right before the rename.
func TestCommitExpectsTheSameFile(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": ""})
	f := w.env.Files
	asIs := func(t files.Place) (change, error) { return writeChange(f, t, writeInput{Path: "f", Content: "new"}) }
	access, err := planChange(f, "write", "f", asIs)
	if err != nil {
		t.Fatal(err)
	}
	w.env.Digest = access.Digest
	_, err = commitChange(w.env, "f", func(t files.Place) (change, error) {
		c, err := asIs(t)
		w.put(w.path("f"), "by somebody else")
		return c, err
	})
	if !errors.Is(err, files.ErrChanged) || w.content("f") != "by somebody else" {
		t.Errorf("error %v, content %q", err, w.content("f"))
	}
}

func TestWriteInGitSaysSo(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{".git/config": ""})
	access, _, err := w.call(Write(), in{"path": ".git/hooks/pre-commit", "content": "x\n"})
	if err != nil || access.Outside || access.Denied || !strings.Contains(access.Why, ".git") {
		t.Errorf("%+v %v", access, err)
	}
}

// The part that every request carries must stay small.
func TestFileToolSpecs(t *testing.T) {
	t.Parallel()
	total := 0
	for _, tool := range []tool.Tool{Read(), Write(), Edit(), Ls()} {
		if len(tool.Description) >= 500 {
			t.Errorf("%s: description has %d bytes", tool.Name, len(tool.Description))
		}
		total += len(tool.Name) + len(tool.Description) + len(tool.Schema())
	}
	if total > 3000 {
		t.Errorf("the file tools take %d bytes", total)
	}
}
