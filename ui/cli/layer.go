package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/ui/headless"
)

// onLayerArgument begins the first argument of an artoo that works on a layer; the directory of the layer
// follows. It is no option of the user's: it takes the socket of the artoo outside.
const onLayerArgument = "--on-layer-in="

// layer is the way of an artoo that works on a layer to the one outside, which lands the changes.
type layer struct {
	dir    string
	conn   net.Conn
	answer *bufio.Reader
	landed bool
	patch  string // the file with the changes that did not land, or ""
}

// onLayer is nil without the argument, or where no artoo is outside.
func onLayer(args []string) (*layer, []string) {
	if len(args) == 0 || !strings.HasPrefix(args[0], onLayerArgument) {
		return nil, args
	}
	file := os.NewFile(layerSocket, "artoo outside")
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, args
	}
	file.Close() // the connection is another descriptor, which no child gets
	return &layer{dir: strings.TrimPrefix(args[0], onLayerArgument), conn: conn, answer: bufio.NewReader(conn)}, args[1:]
}

// layerSocket is the descriptor of the socket.
const layerSocket = 3

// request is a message from an artoo on a layer to the one outside.
type request struct {
	Do      string `json:"do"`                // doState, doLand or doKeep
	Session string `json:"session,omitempty"` // whose journal keeps the originals; "" for one that is not kept
	Turn    int    `json:"turn,omitempty"`
	Dir     string `json:"dir,omitempty"` // where a patch is kept; "" for artoo's own
}

// The requests of an artoo on a layer.
const (
	doState = "state" // the changes up to now
	doLand  = "land"  // the changes land
	doKeep  = "keep"  // they become a file
)

// reply answers a request.
type reply struct {
	State    string   `json:"state,omitempty"`
	Patch    string   `json:"patch,omitempty"`    // its file; "" where nothing was changed
	Notes    []string `json:"notes,omitempty"`    // for the user
	Conflict string   `json:"conflict,omitempty"` // names the files that both sides changed
	Error    string   `json:"error,omitempty"`
}

// ask asks the artoo outside. The error is its own, or that it is gone.
func (l *layer) ask(r request) (answer reply, err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return answer, err
	}
	if _, err := l.conn.Write(append(line, '\n')); err != nil {
		return answer, err
	}
	if line, err = l.answer.ReadBytes('\n'); err != nil {
		return answer, err
	}
	if err = json.Unmarshal(line, &answer); err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return answer, err
}

func (l *layer) hasLanded() bool { return l != nil && l.landed }

func (l *layer) kept() string {
	if l == nil {
		return ""
	}
	return l.patch
}

// journal is the directory of the journal of the changes on the layer.
func (l *layer) journal() string {
	if l == nil {
		return ""
	}
	return filepath.Join(l.dir, "journal")
}

// worksOnLayer reports whether this run has to work on a layer, and does not yet.
func (w *workspace) worksOnLayer() (bool, error) {
	option := w.layerOption()
	switch {
	case option == "" || w.layer != nil:
		return false, nil
	case !w.streams.headless && (w.cfg.FromFlag("until") || w.cfg.FromFlag("output")):
		return false, usage(option, "only a headless run works on a layer", "artoo -p "+option+" \"what you want\"")
	case !w.streams.headless:
		return false, nil
	case w.cfg.Until != "" && w.cfg.Input == "jsonl":
		return false, usage("--until", "it works with a single message", "--until without --input")
	case w.cfg.Until != "" && w.cfg.Output == string(headless.Patch):
		return false, usage("--until", "its changes land, and those of -o patch do not", "one of the two")
	case w.cfg.Until != "" && w.cfg.Approval == string(permission.ModePlan):
		return false, usage("--until", "plan mode changes nothing", "--approval edits")
	}
	return true, nil
}

// layerOption is the option for which a run works on a layer, as the user would write it; "" for none.
func (w *workspace) layerOption() string {
	switch {
	case w.cfg.Until != "":
		return "--until"
	case w.cfg.Output == string(headless.Patch):
		return "-o patch"
	}
	return ""
}

// until is the command that decides when a run on a layer is done, nil for none.
func (w *workspace) until() *agent.Until {
	if w.layer == nil || w.cfg.Until == "" {
		return nil
	}
	return &agent.Until{Option: "--until", Command: w.cfg.Until, State: func(context.Context) (string, error) {
		answer, err := w.layer.ask(request{Do: doState})
		return answer.State, err
	}}
}

// settleLayer lands the changes of a run of --until, or keeps them as a patch if the run failed.
func (w *workspace) settleLayer(ctx context.Context, failure *agent.Failure) *agent.Failure {
	if w.layer == nil || w.cfg.Until == "" {
		return failure
	}
	w.endBackground() // nothing writes any more
	r := request{Do: doLand, Session: w.agent.SessionID(), Turn: w.agent.TurnNumber()}
	if !w.cfg.Ephemeral {
		r.Dir = w.agent.OutputDir()
	}
	if failure == nil && ctx.Err() != nil {
		failure = agent.Classify(context.Cause(ctx))
	}
	if failure == nil {
		answer, err := w.layer.ask(r)
		w.layer.landed = err == nil && answer.Conflict == ""
		w.noteAll(answer.Notes)
		switch {
		case answer.Conflict != "":
			failure = fail(agent.KindConflict, "nothing landed", errors.New("also changed by others: "+answer.Conflict),
				"apply the parts of the patch that fit, or run it again")
		case err != nil:
			failure = fail(agent.KindInternal, "nothing landed", err, "")
		}
	}
	if failure == nil {
		return nil
	}
	r.Do = doKeep
	answer, err := w.layer.ask(r)
	if err != nil {
		w.warn("the changes are lost: " + err.Error())
	}
	w.noteAll(answer.Notes)
	w.layer.patch = answer.Patch
	return failure
}

func (w *workspace) noteAll(notes []string) {
	for _, note := range notes {
		w.screen.Note(note)
	}
}

// layerLack is the failure for a missing layer: its reason and its cure.
func (w *workspace) layerLack(option string) *agent.Failure {
	why, cure := "this machine has no layers", "artoo doctor says why"
	for _, lack := range w.facts.Missing {
		if slices.Contains([]string{"layer", "sandbox", "namespaces"}, lack.What) {
			why, cure = lack.Why, cmp.Or(lack.Cure, cure)
		}
	}
	switch {
	case w.cfg.Sandbox == "off":
		why, cure = "the sandbox is off", "ARTOO_SANDBOX=auto"
	}
	return usage(option, "needs a layer over the project: "+why, cure)
}
