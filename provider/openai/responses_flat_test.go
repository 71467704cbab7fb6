package openai

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzFlatEvent: what is read the short way is the same that the long way reads.
func FuzzFlatEvent(f *testing.F) {
	for _, data := range []string{
		`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"hé","logprobs":[],"obfuscation":"xyz"}`,
		` { "type" : "a" , "summary_index" : 10 , "delta" : "" } ` + "\n",
		`{"delta":"a","delta":"b"}`, `{"output_index":01}`, `{"output_index":1.5}`, `{"output_index":-1}`,
		`{"output_index":123456789012345678901234567890}`, `{"delta":"\u0041"}`, `{"delta":"\ud83d\""}`,
		`{"delta":"\"}`, `{"delta":"\\"}`, `{"delta":"\x"}`, "{\"delta\":\"\xff\"}", "{\"delta\":\"\n\"}",
		`{"delta":null}`, `{"Delta":"x"}`, `{"type":"a"}{`, `{"type":"a",}`, `{}`, `{"logprobs":[1]}`,
		`{"type":"x","error":{}}`,
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var short, long responsesEvent
		if !short.flat(data) {
			return
		}
		if err := json.Unmarshal([]byte(data), &long); err != nil || !reflect.DeepEqual(short, long) {
			t.Errorf("%q: %+v, want %+v (%v)", data, short, long, err)
		}
	})
}

func TestPiecesAreReadTheShortWay(t *testing.T) {
	for data, want := range map[string]bool{
		`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":1,"content_index":0,"delta":" with","logprobs":[],"obfuscation":"x8f"}`: true,
		`{"type":"response.reasoning_summary_text.delta","sequence_number":4,"item_id":"rs_1","output_index":1,"summary_index":0,"delta":" with"}`:                         true,
		`{"type":"response.output_text.delta","delta":"a\nb"}`:             true,
		`{"type":"response.output_text.delta","delta":"a\xb"}`:             false,
		`{"type":"response.output_text.delta","delta":"a","error":null}`:   false,
		`{"type":"response.completed","response":{"status":"completed"}}`:  false,
		`{"type":"response.output_text.delta","output_index":1.5}`:         false,
		`{"type":"response.output_text.delta","delta":"a"} and then some"`: false,
	} {
		var ev responsesEvent
		if got := ev.flat(data); got != want {
			t.Errorf("%s: %v", data, got)
		}
	}
}
