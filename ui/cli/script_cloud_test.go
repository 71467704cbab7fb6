package cli

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"artoo/provider/providertest"
)

// cloudToken is what the token server of scripts gives.
const cloudToken = "ya29.token-of-the-cloud-0123456789"

// cloudWires are the wires of the clouds of scripts, and the paths of their models.
var cloudWires = map[string]struct{ wire, path string }{
	"azure":         {"responses", "/openai/v1/responses"},
	"vertex":        {"gemini", "/v1/projects/p/locations/global/publishers/google/models/gemini-test:streamGenerateContent?alt=sse"},
	"vertex-claude": {"anthropic", "/v1/projects/p/locations/l/publishers/anthropic/models/claude-test@1:streamRawPredict"},
}

// cmdCloud is `cloud azure|vertex|vertex-claude FILE`: starts that cloud on loopback, in HOST, whose one model answers with
// the replies of FILE; see server for their form. Who asks at another path, or without its credentials, is refused as the
// cloud refuses them. adc.json is a service account of Google's.
func cmdCloud(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || cloudWires[args[0]].wire == "" {
		ts.Fatalf("usage: cloud azure|vertex|vertex-claude FILE")
	}
	cloud := cloudWires[args[0]]
	replies := parseReplies(ts, args[1])
	m := &modelServer{arrived: make(chan struct{}, 1000)}
	m.Handler = &providertest.Handler{Next: func(n int, r providertest.Request) providertest.Reply {
		reply, err := makeReply(cloud.wire, n, replies[min(n, len(replies)-1)], r)
		if err != nil {
			return providertest.Fail(500, "script", err.Error()).With("X-Should-Retry", "false")
		}
		return reply
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":3600,"token_type":"Bearer"}`, cloudToken)
	})
	list := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if admitted(w, args[0], r) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, body)
			}
		}
	}
	mux.HandleFunc("GET /v1beta1/publishers/google/models", list(
		`{"publisherModels":[{"name":"publishers/google/models/gemini-test"},{"name":"publishers/google/models/gemini-embedding-001"},{"name":"publishers/google/models/chirp"}]}`))
	mux.HandleFunc("GET /v1beta1/publishers/anthropic/models", list(`{"publisherModels":[{"name":"publishers/anthropic/models/claude-test"}]}`))
	mux.HandleFunc("GET /openai/v1/models", list(`{"data":[{"id":"deployed"}]}`))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RequestURI() != cloud.path {
			http.Error(w, "no such path: "+r.URL.RequestURI(), http.StatusNotFound)
			return
		}
		if admitted(w, args[0], r) {
			m.ServeHTTP(w, r)
		}
	})
	srv := httptest.NewServer(mux)
	w := worldOf(ts)
	w.t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	w.server = m
	ts.Setenv("HOST", strings.TrimPrefix(srv.URL, "http://"))
	ts.Check(os.WriteFile(ts.MkAbs("adc.json"), serviceAccount(ts, srv.URL+"/token"), 0o600))
}

// admitted reports whether a request has a cloud's credentials, and refuses it otherwise.
func admitted(w http.ResponseWriter, cloud string, r *http.Request) bool {
	ok := r.Header.Get("Authorization") == "Bearer "+cloudToken
	if cloud == "azure" {
		ok = r.Header.Get("Api-Key") == "azure-test-0123456789" && r.Header.Get("Authorization") == ""
	}
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"code":401,"message":"no valid credentials","status":"UNAUTHENTICATED"}}`)
	}
	return ok
}

// serviceAccount is the file of a service account with a new key.
func serviceAccount(ts *testscript.TestScript, tokens string) []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	ts.Check(err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	file, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "artoo@test.example", "private_key_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokens})
	ts.Check(err)
	return file
}
