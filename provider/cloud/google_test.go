package cloud

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"artoo/provider"
)

// googleServer gives tokens to whoever holds the key, each with its number, and answers requests that have the newest.
type googleServer struct {
	*httptest.Server
	key     *rsa.PrivateKey
	tokens  int
	expires int // seconds
	refuse  bool
	seen    []http.Header
}

func newGoogleServer(t *testing.T) *googleServer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	g := &googleServer{key: key, expires: 3600}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", g.token)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		g.seen = append(g.seen, r.Header)
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer ya29.token-%d", g.tokens) {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.Copy(w, r.Body) // an echo that breaks off fails the test by itself
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "a@b.example", "private_key_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": g.URL + "/token",
		"quota_project_id": "paying"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(googleVariable, path)
	return g
}

func (g *googleServer) token(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.FormValue("assertion"), ".")
	if g.refuse || len(parts) != 3 || !g.signed(parts) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
		return
	}
	g.tokens++
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":"ya29.token-%d","expires_in":%d,"token_type":"Bearer"}`, g.tokens, g.expires)
}

func (g *googleServer) signed(parts []string) bool {
	claims, err1 := base64.RawURLEncoding.DecodeString(parts[1])
	signature, err2 := base64.RawURLEncoding.DecodeString(parts[2])
	hash := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return err1 == nil && err2 == nil && strings.Contains(string(claims), googleScope) &&
		rsa.VerifyPKCS1v15(&g.key.PublicKey, crypto.SHA256, hash[:], signature) == nil
}

func newTransport(t *testing.T, auth provider.Auth) (*Transport, *[]string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	var secrets []string
	return New(client.Transport, Options{Environ: os.Environ(), Auth: auth, HTTP: client, Beside: client,
		Secret: func(s string) { secrets = append(secrets, s) },
		Run: func(_ context.Context, command string) (string, error) {
			if command != "give me" {
				t.Errorf("ran %q", command)
			}
			return "{\n\"Version\": 1, \"AccessKeyId\": \"AKP\",\n\"SecretAccessKey\": \"sp\", \"SessionToken\": \"tp\"}\n", nil
		}}), &secrets
}

func post(t *testing.T, tr *Transport, address string) (status int, echo string) {
	t.Helper()
	answer, err := (&http.Client{Transport: tr}).Post(address, "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestAServiceAccountsTokenIsSentUntilItExpires(t *testing.T) {
	g := newGoogleServer(t)
	tr, secrets := newTransport(t, provider.AuthGoogle)
	for range 3 {
		if status, echo := post(t, tr, g.URL); status != 200 || echo != "hello" {
			t.Fatalf("%d %q", status, echo)
		}
	}
	if g.tokens != 1 || g.seen[0].Get("X-Goog-User-Project") != "paying" || strings.Join(*secrets, "") != "ya29.token-1" {
		t.Errorf("%d tokens, headers %v, secrets %v", g.tokens, g.seen[0], *secrets)
	}
	if source, err := tr.Source(t.Context()); source != googleVariable || err != nil {
		t.Errorf("from %q, %v", source, err)
	}
	g.expires = 30 // less than the margin
	tr, _ = newTransport(t, provider.AuthGoogle)
	post(t, tr, g.URL)
	post(t, tr, g.URL)
	if g.tokens != 3 {
		t.Errorf("%d tokens, want one for each request", g.tokens)
	}
}

func TestARefusedTokenIsFetchedAgain(t *testing.T) {
	g := newGoogleServer(t)
	tr, _ := newTransport(t, provider.AuthGoogle)
	post(t, tr, g.URL)
	g.tokens = 7 // the server forgot the one that it gave
	if status, echo := post(t, tr, g.URL); status != 200 || echo != "hello" || g.tokens != 8 || len(g.seen) != 3 {
		t.Errorf("%d %q after %d requests, token %d", status, echo, len(g.seen), g.tokens)
	}
	g.tokens, g.refuse = 20, true
	if status, _ := post(t, tr, g.URL); status != 401 || len(g.seen) != 4 {
		t.Errorf("status %d after %d requests: the refusal is the answer where no other token is to be had", status, len(g.seen))
	}
}

func TestFaultsOfGooglesCredentialsHaveAKind(t *testing.T) {
	g := newGoogleServer(t)
	tr, _ := newTransport(t, provider.AuthGoogle)
	g.refuse = true
	_, err := tr.Source(t.Context())
	if e := provider.AsError(err); e == nil || e.Kind != provider.KindAuth || e.Temporary() || !strings.Contains(e.Message, "Invalid JWT Signature.") {
		t.Errorf("refused: %v", err)
	}
	g.Close()
	_, err = tr.Source(t.Context())
	if e := provider.AsError(err); e == nil || e.Kind != provider.KindNetwork || !e.Temporary() {
		t.Errorf("unreachable: %v", err)
	}
	t.Setenv(googleVariable, filepath.Join(t.TempDir(), "none"))
	_, err = tr.Source(t.Context())
	if e := provider.AsError(err); e == nil || e.Kind != provider.KindAuth || e.Hint != googleHint {
		t.Errorf("missing: %v", err)
	}
}

type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestATokenThatDoesNotComeIsNotWaitedForLong(t *testing.T) {
	newGoogleServer(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		tr := New(hanging{}, Options{Environ: os.Environ(), Auth: provider.AuthGoogle, HTTP: &http.Client{Transport: hanging{}}})
		_, err := tr.Source(t.Context())
		if e := provider.AsError(err); e == nil || e.Kind != provider.KindNetwork || time.Since(began) != tokenLimit {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
