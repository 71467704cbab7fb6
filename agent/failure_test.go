package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool/files"
)

func TestEveryKindHasOneRowOfTheExitTable(t *testing.T) {
	t.Parallel()
	want := map[agent.Kind]int{
		agent.KindInternal: 1, agent.KindSchema: 1, agent.KindUnmet: 1, agent.KindConflict: 1, agent.KindUsage: 2, agent.KindConfig: 2, agent.KindAuth: 3,
		agent.KindBilling:  3,
		agent.KindProvider: 4, agent.KindNetwork: 4, agent.KindTimeout: 4, agent.KindInvalid: 4, agent.KindRateLimit: 5,
		agent.KindOverloaded: 5,
		agent.KindApproval:   6, agent.KindCap: 7, agent.KindContext: 8, agent.KindRefused: 9, agent.KindFindings: 10,
	}
	rows := map[agent.Kind]int{}
	for i, e := range agent.Exits {
		if e.Code != i || e.Meaning == "" || strings.HasSuffix(e.Meaning, ".") {
			t.Errorf("row %d: %+v", i, e)
		}
		for _, k := range e.Kinds {
			if _, twice := rows[k]; twice {
				t.Errorf("%s is in two rows", k)
			}
			rows[k] = e.Code
		}
	}
	for k, code := range want {
		if rows[k] != code || k.ExitCode() != code {
			t.Errorf("%s: exit %d, want %d", k, k.ExitCode(), code)
		}
	}
	if len(rows) != len(want) {
		t.Errorf("the table has %d kinds, want %d", len(rows), len(want))
	}
	for _, k := range []agent.Kind{"", "canceled", "no such kind"} {
		if k.ExitCode() != 1 {
			t.Errorf("%q: exit %d", k, k.ExitCode())
		}
	}
	// Every kind a provider can report, except the caller's own interrupt.
	for _, k := range []provider.ErrorKind{provider.KindAuth, provider.KindBilling, provider.KindConfig,
		provider.KindProvider, provider.KindNetwork, provider.KindTimeout,
		provider.KindInvalid, provider.KindRateLimit, provider.KindOverloaded, provider.KindContext, provider.KindRefused} {
		if _, ok := want[agent.Kind(k)]; !ok {
			t.Errorf("the kind %q of a provider is in no row", k)
		}
	}
}

type foreign struct{ kind, hint string }

func (f foreign) Error() string     { return "foreign" }
func (f foreign) ErrorKind() string { return f.kind }
func (f foreign) ErrorHint() string { return f.hint }

func TestClassify(t *testing.T) {
	t.Parallel()
	unwritable, missing, readOnly := sessionErrors(t)
	own := &agent.Failure{Kind: agent.KindCap, What: "turn", Err: errors.New("enough"), Hint: "less"}
	for _, c := range []struct {
		err  error
		kind agent.Kind
		hint string // a part
		text string
	}{
		{own, agent.KindCap, "less", "turn: enough"},
		{fmt.Errorf("wrapped: %w", own), agent.KindCap, "less", "turn: enough"},
		{errors.Join(errors.New("x"), own), agent.KindCap, "less", "turn: enough"},
		{errors.New("x"), agent.KindInternal, "", "x"},
		{foreign{"config", "mend it"}, agent.KindConfig, "mend it", "foreign"},
		{fmt.Errorf("line 3: %w", foreign{"refused", ""}), agent.KindRefused, "rephrase it", "line 3: foreign"},
		{&provider.Error{Kind: provider.KindAuth, Provider: "p"}, agent.KindAuth, "artoo login", "p: auth"},
		{&provider.Error{Kind: provider.KindOverloaded, Provider: "p", Hint: "in 5m"}, agent.KindOverloaded,
			"in 5m", "p: overloaded"},
		{&provider.Error{Kind: provider.KindTimeout, Provider: "p", Err: context.DeadlineExceeded}, agent.KindTimeout,
			"ARTOO_IDLE_TIMEOUT", "p: context deadline exceeded"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), agent.KindTimeout, "more time", "x: context deadline exceeded"},
		{&conversation.FullError{Tokens: 9, Budget: 5}, agent.KindContext, "new session", ""},
		{unwritable, agent.KindInternal, "XDG_STATE_HOME", ""},
		{missing, agent.KindUsage, "sessions list", ""},
		{readOnly, agent.KindUsage, "resume", ""},
		{&files.GrantError{Dir: "/x", Err: fs.ErrNotExist}, agent.KindConfig, "existing directory", ""},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, agent.KindInternal, "owner and mode", ""},
		{syscall.ENOSPC, agent.KindInternal, "free some space", ""},
	} {
		f := agent.Classify(c.err)
		if f.Kind != c.kind || !strings.Contains(f.Hint, c.hint) || (c.hint == "") != (f.Hint == "") {
			t.Errorf("%v: kind %s, hint %q; want %s, %q", c.err, f.Kind, f.Hint, c.kind, c.hint)
		}
		if c.text != "" && f.Error() != c.text {
			t.Errorf("%v: text %q, want %q", c.err, f.Error(), c.text)
		}
		if f.ErrorKind() != string(c.kind) || f.ErrorHint() != f.Hint || f.Unwrap() == nil {
			t.Errorf("%+v does not say what it is", f)
		}
	}
	if agent.Classify(nil) != nil {
		t.Error("nothing became a failure")
	}
}

func TestTheHintsNameWhatToDo(t *testing.T) {
	t.Parallel()
	for _, kind := range []provider.ErrorKind{provider.KindAuth, provider.KindBilling, provider.KindNetwork,
		provider.KindTimeout, provider.KindRateLimit, provider.KindOverloaded, provider.KindContext, provider.KindRefused} {
		if f := agent.Classify(&provider.Error{Kind: kind, Provider: "p"}); f.Hint == "" || strings.HasSuffix(f.Hint, ".") {
			t.Errorf("%s: hint %q", kind, f.Hint)
		}
	}
}

// sessionErrors are those of a session that cannot be written, of one that does not exist, and of one opened for
// reading.
func sessionErrors(t *testing.T) (unwritable, missing, readOnly error) {
	t.Helper()
	store := conversation.Store{Dir: t.TempDir()}
	s := store.Create(conversation.Header{})
	must(t, conversation.New(conversation.Config{}, s).Append(provider.UserText("x")))
	read, err := store.Read(s.ID())
	must(t, err)
	readOnly = conversation.New(conversation.Config{}, read).Append(provider.UserText("x"))
	_, missing = store.Open("0") // no id has a 0
	elsewhere := conversation.Store{Dir: filepath.Join(s.Path(), "a file is in the way")}.Create(conversation.Header{})
	unwritable = conversation.New(conversation.Config{}, elsewhere).Append(provider.UserText("x"))
	return unwritable, missing, errors.Join(readOnly, s.Close())
}
