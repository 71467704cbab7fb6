package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/ui/sanitize"
)

// session is one open session. Its requests are handled one after another.
type session struct {
	server *server
	client clientCapabilities
	id     string
	opened Opened
	agent  *agent.Agent
	editor editor
	noted  bool   // The user has seen the program's notes.
	titled bool   // The client has a title.
	listed []byte // the commands that the client has, nil before it has any
	by     string // the provider and the model that answered last, "" before one did

	mu    sync.Mutex // guards both below
	turn  bool       // A turn runs.
	steps []func()   // wait for the end of a step of the turn
}

// The ids of the config options.
const (
	optionMode   = "mode"
	optionModel  = "model"
	optionEffort = "effort"
	// effortDefault stands for the model's own effort.
	effortDefault = "default"
)

// begin marks that a turn runs, or is about to: a mode that comes after its prompt counts from its next step.
func (s *session) begin() {
	s.mu.Lock()
	s.turn = true
	s.mu.Unlock()
}

// whileItRuns has a job run between two steps of the turn, or at its end; false without a turn.
func (s *session) whileItRuns(job func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn && len(s.steps) < mostQueued {
		s.steps = append(s.steps, job)
		return true
	}
	return false
}

// step runs the jobs that wait for the end of a step; with last no more are taken.
func (s *session) step(last bool) {
	s.mu.Lock()
	jobs := s.steps
	s.steps = nil
	s.turn = !last
	s.mu.Unlock()
	for _, job := range jobs {
		job()
	}
}

func (s *session) update(update any) {
	s.server.wire.notify("session/update", sessionUpdate{s.id, update})
}

// longestListing is how long the servers may take to list their prompts.
const longestListing = 2 * time.Second

// offer tells the client which commands there are, if it does not know.
func (s *session) offer(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longestListing)
	defer cancel()
	update := commandsUpdate{"available_commands_update", s.opened.Program.Commands(ctx)}
	if list, err := json.Marshal(update); err == nil && !bytes.Equal(list, s.listed) {
		s.listed = list
		s.update(update)
	}
}

// state is the response to the opening of a session: its modes and options.
func (s *session) state() sessionResponse {
	return sessionResponse{Modes: modeState{string(s.agent.Policy().Mode), s.modes()}, Options: s.options()}
}

func (s *session) modes() (modes []mode) {
	for _, m := range []mode{
		{string(permission.ModeAsk), "Ask", "artoo asks about changes and commands"},
		{string(permission.ModeEdits), "Edits", "Edits in the project run unasked; artoo asks about other changes"},
		{string(permission.ModeAuto), "Auto", "Commands run unasked too, in the sandbox"},
		{string(permission.ModePlan), "Plan", "Read-only; everything else is refused"},
	} {
		if !s.agent.Policy().Ceiling.Forbids(permission.Mode(m.ID)) {
			modes = append(modes, m)
		}
	}
	return modes
}

func (s *session) options() []configOption {
	modes := configOption{ID: optionMode, Name: "Mode", Category: "mode", Type: "select", Current: string(s.agent.Policy().Mode)}
	for _, m := range s.modes() {
		modes.Options = append(modes.Options, configValue{m.ID, m.Name, m.Description})
	}
	model := s.agent.Model()
	models := configOption{ID: optionModel, Name: "Model", Category: "model", Type: "select", Current: model.String()}
	for _, name := range s.opened.Program.Models() {
		models.Options = append(models.Options, configValue{Value: name, Name: name})
	}
	effort := configOption{ID: optionEffort, Name: "Effort", Category: "thought_level", Type: "select",
		Current: cmp.Or(string(model.Defaults.Effort), effortDefault)}
	for _, e := range efforts() {
		effort.Options = append(effort.Options, configValue{Value: e, Name: e})
	}
	return []configOption{modes, models, effort}
}

func efforts() []string {
	return []string{effortDefault, string(provider.EffortOff), string(provider.EffortLow), string(provider.EffortMedium),
		string(provider.EffortHigh), string(provider.EffortMax)}
}

// setMode sets the approval mode, and reports it to the client.
func (s *session) setMode(name string) error {
	if !slices.ContainsFunc(s.modes(), func(m mode) bool { return m.ID == name }) {
		return invalid(fmt.Sprintf("unknown mode %q", name))
	}
	if err := s.agent.SetMode(permission.Mode(name)); err != nil {
		return invalid(err.Error())
	}
	s.update(modeUpdate{"current_mode_update", name})
	s.update(optionsUpdate{"config_option_update", s.options()})
	return nil
}

func (s *session) setOption(id, value string) error {
	switch id {
	case optionMode:
		return s.setMode(value)
	case optionModel:
		if value == s.agent.Model().String() {
			return nil
		}
		if err := s.opened.Program.SwitchModel(value); err != nil {
			return invalid(err.Error())
		}
	case optionEffort:
		if !slices.Contains(efforts(), value) {
			return invalid(fmt.Sprintf("unknown effort %q", value))
		}
		if value == effortDefault {
			value = ""
		}
		s.agent.SetEffort(provider.Effort(value))
	default:
		return invalid(fmt.Sprintf("unknown option %q", id))
	}
	return nil
}

// prompt is a turn.
func (s *session) prompt(ctx context.Context, blocks []contentBlock) (any, error) {
	s.begin()
	defer s.step(true)
	m, err := agentMessage(blocks)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return promptResponse{"cancelled"}, nil
	}
	before := s.chosen()
	defer s.editor.during(ctx)()
	cb := newTurn(s)
	if !s.noted {
		s.noted = true
		for _, note := range s.opened.Program.Notes() {
			cb.say("info", note)
		}
	}
	m.Steering = func() []agent.Message { s.step(false); return nil }
	stop := s.agent.KillAfter(ctx, killAfter)
	response, err := s.opened.Program.Send(ctx, m, cb)
	stop()
	if response != nil && response.Model != "" {
		s.by = response.Provider + "/" + response.Model
	}
	s.report(before)
	if ctx.Err() != nil {
		return promptResponse{"cancelled"}, nil
	}
	s.offer(ctx)
	return ended(response, err, cb)
}

// ended is the answer to a prompt whose turn ended by itself.
func ended(r *agent.Response, err error, cb *turn) (any, error) {
	f := agent.Classify(err)
	switch {
	case f == nil && r.Stop == provider.StopMaxTokens:
		return promptResponse{"max_tokens"}, nil
	case f == nil || errors.Is(err, agent.ErrStopped):
		return promptResponse{"end_turn"}, nil
	case f.Kind == agent.KindCap:
		cb.say("warning", f.Error())
		return promptResponse{"max_turn_requests"}, nil
	case f.Kind == agent.KindRefused:
		cb.say("warning", f.Error())
		return promptResponse{"refusal"}, nil
	}
	return nil, failure(err)
}

// chosen are the mode, the model and the effort.
func (s *session) chosen() [3]string {
	m := s.agent.Model()
	return [3]string{string(s.agent.Policy().Mode), m.String(), string(m.Defaults.Effort)}
}

// report reports the changes of a turn: its cost, the title, and the choices that differ from before.
func (s *session) report(before [3]string) {
	s.reportUsage()
	if saved := s.agent.Conversation().Session(); saved != nil {
		if info, err := saved.Info(); err == nil {
			update := infoUpdate{Kind: "session_info_update", Updated: info.Updated.UTC().Format(time.RFC3339)}
			if title := oneLine(cmp.Or(info.Name, info.First)); !s.titled && title != "" {
				update.Title, s.titled = title, true
			}
			s.update(update)
		}
	}
	if now := s.chosen(); now != before {
		s.update(modeUpdate{"current_mode_update", now[0]})
		s.update(optionsUpdate{"config_option_update", s.options()})
	}
}

func (s *session) reportUsage() {
	c := s.agent.Context()
	if c.Window == 0 {
		return
	}
	usage := usageUpdate{Kind: "usage_update", Used: c.Used, Size: c.Window}
	if s.by != "" {
		usage.Meta = &usageMeta{s.by}
	}
	if spent := s.agent.Cost().CostUSD; spent != nil {
		usage.Cost = &cost{*spent, "USD"}
	}
	s.update(usage)
}

// agentMessage is a prompt as the agent takes it: its texts with links in them, the rest attached.
func agentMessage(blocks []contentBlock) (m agent.Message, err error) {
	var text strings.Builder
	for _, b := range blocks {
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "resource_link":
			text.WriteString(linked(b))
		case "image":
			if len(b.Data) == 0 || !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, b.MimeType) {
				return m, invalid(fmt.Sprintf("an image of type %q cannot be sent: only PNG, JPEG, GIF and WebP data can", b.MimeType))
			}
			m.Attachments = append(m.Attachments, provider.Image{MediaType: b.MimeType, Data: b.Data, Name: b.URI})
		case "resource":
			if b.Resource == nil || b.Resource.Blob != nil {
				return m, invalid("only resources that are text can be sent")
			}
			m.Attachments = append(m.Attachments, provider.Text{Text: fmt.Sprintf("[%s, as the editor has it]\n%s",
				sanitize.Text(b.Resource.URI, sanitize.Line), b.Resource.Text)})
		default:
			return m, invalid(fmt.Sprintf("a block of type %q cannot be sent", b.Type))
		}
	}
	m.Text = text.String()
	if strings.TrimSpace(m.Text) == "" && m.Attachments == nil {
		return m, invalid("the prompt is empty")
	}
	return m, nil
}

// linked is a link in a message's text. A file's is written as @PATH, which attaches it.
func linked(b contentBlock) string {
	u, err := url.Parse(b.URI)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return fmt.Sprintf("[%s](%s)", b.Name, b.URI)
	}
	return ` @"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(u.Path) + `" `
}

func oneLine(text string) string {
	return sanitize.Text(strings.Join(strings.Fields(text), " "), sanitize.Line)
}
