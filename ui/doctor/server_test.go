package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

const key = "sk-kqzx-test-key" // no part of a port, which has digits

func server(name, address string) *Server {
	return &Server{Server: provider.Server{Name: name, BaseURL: address}, Model: "m",
		Key: func(context.Context) (string, string, error) { return key, "OPENAI_API_KEY", nil }}
}

// askServer is the report on a server, the clock included.
func askServer(t *testing.T, s *Server, client *http.Client) string {
	t.Helper()
	lines, _ := report(t, CheckServer(s, nil, client))
	if strings.Contains(lines, "kqzx") {
		t.Errorf("the key is shown:\n%s", lines)
	}
	return lines
}

func TestServerAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider string
		status   int
		kind     string // content type
		want     string
		verdict  Verdict
	}{
		{"openai", 200, "application/json", "ok provider: openai answers at HOST in ", Accepted},
		{"openai", 401, "application/json",
			"fail provider: openai refuses the key from OPENAI_API_KEY (401) | artoo login openai", Refused},
		{"gemini", 400, "application/json", "fail provider: gemini refuses the key", Refused},
		{"openai", 402, "application/json", "fail provider: openai: no credit (402) | add credit", Accepted},
		{"openai", 429, "application/json", "warn provider: openai: a limit is reached (429) |", Unknown},
		{"compatible", 404, "text/html", "warn provider: compatible answers at HOST, but lists no models there (404)",
			Unknown},
		{"openai", 302, "", "fail provider: openai: HOST redirects elsewhere (302) |", Unknown},
		{"openai", 503, "", "warn provider: openai: HOST fails (503) |", Unknown},
		{"openai", 418, "", "warn provider: openai: HOST answers with status 418 |", Unknown},
		{"openai", 200, "text/html; charset=utf-8",
			"fail provider: openai: HOST sent a web page instead of an answer (200) |", Unknown},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", test.kind)
			w.Header().Set("Location", "http://elsewhere.example/")
			w.WriteHeader(test.status)
			fmt.Fprint(w, "you sent ", r.Header)
		}))
		host := strings.TrimPrefix(srv.URL, "http://")
		got := askServer(t, server(test.provider, srv.URL), srv.Client())
		if want := strings.ReplaceAll(test.want, "HOST", host); !strings.Contains(got, want) {
			t.Errorf("%s %d: no %q in\n%s", test.provider, test.status, want, got)
		}
		if a := Ask(t.Context(), srv.Client(), *server(test.provider, srv.URL)); a.Verdict != test.verdict {
			t.Errorf("%s %d: verdict %v", test.provider, test.status, a.Verdict)
		}
		srv.Close()
	}
}

func TestServerIsAskedRightly(t *testing.T) {
	t.Parallel()
	messages := provider.Form{Wire: provider.WireMessages}
	for _, test := range []struct {
		provider, below, path, header string
		form                          provider.Form
	}{
		{"mine", "", "/v1/models", "X-Api-Key: " + key, messages},
		{"mine", "/v1", "/v1/models", "Api-Key: " + key,
			provider.Form{Wire: provider.WireResponses, Auth: provider.AuthAPIKey}},
		{"anthropic", "", "/v1/models", "Authorization: Bearer " + key,
			provider.Form{Token: func(string) bool { return true }}},
		{"anthropic", "", "/v1/models", "X-Api-Key: " + key, provider.Form{}},
		{"anthropic", "/gate/v1/", "/gate/v1/models", "X-Api-Key: " + key, provider.Form{}},
		{"gemini", "", "/v1beta/models", "X-Goog-Api-Key: " + key, provider.Form{}},
		{"openrouter", "/api/v1", "/api/v1/key", "Authorization: Bearer " + key, provider.Form{}},
		{"openai", "/v1/responses", "/v1/models", "Authorization: Bearer " + key, provider.Form{}},
		{"mine", "/v1/chat/completions", "/v1/models", "Authorization: Bearer " + key, provider.Form{}},
		{"ollama", "", "/api/version", "", provider.Form{}},
	} {
		asked := ""
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.Method + " " + r.URL.Path
			for name, values := range r.Header {
				asked += "\n" + name + ": " + values[0]
			}
		}))
		s := server(test.provider, srv.URL+test.below)
		s.Form, s.Headers = test.form, map[string]string{"X-More": "yes"}
		askServer(t, s, srv.Client())
		if !strings.HasPrefix(asked, "GET "+test.path+"\n") || !strings.Contains(asked, test.header) ||
			!strings.Contains(asked, "X-More: yes") {
			t.Errorf("%s at %s: asked\n%s", test.provider, test.below, asked)
		}
		srv.Close()
	}
}

func TestServerCannotBeReached(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the test is about the refused handshake
	secure.StartTLS()
	defer secure.Close()
	withPassword := strings.Replace(gone.URL, "http://", "http://me:hunter22@", 1)
	noKey := server("openai", gone.URL)
	noKey.Key = func(context.Context) (string, string, error) { return "", "", hinted{"artoo login openai"} }
	for name, test := range map[string]struct {
		s    *Server
		want string
	}{
		"nobody there": {server("openai", withPassword), "fail provider: openai: " +
			strings.TrimPrefix(gone.URL, "http://") + " cannot be reached: "},
		"unknown issuer": {server("openai", secure.URL), "is not trusted, its issuer is Acme Co: "},
		"and the fix": {server("openai", secure.URL),
			"| if that is your company's or your own authority, set ARTOO_CA_FILE"},
		"no key": {noKey, "fail provider: it is broken | artoo login openai"},
		"no address": {server("openai", "localhost:1"),
			"fail provider: openai: the base URL is not an address | an address such as https://host/v1"},
	} {
		if got := askServer(t, test.s, &http.Client{}); !strings.Contains(got, test.want) ||
			strings.Contains(got, "hunter22") {
			t.Errorf("%s: no %q in\n%s", name, test.want, got)
		}
	}
	dead := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: strings.TrimPrefix(gone.URL, "http://")})}}
	if got, want := askServer(t, server("openai", "http://model.invalid"), dead), "fail provider: openai: the proxy does not answer: "; !strings.Contains(
		got, want) || !strings.Contains(got, "| check HTTPS_PROXY and NO_PROXY") {
		t.Errorf("a proxy that is gone: no %q in\n%s", want, got)
	}
	named := server("openai", "")
	named.Setting = "base_url in config.toml line 5"
	if f := named.unreachable("h", &net.DNSError{Name: "h"}); !strings.HasSuffix(f.Fix, "HTTPS_PROXY and base_url in config.toml line 5") {
		t.Errorf("a host that no one knows: %+v", f)
	}
	if f := server("openai", "").unreachable("h",
		&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}); !strings.Contains(
		f.Fix, "clock") {
		t.Errorf("an expired certificate: %+v", f)
	}
}

func TestTrustedServerIsNamed(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	got := askServer(t, server("openai", srv.URL), srv.Client())
	if !strings.Contains(got, ", TLS 1.3, certificate from Acme Co |") ||
		!strings.Contains(got, "ok clock: agrees with that of 127.0.0.1") {
		t.Errorf("got\n%s", got)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for off, want := range map[time.Duration]string{
		0: "ok clock: agrees", time.Minute: "ok clock: agrees",
		10 * time.Minute: "warn clock: this computer's clock is 10m0s ahead of that of h",
		-72 * time.Hour:  "warn clock: this computer's clock is 72h0m0s behind that of h",
	} {
		found := clock(now.Add(off), Answer{Host: "h", Date: now})
		if len(found) != 1 || !strings.HasPrefix(string(found[0].Level)+" clock: "+found[0].Text, want) {
			t.Errorf("%s off: %+v", off, found)
		}
	}
	if found := clock(now, Answer{}); found != nil {
		t.Errorf("no date: %+v", found)
	}
}

func TestNoNetworkAsksNobody(t *testing.T) {
	t.Parallel()
	lines, failed := report(t, CheckServer(server("openai", ""), nil, nil))
	if failed != 0 || !strings.Contains(lines, "ok provider: openai was not contacted |") {
		t.Errorf("%s", lines)
	}
}

// ollama is a provider whose server the user runs.
func ollama() provider.Facts {
	f, _ := provider.FactsOf("ollama")
	return f
}

// host is a server of the user's own models.
type host struct {
	most, set     int
	down, missing error
	loaded        []provider.LoadedModel
}

func (h *host) Version(context.Context) (string, error) { return "0.12.3", h.down }

func (h *host) Windows(context.Context, string) (most, set int, err error) {
	return h.most, h.set, cmp.Or(h.down, h.missing)
}

func (h *host) Loaded(context.Context) ([]provider.LoadedModel, error) { return h.loaded, h.down }

func TestLocalServer(t *testing.T) {
	t.Parallel()
	const address = "http://127.0.0.1:11434"
	h := &host{most: 40960, set: 4096}
	o := &LocalServer{Provider: ollama(), Host: h, Address: address, Named: true, Model: "qwen3:8b"}
	check := func(want ...string) {
		t.Helper()
		lines, _ := report(t, o.Check)
		for _, line := range want {
			if !strings.Contains(lines, line) {
				t.Errorf("no line %q in\n%s", line, lines)
			}
		}
	}
	check("ok ollama: version 0.12.3 at "+address,
		`warn ollama: qwen3:8b has a window of 4096 tokens (from its Modelfile), at most 40960 | context = 32768 in [provider.ollama.models."qwen3:8b"] of config.toml`)
	o.Window = 32768
	check("ok ollama: qwen3:8b has a window of 32768 tokens (from your settings), at most 40960 |")
	o.Window, h.most, h.set = 0, 2048, 0
	check("warn ollama: qwen3:8b takes at most 2048 tokens")
	h.most = 131072
	check("ok ollama: qwen3:8b takes 131072 tokens; artoo asks for the size it needs |")
	h.missing = &provider.Error{Provider: "ollama", Status: 404, Message: "model 'qwen3:8b' not found"}
	check("fail ollama: qwen3:8b: model 'qwen3:8b' not found (404) | ollama pull qwen3:8b")
	o.Model = ""
	h.loaded = []provider.LoadedModel{
		{Name: "a", Size: 4294967296, Graphics: 1073741824, Context: 4096}, {Name: "b", Size: 1024, Graphics: 1024}}
	check("warn ollama: a is loaded, 4.0 GB, with a window of 4096 tokens, 75% of it outside the graphics card",
		"ok ollama: b is loaded, 1.0 KB |")
	h.down = errors.New("refused")
	check("warn ollama: no server answers at "+address, "| ollama serve")
	o.Model = "m"
	check("fail ollama: no server answers at "+address, "| ollama serve")
	o.Model = ""
	o.Named = false
	check("ok ollama: no server answers at " + address)
}
