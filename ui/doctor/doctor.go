// Package doctor looks at everything artoo needs from the machine, the settings
// and the provider, and says what to set. It changes nothing. A Probes hands it the
// facts that others have found, and the programs that it may run.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Level says how a thing stands.
type Level string

// The levels. Only Fail keeps artoo from working.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)

// Finding is one line of the report. Text and Fix may hold words from outside:
// they must be sanitised before they are shown. No key is ever in them.
type Finding struct {
	Level Level  `json:"level"`
	Topic string `json:"topic"` // one word: terminal, shell, git …
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"` // the next step; "" when nothing is wrong
}

// Probes is what there is to look at. A nil pointer leaves its checks out.
type Probes struct {
	LookPath func(name string) (string, error)
	// Exec runs a program without input and returns what it printed on both its
	// outputs. It must end when ctx does.
	Exec func(ctx context.Context, name string, args ...string) (string, error)

	// HTTP is the client the wires use; HTTPErr says why there is none.
	HTTP    *http.Client
	HTTPErr error
	// NoNetwork leaves out everything that would ask a server.
	NoNetwork bool
	// Offline is ARTOO_OFFLINE: the client connects to nothing that is far away.
	Offline bool

	Terminal  Terminal
	Shell     string // path of the shell for commands, "" for none
	Project   string // its root; "" when there is none, and then NoProject says why
	NoProject string

	ConfigFile string // "" when there is none
	ConfigErr  error  // the settings cannot be used: nothing below is set then
	Warnings   []string
	CAFile     string // ARTOO_CA_FILE

	Keys      []Keys
	Server    *Server
	ServerErr error // why there is no Server
	Local     *LocalServer
	CLI       string // the program of a chosen provider that is a coding CLI
	// TooOld says which version of a coding CLI is needed at least, and the
	// command that renews it, where what it says of its version is older; "" where
	// it is not. nil asks nothing.
	TooOld func(name, said string) (least, renew string)

	Sandbox Sandbox
	Places  []Place
}

// check looks at one thing.
type check func(ctx context.Context, w *Probes) []Finding

// checks are in the order of the report: from what is nearest to what is
// farthest away.
func checks() []check {
	return []check{
		checkTerminal, checkShell, checkGit, checkProject, checkConfig, checkFiles, checkKeys,
		checkProxy, checkCertificates, checkServer, checkLocal, checkCLIs, checkSandbox,
	}
}

// Run looks at everything and tells each finding as it comes. The error is
// tell's, or ctx's; how many checks failed is failed.
func Run(ctx context.Context, w *Probes, tell func(Finding) error) (failed int, err error) {
	for _, look := range checks() {
		for _, f := range look(ctx, w) {
			if f.Level == Fail {
				failed++
			}
			if err := tell(f); err != nil {
				return failed, err
			}
		}
		if ctx.Err() != nil {
			return failed, context.Cause(ctx)
		}
	}
	return failed, nil
}

func ok(topic, format string, args ...any) Finding {
	return Finding{Level: OK, Topic: topic, Text: fmt.Sprintf(format, args...)}
}

func warn(topic, fix, format string, args ...any) Finding {
	return Finding{Level: Warn, Topic: topic, Fix: fix, Text: fmt.Sprintf(format, args...)}
}

func fail(topic, fix, format string, args ...any) Finding {
	return Finding{Level: Fail, Topic: topic, Fix: fix, Text: fmt.Sprintf(format, args...)}
}

// failure is the finding for an error, with the hint it brings along.
func failure(topic string, err error) Finding {
	hint := ""
	if hinter, ok := errors.AsType[interface {
		error
		ErrorHint() string
	}](err); ok {
		hint = hinter.ErrorHint()
	}
	return fail(topic, hint, "%v", err)
}
