package agent

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/mcp"
)

// Agent is one conversation with a model. Make one with New. Its methods are
// called between turns, by one goroutine at a time; SendMessage is a turn.
type Agent struct {
	session    *session
	keeper     *keeper
	tally      *tally           // counts the changes of the run with its sub-agents; nil without caps
	confined   *confinedServers // nil without MCP servers that run confined
	background *backgroundCalls
	notes      modelNotes
	spent      *spending // It counts all turns of the run and is shared with sub-agents.

	modes    modesOf
	steps    *atomic.Int64                      // counts those of the parent's turn; nil for no sub-agent
	tasks    int                                // counts the sub-agents that were begun
	end      func() error                       // ends the parts that ForProject made; nil with New
	exitCode int                                // hooks on the end of the session get it
	reached  func() []string                    // lists the places that commands reach; nil without a sandbox
	servers  *mcp.Manager                       // ForProject makes it, maybe without servers; nil with New
	kill     atomic.Pointer[context.CancelFunc] // kills the calls of the last turn; nil before it
}

// modesOf are modes that an agent was in: the one that it was made with, and the one that plan mode replaced, "" for none.
type modesOf struct{ start, beforePlan permission.Mode }

// turn is one SendMessage.
type turn struct {
	agent    *Agent
	session  *session
	cb       *serial
	clock    *runClock
	response *Response
	requests *requests
	calls    *calls

	subAgents map[string]*subAgentCall // The keys are the ids of calls.
	stepsNear bool                     // the user was warned that most steps are used
	fewLeft   bool                     // The model knows that few steps are left.
	moreSteps int                      // the user granted these besides Limits.MaxTurns
	resumes   int                      // Hooks had the model go on so often.
	unchanged int                      // rounds of Until without a change
	state     string                   // the value of State at the last run of Until
	corrected bool                     // the model was asked again for an answer that fits the schema
}

// subAgentCall is a sub-agent's call, and its front end: its calls and questions go to the agent's own.
type subAgentCall struct {
	NopCallbacks
	turn   *turn // The agent of this turn made the call.
	call   Call
	name   string // "task 2 (review)"
	kind   SubAgent
	prompt string
	// search has the small model answer, if it can.
	search bool

	mu       sync.Mutex
	requests []RequestReport // The turn has not counted these yet.
	denied   []Denial
	answered []HookAnswer
	ended    []string // lines of its background commands that still ran
	reach    Reach
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
	// waited is how long it waited for limits to reset.
	waited time.Duration
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

// calls carries the calls of one turn from the model to their results.
type calls struct {
	session    *session
	cb         *serial
	response   *Response
	keeper     *keeper
	tally      *tally
	servers    *confinedServers
	background *backgroundCalls
	own        *turn
	env        *tool.Env // The calls run in it.
	repeats    repeats
	apart      bool // Its calls are no part of the conversation.

	questions numbering // those of the present reply
	loose     sync.Once // It guards the notice that reading commands run unconfined.
	unchecked sync.Once // It guards the notice that checks do not run.
}

// numbering counts the questions of a reply, so that each says which one of how many it is.
type numbering struct{ asked, of int }

func (n *numbering) next() { n.asked, n.of = n.asked+1, max(n.of, n.asked+1) }

// repeats are a turn's calls by name and input.
type repeats map[string]*repeat

type repeat struct {
	result   [sha256.Size]byte
	failed   bool
	times    int // It counts equal results in a row.
	last     time.Time
	notified bool // the model was
}
