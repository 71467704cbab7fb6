package ui

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/redact"
	"artoo/tool"
	"artoo/tool/text"
	"artoo/ui/doctor"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

func oneLine(s string) string { return sanitize.Text(redact.Setting(s), sanitize.Line) }

func (t *Terminal) columns(rows [][]string) { columns(t.screen, rows) }

func columns(s *screen.Screen, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displaywidth.String(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if i < len(row)-1 {
				b.WriteString(cell + strings.Repeat(" ", widths[i]-displaywidth.String(cell)) + "  ")
				continue
			}
			s.Row(b.String(), cell)
		}
	}
}

// runTools lists the model's tools, those of each MCP server as one row.
func runTools(_ context.Context, t *Terminal, _ string) error {
	var rows [][]string
	var servers []string
	counts := map[string]int{} // of their tools
	for _, r := range t.opt.Agent.Tools() {
		rest, ok := strings.CutPrefix(r.Name, "mcp__")
		if server, _, found := strings.Cut(rest, "__"); ok && found {
			if counts[server]++; counts[server] == 1 {
				servers = append(servers, server)
			}
			continue
		}
		about, _, _ := strings.Cut(r.Description, "\n")
		about, _, _ = strings.Cut(about, ". ")
		rows = append(rows, []string{oneLine(r.Name), string(r.Kind), oneLine(about)})
	}
	for _, server := range servers {
		rows = append(rows, []string{"mcp__" + oneLine(server) + "__*", string(tool.KindServer),
			text.Count(counts[server], "tool") + "; artoo mcp tools NAME lists them"})
	}
	if rows == nil {
		t.screen.Note("no tools")
	}
	t.columns(rows)
	return nil
}

// runHooks shows the hooks in the order in which they run.
func runHooks(_ context.Context, t *Terminal, _ string) error {
	rows := t.opt.Program.Hooks()
	if rows == nil {
		t.screen.Note("no hooks; add [[hooks]] to config.toml (artoo help hooks)")
	}
	for _, row := range rows {
		t.screen.Text(oneLine(row))
	}
	return nil
}

// runConfig shows the settings that someone set, or with "all" each.
func runConfig(_ context.Context, t *Terminal, arg string) error {
	if arg != "" && arg != "all" {
		return fmt.Errorf("unknown word %q: /config all shows every setting", arg)
	}
	var rows [][]string
	for _, r := range t.opt.Program.Settings() {
		if arg == "" && !r.Set {
			continue
		}
		rows = append(rows, []string{oneLine(r.Option.Key), oneLine(r.Value), "(" + oneLine(r.Origin) + ")"})
	}
	t.columns(rows)
	if arg == "" {
		t.screen.Text("the other settings have their defaults; /config all shows them")
	}
	return nil
}

func runContext(_ context.Context, t *Terminal, _ string) error {
	a := t.opt.Agent
	c := a.Context()
	t.screen.Note(contextText(c))
	var rows [][]string
	for _, p := range c.Parts {
		share := "0%"
		if c.Used > 0 {
			share = strconv.Itoa(p.Tokens*100/c.Used) + "%"
		}
		rows = append(rows, []string{oneLine(p.Name), conversation.Tokens(p.Tokens), share})
	}
	if c.Budget > 0 {
		rows = append(rows, []string{"free", conversation.Tokens(c.Free), strconv.Itoa(c.Free*100/c.Budget) + "% of the budget"})
	}
	t.columns(rows)
	rows = nil
	for _, f := range c.Files {
		tokens := ""
		if f.Used {
			tokens = conversation.Tokens(a.Conversation().TextTokens(f.Text)) + " tokens"
		}
		rows = append(rows, []string{oneLine(f.Name), tokens, oneLine(f.Said)})
	}
	t.columns(rows)
	return nil
}

func contextText(c agent.ContextUse) string {
	text := fmt.Sprintf("about %s tokens in %s", conversation.Tokens(c.Used), screen.Count(c.Messages, "message"))
	if c.Budget > 0 {
		text += fmt.Sprintf(", %d%% of the budget of %s", c.Used*100/c.Budget, conversation.Tokens(c.Budget))
	}
	if c.Window > 0 {
		text += fmt.Sprintf(" (the model takes %s)", conversation.Tokens(c.Window))
	}
	return text
}

func runCost(_ context.Context, t *Terminal, _ string) error {
	t.screen.Note(costText(t.opt.Agent.Cost()))
	if text := todayText(t.opt.Agent); text != "" {
		t.screen.Note(text)
	}
	return nil
}

func todayText(a *agent.Agent) string {
	date, spent, ok := a.Today()
	limit := a.Limits().DailyCost
	if !ok || spent == 0 && limit == 0 {
		return ""
	}
	line := "today (" + date + "), all runs: " + text.Dollars(spent)
	if limit > 0 {
		line += " of " + text.Dollars(limit)
	}
	return line + "; artoo usage shows more"
}

func costText(c conversation.Totals) string {
	if c.Requests == 0 && c.Usage.Total() == 0 {
		return "no requests yet; nothing spent"
	}
	money := "cost unknown: no price for this model; set `price = { … }` in config.toml"
	if c.CostUSD != nil {
		money = text.Dollars(*c.CostUSD)
	}
	if c.Requests == 0 && c.Usage.Total() > 0 { // a session that is not kept does not count them
		return usage(c.Usage) + ", " + money
	}
	return fmt.Sprintf("%s, %s, %s", screen.Count(c.Requests, "request"), usage(c.Usage), money)
}

func usage(u provider.Usage) string {
	text := conversation.Tokens(u.Input) + " in"
	if u.CacheRead > 0 || u.CacheWrite > 0 {
		text += fmt.Sprintf(" and %s from, %s to the cache", conversation.Tokens(u.CacheRead), conversation.Tokens(u.CacheWrite))
	}
	text += ", " + conversation.Tokens(u.Output) + " out"
	if u.Reasoning > 0 {
		text += fmt.Sprintf(" (%s of it reasoning)", conversation.Tokens(u.Reasoning))
	}
	if u.Estimated {
		text += ", in part estimated"
	}
	return text
}

func runStatus(_ context.Context, t *Terminal, _ string) error {
	a := t.opt.Agent
	model := a.Model()
	dir := a.Env().Dir
	if branch := a.Branch(); branch != "" {
		dir += " (" + branch + ")"
	}
	session := "not kept"
	if s := a.Conversation().Session(); s != nil {
		session = s.ID() + ", " + filepath.Base(s.Path())
	}
	name := model.String()
	if by := a.AnsweredBy(); by != "" && by != model.Defaults.Model {
		name += ", answered by " + by
	}
	rows := [][]string{
		{"model", name + ", effort: " + cmp.Or(string(model.Defaults.Effort), "model default")},
		{"directory", dir},
		{"approval", approvalText(a)},
		{"sandbox", strings.TrimPrefix(t.opt.Program.Confined()[0], "sandbox: ")},
		{"session", session},
		{"context", contextText(a.Context())},
		{"cost", costText(a.Cost())},
		{"limits", limits(a.Limits())},
	}
	if until := a.Until(); until != "" {
		rows = append(rows, []string{"until", until})
	}
	if quota := a.Quota(); quota != nil {
		rows = append(rows, []string{"quota", quota.String()})
	}
	if policy := t.opt.Program.Policy(); policy != "" {
		rows = append(rows, []string{"policy", policy})
	}
	if withheld := a.Env().Withheld; len(withheld) > 0 {
		rows = append(rows, []string{"withheld", strings.Join(withheld, ", ")})
	}
	for _, c := range a.Background() {
		state := "runs since " + c.Began.Format(time.TimeOnly)
		if !c.Runs {
			state = c.End
		}
		rows = append(rows, []string{"background " + c.ID, state + ": " + c.Line})
	}
	for _, row := range rows {
		row[1] = oneLine(row[1])
	}
	t.columns(rows)
	return nil
}

func limits(l agent.Limits) string {
	var set []string
	if l.MaxTurns > 0 {
		set = append(set, screen.Count(l.MaxTurns, "step")+" a turn")
	}
	if l.MaxCost > 0 {
		set = append(set, text.Dollars(l.MaxCost)+" a run")
	}
	if l.DailyCost > 0 {
		set = append(set, text.Dollars(l.DailyCost)+" a day")
	}
	if l.MaxTotalTokens > 0 {
		set = append(set, conversation.Tokens(l.MaxTotalTokens)+" tokens a run")
	}
	if l.MaxTime > 0 {
		set = append(set, l.MaxTime.String()+" a run")
	}
	if l.Effects.Any() {
		set = append(set, l.Effects.String())
	}
	return cmp.Or(strings.Join(set, ", "), "none")
}

// runDoctor shows each finding as it comes: a server may be slow to answer.
func runDoctor(ctx context.Context, t *Terminal, _ string) error {
	return t.opt.Program.Doctor(ctx, func(f doctor.Finding) error {
		rows := [][]string{{fmt.Sprintf("%-4s", f.Level), fmt.Sprintf("%-12s", oneLine(f.Topic)), oneLine(f.Text)}}
		if f.Fix != "" {
			rows = append(rows, []string{"    ", "        try:", oneLine(f.Fix)})
		}
		t.columns(rows)
		return nil
	})
}

// cutWord returns the first word of a line and the rest, without the spaces around
// them.
func cutWord(line string) (word, rest string) {
	line = strings.TrimSpace(line)
	if i := strings.IndexAny(line, " \t\n"); i >= 0 {
		return line[:i], strings.TrimSpace(line[i:])
	}
	return line, ""
}

// approvalText describes the mode in force and its rights.
func approvalText(a *agent.Agent) string {
	p := a.Policy()
	return string(p.Mode) + ": " + cmp.Or(a.Approval(), rightsText(p.Rights(false)))
}

// rightsText describes the rights of edits and commands, in a line.
func rightsText(r permission.Rights) string {
	fates := map[permission.Fate]string{permission.Unasked: "%s without asking", permission.Asked: "asks before %s",
		permission.Refused: "%s are refused"}
	if r.Edits == permission.Refused && r.Commands == permission.Refused {
		return "read-only; everything else is refused"
	}
	text, commands := fmt.Sprintf(fates[r.Edits], "edits"), "; other commands run in a copy"
	switch {
	case r.Commands != permission.Unasked:
		return text + "; " + fmt.Sprintf(fates[r.Commands], "other commands")
	case r.Own == r.Edits:
		text = fmt.Sprintf(fates[r.Edits], "edits and the project's own programs")
	case r.Own != permission.Unasked:
		text += "; " + fmt.Sprintf(fates[r.Own], "the project's own programs")
	}
	switch {
	case r.Lands >= permission.Content:
		text += commands + ", whose changes are kept, except lost work and files that programs run automatically"
	case r.Beyond == permission.Discarded:
		text += commands + " that is thrown away"
	case r.Confinement.Layer:
		text += commands + ", and artoo asks before keeping their changes"
	case r.Confinement.Sandbox:
		text += "; other commands run in the sandbox"
	}
	return text
}
