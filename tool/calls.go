package tool

import (
	"slices"
	"strings"
)

// plainName is a tool's name without what differs between programs.
func plainName(name string) string {
	for _, prefix := range []string{"functions.", "default_api.", "default_api:", "tools.", "container."} {
		name = strings.TrimPrefix(name, prefix)
	}
	return foldProperty(name)
}

// Instead says what to do in place of a call of a tool that artoo does not have, by the
// name it has elsewhere; "" where that is not known.
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
