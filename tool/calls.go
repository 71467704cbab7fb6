package tool

import (
	"encoding/json"
	"slices"
	"strings"

	"artoo/tool/shell"
)

func FindCall(tools []Tool, name string, input json.RawMessage) (*Tool, json.RawMessage) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || fields == nil {
		return Find(tools, name), input
	}
	if other, changed := translate(plainName(name), fields); other != "" {
		if found := Find(tools, other); found != nil {
			return found, again(input, fields, changed)
		}
	}
	return Find(tools, name), input
}

// plainName is a tool's name without what differs between programs.
func plainName(name string) string {
	for _, prefix := range []string{"functions.", "default_api.", "default_api:", "tools.", "container."} {
		name = strings.TrimPrefix(name, prefix)
	}
	return foldProperty(name)
}

// translate is the tool of artoo's that a call of another program's means by its
// input, "" where the name says it. It may change the fields, and reports whether it
// did.
func translate(name string, fields map[string]json.RawMessage) (tool string, changed bool) {
	switch name {
	case "shell": // runs commands elsewhere; here it is for those in the background
		if fields["command"] != nil || fields["cmd"] != nil {
			return "bash", false
		}
	case "killshell", "killbash", "taskstop":
		if fields["action"] == nil {
			fields["action"] = json.RawMessage(`"kill"`)
			return "shell", true
		}
	case "strreplaceeditor", "strreplacebasededittool", "texteditor": // Anthropic's
		return textEditor(fields)
	case "listfiles":
		if string(fields["recursive"]) == "true" {
			delete(fields, "recursive")
			fields["pattern"] = json.RawMessage(`"**/*"`)
			return "glob", true
		}
	case "readmanyfiles": // Gemini's
		return readMany(fields)
	}
	return "", false
}

// textEditor is one of the things that Anthropic's editor does.
func textEditor(fields map[string]json.RawMessage) (tool string, changed bool) {
	tool = map[string]string{`"view"`: "read", `"create"`: "write", `"str_replace"`: "edit"}[string(fields["command"])]
	if tool != "" {
		delete(fields, "command")
	}
	return tool, tool != ""
}

// readMany is read where one file is asked for by its name.
func readMany(fields map[string]json.RawMessage) (tool string, changed bool) {
	for _, name := range []string{"paths", "include"} {
		var paths []string
		if json.Unmarshal(fields[name], &paths) == nil && len(paths) == 1 && !strings.ContainsAny(paths[0], "*?[{") {
			quoted, err := json.Marshal(paths[0])
			if err != nil {
				return "", false
			}
			delete(fields, name)
			fields["path"] = quoted
			return "read", true
		}
	}
	return "", false
}

// Instead says what to do in place of a call of a tool that artoo does not have, by the
// name it has elsewhere; "" where that is not known.
func Instead(name string) string {
	for words, instead := range map[string]string{
		"deletefile removefile movefile renamefile copyfile createdirectory mkdir": "Use bash: rm, mv, cp, mkdir.",
		"codebasesearch semanticsearch search searchcode":                          "Use grep for contents and glob for names.",
		"readmanyfiles readfiles":                                                  "Use read, one call for each file; several calls in one reply are fine.",
		"strreplaceeditor texteditor insert":                                       "Use edit with a line beside the place as old_string.",
		"attemptcompletion finish submit done":                                     "When the task is done, answer without a call.",
		"think sequentialthinking":                                                 "Think without a call.",
		"python ipython codeinterpreter":                                           "Use bash, for example python3 - <<'EOF'.",
		"multitooluse.parallel batch":                                              "Write the calls one after another in one reply: those that only read run side by side.",
		"savememory memory updatememory":                                           "Use edit on AGENTS.md, if the user wants it kept.",
		"getdiagnostics readlints diagnostics":                                     "Use bash with the project's own compiler or linter.",
		"insertcell overwritecellsource deletecell editcell":                       "Use read on the notebook, then notebook_edit.",
		"runnotebookcell executecell runcell insertexecutecodecell":                "Use bash, for example jupyter nbconvert --to notebook --execute --inplace FILE.",
		"waitagent wait closeagent sendinput resumeagent":                          "A call of task ends with the sub-agent's report: there is nothing to wait for.",
		"gitstatus gitdiff gitlog gitcommit":                                       "Use bash with git.",
		"askfollowupquestion askuser":                                              "Ask in your answer.",
		"todoread readtodos gettodos":                                              "The plan is the list that you sent last: to change it, send it again with todo.",
		"switchmode newtask createplan setmode":                                    "Go on without it.",
	} {
		if slices.Contains(strings.Fields(words), plainName(name)) {
			return instead
		}
	}
	return ""
}

// CommandLine is the shell line of a command that was given as its words: what a
// shell is given with -c, else the words, quoted. "" for none.
func CommandLine(words []string) string {
	if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") &&
		slices.Contains([]string{"bash", "sh"}, words[0][strings.LastIndexByte(words[0], '/')+1:]) {
		return words[2]
	}
	return shell.Quote(words...)
}
