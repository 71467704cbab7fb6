//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"artoo/provider/providertest"
	"artoo/ui/result"
)

// servedTool is artoo as a server, with a client of the library's.
type servedTool struct {
	*testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	session *sdk.ClientSession
}

// startTool starts `artoo mcp serve`. The version is that of the protocol; "" is the newest.
func startTool(t *testing.T, version string, opt *sdk.ClientOptions, env []string, dir string, args ...string) *servedTool {
	t.Helper()
	cmd := exec.Command(buildProgram(t, moduleDir), append([]string{"mcp", "serve"}, args...)...)
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
	limit := time.AfterFunc(endless, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { limit.Stop(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opt)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: out, Writer: in}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return &servedTool{t, cmd, in, session}
}

// call calls the tool with arguments in JSON.
func (s *servedTool) call(ctx context.Context, arguments string) (text string, result result.Result) {
	s.Helper()
	r, err := s.session.CallTool(ctx, &sdk.CallToolParams{Name: "artoo", Arguments: json.RawMessage(arguments), Meta: sdk.Meta{"progressToken": "p"}})
	if err != nil {
		s.Error(err)
		return "", result
	}
	for _, c := range r.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			text += c.Text + "\n"
		}
	}
	data, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	if err != nil || r.IsError != (result.Error != nil) {
		s.Errorf("%v: %s", err, data)
	}
	return text, result
}

// leave ends the input; artoo then has to end within two seconds.
func (s *servedTool) leave() {
	began := time.Now()
	s.in.Close()
	if err := s.cmd.Wait(); err != nil || time.Since(began) > 2*time.Second {
		s.Errorf("it ended with %v, after %v", err, time.Since(began))
	}
}

// protocolEras are the versions that a client begins with.
var protocolEras = map[string]string{"legacy": "2025-11-25", "modern": ""}

// The answer of an agent's user decides, in both eras; a session goes on by its id, in its directory.
func TestAnotherAgentCallsArtoo(t *testing.T) {
	t.Parallel()
	for era, version := range protocolEras {
		for _, row := range []struct {
			answer *sdk.ElicitResult // nil: the client shows no forms
			code   int
			made   bool
		}{
			{&sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, 0, true},
			{&sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "no"}}, 0, false},
			{&sdk.ElicitResult{Action: "cancel"}, 6, false},
			{nil, 6, false},
		} {
			t.Run(fmt.Sprintf("%s %+v", era, row), func(t *testing.T) {
				t.Parallel()
				var last string
				m := newModel(t, func(n int, r providertest.Request) providertest.Reply {
					if last = string(r.Body); n == 0 {
						return providertest.Chat(providertest.Call("c1", "write", `{"path":"new.txt","content":"one\n"}`))
					}
					return providertest.Chat(providertest.Text("well done"))
				})
				env, dir, other := append(m.env(t), "ARTOO_PROVIDER=compatible"), realTemp(t), realTemp(t)
				var asked []string
				opt := &sdk.ClientOptions{}
				if row.answer != nil {
					opt.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						asked = append(asked, r.Params.Message)
						return row.answer, nil
					}
				}
				s := startTool(t, version, opt, env, other, "--root", dir)
				text, result := s.call(t.Context(), fmt.Sprintf(`{"prompt":"make it","cwd":%q}`, dir))
				if result.ExitCode != row.code || result.Result != "well done" || result.SessionID == "" || !strings.Contains(text, "session "+result.SessionID+" continues this") {
					t.Errorf("%+v\n%s", result, text)
				}
				data, err := os.ReadFile(filepath.Join(dir, "new.txt"))
				if made := string(data) == "one\n"; made != row.made {
					t.Errorf("%q, %v", data, err)
				}
				switch {
				case row.answer != nil && (len(asked) != 1 || !strings.HasPrefix(asked[0], "write new.txt?\n") || !strings.Contains(asked[0], "+one")):
					t.Errorf("asked %q", asked)
				case row.code == 6 && (len(result.Denied) != 1 || result.Denied[0].Rule != "write(new.txt)" || !strings.Contains(text, "try: artoo --allow 'write(new.txt)'")):
					t.Errorf("%+v\n%s", result.Denied, text)
				}
				first := result.SessionID
				if _, result = s.call(t.Context(), fmt.Sprintf(`{"prompt":"and now?","session":%q}`, first)); result.SessionID != first || !strings.Contains(last, "make it") || !strings.Contains(last, "and now?") {
					t.Errorf("%+v: %s", result, last)
				}
				s.leave()
			})
		}
	}
}

// Calls in several sessions run side by side; a session that is in use is a call's error.
func TestSeveralCallsAtOnce(t *testing.T) {
	t.Parallel()
	for era, version := range protocolEras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			var both sync.WaitGroup
			both.Add(2)
			held, release := make(chan bool), make(chan bool)
			opt := &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				if strings.Contains(r.Params.Message, "meet") {
					both.Done()
					both.Wait()
				} else {
					held <- true
					<-release
				}
				return &sdk.ElicitResult{Action: "decline"}, nil
			}}
			m := newModel(t, func(_ int, r providertest.Request) providertest.Reply {
				last := lastMessage(t, r.Body)
				if last.Role != "user" {
					return providertest.Chat(providertest.Text("well done"))
				}
				return providertest.Chat(providertest.Call("c1", "write", fmt.Sprintf(`{"path":"x","content":%q}`, last.Content)))
			})
			env, dirs := append(m.env(t), "ARTOO_PROVIDER=compatible"), []string{realTemp(t), realTemp(t)}
			s := startTool(t, version, opt, env, dirs[0], "--root", dirs[1])
			var ids [2]string
			var calls sync.WaitGroup
			for i, dir := range dirs {
				calls.Go(func() {
					_, r := s.call(t.Context(), fmt.Sprintf(`{"prompt":"meet","cwd":%q}`, dir))
					ids[i] = r.SessionID
				})
			}
			calls.Wait()
			if ids[0] == "" || ids[0] == ids[1] {
				t.Errorf("%q", ids)
			}
			calls.Go(func() {
				if _, r := s.call(t.Context(), fmt.Sprintf(`{"prompt":"hold","session":%q}`, ids[0])); r.ExitCode != 0 {
					t.Errorf("%+v", r)
				}
			})
			<-held
			if _, r := s.call(t.Context(), fmt.Sprintf(`{"prompt":"x","session":%q}`, ids[0])); r.ExitCode != 2 || r.Error.Message != "session "+ids[0]+": in use by another run or artoo" {
				t.Errorf("%+v", r)
			}
			close(release)
			calls.Wait()
			list := exec.Command(buildProgram(t, moduleDir), "sessions", "--json")
			list.Env, list.Dir = env, dirs[0]
			if out, err := list.Output(); err != nil || strings.Count(string(out), "\n") != 2 {
				t.Errorf("the sessions are %s, %v", out, err)
			}
			s.leave()
		})
	}
}

// A cancelled call, the end of the input and a crash end the running command; the session is kept.
func TestTheEndOfACall(t *testing.T) {
	t.Parallel()
	for era, version := range protocolEras {
		for _, how := range []string{"cancel", "leave", "kill"} {
			t.Run(era+" "+how, func(t *testing.T) {
				t.Parallel()
				m := newModel(t, func(n int, _ providertest.Request) providertest.Reply {
					if n > 0 {
						return providertest.Chat(providertest.Text("well done"))
					}
					return providertest.Chat(providertest.Call("c1", "bash", `{"command":"sleep 600 9>fifo","unconfined":true,"reason":"a test"}`))
				})
				env, dir := append(m.env(t), "ARTOO_PROVIDER=compatible", "ARTOO_SANDBOX=auto", "container=test"), realTemp(t)
				fifo := filepath.Join(dir, "fifo")
				if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				s := startTool(t, version, nil, env, dir, "--allow", "bash!")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error, 1)
				go func() {
					_, err := s.session.CallTool(ctx, &sdk.CallToolParams{Name: "artoo", Arguments: map[string]any{"prompt": "run it"}})
					ended <- err
				}()
				hold, err := os.Open(fifo) // once the command has opened it
				if err != nil {
					t.Fatal(err)
				}
				defer hold.Close()
				began := time.Now()
				switch how {
				case "cancel":
					cancel()
				case "leave":
					s.leave()
				case "kill":
					if err := s.cmd.Process.Kill(); err != nil {
						t.Error(err)
					}
				}
				if _, err := io.ReadAll(hold); err != nil || time.Since(began) > 2*time.Second {
					t.Errorf("the command ended %v later, %v", time.Since(began), err)
				}
				if err := <-ended; err == nil && how != "leave" {
					t.Error("the call has a result")
				}
				if how == "cancel" {
					s.leave()
				}
				c := exec.Command(buildProgram(t, moduleDir), "-p", "-c", "go on")
				c.Env, c.Dir = env, dir
				if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "well done") {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
	}
}
