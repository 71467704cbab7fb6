package cli

import (
	"context"
	"fmt"

	"artoo/agent"
	"artoo/provider"
)

// promiseKept is one promise and whether it holds.
type promiseKept struct {
	Text string
	OK   bool
	Why  string // it failed, or could not be tested here
}

// String is the line that the scripts look for.
func (p promiseKept) String() string {
	word, why := "ok    ", ""
	if !p.OK {
		word = "FAILED"
	}
	if p.Why != "" {
		why = " (" + p.Why + ")"
	}
	return word + "  " + p.Text + why
}

// secretsOptions configure the test; planted and open have to be set.
type secretsOptions struct {
	planted *plantedSecrets
	// open makes an agent as a run in the planted project does, with this model and
	// with questions; session is one to go on with, "" for a new one. end ends the
	// agent, and the processes it started.
	open func(ctx context.Context, model provider.Provider, session string) (a *agent.Agent, end func() error, err error)
	// confined runs a shell line of the project in the sandbox, on a layer or not, and
	// returns its output. It is nil without a sandbox.
	confined func(ctx context.Context, line string, layer bool) (output string, err error)
}

// untested is why a promise could not be tested here. It is no failure.
type untested string

// Error says so.
func (u untested) Error() string { return "not tested: " + string(u) }

// tester makes the promises' plays.
type tester struct {
	secretsOptions
	ctx context.Context
}

// runPromises tests each promise and tells of it; failed is how many do not hold. The error
// is tell's, or ctx's.
func runPromises(ctx context.Context, o secretsOptions, tell func(promiseKept) error) (failed int, err error) {
	t := &tester{secretsOptions: o, ctx: ctx}
	for _, promise := range t.promises() {
		if ctx.Err() != nil {
			return failed, context.Cause(ctx)
		}
		p := promiseKept{Text: promise.text, OK: true}
		if err := promise.test(); err != nil {
			_, p.OK = err.(untested)
			p.Why = err.Error()
		}
		if !p.OK {
			failed++
		}
		if err := tell(p); err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// secretPromise is one of docs/privacy.md, with its test.
type secretPromise struct {
	text string
	test func() error
}

func (t *tester) promises() []secretPromise {
	return []secretPromise{
		{fmt.Sprintf("%d denied files are not read, searched, edited or overwritten, also after a yes",
			len(t.planted.denied)), t.withPlay(t.deniedFiles)},
		{"nor artoo's own credentials", t.withPlay(t.ownCredentials)},
		{"examples and public keys beside them are open", t.withPlay(t.openFiles)},
		{"a private key that is tracked below testdata is read, and masked", t.withPlay(t.testKeys)},
		{"no command of the reading list prints a denied file unasked", t.withPlay(t.readingList)},
		{"nor does git show what stands in one now, though it tracks it", t.withPlay(t.readingGit)},
		{"commands get no provider's key, none of artoo's variables, and nothing else that looks like a credential",
			t.withPlay(t.children)},
		{"a command that fails is told what was withheld, and gets what ARTOO_PASS_ENV names", t.withPlay(t.withheld)},
		{"no command reads artoo's own environment", t.withPlay(t.ownEnvironment)},
		{"keys in files and outputs are masked before they are sent, shown or kept", t.withPlay(t.maskedOutput)},
		{"and so are those in what the user says", t.withPlay(t.maskedMessage)},
		{"examples, variables and class names stay as they are", t.withPlay(t.plainText)},
		{"the marks are the session's: a salt that only the user can read, in no export, the same when it is resumed",
			t.salt},
		{"a call that holds a mark is refused", t.withPlay(t.marksRefused)},
		{"in an edit a mark stands for what is there, asked about where the key's line or one beside it changes",
			t.withPlay(t.marksInEdits)},
		{"a session of before is masked when it is resumed", t.resumed},
		{"in the sandbox the denied files are gone", t.confinedPlay(false)},
		{"and on a throwaway layer", t.confinedPlay(true)},
	}
}

// start is a session of the agent's.
func (t *tester) start(session string) (*play, error) {
	model := &script{}
	a, end, err := t.open(t.ctx, model, session)
	if err != nil {
		return nil, err
	}
	return &play{plantedSecrets: t.planted, agent: a, end: end, model: model}, nil
}

// withPlay gives a test a session of its own.
func (t *tester) withPlay(test func(p *play) error) func() error {
	return func() error {
		p, err := t.start("")
		if err != nil {
			return err
		}
		err = test(p)
		if ended := p.end(); err == nil {
			err = ended
		}
		return err
	}
}
