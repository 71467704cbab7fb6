package prompt

import (
	"strings"
	"testing"
)

var searched = []string{"go vet ./...", "go test ./ui", "日本語のテスト", "first\nsecond line", "go test ./...", "Go Test",
	"go test ./..."}

func TestTheHistoryIsSearchedBackwards(t *testing.T) {
	t.Parallel()
	b := newBare(t, searched, nil)
	b.read("")
	b.keys("half", "\x12")
	b.shows("(search ''): half")
	b.keys("go te")
	b.shows("(search 'go te'): go test ./...")
	if b.term.Col != len("(search 'go te'): ") {
		t.Errorf("the cursor stands in column %d", b.term.Col)
	}
	b.keys("\x12")
	b.shows("(search 'go te'): Go Test")
	b.keys("\x12")
	b.shows("(search 'go te'): go test ./...")
	b.keys("\x12")
	b.shows("(search 'go te'): go test ./ui")
	b.keys("\x12")
	b.shows("(no more 'go te'): go test ./ui")
	b.keys("\x13")
	b.shows("(search 'go te'): go test ./...")
	b.keys("\x7f", "\x7f", "v")
	b.shows("(search 'go v'): go vet ./...")
	b.keys("\x1b")
	b.shows("you: go vet ./...")
	b.unsent()
	b.keys("\x15", "\x12", "\x12") // again: the last pattern
	b.shows("(search 'go v'): go vet ./...")
	b.keys("\r")
	if got := b.sent(); got != "go vet ./..." {
		t.Errorf("sent %q", got)
	}
}

func TestSearchGivenUp(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"\x07", "\x03"} {
		b := newBare(t, searched, nil)
		b.read("")
		b.keys("half", "\x1b[D", "\x12", "go", key)
		if b.shows("you: half"); b.line() != "hal|f" {
			t.Errorf("%q left %q", key, b.line())
		}
		b.unsent()
	}
}

func TestSearchEndsInOtherKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ keys, want string }{
		{"\x1b[D", "go| test ./..."}, {"\x05", "go test ./...|"}, {"\x04", "go |test ./..."}, {"\x1f", "half|"},
		{"\x10", "go test ./...|"},
	} {
		b := newBare(t, searched, nil)
		b.read("")
		b.keys("half", "\x12", "test .", tt.keys)
		if b.line() != tt.want {
			t.Errorf("%q led to %q, want %q", tt.keys, b.line(), tt.want)
		}
		if b.f.search != nil {
			t.Errorf("%q did not end the search", tt.keys)
		}
		b.unsent()
	}
}

// Wide characters, several lines and collapsed pastes are found and shown.
func TestSearchShowsWideAndLongEntries(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("needle in hay\n", 20) + "end"
	b := newBare(t, append([]string{big}, searched...), nil)
	b.read("")
	b.keys("\x12", "テ")
	b.shows("(search 'テ'): 日本語のテスト")
	if want := len("(search '") + 2 + len("'): ") + 8; b.term.Col != want {
		t.Errorf("the cursor stands in column %d, want %d", b.term.Col, want)
	}
	b.keys("\x7f", "second")
	b.shows("(search 'second'): first", "     second line")
	b.keys("\x07", "\x12", "needle")
	b.shows("(search 'needle'): [paste 1: 21 lines]")
	b.keys("\r")
	if b.sent() != big {
		t.Error("the entry is not whole")
	}
}

// A pattern may hold characters that must not be shown as they are.
func TestThePatternIsSafe(t *testing.T) {
	t.Parallel()
	b := newBare(t, searched, nil)
	b.read("")
	b.keys("\x12", "a\u202eb\u200bc")
	if got := b.wrote(); strings.ContainsAny(got, "\u202e\u200b") {
		t.Errorf("wrote %q", got)
	}
}

// A screen reader hears the pattern as it is typed and each entry once, in
// lines of their own, and Enter first shows the line that would be sent.
func TestTheSearchIsSpoken(t *testing.T) {
	t.Parallel()
	b := newBare(t, searched, func(o *Options) { o.Spoken = true })
	b.read("")
	b.keys("\x12", "g", "o")
	b.wrote()
	b.keys(" ")
	if got := b.wrote(); got != " " {
		t.Errorf("a character of the pattern wrote %q", got)
	}
	b.keys("v", "\x12")
	b.keys("\r")
	b.unsent()
	b.shows("you: go vet ./...")
	for _, r := range b.term.All() {
		if r == '(' {
			t.Errorf("there is more than words: %q", b.term.All())
		}
	}
	b.keys("\r")
	if b.sent() != "go vet ./..." {
		t.Error("not sent")
	}
}
