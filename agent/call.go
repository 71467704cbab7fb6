package agent

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/telemetry"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/repo"
)

// A call is a chain of values. Each stage makes its own value of the one before, in the order in which they stand here:
// plan, decide, approve, start, await, judge, askEffects, land, settle. A call that ends early goes from its stage
// straight to settled.

// planned is a call as its tool understands it. The tool is nil where there is no such one.
type planned struct {
	// call has the input that would run; wire is the name by which the model called.
	call Call
	tool *tool.Tool
	wire string
	// edited says to the model how the user or a hook changed the input, remarks are the hooks' own texts for it.
	edited  string
	remarks []string
}

// decided is a planned call with the policy's decision in a mode, which heeds the hooks' opinion.
type decided struct {
	planned
	decision permission.Decision
	opinion  permission.Opinion
	mode     permission.Mode
	// reads says that it changes nothing.
	reads bool
	// halt is the error with which a hook that denied the call ends the turn; nil for others.
	halt error
	// changed is the answer that changed its input, until the call is approved; nil without one.
	changed *Answer
}

// approved is a decided call that may run.
type approved struct {
	decided
	// by is the hook or the program that answered for the user; "" where the user did.
	by string
	// whole says that a background command may write the whole project.
	whole bool
	// final is the last decision on it; the zero value where none was needed.
	final conversation.Decision
}

// running is an approved call whose tool runs in a goroutine of its own. With kept, a step of the journal ends with it.
type running struct {
	approved
	run     *run
	kept    bool
	watched files.Watched
	span    *telemetry.Span
}

// run is what the goroutine of a call shares with its turn: done holds its end, unless decided says that the turn no
// longer waits for it.
type run struct {
	done    chan ran
	decided atomic.Bool
	live    *liveOutput
}

// produced is what a tool made of a call. The rest is of the agent's own tools: the plan of a long task, what the user
// answered to a question of the model, the program that did so in the user's place, and what ends the turn.
type produced struct {
	tool.Result
	todo     []TodoItem
	answered string
	program  string
	stop     error
}

// ran is a call whose tool has run, or left a command in the background.
type ran struct {
	approved
	produced
	err  error
	took time.Duration
	live *liveOutput
	// confined is its command once that was started confined. made watches for files that it makes on the project itself
	// and that programs run automatically. Both are nil for others.
	confined confine.Confined
	made     *madeGuarded
	// nowhere is why its command could not be started in its place, skipped why the tool never ran.
	nowhere, skipped error
	applied          Applied
	// late says that the turn no longer waits for it, lost that none of its changes on a layer count.
	late, lost bool
}

// judged is a call with the policy's judgement of its changes on a layer. over is why these may not land, whatever the
// policy says.
type judged struct {
	ran
	layerEffects
	over string
}

// layerEffects are the changes of a command on its layer, and the policy's judgement of them. changes is nil where
// nothing can land; git are the changes of repositories as git sees them.
type layerEffects struct {
	permission.Judgement
	changes confine.Changes
	git     gitEffects
}

// gitEffects are a line's changes to the repositories of a project, as git sees them.
type gitEffects struct {
	views     []*repo.View
	dirs      []string // the git directories that the views stand for, absolute
	rows      []permission.GitRow
	committed map[string]committed    // The key is the absolute path of a file of new commits.
	temp      string                  // holds the views; "" for none
	hidden    map[string]repo.Version // what git makes of hidden files, by absolute paths
}

// committed is the effect of new commits on a path.
type committed struct {
	gone bool // One of them removes it.
	// lines are those that the commits, of which this is the first path, add and remove apart from the work tree.
	lines int
}

// agreed is a judged call with the user's answer about its changes, or why there is none.
type agreed struct {
	judged
	yes    bool
	why    string
	nobody bool
}

// settled is a call with its outcome.
type settled struct {
	planned
	outcome CallResult
	// reads says that it changed nothing, began that its tool began.
	reads, began bool
	// refusal is why it was denied; nil where it was not. answered is what the user answered to a question of the model.
	refusal  *string
	answered string
	by       string
	images   []provider.Image
	// paged says that the tool kept to the limit of a page itself; printed is the output alone of a command that has ended.
	paged   bool
	printed *string
	span    *telemetry.Span
	stop    error
}

// over is the outcome of a call that ends early.
func (p planned) over(r CallResult) *settled { return &settled{planned: p, outcome: r} }

func (p planned) failed(summary, text string) *settled {
	return p.over(CallResult{Status: CallFailed, Summary: summary, Text: text})
}

func (p planned) crashed(err error) *settled { return p.failed(firstLine(err.Error()), err.Error()) }

func (p planned) interrupted(why error) *settled {
	return p.over(CallResult{Status: CallInterrupted, Summary: "not run",
		Text: fmt.Sprintf("interrupted: not run, since the turn was stopped (%v)", why)})
}

func (p planned) denial(reason string, nobody bool) Denial {
	return Denial{Tool: p.tool.Name, Object: p.call.Access.Object, Reason: reason, Nobody: nobody}
}

// answeredBy adds the hook or program that answered for the user. A nil call stays nil.
func (s *settled) answeredBy(by string) *settled {
	if s != nil {
		s.by = by
	}
	return s
}

// lead puts a text before a command's output: behind a long one, and an exit status of 0, a loss is overlooked.
func (r *ran) lead(text string) { r.Text = "[" + text + "]\n" + r.Text }

// stopped is the result of a tool at whose question the user stopped the turn.
func stopped(text, summary string) produced {
	return produced{Result: tool.Result{Text: text, Summary: summary}, stop: ErrStopped}
}

func outcomeOf(ctx context.Context, r tool.Result, err error, took time.Duration) CallResult {
	out := CallResult{Status: CallOK, Text: r.Text, Summary: r.Summary, Duration: took.Seconds()}
	switch {
	case ctx.Err() != nil && (err != nil || r.IsError):
		out.Status, out.Summary = CallInterrupted, "interrupted"
		out.Text = strings.TrimSpace("interrupted: the turn was stopped while this ran\n" + r.Text)
	case err != nil:
		out.Status, out.Text = CallFailed, err.Error()
		out.Summary = firstLine(err.Error())
	case r.IsError:
		out.Status = CallFailed
		said := r.Text
		if r.Printed != nil { // The summary says how the command ended.
			said = *r.Printed
		}
		if tail := lastLines(said, 5); tail != r.Summary {
			out.Tail = tail
		}
	}
	return out
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
