package permission

import (
	"path"
	"slices"
)

// Remark says what a rule covers that one may not think of, "" for nothing: an
// option that the words of the rule leave open and that writes files, or runs
// other programs.
func (r Rule) Remark() string {
	if r.Tool != "bash" || !r.HasArg {
		return ""
	}
	if _, wild := r.line(); !wild {
		return ""
	}
	words := plain(r.fixedWords())
	if len(words) == 0 {
		return ""
	}
	sub := ""
	if len(words) > 1 {
		sub = words[1]
	}
	is := func(names ...string) bool { return slices.Contains(names, sub) }
	switch name := path.Base(words[0]); {
	case name == "git" && is("diff", "log", "show"):
		return "--output=FILE, which writes a file, and --ext-diff, which runs a program"
	case name == "git" && is("grep"):
		return "--open-files-in-pager=PROGRAM, which runs a program"
	case name == "git" && is("fetch", "pull", "clone", "push", "ls-remote"):
		return "--upload-pack and --receive-pack, which run a program"
	case name == "git" && is("rebase", "bisect"):
		return "running any command (--exec, run)"
	case name == "go" && is("test", "run", "vet"):
		return "-exec, -vettool and -toolexec, which run any program"
	case name == "go" && is("build", "install", "generate"):
		return "-toolexec and -o, which run any program and write a file"
	case name == "find":
		return "-delete and -exec, which remove files and run any program"
	case name == "sort":
		return "-o FILE, which writes a file"
	case name == "tar":
		return "--to-command and --checkpoint-action, which run any program"
	case name == "make" || name == "just" || name == "task":
		return "whatever the build file says, and variables that change what it runs"
	case name == "npm" || name == "pnpm" || name == "yarn" || name == "bun":
		return "whatever package.json says"
	case name == "xargs" || name == "env" || name == "timeout" || name == "nice" || name == "sudo" || interprets(name):
		return "any program at all"
	case name == "curl" || name == "wget":
		return "-o FILE, which writes a file, and sending files elsewhere"
	case name == "rsync" || name == "ssh" || name == "scp":
		return "options that run any program"
	}
	return ""
}
