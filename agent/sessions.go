package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/journal"
	"artoo/tool/text"
)

// Sessions lists the sessions of the agent's directory, newest first.
func (a *Agent) Sessions() ([]conversation.Info, error) {
	all, err := a.session.opt.Sessions.Store.List()
	return slices.DeleteFunc(all, func(i conversation.Info) bool { return i.CWD != a.session.opt.Env.Dir }), err
}

// FindSessions are those of the agent's directory in which a message holds all of the words,
// newest first; First is the text around the first word.
func (a *Agent) FindSessions(words []string) (found []conversation.Info, err error) {
	here := func(i conversation.Info) bool { return i.CWD == a.session.opt.Env.Dir }
	err = a.session.opt.Sessions.Store.Grep(words, here, func(m conversation.Match) bool {
		m.Session.First = m.Text
		found = append(found, m.Session)
		return false
	})
	return found, err
}

// Rename gives the present session a name, "" for none.
func (a *Agent) Rename(name string) error {
	s := a.session.conv.Session()
	switch {
	case s == nil:
		return errors.New("this session is not kept, so it cannot be named")
	case a.session.conv.MessageCount() == 0:
		return errors.New("nothing was said yet, so there is nothing to name")
	}
	return s.Rename(name)
}

// Saved is the present session, or the one it is an unchanged copy of, as its file has it; nil
// without a file.
func (a *Agent) Saved() (*conversation.Session, error) {
	s := a.session.conv.Session()
	if s == nil {
		return nil, nil
	}
	return a.session.opt.Sessions.Store.Read(source(s))
}

// Resume goes on with another session, in the default mode; the present one is closed.
func (a *Agent) Resume(id string) (*Resumed, error) {
	s, err := a.session.opt.Sessions.Store.Open(id)
	if err != nil {
		return nil, err
	}
	// The present session is in use, by this very artoo: Open gave a copy of it.
	if now := a.session.conv.Session(); now != nil && source(s) == now.ID() {
		return nil, errors.Join(errors.New("it is the session you are in; /fork continues in a copy"), s.Close())
	}
	policy := a.session.opt.Policy
	mode := policy.Mode
	policy.Mode = a.modes.start
	if err := a.change(s, "resume"); err != nil {
		policy.Mode = mode
		return nil, err
	}
	policy.ForgetSession()
	return a.session.resumed(s), nil
}

// Clear begins a new session in the present mode, and returns the id of the old one, "" if it was
// not kept.
func (a *Agent) Clear() (old string, err error) {
	if s := a.session.conv.Session(); s != nil && a.session.conv.MessageCount() > 0 {
		old = source(s)
	}
	if err := a.change(nil, "clear"); err != nil {
		return "", err
	}
	a.session.opt.Policy.ForgetSession()
	return old, nil
}

// Fork goes on in a copy of the present session, and returns the ids of the two. The copy lacks
// the user's last back messages, with all after them.
func (a *Agent) Fork(back int) (old, now string, err error) {
	s := a.session.conv.Session()
	switch {
	case s == nil:
		return "", "", errors.New("this session is not kept, so it cannot be copied")
	case a.session.conv.MessageCount() == 0:
		return "", "", errors.New("nothing was said yet, so there is nothing to copy")
	}
	if err := a.session.conv.Sync(); err != nil {
		return "", "", err
	}
	known := a.notes
	from := source(s)
	forked, err := a.session.opt.Sessions.Store.Fork(from, back)
	if err != nil {
		return "", "", err
	}
	if err := a.change(forked, "fork"); err != nil {
		return "", "", err
	}
	if back == 0 {
		a.notes = known // the history is the same, and so is the model's knowledge
	}
	return from, forked.ID(), nil
}

// Rewind goes on before the user's n-th message from the end (1: the last): in a copy of the session,
// or before its first message in a new one. It returns the ids of the two.
func (a *Agent) Rewind(n int) (old, now string, err error) {
	s := a.session.conv.Session()
	if n < a.TurnNumber() || s == nil {
		return a.Fork(n)
	}
	old = source(s)
	if err := errors.Join(a.session.conv.Sync(), a.change(nil, "fork")); err != nil {
		return "", "", err
	}
	return old, a.session.sessionID, nil
}

// change makes another session the present one, nil a new one; source says how for hooks. Background
// commands go on only in a fork.
func (a *Agent) change(s *conversation.Session, source string) error {
	before, ended := a.session.conv.Session(), a.session.source
	a.endSession(source)
	if err := a.take(s); err != nil {
		a.session.source = ended
		return err
	}
	if source != "fork" {
		a.EndBackground() // while the journal for their files is open
	}
	if err := a.openJournal(); err != nil {
		return err
	}
	a.session.source = source
	if before == nil {
		return nil
	}
	return before.Close()
}

// SetMode changes the approval mode, for the model with the next message; the error explains why it
// cannot hold.
func (a *Agent) SetMode(mode permission.Mode) error {
	policy := a.session.opt.Policy
	before := policy.Mode
	policy.Mode = mode
	if err := policy.CheckMode(); err != nil {
		policy.Mode = before
		return err
	}
	if mode == permission.ModePlan && before != mode {
		a.modes.beforePlan = before
	}
	return nil
}

// Answer is the last text of the model before the n-th message from the end (1: before the end);
// "" for none.
func (a *Agent) Answer(n int) string {
	text := ""
	for _, m := range slices.Backward(a.session.conv.Messages()) {
		switch {
		case m.Role == provider.RoleAssistant && text == "":
			text = m.Text()
		case m.Role == provider.RoleUser && text != "" && n == 1:
			return text
		case m.Role == provider.RoleUser && text != "":
			n, text = n-1, ""
		}
	}
	if n > 1 {
		return ""
	}
	return text
}

// Approval is the meaning of the approval mode with a provider that has its own rules, "" for others.
func (a *Agent) Approval() string { return a.session.foreignRules() }

// Rules are the rules in force, in the order in which they count.
func (a *Agent) Rules() []permission.RuleInForce {
	rules := a.session.opt.Policy.InForce()
	for i := range rules {
		if r := &rules[i]; r.Origin == "" {
			r.Origin = "settings"
			if r.Session {
				r.Origin = "this session"
			}
		}
	}
	return rules
}

// DropRule removes a rule that was allowed in this session.
func (a *Agent) DropRule(rule string) error {
	if !a.session.opt.Policy.DropInSession(rule) {
		return fmt.Errorf("%s was not allowed in this session", rule)
	}
	return nil
}

// Resumed holds messages for the user to see again when a session goes on.
type Resumed struct {
	ID      string
	When    time.Time
	Model   string // Model answers now.
	Before  string // the model that was asked last, "" when it is Model
	Mode    permission.Mode
	User    string   // the last message; "" without one
	Answer  string   // the last reply, as far as it came
	Cut     bool     // it broke off
	Changed []string // files that changed since
}

// Resumed holds messages of the present session for the user to see again, nil where it is a new one.
func (a *Agent) Resumed() *Resumed {
	s := a.session.conv.Session()
	if s == nil || !s.Resumed() {
		return nil
	}
	return a.session.resumed(s)
}

func (s *session) resumed(kept *conversation.Session) *Resumed {
	r := &Resumed{ID: kept.ID(), When: kept.Updated(), Model: s.model.String(), Mode: s.opt.Policy.Mode}
	messages := s.conv.Messages()
	for _, m := range messages {
		if m.Provider != "" && m.Model != "" {
			r.Before = m.Provider + "/" + m.Model
		}
		switch {
		case m.Own():
		case m.Role == provider.RoleUser:
			r.User, r.Answer, r.Cut = typedText(m), "", true // until an answer to it is there
		case m.Role == provider.RoleAssistant && m.Text() != "":
			r.Answer, r.Cut = m.Text(), m.Partial || len(m.Calls()) > 0
		}
	}
	if r.Before == r.Model {
		r.Before = ""
	}
	r.Changed = s.changed(messages, kept.Updated())
	return r
}

// changed are the files that the calls of a history read or wrote and that changed since, or are gone.
func (s *session) changed(messages []provider.Message, since time.Time) []string {
	files := s.opt.Env.Files
	if files == nil || since.IsZero() {
		return nil
	}
	var names []string
	for _, path := range s.touched(messages) {
		place, err := files.Resolve(path, false)
		if err != nil || place.Outside || place.Denied || slices.Contains(names, place.Display) {
			continue
		}
		info, err := files.Stat(place.Abs)
		// The session's times are whole milliseconds.
		if err != nil || !info.IsDir() && info.ModTime().Truncate(time.Millisecond).After(since) {
			names = append(names, place.Display)
		}
	}
	slices.Sort(names)
	return names
}

func (s *session) touched(messages []provider.Message) (paths []string) {
	onFiles := map[string]bool{"read": true}
	for _, t := range s.opt.Tools {
		onFiles[t.Name] = onFiles[t.Name] || t.Kind == tool.KindWrite
	}
	called := map[string][]string{} // paths by call
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.ToolCall:
				var input struct{ Path, Input string }
				if onFiles[p.Name] && json.Unmarshal(p.Input, &input) == nil {
					called[p.ID] = append(edit.PatchPaths(input.Input), input.Path)
				}
			case provider.ToolResult:
				if !p.IsError {
					paths = append(paths, called[p.CallID]...)
				}
			}
		}
	}
	return paths
}

// Journal is the journal of the present session; nil where nothing is kept. It waits for runs
// that were stopped.
func (a *Agent) Journal() *journal.Journal {
	a.keeper.runs.Wait()
	return a.keeper.journal
}

// Turn is the user's text in a turn of the present session, by the journal's number; "" if not known.
func (a *Agent) Turn(number int) string {
	before := a.session.turnsBefore()
	switch {
	case number < 1 || number > before+len(a.session.turns):
		return ""
	case number > before:
		return a.session.turns[number-1-before]
	}
	m, err := a.session.conv.Session().UserMessage(number - 1)
	if err != nil {
		return "" // the file is gone, and with it the typed text
	}
	return typedText(m)
}

// PlanBefore plans the undo of the session's changes since the user's n-th message from the end
// (1: the last). The error is journal.ErrNothing if there are none.
func (a *Agent) PlanBefore(ctx context.Context, n int) (journal.Plan, error) {
	j := a.Journal()
	if j == nil {
		return journal.Plan{}, journal.ErrNothing
	}
	return j.PlanSince(ctx, a.TurnNumber()-n+1)
}

// Undid reports to the model, with the next message, the changes that the user undid or redid.
func (a *Agent) Undid(r journal.Report, redo bool) {
	verb, now := "undid", "no longer as you left them"
	if redo {
		verb, now = "redid", "as you left them again"
	}
	var names []string
	for _, c := range r.Done {
		names = append(names, c.Path)
	}
	if len(names) == 0 {
		return
	}
	text := fmt.Sprintf("(The user %s changes of yours: these files are %s: %s)", verb, now, text.UpTo(20, names))
	a.session.unsent = append(a.session.unsent, provider.Text{Note: provider.NoteUndo, Text: text})
}

// UserTurns are the messages that users typed in a history: the turns of the journal, in order.
func UserTurns(messages []provider.Message) (turns []string) {
	for _, m := range messages {
		if m.Role == provider.RoleUser && !m.Own() {
			turns = append(turns, typedText(m))
		}
	}
	return turns
}

// SettingsChanged applies changed rules and these tools from the next message on. A session
// without a message begins again with a new prompt; else the model gets a note. Call it between
// turns.
func (a *Agent) SettingsChanged(tools []tool.Tool) error {
	a.session.opt.Tools = tools
	if s := a.session.conv.Session(); len(a.session.conv.Messages()) == 0 && (s == nil || !s.Resumed()) {
		return a.change(nil, "startup")
	}
	a.session.openServers()
	a.notes.settings = a.session.settingsNow()
	a.session.conv.SetOverhead(a.session.system, a.session.specs)
	return nil
}

// Aside answers a question beside the session, with all that was said in sight. Calls only read; others are refused
// unasked. Question and answer are never sent again, and do not change later requests. Errors are those of Send.
func (a *Agent) Aside(ctx context.Context, text string, cb Callbacks) (*Response, error) {
	s := a.session
	end, known := s.conv.Aside(), func() {}
	if files := s.opt.Env.Files; files != nil {
		known = files.Seen.Aside()
	}
	guide, turns, unsent := s.guide, s.turns, s.unsent
	s.beside, s.guide, s.turns, s.unsent = true, nil, slices.Clip(turns), nil
	response, err := a.Send(ctx, Message{Text: text}, cb)
	s.beside, s.guide, s.turns, s.unsent = false, guide, turns, unsent
	known()
	return response, errors.Join(err, end())
}

// Compact has the model sum up the old part of the history, between two turns; the last steps and the user's messages
// stay. keep names facts the summary must not leave out, "" for none. Notices report the outcome. Without a
// summary it trims only if the last message did not fit. It returns the usage of the requests. After an error (an interrupt's is ctx's cause) the history
// is as it was.
func (a *Agent) Compact(ctx context.Context, keep string, cb Callbacks) (*Response, error) {
	t, ctx := a.begin(ctx, cb)
	defer t.end()
	a.session.describe(ctx)
	if err := t.requests.compactNow(ctx, keep); err != nil {
		return t.failed(ctx, err)
	}
	return t.response, a.session.conv.Sync()
}

// Summary stands for the part of the session that was summed up last, as the model
// is sent it; "" for nothing.
func (a *Agent) Summary() string {
	for _, m := range slices.Backward(a.session.conv.Messages()) {
		for _, part := range m.Parts {
			if text, ok := part.(provider.Text); ok && text.Note == provider.NoteSummary {
				return text.Text
			}
		}
	}
	return ""
}

// Uncompact undoes the last compaction of the session and describes it, "" where there
// is none.
func (a *Agent) Uncompact() (string, error) {
	did, ok, err := a.session.conv.Uncompact()
	if err != nil || !ok {
		return "", err
	}
	text := fmt.Sprintf("the last compaction is undone: %s sent again, about %s tokens now instead of %s",
		text.Counted(did.Messages, "message is", "messages are"), conversation.Tokens(did.After), conversation.Tokens(did.Before))
	if a.session.conv.OverBudget() {
		text += fmt.Sprintf(", more than the budget of %s; your next message trims the oldest again",
			conversation.Tokens(a.session.conv.Budget()))
	}
	return text, a.session.conv.Sync()
}

// Cost counts the whole session where there is a file, else this run, of which it
// does not know the requests.
func (a *Agent) Cost() conversation.Totals {
	if s := a.session.conv.Session(); s != nil {
		return s.Totals()
	}
	usage, cost := a.Spent()
	return conversation.Totals{Usage: usage, CostUSD: cost}
}

// Spent is the run's usage and cost; the cost is nil when a price is unknown.
func (a *Agent) Spent() (provider.Usage, *float64) { return a.spent.sum() }

// Spend counts time that a front end used for the run before the first turn.
func (a *Agent) Spend(elapsed time.Duration) { a.session.elapsed += elapsed }

// Today is the spending of all runs of the user on the present local day (2006-01-02),
// in US dollars as far as prices are known; ok is false if it is not counted.
func (a *Agent) Today() (date string, spent float64, ok bool) {
	if a.session.opt.Ledger == nil {
		return "", 0, false
	}
	date, spent, err := a.session.opt.Ledger.Today()
	return date, spent, err == nil
}

// Left is the rest of the caps in US dollars and in tokens; 0 where there is no cap. It is for a provider
// that can keep them within a request, and to be called by it only.
func (a *Agent) Left() (money float64, tokens int) {
	l := a.session.opt.Limits
	used, spent := a.spent.usedFor(a.session)
	if l.MaxCost > 0 {
		money = max(l.MaxCost-spent, leastMoney)
	}
	if day := a.spent.pendingOf(a.session).day; l.DailyCost > 0 && day != nil {
		if granted := max(day.Granted, leastMoney); money == 0 || granted < money {
			money = granted
		}
	}
	if l.MaxTotalTokens > 0 {
		tokens = max(l.MaxTotalTokens-used, 1)
	}
	return money, tokens
}

// leastMoney stands for nothing left, since 0 would be no cap.
const leastMoney = 1e-6
