package telemetry

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// object is a message of OTLP in its form as JSON: ids are hexadecimal, integers of 64 bits are texts.
type object = map[string]any

// attribute is a key with its value: a string, an int or a *float64.
type attribute struct {
	key   string
	value any
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// objects are attributes as they are sent, without empty ones.
func objects(list []attribute) []object {
	out := []object{}
	for _, a := range list {
		switch v := a.value.(type) {
		case string:
			if v != "" {
				out = append(out, object{"key": a.key, "value": object{"stringValue": v}})
			}
		case int:
			if v != 0 {
				out = append(out, object{"key": a.key, "value": object{"intValue": strconv.Itoa(v)}})
			}
		case *float64:
			if v != nil {
				out = append(out, object{"key": a.key, "value": object{"doubleValue": *v}})
			}
		}
	}
	return out
}

// kinds are the attributes with few values, which metrics have too.
func kinds(op Operation, o Outcome) []attribute {
	list := []attribute{{"gen_ai.operation.name", op.Name}, {"gen_ai.provider.name", op.Provider}, {"error.type", o.Error},
		{"gen_ai.response.model", o.Model}}
	switch op.Name {
	case Chat:
		return append(list, attribute{"gen_ai.request.model", op.Of})
	case Tool:
		return append(list, attribute{"gen_ai.tool.name", op.Of}, attribute{"gen_ai.tool.type", "function"})
	}
	return append(list, attribute{"gen_ai.request.model", op.Model})
}

// spanOf is a span as it is sent.
func spanOf(s *Span, o Outcome, end time.Time) object {
	list := append(kinds(s.op, o), attribute{"gen_ai.conversation.id", s.ids.Session}, attribute{"artoo.request_id", o.Request},
		attribute{"gen_ai.tool.call.id", s.op.Call}, attribute{"gen_ai.usage.input_tokens", o.Usage.Input},
		attribute{"gen_ai.usage.cache_read.input_tokens", o.Usage.CacheRead},
		attribute{"gen_ai.usage.cache_creation.input_tokens", o.Usage.CacheWrite},
		attribute{"gen_ai.usage.output_tokens", o.Usage.Output}, attribute{"gen_ai.usage.reasoning.output_tokens", o.Usage.Reasoning},
		attribute{"artoo.cost_usd", o.CostUSD}, attribute{"artoo.tries", o.Tries},
		attribute{"artoo.decision", o.Decision}, attribute{"artoo.decided_by", o.DecidedBy})
	kind, status := 1, object{} // internal
	switch s.op.Name {
	case Chat:
		kind = 3 // client
	case Invoke:
		list = append(list, attribute{"gen_ai.agent.name", s.op.Of})
	}
	attributes := objects(append(list, s.contents...))
	if o.Finish != "" {
		attributes = append(attributes, object{"key": "gen_ai.response.finish_reasons",
			"value": object{"arrayValue": object{"values": []object{{"stringValue": o.Finish}}}}})
	}
	if o.Error != "" {
		status["code"] = 2 // error
	}
	return object{"traceId": s.ids.Trace, "spanId": s.ids.Step, "parentSpanId": s.parent, "name": s.op.Name + " " + s.op.Of,
		"kind": kind, "startTimeUnixNano": nanos(s.began), "endTimeUnixNano": nanos(end), "attributes": attributes, "status": status}
}

// series is one metric for one set of attributes.
type series struct {
	name       string
	unit       string
	attributes []attribute
	bounds     []float64 // nil for a sum
	buckets    []uint64
	sum        float64
	count      uint64
}

// meter sums up the metrics since the beginning of the process.
type meter struct {
	began time.Time
	order []string
	all   map[string]*series
}

func (m *meter) count(s *Span, o Outcome, end time.Time) {
	list, took := kinds(s.op, o), end.Sub(s.began).Seconds()
	if s.op.Name != Chat {
		m.observe("gen_ai."+s.op.Name+".duration", "s", list, took)
		return
	}
	m.observe("gen_ai.client.operation.duration", "s", list, took)
	for _, of := range []attribute{{"input", o.Usage.Input}, {"output", o.Usage.Output}} {
		if n := of.value.(int); n > 0 {
			m.observe("gen_ai.client.token.usage", "{token}", append(slices.Clip(list), attribute{"gen_ai.token.type", of.key}), float64(n))
		}
	}
	if o.CostUSD != nil {
		m.observe("artoo.cost", "{USD}", list, *o.CostUSD)
	}
}

// observe adds a value to a series. The bounds of its buckets are those that the conventions name.
func (m *meter) observe(name, unit string, list []attribute, v float64) {
	key := fmt.Sprint(name, list)
	s := m.all[key]
	if s == nil {
		s = &series{name: name, unit: unit, attributes: list}
		first, factor := 0.01, 2.0
		if unit == "{token}" {
			first, factor = 1, 4
		}
		for bound := first; unit != "{USD}" && len(s.bounds) < 14; bound *= factor {
			s.bounds = append(s.bounds, bound)
		}
		s.buckets = make([]uint64, len(s.bounds)+1)
		if m.all == nil {
			m.all = map[string]*series{}
		}
		m.all[key], m.order = s, append(m.order, key)
	}
	at, _ := slices.BinarySearch(s.bounds, v)
	s.buckets[at]++
	s.count++
	s.sum += v
}

// read is the metrics as they are sent now: one for each name, with a point for each set of attributes.
func (m *meter) read() (list []object) {
	metrics := map[string]object{} // by name, what each has in common
	for _, key := range m.order {
		s := m.all[key]
		data := metrics[s.name]
		if data == nil {
			data = object{"dataPoints": []object(nil), "aggregationTemporality": 2} // cumulative
			kind := "histogram"
			if s.bounds == nil {
				kind, data["isMonotonic"] = "sum", true
			}
			metrics[s.name] = data
			list = append(list, object{"name": s.name, "unit": s.unit, kind: data})
		}
		data["dataPoints"] = append(data["dataPoints"].([]object), s.point(m.began))
	}
	return list
}

// point is the series as a data point.
func (s *series) point(began time.Time) object {
	point := object{"attributes": objects(s.attributes), "startTimeUnixNano": nanos(began), "timeUnixNano": nanos(time.Now())}
	if s.bounds == nil {
		point["asDouble"] = s.sum
		return point
	}
	var buckets []string
	for _, n := range s.buckets {
		buckets = append(buckets, strconv.FormatUint(n, 10))
	}
	point["count"], point["sum"], point["bucketCounts"], point["explicitBounds"] = strconv.FormatUint(s.count, 10), s.sum, buckets, s.bounds
	return point
}
