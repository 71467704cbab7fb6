//go:build unix

package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/provider/providertest"
)

// Sizes of the sessions that the benchmarks open and list.
const (
	longEntries  = 200_000
	longEntry    = 500 // bytes
	manySessions = 10_000
	sessionRuns  = 5
)

// sessions is the time to open a session of 100 MB that was never trimmed, beside wc,
// and to list 10,000, beside ls.
func (s *suite) sessions(b *testing.B) {
	m := newModel(b, always(providertest.Chat(providertest.Text("Yes."))))
	env := m.env(b)
	dir := filepath.Join(stateOf(b, env), "artoo", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	long := filepath.Join(dir, "20260314-153000-longlong.jsonl")
	writeLong(b, long, s.dir)
	timed := func(program string, args ...string) func() time.Duration {
		return func() time.Duration {
			began := time.Now()
			s.run(b, env, program, args...)
			return time.Since(began)
		}
	}
	open := []string{"--interactive", "-r", "longlong"} // until the end of its empty input
	t := repeat(sessionRuns, timed(s.artoo, open...), timed("wc", "-l", long))
	s.add(row{what: "opening a session of 100 MB, 200,000 entries", value: millis(t[0].least), unit: "ms",
		beside: fmt.Sprintf("median %.0f ms; wc -l on it %.1f ms", millis(t[0].median), millis(t[1].least)),
		ratio:  float64(t[0].least) / float64(t[1].least), most: 5*millis(t[1].least) + 300})
	s.peakOf("opening a session of 100 MB", s.used(b, env, s.artoo, open...), maxLong)

	short, err := os.ReadFile(long)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.Remove(long); err != nil {
		b.Fatal(err)
	}
	ends := 0
	for range 20 {
		ends += strings.IndexByte(string(short[ends:]), '\n') + 1
	}
	turn := `{"type":"turn","id":"20","parent":"19","time":"2026-03-14T15:30:20.000Z","messages":19,"model":"m",` +
		`"totals":{"requests":9,"usage":{"input_tokens":900,"cache_read_tokens":0,"cache_write_tokens":0,"output_tokens":90},` +
		`"cost_usd":0.5},"first":"please do this"}` + "\n"
	for _, kind := range []struct {
		what, last string
		most       float64
	}{
		{"listing 10,000 sessions", turn, 3},
		{"listing 10,000 sessions that broke off", turn[:20], 5},
	} {
		for i := range manySessions {
			name := filepath.Join(dir, fmt.Sprintf("20260314-%06d-s%07d.jsonl", i%240000, i))
			if err := os.WriteFile(name, append(short[:ends:ends], kind.last...), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		t = repeat(sessionRuns, timed(s.artoo, "sessions", "list"), timed("ls", "-l", dir))
		s.add(row{what: kind.what, value: millis(t[0].least), unit: "ms",
			beside: fmt.Sprintf("median %.0f ms; ls -l of their directory %.1f ms", millis(t[0].median), millis(t[1].least)),
			ratio:  float64(t[0].least) / float64(t[1].least), mostRatio: kind.most})
	}
}

// maxLong is the aim for the resident memory of a run in a session of 100 MB, in MB.
const maxLong = 150

// stateOf is the state directory in an environment.
func stateOf(b *testing.B, env []string) string {
	home := ""
	for _, v := range env {
		if dir, ok := strings.CutPrefix(v, "XDG_STATE_HOME="); ok {
			return dir
		}
		if dir, ok := strings.CutPrefix(v, "HOME="); ok {
			home = dir
		}
	}
	if home == "" {
		b.Fatal("the environment has no home")
	}
	return filepath.Join(home, ".local", "state")
}

// writeLong writes a session of questions, calls, results and answers.
func writeLong(b *testing.B, path, cwd string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriter(f)
	fmt.Fprintf(out, `{"type":"session","id":"0","parent":"","time":"2026-03-14T15:30:00.000Z","v":1,"session":"longlong",`+
		`"cwd":%q,"artoo":"1.0.0","provider":"compatible","model":"m","system":%q}`+"\n", cwd, strings.Repeat("be brief. ", 900))
	text := strings.Repeat(`a word, a \"quote\" and a line\n`, longEntry/33)
	for i := 1; i < longEntries; i++ {
		said := fmt.Sprintf(`{"role":"user","parts":[{"type":"text","text":"please do this: %s"}]}`, text)
		switch i % 4 {
		case 2:
			said = fmt.Sprintf(`{"role":"assistant","provider":"compatible","model":"m","parts":[{"type":"text","text":"%s"},`+
				`{"type":"tool_call","id":"c%d","name":"bash","input":{"command":"go test ./..."}}]}`, text[:99], i)
		case 3:
			said = fmt.Sprintf(`{"role":"tool","parts":[{"type":"tool_result","call_id":"c%d","name":"bash","text":"%s",`+
				`"effect":{"command":"go test ./...","end":"exit 0"}}]}`, i-1, text)
		case 0:
			said = fmt.Sprintf(`{"role":"assistant","provider":"compatible","model":"m","parts":[{"type":"text","text":"%s"}]}`, text)
		}
		fmt.Fprintf(out, `{"type":"message","id":"%d","parent":"%d","time":"2026-03-14T15:30:01.000Z","message":%s}`+"\n", i, i-1, said)
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}
