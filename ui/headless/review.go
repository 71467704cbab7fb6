package headless

import (
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool/changes"
	"artoo/ui/result"
	"artoo/ui/sanitize"
)

// SARIF is the format of findings for code scanning.
const SARIF Format = "sarif"

// ReviewResult is the object of a review in JSON. Every field is always there.
type ReviewResult struct {
	V          int                `json:"v"`
	Type       string             `json:"type"` // review
	Findings   []changes.Finding  `json:"findings"`
	Files      int                `json:"files"`   // so many were looked at
	Skipped    []agent.Unreviewed `json:"skipped"` // files that were not
	Provider   string             `json:"provider"`
	Model      string             `json:"model"`
	Turns      int                `json:"turns"`
	Usage      provider.Usage     `json:"usage"`
	CostUSD    *float64           `json:"cost_usd"`
	DurationMS int64              `json:"duration_ms"`
	ExitCode   int                `json:"exit_code"`
	Error      *result.Error      `json:"error"`
}

// NewReviewResult makes the object. r may be nil: the run failed before its review.
func NewReviewResult(info result.Info, r *agent.Review, failure *agent.Failure, code int) ReviewResult {
	out := ReviewResult{V: 1, Type: "review", Findings: []changes.Finding{}, Skipped: []agent.Unreviewed{}, Provider: info.Provider, Model: info.Model,
		DurationMS: time.Since(info.Began).Milliseconds(), ExitCode: code}
	if r != nil {
		out.Findings, out.Skipped, out.Files = append(out.Findings, r.Findings...), append(out.Skipped, r.Left...), r.Files
		out.Turns, out.Usage, out.CostUSD = r.Response.Steps, r.Response.Usage, r.Response.CostUSD
		if r.Response.Model != "" {
			out.Provider, out.Model = r.Response.Provider, r.Response.Model
		}
	}
	if failure != nil {
		out.Error = &result.Error{Kind: string(failure.Kind), Message: failure.Error(), Hint: failure.Hint}
	}
	return out
}

// WriteFindings writes findings a line each, as editors and compilers have them, with each path under a name.
func WriteFindings(w io.Writer, findings []changes.Finding, name func(path string) string) error {
	var b strings.Builder
	for _, f := range findings {
		b.WriteString(sanitize.Text(f.In(name(f.Path)), sanitize.Line) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sarifLog and the types below are the part of SARIF 2.1.0 that a review has.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string    `json:"id"`
	Short sarifText `json:"shortDescription"`
	Full  sarifText `json:"fullDescription"`
	Help  sarifText `json:"help"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct {
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"` // nil is the whole file
}

type sarifArtifact struct {
	URI    string `json:"uri"`
	BaseID string `json:"uriBaseId"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLine"`
	EndColumn   int `json:"endColumn"`
}

// WriteSARIF writes a review for code scanning. A failure that is none of the findings says that the review
// is not whole.
func WriteSARIF(w io.Writer, version string, r *agent.Review, failure *agent.Failure) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{"artoo", version, []sarifRule{}}}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
		Invocations: []sarifInvocation{{Successful: failure == nil || failure.Kind == agent.KindFindings, Notifications: []sarifNotification{}}}}
	notices := &run.Invocations[0].Notifications
	if !run.Invocations[0].Successful {
		*notices = append(*notices, sarifNotification{Level: "error", Message: sarifText{failure.Error()}})
	}
	for _, left := range r.Left {
		*notices = append(*notices, sarifNotification{Level: "note", Message: sarifText{"not reviewed: " + left.Why},
			Locations: []sarifLocation{{sarifPhysical{Artifact: sarifFile(left.Path)}}}})
	}
	rules := &run.Tool.Driver.Rules
	for _, f := range r.Findings {
		at := slices.IndexFunc(*rules, func(known sarifRule) bool { return known.ID == f.Rule })
		if at < 0 {
			at = len(*rules)
			kind := strings.ReplaceAll(f.Rule, "-", " ")
			*rules = append(*rules, sarifRule{f.Rule, sarifText{kind}, sarifText{"A language model reviewed a change and reported: " + kind + "."},
				sarifText{"A language model's report may be wrong. Check it against the code."}})
		}
		run.Results = append(run.Results, sarifResult{f.Rule, at, string(f.Severity), sarifText{f.Text}, []sarifLocation{{sarifPhysical{sarifFile(f.Path),
			&sarifRegion{StartLine: f.Line, StartColumn: f.Column, EndLine: f.EndLine, EndColumn: f.EndCol}}}}})
	}
	return WriteLine(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// sarifFile names a file by its path from the top of the repository.
func sarifFile(path string) sarifArtifact {
	return sarifArtifact{(&url.URL{Path: path}).String(), "%SRCROOT%"}
}
