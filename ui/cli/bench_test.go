//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"artoo/provider/providertest"
	"artoo/tool/needs"
)

// How often the benchmarks repeat each measurement. They report the least, which
// other processes of the machine disturb least, with the median beside it.
const (
	startRuns  = 25
	loopRuns   = 10
	editRuns   = 50 // with and without a journal: the difference is as small as the machine's noise
	streamRuns = 5
)

const (
	loopCalls   = 50
	streamSize  = 2 << 20
	streamPiece = 20
)

// BenchmarkArtoo measures the built program against a loopback server, beside
// the least that could do the same, and prints the tables of
// docs/dev/performance.md; with ARTOO_BENCH_UPDATE=1 it writes them there.
// It takes a minute or two, so only `make bench` runs it.
func BenchmarkArtoo(b *testing.B) {
	needs.True(b, "ARTOO_BENCH, as in make bench", os.Getenv("ARTOO_BENCH") != "")
	s := newSuite(b)
	for _, part := range []struct {
		name string
		run  func(b *testing.B)
	}{
		{"binary", s.binary}, {"request", s.request}, {"prompt", s.prompt}, {"loop", s.loop},
		{"edits", s.edits}, {"looks", s.looks}, {"sandboxed", s.sandboxed}, {"output", s.output},
		{"sessions", s.sessions}, {"long", s.long}, {"ledger", s.ledger},
		{"stream", s.stream}, {"linear", s.linear}, {"bytes", s.bytes},
	} {
		b.Run(part.name, func(b *testing.B) {
			for b.Loop() {
				part.run(b)
			}
		})
	}
	s.report(b)
}

// suite holds the parts that the benchmarks share.
type suite struct {
	artoo, measure, glamour, fetch, empty string
	dir                                   string // an empty directory to work in
	curl                                  string // "" where there is none
	table
}

func newSuite(b *testing.B) *suite {
	s := &suite{dir: b.TempDir()}
	s.artoo = buildProgram(b, moduleDir)
	for _, p := range []struct {
		file *string
		name string
	}{{&s.measure, "measure"}, {&s.glamour, "glamour"}, {&s.fetch, "fetch"}, {&s.empty, "empty"}} {
		*p.file = buildProgram(b, filepath.Join(moduleDir, "testdata", "bench", p.name))
	}
	if file, err := exec.LookPath("curl"); err == nil {
		s.curl = file
	}
	return s
}

// binary measures the file alone.
func (s *suite) binary(b *testing.B) {
	info, err := os.Stat(s.artoo)
	if err != nil {
		b.Fatal(err)
	}
	s.add(row{what: "size of the binary", value: float64(info.Size()) / 1e6, unit: "MB", most: maxBinary / 1e6})
	own, err := withoutGlamour()
	if err != nil {
		b.Fatal(err)
	}
	i := initCost(b, s.artoo, own)
	s.add(row{what: "package initialisation, glamour's left out", value: i.own, unit: "ms",
		beside: fmt.Sprintf("net/http's %.2f ms", i.nethttp),
		ratio:  i.ratio(), mostRatio: initRatio})
	s.add(row{what: "package initialisation of glamour", value: i.glamour, unit: "ms"})
}

// request is the time from the start of the process to its first byte at the
// model's server.
func (s *suite) request(b *testing.B) {
	m := newModel(b, always(providertest.Chat(providertest.Text("Yes."))))
	env, url := m.env(b), m.URL+"/v1/chat/completions"
	first := func(program string, args ...string) func() time.Duration {
		return func() time.Duration {
			began := time.Now()
			s.run(b, env, program, args...)
			return m.asked.Load().Sub(began)
		}
	}
	runs := []func() time.Duration{first(s.artoo, "-p", "ready?"), s.exits(b, s.glamour), s.exits(b, s.empty),
		first(s.fetch, url)}
	if s.curl != "" {
		runs = append(runs, first(s.curl, "-sN", "-d", "{}", url))
	}
	t := repeat(startRuns, runs...)
	beside := fmt.Sprintf("a Go program that only asks %.1f ms", millis(t[3].least))
	if s.curl != "" {
		beside += fmt.Sprintf(", curl %.1f ms", millis(t[4].least))
	}
	s.start("start to the first byte of the request", t, beside, float64(t[0].least)/float64(t[3].least))
	s.peak("a short answer", s.used(b, env, s.artoo, "-p", "ready?"))
}

// exits is how long a program takes that does nothing.
func (s *suite) exits(b *testing.B, program string) func() time.Duration {
	return func() time.Duration {
		began := time.Now()
		s.run(b, nil, program)
		return time.Since(began)
	}
}

// start adds the rows of a time from the start of the process, of which t[0] are
// artoo's, t[1] those of a program that only links glamour, t[2] of an empty one.
func (s *suite) start(what string, t []times, beside string, ratio float64) {
	glamour := t[1].least - t[2].least
	s.add(row{what: what, value: millis(t[0].least), unit: "ms",
		beside: fmt.Sprintf("median %.1f ms; %s", millis(t[0].median), beside), ratio: ratio})
	s.add(row{what: what + ", beyond glamour's initialisation", value: millis(t[0].least - glamour), unit: "ms", most: 10,
		beside: fmt.Sprintf("start to exit: a program that only links glamour %.1f ms, an empty one %.1f ms",
			millis(t[1].least), millis(t[2].least))})
}

// prompt is the time from the start of the process to its prompt in a terminal.
func (s *suite) prompt(b *testing.B) {
	m := newModel(b, always(providertest.Chat(providertest.Text("Yes."))))
	env := m.env(b, "TERM=xterm-256color")
	resident := int64(0)
	t := repeat(startRuns, func() time.Duration {
		began := time.Now()
		k := startTerminal(b, s.dir, env, s.artoo)
		k.expect("you: ", 0)
		took := time.Since(began)
		resident = max(resident, residentOf(b, k.cmd.Process.Pid))
		k.leave()
		return took
	}, s.exits(b, s.glamour), s.exits(b, s.empty))
	s.start("start to the prompt in a terminal", t,
		fmt.Sprintf("an empty program to its exit %.1f ms", millis(t[2].least)), float64(t[0].least)/float64(t[2].least))
	s.resident("at the prompt", resident)
}

// loop measures a step of a long task: request, reply, policy, a shell that runs
// echo, the result, the session file.
func (s *suite) loop(b *testing.B) {
	args := []string{"--allow", "bash(echo:*)", "--max-turns", "100"}
	headless := append([]string{"-p", "begin"}, args...)
	loop := newModel(b, providertest.ToolLoop(providertest.Chat, loopCalls, "bash", `{"command":"echo step"}`,
		"Done.").Next)
	none := newModel(b, always(providertest.Chat(providertest.Text("Done."))))
	env, noEnv := loop.env(b, "TERM=xterm-256color"), none.env(b)
	timed := func(env []string, program string, args ...string) func() time.Duration {
		return func() time.Duration {
			began := time.Now()
			s.run(b, env, program, args...)
			return time.Since(began)
		}
	}
	t := repeat(loopRuns, timed(env, s.artoo, headless...), timed(noEnv, s.artoo, headless...),
		timed(noEnv, "bash", "--noprofile", "--norc", "-c", "echo step"))
	step := func(all, none time.Duration) time.Duration { return (all - none) / loopCalls }
	least := step(t[0].least, t[1].least)
	s.add(row{what: fmt.Sprintf("a step of a loop of %d calls of `echo`", loopCalls), value: millis(least),
		unit: "ms", most: 2.5,
		beside: fmt.Sprintf("median %.2f ms; `bash -c echo` alone %.2f ms", millis(step(t[0].median, t[1].median)),
			millis(t[2].least)),
		ratio: float64(least) / float64(t[2].least)})
	s.resident(fmt.Sprintf("at the prompt after %d calls", loopCalls), s.after(b, env, "Done.", append(args, "begin")...))
	s.peak(fmt.Sprintf("%d calls", loopCalls), s.used(b, env, s.artoo, headless...))
}

// after is the resident memory of a conversation at the prompt that follows the
// word last.
func (s *suite) after(b *testing.B, env []string, last string, args ...string) int64 {
	k := startTerminal(b, s.dir, env, s.artoo, args...)
	k.expect("you: ", k.expect(last, 0))
	resident := residentOf(b, k.cmd.Process.Pid)
	k.leave()
	return resident
}

// stream is a long answer in small pieces.
func (s *suite) stream(b *testing.B) {
	flood := providertest.Flood(providertest.Chat, streamSize, streamPiece)
	m := newModel(b, always(perEvent(flood)))
	env, url := m.env(b, "TERM=xterm-256color"), m.URL+"/v1/chat/completions"
	client, copier := "curl", []string{s.curl, "-sN", "-d", "{}", url}
	if s.curl == "" {
		client, copier = "a Go program that only copies (there is no curl here)", []string{s.fetch, url}
	}
	names := []string{"headless to a pipe", "headless to a pipe as jsonl", "headless to a terminal"}
	timed := func(run func()) func() time.Duration {
		return func() time.Duration {
			began := time.Now()
			run()
			return time.Since(began)
		}
	}
	t := repeat(streamRuns, // one after the other, so that a busy moment hits them all
		timed(func() { s.run(b, env, copier[0], copier[1:]...) }),
		timed(func() { s.run(b, env, s.artoo, "-p", "go") }),
		timed(func() { s.run(b, env, s.artoo, "-p", "-o", "jsonl", "go") }),
		timed(func() { s.show(b, env, "-p", "go") }))
	for i, name := range names {
		took := t[i+1].least
		r := row{what: fmt.Sprintf("%d MB in pieces of %d bytes, %s", streamSize>>20, streamPiece, name),
			value: millis(took), unit: "ms",
			beside: fmt.Sprintf("%s %.0f ms", client, millis(t[0].least)), ratio: float64(took) / float64(t[0].least)}
		if i == 0 {
			r.mostRatio = 1.5
		}
		s.add(r)
	}
	s.resident("at the prompt after an answer of 2 MB", s.after(b, env, "reader", "go"))
	s.peak("an answer of 2 MB", s.used(b, env, s.artoo, "-p", "go"))
	s.peak("an answer of 2 MB as jsonl", s.used(b, env, s.artoo, "-p", "-o", "jsonl", "go"))
}

// show runs artoo in a terminal to its end.
func (s *suite) show(b *testing.B, env []string, args ...string) {
	k := startTerminal(b, s.dir, env, s.artoo, args...)
	k.drain()
	if err := k.cmd.Wait(); err != nil {
		b.Fatalf("%v:\n%s", err, k.shown)
	}
	_ = k.tty.Close()
}

// linear compares answers of several sizes, which come as fast as they are read.
func (s *suite) linear(b *testing.B) {
	for _, mb := range []int64{1, 2, 4, 8} {
		m := newModel(b, always(providertest.Flood(providertest.Chat, int(mb)<<20, streamPiece)))
		env := m.env(b)
		least := s.used(b, env, s.artoo, "-p", "go")
		for range streamRuns - 1 {
			u := s.used(b, env, s.artoo, "-p", "go")
			least.CPU, least.RSS = min(least.CPU, u.CPU), min(least.RSS, u.RSS)
		}
		s.scale = append(s.scale, fmt.Sprintf("| %d MB | %.0f ms | %.0f ms | %.1f MB | %.1f MB |",
			mb, millis(least.CPU), millis(least.CPU)/float64(mb), megabytes(least.RSS), megabytes(least.RSS)/float64(mb)))
	}
}

// bytes counts the bytes that a terminal gets for an answer.
func (s *suite) bytes(b *testing.B) {
	answer := longAnswer(20 << 10)
	for _, c := range []struct {
		what string
		env  string
		most float64
	}{
		{"plain", "TERM=dumb", plainBytes},
		{"with colour", "TERM=xterm-256color", colorBytes},
	} {
		shown := showAnswer(b, s.artoo, answer, []string{c.env})
		s.add(row{what: "terminal bytes per byte of an answer of 20 KB, " + c.what,
			value: float64(len(shown)) / float64(len(answer)), most: c.most})
	}
}

// run runs a program to its end, which must be a good one.
func (s *suite) run(b *testing.B, env []string, program string, args ...string) {
	b.Helper()
	cmd := exec.Command(program, args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = s.dir, env, &said
	cmd.Stdout = struct{ io.Writer }{io.Discard} // through a pipe, with io.Copy's own buffer
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", filepath.Base(program), err, said.Bytes())
	}
}

// used is the report of testdata/bench/measure on a run.
type used struct {
	Wall, CPU time.Duration
	RSS       int64
	Exit      int
}

func (s *suite) used(b *testing.B, env []string, program string, args ...string) used {
	b.Helper()
	file := filepath.Join(b.TempDir(), "used.json")
	s.run(b, env, s.measure, append([]string{file, program}, args...)...)
	return readUsed(b, file)
}

func readUsed(b *testing.B, file string) (u used) {
	b.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &u)
	}
	if err != nil || u.Exit != 0 {
		b.Fatalf("exit %d: %v", u.Exit, err)
	}
	return u
}

// residentOf is the resident memory of a process, in bytes.
func residentOf(b *testing.B, pid int) int64 {
	b.Helper()
	out, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil { // not on Linux
		if out, err = exec.Command("ps", "-o", "rss=", "-p", fmt.Sprint(pid)).Output(); err == nil {
			out = append([]byte("VmRSS: "), out...)
		}
	}
	var kib int64
	if _, after, ok := bytes.Cut(out, []byte("VmRSS:")); err == nil && ok {
		_, err = fmt.Sscan(string(after), &kib)
	}
	if err != nil || kib == 0 {
		b.Fatalf("no resident memory of process %d: %v", pid, err)
	}
	return kib << 10
}
