package telemetry

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestACollectorThatHangs delays neither the work nor, by more than the bound, the exit, and is reported once.
func TestACollectorThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // In its time, work that never waits takes none.
		r, warnings := New(func(name string) string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.test"}[name]
		}, "1")
		if len(warnings) > 0 {
			t.Fatal(warnings)
		}
		notices := make(chan string, 10)
		r.Use(&http.Client{Transport: hang{}}, func(text string) { notices <- text })
		turn := func() {
			ctx, root := r.Start(context.Background(), Operation{Name: Invoke, Of: "artoo"})
			for range 2 * mostSpans {
				_, s := r.Start(ctx, Operation{Name: Tool, Of: "read"})
				s.End(Outcome{})
			}
			root.End(Outcome{})
		}
		turn()
		synctest.Wait() // The spans are on their way.
		began := time.Now()
		turn()
		if took := time.Since(began); took > 0 {
			t.Errorf("%d spans took %s", 2*mostSpans, took)
		}
		if len(r.out.spans) > mostSpans {
			t.Errorf("%d spans wait, more than %d", len(r.out.spans), mostSpans)
		}
		began = time.Now()
		r.Close()
		if took := time.Since(began); took != mostAtEnd {
			t.Errorf("the end took %s, not %s", took, mostAtEnd)
		}
		if len(notices) != 1 {
			t.Fatalf("%d notices, want 1", len(notices))
		}
		if notice := <-notices; !strings.HasSuffix(notice, ": collector.test does not answer") {
			t.Error(notice)
		}
	})
}

// hang takes a request and never answers.
type hang struct{}

func (hang) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestTraceparent reads the parents that other programs hand down, and counts a wrong one as none.
func TestTraceparent(t *testing.T) {
	t.Parallel()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for text, valid := range map[string]bool{
		"00-" + trace + "-" + parent + "-01":      true,
		" 00-" + trace + "-" + parent + "-00 ":    true,
		"01-" + trace + "-" + parent + "-01-more": true,
		"":                                   false,
		"ff-" + trace + "-" + parent + "-01": false,
		"00-" + strings.ToUpper(trace) + "-" + parent + "-01":  false,
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01": false,
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01":  false,
		"00-" + trace + "-" + parent:                           false,
		"00-" + trace[1:] + "-" + parent + "-01":               false,
		"zz-" + trace + "-" + parent + "-01":                   false,
	} {
		want := IDs{}
		if valid {
			want = IDs{Trace: trace, Step: parent}
		}
		if got := parse(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// TestEndpoints plays the variables that say where spans and metrics go.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env             string // NAME=VALUE, after OTEL_, one a blank
		traces, metrics string
		warned          bool
	}{
		{"", "", "", false},
		{"EXPORTER_OTLP_ENDPOINT=http://c:4318/", "http://c:4318/v1/traces", "http://c:4318/v1/metrics", false},
		{"EXPORTER_OTLP_TRACES_ENDPOINT=https://c/own", "https://c/own", "", false},
		{"EXPORTER_OTLP_ENDPOINT=http://c METRICS_EXPORTER=none", "http://c/v1/traces", "", false},
		{"EXPORTER_OTLP_ENDPOINT=http://c EXPORTER_OTLP_PROTOCOL=http/protobuf", "http://c/v1/traces", "http://c/v1/metrics", false},
		{"EXPORTER_OTLP_ENDPOINT=http://c EXPORTER_OTLP_TRACES_PROTOCOL=grpc", "", "http://c/v1/metrics", true},
		{"EXPORTER_OTLP_ENDPOINT=localhost:4317", "", "", true},
	} {
		env := map[string]string{}
		for key, value := range pairs(strings.ReplaceAll(test.env, " ", ",")) {
			env["OTEL_"+key] = value
		}
		get := func(name string) string { return env[name] }
		traces, problem := endpoint(get, "TRACES")
		metrics, other := endpoint(get, "METRICS")
		if traces != test.traces || metrics != test.metrics || (problem+other != "") != test.warned {
			t.Errorf("%s: %q, %q, %q", test.env, traces, metrics, problem+other)
		}
	}
}
