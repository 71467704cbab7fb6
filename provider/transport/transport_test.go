package transport

import (
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/tool/needs"
)

// secure is a TLS server with HTTP/2, and a file with its certificate.
func secure(t *testing.T) (srv *httptest.Server, caFile string) {
	t.Helper()
	srv = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		io.WriteString(w, r.Proto)
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // Tests want handshakes to be refused.
	srv.StartTLS()
	t.Cleanup(srv.Close)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	return srv, caFile
}

func get(t *testing.T, hc *http.Client, address string) (string, error) {
	t.Helper()
	t.Cleanup(hc.CloseIdleConnections)
	resp, err := hc.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func client(t *testing.T, o Options, env proxyFunc) *http.Client {
	t.Helper()
	tr, err := newTransport(o, env)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: tr}
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

func TestCAFile(t *testing.T) {
	t.Parallel()
	srv, caFile := secure(t)
	hc, err := New(Options{CAFile: caFile})
	if err != nil {
		t.Fatal(err)
	}
	if proto, err := get(t, hc, srv.URL); err != nil || proto != "HTTP/2.0" {
		t.Errorf("with the file: %q %v, want HTTP/2.0", proto, err)
	}
	plain, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, plain, srv.URL); err == nil {
		t.Error("without the file the server was trusted")
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("-----BEGIN CERTIFICATE-----\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{empty, filepath.Join(t.TempDir(), "none.pem"), t.TempDir()} {
		_, err := New(Options{CAFile: bad})
		var e *Error
		if !errors.As(err, &e) || e.ErrorKind() != "config" || e.ErrorHint() == "" || !strings.Contains(e.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestOfflineRefusesPublicAddresses(t *testing.T) {
	t.Parallel()
	near := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://192.0.2.1:9/", http.StatusFound)
		}
	}))
	defer near.Close()
	hc := client(t, Options{Offline: true}, noProxy)
	if _, err := get(t, hc, near.URL); err != nil {
		t.Errorf("a loopback server: %v", err)
	}
	t.Run("localhost", func(t *testing.T) {
		_, err := net.LookupHost("localhost")
		needs.Thing(t, "the name localhost", err)
		if _, err := get(t, hc, strings.Replace(near.URL, "127.0.0.1", "localhost", 1)); err != nil {
			t.Error(err)
		}
	})
	for _, address := range []string{"http://192.0.2.1:9/", "http://[::ffff:192.0.2.1]:9/", "http://[2001:db8::1]:9/",
		near.URL + "/away"} {
		_, err := get(t, hc, address)
		var e *Error
		if !errors.As(err, &e) || e.ErrorKind() != "config" || !strings.Contains(e.ErrorHint(), "ARTOO_OFFLINE") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestOfflineKeepsLookupsInTheHouse(t *testing.T) {
	t.Parallel()
	g := &guard{dialer: &net.Dialer{}, nameServer: "192.0.2.1:53"}
	for _, host := range []string{"gpu-box.local", "models.home.arpa", "gpu-box"} {
		_, err := g.DialContext(t.Context(), "tcp", host+":443")
		var e *Error
		if !errors.As(err, &e) || e.ErrorKind() != "config" || !strings.Contains(e.Error(), host) ||
			!strings.Contains(e.Error(), "192.0.2.1") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestOfflineAsksNobodyForAPublicName: not even a name server in the house, which
// would pass the question on.
func TestOfflineAsksNobodyForAPublicName(t *testing.T) {
	t.Parallel()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	g := &guard{dialer: &net.Dialer{}, nameServer: server.LocalAddr().String()}
	for _, host := range []string{"model.example", "api.model.example.", "localhost.example", "home.arpa.example"} {
		_, err := g.DialContext(t.Context(), "tcp", host+":443")
		var e *Error
		if !errors.As(err, &e) || e.ErrorKind() != "config" ||
			!strings.Contains(e.Error(), "offline: "+host+" is not on this machine") ||
			!strings.Contains(e.ErrorHint(), "ARTOO_OFFLINE") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := server.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if n, _, err := server.ReadFrom(make([]byte, 512)); err == nil {
		t.Errorf("a name server was asked, %d bytes", n)
	}
}

func TestOfflineConnectsToNearAddressesOnly(t *testing.T) {
	t.Parallel()
	g := &guard{}
	for address, want := range map[string]bool{
		"192.0.2.1:443": false, "[::ffff:192.0.2.1]:443": false, "[2001:db8::1]:443": false, "[::ffff:10.1.2.3]:1": true,
		"127.0.0.1:1": true, "[::1]:1": true, "[fe80::1%eth0]:1": true, "10.1.2.3:1": true, "0.0.0.0:1": true,
		"[::]:1": true, "nonsense": false,
	} {
		if err := g.control(t.Context(), "tcp", address, nil); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %v", address, err, want)
		}
	}
}

// TestOfflineTakesNoProxyOut: a proxy in the house connects to anything.
func TestOfflineTakesNoProxyOut(t *testing.T) {
	t.Parallel()
	asked := ""
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		asked += r.URL.Host + " "
	}))
	defer proxy.Close()
	env := func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	hc := client(t, Options{Offline: true}, env)
	if _, err := get(t, hc, "http://192.0.2.1:9/"); err == nil || asked != "" {
		t.Errorf("error %v, the proxy was asked for %q", err, asked)
	}
}

func TestProxyErrorsNameTheFixAndNoPassword(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "closed.example:443" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer refusing.Close()
	at := func(address string) proxyFunc {
		return func(*http.Request) (*url.URL, error) { return url.Parse(address) }
	}
	withPassword := strings.Replace(refusing.URL, "http://", "http://me:hunter22@", 1)
	for name, tc := range map[string]struct {
		env     proxyFunc
		address string
		kind    string
		words   string
		hint    string
	}{
		"no address": {at("http://me:hunter22@ho st:1"), "https://open.example/", "config", "not a valid address",
			"http://host:port"},
		"wants a user": {at(withPassword), "https://open.example/", "network",
			"refuses to connect to open.example:443: 407", "user and password"},
		"does not allow": {at(withPassword), "https://closed.example/", "network",
			"refuses to connect to closed.example:443: 403", "put closed.example into NO_PROXY"},
	} {
		_, err := get(t, client(t, Options{}, tc.env), tc.address)
		var e *Error
		if !errors.As(err, &e) || e.ErrorKind() != tc.kind || !strings.Contains(e.Error(), tc.words) ||
			!strings.Contains(e.ErrorHint(), tc.hint) || strings.Contains(err.Error()+e.ErrorHint(), "hunter22") {
			t.Errorf("%s: %v, hint %q", name, err, e.ErrorHint())
		}
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "a.localhost": true, "127.0.0.1": true, "::1": true, "0.0.0.0": true,
		"192.168.1.9": true,
		"fe80::1":     true, "fd00::1": true, "169.254.1.1": true, "8.8.8.8": false, "api.example": false,
		".localhost.example": false, "": false,
		"localhost.example": false, "172.32.0.1": false, "::ffff:8.8.8.8": false, "::ffff:10.0.0.1": true,
	} {
		if got := Local(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
	if Private(netip.MustParseAddr("2001:db8::1")) {
		t.Error("2001:db8::1 counts as private")
	}
}
