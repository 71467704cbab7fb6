package mcptest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Web is a Server over HTTP, at /mcp. Its kinds are also:
//
//	sse       only the transport of 2024-11-05
//	stream    answers by events; else by JSON
//	deafget   never answers the GET that listens
//	changing  reports a hundred times a second, to each listener, that its tools have changed
//	breaks    cuts the connection at a call
//	session   wants a session, which it forgets when Forget is called
//	token     wants the bearer token "right"
//	oauth     wants a login at itself; a token lasts until Expire is called
type Web struct {
	*Server
	mu       sync.Mutex
	url      string // its own, without path
	issuer   string // the path of the server of the login
	session  int
	valid    string // the access token that is taken
	refresh  string // and the refresh token
	issued   int
	renewed  int
	secret   string                // the client's, of the newest request for a token
	codes    map[string]url.Values // the query that asked for a code
	requests []http.Header         // the headers of POST requests to /mcp
	streams  map[string]chan any   // the old transport's
}

// NewWeb makes a server whose own address, without path, is url as soon as SetURL was called.
func NewWeb(kinds ...string) *Web {
	return &Web{Server: New(kinds...), session: 1, codes: map[string]url.Values{}, streams: map[string]chan any{}}
}

// SetURL says where the server is reached.
func (w *Web) SetURL(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.url = url
}

// SetIssuer gives the server of the login another path, and with it another identity.
func (w *Web) SetIssuer(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.issuer = path
}

// Forget forgets the session.
func (w *Web) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session++
}

// Expire makes the access token invalid. With both the refresh token is, too.
func (w *Web) Expire(both bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.valid = "expired"; both {
		w.refresh = "expired"
	}
}

// Renewed is how often a token was renewed.
func (w *Web) Renewed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.renewed
}

// Secret is the client secret of the newest request for a token, "" for none.
func (w *Web) Secret() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.secret
}

// Requests are the headers of all requests to the server.
func (w *Web) Requests() []http.Header {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// ServeHTTP implements http.Handler.
func (w *Web) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	switch {
	case req.URL.Path == "/mcp" || req.URL.Path == "/post":
		w.mcp(out, req)
	case w.is("oauth"):
		w.oauth(out, req)
	default:
		http.NotFound(out, req)
	}
}

func (w *Web) mcp(out http.ResponseWriter, req *http.Request) {
	w.mu.Lock()
	session, valid, address := fmt.Sprint("session-", w.session), w.valid, w.url
	w.requests = append(w.requests, req.Header.Clone())
	w.mu.Unlock()
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	if w.is("token") && token != "right" || w.is("oauth") && (token == "" || token != valid) {
		if w.is("oauth") {
			out.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+address+`/.well-known/oauth-protected-resource/mcp", scope="read"`)
		}
		http.Error(out, "no", http.StatusUnauthorized)
		return
	}
	if w.is("sse") && req.URL.Path == "/mcp" {
		w.oldStream(out, req)
		return
	}
	switch req.Method {
	case http.MethodGet:
		if w.is("deafget") {
			<-req.Context().Done()
			return
		}
		if w.is("changing") {
			out.Header().Set("Content-Type", "text/event-stream")
			for {
				event(out, "message", Message{Version: "2.0", Method: "notifications/tools/list_changed"})
				select {
				case <-req.Context().Done():
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
		http.Error(out, "no", http.StatusMethodNotAllowed)
		return
	case http.MethodDelete:
		return
	}
	var m Message
	if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	if w.is("breaks") && m.Method == "tools/call" {
		panic(http.ErrAbortHandler)
	}
	if w.is("sse") {
		w.mu.Lock()
		stream := w.streams[req.URL.Query().Get("id")]
		w.mu.Unlock()
		out.WriteHeader(http.StatusAccepted)
		go w.Handle(m, func(msg any) { stream <- msg })
		return
	}
	if w.is("session") && m.Method != "initialize" && m.Method != "server/discover" && req.Header.Get("Mcp-Session-Id") != session {
		http.Error(out, "no such session", http.StatusNotFound)
		return
	}
	if w.is("session") && m.Method == "initialize" {
		out.Header().Set("Mcp-Session-Id", session)
	}
	if m.ID == nil || m.Method == "" {
		w.Handle(m, func(any) {})
		out.WriteHeader(http.StatusAccepted)
		return
	}
	if !w.is("stream") {
		out.Header().Set("Content-Type", "application/json")
		w.Handle(m, func(msg any) {
			if reply, ok := msg.(Message); ok && reply.Method == "" {
				json.NewEncoder(out).Encode(msg)
			}
		})
		return
	}
	out.Header().Set("Content-Type", "text/event-stream")
	var one sync.Mutex
	w.Handle(m, func(msg any) {
		one.Lock()
		defer one.Unlock()
		event(out, "message", msg)
	})
}

func event(out http.ResponseWriter, name string, msg any) {
	fmt.Fprintf(out, "event: %s\ndata: %s\n\n", name, raw(msg))
	out.(http.Flusher).Flush()
}

// oldStream is the stream of the transport of 2024-11-05.
func (w *Web) oldStream(out http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet {
		http.Error(out, "no", http.StatusMethodNotAllowed)
		return
	}
	w.mu.Lock()
	id := fmt.Sprint(len(w.streams))
	stream := make(chan any)
	w.streams[id] = stream
	w.mu.Unlock()
	out.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(out, "event: endpoint\ndata: /post?id=%s\n\n", id)
	out.(http.Flusher).Flush()
	for {
		select {
		case msg := <-stream:
			event(out, "message", msg)
		case <-req.Context().Done():
			return
		}
	}
}

// oauth is the server of the login, which asks nobody anything.
func (w *Web) oauth(out http.ResponseWriter, req *http.Request) {
	answer := func(status int, v object) {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(status)
		json.NewEncoder(out).Encode(v)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	issuer := w.url + w.issuer
	switch path, _ := strings.CutPrefix(req.URL.Path, w.issuer); path {
	case "/.well-known/oauth-protected-resource/mcp":
		answer(200, object{"resource": w.url + "/mcp", "authorization_servers": []string{issuer}, "scopes_supported": []string{"read"}})
	case "/.well-known/oauth-authorization-server" + w.issuer:
		answer(200, object{"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token",
			"registration_endpoint": issuer + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true})
	case "/register":
		answer(201, object{"client_id": "c1", "redirect_uris": []string{"http://127.0.0.1/callback"}, "token_endpoint_auth_method": "none"})
	case "/authorize":
		q := req.URL.Query()
		code := fmt.Sprint("code-", len(w.codes))
		w.codes[code] = q
		http.Redirect(out, req, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {issuer}}.Encode(), http.StatusFound)
	case "/token":
		asked := w.codes[req.FormValue("code")]
		if w.secret = req.FormValue("client_secret"); w.secret == "" {
			_, w.secret, _ = req.BasicAuth()
		}
		sum := sha256.Sum256([]byte(req.FormValue("code_verifier")))
		right := asked != nil && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) && asked.Get("resource") == w.url+"/mcp"
		if req.FormValue("grant_type") == "refresh_token" {
			right = req.FormValue("refresh_token") == w.refresh && req.FormValue("client_id") == "c1"
			w.renewed++
		}
		if !right {
			answer(400, object{"error": "invalid_grant"})
			return
		}
		w.issued++
		w.valid, w.refresh = fmt.Sprint("access-", w.issued), fmt.Sprint("refresh-", w.issued)
		answer(200, object{"access_token": w.valid, "refresh_token": w.refresh, "token_type": "Bearer", "expires_in": 3600})
	default:
		http.NotFound(out, req)
	}
}
