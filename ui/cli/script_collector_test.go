package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdCollector is `collector STATUS|hang`: a collector of OpenTelemetry on loopback that answers so, and keeps each
// request as a line of otlp/traces or otlp/metrics, with its headers in otlp/headers. The variable of its address is set. A
// slow run sends its spans in several requests.
func cmdCollector(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: collector STATUS|hang")
	}
	dir := ts.MkAbs("otlp")
	ts.Check(os.RemoveAll(dir))
	ts.Check(os.Mkdir(dir, 0o700))
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		if err == nil {
			err = appendTo(filepath.Join(dir, filepath.Base(r.URL.Path)), append(body, '\n'))
		}
		var head strings.Builder
		if err == nil {
			err = r.Header.Write(&head)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "headers"), []byte(head.String()), 0o600)
		}
		mu.Unlock()
		status, numberErr := strconv.Atoi(args[0])
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case numberErr != nil:
			<-r.Context().Done()
		default:
			w.WriteHeader(status)
		}
	}))
	worldOf(ts).t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
}

func appendTo(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// sentSpan is a span as far as the tests look at it.
type sentSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	Attributes                          []struct {
		Key   string
		Value struct {
			StringValue, IntValue string
			DoubleValue           float64
		}
	}
}

func (s sentSpan) text(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue
		}
	}
	return ""
}

func (s sentSpan) number(key string) float64 {
	for _, a := range s.Attributes {
		if a.Key != key {
			continue
		}
		if n, err := strconv.Atoi(a.Value.IntValue); err == nil {
			return float64(n)
		}
		return a.Value.DoubleValue
	}
	return 0
}

// sentSpans are all spans that came to the collector.
func sentSpans(ts *testscript.TestScript) (spans []sentSpan) {
	for request := range strings.Lines(ts.ReadFile("otlp/traces")) {
		var sent struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []sentSpan } }
		}
		ts.Check(json.Unmarshal([]byte(request), &sent))
		for _, r := range sent.ResourceSpans {
			for _, s := range r.ScopeSpans {
				spans = append(spans, s.Spans...)
			}
		}
	}
	return spans
}

// cmdSpans is `spans CALLS`: the spans that came to the collector are one tree, have so many calls, and add up to the
// result of the run, which was in JSON on stdout. It prints the tree, one span a line, into the file spans.
func cmdSpans(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: spans CALLS")
	}
	var result struct {
		SessionID string `json:"session_id"`
		Usage     struct {
			Input      int `json:"input_tokens"`
			CacheRead  int `json:"cache_read_tokens"`
			CacheWrite int `json:"cache_write_tokens"`
			Output     int `json:"output_tokens"`
		}
		Cost     float64 `json:"cost_usd"`
		Requests []struct{ ID string }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &result))
	spans, parents := sentSpans(ts), map[string]string{}
	for _, s := range spans {
		parents[s.SpanID] = s.ParentSpanID
	}
	var calls, requests int
	var input, output, cost float64
	var tree strings.Builder
	for _, s := range spans {
		if s.TraceID != spans[0].TraceID || s.text("gen_ai.conversation.id") != result.SessionID {
			ts.Fatalf("%s is of another trace, or session", s.Name)
		}
		depth := 0
		for at, known := s.SpanID, true; known; depth++ {
			at, known = parents[at]
		}
		fmt.Fprintf(&tree, "%*s%s\n", 2*depth-4, "", s.Name)
		switch s.text("gen_ai.operation.name") {
		case "execute_tool":
			calls++
		case "chat":
			requests++
			input += s.number("gen_ai.usage.input_tokens")
			output += s.number("gen_ai.usage.output_tokens")
			cost += s.number("artoo.cost_usd")
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs("spans"), []byte(tree.String()), 0o600))
	u := result.Usage
	if fmt.Sprint(calls) != args[0] || requests != len(result.Requests) || int(input) != u.Input+u.CacheRead+u.CacheWrite ||
		int(output) != u.Output || math.Abs(cost-result.Cost) > 1e-9 || cost == 0 {
		ts.Fatalf("%d calls, %d requests, %v input, %v output, %v USD; the result has %d, %+v, %v", calls, requests, input, output, cost,
			len(result.Requests), u, result.Cost)
	}
}
