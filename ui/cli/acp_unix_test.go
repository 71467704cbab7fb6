//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/provider/providertest"
	"artoo/tool/mcp/mcptest"
)

// editorLine is a line between an editor and artoo.
type editorLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
		Call    struct {
			Title   string `json:"title"`
			Content json.RawMessage
		} `json:"toolCall"`
		Options []struct{ OptionID, Name string }
		Update  json.RawMessage
	} `json:"params"`
	Result struct{ SessionID, StopReason string } `json:"result"`
	Error  json.RawMessage                        `json:"error"`
}

// testEditor is an editor that has started artoo. It is used by one goroutine.
type testEditor struct {
	*testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	last    int
	updates strings.Builder
	asked   []string          // titles of questions, with their options
	pick    string            // the answer to every question
	buffers map[string]string // unsaved texts, by path
	written map[string]string
	saw     func(update string) // gets each update; nil for none
}

func startEditor(t *testing.T, env []string, dir string, args ...string) *testEditor {
	t.Helper()
	cmd := exec.Command(buildProgram(t, moduleDir), append([]string{"acp"}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stderr = env, dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &testEditor{T: t, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 2<<20), pick: "yes", buffers: map[string]string{}, written: map[string]string{}}
	limit := time.AfterFunc(endless, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { limit.Stop(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	e.request("initialize", `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"elicitation":{"form":{},"url":{}}}}`)
	return e
}

func (e *testEditor) send(line string) {
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.Fatal(err)
	}
}

// request sends a request, serves artoo's requests meanwhile, and returns the answer.
func (e *testEditor) request(method, params string) editorLine {
	e.Helper()
	e.last++
	id := fmt.Sprint(e.last)
	e.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	for {
		l, err := e.next()
		if err != nil {
			e.Fatalf("%s: %v", method, err)
		}
		if l.Method == "" && string(l.ID) == id {
			return l
		}
		e.serve(l)
	}
}

// next is artoo's next line.
func (e *testEditor) next() (l editorLine, err error) {
	line, err := e.out.ReadString('\n')
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		e.Fatalf("%v: %s", err, line)
	}
	return l, nil
}

// serve keeps an update of artoo's, or answers its request.
func (e *testEditor) serve(l editorLine) {
	switch l.Method {
	case "session/update":
		e.updates.Write(l.Params.Update)
		e.updates.WriteByte('\n')
		if e.saw != nil {
			e.saw(string(l.Params.Update))
		}
	case "session/request_permission":
		title := l.Params.Call.Title
		for _, o := range l.Params.Options {
			title += " | " + o.Name
		}
		e.asked = append(e.asked, title)
		e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, l.ID, e.pick))
	case "elicitation/create":
		e.asked = append(e.asked, l.Params.Mode+" "+l.Params.Message+" "+l.Params.URL)
		e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada","age":36}}}`, l.ID))
	case "fs/read_text_file":
		text, known := e.buffers[l.Params.Path]
		if !known {
			data, err := os.ReadFile(l.Params.Path)
			if err != nil {
				e.Error(err)
			}
			text = string(data)
		}
		content, _ := json.Marshal(text)
		e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":%s}}`, l.ID, content))
	case "fs/write_text_file":
		e.written[l.Params.Path] = l.Params.Content
		delete(e.buffers, l.Params.Path)
		if err := os.WriteFile(l.Params.Path, []byte(l.Params.Content), 0o600); err != nil {
			e.Error(err)
		}
		e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, l.ID))
	}
}

func (e *testEditor) open(dir string) string {
	e.Helper()
	l := e.request("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir))
	if l.Result.SessionID == "" {
		e.Fatalf("no session: %s", l.Error)
	}
	return l.Result.SessionID
}

func (e *testEditor) prompt(session, text string) string {
	e.Helper()
	l := e.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text))
	if l.Error != nil {
		e.Errorf("%s", l.Error)
	}
	return l.Result.StopReason
}

// leave ends the input; artoo then has to end within two seconds.
func (e *testEditor) leave() {
	began := time.Now()
	e.in.Close()
	if err := e.cmd.Wait(); err != nil || time.Since(began) > 2*time.Second {
		e.Errorf("it ended with %v, after %v", err, time.Since(began))
	}
}

// editorModel answers each user's message by these calls, and results by "well done".
func editorModel(calls ...providertest.Item) func(int, providertest.Request) providertest.Reply {
	asked := 0
	return func(_ int, r providertest.Request) providertest.Reply {
		if asked < len(calls) {
			asked++
			return providertest.Chat(calls[asked-1])
		}
		return providertest.Chat(providertest.Text("well done"))
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// An editor's session survives kill -9 of artoo, and goes on by session/load.
func TestAnEditorsSessionSurvivesAKill(t *testing.T) {
	t.Parallel()
	m := newModel(t, editorModel(providertest.Call("c1", "write", `{"path":"new.txt","content":"one\n"}`)))
	env, dir := append(m.env(t), "ARTOO_PROVIDER=compatible"), realTemp(t)
	e := startEditor(t, env, dir)
	id := e.open(dir)
	if got := e.prompt(id, "make it"); got != "end_turn" {
		t.Errorf("%q", got)
	}
	if want := []string{"write new.txt? | yes | always in this session: write(new.txt) | always here: write(new.txt) | no"}; len(e.asked) != 1 || e.asked[0] != want[0] {
		t.Errorf("%q", e.asked)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "new.txt")); string(data) != "one\n" {
		t.Errorf("%q, %v", data, err)
	}
	if err := e.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = e.cmd.Wait()
	e = startEditor(t, env, dir)
	if l := e.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, dir)); l.Error != nil {
		t.Fatalf("%s", l.Error)
	}
	for _, part := range []string{`"text":"make it"`, `"toolCallId":"c1","title":"write new.txt"`, `"text":"well done"`} {
		if !strings.Contains(e.updates.String(), part) {
			t.Errorf("not replayed: %s in\n%s", part, e.updates.String())
		}
	}
	if got := e.prompt(id, "and now?"); got != "end_turn" {
		t.Errorf("%q", got)
	}
	// Commands that need no terminal are carried out; others lead to an error.
	if got := e.prompt(id, "/approval plan"); got != "end_turn" || !strings.Contains(e.updates.String(), `"currentModeId":"plan"`) {
		t.Errorf("%q: %s", got, e.updates.String())
	}
	if got := e.prompt(id, "/context"); got != "end_turn" || !strings.Contains(e.updates.String(), "system prompt") {
		t.Errorf("%q: %s", got, e.updates.String())
	}
	for _, command := range []string{"/new", "/undo", "/nonsense"} {
		l := e.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, id, command))
		if !strings.Contains(string(l.Error), "-32602") {
			t.Errorf("%s: %s, %q", command, l.Error, l.Result.StopReason)
		}
	}
	e.leave()
}

// Reads see the editor's unsaved text; a file with unsaved changes is written through it, others are
// written to disk. Undo brings back the unsaved text.
func TestUnsavedFilesGoThroughTheEditor(t *testing.T) {
	t.Parallel()
	var read string
	m := newModel(t, func(n int, r providertest.Request) providertest.Reply {
		switch n {
		case 0:
			return providertest.Chat(providertest.Call("c1", "read", `{"path":"a.txt"}`))
		case 1:
			read = string(r.Body)
			return providertest.Chat(providertest.Call("c2", "edit", `{"path":"a.txt","edits":[{"old":"unsaved","new":"edited"}]}`),
				providertest.Call("c3", "write", `{"path":"b.txt","content":"b\n"}`))
		}
		return providertest.Chat(providertest.Text("well done"))
	})
	env, dir := append(m.env(t), "ARTOO_PROVIDER=compatible"), realTemp(t)
	a := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(a, []byte("saved\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := startEditor(t, env, dir, "--approval", "edits")
	e.buffers[a] = "unsaved\n"
	e.prompt(e.open(dir), "edit it")
	if !strings.Contains(read, "unsaved") {
		t.Errorf("the model was shown %s", read)
	}
	if e.written[a] != "edited\n" || len(e.written) != 1 {
		t.Errorf("written through the editor: %q; asked %q; %s", e.written, e.asked, e.updates.String())
	}
	e.leave()
	undo := exec.Command(buildProgram(t, moduleDir), "undo", "--yes")
	undo.Env, undo.Dir = env, dir
	out, err := undo.CombinedOutput()
	if data, _ := os.ReadFile(a); err != nil || string(data) != "unsaved\n" {
		t.Errorf("after undo: %q, %v: %s", data, err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("b.txt: %v", err)
	}
}

// A server that the editor names is approved once, and taken literally: no variable is put in.
func TestAnEditorsServerIsApprovedOnce(t *testing.T) {
	t.Parallel()
	web := mcptest.NewWeb()
	headers := make(chan string, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case headers <- r.Header.Get("X-Literal"):
		default:
		}
		web.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	web.SetURL(srv.URL)
	var result string
	m := newModel(t, func(_ int, r providertest.Request) providertest.Reply {
		if lastMessage(t, r.Body).Role == "user" {
			return providertest.Chat(providertest.Call("c1", "mcp_find", `{"server":"my_web"}`))
		}
		result = string(r.Body)
		return providertest.Chat(providertest.Text("well done"))
	})
	env, dir := append(m.env(t), "ARTOO_PROVIDER=compatible"), realTemp(t)
	for _, row := range []struct {
		pick, asked, result string
	}{
		{"no", "use the MCP server my_web of the editor in this project? | yes, from now on | no", "you did not approve it"},
		{"yes", "use the MCP server my_web of the editor in this project? | yes, from now on | no", "echo"},
		{"no", "", "echo"},
	} {
		e := startEditor(t, env, dir)
		e.pick = row.pick
		l := e.request("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"type":"http","name":"My web","url":%q,"headers":[{"name":"X-Literal","value":"${HOME}"}]}]}`,
			dir, srv.URL+"/mcp"))
		e.prompt(l.Result.SessionID, "find")
		e.prompt(l.Result.SessionID, "find again")
		if got := strings.Join(e.asked, "; "); got != row.asked {
			t.Errorf("asked %q, not %q", got, row.asked)
		}
		if !strings.Contains(result, row.result) {
			t.Errorf("the result has no %q: %s", row.result, result)
		}
		e.leave()
	}
	if got := <-headers; got != "${HOME}" {
		t.Errorf("the header is %q", got)
	}
}

// A command's output is shown while it runs; a cancelled one ends within a second, and the editor's crash ends it, too.
func TestAnEditorSeesAndCancelsCommands(t *testing.T) {
	t.Parallel()
	m := newModel(t, line(t, "echo begun; sleep 100"))
	env, dir := append(m.env(t), "ARTOO_PROVIDER=compatible"), realTemp(t)
	e := startEditor(t, env, dir)
	id := e.open(dir)
	var began time.Time
	e.saw = func(update string) {
		if strings.Contains(update, `begun\n`) && strings.Contains(update, "in_progress") && began.IsZero() {
			began = time.Now()
			e.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id))
		}
	}
	if got := e.prompt(id, "run it"); got != "cancelled" || began.IsZero() || time.Since(began) > time.Second {
		t.Errorf("%q after %v\n%s", got, time.Since(began), e.updates.String())
	}
	e.saw = func(update string) {
		if strings.Contains(update, `begun\n`) && strings.Contains(update, "in_progress") {
			e.in.Close()
		}
	}
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":99,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"run it"}]}}`, id))
	for {
		l, err := e.next()
		if err != nil {
			break
		}
		e.serve(l)
		if l.Method == "session/update" && strings.Contains(string(l.Params.Update), `begun\n`) {
			began = time.Now()
		}
	}
	if err := e.cmd.Wait(); err != nil || time.Since(began) > 2*time.Second {
		t.Errorf("%v, after %v", err, time.Since(began))
	}
}

// A server's form, and an address that it wants opened, are shown by the editor.
func TestAServersQuestionsAreTheEditors(t *testing.T) {
	t.Parallel()
	web := mcptest.NewWeb()
	srv := httptest.NewServer(web)
	t.Cleanup(srv.Close)
	web.SetURL(srv.URL)
	var result, greeted string
	m := newModel(t, func(n int, r providertest.Request) providertest.Reply {
		calls := []providertest.Item{providertest.Call("c0", "mcp_find", `{"server":"web"}`),
			providertest.Call("c1", "mcp_call", `{"tool":"mcp__web__ask","arguments":{"text":"x"}}`),
			providertest.Call("c2", "mcp_call", `{"tool":"mcp__web__visit","arguments":{"text":"x"}}`), providertest.Text("well done")}
		if n == 2 {
			result = string(r.Body)
		}
		if n == len(calls) {
			greeted = string(r.Body)
		}
		return providertest.Chat(calls[min(n, len(calls)-1)])
	})
	env, dir := append(m.env(t), "ARTOO_PROVIDER=compatible"), realTemp(t)
	e := startEditor(t, env, dir, "--allow", "mcp__web")
	l := e.request("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"type":"http","name":"web","url":%q,"headers":[]}]}`, dir, srv.URL+"/mcp"))
	e.prompt(l.Result.SessionID, "ask")
	asks := "web (" + strings.TrimPrefix(srv.URL, "http://") + ")"
	want := "use the MCP server web of the editor in this project? | yes, from now on | no; form " + asks + ": Who are you? ; url " +
		asks + ": Please sign. https://example.org/sign"
	if got := strings.Join(e.asked, "; "); got != want {
		t.Errorf("asked %q", got)
	}
	if !strings.Contains(result, "Ada") || !strings.Contains(result, "36") {
		t.Errorf("the result is %s", result)
	}
	// Once the server runs, its prompts are offered, and their texts are sent.
	if got := e.updates.String(); strings.Count(got, `"name":"mcp:web:greet"`) != 1 || !strings.Contains(got, `"hint":"who=…"`) {
		t.Errorf("the prompt is not offered once: %s", got)
	}
	e.prompt(l.Result.SessionID, "/mcp:web:greet who=Grace")
	if !strings.Contains(greeted, "The prompt greet of the MCP server web") || !strings.Contains(greeted, "Grace") {
		t.Errorf("the prompt is sent as %s", greeted)
	}
	e.leave()
}
