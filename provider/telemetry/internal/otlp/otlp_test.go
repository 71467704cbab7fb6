// Package otlp decodes artoo's spans and metrics by OpenTelemetry's official types, on which artoo does not depend.
package otlp

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"artoo/provider/telemetry"
)

// TestSpansOfFiftyCalls decodes the spans and metrics of a run with 50 calls strictly, and compares their sums with
// the run's.
func TestSpansOfFiftyCalls(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var traces tracepb.ExportTraceServiceRequest
	var metrics *metricspb.ExportMetricsServiceRequest
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/v1/metrics" {
			if metrics != nil {
				t.Error("the metrics are sent more than once")
			}
			metrics = &metricspb.ExportMetricsServiceRequest{}
			decode(t, body, metrics)
			return
		}
		var part tracepb.ExportTraceServiceRequest
		decode(t, body, &part)
		proto.Merge(&traces, &part)
	}))
	defer srv.Close()
	r, warnings := telemetry.New(func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL, "OTEL_SERVICE_NAME": "fleet"}[name]
	}, "1")
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	r.Use(srv.Client(), func(text string) { t.Error(text) })
	ctx, root := r.Start(context.Background(), telemetry.Operation{Name: telemetry.Invoke, Of: "artoo", Session: "s"})
	const cost = 0.25
	input, output := 0, 0
	for n := range 10 {
		_, chat := r.Start(ctx, telemetry.Operation{Name: telemetry.Chat, Of: "m", Provider: "p"})
		chat.End(telemetry.Outcome{Finish: "tool_calls", Usage: telemetry.Usage{Input: 1000 + n, CacheRead: 7, Output: n}, CostUSD: new(cost), Tries: 1})
		input, output = input+1000+n, output+n
		for range 5 {
			_, call := r.Start(ctx, telemetry.Operation{Name: telemetry.Tool, Of: "read", Call: "c"})
			call.End(telemetry.Outcome{Error: "failed"})
		}
	}
	root.End(telemetry.Outcome{})
	r.Close()

	mu.Lock()
	defer mu.Unlock()
	calls, sums := 0, map[string]float64{}
	for _, resource := range traces.ResourceSpans {
		if got := attribute(resource.Resource.Attributes, "service.name").GetStringValue(); got != "fleet" {
			t.Errorf("service.name %q", got)
		}
		for _, s := range resource.ScopeSpans[0].Spans {
			if len(s.TraceId) != 16 || len(s.SpanId) != 8 || s.EndTimeUnixNano < s.StartTimeUnixNano {
				t.Errorf("span %v", s)
			}
			if s.Name == "execute_tool read" {
				calls++
			}
			sums["input"] += float64(attribute(s.Attributes, "gen_ai.usage.input_tokens").GetIntValue())
			sums["output"] += float64(attribute(s.Attributes, "gen_ai.usage.output_tokens").GetIntValue())
			sums["cost"] += attribute(s.Attributes, "artoo.cost_usd").GetDoubleValue()
		}
	}
	measured, names := map[string]float64{}, map[string]bool{}
	for _, m := range metrics.GetResourceMetrics()[0].ScopeMetrics[0].Metrics {
		if names[m.Name] {
			t.Errorf("%s comes twice in one scope", m.Name)
		}
		names[m.Name] = true
		for _, p := range m.GetSum().GetDataPoints() {
			measured["cost"] += p.GetAsDouble()
		}
		for _, p := range m.GetHistogram().GetDataPoints() {
			if m.Name == "gen_ai.execute_tool.duration" {
				measured["calls"] += float64(p.Count)
			}
			measured[attribute(p.Attributes, "gen_ai.token.type").GetStringValue()] += p.GetSum()
			if len(p.BucketCounts) != len(p.ExplicitBounds)+1 {
				t.Errorf("%s has %d buckets and %d bounds", m.Name, len(p.BucketCounts), len(p.ExplicitBounds))
			}
		}
	}
	for name, got := range map[string]map[string]float64{"spans": sums, "metrics": measured} {
		if got["input"] != float64(input) || got["output"] != float64(output) || math.Abs(got["cost"]-10*cost) > 1e-9 {
			t.Errorf("%s: %v, want %d, %d, %v", name, got, input, output, 10*cost)
		}
	}
	if calls != 50 || measured["calls"] != 50 {
		t.Errorf("%d and %v calls, want 50", calls, measured["calls"])
	}
}

// decode reads strictly. It converts ids first: OTLP writes them in hexadecimal, the JSON of protobuf in base64.
func decode(t *testing.T, body []byte, m proto.Message) {
	ids := regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([0-9a-f]*)"`)
	body = ids.ReplaceAllFunc(body, func(match []byte) []byte {
		parts := ids.FindSubmatch(match)
		id, err := hex.DecodeString(string(parts[2]))
		if err != nil {
			t.Error(err)
		}
		return []byte(`"` + string(parts[1]) + `":"` + base64.StdEncoding.EncodeToString(id) + `"`)
	})
	if err := protojson.Unmarshal(body, m); err != nil {
		t.Errorf("%v: %s", err, body)
	}
}

func attribute(list []*common.KeyValue, key string) *common.AnyValue {
	for _, a := range list {
		if a.Key == key {
			return a.Value
		}
	}
	return nil
}
