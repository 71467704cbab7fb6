package cli

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"artoo/ui/screen"
)

// gitColorsWait is how long git may take to say how diffs look.
const gitColorsWait = 2 * time.Second

// palette is how the terminal looks: as the user says, else in diffs as the user's git.
func (a *app) palette() *screen.Palette {
	return screen.NewPalette(a.cfg.Styles(), func() map[string]string { return gitColors(os.Environ()) })
}

// gitColors are the colours of color.diff in the user's and the system's configuration of
// git. Those of a repository are left out: no repository decides what is seen. Without
// git, or without such settings, there are none.
func gitColors(environ []string) map[string]string {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitColorsWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "config", "--null", "--get-regexp", `^color\.diff\.`)
	cmd.Env, cmd.Dir = append(environ, "GIT_DIR="+os.DevNull), "/"
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	names := map[string]string{"old": "remove", "new": "add", "meta": "meta", "frag": "frag", "context": "context", "plain": "context"}
	styles := map[string]string{}
	for setting := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(setting, "\n")
		name := names[strings.TrimPrefix(key, "color.diff.")]
		if sgr, ok := screen.GitColor(value); ok && name != "" {
			styles[name] = sgr
		}
	}
	return styles
}
