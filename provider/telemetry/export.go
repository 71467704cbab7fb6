package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	mostSpans = 2048            // wait to be sent; more are lost
	gather    = 2 * time.Second // spans of a turn are sent together
	mostAtEnd = 2 * time.Second // a collector may delay the exit by this much
	usualWait = 10000           // milliseconds that a collector has for an answer
)

// exporter sends spans and metrics from a goroutine of its own.
type exporter struct {
	signals  []signal
	wait     time.Duration
	resource object
	scope    object

	wake, hurry chan struct{} // a span has ended; and it was a root
	ended       context.Context
	end         context.CancelFunc
	stopped     context.Context
	stop        context.CancelFunc
	done        chan struct{}

	mu     sync.Mutex
	client *http.Client // nil before Use
	notify func(string) // nil after its call
	spans  []object
	lost   int // spans that did not fit
	meter  meter
}

// signal is one of traces and metrics.
type signal struct {
	last    bool // it is sent once, at the end of the process
	address string
	headers http.Header
	read    func() object // the message to send, nil for none
}

// newExporter is nil where the environment wants none.
func newExporter(env func(string) string, run, version string) (*exporter, []string) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	e := &exporter{meter: meter{began: time.Now()}, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), done: make(chan struct{})}
	var warnings []string
	for _, s := range []struct {
		name string
		read func() object
	}{{"TRACES", e.traces}, {"METRICS", e.metrics}} {
		address, problem := endpoint(env, s.name)
		if problem != "" {
			warnings = append(warnings, "OpenTelemetry: artoo sends no "+strings.ToLower(s.name)+": "+problem)
		}
		if address != "" {
			h := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"artoo/" + version}}
			for key, value := range pairs(cmp.Or(env("OTEL_EXPORTER_OTLP_"+s.name+"_HEADERS"), env("OTEL_EXPORTER_OTLP_HEADERS"))) {
				h.Set(key, value)
			}
			e.signals = append(e.signals, signal{s.name == "METRICS", address, h, s.read})
		}
	}
	if e.signals == nil {
		return nil, warnings
	}
	ms, err := strconv.Atoi(env("OTEL_EXPORTER_OTLP_TIMEOUT"))
	if err != nil || ms <= 0 {
		ms = usualWait
	}
	e.wait = time.Duration(ms) * time.Millisecond
	all := maps.Collect(pairs(env("OTEL_RESOURCE_ATTRIBUTES")))
	all["service.name"] = cmp.Or(env("OTEL_SERVICE_NAME"), all["service.name"], "artoo")
	all["service.version"], all["service.instance.id"] = version, run
	var list []attribute
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list = append(list, attribute{key, all[key]})
	}
	e.resource, e.scope = object{"attributes": objects(list)}, object{"name": "artoo", "version": version}
	e.ended, e.end = context.WithCancel(context.Background())
	e.stopped, e.stop = context.WithCancel(context.Background())
	return e, warnings
}

// endpoint is the address of a signal, "" where it is not to be sent; problem says that the user may not know it.
func endpoint(env func(string) string, signal string) (address, problem string) {
	address = env("OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT")
	if base := env("OTEL_EXPORTER_OTLP_ENDPOINT"); address == "" && base != "" {
		address = strings.TrimSuffix(base, "/") + "/v1/" + strings.ToLower(signal)
	}
	if by := env("OTEL_" + signal + "_EXPORTER"); address == "" || by != "" && by != "otlp" {
		return "", ""
	}
	if cmp.Or(env("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL"), env("OTEL_EXPORTER_OTLP_PROTOCOL")) == "grpc" {
		return "", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc, and artoo supports only http/json"
	}
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", "the endpoint is not an http or https address"
	}
	return address, ""
}

// pairs reads k=v,k=v, whose values are escaped as in addresses.
func pairs(text string) func(yield func(key, value string) bool) {
	return func(yield func(key, value string) bool) {
		for pair := range strings.SplitSeq(text, ",") {
			key, escaped, found := strings.Cut(pair, "=")
			value, err := url.PathUnescape(strings.TrimSpace(escaped))
			if key = strings.TrimSpace(key); found && key != "" && err == nil && !yield(key, value) {
				return
			}
		}
	}
}

// KeyVariables are the variables that may hold a key for the collector.
func KeyVariables() []string {
	return []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"}
}

// Use sets the client that sends spans, and notify, which is called once, on any goroutine, when spans were lost. The
// first call counts. Spans that end before it are lost.
func (r *Recorder) Use(client *http.Client, notify func(string)) {
	if r == nil || r.out == nil {
		return
	}
	e := r.out
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client == nil {
		e.client, e.notify = client, notify
		go e.run()
	}
}

// add takes a span that has ended, and never waits for the collector.
func (e *exporter) add(s *Span, o Outcome, end time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.meter.count(s, o, end)
	if len(e.spans) < mostSpans {
		e.spans = append(e.spans, spanOf(s, o, end))
	} else {
		e.lost++
	}
	ring(e.wake)
	if s.root || len(e.spans) == mostSpans/4 {
		ring(e.hurry)
	}
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

func (e *exporter) run() {
	defer close(e.done)
	for e.ended.Err() == nil {
		select {
		case <-e.wake:
			select {
			case <-e.hurry:
			case <-e.ended.Done():
			case <-time.After(gather):
			}
			e.send(false)
		case <-e.ended.Done():
		}
	}
	e.send(true)
}

// traces takes the spans that wait.
func (e *exporter) traces() object {
	spans := e.spans
	if e.spans = nil; len(spans) == 0 {
		return nil
	}
	return object{"resourceSpans": []object{{"resource": e.resource, "scopeSpans": []object{{"scope": e.scope, "spans": spans}}}}}
}

func (e *exporter) metrics() object {
	list := e.meter.read()
	if len(list) == 0 {
		return nil
	}
	return object{"resourceMetrics": []object{{"resource": e.resource, "scopeMetrics": []object{{"scope": e.scope, "metrics": list}}}}}
}

// send sends everything that waits, and at the end the metrics, which grow until then. A batch that does not arrive is
// lost, so that a collector that is away costs no memory and no time.
func (e *exporter) send(end bool) {
	var problem error
	for _, s := range e.signals {
		if s.last && !end {
			continue
		}
		e.mu.Lock()
		message := s.read()
		e.mu.Unlock()
		if message != nil {
			problem = cmp.Or(problem, e.post(s, message))
		}
	}
	e.mu.Lock()
	notify := e.notify
	if problem == nil && e.lost > 0 {
		problem = fmt.Errorf("%d spans were lost, since it was too slow", e.lost)
	}
	if problem != nil {
		e.notify = nil
	}
	e.mu.Unlock()
	if problem != nil && notify != nil {
		notify("OpenTelemetry: the collector does not get all spans and metrics: " + problem.Error())
	}
}

func (e *exporter) post(s signal, message object) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(e.stopped, e.wait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = s.headers.Clone()
	reply, err := e.client.Do(request)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%s does not answer", request.URL.Host)
	case err != nil:
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(reply.Body, 1<<20)) // The connection can then be used again.
	_ = reply.Body.Close()                                          // It was only read.
	if reply.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", request.URL.Host, reply.Status)
	}
	return err
}

// Close sends the rest. It takes two seconds at most, whatever the collector does. Nothing is sent after it.
func (r *Recorder) Close() {
	if r == nil || r.out == nil {
		return
	}
	e := r.out
	e.mu.Lock()
	used := e.client != nil
	e.mu.Unlock()
	if e.end(); !used {
		return
	}
	timer := time.AfterFunc(mostAtEnd, e.stop)
	defer timer.Stop()
	<-e.done
}
