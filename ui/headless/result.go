package headless

import (
	"cmp"
	"io"
	"time"

	"artoo/agent"
	"artoo/provider"
)

// Format is what stdout holds.
type Format string

// The formats.
const (
	Text  Format = "text"
	JSON  Format = "json"
	JSONL Format = "jsonl"
)

// Result is the object that ends a JSON run. Every field is always there.
type Result struct {
	V          int                   `json:"v"`
	Type       string                `json:"type"`
	Result     string                `json:"result"`
	SessionID  string                `json:"session_id"`
	Provider   string                `json:"provider"`
	Model      string                `json:"model"`
	StopReason string                `json:"stop_reason"`
	Turns      int                   `json:"turns"`
	Usage      provider.Usage        `json:"usage"`
	CostUSD    *float64              `json:"cost_usd"`
	DurationMS int64                 `json:"duration_ms"`
	Denied     []agent.Denial        `json:"denied"`
	Sandbox    string                `json:"sandbox"`
	Stdin      string                `json:"stdin"`
	ExitCode   int                   `json:"exit_code"`
	Requests   []agent.RequestReport `json:"requests"`
	Error      *ResultError          `json:"error"`
}

// ResultError is the failure of a run.
type ResultError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Info is what a result tells of the run besides the answer.
type Info struct {
	SessionID, Provider, Model string
	Sandbox                    string // "none" until there is one
	Stdin                      string // Input.State
	Began                      time.Time
}

// NewResult makes the object. response may be nil: the run failed before its
// turn. code is the exit code, which a signal decides differently from failure.
func NewResult(info Info, response *agent.Response, failure *agent.Failure, code int) Result {
	r := Result{
		V: 1, Type: "result", SessionID: info.SessionID, Provider: info.Provider, Model: info.Model,
		DurationMS: time.Since(info.Began).Milliseconds(), Denied: []agent.Denial{}, Sandbox: info.Sandbox,
		Stdin:    info.Stdin,
		ExitCode: code, Requests: []agent.RequestReport{},
	}
	r.Stdin = cmp.Or(r.Stdin, "none")
	if response != nil {
		r.Result, r.StopReason, r.Turns = response.Text, string(response.Stop), response.Steps
		r.Usage, r.CostUSD = response.Usage, response.CostUSD
		r.Denied = append(r.Denied, response.Denied...)
		r.Requests = append(r.Requests, response.Requests...)
		if response.Model != "" {
			r.Model = response.Model
		}
	}
	if failure != nil {
		r.Error = &ResultError{Kind: string(failure.Kind), Message: failure.Error(), Hint: failure.Hint}
	}
	return r
}

// WriteLine writes v as one JSON line, in one write.
func WriteLine(w io.Writer, v any) error {
	line, err := provider.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
