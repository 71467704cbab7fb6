package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool/names"
	"artoo/tool/project"
	"artoo/tool/text"
	"artoo/ui/acp"
	"artoo/ui/headless"
	"artoo/ui/mcpserve"
	"artoo/ui/result"
)

// newMCPServe is `artoo mcp serve`. Flags that its family has are not here.
func newMCPServe(l commandLine) *cobra.Command {
	c := l.command("serve", "", []string{"model", "provider", "effort", "max_turns", "max_cost", "max_time", "max_files", "max_lines", "only", "no_delete", "schema", "tools", "system", "append_system",
		"add_dirs", "approval", "allow", "ask", "deny", "hide", "ephemeral"})
	var roots []string
	c.Flags().Var(&flagValue{arg: "DIR", set: func(dir string) { roots = append(roots, dir) }}, "root",
		"another directory that calls may work in or below, besides the working directory")
	c.RunE = func(c *cobra.Command, _ []string) error { return l.app.serveTool(c.Context(), roots) }
	return c
}

// serveTool serves an MCP client on stdin and stdout. roots are further directories that its calls may name.
func (a *app) serveTool(ctx context.Context, roots []string) error {
	for i, dir := range roots {
		roots[i] = a.abs(dir)
		if err := noDirectory(roots[i]); err != nil {
			return fail(agent.KindUsage, "--root "+dir, err, "the path of a directory that exists")
		}
	}
	return a.serveClient(ctx, "mcp", "an MCP client", func(ctx context.Context, h *sessionHost, out *os.File) error {
		return mcpserve.Serve(ctx, mcpserve.Options{In: a.process.In, Out: out, Version: a.process.build().Version, Log: a.warn, Host: &runHost{h, roots}})
	})
}

// runHost does the runs of an MCP client; it implements mcpserve.Host.
type runHost struct {
	*sessionHost
	roots []string // calls may name these and directories below them; absolute
}

// killAfter is the time a cancelled run has before the processes it started are killed.
const killAfter = 300 * time.Millisecond

// Run implements mcpserve.Host.
func (h *runHost) Run(ctx context.Context, call mcpserve.Call, client mcpserve.Client) result.Result {
	s := h.session("")
	response, err := h.run(ctx, s, call, client)
	failure := agent.Classify(err)
	if cause := context.Cause(ctx); cause != nil && failure != nil {
		failure = agent.Classify(cause)
	}
	code := 0
	if failure != nil {
		code = failure.Kind.ExitCode()
		s.show(failure)
	}
	if s.agent == nil {
		return result.New(s.info(), response, failure, code)
	}
	info := s.info()
	if bool(s.cfg.Ephemeral) {
		info.SessionID = ""
	}
	s.agent.Exiting(code)
	s.outcome.response.Store(response)
	s.close()
	return result.New(info, response, failure, code)
}

// run is the run up to its end. The agent of s is open where it got so far.
func (h *runHost) run(ctx context.Context, s *app, call mcpserve.Call, client mcpserve.Client) (*agent.Response, error) {
	var err error
	if s.dir, err = h.dirOf(call, client.Roots()); err != nil {
		return nil, err
	}
	called, err := h.open(ctx, s, call, client.Answers())
	if err != nil {
		return nil, err
	}
	message, sender, restore, err := s.outgoing(ctx, called)
	defer restore()
	if err != nil {
		return nil, err
	}
	r := &headless.Runner{Agent: reporting{sender, client}, Format: headless.JSON, Out: s.process.Err, Screen: s.screen, Info: s.info()}
	if client.Answers() {
		r.AnyKind = true
		r.Ask = func(ctx context.Context, q agent.Question) (agent.Answer, error) { return client.Ask(ctx, q) }
	} else if r.Ask, err = s.askProgram(); err != nil {
		return nil, err
	} else {
		r.AnyKind = r.Ask != nil
	}
	s.agent.Spend(time.Since(s.began))
	stop := s.agent.KillAfter(ctx, killAfter)
	defer stop()
	response, failure := r.Run(ctx, message.Text, message.Parts...)
	if failure != nil {
		return response, failure
	}
	return response, nil
}

// open opens the session of a call.
func (h *runHost) open(ctx context.Context, s *app, call mcpserve.Call, answers bool) (called calledPrompt, err error) {
	s.elicits = answers
	s.flags["print"], s.flags["output"], s.flags["input"] = []string{"true"}, []string{string(headless.JSON)}, []string{"text"}
	if err := s.load(true, true); err != nil {
		return called, err
	}
	if option := s.workspace.layerOption(); option != "" {
		return called, usage("mcp serve", option+" needs a run of its own", "artoo -p "+option)
	}
	if err := s.readSchema(); err != nil {
		return called, err
	}
	if called, err = s.extensions.calledBy(call.Prompt); err != nil {
		return called, err
	}
	return called, s.begin(ctx, call.Session)
}

// dirOf is the directory that a call means: its own, else that of its session, else that of the server. clients are the
// roots that the client names.
func (h *runHost) dirOf(call mcpserve.Call, clients []string) (string, error) {
	dir := call.Dir
	if call.Session != "" {
		info, err := h.find(call.Session)
		if errors.Is(err, acp.ErrNotFound) {
			return "", usage("session "+call.Session, "no such ID", "the session_id of an earlier call")
		}
		if err != nil {
			return "", err
		}
		dir = cmp.Or(dir, info.CWD)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(h.app.project.Dir, dir)
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return "", fail(agent.KindUsage, "cwd", err, "the path of a directory that exists")
	case !info.IsDir():
		return "", usage("cwd", dir+" is not a directory", "the path of a directory that exists")
	}
	dir = names.Real(dir)
	if !h.admits(dir, clients) {
		return "", usage("cwd", dir+" is not below the directory that artoo serves, a root of the client's or a --root", "artoo mcp serve --root "+dir)
	}
	return dir, nil
}

// admits reports whether calls may name a directory, which has no links. The root of the file system, the home directory
// and those above it hold many projects: only --root opens what is below them.
func (h *runHost) admits(dir string, clients []string) bool {
	start := names.Real(h.app.project.Dir)
	if dir == start || slices.ContainsFunc(h.roots, func(root string) bool { return names.Within(names.Real(root), dir) }) {
		return true
	}
	home := h.app.process.Environ.Home()
	return slices.ContainsFunc(append(clients, start), func(root string) bool {
		return names.Within(names.Real(root), dir) && !project.AboveProjects(root, home)
	})
}

// reporting tells the client of the steps of a run; it implements headless.Sender.
type reporting struct {
	headless.Sender
	client mcpserve.Client
}

// SendMessage implements headless.Sender.
func (r reporting) SendMessage(ctx context.Context, text string, cb agent.Callbacks, attachments ...provider.Part) (*agent.Response, error) {
	return r.Sender.SendMessage(ctx, text, &stepCallbacks{Callbacks: cb, reporting: r}, attachments...)
}

// stepCallbacks are callbacks that report each step, and each call, to the client as well.
type stepCallbacks struct {
	agent.Callbacks
	reporting
	steps int
}

// OnThinking implements agent.Callbacks.
func (c *stepCallbacks) OnThinking() {
	c.Callbacks.OnThinking()
	c.steps++
	c.client.Report(fmt.Sprintf("step %d", c.steps))
}

// OnToolCall implements agent.Callbacks.
func (c *stepCallbacks) OnToolCall(call agent.Call) {
	c.Callbacks.OnToolCall(call)
	what := call.Access.Verb + " " + text.FirstLine(call.Access.Object)
	if call.Agent != "" {
		what = call.Agent + ": " + what
	}
	c.client.Report(text.Clip(what, mostStep))
}

// mostStep bounds the report on a call, in characters.
const mostStep = 200
