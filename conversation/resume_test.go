package conversation

import (
	"strings"
	"testing"

	"artoo/provider"
)

// TestAResumedSessionKnowsTheBytesOfAToken: small models of one's own count a token
// a byte. A session that forgot it with every `artoo -c` would promise room for
// three times the room there is.
func TestAResumedSessionKnowsTheBytesOfAToken(t *testing.T) {
	t.Parallel()
	store := testStore(t)
	s := store.Create(testHeader())
	c := New(Config{}, s)
	overhead(c, 1500)
	for range 6 {
		add(t, c, user("tell me "+strings.Repeat("more ", 40)))
		c.Messages()
		count := provider.Usage{Input: 1500 + c.size.bytes, Output: 30}
		c.Observe(count)
		must(t, c.RecordUsage("tiny", count, nil))
		add(t, c, said(provider.RoleAssistant, "one short answer, no more than that"))
	}
	must(t, s.Close())

	s, err := store.Open(s.ID())
	must(t, err)
	defer func() { must(t, s.Close()) }()
	again := New(Config{}, s)
	overhead(again, 1500)
	paste := user(strings.Repeat("x", 8000))
	add(t, again, paste)
	if got := again.EstimatedTokens(); got < 8000 {
		t.Errorf("the paste and all before it are %d tokens, want more than its 8,000 bytes", got)
	}
	if got := again.Bytes(1000); got > 1300 {
		t.Errorf("1,000 tokens are %d bytes", got)
	}
	before := again.EstimatedTokens()
	overhead(again, 2500)
	if got := again.EstimatedTokens() - before; got < 800 {
		t.Errorf("1,000 bytes of tools more are %d tokens", got)
	}
}

func TestOnlyTheLastReminderIsSentAlsoAfterAResume(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	c := New(Config{}, st.Create(testHeader()))
	add(t, c, user("go"))
	for _, text := range []string{"one", "two"} {
		must(t, c.Remind(text))
		add(t, c, said(provider.RoleAssistant, "answer to "+text))
	}
	want := encoded(t, c.Messages())
	if strings.Contains(want, "user: one") || !strings.Contains(want, "user: two") {
		t.Fatal(want)
	}
	must(t, c.Session().Close())
	s, err := st.Open(c.Session().ID())
	must(t, err)
	if got := encoded(t, New(Config{}, s).Messages()); got != want || len(s.Notices()) != 0 {
		t.Errorf("%v\n%s\nwant %s", s.Notices(), got, want)
	}
}
