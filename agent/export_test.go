package agent

import (
	"artoo/agent/permission"
	"artoo/conversation"
)

// Opt returns the options of an agent, for tests that change it between turns.
func (a *Agent) Opt() *Options { return &a.session.opt }

// Asked is the model of an agent, for tests that change its facts.
func (a *Agent) Asked() *Model { return &a.session.model }

// Hold puts a conversation in the place of the session's.
func (a *Agent) Hold(c *conversation.Conversation) { a.session.conv = c }

// Open puts a session into the agent.
func (a *Agent) Open(s *conversation.Session) error { return a.open(s) }

// The prompt and the instructions, for tests that look at them alone.
type (
	Instruction = instruction
	PromptInfo  = promptInfo
	Settings    = settings
)

var (
	SystemPrompt     = systemPrompt
	Programs         = usualPrograms
	InstructionsNote = instructionsChanged
)

// ModeNote is the note to the model on another mode.
func (a *Agent) ModeNote(m permission.Mode) string { return a.notes.settings.in(m).modeNote() }

// Confine has another sandbox confine the commands.
func (a *Agent) Confine(s Sandbox) { a.session.opt.Sandbox = s }

// CompactMode is the action at a full budget in this session.
func (a *Agent) CompactMode() Compaction { return a.session.compactMode() }

// Forget makes these the tools of a server that the model knows.
func (a *Agent) Forget(server string, tools ...string) { a.session.catalogues[server] = tools }

// CommandOfTests is testCommand.
func CommandOfTests(root string) string { return testCommand(root) }
