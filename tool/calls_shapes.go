package tool

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// mendCommand takes a command in words, and other programs' ways to ask for one that
// is not confined, where that can be asked for (unconfined).
func mendCommand(fields map[string]json.RawMessage) (changed bool) {
	var words, more []string
	if json.Unmarshal(fields["command"], &words) == nil && len(words) > 0 {
		fields["command"] = quoted(commandLine(words))
		changed = true
	}
	var line string
	if json.Unmarshal(fields["args"], &more) == nil && json.Unmarshal(fields["command"], &line) == nil && line != "" {
		delete(fields, "args")
		if len(more) > 0 {
			fields["command"] = quoted(line + " " + commandLine(more))
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
		fields[name], changed = quoted(value), true
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

// quoted is text as JSON.
func quoted(text string) json.RawMessage {
	raw, err := json.Marshal(text)
	if err != nil { // a string can always be written
		return json.RawMessage(`""`)
	}
	return raw
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
			fields["pattern"] = quoted(regexp.QuoteMeta(pattern))
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
