package agent_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"
	"artoo/tool/journal"
	"artoo/tool/lsp"
	"artoo/tool/shell"
)

// planted is a place of artoo in which a panic is planted, and the call that comes there.
type planted struct {
	name string
	mode permission.Mode
	call provider.ToolCall
	// plant changes the agent's options so that the call panics while ready says so.
	plant func(*testing.T, *agent.Options, *confinement, *trap)
	// told is a text of the result, which must also be an error; the panic itself by default.
	told string
}

// trap panics where it stands, once it is set, and only once.
type trap struct{ set, sprung bool }

func (p *trap) spring() {
	if p.set && !p.sprung {
		p.sprung = true
		panic("planted")
	}
}

// journaled opens a journal whose config spring has a look at.
func journaled(t *testing.T, opt *agent.Options, change func(*journal.Config)) {
	state, root := t.TempDir(), opt.Policy.Root
	opt.Journal = func(session, _ string) (*journal.Journal, error) {
		cfg := journal.Config{Dir: journal.Dir(state, root, session), Root: root,
			Head: func() (string, string) { return "", "" }, Denied: func(string) bool { return false }}
		change(&cfg)
		return journal.Open(cfg)
	}
}

// atHead has the trap in the first line of a step, atContents where contents are kept.
func atHead(p *trap) func(*journal.Config) {
	return func(c *journal.Config) { c.Head = func() (string, string) { p.spring(); return "", "" } }
}

func atContents(p *trap) func(*journal.Config) {
	return func(c *journal.Config) { c.Denied = func(string) bool { p.spring(); return false } }
}

func plantedPlaces() []planted {
	layer := func(at string, mode permission.Mode) planted {
		return planted{"a layer: " + at, mode, fake.ToolCall("c1", "bash", `{"command":"uniq a.txt"}`),
			func(_ *testing.T, _ *agent.Options, c *confinement, _ *trap) { c.crash = at }, ""}
	}
	crashing := func(kind tool.Kind, plan, run bool) tool.Tool {
		return tool.New(tool.Def{Name: "crashing", Kind: kind},
			func(context.Context, *tool.Env, in) (tool.Access, error) {
				if plan {
					panic("planted")
				}
				return tool.Access{Kind: kind, Verb: "crash", Command: "true", Dir: "/"}, nil
			}, func(context.Context, *tool.Env, in, io.Writer) (tool.Result, error) { panic("planted") })
	}
	write := fake.ToolCall("c1", "write", `{"path":"new.txt","content":"x\n"}`)
	atAsk := func(call provider.ToolCall, mode permission.Mode) planted {
		return planted{"asking: " + call.Name, mode, call,
			func(*testing.T, *agent.Options, *confinement, *trap) {}, ""}
	}
	list := []planted{
		layer("start", permission.ModeEdits), layer("limit", permission.ModeEdits), layer("changes", permission.ModeEdits),
		layer("list", permission.ModeEdits), layer("open", permission.ModeEdits), layer("discard", permission.ModeEdits),
		layer("denials", permission.ModeEdits), layer("ask", permission.ModeAsk),
		{"planning", permission.ModeEdits, fake.ToolCall("c1", "crashing", `{}`),
			func(_ *testing.T, o *agent.Options, _ *confinement, _ *trap) {
				o.Tools = append(o.Tools, crashing(tool.KindRead, true, false))
			}, ""},
		{"deciding", permission.ModeEdits, fake.ToolCall("c1", "bash", `{"command":"cat a.txt"}`),
			func(_ *testing.T, o *agent.Options, _ *confinement, _ *trap) { o.Policy.World.Files = new(files.Files) },
			"this call crashed: "},
		{"begin of the journal's step", permission.ModeEdits, write,
			func(t *testing.T, o *agent.Options, _ *confinement, p *trap) { journaled(t, o, atHead(p)) }, ""},
		{"keeping what a tool changes", permission.ModeEdits, fake.ToolCall("c1", "fill", `{}`),
			func(t *testing.T, o *agent.Options, _ *confinement, p *trap) {
				journaled(t, o, atContents(p))
				o.Tools = append(o.Tools, fill(o.Policy.Root, func() { t.Error("it ran") }))
			}, ""},
		{"recording what a tool changed", permission.ModeEdits, fake.ToolCall("c1", "fill", `{}`),
			func(t *testing.T, o *agent.Options, _ *confinement, p *trap) {
				p.set = false
				journaled(t, o, atContents(p))
				o.Tools = append(o.Tools, fill(o.Policy.Root, func() { p.set = true }))
			}, ""},
		{"a snapshot", permission.ModeAuto, fake.ToolCall("c1", "bash", `{"command":"sh build.sh"}`),
			func(t *testing.T, o *agent.Options, _ *confinement, p *trap) {
				o.Policy.Confinement.Layer = false
				journaled(t, o, atHead(p))
			}, ""},
		{"a snapshot before it is decided", permission.ModeAuto, fake.ToolCall("c1", "bash", `{"command":"rm -r dir"}`),
			func(t *testing.T, o *agent.Options, _ *confinement, p *trap) {
				o.Policy.Confinement = permission.Confinement{}
				journaled(t, o, atHead(p))
			}, ""},
		{"a look for guarded files", permission.ModeAuto, fake.ToolCall("c1", "bash", `{"command":"sh build.sh"}`),
			func(_ *testing.T, o *agent.Options, _ *confinement, _ *trap) {
				o.Policy.Confinement.Layer = false
				o.Guard = new(permission.Guard)
			}, "this call crashed: "},
		{"moving a guarded file away", permission.ModeAuto, fake.ToolCall("c1", "bash", `{"command":"sh build.sh"}`),
			func(t *testing.T, o *agent.Options, _ *confinement, p *trap) {
				p.set = false
				o.Policy.Confinement.Layer = false
				journaled(t, o, atHead(p))
			}, ""},
		{"a check", permission.ModeEdits, write,
			func(_ *testing.T, o *agent.Options, c *confinement, _ *trap) {
				o.Checks = []agent.Check{{Glob: "*.txt", Command: "true"}}
				c.crash = "start"
			}, ""},
		{"a background command's place", permission.ModeAuto, fake.ToolCall("c1", "bash", `{"command":"sleep 600","background":true}`),
			func(_ *testing.T, _ *agent.Options, c *confinement, _ *trap) { c.crash = "start" }, ""},
		{"the end of a background command", permission.ModeAuto, fake.ToolCall("c1", "bash", lateLine),
			func(_ *testing.T, o *agent.Options, c *confinement, _ *trap) { c.crash = "list" }, "it continues"},
		{"a sub-agent's model", permission.ModeEdits, fake.ToolCall("c1", "task", `{"prompt":"work","agent":"special"}`),
			func(_ *testing.T, o *agent.Options, _ *confinement, _ *trap) {
				model := o.Model
				model.Provider = &fake.Provider{Then: func(provider.Request) fake.Step { panic("planted") }}
				o.SubAgents = []agent.SubAgent{{Name: "special", Model: func() (agent.Model, error) { return model, nil }}}
				o.Tools = append(o.Tools[:3:3], append(agent.OwnTools(o.SubAgents), o.Tools[len(o.Tools)-1])...)
			}, ""},
		{"a sub-agent's front end", permission.ModeEdits, fake.ToolCall("c1", "task", `{"prompt":"work","agent":"special"}`),
			func(_ *testing.T, o *agent.Options, _ *confinement, p *trap) {
				model := o.Model
				model.Provider = &fake.Provider{Steps: []fake.Step{fake.Call("s1", "look", `{"arg":"x"}`)}}
				o.SubAgents = []agent.SubAgent{{Name: "special", Model: func() (agent.Model, error) { return model, nil }}}
				o.Tools = append(o.Tools[:3:3], append(agent.OwnTools(o.SubAgents), o.Tools[len(o.Tools)-1])...)
			}, ""},
		{"making a sub-agent", permission.ModeEdits, fake.ToolCall("c1", "task", `{"prompt":"work","agent":"special"}`),
			func(_ *testing.T, o *agent.Options, _ *confinement, _ *trap) {
				o.SubAgents = []agent.SubAgent{{Name: "special", Model: func() (agent.Model, error) { panic("planted") }}}
				o.Tools = append(o.Tools[:3:3], append(agent.OwnTools(o.SubAgents), o.Tools[len(o.Tools)-1])...)
			}, ""},
		atAsk(fake.ToolCall("c1", agent.AskUser, `{"question":"which?"}`), permission.ModeEdits),
		atAsk(fake.ToolCall("c1", agent.ExitPlan, `{"plan":"all"}`), permission.ModePlan),
		{"a language server", permission.ModeEdits, write,
			func(t *testing.T, o *agent.Options, _ *confinement, _ *trap) {
				o.Env.LSP = lsp.New(lsp.Config{Root: o.Policy.Root, Servers: []lsp.Server{{Name: "true", Command: []string{"true"},
					Files: []string{".txt"}}}, Start: func(*exec.Cmd) (shell.Started, error) { panic("planted") }})
				t.Cleanup(func() { o.Env.LSP.Close() })
			}, "new.txt"},
	}
	for _, kind := range []tool.Kind{tool.KindNone, tool.KindRead, tool.KindWrite, tool.KindRun, tool.KindNetwork} {
		list = append(list, planted{"a tool of kind " + string(kind), permission.ModeAuto, fake.ToolCall("c1", "crashing", `{}`),
			func(_ *testing.T, o *agent.Options, _ *confinement, _ *trap) {
				o.Tools = append(o.Tools, crashing(kind, false, true))
				o.Policy.AllowRules = []permission.Rule{{Tool: "crashing"}}
			}, ""})
	}
	return list
}

// fill is a tool that fills a.txt, and then calls ran.
func fill(root string, ran func()) tool.Tool {
	at := filepath.Join(root, "a.txt")
	return tool.New(tool.Def{Name: "fill", Kind: tool.KindWrite}, func(context.Context, *tool.Env, in) (tool.Access, error) {
		return tool.Access{Kind: tool.KindWrite, Verb: "fill", Object: "a.txt", Paths: []string{at}}, nil
	}, func(context.Context, *tool.Env, in, io.Writer) (tool.Result, error) {
		defer ran()
		return tool.Result{Text: "filled"}, os.WriteFile(at, []byte("3"), 0o600)
	})
}

// A panic anywhere around a call is that call's error: the next call works, a layer that
// was there is discarded, and the session is whole.
func TestAPlantedPanicIsThatCallsError(t *testing.T) {
	t.Parallel()
	for _, place := range plantedPlaces() {
		t.Run(place.name, func(t *testing.T) {
			c := &confinement{trusted: true, list: changed("a.txt")}
			p := &trap{set: true}
			look := fake.ToolCall("c2", "look", `{"arg":"x"}`)
			opt := c.options(t, place.mode, fake.Calls(place.call), fake.Calls(look), fake.Say("ok"))
			opt.Tools = append(opt.Tools, builtin.Write())
			opt.Tools = append(opt.Tools, append(agent.OwnTools(nil), makeTool("look", tool.KindRead, nil))...)
			place.plant(t, &opt, c, p)
			store := conversation.Store{Dir: t.TempDir()}
			opt.Sessions = agent.Sessions{Store: store}
			for name, text := range map[string]string{"build.sh": "echo x > .envrc", "gate": "", "dir/x": "x"} {
				at := filepath.Join(opt.Policy.Root, name)
				must(t, os.MkdirAll(filepath.Dir(at), 0o755))
				if name == "gate" && strings.HasPrefix(place.name, "the end of") {
					continue
				}
				must(t, os.WriteFile(at, []byte(text), 0o600))
			}
			a := made(t, opt)
			cb := &atResult{recorder: &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}, do: map[string]func(){}}
			switch {
			case c.crash == "ask", strings.HasPrefix(place.name, "asking"):
				cb.onAsk = func(agent.Question) { panic("planted") }
			case place.name == "a sub-agent's front end": // before the call: the one at a time is the sub-agent's then
				cb.onCall = func(c agent.Call) {
					if c.Parent != "" {
						p.spring()
					}
				}
			case place.name == "moving a guarded file away":
				cb.answers = nil
				cb.onAsk = func(agent.Question) { p.set = true }
			case strings.HasPrefix(place.name, "the end of"):
				a.Env().ShellTimeout = 50e6
				cb.do["c1"] = func() { open(t, a)(); <-a.Env().Jobs.Find("1").Done() }
			}
			mustSend(t, a, cb, "go")
			results := toolResults(a)
			told := place.told
			if told == "" {
				told = "this call crashed: planted"
			}
			if !strings.Contains(results[0], told) || place.told == "" && !strings.Contains(results[0], "error=true") {
				t.Errorf("the call's result: %s", results[0])
			}
			if len(results) != 2 || !strings.Contains(results[1], "look:x") || !strings.Contains(results[1], "error=false") {
				t.Errorf("the results: %s", results)
			}
			if strings.HasPrefix(place.name, "the end of") && !strings.Contains(results[1], "this call crashed: planted") {
				t.Errorf("the next result: %s", results[1])
			}
			if place.name != "a layer: discard" && c.landed(t) > 0 || c.crash != "discard" && c.discarded < len(c.lines) && len(c.lines) > 0 &&
				c.places()[0] == permission.PlaceLayer && c.crash != "changes" && c.crash != "limit" {
				t.Errorf("landed %d, discarded %d of %d", c.landed(t), c.discarded, len(c.lines))
			}
			c.crash = ""
			infos, err := store.List()
			if err != nil || len(infos) != 1 {
				t.Fatal(infos, err)
			}
			whole, err := store.Read(infos[0].ID)
			if err != nil || len(whole.Notices()) > 0 || len(whole.Messages()) != len(a.Conversation().Messages()) {
				t.Errorf("the session: %v, %q, %d of %d messages", err, whole.Notices(), len(whole.Messages()), len(a.Conversation().Messages()))
			}
		})
	}
}
