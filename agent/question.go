package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/tool/mcp"
	"artoo/tool/text"
)

// OwnPrograms reports whether the question is about the project's own programs: a lasting yes
// without a rule then trusts the project to run them.
func (q Question) OwnPrograms() bool {
	return q.Kind == QuestionApproval &&
		slices.ContainsFunc(q.Reasons, func(r permission.Reason) bool { return r.Code == permission.OwnPrograms })
}

// Title is the question in a few words, of which some are the model's or a server's: untrusted.
func (q Question) Title() string {
	object := strings.TrimSpace(q.Call.Access.Verb + " " + text.FirstLine(q.Call.Access.Object))
	switch q.Kind {
	case QuestionSteps, QuestionLimit:
		return q.Reason
	case QuestionChoice, QuestionCompact:
		return q.Text
	case QuestionPlan:
		return "approve the plan?"
	case QuestionMemory:
		return "remember " + text.FirstLine(q.Call.Access.Object) + "?"
	case QuestionForm:
		return q.Form.Asker() + ": " + q.Form.Message
	case QuestionChanges:
		return `apply the changes of "` + text.FirstLine(q.Call.Access.Object) + `"?`
	case QuestionOutside:
		return "outside the sandbox: " + object + "?"
	case QuestionWhole:
		return "with the whole project writable: " + object + "?"
	}
	return object + "?"
}

// Detail is all that a yes approves besides the call's title, command and own diff, and why artoo
// asks: lines of untrusted text, "" for none.
func (q Question) Detail() string {
	var lines []string
	add := func(name, text string) {
		if text != "" {
			lines = append(lines, name+text)
		}
	}
	add("", q.Plan)
	add("asked because ", q.Reason)
	if q.outside() {
		lines = append(lines, "outside the sandbox: with the network, your keys and your home")
	}
	add("in the sandbox it reaches these hosts, and can send them what it reads: ", strings.Join(q.Hosts, ", "))
	if q.Network {
		lines = append(lines, "the sandbox here does not restrict the network")
	}
	add("the project's own programs: ", strings.Join(q.Own, ", "))
	if q.Call.Access.Server != "" {
		add("server: ", q.Call.Access.Server+", "+q.Call.Access.Address)
		add("the server claims: ", q.Call.Access.Claims)
		add("its definition has changed:\n", q.Call.Access.Changed)
		add("input: ", string(q.Call.Input))
	}
	if q.Effects != nil {
		add("changes: ", strings.Join(q.Effects.Short(), "; "))
	}
	add("", q.Diff)
	return strings.Join(lines, "\n")
}

// outside reports whether a yes lets a command run outside the sandbox.
func (q Question) outside() bool {
	return q.Kind == QuestionOutside || q.Kind == QuestionApproval && q.Call.Access.Command != "" && q.Place == permission.PlaceHost
}

// Verdicts are the answers that the question takes. The terminal's keys stand for them; programs
// write them as they are. It is the only table of the answers that each kind of question takes.
func (q Question) Verdicts() []Verdict {
	switch q.Kind {
	case QuestionPlan:
		return []Verdict{Yes, YesForSession, YesFresh, No, StopTurn}
	case QuestionChanges, QuestionMemory, QuestionOutside, QuestionWhole, QuestionChoice:
		return []Verdict{Yes, No, StopTurn}
	case QuestionForm:
		return []Verdict{Yes, No, Cancel, StopTurn}
	case QuestionSteps, QuestionLimit, QuestionCompact:
		return []Verdict{Yes, No}
	}
	if q.Rule == "" && !q.OwnPrograms() { // No rule would cover it.
		return []Verdict{Yes, No, StopTurn}
	}
	return []Verdict{Yes, No, YesForSession, YesForever, StopTurn}
}

// Decision is what an answer to the question decides. err is the error of asking. A question that is masked makes a
// decision that is masked, except for rules.
func (q Question) Decision(a Answer, err error) conversation.Decision {
	d := conversation.Decision{Call: q.Call.ID, Agent: q.Call.Agent, Tool: q.Call.Name, Object: q.Call.Access.Object,
		Dir: cmp.Or(q.Call.Access.Dir, q.Dir), Kind: string(q.Kind), Answer: a.Verdict.String(), By: a.By, Reason: a.Reason,
		Rule: a.Rule, Narrow: q.Rule, From: string(a.From)}
	if q.ID != "" {
		d.Shown = q.sum()
	}
	switch {
	case errors.Is(err, ErrNobody):
		d.From = string(FromNobody)
	case d.From == "" && a.By != "":
		d.From = string(FromProgram)
	case d.From == "":
		d.From = string(FromTyped)
	}
	switch lasting := a.Verdict == YesForSession || a.Verdict == YesForever; {
	case err != nil:
		d.Answer = No.String()
	case lasting && !q.OwnPrograms():
		d.Rule = cmp.Or(a.Rule, q.Rule)
	}
	return d
}

// sum is a hash of the question as programs get it, without its ids.
func (q Question) sum() string {
	e := q.Event()
	e.ID, e.Call = "", ""
	data, err := json.Marshal(e)
	if err != nil {
		// A server's schema is no JSON: no one was shown it.
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// QuestionEvent is a question as programs get it: on the event stream, on a hook's or an ask
// program's standard input. Its texts are untrusted. Fields that a kind has no use for are left out.
type QuestionEvent struct {
	Type      string          `json:"type"` // question
	ID        string          `json:"id"`
	Kind      QuestionKind    `json:"kind"`
	Title     string          `json:"title"`             // the question in a few words
	Answers   []string        `json:"answers"`           // those that count
	Call      string          `json:"call,omitempty"`    // the id of the call in question
	Tool      string          `json:"tool,omitempty"`    // the tool of that call
	Input     json.RawMessage `json:"input,omitempty"`   // its whole input, masked
	Object    string          `json:"object,omitempty"`  // its command, path or address
	Dir       string          `json:"dir,omitempty"`     // the directory that commands start in
	Outside   bool            `json:"outside,omitempty"` // it would run outside the sandbox
	Hosts     []string        `json:"hosts,omitempty"`   // those that it would reach from the sandbox
	Reason    string          `json:"reason,omitempty"`  // why artoo asks
	Rule      string          `json:"rule,omitempty"`    // the narrowest rule that would allow it
	Suggested string          `json:"suggested,omitempty"`
	Diff      string          `json:"diff,omitempty"`    // the change in question, as a unified diff
	Changes   []string        `json:"changes,omitempty"` // paths that a command changed on its layer
	Plan      string          `json:"plan,omitempty"`    // Markdown
	Choices   []string        `json:"choices,omitempty"`
	Form      *FormEvent      `json:"form,omitempty"`
	Agent     string          `json:"agent,omitempty"` // the sub-agent whose question it is
}

// FormEvent is a request of an MCP server: for the values of a form, or to open an address.
type FormEvent struct {
	Server  string          `json:"server"`
	To      string          `json:"to"` // the host or program that gets the values
	Message string          `json:"message"`
	URL     string          `json:"url,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"` // a flat JSON Schema of the values
}

// AnswerEvent is an answer as programs give it.
type AnswerEvent struct {
	ID     string          `json:"id"`
	Answer string          `json:"answer"`
	Reason string          `json:"reason,omitempty"`
	Rule   string          `json:"rule,omitempty"`
	Text   string          `json:"text,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"` // the edited input of QuestionApproval, or the values of QuestionForm
}

// Event is the question as programs get it.
func (q Question) Event() QuestionEvent {
	e := QuestionEvent{Type: "question", ID: q.ID, Kind: q.Kind, Title: q.Title(), Call: q.Call.ID, Tool: q.Call.Name,
		Object: q.Call.Access.Object, Dir: q.Dir, Reason: q.Reason, Rule: q.Rule, Suggested: q.Suggested,
		Outside: q.outside(), Hosts: q.Hosts,
		Diff: cmp.Or(q.Diff, q.Call.Access.Diff), Plan: q.Plan, Choices: q.Choices, Agent: q.Call.Agent}
	for _, v := range q.Verdicts() {
		e.Answers = append(e.Answers, v.String())
	}
	if json.Valid(q.Call.Input) {
		e.Input = q.Call.Input
	}
	if q.Effects != nil {
		e.Changes = q.Effects.Short()
	}
	if q.Form != nil {
		e.Form = &FormEvent{Server: q.Form.Server, To: q.Form.To, Message: q.Form.Message, URL: q.Form.URL, Schema: q.Form.Schema}
	}
	return e
}

// Read is a program's answer to the question. The error explains an answer that does not count:
// it decides nothing, and the question stands.
func (q Question) Read(e AnswerEvent) (Answer, error) {
	a := Answer{Verdict: Verdict(e.Answer), Reason: e.Reason, Rule: e.Rule, Text: e.Text, From: FromProgram}
	if e.Answer == "no" {
		a.Verdict = No
	}
	if e.Answer == "" || !slices.Contains(q.Verdicts(), a.Verdict) {
		return Answer{}, fmt.Errorf("%q is not an answer to a question of the kind %s: %s", e.Answer, q.Kind,
			strings.Join(q.Event().Answers, ", "))
	}
	lasting := a.Verdict == YesForSession || a.Verdict == YesForever
	switch {
	case a.Rule != "" && (q.Kind != QuestionApproval || !lasting):
		return Answer{}, errors.New("a rule goes with session or forever, as the answer to an approval")
	case e.Input != nil && (a.Verdict != Yes || q.Kind != QuestionApproval && q.Kind != QuestionForm):
		return Answer{}, errors.New("input goes with yes, as the answer to an approval or a form")
	case q.Kind == QuestionChoice && a.Verdict == Yes && a.Text == "":
		return Answer{}, errors.New("text is missing")
	case q.Kind == QuestionCompact && a.Verdict == Yes && !slices.Contains(q.Choices, a.Text):
		return Answer{}, errors.New("text must be one of the choices")
	case q.Kind == QuestionForm:
		return q.readForm(a, e.Input)
	case q.Kind == QuestionApproval && lasting && q.Covers != nil && (a.Rule != "" || !q.OwnPrograms()):
		return a, q.Covers(cmp.Or(a.Rule, q.Rule))
	}
	if e.Input != nil {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(e.Input, &object); err != nil || object == nil {
			return Answer{}, errors.New("input must be an object")
		}
		a.Input = e.Input
	}
	return a, nil
}

func (q Question) readForm(a Answer, input json.RawMessage) (Answer, error) {
	switch a.Verdict {
	case No:
		a.Form.Action = mcp.Decline
		return a, nil
	case Cancel, StopTurn:
		a.Form.Action = mcp.Cancel
		return a, nil
	}
	a.Form = mcp.Answer{Action: mcp.Accept, Content: map[string]any{}}
	if q.Form.URL != "" {
		return a, nil
	}
	if input != nil {
		if err := json.Unmarshal(input, &a.Form.Content); err != nil || a.Form.Content == nil {
			return Answer{}, errors.New("input must be an object with the form's values")
		}
	}
	if err := q.Form.Check(a.Form.Content); err != nil {
		return Answer{}, err
	}
	return a, nil
}

// questionID numbers the questions of an agent and its sub-agents.
func (s *session) questionID() string {
	for s.parent != nil {
		s = s.parent
	}
	return "q" + strconv.FormatInt(s.questions.Add(1), 10)
}
