package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"artoo/tool/extension"
	"artoo/tool/mcp/mcptest"
)

// web starts a server over HTTP.
func startWeb(t *testing.T, kinds ...string) (*mcptest.Web, extension.Server) {
	t.Helper()
	w := mcptest.NewWeb(kinds...)
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	w.SetURL(server.URL)
	return w, extension.Server{Name: "s", Origin: extension.Origin{Source: extension.SourceUser}, URL: server.URL + "/mcp"}
}

// inMemory is a server over HTTP without a network, which the clock of synctest can move.
func inMemory(t *testing.T, kinds ...string) (*mcptest.Web, Config) {
	t.Helper()
	w := mcptest.NewWeb(kinds...)
	client, end := w.InMemory()
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	s := extension.Server{Name: "s", Origin: extension.Origin{Source: extension.SourceUser}, URL: mcptest.MemoryURL + "/mcp"}
	return w, Config{Servers: []extension.Server{s}, HTTP: client}
}

// failing makes those requests fail, before they are sent, for which fails reports true.
type failing struct {
	http.RoundTripper
	fails func() bool
}

func (f failing) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.fails() {
		return nil, errors.New("no route to it")
	}
	return f.RoundTripper.RoundTrip(req)
}

func TestServersOverHTTP(t *testing.T) {
	t.Parallel()
	for _, kinds := range [][]string{{"modern"}, {"modern", "stream"}, {"legacy"}, {"legacy", "stream"}, {"legacy", "deafget"},
		{"legacy", "session", "stream"}, {"legacy", "sse"}} {
		t.Run(strings.Join(kinds, ","), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := inMemory(t, kinds...)
				c.State = t.TempDir()
				for range 2 { // the second time by the kept protocol
					m := New(c)
					if got := textOf(call(t, m, "echo", `{"text":"hello"}`, CallOptions{})); got != "hello" {
						t.Errorf("got %q", got)
					}
					if got := textOf(call(t, m, "task", "", CallOptions{})); got != "the task is done" {
						t.Errorf("a task: %q", got)
					}
					if err := m.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

func TestALostSessionIsOpenedAgain(t *testing.T) {
	t.Parallel()
	w, s := startWeb(t, "legacy", "session")
	m := manage(t, Config{Servers: []extension.Server{s}})
	call(t, m, "echo", `{"text":"a"}`, CallOptions{})
	w.Forget()
	if got := textOf(call(t, m, "echo", `{"text":"b"}`, CallOptions{})); got != "b" {
		t.Errorf("got %q", got)
	}
}

func TestTokensAndHeadersGoAlong(t *testing.T) {
	t.Parallel()
	w, s := startWeb(t, "token")
	s.TokenEnv, s.Headers = "T", map[string]string{"X-Team": "${TEAM:-a}"}
	m := manage(t, Config{Servers: []extension.Server{s}, Environ: []string{"T=right", "TEAM=b"}})
	call(t, m, "echo", "", CallOptions{})
	for _, h := range w.Requests() {
		if h.Get("Authorization") != "Bearer right" || h.Get("X-Team") != "b" {
			t.Errorf("got %v", h)
		}
	}
	for _, environ := range [][]string{{"T=wrong"}, {}} {
		_, err := manage(t, Config{Servers: []extension.Server{s}, Environ: append(environ, "A=b")}).List(t.Context(), "s")
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindAuth {
			t.Errorf("%v: %v", environ, err)
		}
	}
	s.TokenEnv, s.TokenCommand = "", "echo right; echo more"
	m = manage(t, Config{Servers: []extension.Server{s}, Environ: os.Environ()})
	call(t, m, "echo", "", CallOptions{})
}

func TestNothingGoesToAnotherOrigin(t *testing.T) {
	t.Parallel()
	got := make(chan string, 9)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("Authorization") }))
	defer other.Close()
	moved := httptest.NewServer(http.RedirectHandler(other.URL+"/mcp", http.StatusTemporaryRedirect))
	defer moved.Close()
	s := extension.Server{Name: "s", URL: moved.URL + "/mcp", TokenEnv: "T"}
	_, err := manage(t, Config{Servers: []extension.Server{s}, Environ: []string{"T=right"}}).List(t.Context(), "s")
	if err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("got %v", err)
	}
	if len(got) > 0 {
		t.Errorf("the other server was asked with %q", <-got)
	}
}

// tokens keeps logins in memory, as two processes would share them.
type tokens struct {
	mu   sync.Mutex
	lock sync.Mutex
	kept map[string][]byte
}

func (k *tokens) Load(_ context.Context, key string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept[key], nil
}

func (k *tokens) Save(_ context.Context, key string, data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept[key] = data
	return nil
}

func (k *tokens) Lock(context.Context, string) (func(), error) {
	k.lock.Lock()
	return k.lock.Unlock, nil
}

// browse goes to the address of a login as a browser does, and returns where it ends.
func browse(_ context.Context, _, address string) (string, error) {
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "", err
	}
	return resp.Header.Get("Location"), nil
}

func TestLogin(t *testing.T) {
	t.Parallel()
	w, s := startWeb(t, "oauth")
	store := &tokens{kept: map[string][]byte{}}
	run := Config{Servers: []extension.Server{s}, Tokens: store}
	m := manage(t, run)
	_, err := m.List(t.Context(), "s")
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindAuth || e.Hint != "artoo mcp login s" || m.Servers()[0].State != NeedsLogin {
		t.Fatalf("a run opens no browser: %v, %s", err, m.Servers()[0].State)
	}
	sign := run
	sign.Login, sign.Redirect = browse, "http://127.0.0.1:1/callback"
	if err := manage(t, sign).Login(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	left := run
	left.Login = func(context.Context, string, string) (string, error) { return "", errors.New("the user has left") }
	if err := manage(t, left).Login(t.Context(), "s"); err == nil {
		t.Error("a login that the user left has succeeded")
	}
	first, second := manage(t, run), manage(t, run) // They have the first login still.
	call(t, first, "echo", "", CallOptions{})
	call(t, second, "echo", "", CallOptions{})
	w.Expire(false)
	echo := find(t, first, "echo")
	var both sync.WaitGroup
	for _, m := range []*Manager{first, second, first, second} {
		both.Go(func() {
			if _, err := m.Call(t.Context(), echo, nil, CallOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if w.Renewed() != 1 {
		t.Errorf("renewed %d times", w.Renewed())
	}
	w.Expire(true)
	_, err = first.Call(t.Context(), echo, nil, CallOptions{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindAuth {
		t.Errorf("after the end of the login: %v", err)
	}
	if was, err := manage(t, run).Logout(t.Context(), "s"); err != nil || !was || store.kept[s.URL] != nil {
		t.Errorf("logout: %v, %v, %s", was, err, store.kept[s.URL])
	}
}

// While the user logs in, the server is not reported as slow.
// The secret of a registered client comes from a variable or a command, which runs once.
func TestAClientSecretComesFromACommandOrAVariable(t *testing.T) {
	t.Parallel()
	for secret, from := range map[string]func(*extension.Server){
		"said": func(s *extension.Server) { s.ClientSecretCommand = "echo said; echo more" },
		"set":  func(s *extension.Server) { s.ClientSecretEnv = "CLIENT_SECRET" },
	} {
		w, s := startWeb(t, "oauth")
		s.ClientID = "c1"
		from(&s)
		m := manage(t, Config{Servers: []extension.Server{s}, Tokens: &tokens{kept: map[string][]byte{}}, Environ: append(os.Environ(), "CLIENT_SECRET=set"),
			Login: browse, Redirect: "http://127.0.0.1:1/callback"})
		if err := m.Login(t.Context(), "s"); err != nil || w.Secret() != secret {
			t.Errorf("%s: %v, %q was sent", secret, err, w.Secret())
		}
	}
}

func TestALoginEndsWhereItsSecretCannotBeHad(t *testing.T) {
	t.Parallel()
	w, s := startWeb(t, "oauth")
	s.ClientID, s.ClientSecretCommand = "c1", "exit 3"
	m := manage(t, Config{Servers: []extension.Server{s}, Tokens: &tokens{kept: map[string][]byte{}},
		Environ: os.Environ(), Login: browse, Redirect: "http://127.0.0.1:1/callback"})
	if err := m.Login(t.Context(), "s"); err == nil || w.Secret() != "" {
		t.Errorf("%v, %q was sent", err, w.Secret())
	}
}

func TestALoginIsNoSlowStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := inMemory(t, "oauth")
		w.SetURL("http://localhost") // Only a loopback address may log in without TLS.
		c.Servers[0].URL = "http://localhost/mcp"
		var n notices
		c.Notice, c.Tokens, c.Redirect = n.add, &tokens{kept: map[string][]byte{}}, "http://127.0.0.1:1/callback"
		c.Login = func(context.Context, string, string) (string, error) {
			time.Sleep(time.Minute)
			return "", errors.New("the user has left")
		}
		if err := manage(t, c).Login(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "the user has left") || n.all() != "" {
			t.Errorf("%v; notices: %s", err, n.all())
		}
	})
}

// A token belongs to the address that the server really has.
func TestALoginBelongsToTheAddressWithItsVariables(t *testing.T) {
	t.Parallel()
	_, s := startWeb(t, "oauth")
	address := s.URL
	s.URL = strings.Replace(address, "http://", "http://${HOST:-127.0.0.1}", 1)
	s.URL = strings.Replace(s.URL, "127.0.0.1}127.0.0.1", "127.0.0.1}", 1)
	store := &tokens{kept: map[string][]byte{}}
	c := Config{Servers: []extension.Server{s}, Tokens: store, Login: browse, Redirect: "http://127.0.0.1:1/callback"}
	if err := manage(t, c).Login(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if store.kept[address] == nil {
		t.Errorf("kept: %v", slices.Collect(maps.Keys(store.kept)))
	}
}

// Tools listed with the login of one issuer are not known with that of another; the pins stay.
func TestAnotherIssuerReusesNothing(t *testing.T) {
	t.Parallel()
	w, s := startWeb(t, "oauth")
	state, store := t.TempDir(), &tokens{kept: map[string][]byte{}}
	run := Config{Servers: []extension.Server{s}, Tokens: store, State: state}
	sign := run
	sign.Login, sign.Redirect = browse, "http://127.0.0.1:1/callback"
	if err := manage(t, sign).Login(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	before, known := manage(t, run).Tools("s")
	if !known {
		t.Fatal("no tools are known after the login")
	}
	w.SetIssuer("/other")
	w.Define("Says it to the other one.")
	m := manage(t, sign)
	if _, err := m.Logout(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	server := m.servers[0]
	server.secret.Lock()
	server.use(&login{Resource: s.URL, Issuer: s.URL + "/other", Token: &oauth2.Token{}})
	server.secret.Unlock()
	for what, m := range map[string]*Manager{"this run": m, "the next run": manage(t, run)} {
		if tools, known := m.Tools("s"); known || len(tools) > 0 {
			t.Errorf("%s knows %d tools", what, len(tools))
		}
	}
	if err := m.Login(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if now := find(t, m, "echo"); !now.Changed || before[0].Definition == now.Definition {
		t.Error("the tool counts as seen for the first time")
	}
	if c := server.catalogue(); c.Issuer != strings.TrimSuffix(s.URL, "/mcp")+"/other" {
		t.Errorf("the catalogue is of %s", c.Issuer)
	}
}

// A server that names another issuer gets a new login: neither the token nor the client of the old one goes anywhere.
func TestALoginEndsWhenTheIssuerChanges(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(w *mcptest.Web, store *tokens, resource string){
		"refused": func(w *mcptest.Web, _ *tokens, _ string) { w.Expire(false) },
		"expired by its own date": func(_ *mcptest.Web, store *tokens, resource string) {
			l := &login{}
			if err := json.Unmarshal(store.kept[resource], l); err != nil {
				t.Fatal(err)
			}
			l.Token.Expiry = time.Now().Add(-time.Hour)
			data, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			store.kept[resource] = data
		},
	} {
		w, s := startWeb(t, "oauth")
		store := &tokens{kept: map[string][]byte{}}
		run := Config{Servers: []extension.Server{s}, Tokens: store}
		sign := run
		sign.Login, sign.Redirect = browse, "http://127.0.0.1:1/callback"
		if err := manage(t, sign).Login(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		end(w, store, s.URL)
		w.SetIssuer("/other")
		before := len(w.Requests())
		m := manage(t, run)
		_, err := m.List(t.Context(), "s")
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindAuth || e.Hint != "artoo mcp login s" || m.Servers()[0].State != NeedsLogin {
			t.Errorf("%s: %v, %s", what, err, m.Servers()[0].State)
		}
		if w.Renewed() != 0 {
			t.Errorf("%s: the refresh token went to the old issuer", what)
		}
		if data := store.kept[s.URL]; data != nil {
			t.Errorf("%s: still kept: %s", what, data)
		}
		asked := len(w.Requests())
		if _, err := manage(t, run).List(t.Context(), "s"); err == nil {
			t.Errorf("%s: the next run has a login", what)
		}
		for _, h := range w.Requests()[asked:] {
			if h.Get("Authorization") != "" {
				t.Errorf("%s: the next run sends the old token", what)
			}
		}
		if what == "refused" && asked == before {
			t.Errorf("%s: the server was not asked", what)
		}
		if err := manage(t, sign).Login(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if l := (&login{}); json.Unmarshal(store.kept[s.URL], l) != nil || l.Issuer != strings.TrimSuffix(s.URL, "/mcp")+"/other" {
			t.Errorf("%s: the new login is of %s", what, l.Issuer)
		}
		call(t, manage(t, run), "echo", "", CallOptions{})
	}
}

func TestALoginOfAnotherIssuerIsRefused(t *testing.T) {
	t.Parallel()
	_, s := startWeb(t, "oauth")
	for what, end := range map[string]func(string) string{
		"state":     func(a string) string { return strings.Replace(a, "state=", "state=x", 1) },
		"issuer":    func(a string) string { return strings.Replace(a, "iss=http", "iss=https", 1) },
		"no issuer": func(a string) string { return strings.Replace(a, "iss=", "was=", 1) },
	} {
		c := Config{Servers: []extension.Server{s}, Tokens: &tokens{kept: map[string][]byte{}}, Redirect: "http://127.0.0.1:1/callback",
			Login: func(ctx context.Context, server, address string) (string, error) {
				where, err := browse(ctx, server, address)
				return end(where), err
			}}
		err := manage(t, c).Login(t.Context(), "s")
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindAuth {
			t.Errorf("%s: %v", what, err)
		}
	}
}
