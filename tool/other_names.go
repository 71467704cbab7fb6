package tool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// otherNames are other names that models give a property, without case, underscores and hyphens.
func otherNames(property string) []string {
	return strings.Fields(map[string]string{
		"path": "filepath file filename absolutepath targetfile dirpath directory dir folder notebookpath notebook targetnotebook " +
			"relativepath searchpath targetdirectory searchdirectory directorypath relativeworkspacepath rootdir",
		"cell_id":     "cell id",
		"new_source":  "newcode newcellsource cellsource source newcontent content",
		"edit_mode":   "edittype mode",
		"content":     "contents filetext filecontent filecontents newcontent text code",
		"agent":       "subagenttype agenttype subagent agentname agentid mode",
		"command":     "cmd commandline shellcommand script",
		"cwd":         "workdir workingdirectory workingdir dir directory dirpath",
		"timeout":     "timeoutseconds timeoutsec timeouts timeoutsecs",
		"pattern":     "regex regexp query search searchpattern glob globpattern searchterm",
		"glob":        "include includes includepattern globpattern filepattern fileglob",
		"type":        "filetype language",
		"ignore_case": "i caseinsensitive",
		"context":     "c contextlines linesofcontext a b aftercontext beforecontext linesafter linesbefore",
		"query":       "q searchquery searchterm",
		"url":         "uri link href address webpage website page urls",
		"offset": "startindex startline linestart start fromline firstline startlineonebased offsetlines " +
			"startlineoneindexed",
		"limit":       "headlimit maxresults maxcount maxmatches numlines maxlines linecount",
		"files_only":  "fileswithmatches filenamesonly l",
		"old_string":  "oldstr oldtext old search find searchstring",
		"new_string":  "newstr newtext new replace replacement replacestring",
		"replace_all": "all replaceallmatches allowmultiple replaceeverywhere",
		"edits":       "replacements changes",
		"reason":      "justification",
		"background":  "runinbackground isbackground inbackground async detach",
		"id":          "bashid shellid sessionid taskid jobid processid pid backgroundid commandid terminalid",
		"input":       "chars text stdin data patch patchtext diff",
		"items":       "todos plan todolist",
		"text":        "content step title",
		"choices":     "options followup",
		"prompt":      "message instruction instructions task request",
	}[property])
}

// changesNothing reports whether a property of tools elsewhere makes no difference here.
func changesNothing(name string, value json.RawMessage) bool {
	if string(value) == "null" {
		return true
	}
	said := strings.Trim(string(value), `"`)
	switch foldProperty(name) {
	case "description", "explanation", "reason", "reasoning", "thought", "thoughts", "title", "summary",
		"justification", "purpose", "toolcallid", "callid", "taskprogress", "securityrisk", "requiresapproval",
		"safetoautorun", "instruction", "instructions", "shouldreadentirefile", "yieldtimems", "maxoutputtokens",
		"login", "prefixrule", "linecount", "activeform", "operation":
		return true
	case "runinbackground", "isbackground", "background", "async", "restart", "interactive",
		"dangerouslydisablesandbox", "forkcontext", "dryrun", "recursive", "ignore", "tty", "isinput", "requiredpermissions",
		"pages":
		return said == "false" || said == "" || said == "[]"
	case "outputmode":
		return said == "content"
	case "isregex", "isregexp", "casesensitive":
		return said == "true"
	case "literal", "literaltext", "fixedstrings", "withescalatedpermissions":
		return said == "false"
	case "sandboxpermissions":
		return said == "use_default"
	case "expectedreplacements":
		return said == "1"
	case "shell":
		return said == "bash" || said == "sh"
	case "n", "linenumbers", "showlinenumbers":
		return said == "true"
	case "encoding":
		return strings.EqualFold(strings.ReplaceAll(said, "-", ""), "utf8")
	case "createdirs", "createdirectories", "respectgitignore":
		return said == "true"
	}
	return false
}

// foldProperty is a property's name without the differences between programs.
func foldProperty(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// meant is the property of the schema that another name can only mean, "" for none or several.
func meant(schema *jsonschema.Schema, name string) string {
	folded := foldProperty(name)
	var found []string
	for property := range schema.Properties {
		if foldProperty(property) == folded {
			return property
		}
		if slices.Contains(otherNames(property), folded) {
			found = append(found, property)
		}
	}
	if len(found) > 1 { // glob_pattern is glob rather than pattern
		found = slices.DeleteFunc(found, func(p string) bool { return !strings.HasPrefix(folded, foldProperty(p)) })
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// rename gives the fields of an object the names of the schema, where they can
// mean only one thing, and drops fields that change nothing. Two fields of one meaning
// stay, to be refused, unless they say the same.
func rename(schema *jsonschema.Schema, fields map[string]json.RawMessage) (changed bool) {
	if schema.AdditionalProperties == nil {
		return false
	}
	names := slices.Sorted(maps.Keys(fields))
	wanted := map[string][]string{}
	for _, name := range names {
		if _, ok := schema.Properties[name]; ok {
			wanted[name] = append(wanted[name], name)
		} else if property := meant(schema, name); property != "" {
			wanted[property] = append(wanted[property], name)
		}
	}
	for property, given := range wanted {
		same := !slices.ContainsFunc(given, func(n string) bool { return !bytes.Equal(fields[n], fields[given[0]]) })
		if len(given) == 1 && given[0] == property || !same {
			continue
		}
		value := fields[given[0]]
		for _, name := range given {
			delete(fields, name)
		}
		fields[property], changed = value, true
	}
	for _, name := range names {
		if _, known := schema.Properties[name]; !known && fields[name] != nil && changesNothing(name, fields[name]) {
			delete(fields, name)
			changed = true
		}
	}
	return changed
}

// calledElsewhere are the names that a tool has in other programs.
func calledElsewhere(name string) []string {
	return strings.Fields(map[string]string{
		"read":            "readfile view viewfile openfile fileread cat readtextfile viewimage getfilecontents notebookread readnotebook",
		"ls":              "list listdirectory listdir listfiles",
		"glob":            "findfiles filesearch globtool globfilesearch findbyname searchforfiles find",
		"grep":            "grepsearch searchfilecontent searchfiles ripgrep rg greptool searchtext textsearch grepfiles",
		"write":           "writefile createfile createnewfile writetofile filewrite savefile",
		"edit":            "editfile multiedit strreplace searchreplace replace replaceinfile replacestringinfile fileedit applydiff findandreplace",
		"notebook_edit":   "notebookedit editnotebook editnotebookfile notebookeditcell",
		"task":            "agent subagent spawnagent delegate dispatchagent newtask runsubagent",
		"todo":            "todowrite todolist updateplan writetodos updatetodos updatetodolist managetodolist",
		"ask_user":        "askuserquestion requestuserinput askfollowupquestion askquestion",
		"enter_plan_mode": "enterplanmode",
		"exit_plan_mode":  "exitplanmode exitplan presentplan",
		"apply_patch":     "applypatch patch patchfile",
		"bash": "shell sh runshellcommand executecommand runcommand runterminalcmd runinterminal terminal bashtool " +
			"execcommand executebash exec shellcommand",
		"web_fetch":  "fetch fetchurl urlfetch webfetchurl fetchwebpage fetchwebcontent readurl readurlcontent openurl browse",
		"web_search": "googlewebsearch searchweb websearchtool bravewebsearch tavilysearch",
		"shell":      "bashoutput taskoutput writestdin readbackgroundoutput getterminaloutput",
	}[name])
}

// plainName is a tool's name without the differences between programs.
func plainName(name string) string {
	for _, prefix := range []string{"functions.", "default_api.", "default_api:", "tools.", "container."} {
		name = strings.TrimPrefix(name, prefix)
	}
	return foldProperty(name)
}

// Instead names the alternative to a tool that artoo does not have; "" where none is known.
func Instead(name string) string {
	for words, instead := range map[string]string{
		"deletefile removefile movefile renamefile copyfile createdirectory mkdir": "Use bash: rm, mv, cp, mkdir.",
		"codebasesearch semanticsearch search searchcode":                          "Use grep for contents and glob for names.",
		"readmanyfiles readfiles":                                                  "Use read, one call for each file; several calls in one reply are fine.",
		"strreplaceeditor strreplacebasededittool texteditor insert":               "Use read, write or edit.",
		"attemptcompletion finish submit done":                                     "When the task is done, answer without a call.",
		"killshell killbash taskstop":                                              "Use shell with action kill.",
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
