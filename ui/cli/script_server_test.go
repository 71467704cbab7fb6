package cli

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"artoo/provider"
	"artoo/provider/providertest"
)

// waitLimit bounds each wait of a script; only a bug makes one so long.
const waitLimit = time.Minute

// modelServer is the model behind a script.
type modelServer struct {
	*providertest.Handler
	arrived chan struct{} // one per request
}

// ServeHTTP implements http.Handler.
func (m *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.Handler.ServeHTTP(w, r) }

// cmdServer is `server anthropic|chat|responses|gemini|ollama|converse|tls[-lists] FILE`:
// starts a model on loopback that answers with the replies of FILE, and points
// artoo at it: provider, model, address and key. tls speaks the Messages API behind an unsigned certificate,
// which is written to ca.pem. The address without scheme is in HOST.
// ollama names the address only, and describes its one model by itself: it has a
// window of 4,096 tokens and calls tools. With -lists the replies answer requests
// for lists of models as any other; else there are none, and they are not counted.
// The files in the directory pages of $WORK are served below /pages/.
//
// Replies are paragraphs, their lines the parts:
//
//	say TEXT            a piece of the answer; \n is a newline
//	reason TEXT         a piece of the reasoning
//	call TOOL JSON      a tool call
//	calls N TOOL JSON   so many of them
//	long N              so many bytes of an answer
//	stop WORD           the stop reason in the wire's word
//	usage IN OUT        tokens; nousage reports none
//	fail STATUS TYPE MESSAGE
//	body STATUS JSON    an answer as it is
//	page STATUS TITLE   a proxy's HTML
//	header NAME VALUE
//	events N            only the first N events of the stream
//	break N TYPE WORDS  an error after that
//	hang, reset         how it ends: with silence, with a broken connection
//	silent              nothing at all, not even a head
//	find REGEXP         its match in the request is @FOUND in the lines below
//	repeat              the reply of all further requests too
func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: server anthropic|chat|responses|gemini|ollama|tls[-lists] FILE")
	}
	wire, lists := strings.CutSuffix(args[0], "-lists")
	replies := parseReplies(ts, args[1])
	m := &modelServer{arrived: make(chan struct{}, 1000)}
	m.Handler = &providertest.Handler{Next: func(n int, r providertest.Request) providertest.Reply {
		m.arrived <- struct{}{}
		if n >= len(replies) {
			if !slices.Contains(replies[len(replies)-1], "repeat") {
				return providertest.Fail(500, "script",
					fmt.Sprintf("the script has only %d replies", len(replies))).With("X-Should-Retry", "false")
			}
			n = len(replies) - 1
		}
		reply, err := makeReply(wire, n, replies[n], r)
		if err != nil {
			return providertest.Fail(500, "script", err.Error()).With("X-Should-Retry", "false")
		}
		return reply
	}}
	w := worldOf(ts)
	srv := httptest.NewUnstartedServer(describing(m, !lists, ts.Getenv("WORK")))
	if wire == "tls" {
		srv.Config.ErrorLog = nil
		srv.StartTLS()
		cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
		ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), cert, 0o600))
	} else {
		srv.Start()
	}
	w.t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	w.server = m
	_, host, _ := strings.Cut(srv.URL, "://")
	ts.Setenv("HOST", host)
	ts.Setenv("ARTOO_MODEL", "test-model")
	switch wire {
	case "chat":
		ts.Setenv("ARTOO_PROVIDER", "compatible")
		ts.Setenv("ARTOO_BASE_URL", srv.URL+"/v1")
		return
	case "gemini":
		ts.Setenv("ARTOO_PROVIDER", "gemini")
		ts.Setenv("GOOGLE_GEMINI_BASE_URL", srv.URL)
		ts.Setenv("GEMINI_API_KEY", "key-test-0123456789")
		return
	case "converse":
		ts.Setenv("ARTOO_PROVIDER", "bedrock")
		ts.Setenv("ARTOO_BASE_URL", srv.URL)
		ts.Setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-test-0123456789")
		return
	case "ollama":
		ts.Setenv("ARTOO_PROVIDER", "")
		ts.Setenv("ARTOO_MODEL", "")
		ts.Setenv("OLLAMA_HOST", host)
		return
	}
	if wire == "responses" {
		ts.Setenv("ARTOO_PROVIDER", "openai")
		ts.Setenv("OPENAI_BASE_URL", srv.URL+"/v1/responses")
		ts.Setenv("OPENAI_API_KEY", "sk-test-0123456789")
		return
	}
	ts.Setenv("ARTOO_PROVIDER", "anthropic")
	ts.Setenv("ANTHROPIC_BASE_URL", srv.URL)
	ts.Setenv("ANTHROPIC_API_KEY", "sk-test-0123456789")
}

// describing answers the requests to an Ollama server besides chats, and, if silent,
// says that there is no list of models; such requests are not counted, nor are those for
// the files in the directory pages of work.
func describing(m *modelServer, silent bool, work string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", m)
	mux.Handle("/pages/", http.FileServerFS(os.DirFS(work)))
	if silent {
		mux.Handle("/v1/models", http.NotFoundHandler())
		mux.Handle("GET /v1beta/models/{name}", http.NotFoundHandler())
	}
	answer := func(reply providertest.Reply) http.Handler {
		return &providertest.Handler{Next: func(int, providertest.Request) providertest.Reply { return reply }}
	}
	mux.Handle("/api/show", answer(providertest.OllamaShow(4096, "completion", "tools")))
	mux.Handle("/api/ps", http.NotFoundHandler())
	for path, body := range map[string]string{"/api/version": `{"version":"0.15.0"}`,
		"/api/tags": `{"models":[{"name":"test-model"},{"name":"older"}]}`} {
		mux.Handle(path, answer(providertest.JSON(200, body)))
	}
	return mux
}

// parseReplies splits the file into paragraphs of lines.
func parseReplies(ts *testscript.TestScript, name string) [][]string {
	text := strings.ReplaceAll(ts.ReadFile(name), "$WORK", ts.Getenv("WORK"))
	var replies [][]string
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		replies = append(replies, strings.Split(strings.TrimSpace(paragraph), "\n"))
	}
	return replies
}

// makeReply makes the n-th reply.
func makeReply(wire string, n int, lines []string, r providertest.Request) (providertest.Reply, error) {
	b := replyBuilder{wire: wire, request: r, prefix: fmt.Sprintf("call_%d", n+1)}
	for _, line := range lines {
		if err := b.line(strings.ReplaceAll(line, "@FOUND", b.found)); err != nil {
			return providertest.Reply{}, fmt.Errorf("%s: %w", line, err)
		}
	}
	return b.reply(), nil
}

type replyBuilder struct {
	wire    string
	request providertest.Request
	prefix  string // of the ids of calls
	found   string
	items   []providertest.Item
	whole   *providertest.Reply
	calls   int
	changes []func(providertest.Reply) providertest.Reply
}

func (b *replyBuilder) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	first, second, _ := strings.Cut(rest, " ")
	add := func(it providertest.Item) { b.items = append(b.items, it) }
	text := strings.ReplaceAll(rest, `\n`, "\n")
	switch word {
	case "say":
		add(providertest.Text(text))
	case "reason":
		add(providertest.Reason(text))
	case "call":
		b.calls++
		add(providertest.Call(fmt.Sprintf("%s_%d", b.prefix, b.calls), first, second))
	case "calls":
		n, err := strconv.Atoi(first)
		if err != nil {
			return err
		}
		for range n {
			if err := b.line("call " + second); err != nil {
				return err
			}
		}
	case "long":
		n, err := strconv.Atoi(first)
		if err != nil {
			return err
		}
		add(providertest.Text(strings.Repeat("word ", n/5)))
	case "stop":
		add(providertest.Stop(rest))
	case "nousage":
		add(providertest.NoUsage())
	case "usage":
		in, err1 := strconv.Atoi(first)
		out, err2 := strconv.Atoi(second)
		add(providertest.Usage(provider.Usage{Input: in, Output: out}))
		if err1 != nil {
			return err1
		}
		return err2
	default:
		return b.shape(word, rest)
	}
	return nil
}

// shape takes the words for a reply as a whole, and for its end.
func (b *replyBuilder) shape(word, rest string) error {
	first, second, _ := strings.Cut(rest, " ")
	change := func(f func(providertest.Reply) providertest.Reply) { b.changes = append(b.changes, f) }
	replace := func(r providertest.Reply) { b.whole = &r }
	switch word {
	case "body":
		status, err := strconv.Atoi(first)
		replace(providertest.JSON(status, second))
		return err
	case "fail", "page":
		status, err := strconv.Atoi(first)
		if err != nil {
			return err
		}
		kind, message, _ := strings.Cut(second, " ")
		if word == "page" {
			replace(providertest.Page(status, second))
		} else {
			replace(providertest.Fail(status, kind, message))
		}
	case "header":
		change(func(r providertest.Reply) providertest.Reply { return r.With(first, second) })
	case "events":
		count, err := strconv.Atoi(rest)
		change(func(r providertest.Reply) providertest.Reply { return r.Events(count) })
		return err
	case "break":
		count, err := strconv.Atoi(first)
		kind, message, _ := strings.Cut(second, " ")
		change(func(r providertest.Reply) providertest.Reply { return r.Break(count, kind, message) })
		return err
	case "hang":
		change(func(r providertest.Reply) providertest.Reply { return r.Ends(providertest.Hang) })
	case "reset":
		change(func(r providertest.Reply) providertest.Reply { return r.Ends(providertest.Reset) })
	case "silent":
		replace(providertest.Silent())
	case "find":
		found := regexp.MustCompile(rest).FindSubmatch(b.request.Body) // the last group, or all
		if found != nil {
			b.found = string(found[len(found)-1])
		}
		if b.found == "" {
			return fmt.Errorf("not in the request %s", b.request.Body)
		}
	case "repeat":
	default:
		return fmt.Errorf("unknown word %q", word)
	}
	return nil
}

func (b *replyBuilder) reply() providertest.Reply {
	build := providertest.Anthropic
	switch b.wire {
	case "chat":
		build = providertest.Chat
	case "responses":
		build = providertest.Responses
	case "gemini":
		build = providertest.Gemini
	case "ollama":
		build = providertest.Ollama
	case "converse":
		build = providertest.Converse
	}
	r := build(b.items...)
	if b.whole != nil {
		r = *b.whole
	}
	for _, change := range b.changes {
		r = change(r)
	}
	return r
}

// cmdAwait is `await N`: waits until N more requests have come.
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	if neg || len(args) != 1 || w.server == nil {
		ts.Fatalf("usage: await N, after server")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range n {
		select {
		case <-w.server.arrived:
		case <-time.After(waitLimit):
			ts.Fatalf("no request came")
		}
	}
}

// cmdRequests is `requests N`: the server has seen N requests. Their bodies are
// in requests/1.json and so on, indented.
func cmdRequests(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	if neg || len(args) != 1 || w.server == nil {
		ts.Fatalf("usage: requests N, after server")
	}
	seen := w.server.Requests()
	if strconv.Itoa(len(seen)) != args[0] {
		ts.Fatalf("the server saw %d requests", len(seen))
	}
	dir := ts.MkAbs("requests")
	ts.Check(os.MkdirAll(dir, 0o700))
	for i, r := range seen {
		var pretty bytes.Buffer
		if len(r.Body) == 0 { // a GET
			continue
		}
		ts.Check(json.Indent(&pretty, r.Body, "", " "))
		pretty.WriteByte('\n')
		ts.Check(os.WriteFile(filepath.Join(dir, strconv.Itoa(i+1)+".json"), pretty.Bytes(), 0o600))
	}
}

// cmdPrefix is `prefix A B`: request B begins with the very bytes of request A
// up to the end of its history, cache marks left out.
func cmdPrefix(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	if len(args) != 2 || w.server == nil {
		ts.Fatalf("usage: prefix A B, after server")
	}
	var bodies [2][]byte
	for i, arg := range args {
		n, err := strconv.Atoi(arg)
		ts.Check(err)
		seen := w.server.Requests()
		if n < 1 || n > len(seen) {
			ts.Fatalf("there are %d requests", len(seen))
		}
		bodies[i] = withoutMarks(seen[n-1].Body)
	}
	head := history(bodies[0])
	if len(head) == 0 {
		ts.Fatalf("no history in %s", bodies[0])
	}
	if bytes.HasPrefix(bodies[1], head) == neg {
		ts.Fatalf("request %s does not go on where request %s ends:\n%s\n%s", args[1], args[0], bodies[0], bodies[1])
	}
}

// withoutMarks takes the cache marks out of a body.
func withoutMarks(body []byte) []byte {
	return regexp.MustCompile(`,"cache_control":\{[^}]*\}`).ReplaceAll(body, nil)
}

// historyStart is where the first message stands, -1 where there is none.
func historyStart(body []byte) int {
	for _, key := range []string{`"messages":[`, `"input":[`, `"contents":[`} {
		if at := bytes.Index(body, []byte(key)); at >= 0 {
			return at + len(key)
		}
	}
	return -1
}

// history is the body up to the end of its last message, nil when there is none.
func history(body []byte) []byte {
	start := historyStart(body)
	if start < 0 {
		return nil
	}
	start-- // at the list's bracket
	d := json.NewDecoder(bytes.NewReader(body[start:]))
	var list []json.RawMessage
	if err := d.Decode(&list); err != nil || len(list) == 0 {
		return nil
	}
	return body[:start+int(d.InputOffset())-1]
}
