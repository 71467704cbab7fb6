// Package agent is the loop: a message goes to the model, the tools it calls
// are run, their results go back, until a reply calls nothing. It reports
// through Callbacks and holds no terminal.
//
// New makes an Agent of a model, tools and a policy; SendMessage is a turn, which
// takes as many requests (steps) as the model needs. A session is what was said, in
// its file or in memory; it spans turns, and a run of the program, for which Limits
// hold, may go from one session to another.
package agent

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"artoo/agent/ledger"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/journal"
	"artoo/tool/tempdir"
)

// Agent is one conversation with a model. Make one with New. Its methods are
// called between turns, by one goroutine at a time; SendMessage is a turn.
type Agent struct {
	opt   Options
	model Model // who answers, with what was learned of it

	conv      *conversation.Conversation // the present session's
	system    string                     // the system prompt, fixed for the session
	sessionID string
	// scratch has the long outputs of sessions that are not kept, and is nil before the first
	// one; output is the directory of the present session, "" where that is not kept.
	scratch *tempdir.Dir
	output  string
	// guide returns instructions that hold for the files a call touched and that
	// the model was not given yet, for the end of the call's result; "" for none.
	// Paths are absolute. It is called on the turn's goroutine.
	guide func(paths []string) string

	journal  *journal.Journal // of the present session; nil where nothing is kept
	step     *journal.Step    // of the call that is decided or runs; nil for none
	coverage journal.Coverage // of that step, where it was begun to decide

	background left      // commands in the background
	made       madeFiles // files that the session made
	approved   madeFiles // those that tools wrote or the user approved, guarded ones among them

	startMode  permission.Mode // the mode the agent was made with
	beforePlan permission.Mode // the mode that plan mode took the place of, "" for none
	todo       []todoItem      // the model's plan of a long task
	kinds      []string        // the extensions of files that tools are offered for
	looking    <-chan []string // gives those that the project has, nil once they are taken
	briefing   briefing        // what the model knows of the session's settings and instructions

	compaction Compaction // what the user chose for this session at a full budget, "" for nothing
	unsummed   int        // automatic summaries that failed, in a row

	parent  *turn         // whose call this sub-agent works for; nil for none
	running chan struct{} // holds one while calls that change something are decided and run
	tasks   int           // sub-agents that were begun

	replyLimit int       // of the model, in tokens, as it was asked for
	guessed    bool      // the server's guess at the model's facts was taken over
	spent      *spending // of this run, all turns
	// reservation of the request that is under way in Options.Ledger; nil for none
	reservation *ledger.Reservation
	cached      int             // tokens the provider's cache is believed to hold
	elapsed     time.Duration   // of the run, without waiting for the user
	turns       []string        // what the user wrote since the session was opened, in order
	unsent      []provider.Part // the notes of a message that was withdrawn, for the next one
	// the last answer to "which model answers" of which the user was notified
	otherModel     string
	answered       [2]string                          // the last model that was asked, and the one that answered
	imagesNotified string                             // what was said last of images that are not sent
	refused        imageSet                           // images that the server did not take
	watches        sync.WaitGroup                     // of what background commands make; they end with those
	abandoned      sync.WaitGroup                     // calls that were given up and are still being killed
	settling       sync.WaitGroup                     // runs of providers with tools whose step of the journal is not over
	kill           atomic.Pointer[context.CancelFunc] // of the last turn, nil before it
}

// SendMessage sends a text with what goes along with it, see Send.
func (a *Agent) SendMessage(ctx context.Context, text string, cb Callbacks,
	attachments ...provider.Part) (*Response, error) {
	return a.Send(ctx, Message{Text: text, Attachments: attachments}, cb)
}

// Send appends the user's message, asks the model, runs the tools it calls, and
// repeats until a reply calls nothing. It always returns a Response that holds
// what there is. An interrupt (ctx done) keeps the partial reply in the history
// and returns ctx's cause; every other error is classified by Classify. After any
// error the conversation can go on.
func (a *Agent) Send(ctx context.Context, m Message, cb Callbacks) (*Response, error) {
	defer a.override(m.Options)()
	t, ctx := a.begin(ctx, cb)
	defer t.end()
	t.timeout = m.Timeout
	a.describe(ctx)
	response, err := t.converse(ctx, m)
	return response, cmp.Or(err, t.endOnce(ctx))
}

// converse is the turn from the user's message to its answer.
func (t *turn) converse(ctx context.Context, m Message) (*Response, error) {
	if err := t.noteBackground(ctx); err != nil {
		return t.failed(ctx, err)
	}
	if err := t.appendUser(m.Text, m.Attachments); err != nil {
		return t.failed(ctx, err)
	}
	for {
		if err := t.takeStep(ctx); err != nil {
			return t.failed(ctx, err)
		}
		reply, err := t.query(ctx)
		if err != nil {
			return t.failed(ctx, err)
		}
		again, err := t.finishReply(reply)
		if err != nil {
			return t.failed(ctx, err)
		}
		if again {
			continue
		}
		calls := reply.Message.Calls()
		if len(calls) == 0 {
			return t.completed(reply)
		}
		err = t.runCalls(ctx, calls)
		if errors.Is(err, errPlan) {
			return t.planned()
		}
		if err != nil {
			return t.failed(ctx, err)
		}
		if err := t.appendSteering(m.Steering); err != nil {
			return t.failed(ctx, err)
		}
	}
}

// AnsweredBy is the model that answered last to what is asked now, by the name
// its server gave; "" before it did.
func (a *Agent) AnsweredBy() string {
	if a.answered[0] != a.model.Name+"/"+a.model.Defaults.Model {
		return ""
	}
	return a.answered[1]
}

// Kill kills what an interrupted turn left running, without the time to end that
// it has otherwise. It does nothing to a call that was not interrupted. It may be
// called from any goroutine, and more than once.
func (a *Agent) Kill() {
	if kill := a.kill.Load(); kill != nil {
		(*kill)()
	}
}

// Conversation is what has been said in the present session.
func (a *Agent) Conversation() *conversation.Conversation { return a.conv }

// SessionID is the id of the present session, "" where none is kept.
func (a *Agent) SessionID() string { return a.sessionID }

// System is the system prompt of the present session.
func (a *Agent) System() string { return a.system }

// Env is what the tools work with; never nil.
func (a *Agent) Env() *tool.Env { return a.opt.Env }

// Limits are the hard caps.
func (a *Agent) Limits() Limits { return a.opt.Limits }

// Branch is the branch of the Workspace's project that is checked out, "" for none.
func (a *Agent) Branch() string {
	if a.opt.Workspace == nil {
		return ""
	}
	return a.opt.Workspace.Project.Branch()
}

// Policy decides over the calls; never nil.
func (a *Agent) Policy() *permission.Policy { return a.opt.Policy }

// Close waits until the processes of interrupted calls are gone, gives the
// session back and removes what a session that is not kept left. Call it before
// the program ends.
func (a *Agent) Close() error {
	a.abandoned.Wait()
	a.settling.Wait()
	a.EndBackground()
	if a.parent != nil { // whose the journal is
		if err := a.endStep(); err != nil {
			return err
		}
		a.journal = nil
	}
	errs := []error{a.closeJournal()}
	if s := a.conv.Session(); s != nil {
		errs = append(errs, s.Close())
	}
	a.emptyOutput()
	if a.scratch != nil {
		errs = append(errs, a.scratch.Remove())
	}
	if files := a.opt.Env.Files; files != nil && a.opt.Workspace != nil {
		errs = append(errs, files.Close())
	}
	return errors.Join(errs...)
}
