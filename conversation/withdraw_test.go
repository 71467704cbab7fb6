package conversation

import (
	"os"
	"strings"
	"testing"
)

func TestAMessageThatDoesNotFitCostsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := New(Config{MaxContextTokens: 10_000, OutputDir: dir}, nil)
	long(t, c, 9, 3500)
	before, tokens := encoded(t, c.Messages()), c.EstimatedTokens()
	add(t, c, user(strings.Repeat("giant ", 20_000)))
	with := encoded(t, c.Messages())
	for _, trim := range []func() (Trimmed, error){c.Trim, func() (Trimmed, error) { return c.TrimHard(true) }} {
		if trimmed, err := trim(); err == nil || trimmed != (Trimmed{}) || encoded(t, c.Messages()) != with {
			t.Errorf("%+v, %v", trimmed, err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%d files are left, %v", len(files), err)
		}
	}
	withdrawn, restored, err := c.Withdraw()
	must(t, err)
	if !withdrawn || restored || encoded(t, c.Messages()) != before || c.EstimatedTokens() != tokens {
		t.Errorf("withdrawn %v, restored %v, %d tokens of %d", withdrawn, restored, c.EstimatedTokens(), tokens)
	}
	if withdrawn, _, err := c.Withdraw(); withdrawn || err != nil {
		t.Errorf("twice: %v, %v", withdrawn, err)
	}
}

// It fitted by the estimate, old steps went for it, and the server refuses it.
func TestWhatWasTrimmedForAMessageComesBackWithIt(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{MaxContextTokens: 10_000, OutputDir: s.OutputDir()}, s)
	long(t, c, 9, 3500)
	must(t, s.Sync())
	before, tokens, turn := encoded(t, c.Messages()), c.EstimatedTokens(), s.turn
	add(t, c, user(strings.Repeat("much ", 3000)))
	if trimmed, err := c.Trim(); err != nil || trimmed.Results == 0 {
		t.Fatalf("%+v, %v", trimmed, err)
	}

	// A line that cannot be written changes nothing.
	file, now := s.file, encoded(t, c.Messages())
	s.file = &fullDisk{file, s.Path(), 10}
	if withdrawn, _, err := c.Withdraw(); withdrawn || err == nil || encoded(t, c.Messages()) != now {
		t.Errorf("on a full disk: %v, %v", withdrawn, err)
	}
	s.file = file

	withdrawn, restored, err := c.Withdraw()
	must(t, err)
	if !withdrawn || !restored || encoded(t, c.Messages()) != before || c.EstimatedTokens() != tokens || s.turn != turn {
		t.Errorf("withdrawn %v, restored %v, %d tokens of %d, turn %+v", withdrawn, restored, c.EstimatedTokens(),
			tokens, s.turn)
	}
	must(t, s.Close()) // as after kill -9: nothing follows
	for _, more := range []string{"", "a message that follows"} {
		s, err = st.Open(s.ID())
		must(t, err)
		c = New(Config{MaxContextTokens: 10_000, OutputDir: s.OutputDir()}, s)
		if got := encoded(t, c.Messages()); got != before {
			t.Errorf("resumed with\n%.300s\nwant\n%.300s", got, before)
		}
		if more != "" {
			add(t, c, user(more))
		}
		must(t, s.Close())
	}
	s, err = st.Open(s.ID())
	must(t, err)
	c = New(Config{}, s)
	messages := c.Messages()
	if last := messages[len(messages)-1].Text(); last != "a message that follows" || len(messages) != 20 ||
		!strings.Contains(readFile(t, s.Path()), "much much") {
		t.Errorf("%d messages, the last %q", len(messages), last)
	}
	must(t, s.Close())
}

func TestTheFirstMessageCanBeWithdrawn(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{}, s)
	add(t, c, user("too long"))
	withdrawn, _, err := c.Withdraw()
	must(t, err)
	if !withdrawn || c.MessageCount() != 0 {
		t.Errorf("%v, %d messages", withdrawn, c.MessageCount())
	}
	add(t, c, user("short"))
	must(t, s.Close())
	s, err = st.Open(s.ID())
	must(t, err)
	if got := New(Config{}, s).Messages(); len(got) != 1 || got[0].Text() != "short" || len(s.Notices()) > 0 {
		t.Errorf("%+v, %q", got, s.Notices())
	}
	must(t, s.Close())
}

func TestAnAnsweredMessageIsNotWithdrawn(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	add(t, c, user("one"), calling("", "c1"))
	if withdrawn, _, err := c.Withdraw(); withdrawn || err != nil || c.MessageCount() != 2 {
		t.Errorf("%v, %v, %d messages", withdrawn, err, c.MessageCount())
	}
}
