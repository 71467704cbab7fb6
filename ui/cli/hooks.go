package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/config"
	"artoo/config/bundle"
	"artoo/config/trust"
	"artoo/tool/extension"
	"artoo/tool/text"
	"artoo/ui"
	"artoo/ui/doctor"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// hooks are the hooks of a session: those of the policy come first, and those of the repository
// last, as far as they are approved.
func (x *extensions) hooks() agent.Hooks {
	list := slices.Clone(x.cfg.Policy.Hooks)
	for _, h := range x.cfg.Hooks {
		switch {
		case x.cfg.Policy.HooksOnly:
		case h.Source != extension.SourceRepository || x.approved(trust.OfHook(x.project.Root, h)):
			list = append(list, h)
		}
	}
	return agent.Hooks{List: list, Environ: x.ownEnviron(), Approved: func(h extension.Hook) error {
		if h.Source == extension.SourceRepository && !x.approved(trust.OfHook(x.project.Root, h)) {
			return errors.New("it has changed since you approved it; artoo trust shows it")
		}
		return nil
	}}
}

// hooksAnswer reports whether hooks may answer questions in the user's place.
func (x *extensions) hooksAnswer() bool {
	return slices.ContainsFunc(x.hooks().List, func(h extension.Hook) bool { return h.On == extension.OnQuestion && h.MayAnswer })
}

// claudeHooks takes over the hooks of a trusted repository's settings for other programs. A file that
// cannot be read is left out, with a word.
func (x *extensions) claudeHooks(data []byte, place string) {
	hooks, left, err := extension.ClaudeHooks(data, extension.Origin{Source: extension.SourceRepository, Root: x.project.Root,
		Place: place})
	if err != nil {
		x.warn(text.Misread(err).Error())
		return
	}
	if left != nil {
		x.warn("not used in this version: " + text.UpTo(3, left))
	}
	x.cfg.Hooks = append(x.cfg.Hooks, hooks...)
}

// mostLimits is how many limits without a meaning here are named, since each leaves something open.
const mostLimits = 40

// foreignSettings are the files of a repository that may restrict an agent by the rules and hooks of other programs.
func foreignSettings() []string {
	return []string{".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json"}
}

// foreignRules takes over the rules that ask and deny from a file for other programs, and names what has
// no meaning here.
func (x *extensions) foreignRules(data []byte, place string) {
	rules, left, err := rulesIn(data, place)
	if err != nil {
		x.warn(err.Error())
	}
	if left != nil {
		x.warn("this restricts nothing here: " + place + ": " + text.UpTo(mostLimits, left))
	}
	x.cfg.AddForeignRules(rules)
}

func rulesIn(data []byte, place string) (rules []config.RuleText, left []string, err error) {
	return config.ForeignRules(data, place, func(rule string) error {
		_, err := permission.ParseRule(rule)
		return err
	})
}

// restricts reports whether a file of a repository holds hooks, or rules of other programs.
func restricts(f trust.File) bool {
	if f.Data == nil || !slices.Contains(foreignSettings(), f.Name) {
		return false
	}
	rules, left, err := rulesIn(f.Data, f.Name)
	return hasHooks(f.Data) || err != nil || rules != nil || left != nil
}

// bundleHooks takes over the hooks of bundles, and the tools that they take away.
func (x *extensions) bundleHooks() {
	for _, b := range x.bundles() {
		for _, part := range b.Hooks {
			hooks, _, err := extension.ClaudeHooks(part.Data, b.Origin(part.Place)) // the bundle's page names those that are left out
			if err != nil {
				x.warn(text.Misread(err).Error())
			}
			x.cfg.Hooks = append(x.cfg.Hooks, hooks...)
		}
		if data := b.Data(bundle.GeminiManifest); data != nil {
			x.foreignRules(data, "bundle "+b.Name)
		}
	}
}

// hasHooks reports whether settings for other programs hold hooks, used or not.
func hasHooks(data []byte) bool {
	hooks, left, err := extension.ClaudeHooks(data, extension.Origin{})
	return err != nil || hooks != nil || left != nil
}

// supplied are the servers and hooks that the trusted repository supplies.
func (x *extensions) supplied() (list []trust.Extension) {
	for _, h := range x.cfg.Hooks {
		if h.Source == extension.SourceRepository {
			list = append(list, trust.OfHook(x.project.Root, h))
		}
	}
	for _, s := range x.cfg.MCPServers {
		if s.Source == extension.SourceRepository {
			list = append(list, trust.OfServer(x.project.Root, s))
		}
	}
	for i := range list { // their sums are of what was written
		list[i].Command = x.shown(list[i].Command)
		for k := range list[i].Details {
			list[i].Details[k] = x.shown(list[i].Details[k])
		}
	}
	return list
}

// approved reports whether the user approved an extension of the repository as it is.
func (x *extensions) approved(e trust.Extension) bool {
	answer := x.answerTo(e)
	return answer != nil && answer.Approved
}

func (x *extensions) answerTo(e trust.Extension) *trust.Approval {
	x.answering.Lock()
	defer x.answering.Unlock()
	at := slices.IndexFunc(x.repoSettings.approvals, func(p trust.Approval) bool { return p.Root == x.project.Root && p.Sum == e.Sum })
	if at < 0 {
		return nil
	}
	return new(x.repoSettings.approvals[at])
}

// noteAnswer notes the user's answer about an extension of the repository or the editor.
func (x *extensions) noteAnswer(e trust.Extension, yes bool) {
	x.answering.Lock()
	defer x.answering.Unlock()
	x.repoSettings.approvals = append(x.repoSettings.approvals, trust.Approval{Root: x.project.Root, Sum: e.Sum, Approved: yes})
}

// unapproved names the servers and hooks of a trusted repository that are left out, or is "".
func (x *extensions) unapproved() string {
	var names []string
	for _, e := range x.supplied() {
		if !x.approved(e) {
			names = append(names, e.Kind+" "+e.Command)
		}
	}
	if names == nil {
		return ""
	}
	return "ignoring unapproved extensions of this repository: " + text.UpTo(3, names) + "; artoo trust shows it, --no-project silences this"
}

// askExtension is the question about the servers and hooks without an answer, nil for none.
func (a *app) askExtension() *ui.Trust {
	store, err := a.extensions.trustStore()
	if err != nil {
		return nil
	}
	open := slices.DeleteFunc(a.extensions.supplied(), func(e trust.Extension) bool { return a.extensions.answerTo(e) != nil })
	if len(open) == 0 {
		return nil
	}
	return &ui.Trust{Question: a.extensions.extensionsQuestion(open), Answered: func(yes bool) (*ui.Trust, error) {
		for _, e := range open {
			if err := a.extensions.storeFailure(store, store.Approve(a.project.Root, e, yes, time.Now().UTC())); err != nil {
				return nil, err
			}
			a.extensions.noteAnswer(e, yes)
		}
		return nil, a.useExtensions()
	}}
}

// useExtensions puts approved hooks and servers in force in a conversation that has begun.
func (a *app) useExtensions() error {
	if err := a.agent.SetHooks(a.extensions.hooks().List); err != nil {
		return err
	}
	before := len(a.agent.Servers())
	tools, err := a.addServers()
	if err != nil || len(a.agent.Servers()) == before {
		return err
	}
	return a.agent.SettingsChanged(tools)
}

// extensionsQuestion shows extensions with the files that they name.
func (x *extensions) extensionsQuestion(list []trust.Extension) screen.YesNo {
	if len(list) == 1 {
		return x.extensionQuestion(list[0])
	}
	var q screen.ExtensionsQuestion
	for _, e := range list {
		q = append(q, x.extensionQuestion(e))
	}
	return q
}

// extensionQuestion shows an extension with the files that it names.
func (x *extensions) extensionQuestion(e trust.Extension) screen.ExtensionQuestion {
	q := screen.ExtensionQuestion{Kind: e.Kind, Name: e.Name, Command: e.Command, Details: e.Details}
	var all strings.Builder
	for _, name := range e.Files {
		data, err := os.ReadFile(filepath.Join(x.project.Root, name))
		if err != nil {
			data = []byte(err.Error())
		}
		all.WriteString(contentOf(name, data))
	}
	q.All = all.String()
	return q
}

// Hooks implements ui.Program.
func (p program) Hooks() (rows []string) {
	x := p.app.extensions
	running := x.hooks().List
	for _, h := range slices.Concat(p.app.cfg.Policy.Hooks, p.app.cfg.Hooks) {
		row := x.hookRow(h)
		if !slices.ContainsFunc(running, func(r extension.Hook) bool { return x.hookRow(r) == row }) {
			row += ", does not run: not approved"
		}
		rows = append(rows, row)
	}
	return rows
}

// hookPrograms are the hooks for the doctor. The program of a shell line is known only if the line
// begins with a path.
func (x *extensions) hookPrograms() (list []doctor.Hook) {
	for _, h := range x.hooks().List {
		found := doctor.Hook{Text: x.hookRow(h)}
		program := ""
		if h.Command != nil {
			program = h.Command[0]
		} else if first, _, _ := strings.Cut(strings.TrimSpace(h.Line), " "); filepath.IsAbs(first) {
			program = first
		}
		if strings.Contains(program, "/") && !filepath.IsAbs(program) {
			program = filepath.Join(x.project.Root, program)
		}
		if _, err := x.process.Environ.LookPath(program); program != "" && err != nil {
			found.Wrong = err.Error()
		}
		list = append(list, found)
	}
	return list
}

// hookRow is a hook in a line: its event, its rules, its command and the file that has it.
func (x *extensions) hookRow(h extension.Hook) string {
	row := fmt.Sprintf("%s: %s  (%s)", strings.TrimSpace(string(h.On)+" "+h.Calls()), h.String(), h.Place)
	if h.MayAnswer {
		row += ", its yes is yours"
	}
	return sanitize.Text(x.shown(row), sanitize.Line)
}
