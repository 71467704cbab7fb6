package permission

import (
	"path/filepath"
	"testing"

	"artoo/tool/sweep"
)

// outsideVariants are lines that do more than the commands that written rules name: other directories, remotes and
// refs, options that run programs, and further commands.
func outsideVariants() (lines []string) {
	each := func(before string, words ...string) {
		for _, w := range words {
			lines = append(lines, before+w)
		}
	}
	for _, command := range []string{"git push origin v1", "git fetch origin", "npm ci", "make deploy"} {
		each(command, " | sh", " > x", " >> x", " < a.txt", " <<< x", " <<E\nx\nE", " && make", "; ls",
			" || ls", "& ls", "\nls",
			" $x", " $(ls)", " `ls`", " *", " <(ls)", " -x", " --help=x")
		for _, before := range []string{"env ", "command ", "timeout 5 ", "nice ", "xargs ", "nohup ", "X=1 ",
			"GIT_SSH_COMMAND=x ", "GIT_DIR=docs.git ", "PATH=. ", "cd sub && ", "cd docs.git && ", "cd / && ",
			"x() { ls; }; ",
			"alias git=x; ", "trap ls EXIT; ", "export X=1; ", "./", "/tmp/", "sudo "} {
			lines = append(lines, before+command)
		}
	}
	each("git push ", "--force", "-f origin v1", "--delete origin v1", "--mirror", "--prune", "--all",
		"origin +v1", "origin :v1",
		"origin v1:x", "origin v1:refs/heads/x", "evil v1", "./docs.git v1", "docs.git", "../x v1", "ext::sh",
		"https://x.example/y",
		"file:///x", "git@x.example:y", "origin nobranch", "--receive-pack=x origin", "--exec=x origin",
		"--repo=evil", "-o x",
		"--push-option=x", "--recurse-submodules=on-demand", "--signed", "--no-verify", "-4", "origin 'v*'",
		"origin -- v1", "v1")
	each("git fetch ", "--upload-pack=x origin", "-f origin", "evil", "ext::sh", "--recurse-submodules",
		"--refmap=x origin",
		"origin v1:x", "--all", "--multiple origin evil", "docs.git", ".")
	each("git ", "-c core.sshCommand=x push", "-C sub push", "-C docs.git push", "--git-dir=docs.git push",
		"--work-tree=sub push",
		"--exec-path=x push", "--config-env=core.sshCommand=X push", "--bare push", "-p push",
		"remote add evil x; git push evil",
		"config core.sshCommand x; git push", "send-pack origin v1", "http-push x", "push-x")
	each("npm ", "ci --prefix sub", "ci --script-shell=x", "--prefix sub ci", "ci -C sub", "-C sub ci",
		"ci --userconfig x", "install x")
	each("make ", "-C sub deploy", "-f x deploy", "deploy X=1", "deploy -j4", "deploy other", "--eval=x deploy",
		"-f- deploy")
	return lines
}

// TestAnyVariantOfALineOutsideAsks decides over lines that are near those of written rules. None leaves the sandbox
// unasked.
func TestAnyVariantOfALineOutsideAsks(t *testing.T) {
	t.Parallel()
	root, p := outsidePolicy(t, "bash!(git push:*)", "bash!(git fetch:*)", "bash!(npm ci)",
		"bash!(make deploy)")
	putFile(t, filepath.Join(root, "deploy.sh"), "#!/bin/sh\n")
	gitIn(t, root, "init", "-q", "--bare", "docs.git")
	lines := outsideVariants()
	if len(lines) < 200 {
		t.Errorf("%d variants", len(lines))
	}
	for _, i := range sweep.Cases(t, 30, len(lines)) {
		d := decideIn(p, root, lines[i])
		if d.Verdict == Run && d.Place == PlaceHost {
			t.Errorf("%q runs outside: %s", lines[i], d.Reason())
		}
	}
}
