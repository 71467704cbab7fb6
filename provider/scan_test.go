package provider

import (
	"encoding/binary"
	"encoding/json"
	"reflect"
	"testing"
)

// readSlowly reads a message as encoding/json does.
func readSlowly(data []byte) (m Message, err error) {
	err = m.decode(data)
	return m, err
}

// scanned are messages as they are written, and what only looks like one.
func scanned() []string {
	return []string{
		`{"role":"user","parts":[{"type":"text","text":"a \"word\" \\ \n\t\u003c\u2028 狐 é"}]}`,
		`{"role":"assistant","provider":"p","model":"m","answered":"n","partial":true,"parts":[` +
			`{"type":"reasoning","text":"t","form":"f","opaque":"o"},{"type":"text","text":"","opaque":"x"},` +
			`{"type":"tool_call","id":"c","name":"n","input":{"a":[1,-2.5e+3,{"b":null}],"t":true,"f":false},"raw":"{"}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","call_id":"c","name":"n","text":"t","is_error":true,"file":"/f",` +
			`"effect":{"files":["a"],"command":"go test","end":"exit 0","decided":"no"}}]}`,
		`{"role":"user","parts":[]}`, `{"role":"user"}`,
		`{"role":"user","parts":[{"type":"image","media_type":"image/png","data":"aGk="}]}`,
		`{"role":"user","parts":[{"type":"hologram"}]}`, `{"role":"user","parts":null}`,
		`{"role":"user", "parts":[]}`, `{"role":"user","parts":[{"type":"text","text":"\ud83d\ude00"}]}`,
		`{"role":"user","parts":[{"type":"text","text":"\ud83d"}]}`, "{\"role\":\"us\xffer\"}", `{"role":"user","later":1}`,
		`{"role":"user","parts":[{"type":"tool_call","input":01}]}`, `{"role":"user","parts":[{"type":"tool_call","input":{}}]}x`,
		`{"role":"a","role":"b"}`, `{"Role":"a"}`, `{"role":"user","parts":[{"type":"tool_call","input":"\x"}]}`,
		`{"role":"user","parts":[{"type":"text","text":"a"}],"parts":[{"type":"text"}]}`,
		`{"role":"user","parts":[{"type":"text","text":"a`, `{`, ``, `null`, `{"role":null}`,
	}
}

// sameMessage compares what the two readers make of a text.
func sameMessage(t *testing.T, data []byte) (fast bool) {
	t.Helper()
	got, fast := scanMessage(data)
	want, err := readSlowly(data)
	if fast && err != nil {
		t.Errorf("%s: taken, though it is none: %v", data, err)
	}
	if fast && !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\nscanned %#v\ndecoded %#v", data, got, want)
	}
	return fast
}

func TestScanMessage(t *testing.T) {
	for i, text := range scanned() {
		if fast := sameMessage(t, []byte(text)); fast != (i < 5 || text == `{"role":"a","role":"b"}`) {
			t.Errorf("%s: read the short way: %v", text, fast)
		}
	}
}

func FuzzScanMessage(f *testing.F) {
	for _, text := range scanned() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameMessage(t, data) })
}

// TestScannerIsAsStrict holds values to encoding/json's idea of them.
func TestScannerIsAsStrict(t *testing.T) {
	for _, text := range []string{`0`, `-0`, `01`, `1.`, `1.5`, `-`, `1e5`, `1e`, `1E-2`, `.5`, `+1`, `true`, `tru`, `null`, `nul`,
		`"a"`, `"\u12g4"`, `"\u1234"`, "\"\x01\"", `"`, `[]`, `[1,]`, `[1]`, `[1 ]`, `{}`, `{"a"}`, `{"a":1,}`, `{"a":{"b":[]}}`,
		`{"\u0061":1}`, `[[[]]]`, `]`, ``, `[,]`, `{,}`} {
		s := Scanner{Data: []byte(text)}
		s.Raw()
		if s.Done() && !json.Valid([]byte(text)) {
			t.Errorf("%s is taken", text)
		}
		strict := map[string]bool{`[1 ]`: true, `{"\u0061":1}`: true} // not as Marshal writes
		if !s.Done() && json.Valid([]byte(text)) && !strict[text] {
			t.Errorf("%s is not taken", text)
		}
	}
}

// TestPlain has each byte stand at each of eight places.
func TestPlain(t *testing.T) {
	for c := range 256 {
		for at := range 8 {
			eight := []byte("abc\x80\xffxyz")
			eight[at] = byte(c)
			if got, want := plain(binary.LittleEndian.Uint64(eight)), c >= ' ' && c != '"' && c != '\\'; got != want {
				t.Errorf("%q: plain %v", eight, got)
			}
		}
	}
}

func BenchmarkReadMessage(b *testing.B) {
	data := []byte(scanned()[1])
	for b.Loop() {
		var m Message
		if err := m.UnmarshalJSON(data); err != nil {
			b.Fatal(err)
		}
	}
}
