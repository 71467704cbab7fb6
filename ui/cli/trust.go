package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/config"
	"artoo/config/trust"
	"artoo/provider/cli"
	"artoo/tool/extension"
	"artoo/tool/text"
	"artoo/ui"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// repoSettings are the repository's settings and the user's answers about them.
type repoSettings struct {
	trust.Settings
	approvals []trust.Approval    // the answers about its servers and hooks
	refused   *trust.RefusedError // it cannot be trusted; nil where it can
	answer    *trust.Answer       // the current answer, or nil
	last      *trust.Answer       // the newest answer that trusted its settings
}

// trusted reports whether the user trusts the settings that the repository has now.
func (b repoSettings) trusted() bool { return b.refused == nil && b.answer != nil && b.answer.Trusted }

// changed reports whether the user trusted the earlier settings of the repository but not these.
func (b repoSettings) changed() bool { return b.last != nil && !b.trusted() }

// ownNames are the directories in a project's root that artoo reads for itself.
func ownNames() []string { return []string{filepath.Dir(filepath.FromSlash(config.ProjectFile))} }

// findTrust reads the settings of the repository, and the user's answer about them.
func (x *extensions) findTrust() error {
	if x.cfg.NoProject || x.project.None != "" {
		return nil
	}
	found, err := x.find()
	refused, isRefused := errors.AsType[*trust.RefusedError](err)
	if err != nil && !isRefused {
		return fail(agent.KindInternal, "the project", err, "--no-project ignores the project's settings")
	}
	x.repoSettings = repoSettings{Settings: found, refused: refused}
	if x.cfg.Policy.NoTrust {
		x.repoSettings.answer = &trust.Answer{}
		return nil
	}
	store, err := x.trustStore()
	if err != nil {
		return nil // there is no home to store answers in
	}
	answers, err := store.Read()
	x.repoSettings.approvals = answers.Approvals
	x.repoSettings.answer, x.repoSettings.last = answers.Of(found)
	return x.storeFailure(store, err)
}

func (x *extensions) find() (trust.Settings, error) {
	return trust.Find(x.project.Root, x.project.Dir, nil, slices.Concat(sharedNames(), cli.Settings()))
}

func (x *extensions) trustStore() (trust.Store, error) {
	path, err := x.cfg.Paths.Trust()
	return trust.Store{Path: path}, err
}

// trustsPrograms reports whether the project may run its own programs unasked.
func (x *extensions) trustsPrograms() (bool, error) {
	store, err := x.trustStore()
	if err != nil || x.project.None != "" || x.cfg.Policy.NoTrust {
		return false, nil
	}
	trusts, err := store.TrustsPrograms(x.project.Root)
	return trusts, x.storeFailure(store, err)
}

// trustPrograms records that the project may run its own programs.
func (x *extensions) trustPrograms() error {
	if err := x.cfg.Policy.CheckTrust(); err != nil {
		return err
	}
	store, err := x.trustStore()
	if err != nil {
		return err
	}
	return x.storeFailure(store, store.TrustPrograms(x.project.Root, time.Now().UTC()))
}

func (x *extensions) storeFailure(store trust.Store, err error) error {
	if err == nil {
		return nil
	}
	return fail(agent.KindConfig, store.Path, err,
		"check the file's owner, or remove it: artoo then asks for trust again")
}

// applyTrust takes over the project's own file, its hooks and its servers, if it is trusted.
func (x *extensions) applyTrust() error {
	if !x.repoSettings.trusted() {
		return nil
	}
	x.forPaths.List = x.pathRules()
	if data := x.repoSettings.Data(config.ProjectFile); data != nil {
		if err := x.cfg.ApplyProject(x.project.Root, data); err != nil {
			return err
		}
	}
	for _, f := range x.repoSettings.Files {
		from := extension.Origin{Source: extension.SourceRepository, Root: x.project.Root, Place: f.Name}
		if f.Data != nil && f.Name == repositoryServers {
			x.takeServers(f.Data, from)
		}
		if f.Data != nil && slices.Contains(foreignSettings(), f.Name) {
			x.takeHooks(f.Data, from)
			x.foreignRules(f.Data, f.Name)
		}
	}
	return nil
}

// matters are the files that artoo, or the coding CLI that answers, would obey.
func (x *extensions) matters() (obeyed []trust.File) {
	names := slices.Concat(sharedNames(), cli.Settings(x.choice.Provider))
	for _, f := range x.repoSettings.Files {
		if f.Under(names) || isShared(f.Name) || declares(f) {
			obeyed = append(obeyed, f)
		}
	}
	return obeyed
}

// ignored names the project's settings and kept rules that are left out, and why, or is "".
func (x *extensions) ignored() string {
	b := x.repoSettings
	if b.trusted() {
		return x.unapproved()
	}
	files := x.matters()
	kept, rest := "", ""
	if x.rules.withheld != nil {
		kept = "your rules for it do not apply: " + text.UpTo(3, x.rules.withheld)
		rest = "; " + kept
	}
	why := "repository not trusted"
	switch {
	case b.refused != nil:
		name := strings.Split(b.refused.Name, "/")
		names := slices.Concat(repositoryDirs(), cli.Settings(x.choice.Provider))
		if files == nil && kept == "" &&
			!slices.ContainsFunc(name, func(part string) bool { return slices.Contains(names, part) }) {
			return ""
		}
		return "ignoring project settings: " + b.refused.Error() + rest + "; --no-project silences this"
	case x.cfg.Policy.NoTrust:
		why = x.cfg.Policy.CheckTrust().Error()
	case b.answer != nil:
		why = "you do not trust it"
	case b.last != nil:
		why = "it is not the version you trusted, " + text.UpTo(3, b.Changes(b.last.Files))
	}
	if files == nil && kept != "" {
		return "project settings have changed, and " + kept + "; artoo trust shows it"
	}
	if files == nil {
		return ""
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return "ignoring project settings: " + why + ": " + text.UpTo(3, names) + rest +
		"; artoo trust shows it, --no-project silences this"
}

// trustsNow reports whether the repository's settings are still those that the user
// trusts: a coding CLI reads them by itself, a moment later. The error says why they
// no longer are.
func (x *extensions) trustsNow() (bool, error) {
	if !x.repoSettings.trusted() {
		return false, nil
	}
	now, err := x.find()
	if err == nil && now.Sum() != x.repoSettings.Sum() {
		err = errors.New("it is not the version you trusted, " + text.UpTo(3, now.Changes(x.repoSettings.Sums())))
	}
	if err != nil {
		return false, fmt.Errorf("the project's settings are left out: %w; artoo trust shows them", err)
	}
	return true, nil
}

func (x *extensions) trustQuestion() screen.TrustQuestion {
	q := screen.TrustQuestion{Dir: x.project.Root, Rules: x.rules.withheld}
	var all strings.Builder
	for _, f := range x.repoSettings.Files {
		q.Lines = append(q.Lines, screen.TrustLine(f.Name, f.Size, obeys(f)))
		if f.Data == nil && f.Size > 0 {
			fmt.Fprintf(&all, "%s, %s:\n\n(too large to be shown here)\n\n", f.Name, screen.Count(f.Size, "byte"))
			continue
		}
		all.WriteString(contentOf(f.Name, f.Data))
	}
	if q.Lines == nil {
		q.Lines = []string{"nothing yet"}
	}
	if last := x.repoSettings.last; last != nil {
		q.Changes = x.repoSettings.Changes(last.Files)
	}
	q.All = all.String()
	return q
}

// obeys names the program that a file is for.
func obeys(f trust.File) string {
	if declares(f) {
		return "artoo, " + cli.SettingsOf(strings.Split(f.Name, "/")[0])
	}
	for part := range strings.SplitSeq(f.Name, "/") {
		if slices.Contains(sharedNames(), part) {
			return "artoo"
		}
		if programs := cli.SettingsOf(part); programs != "" {
			if isShared(f.Name) {
				return "artoo, " + programs
			}
			return programs
		}
	}
	return "others"
}

// askFirst is the question that a conversation begins with, nil for none.
func (a *app) askFirst() *ui.Trust {
	if a.extensions.repoSettings.trusted() {
		return a.askExtension()
	}
	if a.extensions.repoSettings.refused != nil || a.extensions.repoSettings.answer != nil ||
		a.extensions.matters() == nil && a.extensions.rules.withheld == nil {
		return nil
	}
	if _, err := a.extensions.trustStore(); err != nil {
		return nil
	}
	return &ui.Trust{Question: a.extensions.trustQuestion(), Answered: func(yes bool) (*ui.Trust, error) {
		if err := a.extensions.keepTrust(yes); err != nil || !yes {
			return nil, err
		}
		if err := a.tighten(); err != nil {
			return nil, err
		}
		return a.askExtension(), nil
	}}
}

func (x *extensions) keepTrust(yes bool) error {
	store, err := x.trustStore()
	if err != nil {
		return err
	}
	if err := x.storeFailure(store, store.Keep(x.repoSettings.Settings, yes, time.Now().UTC())); err != nil {
		return err
	}
	x.repoSettings.answer = &trust.Answer{Trusted: yes}
	return nil
}

// tighten puts the trusted settings and rules in force in a conversation that has begun.
func (a *app) tighten() error {
	if err := a.extensions.applyTrust(); err != nil {
		return err
	}
	a.extensions.skills.Change(a.extensions.skillPlaces())
	rules, err := a.extensions.readRules()
	if err != nil {
		return err
	}
	a.extensions.rules = rules
	tools, err := a.addServers()
	if err != nil {
		return err
	}
	if err := a.extensions.setRules(a.agent.Policy()); err != nil {
		return err
	}
	if err := a.agent.SetHooks(a.extensions.hooks().List); err != nil {
		return err
	}
	return a.agent.SettingsChanged(tools)
}

// trustCommand is `artoo trust`.
type trustCommand struct {
	app                 *app
	json, programs, yes *bool
}

func newTrust(l commandLine) *cobra.Command {
	c := l.command("trust [list|rm] [--run] [--yes] [DIR]",
		"trust a project's settings as they are now; with --run, its own programs", common())
	c.Args, c.ValidArgsFunction = l.words(0, 1, ""), nil
	flag := func(name, meaning string) *bool { return c.PersistentFlags().Bool(name, false, meaning) }
	t := trustCommand{app: l.app, json: jsonFlag(c),
		programs: flag("run", "let the project's own programs run in the sandbox without asking"),
		yes:      flag("yes", "do not ask")}
	c.RunE = func(c *cobra.Command, words []string) error { return t.run(c.Context(), first(words)) }
	l.verb(c, "list", func(context.Context, []string) error { return t.listTrust() })
	rm := l.verb(c, "rm [DIR]", func(_ context.Context, words []string) error { return t.revoke(first(words)) })
	rm.Args, rm.ValidArgsFunction = l.words(0, 1, ""), nil
	return c
}

// open reads the settings and finds the project, that of dir unless it is "".
func (c trustCommand) open(dir string) (store trust.Store, err error) {
	if err := c.app.load(false, false); err != nil {
		return store, err
	}
	if dir != "" {
		if c.app.project, err = c.app.findProject(c.app.abs(dir), c.app.cfg.GitDirs...); err != nil {
			return store, fail(agent.KindUsage, "trust", err, "artoo trust DIR, with a directory that exists")
		}
	}
	return c.app.extensions.trustStore()
}

func (c trustCommand) run(ctx context.Context, dir string) error {
	store, err := c.open(dir)
	if err != nil {
		return err
	}
	if c.app.project.None != "" {
		return fail(agent.KindUsage, "trust", errors.New("no project to trust: "+c.app.project.None), "cd into one")
	}
	if err := c.app.cfg.Policy.CheckTrust(); err != nil {
		return err
	}
	if *c.programs {
		return c.askToRun(ctx, store)
	}
	c.app.cfg.NoProject = false // the command is about those settings
	if err := c.app.extensions.findTrust(); err != nil {
		return err
	}
	if c.app.extensions.repoSettings.refused != nil {
		return fail(agent.KindConfig, "trust", c.app.extensions.repoSettings.refused, "remove it, or fix it")
	}
	return c.askToTrust(ctx)
}

// listTrust prints the answers about the settings of projects, and those about their own programs.
func (c trustCommand) listTrust() error {
	store, err := c.open("")
	if err != nil {
		return err
	}
	answers, err := store.Read()
	if err != nil {
		return c.app.extensions.storeFailure(store, err)
	}
	row := func(asJSON any, word string, at time.Time, root, object string) error {
		return printOne(c.app.process.Out, asJSON, *c.json, func(any) string {
			return fmt.Sprintf("%-3s  %s  %s  %s", word, at.Local().Format("2006-01-02 15:04"),
				sanitize.Text(root, sanitize.Line), sanitize.Text(object, sanitize.Line))
		})
	}
	type kind struct {
		Kind string `json:"kind"`
	}
	words := map[bool]string{true: "yes", false: "no"}
	for _, answer := range answers.Settings {
		names := cmp.Or(text.UpTo(3, slices.Sorted(maps.Keys(answer.Files))), map[bool]string{true: "many files", false: "no settings"}[answer.Files == nil])
		err := row(struct {
			kind
			trust.Answer
		}{kind{"settings"}, answer}, words[answer.Trusted], answer.At, answer.Root, names)
		if err != nil {
			return err
		}
	}
	for _, e := range answers.Approvals {
		e.Command = c.app.shown(e.Command)
		err := row(struct {
			kind
			trust.Approval
		}{kind{"extension"}, e}, words[e.Approved], e.At, e.Root, e.What+": "+e.Command)
		if err != nil {
			return err
		}
	}
	for _, p := range answers.Programs {
		err := row(struct {
			kind
			trust.Programs
		}{kind{"run"}, p}, "run", p.At, p.Root, "its own programs, in the sandbox")
		if err != nil {
			return err
		}
	}
	return nil
}

// revoke forgets the answer about settings or, with --run, about programs.
func (c trustCommand) revoke(dir string) error {
	store, err := c.open(dir)
	if err != nil {
		return err
	}
	root := sanitize.Text(c.app.project.Root, sanitize.Line)
	was, forgotten, unknown := false, " is no longer trusted; artoo asks again about its settings", " was neither trusted nor refused"
	if *c.programs {
		was, err = store.RevokePrograms(c.app.project.Root)
		forgotten, unknown = " may no longer run its own programs unasked", " was not trusted to run its own programs"
	} else {
		var answers int
		answers, err = store.Revoke(c.app.project.Root)
		was = answers > 0
	}
	switch {
	case err != nil:
		return c.app.extensions.storeFailure(store, err)
	case was:
		c.app.screen.Note(root + forgotten)
	default:
		c.app.screen.Note(root + unknown)
	}
	return nil
}

// askToTrust shows the repository's settings and asks, unless they are trusted already.
func (c trustCommand) askToTrust(ctx context.Context) error {
	if c.app.extensions.repoSettings.trusted() {
		names := text.UpTo(3, slices.Sorted(maps.Keys(c.app.extensions.repoSettings.Sums())))
		c.app.screen.Note("trusted as it is now: " + cmp.Or(names, "it has no settings"))
		if err := c.app.extensions.applyTrust(); err != nil {
			return err
		}
		return c.askExtensions(ctx)
	}
	accept := func() error { // also reports a file that cannot be used
		c.app.extensions.repoSettings.answer = &trust.Answer{Trusted: true}
		return c.app.extensions.applyTrust()
	}
	q := c.app.extensions.trustQuestion()
	if *c.yes {
		if err := accept(); err != nil {
			return err
		}
	}
	yes, err := c.app.confirm("trust", q, *c.yes, "artoo trust --yes, once you have looked",
		func() (bool, error) { return ui.ConfirmOnTTY(ctx, c.app.screen, q) })
	if err == nil && yes && !*c.yes {
		err = accept()
	}
	if err != nil {
		return err
	}
	if err := c.app.extensions.keepTrust(yes); err != nil || !yes {
		return err
	}
	return c.askExtensions(ctx)
}

// askExtensions asks about the servers and hooks that are not approved as they are: as a whole, and after a no
// about each.
func (c trustCommand) askExtensions(ctx context.Context) error {
	var open []extension.Extension
	for _, e := range c.app.extensions.supplied() {
		if c.app.extensions.approved(e) {
			c.app.screen.Note("approved as it is now: the " + string(e.Kind) + " " + sanitize.Text(e.Name+": "+e.Command, sanitize.Line))
			continue
		}
		open = append(open, e)
	}
	ask := func(list []extension.Extension) (yes bool, err error) {
		q := c.app.extensions.extensionsQuestion(list)
		yes, err = c.app.confirm("trust", q, *c.yes, "artoo trust --yes, once you have looked",
			func() (bool, error) { return ui.ConfirmOnTTY(ctx, c.app.screen, q) })
		for _, e := range list {
			if err == nil {
				err = c.app.extensions.storeAnswer(e, yes)
			}
		}
		return yes, err
	}
	if len(open) > 1 {
		if yes, err := ask(open); err != nil || yes {
			return err
		}
	}
	for _, e := range open {
		if _, err := ask([]extension.Extension{e}); err != nil {
			return err
		}
	}
	return nil
}

// askToRun asks whether the project may run its own programs, unless it may already.
func (c trustCommand) askToRun(ctx context.Context, store trust.Store) error {
	trusts, err := store.TrustsPrograms(c.app.project.Root)
	if err != nil {
		return c.app.extensions.storeFailure(store, err)
	}
	if trusts {
		c.app.screen.Note(sanitize.Text(c.app.project.Root, sanitize.Line) + " is trusted to run its own programs")
		return nil
	}
	q := screen.TrustQuestion{Dir: c.app.project.Root, Run: true}
	yes, err := c.app.confirm("trust", q, *c.yes, "artoo trust --run --yes",
		func() (bool, error) { return ui.ConfirmOnTTY(ctx, c.app.screen, q) })
	if err != nil || !yes {
		return err
	}
	return c.app.extensions.trustPrograms()
}
