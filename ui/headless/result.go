package headless

import (
	"encoding/json"
	"io"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/result"
	"artoo/ui/sanitize"
)

// Format is the format of stdout.
type Format string

// The formats.
const (
	Text  Format = "text"
	JSON  Format = "json"
	JSONL Format = "jsonl"
	Patch Format = "patch" // the changes; the answer goes to stderr
)

// WriteLine writes v as one JSON line, in one write. Characters that a terminal obeys or hides become
// escapes.
func WriteLine(w io.Writer, v any) error {
	line, err := provider.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write([]byte(sanitize.JSON(string(line)) + "\n"))
	return err
}

// The lines of the jsonl format before its result. A type's fields are always
// all there; docs/formats.md explains them. Fields may be added.

type sessionEvent struct {
	Type      string `json:"type"` // session
	V         int    `json:"v"`
	SessionID string `json:"session_id"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Sandbox   string `json:"sandbox"` // mechanism that confines commands
	Mode      string `json:"mode"`    // approval mode

	Unconfined string `json:"unconfined,omitempty"` // why nothing does
}

// textEvent is a piece of the reply or of the reasoning.
type textEvent struct {
	Type string `json:"type"` // text, reasoning
	Text string `json:"text"`
}

// inputEvent is how much has come of a call's arguments: at most one each inputPause,
// and the last.
type inputEvent struct {
	Type   string `json:"type"`  // tool_input
	Tool   string `json:"tool"`  // "" while it is not known
	Index  int    `json:"index"` // position in its reply, from 0
	Bytes  int    `json:"bytes"`
	Agent  string `json:"agent,omitempty"`
	Parent string `json:"parent,omitempty"`
}

type callEvent struct {
	Type   string          `json:"type"` // tool_call
	ID     string          `json:"id"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Object string          `json:"object"` // the command, path or address
	Index  int             `json:"index"`  // position in its reply, from 0
	Of     int             `json:"of"`
	Agent  string          `json:"agent,omitempty"`  // the sub-agent whose call it is
	Parent string          `json:"parent,omitempty"` // id of the call that it works for
}

type outputEvent struct {
	Type  string `json:"type"` // tool_output
	ID    string `json:"id"`
	Text  string `json:"text"`
	Agent string `json:"agent,omitempty"`
}

type callResultEvent struct {
	Type   string           `json:"type"` // tool_result
	ID     string           `json:"id"`
	Tool   string           `json:"tool"`
	Status agent.CallStatus `json:"status"`
	Text   string           `json:"text"`
	File   string           `json:"file"` // where the whole output is, when text was cut
	Millis int64            `json:"ms"`
	Agent  string           `json:"agent,omitempty"`
}

type approvalEvent struct {
	Type     string `json:"type"`     // approval
	Question string `json:"question"` // its id
	ID       string `json:"id"`
	Tool     string `json:"tool"`
	Object   string `json:"object"`
	Answer   string `json:"answer"` // no, yes, session, forever, stop
	Nobody   bool   `json:"nobody"` // true when no one could be asked
	Reason   string `json:"reason"`
	Rule     string `json:"rule"` // the narrowest rule that would allow the call
	Agent    string `json:"agent,omitempty"`
	By       string `json:"by,omitempty"` // the hook that answered
	From     string `json:"decided_by"`
	Shown    string `json:"shown"` // a hash of the question
}

type retryEvent struct {
	Type    string `json:"type"` // retry
	Try     int    `json:"try"`  // the one that comes
	Tries   int    `json:"tries"`
	WaitMS  int64  `json:"wait_ms"`
	Discard int    `json:"discard"` // so many of the last text and reasoning events are void
	Reason  string `json:"reason"`
}

type noticeEvent struct {
	Type string           `json:"type"` // notice
	Kind agent.NoticeKind `json:"kind"`
	Text string           `json:"text"`
}

type usageEvent struct {
	Type    string              `json:"type"` // usage
	Request agent.RequestReport `json:"request"`
	Quota   *provider.Quota     `json:"quota,omitempty"`
}

// bareEvent is one of which the type says all.
type bareEvent struct {
	Type string `json:"type"` // ready
}

type acceptedEvent struct {
	Type string `json:"type"` // accepted
	ID   string `json:"id"`
}

type inputErrorEvent struct {
	Type    string `json:"type"` // input_error
	Line    int    `json:"line"` // from 1
	Message string `json:"message"`
}

// turnEndEvent is the end of a message or command that was accepted.
type turnEndEvent struct {
	Type       string         `json:"type"`             // turn_end
	ID         string         `json:"id"`               // that of accepted
	Joined     []string       `json:"joined,omitempty"` // ids of messages that reached the model in this turn
	Result     any            `json:"result"`
	Provider   string         `json:"provider"` // that answered last; "" where nothing was sent
	Model      string         `json:"model"`
	StopReason string         `json:"stop_reason"`
	Turns      int            `json:"turns"`
	Usage      provider.Usage `json:"usage"`
	CostUSD    *float64       `json:"cost_usd"`
	Error      *result.Error  `json:"error"` // its kind may also be interrupted, stopped
}
