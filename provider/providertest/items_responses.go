package providertest

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// Responses writes a reply in the form of the Responses API. Items have stable IDs of their
// own. The words of Stop are "completed" or the reason of an incomplete response.
func Responses(items ...Item) Reply {
	s := sortOut(items)
	r := responsesWriter{name: nameOf(s.parts)}
	r.event("response.created",
		`"response":{"id":"resp_1","object":"response","created_at":1.5,"status":"in_progress","error":null,"model":"test-model","output":[],"usage":null}`)
	for i, it := range s.parts {
		r.item(i, it)
	}
	status, incomplete := "completed", "null"
	if s.stop != "" && s.stop != status {
		status, incomplete = "incomplete", `{"reason":`+quote(s.stop)+`}`
	}
	usage := ""
	if u := s.usage; u != nil {
		usage = fmt.Sprintf(
			`,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			u.Prompt(), u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.Total())
	}
	r.event("response."+status,
		fmt.Sprintf(
			`"response":{"id":"resp_1","object":"response","created_at":1.5,"status":%q,"error":null,"incomplete_details":%s,"model":"test-model","output":[%s]%s}`,
			status, incomplete, strings.Join(r.done, ","), usage))
	return Stream(r.out.String()).With("X-Request-Id", "req_test")
}

// responsesWriter numbers the events and keeps the finished items for the last
// one.
type responsesWriter struct {
	name string // part of the items' IDs
	out  strings.Builder
	n    int
	done []string
}

func nameOf(parts []Item) string {
	h := fnv.New32a()
	for _, it := range parts {
		fmt.Fprintf(h, "%s %s %s %q ", it.kind, it.id, it.name, it.pieces)
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

func (r *responsesWriter) event(kind, rest string) {
	fmt.Fprintf(&r.out, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, r.n, rest)
	r.n++
}

func (r *responsesWriter) item(i int, it Item) {
	whole := strings.Join(it.pieces, "")
	delta := func(kind, id string, rest string) {
		for _, p := range it.pieces {
			r.event("response."+kind+".delta", fmt.Sprintf(`"item_id":%q,"output_index":%d%s,"delta":%s`, id,
				i, rest, quote(p)))
		}
	}
	var id, begun, done string
	switch it.kind {
	case "text":
		id = fmt.Sprintf("msg_%s%d", r.name, i)
		form := `{"id":%q,"type":"message","status":%q,"role":"assistant","content":[%s]}`
		begun = fmt.Sprintf(form, id, "in_progress", "")
		done = fmt.Sprintf(form, id, "completed", `{"type":"output_text","annotations":[],"logprobs":[],"text":`+
			quote(whole)+`}`)
	case "reason":
		id = fmt.Sprintf("rs_%s%d", r.name, i)
		form := `{"id":%q,"type":"reasoning","encrypted_content":%q,"summary":[%s]}`
		begun = fmt.Sprintf(form, id, "sig+", "") // the start carries only part of it
		done = fmt.Sprintf(form, id, fmt.Sprintf("sig+/%d==", i), `{"type":"summary_text","text":`+quote(whole)+`}`)
	case "call":
		id = fmt.Sprintf("fc_%s%d", r.name, i)
		form := `{"id":%q,"type":"function_call","status":%q,"arguments":%s,"call_id":%s,"name":%s}`
		begun = fmt.Sprintf(form, id, "in_progress", `""`, quote(it.id), quote(it.name))
		done = fmt.Sprintf(form, id, "completed", quote(whole), quote(it.id), quote(it.name))
	}
	r.event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, i, begun))
	switch it.kind {
	case "text":
		delta("output_text", id, `,"content_index":0,"logprobs":[]`)
		r.event("response.output_text.done",
			fmt.Sprintf(`"item_id":%q,"output_index":%d,"content_index":0,"text":%s`, id, i,
				quote(whole)))
	case "reason":
		delta("reasoning_summary_text", id, `,"summary_index":0`)
		r.event("response.reasoning_summary_text.done",
			fmt.Sprintf(`"item_id":%q,"output_index":%d,"summary_index":0,"text":%s`, id, i, quote(whole)))
	case "call":
		delta("function_call_arguments", id, "")
		r.event("response.function_call_arguments.done",
			fmt.Sprintf(`"item_id":%q,"output_index":%d,"name":%s,"arguments":%s`, id, i, quote(it.name), quote(whole)))
	}
	r.event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, done))
	r.done = append(r.done, done)
}
