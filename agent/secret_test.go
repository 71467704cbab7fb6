package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

const (
	aKey    = "sk-" + "abcdefghijklmnopqrstuvwxyz"
	another = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"
	aMark   = "‹secret:1a2b›"

	yetAnother = "sk-" + "0123456789abcdefghijklmnopqrstuvwxyz"
	otherMark  = "‹secret:9f9f›"
)

var shapes = regexp.MustCompile(
	`\b(?:sk-[A-Za-z0-9]{20,}|ghp_[A-Za-z0-9]{30,})|-----BEGIN [A-Z ]+-----(?:[^-]*-----END [A-Z ]+-----)?|Bearer +[a-z0-9]{20,}`)

func mask(text string) string {
	return shapes.ReplaceAllStringFunc(text, func(key string) string {
		if key == yetAnother {
			return otherMark
		}
		return aMark
	})
}

// Text that the user pastes and tools return holds no key when it is kept, shown or sent.
func TestKeysAreMasked(t *testing.T) {
	t.Parallel()
	show := makeTool("show", tool.KindRead, func(_ context.Context, arg string, out io.Writer) (tool.Result, error) {
		fmt.Fprintf(out, "token %s\n", another)
		if arg == "fail" {
			return tool.Result{}, fmt.Errorf("no such thing as %s", another)
		}
		return tool.Result{Text: "token " + another + "\n", Summary: another, IsError: arg == "bad"}, nil
	})
	call := func(id, arg string) provider.ToolCall {
		return provider.ToolCall{ID: id, Name: "show", Input: json.RawMessage(`{"arg":"` + arg + `"}`)}
	}
	model := &fake.Provider{Steps: []fake.Step{{Calls: []provider.ToolCall{call("1", "ok"), call("2", "bad"),
		call("3", "fail")}}, {Text: []string{"done"}}}}
	a := newAgent(model, show)
	a.Opt().Secrets.Mask = mask
	r := &recorder{}
	if _, err := a.SendMessage(t.Context(), "use "+aKey+" here", r, provider.Text{Text: "[file] " + another}); err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(a.Conversation().Messages())
	must(t, err)
	told := strings.Join(r.lines, "\n")
	for _, text := range []string{string(kept), told} {
		if strings.Contains(text, "abcdef") {
			t.Errorf("a key is in %s", text)
		}
	}
	if n := strings.Count(string(kept), aMark); n != 5 {
		t.Errorf("%d marks for five keys: %s", n, kept)
	}
	if strings.Count(told, "notice warning") != 1 || strings.Count(told, " token "+aMark) != 3 {
		t.Errorf("told: %s", told)
	}
}

// A mark would be written in the place of the key.
func TestAMarkIsNoInput(t *testing.T) {
	t.Parallel()
	ran := 0
	write := makeTool("put", tool.KindRead, func(context.Context, string, io.Writer) (tool.Result, error) {
		ran++
		return tool.Result{Text: "ok"}, nil
	})
	for input, refused := range map[string]bool{
		`{"arg":"token = ‹secret:1a2b›"}`:           true,
		`{"arg":"token = \u2039secret:1a2b\u203A"}`: true,
		`{"arg":"‹secret:...›, as the marks are"}`:  false,
	} {
		ran = 0
		a := newAgent(&fake.Provider{Steps: []fake.Step{
			{Calls: []provider.ToolCall{{ID: "1", Name: "put", Input: json.RawMessage(input)}}},
			{Text: []string{"done"}}}}, write)
		r := &recorder{}
		if _, err := a.SendMessage(t.Context(), "go", r); err != nil {
			t.Fatal(err)
		}
		if told := strings.Join(history(a), "\n"); (ran == 0) != refused ||
			strings.Contains(told, "‹secret:1a2b› stands for a key") != refused {
			t.Errorf("%s: ran %d times: %s", input, ran, told)
		}
	}
}

// However a command's output is cut into pieces, the screen shows the same as if it had come at once.
func TestLiveOutputIsMaskedWhole(t *testing.T) {
	t.Parallel()
	output := "begin " + aKey + "\ttab\r50 %\r" + another + "\nöl ünd 😀 " + strings.Repeat("x", 5000) + " " +
		another + "\n" +
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdef\nabcdef==\n-----END RSA PRIVATE KEY-----\n" +
		"Authorization: Bearer   0123456789abcdefghijkl\nthe bearer of Bearer \nend " + aKey
	want := mask(output)
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		pieces := makeTool("pieces", tool.KindRead, func(_ context.Context, _ string, out io.Writer) (tool.Result, error) {
			for rest := output; rest != ""; {
				n := min(len(rest), 1+r.IntN(40))
				if _, err := io.WriteString(out, rest[:n]); err != nil {
					return tool.Result{}, err
				}
				rest = rest[n:]
			}
			return tool.Result{}, nil
		})
		a := newAgent(&fake.Provider{Steps: []fake.Step{{Calls: []provider.ToolCall{{ID: "1", Name: "pieces",
			Input: json.RawMessage(`{"arg":""}`)}}}, {Text: []string{"done"}}}}, pieces)
		a.Opt().Secrets.Mask = mask
		var shown outputs
		if _, err := a.SendMessage(t.Context(), "go", &shown); err != nil {
			t.Fatal(err)
		}
		if got := shown.text.String(); got != want {
			t.Fatalf("shown %q\nwant  %q", got, want)
		}
	}
}

// outputs joins the output of calls.
type outputs struct {
	recorder
	text strings.Builder
}

func (o *outputs) OnToolOutput(_ agent.Call, s string) { o.text.WriteString(s) }

// The file's own lines are masked in a diff, those that the model writes are not.
func TestADiffShowsWhatIsWritten(t *testing.T) {
	t.Parallel()
	diff := " key = " + aKey + "\n-old = " + another + "\n+renamed = " + another + "\n+new = " + yetAnother + "\n" +
		" -----BEGIN RSA PRIVATE KEY-----\n MIIEabcdef\n abcdef==\n -----END RSA PRIVATE KEY-----\n end\n"
	edit := tool.New(tool.Def{Name: "edit", Kind: tool.KindRead},
		func(context.Context, *tool.Env, struct{}) (tool.Access, error) {
			return tool.Access{Kind: tool.KindRead, Verb: "edit", Object: "x", Diff: diff}, nil
		}, func(context.Context, *tool.Env, struct{}, io.Writer) (tool.Result, error) { return tool.Result{}, nil })
	a := newAgent(&fake.Provider{Steps: []fake.Step{
		{Calls: []provider.ToolCall{{ID: "1", Name: "edit", Input: json.RawMessage(`{}`)}}}, {Text: []string{"done"}}}},
		edit)
	a.Opt().Secrets.Mask = mask
	var seen calls
	if _, err := a.SendMessage(t.Context(), "go", &seen); err != nil {
		t.Fatal(err)
	}
	want := " key = " + aMark + "\n-old = " + aMark + "\n+renamed = " + aMark + "\n+new = " + yetAnother + "\n " +
		aMark + "\n end\n"
	if len(seen.all) != 1 || seen.all[0].Access.Diff != want {
		t.Errorf("%+v", seen.all)
	}
}

// calls keeps the calls.
type calls struct {
	recorder
	all []agent.Call
}

func (c *calls) OnToolCall(call agent.Call) { c.all = append(c.all, call) }

// Front ends get calls and questions with marks in place of keys, also where JSON writes these with escapes, and no rule
// that holds one. An edited input that keeps a mark runs with the key. Another mark is refused.
func TestCallsAreShownWithMarks(t *testing.T) {
	t.Parallel()
	input := `{"arg":"login ` + strings.Replace(aKey, "k", `\u006b`, 1) + `"}`
	for edited, want := range map[string]string{
		"":                               "login " + aKey,
		`{"arg":"logout ` + aMark + `"}`: "logout " + aKey,
		`{"arg":"logout \u2039secret:1a2b\u203a"}`:   "logout " + aKey,
		`{"arg":"logout ‹secret:000000000000›"}`:     "",
		`{"arg":"logout ` + aMark + otherMark + `"}`: "",
	} {
		ran := ""
		run := makeTool("run", tool.KindRun, func(_ context.Context, arg string, out io.Writer) (tool.Result, error) {
			ran = arg
			fmt.Fprintln(out, "output")
			return tool.Result{Text: "ok"}, nil
		})
		a := newAgent(&fake.Provider{Steps: []fake.Step{{Calls: []provider.ToolCall{{ID: "1", Name: "run", Input: json.RawMessage(input)}}},
			{Text: []string{"done"}}}}, run)
		a.Opt().Secrets.Mask = mask
		a.Opt().Env.Secrets = func(text string) (found []tool.Secret) {
			for _, at := range shapes.FindAllStringIndex(text, -1) {
				found = append(found, tool.Secret{From: at[0], To: at[1], Mark: aMark})
			}
			return found
		}
		answer := agent.Answer{Verdict: agent.Yes}
		if edited != "" {
			answer.Input = []byte(edited)
		}
		seen := shownCalls{recorder: recorder{answers: []agent.Answer{answer}}}
		if _, err := a.SendMessage(t.Context(), "go", &seen); err != nil {
			t.Fatal(err)
		}
		if ran != want {
			t.Errorf("%s: ran %q, not %q: %s", edited, ran, want, strings.Join(history(a), "\n"))
		}
		q := seen.asked[0]
		if q.Rule+q.Suggested != "" {
			t.Errorf("the rule %q or %q holds the key", q.Rule, q.Suggested)
		}
		seen.all = append(seen.all, q.Call)
		for _, call := range seen.all {
			if call.Access.Object != "login "+aMark || call.Access.Command != call.Access.Object && edited == "" ||
				!strings.HasPrefix(string(call.Input), `{"arg":"log`) || strings.Contains(string(call.Input), "abcdef") {
				t.Errorf("%s: shown %+v", edited, call)
			}
			if edited != "" {
				break
			}
		}
		event, err := json.Marshal(q.Event())
		must(t, err)
		if strings.Contains(string(event), "abcdef") || !strings.Contains(string(event), aMark) {
			t.Errorf("programs get %s", event)
		}
	}
}

// shownCalls keeps the calls of all reports.
type shownCalls struct {
	recorder
	all []agent.Call
}

func (c *shownCalls) OnToolCall(call agent.Call)                       { c.all = append(c.all, call) }
func (c *shownCalls) OnToolOutput(call agent.Call, _ string)           { c.all = append(c.all, call) }
func (c *shownCalls) OnToolResult(call agent.Call, _ agent.CallResult) { c.all = append(c.all, call) }

// A tool that can resolve marks gets them, and an edit that would move a key is asked about whatever the mode and the
// rules.
func TestAnEditThatMovesAKeyIsAsked(t *testing.T) {
	t.Parallel()
	for moves, asked := range map[string]bool{"": false, "it changes the line of a masked key": true} {
		ran := 0
		put := tool.New(tool.Def{Name: "put", Kind: tool.KindWrite, Marks: true}, func(context.Context, *tool.Env, struct {
			Arg string `json:"arg"`
		}) (tool.Access, error) {
			return tool.Access{Kind: tool.KindWrite, Verb: "put", Object: "x", Paths: []string{"/p/x"},
				MovesSecret: moves}, nil
		}, func(context.Context, *tool.Env, struct {
			Arg string `json:"arg"`
		}, io.Writer) (tool.Result, error) {
			ran++
			return tool.Result{Text: "ok"}, nil
		})
		a := newAgent(&fake.Provider{Steps: []fake.Step{{Calls: []provider.ToolCall{{ID: "1", Name: "put",
			Input: json.RawMessage(`{"arg":"‹secret:1a2b3c4d5e6f›"}`)}}}, {Text: []string{"done"}}}}, put)
		a.Opt().Env.Secrets = func(string) []tool.Secret { return nil }
		rule, err := permission.ParseRule("write")
		must(t, err)
		a.Opt().Policy.Mode, a.Opt().Policy.AllowRules = permission.ModeEdits, []permission.Rule{rule}
		if _, err := a.SendMessage(t.Context(), "go", &recorder{}); err != nil {
			t.Fatal(err)
		}
		if (ran == 0) != asked {
			t.Errorf("moves %q: ran %d times: %s", moves, ran, strings.Join(history(a), "\n"))
		}
	}
}
