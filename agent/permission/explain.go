package permission

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/web"
)

// Explanation explains a policy's decision on a call, part by part.
type Explanation struct {
	Tool      string  `json:"tool"`
	Call      string  `json:"call"` // the command, path or host
	Mode      Mode    `json:"mode"`
	Verdict   Verdict `json:"effect"`
	Reason    string  `json:"reason"`
	Rule      string  `json:"rule"`      // the rule that decided, "" when the mode did
	Narrow    string  `json:"narrow"`    // the narrowest rule that would allow this very call; "" when none can
	Suggested string  `json:"suggested"` // a wider one; may equal Narrow
	Parts     []Part  `json:"parts"`     // the simple commands of a line; nil for other tools
	// Place is where a line runs when it may: "host", "layer", "background", "sandbox" or "read-only"; "" for others.
	Place   string   `json:"place,omitempty"`
	Reasons []Reason `json:"reasons,omitempty"` // those of the decision, as data
	// Hooks name the hooks that are asked before the call; they may decide otherwise.
	Hooks []string `json:"hooks,omitempty"`
}

// RuleInForce is a rule with where it stands.
type RuleInForce struct {
	Verdict Verdict `json:"effect"`
	Rule    string  `json:"rule"`
	Origin  string  `json:"origin"`
	Remark  string  `json:"remark,omitempty"` // an effect that its words leave open
	// Session means that it was allowed in this session, and can be dropped.
	Session bool `json:"-"`
}

// InForce are all rules in the order in which they count.
func (p *Policy) InForce() (list []RuleInForce) {
	for i, rules := range [][]Rule{p.DenyRules, p.session, p.AskRules, p.AllowRules} {
		for _, r := range rules {
			row := RuleInForce{Verdict: []Verdict{Refuse, Run, Ask, Run}[i], Rule: r.String(), Origin: r.Origin, Session: i == 1}
			if row.Verdict == Run {
				row.Remark = r.Remark()
			}
			list = append(list, row)
		}
	}
	return list
}

var toolCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_]*)\((.+)\)$`)
})

// CallFor reads a call as a rule for it is written, such as read(.env), web_fetch(go.dev) or
// mcp__db__query, with paths as tools see them. Anything else is a shell line.
func CallFor(text string, files *files.Files) (name string, access tool.Access, err error) {
	line := func(text string) (string, tool.Access, error) {
		return "bash", tool.Access{Kind: tool.KindRun, Command: text, Dir: files.Dir(), Object: text}, nil
	}
	m := append(toolCall().FindStringSubmatch(text), "", "", "")
	r, object := Rule{Tool: m[1]}, strings.TrimSpace(m[2])
	switch kind, err := r.canonical(text); {
	case serverTool().MatchString(text):
		return text, serverCall(text), nil
	case err != nil: // also a line that looks like a call
		return line(text)
	case kind == ruleCommand:
		return line(object)
	case kind == ruleHost:
		access = tool.Access{Kind: tool.KindNetwork, Object: strings.TrimPrefix(object, "domain:")}
		access.Host, err = web.HostOf(access.Object)
		return r.Tool, access, err
	case strings.HasPrefix(r.Tool, mcpPrefix):
		return r.Tool, serverCall(r.Tool), nil
	case kind == ruleNone:
		return r.Tool, tool.Access{Kind: tool.KindNone, Object: object}, nil
	}
	access = tool.Access{Kind: tool.KindRead, Object: object}
	if writes(r.Tool) {
		access.Kind = tool.KindWrite
	}
	place, err := files.Resolve(object, access.Kind == tool.KindWrite)
	if err != nil {
		return "", access, err
	}
	access.Paths, access.Outside, access.Denied, access.Why = []string{place.Abs}, place.Outside, place.Denied,
		place.Why
	return r.Tool, access, nil
}

// Explain decides a call, and reports the decision's record.
func (p *Policy) Explain(name string, access tool.Access) Explanation {
	d := p.Decide(name, access)
	e := Explanation{Tool: name, Call: access.Object, Mode: p.Mode, Verdict: d.Verdict, Rule: d.Rule, Narrow: d.Narrow,
		Suggested: d.Suggested, Reason: cmp.Or(d.Reason(), "mode "+string(p.Mode)), Reasons: d.Reasons, Parts: d.Parts}
	if len(d.Keep) > 0 {
		e.Reason += ", unless undo would restore all of it"
	}
	if access.Kind == tool.KindRun && d.Verdict != Refuse {
		e.Place = cmp.Or(string(d.Place), "host")
	}
	return e
}
