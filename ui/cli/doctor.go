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
	"artoo/provider"
	"artoo/provider/cli"
	"artoo/provider/redact"
	"artoo/provider/registry"
	"artoo/tool/environ"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/tempdir"
	"artoo/ui/doctor"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// doctorCommand is `artoo doctor`.
type doctorCommand struct {
	*app
	json, offline, paths, report *bool
}

func newDoctor(a *app) *cobra.Command {
	c := a.command("doctor [--offline] [--paths|--report]", "check artoo's requirements", common("model", "provider"))
	d := doctorCommand{a, jsonFlag(c), c.Flags().Bool("offline", false, "ask no server"),
		c.Flags().Bool("paths", false, "list the files artoo wrote, and nothing else"),
		c.Flags().Bool("report", false, "add version and settings, for a bug report")}
	c.RunE = func(c *cobra.Command, _ []string) error { return d.run(c.Context()) }
	return c
}

// run goes on where the settings cannot be used: that is when it is needed most.
func (a doctorCommand) run(ctx context.Context) error {
	err := a.load(false, true)
	if *a.paths {
		if err != nil {
			return err
		}
		return a.listPaths()
	}
	if *a.report {
		if err := a.aboutSettings(); err != nil {
			return err
		}
	}
	columns := 0
	if a.streams.out {
		if profile, _ := a.profile(true); profile != screen.Spoken {
			columns, _ = a.size()
		}
	}
	failed, err := doctor.Run(ctx, a.doctorChecks(*a.offline, err), func(f doctor.Finding) error {
		return printOne(a.process.Out, f, *a.json, func(f doctor.Finding) string { return findingText(f, columns) })
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
func (a doctorCommand) aboutSettings() error {
	if err := printOne(a.process.Out, a.process.build(), *a.json, build.String); err != nil || a.cfg == nil {
		return err
	}
	type setting struct {
		Key    string `json:"setting"`
		Value  string `json:"value"`
		Origin string `json:"origin"`
	}
	for _, v := range a.cfg.Values() {
		if !v.Set {
			continue
		}
		one := setting{v.Option.Key, a.mask(v.Value), v.Origin}
		if err := printOne(a.process.Out, one, *a.json, func(s setting) string {
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

// Doctor implements ui.Program: the same, of the settings and model that hold now.
func (a *app) Doctor(ctx context.Context, tell func(doctor.Finding) error) error {
	_, err := doctor.Run(ctx, a.doctorChecks(false, nil), tell)
	return err
}

// doctorChecks are in the order of the report; invalid is the error that makes the settings useless, or nil.
func (a *app) doctorChecks(offline bool, invalid error) []doctor.Check {
	shell, git := doctor.CheckShell(shell.Find()), doctor.CheckGit(a.execForDoctor)
	project := doctor.CheckProject(a.project.Root, a.project.None)
	if a.cfg == nil {
		return []doctor.Check{shell, git, project, doctor.CheckConfig("", nil, invalid), doctor.CheckProxy(false),
			doctor.CheckCertificates("", nil), doctor.CheckCLIs("", false, a.execForDoctor, cli.TooOld)}
	}
	profile, why := a.profile(a.streams.err)
	columns, _ := a.size()
	terminal := doctor.CheckTerminal(doctor.Terminal{
		Input: a.streams.in, Output: a.streams.err, Profile: profile.String(), Why: why, Columns: columns,
		Color: a.colored(a.streams.err), UTF8: a.utf8(),
	}, a.execForDoctor)
	warnings := a.cfg.Warnings
	if line := a.ignored(); line != "" {
		warnings = append(slices.Clone(warnings), line)
	}
	all := []doctor.Check{terminal, shell, git, project, doctor.CheckConfig(a.cfg.File, warnings, invalid),
		doctor.CheckPolicy(a.Policy()), doctor.CheckHooks(a.hookPrograms()), doctor.CheckFiles(a.places())}
	if a.skills != nil {
		all = append(all, doctor.CheckSkills(a.skippedSkills()))
	}
	var noHTTP error
	if a.http == nil {
		noHTTP = a.transport()
	}
	client := a.http
	if offline {
		client = nil
	}
	if invalid == nil {
		all = append(all, doctor.CheckKeys(a.keys()))
	}
	all = append(all, doctor.CheckProxy(bool(a.cfg.Offline)), doctor.CheckCertificates(a.cfg.CAFile, noHTTP))
	server, local, err := a.chosenServer()
	if invalid == nil && (server != nil || err != nil) {
		all = append(all, doctor.CheckServer(server, err, client))
	}
	if invalid == nil && err == nil {
		all = append(all, doctor.CheckFallbacks(a.doctorFallbacks()))
	}
	if local != nil && client != nil {
		local.Host = registry.Host(provider.Server{Name: local.Provider.Name, BaseURL: local.Address, HTTP: client, Local: true})
		all = append(all, local.Check)
	}
	var chosen provider.Facts
	if err == nil {
		chosen, _ = provider.FactsOf(a.choice.Provider)
	}
	all = append(all, doctor.CheckServers(a.doctorServers()))
	return append(all, doctor.CheckCLIs(chosen.Program, bool(a.cfg.Offline), a.execForDoctor, cli.TooOld),
		doctor.CheckSandbox(a.sandboxFacts(), a.cfg.Sandbox))
}

// doctorServers are the MCP servers as the settings have them. None is started.
func (a *app) doctorServers() (list []doctor.MCPServer) {
	environ := os.Environ()
	for _, s := range a.mcpServers() {
		d := doctor.MCPServer{Name: s.Name, Address: cmp.Or(s.URL, shell.Quote(s.Command...)), Required: s.Required,
			Loose: s.Confined() && a.sandboxFacts().Mechanism == sandbox.None}
		for _, name := range append(slices.Clone(s.PassEnv), s.TokenEnv, s.ClientSecretEnv) {
			if value, ok := environValue(environ, name); name != "" && (!ok || value == "") {
				d.Missing = append(d.Missing, name)
			}
		}
		if len(s.Command) > 0 && !strings.Contains(s.Command[0], "$") {
			_, err := exec.LookPath(s.Command[0])
			d.NoProgram = err != nil
		}
		list = append(list, d)
	}
	return list
}

func environValue(environ []string, name string) (string, bool) {
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// execForDoctor implements doctor.Exec. The program gets no key.
func (a *app) execForDoctor(ctx context.Context, name string, args ...string) (path, output string, err error) {
	if path, err = exec.LookPath(name); err != nil {
		return "", "", err
	}
	keys := provider.KeyVariables()
	if a.cfg != nil {
		keys = a.cfg.KeyVariables()
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	cmd.Env, _ = environ.ChildEnviron(os.Environ(), environ.Withholding{Keys: keys, Holds: redact.Holds})
	if name == "tmux" { // tmux needs TMUX to find this terminal
		cmd.Env = environ.WithoutKeys(os.Environ(), keys...)
	}
	shell.OwnGroup(cmd)
	out, err := cmd.CombinedOutput()
	return path, string(out), err
}

func (a *app) keys() (all []doctor.Keys) {
	for _, name := range a.cfg.ProviderNames() {
		if a.cfg.NeedsKey(name) {
			places, err := a.cfg.KeyPlaces(name)
			all = append(all, doctor.Keys{Provider: name, Places: places, Err: err})
		}
	}
	return all
}

// chosenServer is the provider that would answer now, and a local server; both may be nil.
func (a *app) chosenServer() (*doctor.Server, *doctor.LocalServer, error) {
	headless := a.streams.headless
	a.streams.headless = true // no prompt for the provider
	err := a.choose()
	a.streams.headless = headless
	name := a.choice.Provider
	local := localServer(name)
	facts, _ := provider.FactsOf(name)
	if err != nil || facts.Key == provider.KeyNever { // nothing of it is a server
		return nil, local, err
	}
	server, err := a.doctorServer(name, func(ctx context.Context) (string, string, error) {
		if form := a.cfg.Form(name); form.Keyless() {
			source, err := a.signer(form.Auth).Source(ctx)
			return "", source, err
		}
		key, err := a.cfg.Key(ctx, name)
		return key.Value.Reveal(), key.Source, err
	})
	if facts.Local != nil && server != nil {
		local.Address, local.Model = server.BaseURL, a.choice.Model
		local.Window = a.cfg.Providers[name].Models[a.choice.Model].Context
	}
	return server, local, err
}

// localServer is the local server that is chosen, else one that is installed or named, or nil.
func localServer(chosen string) *doctor.LocalServer {
	for _, f := range provider.Known() {
		if f.Local == nil || isLocalServer(chosen) && f.Name != chosen {
			continue
		}
		named := os.Getenv(f.URLVar)
		if _, err := exec.LookPath(f.Local.Program); err == nil || named != "" || f.Name == chosen {
			return &doctor.LocalServer{Provider: f, Address: registry.Address(f.Name, named), Named: named != ""}
		}
	}
	return nil
}

// doctorServer is a provider's server; key also says where the key came from.
func (a *app) doctorServer(name string, key func(context.Context) (string, string, error)) (*doctor.Server, error) {
	server, _, err := a.server(name)
	if err != nil {
		return nil, err
	}
	return &doctor.Server{Server: server, Model: a.choice.Model, Key: key, Offline: bool(a.cfg.Offline)}, nil
}

func (a doctorCommand) listPaths() error {
	there := inside(slices.DeleteFunc(a.places(), func(p doctor.Place) bool { return !p.Exists }))
	var ring []string
	for _, name := range a.cfg.ProviderNames() {
		if places, err := a.cfg.KeyPlaces(name); err == nil && slices.Contains(places, "keyring") {
			ring = append(ring, name)
		}
	}
	if ring != nil {
		a.screen.Note("also in the keyring: the keys of " + strings.Join(ring, ", ") + "; artoo logout removes them")
	}
	return printEach(a.process.Out, there, *a.json, placeText)
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
func (a *app) places() []doctor.Place {
	var list []doctor.Place
	paths := a.cfg.Paths
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
	if path, err := filepath.Abs(a.cfg.Log); a.cfg.Log != "" && err == nil {
		list = append(list, look(path, "log"))
	}
	for _, pattern := range []string{"artoo-demo-*", "artoo-edit-*", "artoo-undo-*", "artoo-index-*", tempdir.Pattern} {
		found, _ := filepath.Glob(filepath.Join(os.TempDir(), pattern)) // the patterns are well formed
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
