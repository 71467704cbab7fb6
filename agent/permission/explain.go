package permission

import (
	"cmp"
	"regexp"
	"strings"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/web"
)

// Explanation is what a policy says of a call, part by part.
type Explanation struct {
	Tool      string       `json:"tool"`
	Call      string       `json:"call"` // the command, path or host
	Mode      Mode         `json:"mode"`
	Verdict   Verdict      `json:"effect"`
	Reason    string       `json:"reason"`
	Rule      string       `json:"rule"`      // the rule that decided, "" when the mode did
	Narrow    string       `json:"narrow"`    // the narrowest rule that would allow this very call; "" when none can
	Suggested string       `json:"suggested"` // a wider one; may equal Narrow
	Parts     []Part       `json:"parts"`     // the simple commands of a line; nil for other tools
	Missed    []MissedRule `json:"missed"`    // rules for the tool that do not cover the call
	// Place is where a line runs when it may: "host", "layer", "background", "sandbox" or
	// "read-only"; "" where nothing confines.
	Place   string   `json:"place,omitempty"`
	Reasons []Reason `json:"reasons,omitempty"` // those of the decision, as data
}

// RuleInForce is a rule with where it stands.
type RuleInForce struct {
	Verdict Verdict `json:"effect"`
	Rule    string  `json:"rule"`
	Origin  string  `json:"origin"`
	Remark  string  `json:"remark,omitempty"` // an effect that its words leave open
	// Session says that it was allowed in this session, and can be dropped.
	Session bool `json:"-"`
}

// InForce are all rules in the order in which they count.
func (p *Policy) InForce() (list []RuleInForce) {
	add := func(verdict Verdict, rules []Rule, session bool) {
		for _, r := range rules {
			row := RuleInForce{Verdict: verdict, Rule: r.String(), Origin: r.Origin, Session: session}
			if verdict == Run {
				row.Remark = r.Remark()
			}
			list = append(list, row)
		}
	}
	add(Refuse, p.DenyRules, false)
	add(Run, p.session, true)
	add(Ask, p.AskRules, false)
	add(Run, p.AllowRules, false)
	return list
}

var toolCall = regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_]*)\((.+)\)$`)

// CallFor reads a call as one would write a rule for it: read(.env),
// edit(src/a.go), web_fetch(go.dev). Anything else is a shell line. Paths are
// seen as the tools see them.
func CallFor(text string, files *files.Files) (name string, access tool.Access, err error) {
	line := func(text string) (string, tool.Access, error) {
		return "bash", tool.Access{Kind: tool.KindRun, Command: text, Dir: files.Dir(), Object: text}, nil
	}
	m := toolCall.FindStringSubmatch(text)
	if m == nil {
		return line(text)
	}
	r := Rule{Tool: m[1]}
	kind, err := r.canonical(text)
	if err != nil {
		return line(text) // a line that looks like a call
	}
	object := strings.TrimSpace(m[2])
	switch {
	case kind == ruleCommand:
		return line(object)
	case kind == ruleHost, strings.HasPrefix(r.Tool, "mcp__"):
		access = tool.Access{Kind: tool.KindNetwork, Object: strings.TrimPrefix(object, "domain:")}
		if kind == ruleHost {
			access.Host, err = web.HostOf(access.Object)
		}
		return r.Tool, access, err
	case kind == ruleNone:
		return r.Tool, tool.Access{Kind: tool.KindNone, Object: object}, nil
	}
	access = tool.Access{Kind: tool.KindRead, Object: object}
	if writes(r.Tool) {
		access.Kind = tool.KindWrite
	}
	place, err := files.Resolve(object, access.Kind == tool.KindWrite)
	if r.Tool == "read" {
		place, err = files.ResolveRead(object)
	}
	if err != nil {
		return "", access, err
	}
	access.Paths, access.Outside, access.Denied, access.Why = []string{place.Abs}, place.Outside, place.Denied, place.Why
	return r.Tool, access, nil
}

// Explain decides a call, and reports what the decision recorded.
func (p *Policy) Explain(name string, access tool.Access) Explanation {
	d := p.Decide(name, access)
	e := Explanation{Tool: name, Call: access.Object, Mode: p.Mode, Verdict: d.Verdict, Rule: d.Rule, Narrow: d.Narrow,
		Suggested: d.Suggested, Reason: cmp.Or(d.Reason(), "mode "+string(p.Mode)), Reasons: d.Reasons, Parts: d.Parts, Missed: d.Missed}
	if access.Kind == tool.KindRun && p.Confinement.Sandbox && d.Verdict != Refuse {
		e.Place = cmp.Or(string(d.Place), "host")
	}
	return e
}
