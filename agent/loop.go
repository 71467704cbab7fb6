package agent

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/telemetry"
	"artoo/tool"
	"artoo/tool/mcp"
	"artoo/tool/shell"
)

// Agent is one conversation with a model. Make one with New. Its methods are
// called between turns, by one goroutine at a time; SendMessage is a turn.
type Agent struct {
	session    *session
	keeper     *keeper
	background *backgroundCalls
	notes      modelNotes
	spent      *spending // It counts all turns of the run and is shared with sub-agents.

	startMode  permission.Mode                    // the mode the agent was made with
	beforePlan permission.Mode                    // the mode that plan mode replaced, "" for none
	steps      *atomic.Int64                      // counts those of the parent's turn; nil for no sub-agent
	tasks      int                                // counts the sub-agents that were begun
	end        func() error                       // ends the parts that ForProject made; nil with New
	exitCode   int                                // hooks on the end of the session get it
	reached    func() []string                    // lists the places that commands reach; nil without a sandbox
	servers    *mcp.Manager                       // ForProject makes it, maybe without servers; nil with New
	kill       atomic.Pointer[context.CancelFunc] // kills the calls of the last turn; nil before it
}

// turn is one SendMessage.
type turn struct {
	agent    *Agent
	session  *session
	cb       *serial
	clock    *runClock
	response *Response
	requests *requests
	calls    *calls

	subAgents map[*pending]*subAgentCall
	stepsNear bool   // the user was warned that most steps are used
	fewLeft   bool   // The model knows that few steps are left.
	moreSteps int    // the user granted these besides Limits.MaxTurns
	resumes   int    // Hooks had the model go on so often.
	unchanged int    // rounds of Until without a change
	state     string // the value of State at the last run of Until
	corrected bool   // the model was asked again for an answer that fits the schema
}

// subAgentCall is a sub-agent's call, and its front end: its calls and questions go to the agent's own.
type subAgentCall struct {
	NopCallbacks
	turn   *turn // The agent of this turn made the call.
	call   Call
	name   string // "task 2 (review)"
	kind   SubAgent
	prompt string

	mu       sync.Mutex
	requests []RequestReport // The turn has not counted these yet.
	denied   []Denial
	answered []HookAnswer
	ended    []string // lines of its background commands that still ran
	done     []string // the calls, with how each ended
	files    []string // It changed these; absolute.
}

// requests makes the requests of one turn, fits them into the model's window, and accounts for them.
type requests struct {
	session  *session
	cb       *serial
	clock    *runClock
	money    *money
	keeper   *keeper
	response *Response

	attempt   attempt
	answer    strings.Builder // text of the final reply, continuations joined
	partial   string          // text of a reply that broke off, until a new one has text
	partialBy [2]string       // provider and model that wrote it
	keep      []provider.Part
	limit     int           // It bounds the last request's reply, in tokens; 0 for no limit.
	truncated bool          // The window left less than the limit should be.
	timeout   time.Duration // It bounds each request with its tries; 0 for no limit.

	steps   *atomic.Int64 // made so far, those of sub-agents too
	taken   bool          // one of them is for the request that comes next
	closing bool          // the last request of the turn, without calls
	// schemaAsked says that the turn's messages ask for the schema.
	schemaAsked bool
	notes       []provider.Part // artoo sent these notes with the user's message.
	perChar     float64         // bytes of a character of the user's message
}

// attempt lists the differences of the next request for the present reply from the first one.
type attempt struct {
	made      [counters]int // how often each counter's requests were made again
	maxTokens int           // goes over the reply limit, 0 for that
	nudge     string        // is sent besides, and no part of the history
	paused    bool          // ends with the reply that the server paused, as it is
	last      bool          // may not call tools, since the server holds the model to the schema only so
}

type counter int

const (
	byImages counter = iota
	byTools
	byTrim
	byNudge
	byTruncation
	byPause
	bySchema
	counters
)

// calls prepares, executes and finishes the calls of one turn.
type calls struct {
	session    *session
	cb         *serial
	response   *Response
	keeper     *keeper
	background *backgroundCalls
	own        *turn
	env        *tool.Env // The calls run in it.
	repeats    repeats
	loose      sync.Once // It guards the notice that reading commands run unconfined.
	unchecked  sync.Once // It guards the notice that checks do not run.
}

// repeats are a turn's calls by name and input.
type repeats map[string]*repeat

type repeat struct {
	result   [sha256.Size]byte
	failed   bool
	times    int // It counts equal results in a row.
	last     time.Time
	notified bool // the model was
}

// prompter asks the questions of one reply, one by one, numbered.
type prompter struct {
	calls      *calls
	number, of int
}

// backgroundCalls are calls whose command goes on in the background, or has ended there unseen.
type backgroundCalls struct {
	mu    sync.Mutex
	calls []*pending

	watches   sync.WaitGroup // Watches end with the background commands that they look after.
	abandoned sync.WaitGroup // calls that run, or were given up and are still being killed
}

// pending is one call on its way to its one result.
type pending struct {
	call    Call
	tool    *tool.Tool
	wire    string // the name by which the model called
	result  provider.ToolResult
	outcome CallResult
	reads   bool       // it changes nothing
	final   bool       // the outcome is, the call does not run
	edited  string     // how the user changed the input, for the model
	paged   bool       // the tool kept to the limit of a page itself
	apart   bool       // it is no part of the conversation
	todo    []TodoItem // the plan that it set; nil for none

	printed *string // the output alone of a command that has ended; nil for none

	opinion     permission.Opinion // the hooks before the call gave it
	hookContext []string           // the hooks' texts for the model
	halt        error              // A hook denied the call and ends the turn; nil otherwise.
	answeredBy  string             // the hook that answered a question about the call; "" for none

	answered string  // The user answered this to a question of the model; "" for nothing.
	refusal  *string // why it was denied, "" for no reason; nil where it was not

	asks       *prompter // All calls of a reply share it.
	decision   permission.Decision
	mode       permission.Mode  // The decision was made in this mode.
	confined   confine.Confined // the command, once it was started confined
	made       *madeGuarded     // It watches for auto-executed files that the command makes on the project itself; nil elsewhere.
	refused    error            // why it could not be started where it was decided
	live       *liveOutput      // shows its output while it runs
	job        *shell.Job       // the command that it left running in the background; nil for none
	kept       bool             // a step of the journal ends with it
	landed     func()           // has others count their changes again; nil before it counted its own
	ownChanges func()           // marks the changes so far as made by the call; nil for none
	run        *callRun         // its goroutine; nil before it runs

	span *telemetry.Span // nil before it is executed

	stop           error              // the answer to a question about its changes ends the turn
	whole          permission.Verdict // whether a background command may write the whole project; "" before that is asked
	denialNotified bool               // model and user know the paths it may not write
}

type callRun struct {
	done    chan ended  // holds the end
	decided atomic.Bool // it came in time, or the turn no longer waits for it
	stop    atomic.Pointer[error]
}

// endTurn has the turn end with an error after the call, unless that is given up. It is called while
// the tool runs, on any goroutine.
func (r *callRun) endTurn(err error) { r.stop.Store(&err) }

type ended struct {
	result tool.Result
	err    error
	took   time.Duration
	// skipped is why it did not run.
	skipped error
}
