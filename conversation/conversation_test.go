package conversation

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"artoo/provider"

	"github.com/google/go-cmp/cmp"
)

// fullDisk takes room bytes and then no more.
type fullDisk struct {
	File
	path string
	room int // below zero: for all of the next write but so many bytes
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.room < 0 {
		d.room += len(b)
	}
	if d.room >= len(b) {
		d.room -= len(b)
		return d.File.Write(b)
	}
	n, err := d.File.Write(b[:d.room])
	d.room = 0
	return n, errors.Join(err, &os.PathError{Op: "write", Path: d.path, Err: syscall.ENOSPC})
}

func TestFullDiskLeavesMemoryAndFileConsistent(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 1, 40, 200, -2, -1} {
		st := testStore(t)
		s := st.Create(testHeader())
		c := New(Config{}, s)
		add(t, c, user("hello"))
		disk := &fullDisk{s.file, s.Path(), room}
		whole := s.file
		s.file = disk
		err := c.Append(said(provider.RoleAssistant, strings.Repeat("a long answer ", 20)))
		var classified interface {
			ErrorKind() string
			ErrorHint() string
		}
		if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &classified) {
			t.Fatalf("error %v", err)
		}
		if classified.ErrorKind() != "internal" || !strings.Contains(classified.ErrorHint(), "XDG_STATE_HOME") ||
			!strings.Contains(classified.ErrorHint(), "--ephemeral") {
			t.Errorf("kind %q, hint %q", classified.ErrorKind(), classified.ErrorHint())
		}
		if want := "session " + s.Path() + ": " + syscall.ENOSPC.Error(); err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
		if c.MessageCount() != 1 {
			t.Fatalf("%d messages after the failed append", c.MessageCount())
		}
		s.file = whole // space again
		add(t, c, said(provider.RoleAssistant, "short"))
		must(t, c.Sync())
		want := encoded(t, c.Messages())
		must(t, s.Close())

		again, err := st.Open(s.ID())
		must(t, err)
		if got := encoded(t, New(Config{}, again).Messages()); got != want {
			t.Errorf("room %d:\n%s", room, cmp.Diff(want, got))
		}
		if len(again.Notices()) > 0 {
			t.Errorf("room %d: %q", room, again.Notices())
		}
		// A line of which only the end of the line is missing did not break off.
		if torn := strings.Count(readFile(t, s.Path()), `"kind":"`+NoteTorn+`"`); (torn > 0) != (room != 0 && room != -1) {
			t.Errorf("room %d: %d notes of a line that broke off", room, torn)
		}
		must(t, again.Close())
	}
}

func TestUnwritableDirectory(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	file := filepath.Join(t.TempDir(), "file") // blocks everyone, also root
	must(t, os.WriteFile(file, nil, 0o600))
	st.Dir = filepath.Join(file, "sessions")
	s := st.Create(testHeader())
	c := New(Config{}, s)
	err := c.Append(user("hello"))
	var e *Error
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "session "+s.Path()+": ") {
		t.Errorf("error %v", err)
	}
	if c.MessageCount() != 0 || len(c.Messages()) != 0 || c.EstimatedTokens() != 0 {
		t.Error("memory changed")
	}
}

func TestKeptMessagesAreWhatAResumeReads(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{ToolResultMaxChars: 100, OutputDir: s.OutputDir()}, s)
	parts := []provider.Part{
		provider.Reasoning{Text: "hm\u2028", Form: "thinking", Opaque: "c2ln+/="},
		provider.Text{Text: "broken \xff utf-8 <&>"},
		provider.ToolCall{ID: "1", Name: "bash", Input: json.RawMessage("{ \"a\" : 1.0e1,\n \"b\":\"\\u00e9\"}")},
		provider.ToolCall{ID: "2", Name: "bash", Input: json.RawMessage(`{"cut`)},
		provider.ToolCall{ID: "3", Name: "bash"},
	}
	m := provider.Message{Role: provider.RoleAssistant, Provider: "p", Model: "m", Parts: parts}
	add(t, c, user("go"), m)
	addResult(t, c, provider.ToolResult{CallID: "1", Name: "bash", Text: "x\xffy",
		Images: []provider.Image{{MediaType: "image/png", Data: []byte{1, 2}}}})
	addResult(t, c, result("2", strings.Repeat("z\xf0", 300)))
	add(t, c, provider.Message{Role: provider.RoleAssistant})
	if string(m.Parts[2].(provider.ToolCall).Input) != "{ \"a\" : 1.0e1,\n \"b\":\"\\u00e9\"}" {
		t.Error("the caller's message was changed")
	}
	if call := c.Messages()[1].Parts[3].(provider.ToolCall); string(call.Input) != "{}" || call.Raw != `{"cut` {
		t.Errorf("broken call is kept as %+v", call)
	}
	if c.MessageCount() != 4 {
		t.Errorf("%d messages: the empty one counts", c.MessageCount())
	}
	live := c.Messages()
	must(t, s.Close())
	again, err := st.Open(s.ID())
	must(t, err)
	defer again.Close()
	if diff := cmp.Diff(live, New(Config{}, again).Messages()); diff != "" {
		t.Errorf("resumed history differs:\n%s", diff)
	}
}

func TestEphemeral(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	add(t, c, user("hello"), said(provider.RoleAssistant, "hi"))
	must(t, c.RecordUsage("m", provider.Usage{Input: 1}, nil))
	must(t, c.Sync())
	if c.Session() != nil || c.MessageCount() != 2 {
		t.Error("not as it should be")
	}
}

func TestMessagesAreACopy(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	add(t, c, user("one"))
	got := c.Messages()
	got[0] = user("changed")
	add(t, c, said(provider.RoleAssistant, "two"))
	if c.Messages()[0].Text() != "one" || len(got) != 1 {
		t.Error("the history can be changed from outside")
	}
}

// TestAResumedSessionIsMasked: a session may be older than the known keys.
func TestAResumedSessionIsMasked(t *testing.T) {
	t.Parallel()
	st := Store{Dir: t.TempDir()}
	s := st.Create(Header{})
	c := New(Config{}, s)
	must(t, c.Append(provider.UserText("the KEY")))
	must(t, c.Append(provider.Message{Role: provider.RoleAssistant,
		Parts: []provider.Part{provider.Text{Text: "KEY"}, provider.ToolCall{ID: "1", Name: "read", Input: []byte(`{}`)}}}))
	_, err := c.AppendToolResult(provider.ToolResult{CallID: "1", Name: "read", Text: "a KEY b"})
	must(t, err)
	must(t, s.Close())
	again, err := st.Open(s.ID())
	must(t, err)
	got := New(Config{Mask: func(text string) string { return strings.ReplaceAll(text, "KEY", "mark") }}, again).Messages()
	must(t, again.Close())
	result := got[2].Parts[0].(provider.ToolResult)
	if got[0].Text() != "the mark" || got[1].Text() != "KEY" || result.Text != "a mark b" || result.CallID != "1" {
		t.Errorf("%+v", got)
	}
}
