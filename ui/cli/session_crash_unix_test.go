//go:build unix

package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/providertest"
	"artoo/tool/sweep"
)

// onePixel is a PNG.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// crashTurns are the messages of the story, and crashReplies the model's replies.
var crashTurns = []string{"do the first", "do the second"}

func crashReplies() []providertest.Reply {
	call := providertest.Call
	return []providertest.Reply{
		providertest.Chat(providertest.Text("I begin."), call("c1", "bash", `{"command":"echo one >>effects"}`),
			call("c2", "read", `{"path":"pixel.png"}`)),
		providertest.Chat(call("c3", "bash", `{"command":"echo two >>effects"}`)),
		providertest.Chat(providertest.Text("answer the first")),
		providertest.Chat(call("c4", "write", `{"path":"made","content":"x\n"}`)),
		providertest.Chat(call("c5", "bash", `{"command":"echo three >>effects"}`)),
		providertest.Chat(providertest.Text("answer the second")),
	}
}

// crashed is a run of the story and its outcome.
type crashed struct {
	*storyRun
	home     string
	answered []string // turns of which the user had the answer, and was asked for more
	given    []string // ids of the calls whose results the model was given
	faulty   bool     // an error of the session was shown
}

func newCrashed(t *testing.T, program string, with ...string) *crashed {
	t.Helper()
	dir := t.TempDir()
	c := &crashed{storyRun: &storyRun{T: t, program: program, root: filepath.Join(dir, "project"), says: crashReplies()},
		home: filepath.Join(dir, "home")}
	pixel, err := base64.StdEncoding.DecodeString(onePixel)
	if err := errors.Join(err, os.Mkdir(c.root, 0o755), os.Mkdir(c.home, 0o755),
		os.WriteFile(filepath.Join(c.root, "pixel.png"), pixel, 0o644)); err != nil {
		t.Fatal(err)
	}
	c.env = append(home(t), append(with, "HOME="+c.home, "container=test", "ARTOO_PROVIDER=compatible",
		"ARTOO_MODEL=test-model")...)
	return c
}

// play tells the story to its end, or to that of the program.
func (c *crashed) play() {
	c.Helper()
	var mu sync.Mutex
	talk := c.artooAsked(func(r providertest.Request) {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range []string{"c1", "c2", "c3", "c4", "c5"} {
			if bytes.Contains(r.Body, []byte(`"tool_call_id":"`+id+`"`)) && !slices.Contains(c.given, id) {
				c.given = append(c.given, id)
			}
		}
	})
	for there, i := talk.say(""), 0; there && i < len(crashTurns); i++ {
		there = talk.write(crashTurns[i]+"\n") && talk.say("")
		talk.heard.mu.Lock()
		said := strings.Contains(talk.heard.text.String(), answerTo(crashTurns[i]))
		talk.heard.mu.Unlock()
		if there && said {
			c.answered = append(c.answered, crashTurns[i])
		}
	}
	_ = talk.in.Close() // it may be gone
	<-talk.ended
	c.faulty = strings.Contains(talk.heard.text.String(), "no space left")
}

// answerTo is the model's answer to a turn.
func answerTo(turn string) string { return "answer" + strings.TrimPrefix(turn, "do") }

// effects are the lines that commands wrote.
func (c *crashed) effects() string {
	c.Helper()
	data, err := os.ReadFile(filepath.Join(c.root, "effects"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.Fatal(err)
	}
	return string(data)
}

// check resumes the session, on each wire in a copy of it.
func (c *crashed) check(program string) {
	c.Helper()
	did := c.effects()
	sessions := filepath.Join(".local", "state", "artoo", "sessions")
	infos, err := conversation.Store{Dir: filepath.Join(c.home, sessions)}.List()
	if err != nil {
		c.Fatal(err)
	}
	if len(infos) == 0 {
		if did != "" || len(c.answered)+len(c.given) > 0 {
			c.Errorf("no session is left of %q, %q, %q", did, c.answered, c.given)
		}
		return
	}
	for _, w := range allWires() {
		home := c.TempDir()
		if err := os.CopyFS(home, os.DirFS(c.home)); err != nil {
			c.Fatal(err)
		}
		c.goOn(w, program, home, infos[0].ID)
		if now := c.effects(); now != did {
			c.Errorf("%s: done before it went on %q, and after it %q", w.name, did, now)
		}
		c.holds(conversation.Store{Dir: filepath.Join(home, sessions)}, infos[0].ID, did)
	}
}

// goOn resumes the session with a model of the wire, which looks at the request as the
// strictest of its servers does.
func (c *crashed) goOn(w spoken, program, home, id string) {
	c.Helper()
	var mu sync.Mutex
	var wrong error
	asked := 0
	m := &modelServer{Handler: &providertest.Handler{Next: func(_ int, r providertest.Request) providertest.Reply {
		mu.Lock()
		defer mu.Unlock()
		asked++
		wrong = errors.Join(wrong, providertest.Validate(w.name, r.Body))
		return w.build(providertest.Text("gone on"))
	}}}
	srv := httptest.NewServer(describing(m, true, c.root))
	defer func() { srv.CloseClientConnections(); srv.Close() }()
	key := "sk-test-0123456789"
	way := map[string][]string{ // the provider, and where it is
		"anthropic": {"anthropic", "ANTHROPIC_BASE_URL=" + srv.URL, "ANTHROPIC_API_KEY=" + key},
		"chat":      {"compatible", "ARTOO_BASE_URL=" + srv.URL + "/v1"},
		"responses": {"openai", "OPENAI_BASE_URL=" + srv.URL + "/v1/responses", "OPENAI_API_KEY=" + key},
		"gemini":    {"gemini", "GOOGLE_GEMINI_BASE_URL=" + srv.URL, "GEMINI_API_KEY=" + key},
		"converse":  {"bedrock", "ARTOO_PROVIDER=bedrock", "ARTOO_MODEL=claude-test", "ARTOO_BASE_URL=" + srv.URL, "AWS_BEARER_TOKEN_BEDROCK=" + key},
		"ollama":    {"ollama", "OLLAMA_HOST=" + strings.TrimPrefix(srv.URL, "http://")},
	}[w.name]
	cmd := exec.Command(program, "-p", "--provider", way[0], "-r", id, "go on")
	cmd.Dir = c.root
	cmd.Env = append(append(slices.Clone(c.env), "HOME="+home), way[1:]...)
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &told
	err := cmd.Run()
	mu.Lock()
	defer mu.Unlock()
	if err := errors.Join(err, wrong); err != nil || asked != 1 || out.String() != "gone on\n" {
		c.Errorf("%s: %d requests, %q: %v\n%s", w.name, asked, &out, err, &told)
	}
}

// holds looks for the effects, the results and the answers in the file.
func (c *crashed) holds(store conversation.Store, id, did string) {
	c.Helper()
	whole, err := store.Read(id)
	if err != nil {
		c.Fatal(err)
	}
	for _, n := range whole.Notices() {
		if strings.Contains(n, "cannot be read") || strings.Contains(n, "is left out") || strings.Contains(n, "image") {
			c.Errorf("told again: %s", n)
		}
	}
	calls, texts := "", ""
	var results []string
	for _, m := range whole.Messages() {
		texts += m.Text() + "\n"
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.ToolCall:
				calls += string(p.Input)
			case provider.ToolResult:
				results = append(results, p.CallID)
			}
		}
	}
	for arg := range strings.FieldsSeq(did) {
		if !strings.Contains(calls, "echo "+arg+" ") {
			c.Errorf("%s was done, and the session holds no call for it", arg)
		}
	}
	for _, id := range c.given { // after a fault the model gets the note that a result is not known
		if !c.faulty && !slices.Contains(results, id) {
			c.Errorf("the model had the result of %s, and the session does not", id)
		}
	}
	for _, turn := range c.answered {
		if !c.faulty && !strings.Contains(texts, answerTo(turn)) {
			c.Errorf("the user had the answer to %q, and the session does not", turn)
		}
	}
	if !strings.Contains(texts, "go on") || !strings.HasSuffix(texts, "\ngone on\n") {
		c.Errorf("it ends with %q", texts)
	}
}

// artooAsked is artoo with a look at each request.
func (c *crashed) artooAsked(look func(providertest.Request)) *talker {
	c.Helper()
	c.storyRun.looks = look
	return c.artoo(func(int) {})
}

// TestAKillAfterAnyWriteOfTheProgramLosesNothing kills the program after each of its
// writes to the session, and has each of them fail, in a conversation with tools,
// approvals and an image. Each time it goes on with every wire: the request is one that
// the strictest server takes, nothing the user or the model was told is missing, and
// nothing is done again.
func TestAKillAfterAnyWriteOfTheProgramLosesNothing(t *testing.T) {
	t.Parallel()
	crashing, err := exec.LookPath("crashing") // TestMain put it into PATH
	if err != nil {
		t.Fatal(err)
	}
	program := buildProgram(t, moduleDir)
	whole := newCrashed(t, crashing, crashVar+"="+crashKill+"|0")
	whole.play()
	if whole.effects() != "one\ntwo\nthree\n" || !slices.Equal(whole.answered, crashTurns) || len(whole.given) != 5 {
		t.Fatalf("the story is not told: %q, %q, %q", whole.effects(), whole.answered, whole.given)
	}
	writes := whole.writes()
	kinds := []string{crashKill, crashFull, crashShort, crashFail}
	for _, i := range sweep.Cases(t, 2, writes*len(kinds)) {
		kind, n := kinds[i%len(kinds)], 1+i/len(kinds)
		t.Run(fmt.Sprintf("%s at write %d of %d", kind, n, writes), func(t *testing.T) {
			t.Parallel()
			c := newCrashed(t, crashing, fmt.Sprintf("%s=%s|%d", crashVar, kind, n))
			c.play()
			c.check(program)
		})
	}
}

// writes is how many writes the whole story takes: its lines, and the image.
func (c *crashed) writes() int {
	c.Helper()
	dir := filepath.Join(c.home, ".local", "state", "artoo", "sessions")
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	images, err2 := filepath.Glob(filepath.Join(dir, "*.out", "*.png"))
	if err := errors.Join(err, err2); err != nil || len(files) != 1 || len(images) != 1 {
		c.Fatalf("%q, %q: %v", files, images, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		c.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if !json.Valid(line) {
			c.Errorf("no JSON: %s", line)
		}
	}
	return bytes.Count(data, []byte{'\n'}) + len(images)
}
