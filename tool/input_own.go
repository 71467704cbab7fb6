package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// number reads a field that is a number, also one in quotes.
func number(value json.RawMessage) (float64, bool) {
	f, err := strconv.ParseFloat(strings.Trim(string(value), `"`), 64)
	return f, err == nil
}

// mendRead takes the line where to end for how many lines to show, and a range of
// two numbers.
func mendRead(fields map[string]json.RawMessage) bool {
	for _, name := range []string{"lines", "line_range"} {
		var first, last int
		if n, err := fmt.Sscanf(string(fields[name]), `"%d-%d"`, &first, &last); err == nil && n == 2 && last >= first &&
			first > 0 && fields["offset"] == nil && fields["limit"] == nil {
			delete(fields, name)
			fields["offset"] = json.RawMessage(strconv.Itoa(first))
			fields["limit"] = json.RawMessage(strconv.Itoa(last - first + 1))
			return true
		}
	}
	if view := fields["view_range"]; view != nil && fields["offset"] == nil && fields["limit"] == nil {
		var lines []int
		if json.Unmarshal(view, &lines) != nil || len(lines) != 2 || lines[0] < 1 || lines[1] != -1 && lines[1] < lines[0] {
			return false
		}
		delete(fields, "view_range")
		fields["offset"] = json.RawMessage(strconv.Itoa(lines[0]))
		if lines[1] > 0 {
			fields["limit"] = json.RawMessage(strconv.Itoa(lines[1] - lines[0] + 1))
		}
		return true
	}
	for _, name := range []string{"end_line", "line_end", "to_line", "last_line", "endLine", "end_line_one_based", "EndLine",
		"end_line_one_indexed_inclusive", "end_line_one_indexed"} {
		last, ok := number(fields[name])
		if !ok || fields["limit"] != nil {
			continue
		}
		first := 1.0
		if at, ok := number(fields["offset"]); ok && at > 1 {
			first = at
		}
		if last != -1 && last < first {
			return false
		}
		delete(fields, name)
		if last != -1 {
			fields["limit"] = json.RawMessage(strconv.Itoa(int(last - first + 1)))
		}
		return true
	}
	return false
}

// mendWrite takes the value itself for the content of a JSON file.
func mendWrite(fields map[string]json.RawMessage) bool {
	var file string
	content := bytes.TrimSpace(fields["content"])
	if json.Unmarshal(fields["path"], &file) != nil || !strings.EqualFold(path.Ext(file), ".json") ||
		len(content) == 0 || content[0] != '{' && content[0] != '[' {
		return false
	}
	var text bytes.Buffer
	if json.Indent(&text, content, "", "  ") != nil {
		return false
	}
	quoted, err := json.Marshal(text.String() + "\n")
	if err != nil {
		return false
	}
	fields["content"] = quoted
	return true
}

// mendBash takes a timeout that says to be in milliseconds for one.
func mendBash(fields map[string]json.RawMessage) bool {
	changed := mendCommand(fields)
	for _, name := range []string{"timeout_ms", "timeoutMs", "timeout_millis", "timeout_milliseconds"} {
		ms, ok := number(fields[name])
		if ok && fields["timeout"] == nil {
			delete(fields, name)
			fields["timeout"] = json.RawMessage(strconv.FormatFloat(ms/1000, 'f', -1, 64))
			return true
		}
	}
	return changed
}

// mendShell takes a number for the id, and the ways in which other programs say how
// long to wait.
func mendShell(fields map[string]json.RawMessage) (changed bool) {
	if _, ok := number(fields["id"]); ok && fields["id"][0] != '"' {
		fields["id"] = json.RawMessage(strconv.Quote(string(fields["id"])))
		changed = true
	}
	for _, name := range []string{"yield_time_ms", "timeout_ms", "timeout", "delay_ms"} {
		ms, ok := number(fields[name])
		if !ok || name == "timeout" && ms < leastMillis {
			continue
		}
		delete(fields, name)
		fields["timeout"] = json.RawMessage(strconv.FormatFloat(ms/1000, 'f', -1, 64))
		changed = true
		break
	}
	if block := string(fields["block"]); block == "true" && fields["action"] == nil {
		fields["action"] = json.RawMessage(`"wait"`)
	}
	for _, name := range []string{"block", "filter", "max_output_tokens", "lines"} { // all of it comes, and is cut
		if fields[name] != nil {
			delete(fields, name)
			changed = true
		}
	}
	return changed
}

// mendGrep takes the ways in which other programs say what to show, and whether
// case counts.
func mendGrep(fields map[string]json.RawMessage) (changed bool) {
	changed = mendAround(fields)
	changed = mendLiteral(fields) || changed
	if at, ok := number(fields["offset"]); ok && at == 0 {
		delete(fields, "offset")
		changed = true
	}
	for _, name := range []string{"exclude", "exclude_pattern"} {
		var glob string
		if json.Unmarshal(fields[name], &glob) == nil && glob != "" && fields["glob"] == nil {
			delete(fields, name)
			fields["glob"] = quoted("!" + strings.TrimPrefix(glob, "!"))
			changed = true
		}
	}
	if mode := string(fields["output_mode"]); mode == `"files_with_matches"` || mode == `"content"` {
		if mode == `"files_with_matches"` && fields["files_only"] == nil {
			fields["files_only"] = json.RawMessage("true")
		}
		delete(fields, "output_mode")
		changed = true
	}
	for _, name := range []string{"case_sensitive", "caseSensitive"} {
		if said := string(fields[name]); (said == "true" || said == "false") && fields["ignore_case"] == nil {
			fields["ignore_case"] = json.RawMessage(strconv.FormatBool(said == "false"))
			delete(fields, name)
			changed = true
		}
	}
	return changed
}
