package cli

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"artoo/provider/providertest"
)

// cloudToken is the token from the token server of scripts.
const cloudToken = "ya29.token-of-the-cloud-0123456789"

// cloudWires are the wires of the clouds of scripts, and the paths of their models.
var cloudWires = map[string]struct{ wire, path string }{
	"azure":         {"responses", "/openai/v1/responses"},
	"azure-entra":   {"responses", "/openai/v1/responses"},
	"vertex":        {"gemini", "/v1/projects/p/locations/global/publishers/google/models/gemini-test:streamGenerateContent?alt=sse"},
	"bedrock":       {"converse", "/model/eu.anthropic.claude-test-v1%3A0/converse-stream"},
	"vertex-claude": {"anthropic", "/v1/projects/p/locations/l/publishers/anthropic/models/claude-test@1:streamRawPredict"},
}

// cmdCloud is `cloud azure|azure-entra|bedrock|vertex|vertex-claude FILE`: starts that cloud on loopback, in HOST, whose one model answers with
// the replies of FILE; see server for their form. A request for another path, or without its credentials, is refused as
// the cloud refuses it. adc.json is a service account of Google's.
func cmdCloud(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || cloudWires[args[0]].wire == "" {
		ts.Fatalf("usage: cloud azure|azure-entra|bedrock|vertex|vertex-claude FILE")
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
	mux.HandleFunc("GET /foundation-models", list(
		`{"modelSummaries":[{"modelId":"amazon.nova-test-v1:0","modelName":"Nova Test","inputModalities":["TEXT"],"outputModalities":["TEXT"],"responseStreamingSupported":true,"inferenceTypesSupported":["ON_DEMAND"]},{"modelId":"anthropic.claude-test-v1:0","responseStreamingSupported":true,"inferenceTypesSupported":["INFERENCE_PROFILE"]}]}`))
	mux.HandleFunc("GET /inference-profiles", list(`{"inferenceProfileSummaries":[{"inferenceProfileId":"eu.anthropic.claude-test-v1:0","inferenceProfileName":"EU Claude"}]}`))
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
	switch cloud {
	case "bedrock":
		ok = signed(r)
	case "azure":
		ok = r.Header.Get("Api-Key") == "azure-test-0123456789" && r.Header.Get("Authorization") == ""
	}
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"code":401,"message":"no valid credentials","status":"UNAUTHENTICATED"}}`)
	}
	return ok
}

// signed reports whether a request has the signature of the scripts' credentials, which is made here by the rules of
// Signature Version 4 alone.
func signed(r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	const id, secret, region = "AKIDSCRIPT", "script-secret-0123456789", "eu-central-1"
	date := r.Header.Get("X-Amz-Date")
	scope := date[:min(8, len(date))] + "/" + region + "/bedrock/aws4_request"
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	names, _, _ := strings.Cut(rest, ",")
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", r.Method, strings.ReplaceAll(r.URL.EscapedPath(), "%", "%25"), strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20"))
	for name := range strings.SplitSeq(names, ";") {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, strings.TrimSpace(value))
	}
	fmt.Fprintf(&canonical, "\n%s\n%x", names, sha256.Sum256(body))
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", date, scope, sha256.Sum256([]byte(canonical.String())))
	key := []byte("AWS4" + secret)
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	for word := range strings.SplitSeq(scope, "/") {
		key = mac(key, word)
	}
	want := fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x", id, scope, names, mac(key, text))
	return r.Header.Get("Authorization") == want
}

// accountKey is the key of the service accounts: to make one takes longer than the rest of a script.
var accountKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// serviceAccount is the file of a service account.
func serviceAccount(ts *testscript.TestScript, tokens string) []byte {
	key, err := accountKey()
	ts.Check(err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	file, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "artoo@test.example", "private_key_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokens})
	ts.Check(err)
	return file
}
