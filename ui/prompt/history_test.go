package prompt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func historyAt(t *testing.T, path string) *historyFile {
	t.Helper()
	return &historyFile{path: path, wait: time.Minute, warn: func(text string) { t.Errorf("warned: %s", text) }}
}

// File and directory are the user's alone, also a file that was open to others.
func TestHistoryIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "artoo", "history")
	h := historyAt(t, path)
	if got := h.load(); got != nil {
		t.Errorf("a file that is not there holds %q", got)
	}
	h.add("one")
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s is %o, want %o", filepath.Base(name), got, want)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	h.add("two")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("an open file stays open: %v, %v", info.Mode(), err)
	}
}

// Where no history can be kept, one warning says so.
func TestHistoryThatCannotBeKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var warned []string
	h := &historyFile{path: filepath.Join(file, "history"), warn: func(text string) { warned = append(warned, text) }}
	h.complain(&os.PathError{Op: "write", Path: h.path, Err: syscall.ENOSPC})
	h.load()
	h.add("one")
	h.add("two")
	if len(warned) != 1 || !strings.HasPrefix(warned[0], "history: ") {
		t.Errorf("warned %q", warned)
	}
	off := &historyFile{}
	off.add("one")
	if off.load() != nil {
		t.Error("kept although it is off")
	}
}

// Newlines, blanks and quotes of an entry survive the file.
func TestEntriesComeBackUnchanged(t *testing.T) {
	t.Parallel()
	h := historyAt(t, filepath.Join(t.TempDir(), "history"))
	entries := []string{"plain", "two\nlines\n  indented", "tab\there", `quotes " and \ and <b>`, "日本 👨‍👩‍👧", "trailing "}
	for _, e := range entries {
		h.add(e)
	}
	if diff := cmp.Diff(entries, h.load()); diff != "" {
		t.Error(diff)
	}
}

// Blank lines, lines that begin with a space and repeats are not kept.
func TestWhatIsNotKept(t *testing.T) {
	t.Parallel()
	h := historyAt(t, filepath.Join(t.TempDir(), "history"))
	for _, e := range []string{"", "   ", "\n", " a secret", "kept"} {
		h.add(e)
	}
	if diff := cmp.Diff([]string{"kept"}, h.load()); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	h := historyAt(t, filepath.Join(t.TempDir(), "history"))
	x := strings.Repeat("aB3", 20)
	for _, secret := range []string{
		"use sk-ant-api03-" + x, "sk-" + x[:40], "ghp_" + x[:36], "token github_pat_" + x[:30], "glpat-" + x[:20],
		"AKIA" + "IOSFODNN7EXZMPLE", "AIza" + x[:35], "xoxb-" + "123456789012-abcdef", "npm_" + x[:36], "hf_" + x[:34],
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig", "curl -H 'Authorization: Bearer " + x[:30] + "'",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "psql postgres://me:hunter22@db/x", "sk_live_" + x[:24],
	} {
		if h.add(secret); keepsHistory(secret) {
			t.Errorf("kept: %q", secret)
		}
	}
	harmless := []string{
		"why does sk-learn fail?", "explain gh_token", "see https://example.org:8080/a@b", "the bearer of bad news",
		"AKIA is a prefix", "task-management-with-very-long-names-in-it",
	}
	for _, text := range harmless {
		h.add(text)
	}
	if diff := cmp.Diff(harmless, h.load()); diff != "" {
		t.Error(diff)
	}
}

func TestHistoryMendsATornLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(path, []byte("\"one\"\n\"to"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := historyAt(t, path)
	h.add("three")
	if diff := cmp.Diff([]string{"one", "three"}, h.load()); diff != "" {
		t.Error(diff)
	}
}

// Several artoo write one file, and it is trimmed meanwhile: nothing is lost
// but the oldest, and no line is torn.
func TestTheHistoryHasSeveralWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	const writers, each = 4, 60
	var filler strings.Builder
	for i := range trimFactor*historyEntries + 1 {
		fmt.Fprintf(&filler, "%q\n", fmt.Sprint("old ", i))
	}
	if err := os.WriteFile(path, []byte(filler.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			h := historyAt(t, path)
			for i := range each {
				if i == each/2 {
					h.load() // trims
				}
				h.add(fmt.Sprintf("writer %d line %d", w, i))
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for l := range strings.Lines(string(data)) {
		var entry string
		if err := json.Unmarshal([]byte(l), &entry); err != nil {
			t.Fatalf("torn: %q", l)
		}
		if strings.HasPrefix(entry, "writer ") {
			found++
		}
	}
	if found != writers*each {
		t.Errorf("%d of %d lines are there", found, writers*each)
	}
	if n := strings.Count(string(data), "\n"); n > trimFactor*historyEntries {
		t.Errorf("not trimmed: %d lines", n)
	}
}
