package conversation

import (
	"fmt"
	"strings"
	"testing"

	"artoo/provider"
)

// work is n steps: an edit of a file, or a command that fails, in turn.
func work(t testing.TB, c *Conversation, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		r := result(fmt.Sprint("w", i), strings.Repeat("out ", 400))
		if i%2 == 0 {
			r.Effect = &provider.Effect{Files: []string{fmt.Sprintf("file%d.go", i)}}
		} else {
			r.Effect = &provider.Effect{Command: fmt.Sprintf("go test ./p%d\necho", i), End: "exit 1"}
		}
		add(t, c, calling(strings.Repeat("thinking aloud ", 20), r.CallID))
		addResult(t, c, r)
	}
}

// notes are those after the user's messages.
func notes(c *Conversation) (all []string) {
	for _, it := range c.items {
		if it.note != "" {
			all = append(all, it.note)
		}
	}
	return all
}

func TestALineTellsWhatWasDoneInStepsThatWereLeftOut(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{MaxContextTokens: 1500}, s)
	add(t, c, user("the first task"))
	work(t, c, 0, 6)
	trimmed, err := c.Trim()
	must(t, err)
	if trimmed.Steps != 3 {
		t.Fatalf("%+v", trimmed)
	}
	want := "[What you did and answered next was left out to save room. In all that was left out so far you changed file0.go, file2.go, and you ran go test ./p1 … (exit 1), and you said: thinking aloud thinking aloud thinking aloud thinking aloud thinking aloud thinking aloud thinking aloud thinking aloud….]"
	if got := notes(c); len(got) != 1 || got[0] != want || !strings.HasSuffix(c.Messages()[0].Text(), want) {
		t.Errorf("%q", got)
	}

	// Steps left out later are noted in the same place, with the earlier ones.
	add(t, c, user("the second task"))
	work(t, c, 6, 6)
	_, err = c.Trim()
	must(t, err)
	want2 := "[What you did and answered next was left out to save room. In all that was left out so far you changed file0.go, file2.go, file4.go, file6.go, file8.go, and you ran 1 other command; go test ./p3 … (exit 1); go test ./p5 … (exit 1); go test ./p7 … (exit 1), and you said: thinking aloud thinking aloud thinking aloud thinking aloud thinking aloud thinking aloud thinking aloud thinking aloud….]"
	got := notes(c)
	if len(got) != 2 || got[0] != "["+stepsLeftOut+"]" || got[1] != want2 {
		t.Errorf("%q", got)
	}

	// A resumed session sends the same, and goes on from there.
	sent := encoded(t, c.Messages())
	must(t, s.Close())
	s, err = st.Open(s.ID())
	must(t, err)
	c = New(Config{MaxContextTokens: 1500}, s)
	if encoded(t, c.Messages()) != sent {
		t.Errorf("resumed:\n%s\nwant\n%s", encoded(t, c.Messages()), sent)
	}
	work(t, c, 12, 4)
	_, err = c.Trim()
	must(t, err)
	if got = notes(c); len(got) != 2 || !strings.Contains(got[1], "file8.go, file10.go, file12.go") {
		t.Errorf("%q", got)
	}
	must(t, s.Close())
}

// In a window where even the user's old messages go, the note on past work stays.
func TestTheLineOutlivesTheMessageItStoodBehind(t *testing.T) {
	t.Parallel()
	c := New(Config{MaxContextTokens: 1000}, nil)
	add(t, c, user(strings.Repeat("the first task ", 60)))
	work(t, c, 0, 5)
	_, err := c.Trim()
	must(t, err)
	add(t, c, said(provider.RoleAssistant, "done"), user(strings.Repeat("the second task ", 150)))
	trimmed, err := c.Trim()
	must(t, err)
	got := notes(c)
	if trimmed.Messages != 1 || len(got) != 1 || !strings.HasPrefix(got[0],
		"["+messagesLeftOut+" In all that was left out so far you changed ") || !strings.Contains(got[0], "file2.go") {
		t.Errorf("%+v: %q", trimmed, got)
	}
}

// The steps before the first message that is left have none to stand behind.
func TestTheLineIsToldOfStepsWithoutAMessageBeforeThem(t *testing.T) {
	t.Parallel()
	c := New(Config{MaxContextTokens: 1500}, nil)
	add(t, c, user("a task"), user("another"))
	work(t, c, 0, 4)
	add(t, c, said(provider.RoleAssistant, "done"), user("and now"))
	work(t, c, 4, 1)
	c.items = c.items[2:] // as after a trim that left the old messages out
	c.size = sizeOfAll(c.items)
	trimmed, err := c.Trim()
	must(t, err)
	want := "[" + messagesLeftOut + " In all that was left out so far you changed file0.go"
	if got := notes(c); trimmed.Steps == 0 || len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("%+v: %q", trimmed, got)
	}

	// It moves on when its message goes, past those that add nothing to that.
	p := &planner{c: c, past: c.past, trimming: trimming{before: 9000, limit: 8000}}
	first := newItem("x", user("first"))
	first.note = "[" + stepsLeftOut + " In all that was left out so far you changed file0.go.]"
	second := newItem("y", user("second"))
	second.note = "[" + stepsLeftOut + "]"
	p.items = []item{first, second}
	p.size = sizeOfAll(p.items)
	p.oldUsers(true)
	if len(p.items) != 1 || !strings.Contains(p.items[0].note, "you changed file0.go") {
		t.Errorf("%+v", p.items)
	}
}

func TestTheLineOfWhatWasDoneIsBounded(t *testing.T) {
	t.Parallel()
	var d pastWork
	for i := range 1000 {
		d = d.and(provider.Effect{Files: []string{fmt.Sprintf("dir/file%d.go", i%200)},
			Command: fmt.Sprintf("make %d %s", i%100, strings.Repeat("x", 500)), End: "exit 0"})
	}
	if len(d.Files) != pastFiles || len(d.Commands) != pastCommands {
		t.Errorf("%d files, %d commands", len(d.Files), len(d.Commands))
	}
	for _, most := range []int{0, 400, 1 << 20} {
		got := d.text(most)
		if len(got) > min(max(most, pastLeast), pastMost)+200 || !strings.Contains(got, "dir/file199.go") ||
			!strings.Contains(got, "make 99 xxx") || !strings.Contains(got, " other files") {
			t.Errorf("%d: %d bytes: %s", most, len(got), got)
		}
	}
	if got := (pastWork{}).text(1000); got != "" {
		t.Errorf("%q", got)
	}
}

// A trim is to last for ten steps like the last ten, however large the window.
func TestATrimLeavesRoomForTenSteps(t *testing.T) {
	t.Chdir(t.TempDir()) // the lines of shrunk results name their files: wherever it runs, in as many words
	c := New(Config{MaxContextTokens: 20_000, OutputDir: "out"}, nil)
	long(t, c, 30, 2600) // 20 times 770 tokens and more
	trimmed, err := c.Trim()
	must(t, err)
	if trimmed.Steps+trimmed.Recent != 0 || trimmed.After > 20_000-10*750 {
		t.Errorf("%+v", trimmed)
	}
	for i := range 10 {
		id := fmt.Sprint("more", i)
		add(t, c, calling("", id))
		addResult(t, c, result(id, strings.Repeat("a line with out\n", 2600/16)))
		if again, err := c.Trim(); err != nil || again != (Trimmed{}) {
			t.Errorf("step %d: %+v, %v", i, again, err)
		}
	}
}
