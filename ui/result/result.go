// Package result makes the object that reports a run to a program: the last line of -o json and -o jsonl, and the answer of an MCP
// server's call.
package result

import (
	"cmp"
	"time"

	"artoo/agent"
	"artoo/provider"
)

// Result is the object that ends a JSON run. Every field except Answered, Background, Unconfined, Quota and Patch is
// always there.
type Result struct {
	V          int                   `json:"v"`
	Type       string                `json:"type"`
	Result     any                   `json:"result" jsonschema:"the answer's text; with a schema, the answer that fits it, or null"` // nil for null
	SessionID  string                `json:"session_id"`
	Provider   string                `json:"provider"`
	Model      string                `json:"model"`
	StopReason string                `json:"stop_reason"`
	Turns      int                   `json:"turns"`
	Usage      provider.Usage        `json:"usage"`
	CostUSD    *float64              `json:"cost_usd"`
	DurationMS int64                 `json:"duration_ms"`
	Denied     []agent.Denial        `json:"denied"`
	Effects    agent.Reach           `json:"effects"`
	Answered   []agent.HookAnswer    `json:"answered,omitempty"`   // the questions that hooks answered; absent for none
	Background []string              `json:"background,omitempty"` // the background commands that were ended with the run; absent for none
	Sandbox    string                `json:"sandbox"`
	Unconfined string                `json:"unconfined,omitempty"` // why nothing confines commands; absent where something does
	Stdin      string                `json:"stdin"`
	ExitCode   int                   `json:"exit_code"`
	Requests   []agent.RequestReport `json:"requests"`
	// Quota are the server's rate limits; absent where the last reply reported none.
	Quota *provider.Quota `json:"quota,omitempty"`
	Patch string          `json:"patch,omitempty"` // the file of changes that did not land; absent for none
	Error *Error          `json:"error"`
}

// Error is the failure of a run.
type Error struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Info holds the facts of a result besides the answer.
type Info struct {
	SessionID, Provider, Model string
	Sandbox                    string // "none" until there is one
	Unconfined                 string // why nothing confines commands; "" until it is known
	Mode                       string // the approval mode; "" until there is one
	Stdin                      string // Input.State
	Began                      time.Time
	Patch                      string // the file with the changes that did not land, or ""
	Schema                     bool   // answers have to fit a schema
	// Quota is the state of the server's rate limits; nil where the last reply reported none.
	Quota *provider.Quota
}

// New makes the object. response may be nil: the run failed before its
// turn. code is the exit code, which a signal decides differently from failure.
func New(info Info, response *agent.Response, failure *agent.Failure, code int) Result {
	r := Result{
		V: 1, Type: "result", SessionID: info.SessionID, Provider: info.Provider, Model: info.Model,
		DurationMS: time.Since(info.Began).Milliseconds(), Denied: []agent.Denial{}, Sandbox: cmp.Or(info.Sandbox, "none"), Unconfined: info.Unconfined,
		Stdin:    info.Stdin,
		ExitCode: code, Requests: []agent.RequestReport{}, Patch: info.Patch, Quota: info.Quota,
		Result: info.Answer(response),
	}
	r.Stdin = cmp.Or(r.Stdin, "none")
	if response != nil {
		r.StopReason, r.Turns = string(response.Stop), response.Steps
		r.Usage, r.CostUSD = response.Usage, response.CostUSD
		r.Denied = append(r.Denied, response.Denied...)
		r.Answered, r.Background = response.Answered, response.Background
		r.Requests = append(r.Requests, response.Requests...)
		if response.Model != "" {
			r.Provider, r.Model = cmp.Or(response.Provider, r.Provider), response.Model
		}
	}
	var reach agent.Reach
	if response != nil {
		reach = response.Reach
	}
	r.Effects = reach.And(agent.Reach{})
	if failure != nil {
		r.Error = &Error{Kind: string(failure.Kind), Message: failure.Error(), Hint: failure.Hint}
	}
	return r
}

// Answer is the answer of response in the form of results; response may be nil.
func (i Info) Answer(response *agent.Response) any {
	switch {
	case response == nil && i.Schema, i.Schema && response.JSON == nil:
		return nil
	case response == nil:
		return ""
	case i.Schema:
		return response.JSON
	}
	return response.Text
}
