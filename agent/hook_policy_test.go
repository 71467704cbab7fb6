package agent_test

import (
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/extension"
)

// The policy's hooks come first, and see the call that runs also after a later hook changed it.
func TestAPolicysHookSeesTheInputThatAnotherHookMade(t *testing.T) {
	t.Parallel()
	hook := func(source extension.Source, line string) extension.Hook {
		return extension.Hook{Origin: extension.Origin{Source: source, Place: string(source)}, On: extension.BeforeTool, Line: line}
	}
	for _, test := range []struct{ from, to, want string }{{"x", "push", "denied"}, {"x", "y", "write:y"}} {
		p := &fake.Provider{Steps: []fake.Step{fake.Call("1", "write", `{"arg":"`+test.from+`"}`), fake.Say("ok")}}
		opt := testOptions(p, makeTool("write", tool.KindWrite, nil))
		opt.Env.Dir, opt.Policy.Root = realDir(t), "/"
		opt.Hooks = agent.Hooks{List: []extension.Hook{
			hook(extension.SourcePolicy, `if grep -q '"push"'; then echo guarded >&2; exit 2; fi`),
			hook(extension.SourceUser, `cat > /dev/null; echo '{"decision":"allow","input":{"arg":"`+test.to+`"}}'`),
		}}
		a, err := agent.New(opt)
		must(t, err)
		mustSend(t, a, &recorder{}, "go")
		if got := strings.Join(history(a), "\n"); !strings.Contains(got, test.want) {
			t.Errorf("%s to %s: %s", test.from, test.to, got)
		}
		must(t, a.Close())
	}
}
