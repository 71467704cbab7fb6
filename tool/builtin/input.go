package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"artoo/tool"
)

// What models write who know other programs' tools, made what the tool of artoo takes: a func
// for each tool that has such, called with the names of its properties (input_names.go).

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
			fields["glob"] = tool.Quoted("!" + strings.TrimPrefix(glob, "!"))
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

// mendCommand takes a command in words, and other programs' ways to ask for one that
// is not confined, where that can be asked for (unconfined).
func mendCommand(fields map[string]json.RawMessage) (changed bool) {
	var words, more []string
	if json.Unmarshal(fields["command"], &words) == nil && len(words) > 0 {
		fields["command"] = tool.Quoted(tool.CommandLine(words))
		changed = true
	}
	var line string
	if json.Unmarshal(fields["args"], &more) == nil && json.Unmarshal(fields["command"], &line) == nil && line != "" {
		delete(fields, "args")
		if len(more) > 0 {
			fields["command"] = tool.Quoted(line + " " + tool.CommandLine(more))
		}
		changed = true
	}
	for name, outside := range map[string]string{
		"with_escalated_permissions": "true", "sandbox_permissions": `"require_escalated"`, // Codex
		"dangerouslyDisableSandbox": "true", // Claude Code
	} {
		if fields[name] == nil {
			continue
		}
		if string(fields[name]) == outside && fields["unconfined"] == nil {
			fields["unconfined"] = json.RawMessage("true")
		}
		delete(fields, name)
		changed = true
	}
	return changed
}

// mendNotebook takes a number for the cell, and the words of other editors.
func mendNotebook(fields map[string]json.RawMessage) (changed bool) {
	set := func(name, value string) {
		fields[name], changed = tool.Quoted(value), true
	}
	if _, ok := number(fields["cell_id"]); ok && fields["cell_id"][0] != '"' {
		set("cell_id", string(fields["cell_id"]))
	}
	var lines []string
	if json.Unmarshal(fields["new_source"], &lines) == nil && len(lines) > 0 {
		between := "\n"
		if strings.HasSuffix(lines[0], "\n") { // as the file has them
			between = ""
		}
		set("new_source", strings.Join(lines, between))
	}
	var mode, language string
	if json.Unmarshal(fields["edit_mode"], &mode) == nil && mode == "edit" {
		set("edit_mode", "replace")
	}
	if json.Unmarshal(fields["language"], &language) == nil { // VS Code: that of the code, or markdown
		if fields["cell_type"] == nil && language != "markdown" {
			language = "code"
		}
		delete(fields, "language")
		set("cell_type", language)
	}
	return changed
}

// mendBlocks takes edits in the form of aider's and Cline's blocks: what to search,
// and what to replace it with, between rows of marks.
func mendBlocks(fields map[string]json.RawMessage) bool {
	var text string
	if json.Unmarshal(fields["diff"], &text) != nil || fields["edits"] != nil || fields["old_string"] != nil {
		return false
	}
	edits := blocks(text)
	if edits == nil {
		return false
	}
	raw, err := json.Marshal(edits)
	if err != nil {
		return false
	}
	delete(fields, "diff")
	fields["edits"] = raw
	return true
}

// blocks reads all blocks of a text; nil where it is anything else.
func blocks(text string) (edits []map[string]string) {
	var search, replace []string
	into := (*[]string)(nil)
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		mark := strings.TrimRight(line, " \r")
		switch {
		case into == nil && slices.Contains([]string{"<<<<<<< SEARCH", "------- SEARCH"}, mark):
			search, replace, into = nil, nil, &search
		case into == &search && mark == "=======":
			into = &replace
		case into == &replace && slices.Contains([]string{">>>>>>> REPLACE", "+++++++ REPLACE"}, mark):
			edits = append(edits, map[string]string{"old_string": wholeLines(search), "new_string": wholeLines(replace)})
			into = nil
		case into != nil:
			*into = append(*into, line)
		case mark != "" && !strings.HasPrefix(mark, "```"):
			return nil
		}
	}
	if into != nil {
		return nil
	}
	return edits
}

// wholeLines is a text of whole lines.
func wholeLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// mendLiteral takes a text to search for, where other programs say that the pattern is
// one.
func mendLiteral(fields map[string]json.RawMessage) (changed bool) {
	for name, literal := range map[string]string{
		"literal_text": "true", "literal": "true", "fixed_strings": "true", "is_regex": "false", "isRegexp": "false",
	} {
		said := string(fields[name])
		if said != "true" && said != "false" {
			continue
		}
		var pattern string
		if said == literal && json.Unmarshal(fields["pattern"], &pattern) == nil {
			fields["pattern"] = tool.Quoted(regexp.QuoteMeta(pattern))
		}
		delete(fields, name)
		changed = true
	}
	return changed
}

// mendAround takes lines before and after a match for lines around it, which shows as
// many or more.
func mendAround(fields map[string]json.RawMessage) (changed bool) {
	if fields["context"] != nil {
		return false
	}
	most := -1.0
	for _, name := range []string{"-A", "-B", "after_context", "before_context", "lines_after", "lines_before"} {
		if n, ok := number(fields[name]); ok {
			most = max(most, n)
			delete(fields, name)
			changed = true
		}
	}
	if most >= 0 {
		raw, err := json.Marshal(most)
		if err != nil {
			return changed
		}
		fields["context"] = raw
	}
	return changed
}
