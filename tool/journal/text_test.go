package journal

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"reflect"
	"testing"
	"time"
)

// fill gives every field of a struct, and of those in it, a value of its own.
func fill(v reflect.Value, n *int, text string) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(text + string(rune('a'+*n%26)))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n) << 33)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n) << 12)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n, text)
		fill(v.Index(1), n, text)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, int(*n)*1e6, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n, text)
		}
	default:
		panic("a field of another kind: " + v.Type().String())
	}
}

// Every field of a line is written, and as it is read.
func TestALineIsTheJSONOfItsFields(t *testing.T) {
	lines := []line{{}, {Type: lineBefore, Before: &State{}}, {Type: lineBefore, Before: &State{Mode: fs.ModeSetuid | 0o755}},
		{Type: lineBegin, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, {Type: lineOthers, Paths: []string{}}}
	for _, text := range []string{"", "main.go", "a b", "é 漢 😀", `"quoted\`, "tab\tand\nline", "\x01", "\x7f", "\u2028 \u2029", "<&>",
		"\ufffd"} {
		var l line
		fill(reflect.ValueOf(&l).Elem(), new(int), text)
		lines = append(lines, l)
	}
	for _, l := range lines {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(l); err != nil {
			t.Fatal(err)
		}
		if got := string(l.text(nil)) + "\n"; got != want.String() {
			t.Errorf("%swant\n%s", got, want.String())
		}
	}
}

// Paths may be any bytes, other words are made valid.
func TestALineHoldsPathsOfAnyBytes(t *testing.T) {
	odd := "a\xff%\"\n"
	l := line{Type: lineChange, What: "edit \xff", Path: odd, From: odd, Root: odd, Paths: []string{odd}, Unseen: []string{odd},
		Before: &State{Target: odd, Peer: odd}}
	var got line
	if err := json.Unmarshal(l.text(nil), &got); err != nil {
		t.Fatal(err)
	}
	got.each(unescape)
	l.What = "edit \ufffd"
	if !reflect.DeepEqual(got, l) {
		t.Errorf("%+v, want %+v", got, l)
	}
}
