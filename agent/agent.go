// Package agent is the loop: a message goes to the model, the tools it calls
// are run, their results go back, until a reply calls nothing. It reports
// through Callbacks and holds no terminal.
package agent

import (
	"context"
	"sync"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
)

// Agent is one conversation with a model. Main makes it with a struct literal;
// the exported fields may be changed between turns, never during one.
// SendMessage is not safe for concurrent use: a conversation has one turn at a
// time.
type Agent struct {
	Provider     provider.Provider
	ProviderName string
	Defaults     provider.Options   // what a request uses where nothing else is said
	Info         provider.ModelInfo // facts about Defaults.Model
	System       string             // the system prompt, fixed for the session
	Tools        []tool.Tool
	Env          *tool.Env
	Conversation *conversation.Conversation
	Policy       *permission.Policy
	Limits       Limits
	SessionID    string
	// Concurrency is how many read-only calls run side by side; 0 means 4.
	Concurrency int
	// SaveRule writes an allow rule to the user's file for good. nil where there
	// is none: such an answer then holds for the session, with a notice.
	SaveRule func(rule string) error
	// Describe is called before each turn while it is not nil. It may ask the
	// model's server for facts and then set Info, Defaults and the budget. May
	// be nil.
	Describe func(context.Context)
	// Mask puts ‹secret:1a2b3c4d5e6f› in place of keys: in what the user and the tools
	// say before it is kept or sent, and in what is shown of it. nil masks nothing.
	// It is called from any goroutine.
	Mask func(text string) string
	// Note returns what the model must be told before the next user message
	// (changed instructions), or "". May be nil.
	Note func() string
	// Guide returns instructions that hold for the files a call touched and that
	// the model was not given yet, for the end of the call's result; "" for none.
	// Paths are absolute. May be nil. It is called on the turn's goroutine.
	Guide func(paths []string) string

	spent      spending        // of this run, all turns
	untold     []provider.Part // the notes of a message that was withdrawn, for the next one
	otherModel string          // the last answer to "which model answers" that was told
	answered   [2]string       // the last model that was asked, and the one that answered
	imagesTold string          // what was told last of images that are not sent
	refused    pictures        // images that the server did not take
	orphan     sync.WaitGroup  // calls that were given up and are still being killed
	killing    sync.Mutex      // guards kill
	kill       chan struct{}   // of the last turn, nil before it and once it is closed
}

// SendMessage appends the user's message, asks the model, runs the tools it
// calls, and repeats until a reply calls nothing. It always returns a Response
// that holds what there is. An interrupt (ctx done) keeps the partial reply in
// the history and returns ctx's cause; every other error is classified by
// Classify. After any error the conversation can go on.
func (a *Agent) SendMessage(ctx context.Context, text string, cb Callbacks, attachments ...provider.Part) (*Response, error) {
	t, ctx := a.begin(ctx, cb)
	defer t.end()
	if a.Describe != nil {
		a.Describe(ctx)
	}
	if err := t.hear(text, attachments); err != nil {
		return t.failed(ctx, err)
	}
	for {
		if err := t.checkSteps(ctx); err != nil {
			return t.failed(ctx, err)
		}
		reply, err := t.ask(ctx)
		if err != nil {
			return t.failed(ctx, err)
		}
		again, err := t.settle(ctx, reply)
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
		if err := t.runCalls(ctx, calls); err != nil {
			return t.failed(ctx, err)
		}
	}
}

// AnsweredBy is the model that answered last to what is asked now, by the name
// its server gave; "" before it did.
func (a *Agent) AnsweredBy() string {
	if a.answered[0] != a.ProviderName+"/"+a.Defaults.Model {
		return ""
	}
	return a.answered[1]
}

// Kill kills what an interrupted turn left running, without the time to end that
// it has otherwise. It does nothing to a call that was not interrupted. It may be
// called from any goroutine, and more than once.
func (a *Agent) Kill() {
	a.killing.Lock()
	defer a.killing.Unlock()
	if a.kill != nil {
		close(a.kill)
		a.kill = nil
	}
}

// Close waits until the processes of interrupted calls are gone. Call it before
// the program ends.
func (a *Agent) Close() { a.orphan.Wait() }
