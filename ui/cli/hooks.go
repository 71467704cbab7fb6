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
	"artoo/config/trust"
	"artoo/provider/redact"
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
	list := slices.DeleteFunc(slices.Clone(x.cfg.Hooks), func(h extension.Hook) bool { return !x.runs(h) })
	return agent.Hooks{List: list, Environ: x.ownEnviron(), Approved: x.allowed}
}

func (x *extensions) runs(h extension.Hook) bool {
	return (h.Source == extension.SourcePolicy || !x.cfg.Policy.HooksOnly) && x.allowed(h.Extension()) == nil
}

// allowed is an error if an extension must not run as it is now. It asks about one of the editor's.
func (x *extensions) allowed(e extension.Extension) error {
	if e.Source == extension.SourceEditor {
		return x.approvedByUser(e)
	}
	if e.Source == extension.SourceRepository && !x.approved(trust.Summed(e)) {
		return errors.New("it has changed since you approved it; artoo trust shows it")
	}
	return nil
}

// hooksAnswer reports whether hooks may answer questions in the user's place.
func (x *extensions) hooksAnswer() bool {
	return slices.ContainsFunc(x.hooks().List, func(h extension.Hook) bool { return h.On == extension.OnQuestion && h.MayAnswer })
}

// takeHooks takes over the hooks of a file in Claude Code's form. One that cannot be read is left out, with a word.
func (x *extensions) takeHooks(data []byte, from extension.Origin) {
	hooks, left, err := extension.ClaudeHooks(data, from)
	if err != nil {
		x.warn(text.Misread(err).Error())
	}
	if left != nil && from.Bundle == "" { // A bundle's page names them.
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

// declares reports whether a file of a repository that other programs read has servers, hooks or rules, used or not, or
// cannot be read.
func declares(f trust.File) bool {
	switch {
	case f.Data == nil:
	case f.Name == repositoryServers:
		servers, left, err := config.ParseMCP(f.Data, extension.Origin{}, config.Paths{}, redact.Mask)
		return err != nil || servers != nil || left != nil
	case slices.Contains(foreignSettings(), f.Name):
		hooks, left, err := extension.ClaudeHooks(f.Data, extension.Origin{})
		rules, more, err2 := rulesIn(f.Data, f.Name)
		return err != nil || err2 != nil || hooks != nil || rules != nil || left != nil || more != nil
	}
	return false
}

// supplied are the servers and hooks that the trusted repository supplies.
func (x *extensions) supplied() (list []extension.Extension) {
	for _, h := range x.cfg.Hooks {
		list = append(list, h.Extension())
	}
	for _, s := range x.cfg.MCPServers {
		list = append(list, s.Extension())
	}
	list = slices.DeleteFunc(list, func(e extension.Extension) bool { return e.Source != extension.SourceRepository })
	for i := range list {
		list[i] = trust.Summed(list[i]) // as it was written
		list[i].Command = x.shown(list[i].Command)
		for k := range list[i].Details {
			list[i].Details[k] = x.shown(list[i].Details[k])
		}
	}
	return list
}

// approved reports whether the user approved an extension of the repository as it is.
func (x *extensions) approved(e extension.Extension) bool {
	answer := x.answerTo(e)
	return answer != nil && answer.Approved
}

func (x *extensions) answerTo(e extension.Extension) *trust.Approval {
	x.answering.Lock()
	defer x.answering.Unlock()
	at := slices.IndexFunc(x.repoSettings.approvals, func(p trust.Approval) bool { return p.Root == x.project.Root && p.Sum == e.Sum })
	if at < 0 {
		return nil
	}
	return new(x.repoSettings.approvals[at])
}

// noteAnswer notes the user's answer about an extension of the repository or the editor.
func (x *extensions) noteAnswer(e extension.Extension, yes bool) {
	x.answering.Lock()
	defer x.answering.Unlock()
	x.repoSettings.approvals = append(x.repoSettings.approvals, trust.Approval{Root: x.project.Root, Sum: e.Sum, Approved: yes})
}

// storeAnswer stores the user's answer about an extension of the repository or the editor.
func (x *extensions) storeAnswer(e extension.Extension, yes bool) error {
	store, err := x.trustStore()
	if err == nil {
		err = x.storeFailure(store, store.Approve(x.project.Root, e, yes, time.Now().UTC()))
	}
	return err
}

// unapproved names the servers and hooks of a trusted repository that are left out, or is "".
func (x *extensions) unapproved() string {
	var names []string
	for _, e := range x.supplied() {
		if !x.approved(e) {
			names = append(names, string(e.Kind)+" "+e.Command)
		}
	}
	if names == nil {
		return ""
	}
	return "ignoring unapproved extensions of this repository: " + text.UpTo(3, names) + "; artoo trust shows it, --no-project silences this"
}

// askExtension is the question about the servers and hooks without an answer, nil for none.
func (a *app) askExtension() *ui.Trust {
	if _, err := a.extensions.trustStore(); err != nil {
		return nil
	}
	open := slices.DeleteFunc(a.extensions.supplied(), func(e extension.Extension) bool { return a.extensions.answerTo(e) != nil })
	if len(open) == 0 {
		return nil
	}
	return &ui.Trust{Question: a.extensions.extensionsQuestion(open), Answered: func(yes bool) (*ui.Trust, error) {
		for _, e := range open {
			if err := a.extensions.storeAnswer(e, yes); err != nil {
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
func (x *extensions) extensionsQuestion(list []extension.Extension) screen.YesNo {
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
func (x *extensions) extensionQuestion(e extension.Extension) screen.ExtensionQuestion {
	q := screen.ExtensionQuestion{Kind: string(e.Kind), Name: e.Name, Command: e.Command, Details: e.Details}
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
	for _, h := range x.cfg.Hooks {
		row := x.hookRow(h)
		if !x.runs(h) {
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
