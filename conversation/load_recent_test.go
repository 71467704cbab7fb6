package conversation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/tool/sweep"

	"github.com/google/go-cmp/cmp"
)

// TestAnyLongSessionSendsWhatItSent goes on with sessions of which only the live part is
// read: they send the same as before, whatever happened in them.
func TestAnyLongSessionSendsWhatItSent(t *testing.T) {
	t.Parallel()
	for _, seed := range sweep.Cases(t, 4, 24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 11))
			data := make([]byte, 50+r.IntN(300))
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			st := testStore(t)
			session := st.Create(testHeader())
			cfg := Config{MaxContextTokens: 2000, ToolResultMaxChars: 3000, OutputDir: session.OutputDir()}
			s := &script{t: t, data: data, c: New(cfg, session)}
			s.run()
			// Messages after the last trim are sent, so they have to be live.
			_, err := s.c.TrimHard(true)
			if err != nil && !isFull(err) {
				t.Fatal(err)
			}
			want := encoded(t, s.c.Messages())
			must(t, session.Close())
			st.live = len(want) * 4 // Results in the file are longer than their sent forms.
			again, err := st.Open(session.ID())
			must(t, err)
			if again.UserCount() != len(usersOf(s.said)) {
				t.Errorf("%d messages of the user, %d were written", again.UserCount(), len(usersOf(s.said)))
			}
			if got := encoded(t, New(cfg, again).Messages()); got != want {
				t.Error(cmp.Diff(want, got))
			}
			must(t, again.Close())
		})
	}
}

// TestWhatNoWindowHoldsIsLeftOut goes on with a session that was never trimmed and is longer than the part read of one:
// the oldest steps are omitted permanently, the user's messages last, and the file keeps them all.
func TestWhatNoWindowHoldsIsLeftOut(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{}, s)
	for i := range 40 {
		add(t, c, user(fmt.Sprint("question ", i)), calling("I look.", fmt.Sprint("c", i)))
		r := result(fmt.Sprint("c", i), lines(20))
		r.Effect = &provider.Effect{Command: fmt.Sprint("make step", i), End: "exit 0"}
		addResult(t, c, r)
		add(t, c, said(provider.RoleAssistant, fmt.Sprint("answer ", i)))
	}
	must(t, c.Sync())
	must(t, s.Close())
	st.live = 10_000
	again, err := st.Open(s.ID())
	must(t, err)
	if n := again.Notices(); len(n) != 1 || !strings.Contains(n[0], "left out of the request") {
		t.Errorf("notices %q", n)
	}
	c = New(Config{}, again)
	before := c.Messages()
	if len(before) < 20 || len(before) > 80 || before[0].Role != provider.RoleUser {
		t.Fatalf("%d messages, the first is %+v", len(before), before[0])
	}
	if m, err := again.UserMessage(3); err != nil || m.Text() != "question 3" {
		t.Errorf("%+v, %v", m, err)
	}
	if done := c.past.text(pastMost); !strings.Contains(done, "make step") {
		t.Errorf("what was done is %q", done)
	}
	add(t, c, user("go on"))
	want := encoded(t, c.Messages())
	must(t, c.Sync())
	must(t, again.Close())

	forked, err := st.Fork(s.ID(), 0)
	must(t, err)
	f := New(Config{}, forked)
	if got := encoded(t, f.Messages()); got != want {
		t.Error(cmp.Diff(want, got))
	}
	add(t, f, user("and on"))
	must(t, forked.Close())
	for i, id := range []string{s.ID(), forked.ID()} {
		st.live = 0 // the line in the file decides for every reader
		resumed, err := st.Open(id)
		must(t, err)
		got := New(Config{}, resumed).Messages()
		if got := encoded(t, got[:len(got)-i]); got != want || len(resumed.Notices()) > 0 {
			t.Errorf("%s: %q\n%s", id, resumed.Notices(), cmp.Diff(want, got))
		}
		must(t, resumed.Close())
		whole, err := st.Read(id)
		must(t, err)
		if n := len(whole.Messages()); n != 161+i {
			t.Errorf("%s: %d messages in the file", id, n)
		}
	}
}
