package agent

import "artoo/provider"

// Response is what a turn came to. SendMessage returns one with its error too:
// it then holds what there is.
type Response struct {
	Text     string // the final reply; with an error, the partial one
	Stop     provider.StopReason
	Detail   string // the provider's explanation of Stop; may be ""
	Steps    int    // model requests, continuations included
	Usage    provider.Usage
	CostUSD  *float64 // of the turn; nil when a price is unknown
	Requests []RequestReport
	Denied   []Denial
	// ToolErrors counts calls that failed.
	ToolErrors int
	// Model and Provider are those that answered last.
	Provider, Model string
}

// RequestReport is one finished model request.
type RequestReport struct {
	ID      string         `json:"id"`
	Model   string         `json:"model"`
	Usage   provider.Usage `json:"usage"`
	CostUSD *float64       `json:"cost_usd"`
	Millis  int64          `json:"ms"`
	Tries   int            `json:"tries"`
}

// Denial is a call that was refused.
type Denial struct {
	Tool   string `json:"tool"`
	Object string `json:"object"` // the command or path, unsanitised
	Reason string `json:"reason"`
	Rule   string `json:"rule"` // the rule that would have allowed it, "" when none can
	Nobody bool   `json:"nobody"`
}
