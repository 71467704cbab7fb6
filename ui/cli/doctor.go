package cli

import (
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

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/cli"
	"artoo/provider/redact"
	"artoo/provider/registry"
	"artoo/tool/environ"
	"artoo/tool/shell"
	"artoo/tool/tempdir"
	"artoo/ui/doctor"
	"artoo/ui/sanitize"
)

// doctorCommand is `artoo doctor`.
type doctorCommand struct {
	*app
	json, offline, paths *bool
}

func newDoctor(a *app) *cobra.Command {
	c := a.command("doctor [--offline] [--paths]", "check what artoo needs", common("model", "provider"))
	d := doctorCommand{a, jsonFlag(c), c.Flags().Bool("offline", false, "ask no server"),
		c.Flags().Bool("paths", false, "list what artoo wrote, and nothing else")}
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
	p := a.machine()
	if a.cfg != nil {
		p = a.probes(*a.offline)
	}
	p.ConfigErr = err
	failed, err := doctor.Run(ctx, p, func(f doctor.Finding) error {
		return printOne(a.process.Out, f, *a.json, findingText)
	})
	if err == nil && failed > 0 {
		things := "1 thing keeps"
		if failed > 1 {
			things = fmt.Sprintf("%d things keep", failed)
		}
		err = fail(agent.KindInternal, "doctor", errors.New(things+" artoo from working"),
			"what the report says below each line that begins with fail")
	}
	return err
}

// findingText is a finding as it is printed.
func findingText(f doctor.Finding) string {
	text := fmt.Sprintf("%-4s  %-12s  %s", f.Level, f.Topic, sanitize.Text(f.Text, sanitize.Line))
	if f.Fix != "" {
		text += fmt.Sprintf("\n%20stry: %s", "", sanitize.Text(f.Fix, sanitize.Line))
	}
	return text
}

// Doctor implements ui.Program: the same, of the settings and model that hold now.
func (a *app) Doctor(ctx context.Context, tell func(doctor.Finding) error) error {
	_, err := doctor.Run(ctx, a.probes(false), tell)
	return err
}

// machine is what can be looked at without settings.
func (a *app) machine() *doctor.Probes {
	keys := provider.KeyVariables()
	if a.cfg != nil {
		keys = a.cfg.KeyVariables()
	}
	child, _ := environ.ChildEnviron(os.Environ(), environ.Withholding{Keys: keys, Holds: redact.Holds})
	return &doctor.Probes{
		LookPath: exec.LookPath,
		Exec: func(ctx context.Context, name string, args ...string) (string, error) {
			cmd := exec.CommandContext(ctx, name, args...)
			cmd.Env, cmd.WaitDelay = child, time.Second
			if filepath.Base(name) == "tmux" { // tmux needs TMUX to find this terminal
				cmd.Env = environ.WithoutKeys(os.Environ(), keys...)
			}
			shell.OwnGroup(cmd)
			out, err := cmd.CombinedOutput()
			return string(out), err
		},
		Shell: shell.Find(), Project: a.project.Root, NoProject: a.project.None,
		Sandbox: a.sandboxProbe(), TooOld: cli.TooOld,
	}
}

// probes is everything there is to look at.
func (a *app) probes(offline bool) *doctor.Probes {
	w := a.machine()
	profile, why := a.profile(a.streams.err)
	columns, _ := a.size()
	w.Terminal = doctor.Terminal{
		Input: a.streams.in, Output: a.streams.err, Profile: profile.String(), Why: why, Columns: columns,
		Color: a.colored(a.streams.err), UTF8: a.utf8(),
	}
	w.NoNetwork, w.Offline, w.CAFile = offline, bool(a.cfg.Offline), a.cfg.CAFile
	w.ConfigFile, w.Warnings = a.cfg.File, a.cfg.Warnings
	if line := a.ignored(); line != "" {
		w.Warnings = append(slices.Clone(w.Warnings), line)
	}
	if a.http == nil {
		w.HTTPErr = a.transport()
	}
	w.HTTP = a.http
	for _, name := range a.cfg.ProviderNames() {
		if a.cfg.NeedsKey(name) {
			places, err := a.cfg.KeyPlaces(name)
			w.Keys = append(w.Keys, doctor.Keys{Provider: name, Places: places, Err: err})
		}
	}
	w.Places = a.places()
	a.examineChoice(w)
	if o := w.Local; o != nil {
		o.Host = registry.Host(provider.Server{Name: o.Provider.Name, BaseURL: o.Address, HTTP: w.HTTP, Local: true})
	}
	return w
}

// examineChoice looks for the provider that would answer now.
func (a *app) examineChoice(w *doctor.Probes) {
	headless := a.streams.headless
	a.streams.headless = true // no prompt for the provider
	err := a.choose()
	a.streams.headless = headless
	name := a.choice.Provider
	w.Local = localServer(name)
	if err != nil {
		w.ServerErr = err
		return
	}
	facts, _ := provider.FactsOf(name)
	if w.CLI = facts.Program; facts.Key == provider.KeyNever { // nothing of it is a server
		return
	}
	w.Server, w.ServerErr = a.doctorServer(name, func(ctx context.Context) (string, string, error) {
		key, err := a.cfg.Key(ctx, name)
		return key.Value.Reveal(), key.Source, err
	})
	if facts.Local != nil && w.Server != nil {
		w.Local.Address, w.Local.Model = w.Server.Address, a.choice.Model
		w.Local.Window = a.cfg.Providers[name].Models[a.choice.Model].Context
	}
}

// localServer is the server of the user's own models that is chosen, else one that
// is installed or named by its variable; nil where there is none.
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

// doctorServer is a provider's server as it is asked whether it is there.
func (a *app) doctorServer(name string, key func(context.Context) (string, string, error)) (*doctor.Server, error) {
	address, _, err := a.cfg.Endpoint(name)
	if err != nil {
		return nil, err
	}
	s := &doctor.Server{Provider: name, Model: a.choice.Model, Address: registry.Address(name, address), Key: key,
		Headers: map[string]string{}, Offline: bool(a.cfg.Offline), Form: a.cfg.Form(name)}
	for header, value := range a.cfg.Providers[name].ExtraHeaders {
		s.Headers[header] = value.Reveal()
	}
	return s, nil
}

// listPaths is `artoo doctor --paths`.
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

// inside adds what projects have in the places: their journals and the caches of
// their confined commands, one by one.
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

// placeText is a place as it is printed.
func placeText(p doctor.Place) string {
	return fmt.Sprintf("%s  (%s, %s)", sanitize.Text(p.Path, sanitize.Line), p.What, p.Size())
}

// places are the directories and files artoo writes to by itself. What a model's
// tools change, and what a command is told to write, is not among them.
func (a *app) places() []doctor.Place {
	var list []doctor.Place
	add := func(path, what string, err error) {
		if err != nil {
			list = append(list, doctor.Place{Path: what + " directory", What: what, Err: err})
			return
		}
		list = append(list, look(path, what))
	}
	path, err := a.cfg.Paths.ConfigDir()
	add(path, "settings", err)
	path, err = a.cfg.Paths.DataDir()
	add(path, "keys", err)
	path, err = a.cfg.Paths.StateDir()
	add(path, "sessions, history", err)
	path, err = a.cfg.Paths.CacheDir()
	add(path, "cache", err)
	if a.cfg.Log != "" {
		if path, err := filepath.Abs(a.cfg.Log); err == nil {
			add(path, "log", nil)
		}
	}
	for _, pattern := range []string{"artoo-demo-*", "artoo-edit-*", "artoo-undo-*", "artoo-index-*", tempdir.Pattern} {
		found, err := filepath.Glob(filepath.Join(os.TempDir(), pattern))
		if err != nil {
			continue // the patterns are well formed
		}
		for _, path := range found {
			p := look(path, "left by a run")
			p.Left = true
			list = append(list, p)
		}
	}
	return list
}

// look counts what is in a place.
func look(path, what string) doctor.Place {
	p := doctor.Place{Path: path, What: what}
	info, err := os.Stat(path)
	if err == nil {
		p.Exists = true
		err = writable(path)
	} else if errors.Is(err, fs.ErrNotExist) {
		above := filepath.Dir(path)
		for above != filepath.Dir(above) {
			if _, e := os.Stat(above); e == nil {
				break
			}
			above = filepath.Dir(above)
		}
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
