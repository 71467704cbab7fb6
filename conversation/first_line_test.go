package conversation

import (
	"errors"
	"os"
	"strings"
	"testing"

	"artoo/provider"
)

// firstLines are what damage leaves of a session's first line, its end included.
func firstLines(line string) map[string]string {
	return map[string]string{
		"its beginning is cut":   line[100:] + "\n",
		"its end is cut":         line[:60] + "\n",
		"joined with the second": line[:60],
		"garbage":                "\xfe\x01}{\"\n\n\x02\n",
		"empty":                  "\n",
		"gone":                   "",
		"NULs":                   strings.Repeat("\x00", len(line)) + "\n",
		"NULs, its end too":      strings.Repeat("\x00", len(line)+1),
		"another line":           "{\"type\":\"session\",\"v\":\"two\"}\n",
	}
}

// A session whose first line is damaged is found by its directory, which the end of each turn names. The list shows what
// is known of it; opening it warns once, and keeps each of its bytes.
func TestASessionWithADamagedFirstLineIsFound(t *testing.T) {
	t.Parallel()
	for name, damaged := range firstLines(strings.Repeat("x", 120)) {
		t.Run(name, func(t *testing.T) {
			st := testStore(t)
			s := st.Create(testHeader())
			add(t, New(Config{}, s), user("one"), said(provider.RoleAssistant, "two"), user("three"))
			must(t, s.Sync())
			must(t, s.Close())
			line, rest, _ := strings.Cut(readFile(t, s.Path()), "\n")
			damaged = firstLines(line)[name]
			must(t, os.WriteFile(s.Path(), []byte(damaged+rest), 0o600))

			infos, err := st.List()
			must(t, err)
			if len(infos) != 1 || infos[0].CWD != "/home/me/shop" || infos[0].First != "one" || infos[0].Started.IsZero() {
				t.Errorf("listed %+v", infos)
			}
			again, err := st.Newest("/home/me/shop")
			must(t, err)
			said := strings.Join(again.Notices(), "\n")
			if again.ID() != s.ID() || strings.Count(said, "first line is missing or damaged") != 1 || again.Header().CWD != "/home/me/shop" {
				t.Errorf("%s of %q, notices %q", again.ID(), again.Header().CWD, said)
			}
			again.Complete(Header{CWD: "/other", Model: "claude-next", System: "be brief"})
			c := New(Config{}, again)
			if got := c.Messages(); got[len(got)-1].Text() != "three" {
				t.Errorf("messages %s", encoded(t, got))
			}
			add(t, c, user("four"))
			want := encoded(t, c.Messages())
			must(t, again.Close())
			if !strings.HasPrefix(readFile(t, s.Path()), damaged+rest) {
				t.Error("something was taken out of the file")
			}

			repaired, err := st.Newest("/home/me/shop")
			must(t, err)
			h := repaired.Header()
			if h.CWD != "/home/me/shop" || h.Model != "claude-next" || h.System != "be brief" || !h.Started.Equal(infos[0].Started) || len(repaired.Notices()) != 0 {
				t.Errorf("repaired: %+v, notices %q", h, repaired.Notices())
			}
			if got := encoded(t, New(Config{}, repaired).Messages()); got != want {
				t.Errorf("repaired: %s, want %s", got, want)
			}
			must(t, repaired.Close())
		})
	}
}

// Without the end of a turn the directory is not known: -c names the session, and it counts as the directory's in which
// it is resumed.
func TestASessionOfNoKnownDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	add(t, New(Config{}, s), user("one"))
	must(t, s.Close())
	_, rest, _ := strings.Cut(readFile(t, s.Path()), "\n")
	must(t, os.WriteFile(s.Path(), []byte("\x00\n"+rest), 0o600))

	_, err := st.Newest("/home/me/shop")
	var e *Error
	if !errors.As(err, &e) || e.ErrorKind() != "usage" || e.ErrorHint() != "artoo -r "+s.ID() {
		t.Fatalf("%v", err)
	}
	again, err := st.Open(s.ID())
	must(t, err)
	again.Complete(testHeader())
	add(t, New(Config{}, again), user("two"))
	must(t, again.Sync())
	must(t, again.Close())
	again, err = st.Newest("/home/me/shop")
	must(t, err)
	if again.ID() != s.ID() || len(again.Messages()) != 2 {
		t.Errorf("%s, %d messages", again.ID(), len(again.Messages()))
	}
	must(t, again.Close())
}
