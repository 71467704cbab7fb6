package cli

import (
	"os"
	"strings"

	"artoo/tool/git"
	"artoo/ui/screen"
)

// palette is how the terminal looks: as the user says, else in diffs as the user's git.
func (a *app) palette() *screen.Palette {
	return screen.NewPalette(a.cfg.Styles(), func() map[string]string { return gitColors(os.Environ()) })
}

// gitColors are the colours of color.diff in the user's and the system's configuration of
// git. Those of a repository are left out: no repository decides what is seen. Without
// git, without such settings, or with one that git does not understand, there are none.
func gitColors(environ []string) map[string]string {
	settings, err := git.UserConfig(append(environ, "GIT_DIR="+os.DevNull), "/", "--type=color", "--get-regexp",
		`^color\.diff\.(old|new|meta|frag|context|plain)$`)
	if err != nil {
		return nil
	}
	names := map[string]string{"old": "remove", "new": "add", "meta": "meta", "frag": "frag", "context": "context", "plain": "context"}
	styles := map[string]string{}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "\n")
		name := names[strings.TrimPrefix(key, "color.diff.")]
		styles[name] = strings.TrimSuffix(strings.TrimPrefix(value, "\x1b["), "m") // git gives the sequence
	}
	return styles
}
