package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/config"
	"artoo/provider"
	"artoo/provider/demo"
	"artoo/tool/environ"
	"artoo/tool/shell"
)

// testSecrets is the program testsecrets: it tests artoo's promises about secrets on
// planted ones, in a home and a project of their own, and returns its exit code.
func testSecrets(ctx context.Context) int {
	HideEnvironment()
	a := newApp(&session{process: thisProcess(), began: time.Now()})
	return a.exit(a.testSecrets(ctx))
}

func (a *app) testSecrets(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "artoo-secrets-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	planted, err := plantSecrets(ctx, dir)
	if err != nil {
		return err
	}
	a.enter(planted)
	o := secretsOptions{planted: planted, open: a.openPlanted, confined: a.runConfined}
	failed, err := runPromises(ctx, o, func(p promiseKept) error {
		_, err := fmt.Fprintln(a.process.Out, p)
		return err
	})
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of the promises do not hold here", failed)
	}
	return err
}

// keptVariables say where this machine has things, and whether commands are confined.
const keptVariables = "PATH TMPDIR TEMP TMP LANG LC_ALL container KUBERNETES_SERVICE_HOST ARTOO_SANDBOX"

// enter makes the planted home and project those of this run, whose own variables do not count.
func (a *app) enter(p *plantedSecrets) {
	vars := environ.Vars{}
	for _, kv := range a.process.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(strings.Fields(keptVariables), name) {
			vars = append(vars, kv)
		}
	}
	for name, value := range p.Environ {
		vars = vars.With(name, value)
	}
	a.process.Environ, a.process.Dir = vars, p.Project
}

// openPlanted makes the agent of a run in the planted project.
func (a *app) openPlanted(
	ctx context.Context, model provider.Provider, session string,
) (*agent.Agent, func() error, error) {
	b, err := a.planted(ctx, model, session)
	if err != nil {
		return nil, nil, err
	}
	return b.agent, func() error { b.close(); return nil }, nil
}

func (a *app) planted(ctx context.Context, model provider.Provider, resumed string) (*app, error) {
	b := newApp(&session{process: a.process, began: a.began})
	b.models.scripted, b.flags = model, map[string][]string{"quiet": {"true"}, "print": {"true"}}
	if resumed != "" {
		b.flags["resume"] = []string{resumed}
	}
	if err := b.load(true, true); err != nil {
		return nil, err
	}
	b.choice = config.Choice{Provider: demo.Name, Model: b.models.defaultModel(demo.Name)}
	return b, b.open(ctx)
}

// runConfined runs a line in the planted project in the sandbox, and returns its
// output.
func (a *app) runConfined(ctx context.Context, line string, layer bool) (string, error) {
	b, err := a.planted(ctx, &demo.Provider{}, "")
	if err != nil {
		return "", err
	}
	defer b.close()
	place := permission.PlaceSandbox
	if layer {
		place = permission.PlaceLayer
	}
	box := b.agent.Sandbox()
	switch {
	case box == nil, layer && !b.facts.Layer:
		return "", untested("nothing confines commands here so; artoo doctor says why")
	case !b.facts.HidesFiles:
		return "", untested("what confines commands here hides no files: those that could read denied ones are asked")
	}
	out, err := os.CreateTemp("", "artoo-secrets-*")
	if err != nil {
		return "", err
	}
	defer func() { out.Close(); os.Remove(out.Name()) }()
	cmd := exec.Command(shell.Find(nil), "-c", line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.project.Dir, b.environ, out, out
	started, err := box.Start(cmd, confine.Line{Place: place, Exec: true})
	if err != nil {
		return "", err
	}
	select {
	case <-started.Done():
	case <-ctx.Done():
	}
	started.KillAll()
	<-started.Done()
	started.Release()
	if layer {
		if err := started.Discard(); err != nil {
			return "", err
		}
	}
	data, err := os.ReadFile(out.Name())
	return string(data), errors.Join(err, context.Cause(ctx))
}
