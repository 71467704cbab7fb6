package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/environ"
	"artoo/tool/search"
	"artoo/tool/skill"
	"artoo/tool/tempdir"
)

// session is shared by the parts of an agent: its options, the model that answers, and the
// present session.
type session struct {
	opt Options
	answerer
	fallingBack
	compacting
	offers
	outputs

	parent *session // A sub-agent works for the parent; nil for none.
	hooks  *hooks   // the parent's for a sub-agent
	// agentName is the name of a sub-agent ("task 2 (review)"); "" for others.
	agentName string
	source    string // how the session began, for hooks, until they were run; "" then

	conv      *conversation.Conversation
	system    string // the system prompt, fixed for the session
	sessionID string // "" where the session is not kept
	// guide returns instructions for the files, absolute, that a call touched and that the model
	// was not given yet; "" for none. It is called on the turn's goroutine.
	guide func(paths []string) string

	todo     []TodoItem        // the model's plan of a long task
	turns    []string          // The user wrote these since the session was opened, in order.
	unsent   []provider.Part   // the notes of a message that was withdrawn, for the next one
	tooLarge map[string]string // remarks on calls that were too large to be kept, by id; nil for none
	beside   bool              // a question beside the session is answered: calls only read

	notified  []string      // The user was notified of these once in the run.
	running   chan struct{} // holds one while calls that change something are decided and run
	questions atomic.Int64  // counts those of the agent and its sub-agents
	elapsed   time.Duration // It leaves out the time of waiting for the user.
}

// answerer is the model that answers, and what is known of it.
type answerer struct {
	model      Model
	replyLimit int       // It is in tokens, as it was asked for.
	guessed    bool      // the server's guess at the model's facts was taken over
	cached     int       // tokens the provider's cache is believed to hold
	answered   [2]string // the last model that was asked, and the one that answered

	// refused are images that the server refused, imagesNotified the last notice about images that are not sent.
	refused        imageSet
	imagesNotified string
}

// fallingBack is how other models answer in place of one that fails for now.
type fallingBack struct {
	standIn   *standIn   // It is set while a fallback answers.
	fallbacks []Fallback // The turn has not tried these.
	gaveUp    []string   // A fallback took the place of these, provider/model, in this turn, or in the parent's.
	fellBack  string     // the fallback that answered last in place of the model, "" for none
}

// compacting is how a session's history is shortened.
type compacting struct {
	compaction Compaction // The user chose it for this session; "" for nothing.
	unsummed   int        // counts the automatic summaries that failed in a row
	full       bool       // The last message failed since the context was full.
}

// offers are what the model is offered beside the tools that are always there.
type offers struct {
	skills      []skill.Item
	skillsTaken bool            // the skills that were found are offered
	loaded      []loadedSkill   // the skills that it was given in the session, the last one last
	kinds       []string        // the extensions of files that tools are offered for
	looking     <-chan []string // gives those that the project has, nil once they are taken
	// catalogues are the whole names of the tools of MCP servers as the model knows them, by server; compared are the
	// servers whose tools were compared with the rules.
	catalogues map[string][]string
	compared   []string
}

// outputs are the directories for results that are too long for the model: output of a session that is kept, scratch of
// others; "" and nil otherwise.
type outputs struct {
	output  string
	scratch *tempdir.Dir
}

// loadedSkill is a skill that the model was given in this session.
type loadedSkill struct{ name, text string }

// own are artoo's own variables, by which programs are looked up.
func (s *session) own() environ.Vars {
	if s.opt.Workspace == nil {
		return nil
	}
	return s.opt.Workspace.Project.Environ
}

// standIn answers for the rest of a turn in place of the model that the user chose.
type standIn struct {
	first   string      // the user's choice, provider/model
	servers []tool.Tool // those that stand for MCP servers beside it
	restore func()      // puts it back
}

func (s *session) toolNames() string {
	var names []string
	for _, o := range s.offered() {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// namesOf are absolute paths as seen from the working directory, masked.
func (s *session) namesOf(paths []string) (names []string) {
	for _, path := range paths {
		if rel, err := filepath.Rel(s.opt.Env.Dir, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		names = append(names, s.masked(path))
	}
	return names
}

// Skill is the name of the tool that loads a skill.
const Skill = "skill"

// offered are the tools that the present model is offered. One that stands in another's place is
// for models that are trained on it, and where there is no other; one for files of a kind waits
// for such files.
func (s *session) offered() []tool.Tool {
	has := func(name string) bool {
		return slices.ContainsFunc(s.opt.Tools, func(t tool.Tool) bool { return t.Name == name })
	}
	return slices.DeleteFunc(slices.Clone(s.opt.Tools), func(t tool.Tool) bool {
		if t.Instead != "" {
			return has(t.Instead) && !s.model.Info.Patches
		}
		if t.Name == Skill && t.ByLoop() && len(s.skills) == 0 {
			return true
		}
		return t.For != "" && !slices.Contains(s.kinds, t.For) || s.model.Info.Patches &&
			slices.ContainsFunc(s.opt.Tools, func(other tool.Tool) bool { return other.Instead == t.Name })
	})
}

// replaced reports whether the present model is offered another tool instead.
func (s *session) replaced(name string) bool {
	return slices.ContainsFunc(s.offered(), func(t tool.Tool) bool { return t.Instead == name })
}

// kindsTimeout is how long a session's first request may wait for the look at the project's files.
const kindsTimeout = time.Second

// lookForKinds looks meanwhile for files that some tools are for.
func (s *session) lookForKinds() {
	s.kinds, s.looking = nil, nil
	var kinds []string
	for _, t := range s.opt.Tools {
		if t.For != "" {
			kinds = append(kinds, t.For)
		}
	}
	files := s.opt.Env.Files
	if kinds == nil || files == nil {
		return
	}
	found := make(chan []string, 1)
	s.looking = found
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), kindsTimeout)
		defer cancel()
		there, _ := guard(func() ([]string, error) { return search.Kinds(ctx, files, kinds), nil }) // after a crash none counts as there
		found <- there
	}()
}

func offeredNow(name string) string {
	return name + " is available from now on; the next request is not cached"
}

func (s *session) notify(text string) {
	if s.opt.Notice != nil {
		s.opt.Notice(text)
	}
}

// notifyOnce notifies the user of something once in a run; of "" never.
func (s *session) notifyOnce(text string) {
	if s.isNews(text) {
		s.notify(text)
	}
}

// isNews reports whether the user was not notified of a text in this run yet, and counts it as notified. "" is none.
func (s *session) isNews(text string) bool {
	if text == "" || slices.Contains(s.notified, text) {
		return false
	}
	s.notified = append(s.notified, text)
	return true
}

func (s *session) foreignRules() string { return s.model.rules(s.opt.Policy.Mode) }

func (s *session) setModel(m Model) {
	s.model, s.replyLimit, s.guessed, s.cached = m, m.Defaults.MaxTokens, false, 0
	s.know(m.Info)
}

// know takes over the facts of the model, and adapts the limits to them.
func (s *session) know(info provider.ModelInfo) {
	s.model.Info, s.model.Defaults.MaxTokens = info, tightest(s.replyLimit, info.Context/replyShare, info.MaxOutput)
	if s.conv != nil {
		s.conv.SetOverhead(s.system, s.specs) // the tools depend on the model
	}
}

// describe asks the server for the facts of the model, until it knows. A guess is taken over once,
// so that it does not overwrite facts that the turns learn. The request that follows reports an error.
func (s *session) describe(ctx context.Context) {
	if s.model.Describe == nil {
		return
	}
	info, err := s.model.Describe(ctx)
	if err != nil || info.Guess && s.guessed {
		return
	}
	if s.guessed = info.Guess; !s.guessed {
		s.model.Describe = nil
	}
	before := s.budget()
	s.know(info)
	if now := s.budget(); now != before { // Otherwise a budget learned meanwhile holds.
		s.conv.SetBudget(now)
	}
}

// budget is the context budget in tokens, at most the window less the reply; 0 where neither is known.
func (s *session) budget() int {
	return tightest(s.opt.MaxContextTokens, s.model.Info.Context-s.model.Defaults.MaxTokens)
}

func (s *session) specs() []provider.ToolSpec {
	var specs []provider.ToolSpec
	for _, tool := range s.offered() {
		specs = append(specs, provider.ToolSpec{Name: tool.Name, Description: tool.Description, Schema: tool.Schema()})
	}
	return specs
}

// pageMax is how many bytes a page of read or grep may have, at most half of the budget: a token
// may be a byte.
func (s *session) pageMax() int {
	most := mostPage
	if limit := s.opt.ToolResultMaxChars; limit > 0 {
		most = max(limit, min(pageTimes*limit, mostPage))
	}
	if budget := s.budget(); budget > 0 {
		most = min(most, budget/2)
	}
	return max(leastPage, most)
}

func (s *session) outputDir() string {
	if s.output == "" && s.scratch != nil {
		return s.scratch.Path
	}
	return s.output
}

// turnsBefore is how many turns the session had when it was opened.
func (s *session) turnsBefore() int {
	if kept := s.conv.Session(); kept != nil {
		return kept.UserCount()
	}
	return 0
}

// turnNumber is the journal's name of the present turn: how many messages the user, or the
// parent's user, wrote.
func (s *session) turnNumber() int {
	if s.parent != nil {
		return s.parent.turnNumber()
	}
	return s.turnsBefore() + len(s.turns)
}

func (s *session) compactMode() Compaction {
	return cmp.Or(s.compaction, s.opt.Compact)
}

// source is the id of the session whose file holds the conversation: a copy without additions has no
// file yet.
func source(s *conversation.Session) string {
	from := s.Header().ForkOf
	if _, err := os.Stat(s.Path()); from != "" && errors.Is(err, fs.ErrNotExist) {
		return from
	}
	return s.ID()
}

// typedText is a message as the user wrote it, without notes and attachments.
func typedText(m provider.Message) string {
	for _, p := range m.Parts {
		if t, ok := p.(provider.Text); ok && t.Note == "" {
			return t.Text
		}
	}
	return ""
}

// imageSet is a set of images, known by their bytes. nil holds none.
type imageSet map[[sha256.Size]byte]bool

func (s imageSet) has(img provider.Image) bool { return len(s) > 0 && s[sha256.Sum256(img.Data)] }

// learnKeys has the keys of tests masked that commands may see, whatever part of them is printed.
func (s *session) learnKeys() {
	if s.opt.Env.Files != nil && s.opt.Secrets.Learn != nil {
		for _, text := range s.opt.Env.Files.TestKeys() {
			s.opt.Secrets.Learn(text)
		}
	}
}

// masked is text with marks in place of keys.
func (s *session) masked(text string) string {
	if s == nil || s.opt.Secrets.Mask == nil {
		return text
	}
	return s.opt.Secrets.Mask(text)
}

// maskedWords masks a text of artoo's own.
func (s *session) maskedWords(text string) string {
	if s == nil || s.opt.Secrets.Settings == nil {
		return s.masked(text)
	}
	return s.opt.Secrets.Settings(text)
}

// maskedError is an error of a turn with its words masked, nil for nil.
func (s *session) maskedError(err error) error {
	if f := Classify(err).Masked(s.maskedWords); f != nil {
		return f
	}
	return err
}

// maskedParts masks the texts of a user's message. It reports whether there was a key in one.
func (s *session) maskedParts(parts []provider.Part) (out []provider.Part, found bool) {
	for _, part := range parts {
		if t, ok := part.(provider.Text); ok {
			if text := s.masked(t.Text); text != t.Text {
				t.Text, found = text, true
				part = t
			}
		}
		out = append(out, part)
	}
	return out, found
}

// openOutputs returns the directory for a session's long outputs, and all that hold outputs it may speak
// of. The first is made at once: the user should know of a failure before the first message.
func (s *session) openOutputs(kept *conversation.Session) (output string, read []string, err error) {
	if kept == nil && s.opt.Workspace == nil {
		return "", nil, nil // the model could not read them
	}
	if kept == nil {
		if s.scratch == nil {
			if s.scratch, err = tempdir.Make(s.own().TempDir()); err != nil {
				return "", nil, err
			}
		}
		return s.scratch.Path, []string{s.scratch.Path}, nil
	}
	s.emptyOutput()
	s.output = kept.OutputDir()
	if err := os.MkdirAll(s.output, 0o700); err != nil {
		return "", nil, &Failure{Kind: KindInternal, What: "session", Err: err,
			Hint: "set XDG_STATE_HOME to a directory that can be written, or --ephemeral"}
	}
	for _, dir := range kept.OutputDirs() {
		if _, err := os.Stat(dir); err == nil {
			read = append(read, dir)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	return s.output, read, nil
}

// emptyOutput removes the last session's output directory if it is empty. A link in its place is
// the user's.
func (s *session) emptyOutput() {
	if info, err := os.Lstat(s.output); err == nil && info.IsDir() {
		_ = os.Remove(s.output)
	}
}

// Bounds of a page of read or grep, in bytes.
const (
	pageTimes = 10        // the limit of other results
	mostPage  = 100 << 10 // 2,000 lines of code with their numbers
	leastPage = 1000
)

// tightest is the smallest of the bounds that are set, 0 where none is.
func tightest(bounds ...int) (least int) {
	for _, bound := range bounds {
		if bound > 0 && (least == 0 || bound < least) {
			least = bound
		}
	}
	return least
}

// The least size of a reply, in tokens and as a share of a small window: a shorter one is useless.
const (
	leastReply = 512
	leastShare = 16
	// leastMessage is the length in bytes of a message that must be possible.
	leastMessage = 200
	replyShare   = 4 // a reply reserves at most this part of the window
)

type todoInput struct {
	Items []TodoItem `json:"items"`
}

// todoOf is the newest plan in a history.
func (s *session) todoOf(history []provider.Message) []TodoItem {
	for _, m := range slices.Backward(history) {
		for _, c := range slices.Backward(m.Calls()) {
			found := tool.Find(s.opt.Tools, c.Name)
			if found == nil || !found.ByLoop() || found.Name != "todo" || found.Check(c.Input) != nil {
				continue
			}
			if in, err := tool.Decode[todoInput](*found, c.Input); err == nil {
				return in.Items
			}
		}
	}
	return nil
}

// todoReminder is the plan, where the call that made it is no longer sent; "" elsewhere.
func (s *session) todoReminder() string {
	open := slices.ContainsFunc(s.todo, func(i TodoItem) bool { return i.Status == "pending" || i.Status == "in_progress" })
	if !open || slices.Equal(s.todoOf(s.conv.Messages()), s.todo) {
		return ""
	}
	text := "Your plan, as it stands:"
	for _, item := range s.todo {
		text += "\n- " + todoWords[item.Status] + ": " + item.Text
	}
	return text
}

// once reports whether the agent gets one message and no more, as a sub-agent and a headless run do, also where somebody
// answers its questions.
func (s *session) once() bool {
	w := s.opt.Workspace
	return s.parent != nil || w != nil && w.Once
}

func (s *session) goOn(when, hint string) string {
	if s.sessionID == "" {
		return hint
	}
	return `artoo -c "go on"` + when + ", or " + hint
}
