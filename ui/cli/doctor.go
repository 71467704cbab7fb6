package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/cli"
	"artoo/provider/redact"
	"artoo/provider/registry"
	"artoo/tool/environ"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/tempdir"
	"artoo/tool/text"
	"artoo/ui/doctor"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// doctorCommand is `artoo doctor`.
type doctorCommand struct {
	app                          *app
	json, offline, paths, report *bool
}

func newDoctor(l commandLine) *cobra.Command {
	c := l.command("doctor [--offline] [--paths|--report]", "check artoo's requirements", common("model", "provider"))
	d := doctorCommand{l.app, jsonFlag(c), c.Flags().Bool("offline", false, "contact no server"),
		c.Flags().Bool("paths", false, "list the files artoo wrote, and nothing else"),
		c.Flags().Bool("report", false, "add version and settings, for a bug report")}
	c.RunE = func(c *cobra.Command, _ []string) error { return d.run(c.Context()) }
	return c
}

// run goes on where the settings cannot be used: that is when it is needed most.
func (c doctorCommand) run(ctx context.Context) error {
	err := c.app.load(false, true)
	if *c.paths {
		if err != nil {
			return err
		}
		return c.listPaths()
	}
	if *c.report {
		if err := c.aboutSettings(); err != nil {
			return err
		}
	}
	columns := 0
	if c.app.streams.out {
		if profile, _ := c.app.profile(true); profile != screen.Spoken {
			columns, _ = c.app.size()
		}
	}
	failed, err := diagnosis{c.app}.run(ctx, *c.offline, err, func(f doctor.Finding) error {
		return printOne(c.app.process.Out, f, *c.json, func(f doctor.Finding) string { return findingText(f, columns) })
	})
	if err == nil && failed > 0 {
		things := "1 thing keeps"
		if failed > 1 {
			things = fmt.Sprintf("%d things keep", failed)
		}
		err = fail(agent.KindInternal, "doctor", errors.New(things+" artoo from working"),
			"the advice below each line that begins with fail")
	}
	return err
}

// aboutSettings prints the version and each setting that someone made, keys masked.
func (c doctorCommand) aboutSettings() error {
	if err := printOne(c.app.process.Out, c.app.process.build(), *c.json, build.String); err != nil || c.app.cfg == nil {
		return err
	}
	type setting struct {
		Key    string `json:"setting"`
		Value  string `json:"value"`
		Origin string `json:"origin"`
	}
	for _, v := range c.app.values() {
		if !v.Set {
			continue
		}
		one := setting{v.Option.Key, v.Value, v.Origin}
		if err := printOne(c.app.process.Out, one, *c.json, func(s setting) string {
			return sanitize.Text(fmt.Sprintf("set   %-12s  %s  (%s)", s.Key, s.Value, s.Origin), sanitize.Line)
		}); err != nil {
			return err
		}
	}
	return nil
}

// findingText is one finding as people read it: on a terminal of so many columns its texts are broken at spaces, with 0
// each is one line.
func findingText(f doctor.Finding, columns int) string {
	texts := []string{f.Text}
	if f.Fix != "" {
		texts = append(texts, "try: "+f.Fix)
	}
	head := fmt.Sprintf("%-4s  %-12s  ", f.Level, f.Topic)
	var lines []string
	for _, text := range texts {
		text = sanitize.Text(text, sanitize.Line)
		if columns > 0 {
			lines = append(lines, wrap(text, columns-len(head))...)
		} else {
			lines = append(lines, text)
		}
	}
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", len(head)))
}

// diagnosis makes the checks of a session that its parts are in order.
type diagnosis struct{ app *app }

// Doctor implements ui.Program: the same, of the settings and model that hold now.
func (p program) Doctor(ctx context.Context, tell func(doctor.Finding) error) error {
	_, err := diagnosis(p).run(ctx, false, nil, tell)
	return err
}

// run tells the findings of all checks as they may be shown.
func (d diagnosis) run(ctx context.Context, offline bool, invalid error, tell func(doctor.Finding) error) (failed int, err error) {
	return doctor.Run(ctx, d.checks(offline, invalid), func(f doctor.Finding) error {
		f.Text, f.Fix = d.app.shown(f.Text), d.app.shown(f.Fix)
		return tell(f)
	})
}

// checks are in the order of the report; invalid is the error that makes the settings useless, or nil.
func (d diagnosis) checks(offline bool, invalid error) []doctor.Check {
	shell, git := doctor.CheckShell(shell.Find(d.app.process.Environ)), doctor.CheckGit(d.exec)
	project := doctor.CheckProject(d.app.project.Root, d.app.project.None)
	repository := doctor.CheckRepository(d.repository)
	if d.app.cfg == nil {
		return []doctor.Check{shell, git, project, repository, doctor.CheckConfig("", nil, invalid), doctor.CheckProxy(d.app.process.Environ, false),
			doctor.CheckCertificates(d.app.process.Environ, "", nil), doctor.CheckCLIs("", false, d.exec, cli.TooOld)}
	}
	profile, why := d.app.profile(d.app.streams.err)
	columns, _ := d.app.size()
	terminal := doctor.CheckTerminal(doctor.Terminal{
		Input: d.app.streams.in, Output: d.app.streams.err, Profile: profile.String(), Why: why, Columns: columns,
		Color: d.app.colored(d.app.streams.err), UTF8: d.app.utf8(), Environ: d.app.process.Environ,
	}, d.exec)
	warnings := d.app.cfg.Warnings
	if line := d.app.extensions.ignored(); line != "" {
		warnings = append(slices.Clone(warnings), line)
	}
	all := []doctor.Check{terminal, shell, git, project, repository, doctor.CheckConfig(d.app.cfg.File, warnings, invalid),
		doctor.CheckPolicy(d.app.cfg.Policy.String()), doctor.CheckHooks(d.app.extensions.hookPrograms()), doctor.CheckFiles(d.places())}
	all = append(all, doctor.CheckInstructions(d.app.workspace.instructions()))
	if d.app.extensions.skills != nil {
		all = append(all, doctor.CheckSkills(d.app.extensions.skippedSkills()))
	}
	var noHTTP error
	if d.app.models.http == nil {
		noHTTP = d.app.models.transport()
	}
	client := d.app.models.http
	if offline {
		client = nil
	}
	if invalid == nil {
		all = append(all, doctor.CheckKeys(d.keys()))
	}
	all = append(all, doctor.CheckProxy(d.app.process.Environ, bool(d.app.cfg.Offline)), doctor.CheckCertificates(d.app.process.Environ, d.app.cfg.CAFile, noHTTP))
	server, local, err := d.chosenServer()
	if invalid == nil && (server != nil || err != nil) {
		all = append(all, doctor.CheckServer(server, err, client))
	}
	if invalid == nil && err == nil {
		all = append(all, doctor.CheckFallbacks(d.fallbacks()))
	}
	if local != nil && client != nil {
		local.Host = registry.Host(provider.Server{Name: local.Provider.Name, BaseURL: local.Address, HTTP: client, Local: true})
		all = append(all, local.Check)
	}
	var chosen provider.Facts
	if err == nil {
		chosen, _ = provider.FactsOf(d.app.choice.Provider)
	}
	all = append(all, doctor.CheckServers(d.servers()))
	_, withheld := d.app.childEnviron()
	return append(all, doctor.CheckVariables(withheld), doctor.CheckCLIs(chosen.Program, bool(d.app.cfg.Offline), d.exec, cli.TooOld),
		doctor.CheckSandbox(d.app.workspace.sandboxFacts(), d.app.cfg.Sandbox))
}

// mostUnread bounds the settings that a finding names.
const mostUnread = 5

// repository is the problem of the project's repository and its fix, "" for none.
func (d diagnosis) repository(ctx context.Context) (problem, fix string) {
	if problem, fix = d.app.project.GitProblem(); problem != "" {
		return problem, fix
	}
	if err := d.app.project.CheckGit(ctx); err != nil && !errors.Is(err, exec.ErrNotFound) {
		return text.FirstLine(err.Error()), ""
	}
	if unread := permission.NewGuard(d.app.project).Unread(); d.app.project.Git && len(unread) > 0 {
		return "files that " + text.UpTo(mostUnread, unread) + " names are not guarded: the command cannot be parsed",
			"put the command into a script, and name that in git's configuration"
	}
	return "", ""
}

// servers are the MCP servers as the settings have them. None is started.
func (d diagnosis) servers() (list []doctor.MCPServer) {
	vars := d.app.process.Environ
	for _, s := range d.app.extensions.mcpServers() {
		d := doctor.MCPServer{Name: s.Name, Address: cmp.Or(s.URL, shell.Quote(s.Command...)), Required: s.Required,
			Loose: s.Confined() && d.app.workspace.sandboxFacts().Mechanism == sandbox.None}
		for _, name := range append(slices.Clone(s.PassEnv), s.TokenEnv, s.ClientSecretEnv) {
			if value, ok := vars.Lookup(name); name != "" && (!ok || value == "") {
				d.Missing = append(d.Missing, name)
			}
		}
		if len(s.Command) > 0 && !strings.Contains(s.Command[0], "$") {
			_, err := vars.LookPath(s.Command[0])
			d.NoProgram = err != nil
		}
		list = append(list, d)
	}
	return list
}

// exec implements doctor.Exec. The program gets no key.
func (d diagnosis) exec(ctx context.Context, name string, args ...string) (path, output string, err error) {
	if path, err = d.app.process.Environ.LookPath(name); err != nil {
		return "", "", err
	}
	keys := provider.KeyVariables()
	if d.app.cfg != nil {
		keys = d.app.cfg.KeyVariables()
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay, cmd.Dir = time.Second, d.app.process.Dir
	cmd.Env, _ = environ.ChildEnviron(d.app.process.Environ, environ.Withholding{Keys: keys, Holds: redact.InVariable})
	if name == "tmux" { // tmux needs TMUX to find this terminal
		cmd.Env = environ.WithoutKeys(d.app.process.Environ, keys...)
	}
	shell.OwnGroup(cmd)
	out, err := cmd.CombinedOutput()
	return path, string(out), err
}

func (d diagnosis) keys() (all []doctor.Keys) {
	for _, name := range d.app.cfg.ProviderNames() {
		if d.app.cfg.NeedsKey(name) {
			places, err := d.app.cfg.KeyPlaces(name)
			all = append(all, doctor.Keys{Provider: name, Places: places, Err: err})
		}
	}
	return all
}

// chosenServer is the provider that would answer now, and a local server; both may be nil.
func (d diagnosis) chosenServer() (*doctor.Server, *doctor.LocalServer, error) {
	headless := d.app.streams.headless
	d.app.streams.headless = true // no prompt for the provider
	err := d.app.models.choose()
	d.app.streams.headless = headless
	name := d.app.choice.Provider
	local := localServer(d.app.process.Environ, name)
	facts, _ := provider.FactsOf(name)
	if err != nil || facts.Key == provider.KeyNever { // nothing of it is a server
		return nil, local, err
	}
	server, err := d.server(name, func(ctx context.Context) (string, string, error) {
		if form := d.app.cfg.Form(name); form.Keyless() {
			source, err := d.app.models.signer(form.Auth).Source(ctx)
			return "", source, err
		}
		key, err := d.app.cfg.Key(ctx, name)
		return key.Value.Reveal(), key.Source, err
	})
	if facts.Local != nil && server != nil {
		local.Address, local.Model = server.BaseURL, d.app.choice.Model
		local.Window = d.app.cfg.Providers[name].Models[d.app.choice.Model].Context
	}
	return server, local, err
}

// localServer is the local server that is chosen, else one that is installed or named, or nil.
func localServer(vars environ.Vars, chosen string) *doctor.LocalServer {
	for _, f := range provider.Known() {
		if f.Local == nil || isLocalServer(chosen) && f.Name != chosen {
			continue
		}
		named := vars.Get(f.URLVar)
		if _, err := vars.LookPath(f.Local.Program); err == nil || named != "" || f.Name == chosen {
			return &doctor.LocalServer{Provider: f, Address: registry.Address(f.Name, named), Named: named != ""}
		}
	}
	return nil
}

// server is a provider's server; key also says where the key came from.
func (d diagnosis) server(name string, key func(context.Context) (string, string, error)) (*doctor.Server, error) {
	server, _, err := d.app.models.server(name)
	if err != nil {
		return nil, err
	}
	return &doctor.Server{Server: server, Model: d.app.choice.Model, Key: key, Offline: bool(d.app.cfg.Offline)}, nil
}

func (c doctorCommand) listPaths() error {
	there := inside(slices.DeleteFunc(diagnosis{c.app}.places(), func(p doctor.Place) bool { return !p.Exists }))
	var ring []string
	for _, name := range c.app.cfg.ProviderNames() {
		if places, err := c.app.cfg.KeyPlaces(name); err == nil && slices.Contains(places, "keyring") {
			ring = append(ring, name)
		}
	}
	if ring != nil {
		c.app.screen.Note("also in the keyring: the keys of " + strings.Join(ring, ", ") + "; artoo logout removes them")
	}
	return printEach(c.app.process.Out, there, *c.json, placeText)
}

// inside adds each project's journal and caches to the places.
func inside(places []doctor.Place) (all []doctor.Place) {
	for _, p := range places {
		all = append(all, p)
		for _, dir := range []struct{ name, what string }{
			{"journal", "journal, for undo"}, {"sandbox", "cache of confined commands"},
		} {
			entries, err := os.ReadDir(filepath.Join(p.Path, dir.name))
			if err != nil {
				continue // there is none
			}
			for _, e := range entries {
				all = append(all, look(filepath.Join(p.Path, dir.name, e.Name()), dir.what))
			}
		}
	}
	return all
}

func placeText(p doctor.Place) string {
	return fmt.Sprintf("%s  (%s, %s)", sanitize.Text(p.Path, sanitize.Line), p.What, p.Size())
}

// places are the directories and files that artoo writes by itself, not by tools or for a command.
func (d diagnosis) places() []doctor.Place {
	var list []doctor.Place
	paths := d.app.cfg.Paths
	for _, dir := range []struct {
		what string
		find func() (string, error)
	}{{"settings", paths.ConfigDir}, {"keys", paths.DataDir}, {"sessions, history", paths.StateDir}, {"cache", paths.CacheDir}} {
		if path, err := dir.find(); err != nil {
			list = append(list, doctor.Place{Path: dir.what + " directory", What: dir.what, Err: err})
		} else {
			list = append(list, look(path, dir.what))
		}
	}
	if d.app.cfg.Log != "" {
		list = append(list, look(d.app.abs(d.app.cfg.Log), "log"))
	}
	for _, pattern := range []string{"artoo-demo-*", "artoo-edit-*", "artoo-undo-*", "artoo-index-*", tempdir.Pattern} {
		found, _ := filepath.Glob(filepath.Join(d.app.process.Environ.TempDir(), pattern)) // the patterns are well formed
		for _, path := range found {
			p := look(path, "left by a run")
			p.Left = true
			list = append(list, p)
		}
	}
	return list
}

func writable(path string) error {
	if err := unix.Access(path, unix.W_OK); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// look counts the files in a place and adds up their sizes.
func look(path, what string) doctor.Place {
	p := doctor.Place{Path: path, What: what}
	info, err := os.Stat(path)
	if err == nil {
		p.Exists = true
		err = writable(path)
	}
	for above := path; errors.Is(err, fs.ErrNotExist) && above != filepath.Dir(above); { // it would be made there
		above = filepath.Dir(above)
		err = writable(above)
	}
	if p.Err = err; err != nil || !p.Exists {
		return p
	}
	if !info.IsDir() {
		p.Files, p.Bytes = 1, info.Size()
		return p
	}
	p.Err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // another artoo took it away
			return nil
		}
		if err == nil {
			p.Files++
			p.Bytes += info.Size()
		}
		return err
	})
	return p
}
