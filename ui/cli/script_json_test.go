package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdJSON is `json FILE PATH [VALUE]`: the file is one JSON document, and the
// value at the path (names and indexes with dots between) is VALUE: a string as
// it is with newlines as \n, anything else as compact JSON. Without VALUE it must be there and not
// null. FILE may be stdout. With ! it is not so.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH [VALUE]")
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	value, ok, err := lookup(lines[len(lines)-1], strings.Split(args[1], "."))
	if err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	if len(args) == 2 {
		if ok = ok && value != "null"; ok == neg {
			ts.Fatalf("%s is %s", args[1], value)
		}
		return
	}
	want := strings.ReplaceAll(args[2], `\n`, "\n")
	if (ok && value == want) == neg {
		ts.Fatalf("%s is %s, want %s", args[1], value, want)
	}
}

// lookup finds a value; a string loses its quotes.
func lookup(text string, path []string) (value string, ok bool, err error) {
	raw := json.RawMessage(text)
	if !json.Valid(raw) {
		return "", false, &json.SyntaxError{}
	}
	for _, name := range path {
		var list []json.RawMessage
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &list) == nil && list != nil {
			if name == "len" {
				return strconv.Itoa(len(list)), true, nil
			}
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(list) {
				return "", false, err
			}
			raw = list[i]
			continue
		}
		if json.Unmarshal(raw, &object) != nil || object[name] == nil {
			return "", false, nil
		}
		raw = object[name]
	}
	var s string
	if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
		return s, true, nil
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, raw)
	return compact.String(), err == nil, err
}

// cmdJSONL is `jsonl FILE TYPES`: each line of FILE is an object whose first
// field is its type, the last and only the last a result. The types are written
// to TYPES, one per line, neighbours of one type once.
func cmdJSONL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: jsonl FILE TYPES")
	}
	text := ts.ReadFile(args[0])
	if !strings.HasSuffix(text, "\n") {
		ts.Fatalf("the last line has no end")
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var types []string
	for i, line := range lines {
		var e struct {
			Type string `json:"type"`
		}
		ts.Check(json.Unmarshal([]byte(line), &e))
		if !strings.HasPrefix(line, `{"type":"`+e.Type+`"`) && e.Type != "result" || e.Type == "" {
			ts.Fatalf("line %d does not begin with its type: %s", i+1, line)
		}
		if (e.Type == "result") != (i == len(lines)-1) {
			ts.Fatalf("line %d of %d is a %s", i+1, len(lines), e.Type)
		}
		if len(types) == 0 || types[len(types)-1] != e.Type {
			types = append(types, e.Type)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(types, "\n")+"\n"), 0o600))
}

func modTime(ts *testscript.TestScript, name string) time.Time {
	info, err := os.Stat(name)
	ts.Check(err)
	return info.ModTime()
}
