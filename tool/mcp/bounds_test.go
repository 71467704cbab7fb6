package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"artoo/tool/extension"
	"artoo/tool/mcp/mcptest"
	"artoo/tool/shell"
)

// A server's definitions, its pins and its kept file are bounded as a whole, not only page by page.
func TestACatalogueIsBounded(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"heavy", "renaming"} {
		t.Run(kind, func(t *testing.T) {
			var n notices
			state := t.TempDir()
			m := manage(t, Config{Servers: []extension.Server{stdio("s", kind)}, State: state, Notice: n.add})
			for range 2 {
				if _, err := m.List(t.Context(), "s"); err != nil {
					t.Fatal(err)
				}
				s := m.servers[0]
				s.link.stale.Store(true)
				defined, pinned := 0, 0
				for _, d := range s.catalogue().Definitions {
					defined += d.size()
				}
				for _, d := range s.catalogue().Pinned {
					pinned += d.size()
				}
				if defined > maxCatalogue || pinned > maxCatalogue || len(s.catalogue().tools) == 0 && kind == "heavy" {
					t.Errorf("%d bytes of definitions, %d of pins, %d tools", defined, pinned, len(s.catalogue().tools))
				}
			}
			files, err := filepath.Glob(filepath.Join(state, "mcp", "*.json"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			if info, err := os.Stat(files[0]); err != nil || info.Size() > 2*maxCatalogue {
				t.Errorf("%d bytes are kept, %v", info.Size(), err)
			}
			if kind == "heavy" && strings.Count(n.all(), "only the first") != 1 {
				t.Errorf("notices: %s", n.all())
			}
			// A definition that cannot be pinned is not offered: any later one could take its place.
			if dropped := strings.Join(m.Dropped("s"), "\n"); kind == "renaming" && !strings.Contains(dropped, "cannot be kept") {
				t.Errorf("dropped: %s", dropped)
			}
		})
	}
}

// A file that no artoo has written is not read into memory.
func TestAKeptCatalogueThatIsTooLargeIsNotRead(t *testing.T) {
	t.Parallel()
	c := Config{Servers: []extension.Server{stdio("s")}, State: t.TempDir()}
	if _, err := manage(t, c).List(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if _, known := manage(t, c).Tools("s"); !known {
		t.Fatal("no tools are kept")
	}
	files, err := filepath.Glob(filepath.Join(c.State, "mcp", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], append(text, strings.Repeat(" ", 2*maxCatalogue)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, known := manage(t, c).Tools("s"); known {
		t.Error("it was read")
	}
}

// A link or FIFO at the place of a kept catalogue is neither read nor written through, and is replaced.
func TestACatalogueIsKeptInAFileOnly(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(t *testing.T, path, other string) error{
		"a link": func(_ *testing.T, path, other string) error { return os.Symlink(other, path) },
		"a FIFO": func(_ *testing.T, path, _ string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{Servers: []extension.Server{stdio("s")}, State: t.TempDir()}
			if _, err := manage(t, c).List(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(c.State, "mcp", "*.json"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			other := filepath.Join(t.TempDir(), "other")
			if err := errors.Join(os.Rename(files[0], other), put(t, files[0], other)); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(other)
			if err != nil {
				t.Fatal(err)
			}
			m := manage(t, c)
			if _, known := m.Tools("s"); known {
				t.Error("it was read")
			}
			if _, err := m.List(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			if after, err := os.ReadFile(other); err != nil || !bytes.Equal(before, after) {
				t.Errorf("another file was written: %v", err)
			}
			if info, err := os.Lstat(files[0]); err != nil || !info.Mode().IsRegular() {
				t.Errorf("the catalogue is not kept: %v, %v", info, err)
			}
		})
	}
}

// A server that always has other tools is listed once a second, and no more.
func TestChangesInALoopAreListedInPeace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := inMemory(t, "legacy", "changing")
		m, begun := manage(t, c), time.Now()
		if _, err := m.List(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		inPeace := func(least int) { // one a second, besides the first and the one that has just begun
			t.Helper()
			if n, took := w.Lists(), time.Since(begun); n < least || n > int(took/listPause)+2 {
				t.Errorf("listed %d times in %s", n, took)
			}
		}
		inPeace(5)
		for range 5 {
			if _, err := m.List(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
		}
		inPeace(5)
	})
}

// The user can skip a start once: requests that wait for it fail, and none waits for it again before Restart.
func TestAStartIsSkippedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := New(Config{Servers: []extension.Server{{Name: "s", Command: []string{"true"}}}, Start: func(*exec.Cmd, extension.Server) (shell.Started, error) {
			<-release
			return nil, errors.New("it does not start")
		}})
		results := make(chan error, 3)
		list := func() {
			_, err := m.List(t.Context(), "s")
			results <- err
		}
		skipped := func() {
			t.Helper()
			if e, ok := errors.AsType[*Error](<-results); !ok || e.Hint != "/mcp s waits for it" {
				t.Errorf("got %v", e)
			}
		}
		if m.Skip() {
			t.Error("nothing waits, and something was skipped")
		}
		go list()
		go list()
		synctest.Wait()
		if !m.Skip() || m.Skip() {
			t.Error("a start is skipped other than once")
		}
		skipped()
		skipped()
		list()
		skipped()
		if err := m.Restart("s"); err != nil {
			t.Fatal(err)
		}
		go list()
		synctest.Wait()
		close(release)
		if e, ok := errors.AsType[*Error](<-results); !ok || e.Kind != KindConfig {
			t.Errorf("the end of the start: %v", e)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A call runs by the definition that was decided on, or not at all: also where that one had changed
// before, and was allowed all the same.
func TestACallKeepsTheDefinitionThatItWasDecidedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := inMemory(t, "modern")
		m := manage(t, c)
		list := func() Tool {
			t.Helper()
			time.Sleep(2 * listPause)
			if _, err := m.List(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			return find(t, m, "echo")
		}
		first := list()
		w.Define("Says it to a friend.")
		second := list()
		if first.Changed || !second.Changed {
			t.Errorf("changed: %t, %t", first.Changed, second.Changed)
		}
		if _, err := m.Call(t.Context(), second, nil, CallOptions{}); err != nil {
			t.Errorf("one that was decided on: %v", err)
		}
		w.Define("Says it to everyone.")
		third := list()
		for what, tool := range map[string]Tool{"first": first, "second": second} {
			_, err := m.Call(t.Context(), tool, nil, CallOptions{})
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindApproval {
				t.Errorf("%s: %v", what, err)
			}
		}
		if got := len(w.Calls()); got != 1 {
			t.Errorf("%d calls", got)
		}
		// The user accepts the changes shown, not later ones.
		changes, err := m.Changes("s")
		if err != nil || len(changes) != 1 {
			t.Fatal(changes, err)
		}
		w.Define("Says it to the enemy.")
		list()
		if err := m.Accept("s", changes); err != nil {
			t.Fatal(err)
		}
		if now := find(t, m, "echo"); !now.Changed {
			t.Error("a definition was accepted that was not shown")
		}
		w.Define("Says it to everyone.")
		if now := list(); now.Changed || now.Definition != third.Definition {
			t.Error("the definition that was accepted counts as changed")
		}
	})
}

func TestTheUserIsShownTheSameChangesBeforeTheyCount(t *testing.T) {
	t.Parallel()
	c := Config{Servers: []extension.Server{stdio("s")}, State: t.TempDir()}
	one := []Change{{Tool: "a", definition: definition{Name: "a", Title: "1"}}}
	two := []Change{{Tool: "a", definition: definition{Name: "a", Title: "2"}}}
	for i, step := range []struct {
		changes []Change
		again   bool
	}{{one, false}, {one, true}, {two, false}, {one, false}, {one, true}} {
		if again, err := manage(t, c).Shown("s", step.changes); err != nil || again != step.again {
			t.Errorf("%d: %t, %v", i, again, err)
		}
	}
}

// A field that the user skipped is absent, whatever the era.
func TestASkippedFieldGetsNoDefault(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		m := manage(t, Config{Servers: []extension.Server{stdio("s", era)}})
		got := textOf(call(t, m, "ask", "", CallOptions{Ask: func(context.Context, Request) (Answer, error) {
			return Answer{Action: Accept, Content: map[string]any{"name": "Ada"}}, nil
		}}))
		if !strings.Contains(got, `"name":"Ada"`) || strings.Contains(got, "age") {
			t.Errorf("%s: %s", era, got)
		}
	}
}

// A form ends with its call, and the user is not asked for a server that is not waited for.
func TestAFormEndsWithItsCall(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		synctest.Test(t, func(t *testing.T) {
			_, c := inMemory(t, era, "stream")
			m := manage(t, c)
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("the user has had enough")
			ended := make(chan error, 1)
			if _, err := m.List(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			_, err := m.Call(ctx, find(t, m, "ask"), nil, CallOptions{Ask: func(ctx context.Context, _ Request) (Answer, error) {
				cancel(why)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return Answer{}, ctx.Err()
			}})
			if err == nil {
				t.Error("the call has a result")
			}
			if err := <-ended; !errors.Is(err, why) {
				t.Errorf("%s: the form ended by %v", era, err)
			}
		})
	}
}

// The time in which the user types is no silence of the server, and no word of it either.
func TestTypingIsNeitherSilenceNorAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, Config{Servers: []extension.Server{stdio("s")}})
		l, cancel := m.servers[0].limit(t.Context(), 10*time.Second)
		defer cancel()
		alive := func(d time.Duration, want bool) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := l.Err() == nil; got != want {
				t.Errorf("alive: %t", got)
			}
		}
		alive(5*time.Second, true)
		l.pause()
		l.pause() // two forms
		alive(time.Minute, true)
		l.resume()
		l.heard()
		alive(time.Minute, true)
		l.resume()
		alive(9*time.Second, true)
		l.pause()
		alive(time.Minute, true)
		l.resume()
		alive(2*time.Second, false)
	})
}

// A function that takes progress may call the server.
func TestProgressHoldsNothingUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c := inMemory(t, "modern", "stream")
		m := manage(t, c)
		call(t, m, "steps", "", CallOptions{Progress: func(p Progress) {
			if p.Done == 3 {
				call(t, m, "echo", `{"text":"go on"}`, CallOptions{})
			}
		}})
	})
}

// A server that asks a hundred times at once is answered, and the user is spared.
func TestServersRequestsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c := inMemory(t, "legacy", "stream")
		var n notices
		c.Notice = n.add
		asked := 0
		got := textOf(call(t, manage(t, c), "ask", `{"text":"many"}`, CallOptions{Ask: func(context.Context, Request) (Answer, error) {
			asked++
			time.Sleep(time.Minute)
			return Answer{Action: Decline}, nil
		}}))
		if want := fmt.Sprintf("map[cancel:%d decline:%d]", 100-asked, asked); asked > maxWaiting || got != want {
			t.Errorf("asked %d times, got %s", asked, got)
		}
		if !strings.Contains(n.all(), "more than 8 answers") {
			t.Errorf("notices: %s", n.all())
		}
	})
}

// A server that asks and does not take the answers is ended, and only it.
func TestAServerThatReadsNothingIsEnded(t *testing.T) {
	t.Parallel()
	m := manage(t, Config{Servers: []extension.Server{stdio("s", "flood"), stdio("t")}})
	if _, err := tryCall(t, m, "echo", "", CallOptions{}); err == nil {
		t.Error("there is a result")
	}
	if _, err := m.List(t.Context(), "t"); err != nil {
		t.Error(err)
	}
}

func TestAMessageWithTooManyPartsIsRefused(t *testing.T) {
	t.Parallel()
	_, err := manage(t, Config{Servers: []extension.Server{stdio("s", "bomb")}}).List(t.Context(), "s")
	if err == nil || !strings.Contains(err.Error(), "200000 parts") {
		t.Errorf("stdio: %v", err)
	}
	_, s := startWeb(t, "bomb")
	_, err = manage(t, Config{Servers: []extension.Server{s}}).List(t.Context(), "s")
	if err == nil || !strings.Contains(err.Error(), "200000 parts") {
		t.Errorf("HTTP: %v", err)
	}
	for text, want := range map[string]bool{
		`["` + strings.Repeat(`,\"[{`, maxParts) + `"]`: false,
		`[` + strings.Repeat(`0,`, maxParts) + `0]`:     true,
		`[` + strings.Repeat(`0,`, maxParts/2) + `0]`:   false,
	} {
		if got := manyParts([]byte(text)); got != want {
			t.Errorf("%.20s: %t", text, got)
		}
	}
}

// Names are compared as the tools have them: rules for one server must not hold for another one.
func TestServersWhoseToolsCouldHaveTheSameNamesAreLeftOut(t *testing.T) {
	t.Parallel()
	var n notices
	at := func(name, place string) extension.Server {
		s := stdio(name)
		s.Place = place
		return s
	}
	servers := []extension.Server{at("acme:db", "the bundle acme"), at("acme_db", "config.toml"), at("a", "config.toml"), at("a__b", ".mcp.json"),
		at("acme:db", "again"), at("acme_d", "config.toml")}
	m := manage(t, Config{Servers: servers, Notice: n.add})
	m.Add(servers...)
	var names []string
	for _, s := range m.Servers() {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "acme:db a acme_d" {
		t.Errorf("servers: %s", got)
	}
	if got := n.all(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "server acme_db (config.toml) is left out") ||
		!strings.Contains(got, "acme:db (the bundle acme)") {
		t.Errorf("notices: %s", got)
	}
}

// The pauses before a server that fails is started again, and then only the user starts it.
func TestRestartsAreSpreadOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var tries []time.Duration
		w, c := inMemory(t, "modern")
		c.HTTP.Transport = failing{c.HTTP.Transport, func() bool {
			if at := time.Since(begun).Round(time.Millisecond); len(tries) == 0 || tries[len(tries)-1] != at {
				tries = append(tries, at)
			}
			return w.Lists() == 0
		}}
		m := manage(t, c)
		for i := range 6 {
			_, err := m.List(t.Context(), "s")
			if e, ok := errors.AsType[*Error](err); !ok || i >= 4 && e.Hint != "/mcp s starts it again" {
				t.Errorf("%d: %v", i, err)
			}
		}
		if got := fmt.Sprint(tries); got != "[0s 1s 6s 36s]" || m.Servers()[0].State != Failed {
			t.Errorf("tried at %s, %s", got, m.Servers()[0].State)
		}
		if err := m.Restart("s"); err != nil {
			t.Fatal(err)
		}
		if _, err := m.List(t.Context(), "s"); err == nil || len(tries) != 4 { // in the same moment
			t.Errorf("after the user started it: %v, tried at %v", err, tries)
		}
		time.Sleep(time.Second)
		if _, err := m.List(t.Context(), "s"); err == nil || fmt.Sprint(tries) != "[0s 1s 6s 36s 37s]" {
			t.Errorf("after the user started it: %v, tried at %v", err, tries)
		}
	})
}

// A call that cannot have run is sent once more, on a server that is started again.
func TestACallThatCannotHaveRunIsSentAgainOnce(t *testing.T) {
	t.Parallel()
	once := filepath.Join(t.TempDir(), "once")
	for _, c := range []struct {
		line string
		runs bool
	}{
		{`if [ -e "$1" ]; then exec "$0" ` + mcptest.Arg + `; else touch "$1"; exec "$0" ` + mcptest.Arg + ` closes; fi`, true},
		{`exec "$0" ` + mcptest.Arg + ` closes`, false},
	} {
		s := stdio("s")
		s.Command = []string{"sh", "-c", c.line, os.Args[0], once}
		m := manage(t, Config{Servers: []extension.Server{s}})
		r, err := tryCall(t, m, "echo", `{"text":"hello"}`, CallOptions{})
		if c.runs && (err != nil || textOf(r) != "hello") {
			t.Errorf("%v, %v", r, err)
		}
		if e, ok := errors.AsType[*Error](err); !c.runs && (!ok || e.Unknown) {
			t.Errorf("a call that never ran: %v", err)
		}
	}
}

func TestACallOverHTTPThatMayHaveRunIsNotSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := inMemory(t, "modern", "breaks")
		m := manage(t, c)
		_, err := tryCall(t, m, "echo", "", CallOptions{})
		if e, ok := errors.AsType[*Error](err); !ok || !e.Unknown {
			t.Errorf("%v", err)
		}
		calls := 0
		for _, h := range w.Requests() {
			if h.Get("Mcp-Method") == "tools/call" {
				calls++
			}
		}
		if calls != 1 {
			t.Errorf("sent %d times", calls)
		}
	})
}

func TestACallOverHTTPThatCannotHaveRunIsSentAgainOnce(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			w, c := inMemory(t, "modern")
			left := 0
			c.HTTP.Transport = failing{c.HTTP.Transport, func() bool { left--; return left >= 0 }}
			m := manage(t, c)
			if _, err := m.List(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			left = times
			_, err := m.Call(t.Context(), find(t, m, "echo"), nil, CallOptions{})
			if e, ok := errors.AsType[*Error](err); times == 1 && err != nil || times == 2 && (!ok || e.Unknown) {
				t.Errorf("%d: %v", times, err)
			}
			if len(w.Calls()) != 2-times {
				t.Errorf("%d calls", len(w.Calls()))
			}
		})
	}
}

// A session begins with the outlines of catalogues, whatever they hold: no definition is read for them.
func TestAStartReadsNoDefinitions(t *testing.T) {
	t.Parallel()
	one := stdio("s", "hostile")
	c := Config{Servers: []extension.Server{one}, State: t.TempDir()}
	m := manage(t, c)
	if _, err := m.List(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	one.Tools = []string{"-hidden"}
	for _, s := range []extension.Server{c.Servers[0], one} {
		c.Servers = []extension.Server{s}
		m := manage(t, c)
		info := m.Servers()[0]
		outlines, known := m.Outlines("s")
		if kept := m.servers[0].keep.kept; kept != nil || !known {
			t.Errorf("known %t, %+v; the catalogue was read: %t", known, info, kept != nil)
		}
		tools, _ := m.Tools("s")
		if info.Known != len(tools) || len(outlines) != len(tools) {
			t.Fatalf("%d tools, %d outlines, %d known", len(tools), len(outlines), info.Known)
		}
		for i, o := range outlines {
			if least := len(tools[i].Full) + len(tools[i].Input); o.Full != tools[i].Full || o.Bytes < least || o.Bytes > least+len(tools[i].Description) {
				t.Errorf("%+v of %+v", o, tools[i])
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(c.State, "mcp", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if err := os.WriteFile(files[0], first, 0o600); err != nil {
		t.Fatal(err)
	}
	m = manage(t, c)
	if _, known := m.Outlines("s"); !known {
		t.Error("the outline was not read")
	}
	if tools, known := m.Tools("s"); known || tools != nil {
		t.Errorf("of a file without its definitions: %v", tools)
	}
	if _, known := m.Outlines("s"); known {
		t.Error("what is damaged counts as known")
	}
}
