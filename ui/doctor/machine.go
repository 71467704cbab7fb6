package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"artoo/provider"
	"artoo/tool/text"
)

// versionLimit is how long a program may take to say its version.
const versionLimit = 3 * time.Second

// Terminal is what artoo takes its terminal for.
type Terminal struct {
	Input, Output bool   // stdin and stderr are terminals
	Profile       string // rich, plain, spoken
	Why           string // why it is not rich; may be ""
	Color, UTF8   bool
	Columns       int
}

func checkTerminal(ctx context.Context, w *Probes) []Finding {
	const topic = "terminal"
	t := w.Terminal
	if !t.Output {
		return []Finding{ok(topic, "stderr is no terminal: no conversation, artoo -p works")}
	}
	if !t.Input {
		return []Finding{ok(topic, "stdin is no terminal: what comes from there is data")}
	}
	words := []string{"TERM=" + os.Getenv("TERM"), strconv.Itoa(t.Columns) + " columns", t.Profile}
	if t.Why != "" {
		words[2] += " (" + t.Why + ")"
	}
	words = append(words, map[bool]string{true: "colour", false: "no colour"}[t.Color],
		map[bool]string{true: "UTF-8", false: "ASCII"}[t.UTF8])
	found := []Finding{ok(topic, "%s", strings.Join(words, ", "))}
	if os.Getenv("TERM") == "" {
		found = append(found, warn(topic, "TERM=xterm-256color, or what your terminal says of itself", "TERM is not set"))
	}
	if !t.UTF8 {
		found = append(found, warn(topic, "LANG=C.UTF-8, or a locale of your language that ends in UTF-8",
			"the locale is not UTF-8: letters outside ASCII show as codes"))
	}
	if t.Columns > 0 && t.Columns < 40 {
		found = append(found, warn(topic, "make the window wider", "%d columns are few", t.Columns))
	}
	return append(found, checkTmux(ctx, w)...)
}

// checkTmux looks at the two settings of tmux that spoil keys and colours.
func checkTmux(ctx context.Context, w *Probes) []Finding {
	const topic = "tmux"
	if os.Getenv("TMUX") == "" {
		return nil
	}
	var found []Finding
	if term := os.Getenv("TERM"); !strings.HasPrefix(term, "tmux") && !strings.HasPrefix(term, "screen") {
		fix := `set -g default-terminal "tmux-256color" in ~/.tmux.conf, and unset TERM in the shell's own files`
		found = append(found, warn(topic, fix, "TERM is %s inside tmux", term))
	}
	out, err := w.run(ctx, "tmux", "show-options", "-sv", "escape-time")
	if ms, e := strconv.Atoi(strings.TrimSpace(out)); err == nil && e == nil && ms > 100 {
		found = append(found, warn(topic, "set -sg escape-time 10 in ~/.tmux.conf", "the Escape key waits %d ms", ms))
	}
	if found == nil {
		found = []Finding{ok(topic, "set up well")}
	}
	return found
}

// run is Exec for as long as a program may take.
func (w *Probes) run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	out, err := w.Exec(ctx, name, args...)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", versionLimit)
	}
	return out, err
}

func checkShell(_ context.Context, w *Probes) []Finding {
	switch {
	case w.Shell == "":
		return []Finding{fail("shell", "install bash, or put it on PATH",
			"neither bash nor sh is there: the tool bash cannot work")}
	case !strings.Contains(w.Shell, "bash"):
		return []Finding{warn("shell", "install bash, which models write for", "%s runs commands, since there is no bash",
			w.Shell)}
	}
	return []Finding{ok("shell", "%s runs commands", w.Shell)}
}

func checkGit(ctx context.Context, w *Probes) []Finding {
	const without = "install git: file names, branches and what changed are found by it"
	path, err := w.LookPath("git")
	if err != nil {
		return []Finding{warn("git", without, "there is no git")}
	}
	out, err := w.run(ctx, path, "--version")
	if err != nil {
		return []Finding{warn("git", without, "git --version: %v", err)}
	}
	return []Finding{ok("git", "%s", text.FirstLine(out))}
}

func checkProject(_ context.Context, w *Probes) []Finding {
	switch {
	case w.Project != "" && w.NoProject == "":
		return []Finding{ok("project", "%s", w.Project)}
	case w.NoProject != "":
		return []Finding{warn("project", "start artoo in a project's directory",
			"%s: every change and every command is asked about", w.NoProject)}
	}
	return nil
}

// checkCLIs asks the coding CLIs that can stand in for a provider for their
// versions, side by side.
func checkCLIs(ctx context.Context, w *Probes) []Finding {
	var names []string
	for _, f := range provider.Known() {
		if f.Program != "" {
			names = append(names, f.Program)
		}
	}
	found := make([]Finding, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { found[i] = w.checkCLI(ctx, name) })
	}
	all.Wait()
	return found
}

func (w *Probes) checkCLI(ctx context.Context, name string) Finding {
	path, err := w.LookPath(name)
	if err != nil {
		if w.CLI == name {
			return fail(name, "install it, or choose another provider with --provider",
				"the chosen provider's program is not on PATH")
		}
		return ok(name, "not installed (optional)")
	}
	out, err := w.run(ctx, path, "--version")
	switch version := cmp.Or(text.FirstLine(out), "no version"); {
	case err != nil && w.CLI == name:
		return fail(name, "run "+path+" --version by hand", "%s does not work: %v", path, err)
	case err != nil:
		return warn(name, "run "+path+" --version by hand", "%s does not work: %v", path, err)
	case w.CLI == name && w.Offline:
		return fail(name, unsetOffline, "it connects to its vendor, and ARTOO_OFFLINE forbids that")
	case w.TooOld != nil:
		if least, renew := w.TooOld(name, version); least != "" {
			found := warn(name, renew, "%s is too old as a provider: %s or newer is needed", version, least)
			if w.CLI == name {
				found.Level = Fail
			}
			return found
		}
		return ok(name, "%s", version)
	default:
		return ok(name, "%s", version)
	}
}

// Sandbox is what confines commands.
type Sandbox struct {
	Off       bool   // the user switched it off
	Needed    bool   // ARTOO_SANDBOX=on: nothing runs without it
	Mechanism string // namespaces, landlock, sandbox-exec; "none"
	Text      string // describes its limits
	Missing   []Lack
}

// Lack is one thing that this machine cannot confine.
type Lack struct {
	What string
	Why  string
	Cure string // "" where there is none
}

// String says what confines commands, or that nothing does and why.
func (s Sandbox) String() string {
	switch {
	case s.Off:
		return "off, as ARTOO_SANDBOX says: nothing confines commands but your answers and rules"
	case s.none():
		return "none here: nothing confines commands but your answers and rules"
	}
	return s.Text
}

func (s Sandbox) none() bool { return s.Mechanism == "" || s.Mechanism == "none" }

// checkSandbox says what confines commands, and of what is missing why and what
// helps.
func checkSandbox(_ context.Context, w *Probes) []Finding {
	s := w.Sandbox
	var found []Finding
	if !s.none() || s.Off || len(s.Missing) == 0 {
		found = append(found, ok("sandbox", "%s", s))
	}
	if s.Off {
		return found
	}
	for _, lack := range s.Missing {
		f := warn("sandbox", lack.Cure, "no %s: %s", lack.What, lack.Why)
		if f.Fix == "" {
			f.Fix = "nothing known; without it what needs it is asked"
		}
		if s.Needed && s.none() {
			if f.Level = Fail; lack.Cure == "" {
				f.Fix = "ARTOO_SANDBOX=auto asks before it runs commands unconfined"
			}
		}
		found = append(found, f)
	}
	return found
}
