package conversation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/tool/sweep"

	"github.com/google/go-cmp/cmp"
)

const testSummary = "## Goal\nfix the shop\n## Decisions\nnone\n## Files\nweek.go\n## State\ndone\n## Next\nnone"

// sumUp puts testSummary in the place of all that is old.
func sumUp(t testing.TB, c *Conversation, between bool) Compacted {
	t.Helper()
	old := c.Old(between)
	if len(old.Messages) == 0 {
		t.Fatal("nothing is old")
	}
	did, err := c.Summarize(old, testSummary)
	must(t, err)
	return did
}

// talk is a conversation of n turns with two steps each.
func talk(t testing.TB, c *Conversation, from, n, size int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		add(t, c, user(fmt.Sprint("question ", i)), calling("", fmt.Sprint("c", i)))
		r := result(fmt.Sprint("c", i), strings.Repeat("a line with out\n", size/16))
		r.Effect = &provider.Effect{Files: []string{fmt.Sprint("f", i, ".go")}, Command: fmt.Sprint("make t", i), End: "exit 0"}
		addResult(t, c, r)
		add(t, c, said(provider.RoleAssistant, fmt.Sprint("answer ", i)))
	}
}

func texts(messages []provider.Message) (all string) {
	for _, m := range messages {
		all += m.Text() + "\n"
	}
	return all
}

func TestASummaryTakesThePlaceOfWhatIsOld(t *testing.T) {
	t.Parallel()
	for _, onDisk := range []bool{false, true} {
		st := testStore(t)
		var s *Session
		if onDisk {
			s = st.Create(testHeader())
		}
		cfg := Config{MaxContextTokens: 20_000, OutputDir: t.TempDir()}
		c := New(cfg, s)
		talk(t, c, 0, 10, 3500)
		before := encoded(t, c.Messages())
		did := sumUp(t, c, false)
		got := c.Messages()
		if did.Messages != 26 || did.After >= did.Before/2 || did.After != c.EstimatedTokens() {
			t.Errorf("%+v, %d tokens", did, c.EstimatedTokens())
		}
		if sum := sizeOfAll(c.items); sum != c.size {
			t.Errorf("the size is %+v, not %+v", sum, c.size)
		}
		// Nine of the user's messages, the summary, and the last three steps: the answer
		// before the last message of the user, that message, two steps.
		if len(got) != 9+1+1+1+3 {
			t.Fatalf("%d messages: %s", len(got), encoded(t, got))
		}
		for i := range 9 {
			if text := got[i].Text(); text != fmt.Sprint("question ", i) {
				t.Errorf("message %d of the user is %q", i, text)
			}
		}
		summary := got[9].Text()
		if !got[9].Own() || !strings.HasSuffix(summary, testSummary) ||
			!strings.Contains(summary, "f8.go") || !strings.Contains(summary, "make t8 (exit 0)") {
			t.Errorf("the summary is %q", summary)
		}
		if got[10].Text() != "answer 8" || got[14].Text() != "answer 9" {
			t.Errorf("the last steps are %s", encoded(t, got[10:]))
		}
		compacted := encoded(t, got)
		if onDisk {
			must(t, s.Close())
			again, err := st.Open(s.ID())
			must(t, err)
			if len(again.Notices()) > 0 || len(again.Messages()) != 41 { // the summary is one
				t.Errorf("%q, %d messages", again.Notices(), len(again.Messages()))
			}
			c = New(cfg, again)
			if diff := cmp.Diff(compacted, encoded(t, c.Messages())); diff != "" {
				t.Errorf("resumed: %s", diff)
			}
		}
		back, ok, err := c.Uncompact()
		must(t, err)
		if !ok || back.Messages != 26 || encoded(t, c.Messages()) != before {
			t.Errorf("%v, %+v\n%s", ok, back, cmp.Diff(before, encoded(t, c.Messages())))
		}
		if _, ok, err := c.Uncompact(); ok || err != nil {
			t.Errorf("taken back twice: %v", err)
		}
		if !onDisk {
			continue
		}
		must(t, c.Session().Close())
		again, err := st.Open(s.ID())
		must(t, err)
		if got := encoded(t, New(cfg, again).Messages()); got != before {
			t.Errorf("resumed: %s", cmp.Diff(before, got))
		}
		must(t, again.Close())
	}
}

func TestASummaryIsSummedUpWithTheRest(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	cfg := Config{MaxContextTokens: 20_000, OutputDir: s.OutputDir()}
	c := New(cfg, s)
	var were []string
	for n := range 3 {
		talk(t, c, 10*n, 10, 3500)
		were = append(were, encoded(t, c.Messages()))
		if old := c.Old(false); n > 0 && !strings.Contains(texts(old.Messages), testSummary) {
			t.Error("the summary is no part of what is summed up next")
		}
		sumUp(t, c, false)
	}
	if n := strings.Count(texts(c.Messages()), summaryHead); n != 1 {
		t.Errorf("%d summaries are sent", n)
	}
	must(t, s.Sync())
	forked, err := st.Fork(s.ID(), 1)
	must(t, err)
	if got := encoded(t, New(cfg, forked).Messages()); strings.Contains(got, "question 29") ||
		strings.Count(got, "Summary, no message") > 1 {
		t.Errorf("without the last message it sends %s", got)
	}
	must(t, s.Close())
	for n := 2; n >= 0; n-- { // each in a process of its own
		s, err = st.Open(s.ID())
		must(t, err)
		c = New(cfg, s)
		_, ok, err := c.Uncompact()
		must(t, err)
		if !ok || !strings.HasPrefix(encoded(t, c.Messages())+"]", strings.TrimSuffix(were[n], "]")) {
			t.Errorf("%d: %s", n, cmp.Diff(were[n], encoded(t, c.Messages())))
		}
		must(t, s.Close())
	}
}

func TestWhatWasSaidSinceFollowsWhatComesBack(t *testing.T) {
	t.Parallel()
	c := New(Config{MaxContextTokens: 20_000}, nil)
	talk(t, c, 0, 10, 3500)
	before := c.Messages()
	sumUp(t, c, true)
	talk(t, c, 10, 2, 100)
	if _, err := c.TrimHard(true); err != nil {
		t.Fatal(err)
	}
	_, ok, err := c.Uncompact()
	must(t, err)
	got := c.Messages()
	if !ok || encoded(t, got[:len(before)]) != encoded(t, before) || !strings.Contains(texts(got[len(before):]), "question 11") {
		t.Errorf("%v: %s", ok, encoded(t, got))
	}
}

func TestATrimAtTheUsersWishCanBeTakenBack(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	cfg := Config{MaxContextTokens: 20_000, OutputDir: s.OutputDir()}
	c := New(cfg, s)
	talk(t, c, 0, 10, 3500)
	before := encoded(t, c.Messages())
	if did, err := c.Compact(); err != nil || did.Results == 0 {
		t.Fatalf("%+v, %v", did, err)
	}
	small := encoded(t, c.Messages())
	must(t, s.Close())
	s, err := st.Open(s.ID())
	must(t, err)
	c = New(cfg, s)
	if got := encoded(t, c.Messages()); got != small {
		t.Errorf("resumed: %s", cmp.Diff(small, got))
	}
	if _, ok, err := c.Uncompact(); !ok || err != nil || encoded(t, c.Messages()) != before {
		t.Errorf("%v, %v: %s", ok, err, cmp.Diff(before, encoded(t, c.Messages())))
	}
	must(t, s.Close())
}

func TestTheUsersMessagesStayAsFarAsThereIsRoom(t *testing.T) {
	t.Parallel()
	c := New(Config{MaxContextTokens: 8000, OutputDir: t.TempDir()}, nil)
	add(t, c, user("short"), said(provider.RoleAssistant, "yes"))
	add(t, c, user(strings.Repeat("a long message ", 1500)), said(provider.RoleAssistant, "no"))
	talk(t, c, 0, 4, 2000)
	add(t, c, user("latest "+strings.Repeat("of all ", 500)))
	sumUp(t, c, false)
	got := c.Messages()
	if got[0].Text() != "short" || len(got[1].Text()) > 12_000 || !strings.Contains(got[1].Text(), "a long message") {
		t.Errorf("the first are %q, %.200q", got[0].Text(), got[1].Text())
	}
	if last := got[len(got)-1].Text(); len(last) < 3500 {
		t.Errorf("the latest is %q", last)
	}
}

func TestNothingIsOldEnoughToSumUp(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(c *Conversation){
		"empty":        func(*Conversation) {},
		"one message":  func(c *Conversation) { add(t, c, user("hello")) },
		"one step":     func(c *Conversation) { long(t, c, 1, 40_000) },
		"little":       func(c *Conversation) { talk(t, c, 0, 8, 16) },
		"three in use": func(c *Conversation) { long(t, c, 3, 8000) },
	} {
		c := New(Config{MaxContextTokens: 20_000}, nil)
		fill(c)
		if old := c.Old(false); len(old.Messages) > 0 {
			t.Errorf("%s: %+v", name, old)
		}
		if old := c.Old(true); len(old.Messages) > 0 && name != "three in use" {
			t.Errorf("%s, between turns: %+v", name, old)
		}
	}
}

// Between turns the last three steps stay, unless nothing else would be old or they are
// large; the very last stays always.
func TestBetweenTurnsTheLastStepsMayBeOld(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ steps, size, old int }{
		{1, 8000, 0}, {2, 8000, 3}, {3, 8000, 5}, {4, 8000, 3}, {8, 8000, 11}, {8, 40_000, 13},
	} {
		c := New(Config{MaxContextTokens: 100_000}, nil)
		long(t, c, row.steps, row.size)
		if old := c.Old(true); len(old.Messages) != row.old {
			t.Errorf("%d steps of %d bytes: %d messages are old, want %d", row.steps, row.size, len(old.Messages), row.old)
		}
	}
}

func TestASummaryWithoutGainChangesNothing(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{MaxContextTokens: 20_000, OutputDir: s.OutputDir()}, s)
	talk(t, c, 0, 6, 1600)
	before, tokens, file := encoded(t, c.Messages()), c.EstimatedTokens(), readFile(t, s.Path())
	if did, err := c.Summarize(c.Old(false), strings.Repeat("and so on, ", 5000)); !errors.Is(err, ErrNoGain) {
		t.Errorf("%+v, %v", did, err)
	}
	// One that cannot be written neither.
	disk := s.file
	s.file = &fullDisk{disk, s.Path(), 10}
	if did, err := c.Summarize(c.Old(false), testSummary); err == nil || did != (Compacted{}) {
		t.Errorf("%+v on a full disk", did)
	}
	s.file = disk
	if encoded(t, c.Messages()) != before || c.EstimatedTokens() != tokens || !strings.HasPrefix(readFile(t, s.Path()), file) {
		t.Error("something changed")
	}
	if _, ok, err := c.Uncompact(); ok || err != nil {
		t.Errorf("there is something to take back: %v", err)
	}
	must(t, s.Close())
}

// TestASummaryForAMessageGoesWithIt: a message that does not fit even so is withdrawn,
// and the messages summed up for it are back.
func TestASummaryForAMessageGoesWithIt(t *testing.T) {
	t.Parallel()
	c := New(Config{MaxContextTokens: 20_000}, nil)
	talk(t, c, 0, 6, 3500)
	before := encoded(t, c.Messages())
	add(t, c, user("one more"))
	sumUp(t, c, false)
	if _, restored, err := c.Withdraw(); !restored || err != nil || encoded(t, c.Messages()) != before {
		t.Errorf("%v, %v", restored, err)
	}
	if _, ok, _ := c.Uncompact(); ok {
		t.Error("what is withdrawn can be taken back")
	}
}

// TestWhatTheProgramSaysLeavesASummaryAlone: a new note replaces the one before.
func TestWhatTheProgramSaysLeavesASummaryAlone(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	talk(t, c, 0, 10, 1600)
	sumUp(t, c, true)
	must(t, c.Remind("few steps are left"))
	must(t, c.Remind("fewer are"))
	if got := texts(c.Messages()); !strings.Contains(got, testSummary) || strings.Contains(got, "few steps") {
		t.Errorf("sent %q", got)
	}
}

// TestWhatTheProgramSaidComesBackOnce: the reminder of before a compaction is not sent
// beside the one that took its place.
func TestWhatTheProgramSaidComesBackOnce(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	talk(t, c, 0, 5, 1600)
	must(t, c.Remind("the list is old"))
	talk(t, c, 5, 5, 1600)
	sumUp(t, c, true)
	must(t, c.Remind("the list is new"))
	if _, ok, err := c.Uncompact(); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if got := texts(c.Messages()); strings.Contains(got, "the list is old") || !strings.Contains(got, "the list is new") {
		t.Errorf("sent %q", got)
	}
	if sum := sizeOfAll(c.items); sum != c.size {
		t.Errorf("the size is %+v, not %+v", c.size, sum)
	}
}

func TestOnlyTheLastCompactionsAreHeld(t *testing.T) {
	t.Parallel()
	c := New(Config{}, nil)
	for n := range keptCompactions + 3 {
		talk(t, c, 10*n, 10, 1600)
		sumUp(t, c, true)
	}
	for n := range keptCompactions {
		if _, ok, err := c.Uncompact(); !ok || err != nil {
			t.Fatalf("%d: %v, %v", n, ok, err)
		}
	}
	if _, ok, _ := c.Uncompact(); ok {
		t.Error("more are held")
	}
}

// TestOfALongSessionATrimOfWhatCameBackDoesNotHold: undone messages are sent again, also those that a trim left out
// meanwhile, read as a whole or not.
func TestOfALongSessionATrimOfWhatCameBackDoesNotHold(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{}, s)
	talk(t, c, 0, 20, 3200)
	sumUp(t, c, false)
	talk(t, c, 20, 10, 3200)
	sumUp(t, c, false)
	talk(t, c, 30, 10, 3200)
	if did, err := c.TrimHard(true); err != nil || did.Results == 0 {
		t.Fatalf("%+v, %v", did, err)
	}
	_, ok, err := c.Uncompact()
	if !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	want := encoded(t, c.Messages())
	must(t, s.Close())
	for _, live := range []int{0, 110_000} { // the file has more
		st.live = live
		s, err := st.Open(s.ID())
		must(t, err)
		if got := encoded(t, New(Config{}, s).Messages()); got != want || len(s.Notices()) > 0 {
			t.Errorf("of %d bytes: %q: %s", live, s.Notices(), cmp.Diff(want, got))
		}
		must(t, s.Close())
	}
}

// TestOfALongSessionTheLastCompactionComesBack: its omitted messages are read although they are not sent, and those of
// older ones are not.
func TestOfALongSessionTheLastCompactionComesBack(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{}, s)
	var before string
	for n := range 4 {
		talk(t, c, 10*n, 10, 3200)
		before = encoded(t, c.Messages())
		sumUp(t, c, false)
	}
	want := encoded(t, c.Messages())
	must(t, s.Close())
	st.live = 70_000 // a third of the file
	s, err := st.Open(s.ID())
	must(t, err)
	if len(s.Notices()) > 0 {
		t.Errorf("notices %q", s.Notices())
	}
	c = New(Config{}, s)
	if got := encoded(t, c.Messages()); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if _, ok, err := c.Uncompact(); !ok || err != nil || encoded(t, c.Messages()) != before {
		t.Errorf("%v, %v: %s", ok, err, cmp.Diff(before, encoded(t, c.Messages())))
	}
	if _, ok, _ := c.Uncompact(); ok {
		t.Error("one came back whose messages were not read")
	}
	must(t, s.Close())
	again, err := st.Open(s.ID())
	must(t, err)
	if got := encoded(t, New(Config{}, again).Messages()); got != before {
		t.Errorf("resumed: %s", cmp.Diff(before, got))
	}
	must(t, again.Close())
}

// TestAnOlderArtooSendsMore: it skips the lines that it does not know and says so; the rest is a whole history.
func TestAnOlderArtooSendsMore(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{}, s)
	talk(t, c, 0, 10, 1600)
	before := encoded(t, c.Messages())
	sumUp(t, c, true)
	must(t, s.Close())
	file := strings.Replace(readFile(t, s.Path()), `{"type":"compact"`, `{"type":"a new type"`, 1)
	must(t, os.WriteFile(s.Path(), []byte(file), 0o600))
	s, err := st.Open(s.ID())
	must(t, err)
	if got := encoded(t, New(Config{}, s).Messages()); got != before || len(s.Notices()) != 1 {
		t.Errorf("%q, %s", s.Notices(), cmp.Diff(before, got))
	}
	must(t, s.Close())
}

func TestKeysThatAreKnownSinceAreMaskedInASummary(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{}, s)
	talk(t, c, 0, 10, 1600)
	_, err := c.Summarize(c.Old(true), testSummary+" the word is hunter2")
	must(t, err)
	must(t, s.Close())
	s, err = st.Open(s.ID())
	must(t, err)
	c = New(Config{Mask: func(text string) string { return strings.ReplaceAll(text, "hunter2", "MARK") }}, s)
	if got := texts(c.Messages()); strings.Contains(got, "hunter2") || !strings.Contains(got, "the word is MARK") {
		t.Errorf("sent %q", got)
	}
	must(t, s.Close())
}

// compact sums up or undoes, and checks the reported numbers.
func (s *script) compact(op int) {
	c := s.c
	if op&8 != 0 {
		if op&16 == 0 {
			s.trim(c.Compact, float64(c.EstimatedTokens()))
			return
		}
		_, _, err := c.Uncompact()
		must(s.t, err)
		s.check()
		return
	}
	old := c.Old(op&16 != 0)
	if len(old.Messages) == 0 {
		return
	}
	before := c.EstimatedTokens()
	did, err := c.Summarize(old, s.text())
	if errors.Is(err, ErrNoGain) {
		return
	}
	must(s.t, err)
	if sum := sizeOfAll(c.items); sum != c.size || did.Before != before || did.After != c.EstimatedTokens() {
		s.t.Fatalf("%+v, %d -> %d tokens, size %+v and %+v", did, before, c.EstimatedTokens(), c.size, sum)
	}
	s.check()
}

// TestAnyCompaction sums up, trims and takes back in any order: the history stays one that models take, and a resumed
// session sends the same, also where only its live part is read.
func TestAnyCompaction(t *testing.T) {
	t.Parallel()
	seeds := append(sweep.Cases(t, 8, 60), 2965, 5289) // and a trim within two compactions that are both undone
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 13))
			data := make([]byte, 50+r.IntN(300))
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			st := testStore(t)
			session := st.Create(testHeader())
			cfg := Config{MaxContextTokens: 3000, ToolResultMaxChars: 3000, OutputDir: session.OutputDir()}
			s := &script{t: t, data: data, c: New(cfg, session), compacts: true}
			s.run()
			want := encoded(t, s.c.Messages())
			must(t, session.Close())
			for range 2 {
				again, err := st.Open(session.ID())
				must(t, err)
				if len(again.Notices()) > 0 {
					t.Errorf("notices %q", again.Notices())
				}
				if got := encoded(t, New(cfg, again).Messages()); got != want {
					t.Fatal(cmp.Diff(want, got))
				}
				must(t, again.Close())
				st.live = 20 * len(want)
			}
		})
	}
}
