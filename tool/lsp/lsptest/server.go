// Package lsptest is a scripted language server for tests: the test binary itself, when
// the environment says so.
package lsptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Kind is the variable that makes the test binary a server; its value says which one: "works",
// for which each line with "bad" is an error and each with "odd" a warning, or one that "checks"
// on each save and then reports only the changes, as rust-analyzer does, or "loads" or
// "indexes" until the second question about references, reported as progress or as its status, or
// that is "dead", "mute", "silent" on its findings, writes "garbage" or a "flood".
const Kind = "ARTOO_TEST_LANGUAGE_SERVER"

// Serve is the server until its input ends, where Kind is set; else it does nothing. A
// TestMain calls it first, and ends where it served.
func Serve(in io.Reader, out io.Writer) (served bool) {
	kind := os.Getenv(Kind)
	if kind != "" {
		s := server{kind: kind, out: out}
		s.serve(bufio.NewReader(in))
	}
	return kind != ""
}

type server struct {
	kind string
	out  io.Writer
	said string
	told bool
}

type frame struct {
	ID     *json.RawMessage
	Method string
	Params json.RawMessage
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// readFrame reads a message whose length stands first.
func readFrame(in *bufio.Reader) (f frame, err error) {
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return f, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if length, err = strconv.Atoi(n); err != nil {
				return f, err
			}
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(in, body); err != nil {
		return f, err
	}
	return f, json.Unmarshal(body, &f)
}

func (s *server) serve(in *bufio.Reader) {
	switch s.kind {
	case "dead":
		return
	case "mute":
		select {}
	case "garbage":
		fmt.Fprintln(s.out, "Starting up, please wait...")
		for range 100 {
			fmt.Fprintln(s.out, "still starting")
		}
		select {}
	case "flood":
		for {
			fmt.Fprint(s.out, "Content-Length: 99999999999\r\n\r\n")
		}
	}
	texts := map[string]string{}
	for {
		f, err := readFrame(in)
		if err != nil {
			return
		}
		var params struct {
			TextDocument struct {
				URI, Text string
				Version   int
			}
			ContentChanges []struct{ Text string }
			Position       position
		}
		if f.Params != nil && json.Unmarshal(f.Params, &params) != nil {
			return
		}
		uri, version := params.TextDocument.URI, params.TextDocument.Version
		switch f.Method {
		case "initialize":
			s.write(map[string]any{"id": 99, "method": "workspace/configuration", "params": map[string]any{"items": []any{nil}}})
			s.write(map[string]any{"id": f.ID, "result": map[string]any{"capabilities": map[string]any{}}})
			s.loads(true)
		case "textDocument/didOpen":
			texts[uri] = params.TextDocument.Text
			s.publish(uri, version, texts[uri])
		case "textDocument/didChange":
			texts[uri] = params.ContentChanges[0].Text
			if s.kind != "checks" {
				s.publish(uri, version, texts[uri])
			}
		case "textDocument/didSave":
			if s.kind == "checks" {
				s.progress("begin")
				s.progress("end")
				s.publish(uri, 0, texts[uri])
			}
		case "textDocument/definition":
			s.write(map[string]any{"id": f.ID, "result": map[string]any{"uri": uri,
				"range": span{Start: position{Line: params.Position.Character}}}})
		case "textDocument/references":
			if s.kind == "loads" || s.kind == "indexes" {
				s.loads(!s.told)
				s.told = true
				s.write(map[string]any{"id": f.ID, "result": []any{}})
				continue
			}
			s.write(map[string]any{"id": f.ID, "result": []any{map[string]any{"targetUri": uri,
				"targetSelectionRange": span{Start: position{Line: 2}}}}})
		case "textDocument/hover":
			if s.kind == "checks" && !s.told {
				s.told = true
				s.write(map[string]any{"id": f.ID, "error": map[string]any{"code": -32801, "message": "content modified"}})
				continue
			}
			s.write(map[string]any{"id": f.ID, "result": map[string]any{"contents": []any{"one", map[string]any{"value": "two"}}}})
		case "textDocument/documentSymbol":
			s.write(map[string]any{"id": f.ID, "result": []any{map[string]any{"name": "T", "kind": 23,
				"selectionRange": span{Start: position{Line: 1}}, "children": []any{map[string]any{"name": "f", "kind": 8,
					"selectionRange": span{Start: position{Line: 2}}}}}}})
		}
	}
}

func (s *server) publish(uri string, version int, text string) {
	if s.kind == "silent" {
		return
	}
	list := []any{}
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "bad") {
			list = append(list, map[string]any{"range": span{Start: position{Line: i}}, "severity": 1, "message": "this is\nbad"})
		}
		if strings.Contains(line, "odd") {
			list = append(list, map[string]any{"range": span{Start: position{Line: i}}, "severity": 2, "message": "odd"})
		}
		if strings.Contains(line, "hint") {
			list = append(list, map[string]any{"range": span{Start: position{Line: i}}, "severity": 4, "message": "hint"})
		}
	}
	said := fmt.Sprint(list)
	if s.kind == "checks" && said == s.said {
		return
	}
	s.said = said
	params := map[string]any{"uri": uri, "diagnostics": list}
	if version != 0 {
		params["version"] = version
	}
	s.write(map[string]any{"method": "textDocument/publishDiagnostics", "params": params})
}

func (s *server) progress(kind string) { s.progressOf("rust-analyzer/flycheck/0", kind) }

func (s *server) progressOf(token any, kind string) {
	s.write(map[string]any{"method": "$/progress", "params": map[string]any{"token": token, "value": map[string]any{"kind": kind}}})
}

// loads says whether the server still loads.
func (s *server) loads(does bool) {
	switch {
	case s.kind == "indexes":
		s.write(map[string]any{"method": "experimental/serverStatus", "params": map[string]any{"health": "ok", "quiescent": !does}})
	case s.kind == "loads" && does:
		s.progressOf(7, "begin")
	case s.kind == "loads":
		s.progressOf(7, "end")
	}
}

func (s *server) write(v map[string]any) {
	v["jsonrpc"] = "2.0"
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(s.out, "Content-Length: %d\r\nContent-Type: x\r\n\r\n%s", len(body), body)
}
