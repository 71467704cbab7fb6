package confine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/environ"
	"artoo/tool/git"
)

// gitConfig is the file with the user's git settings that confined commands see.
func (c Config) gitConfig() string { return filepath.Join(c.temp, "gitconfig") }

// gitSections are the user's settings that say how git shows and names things, and run nothing.
const gitSections = `user core.autocrlf core.eol core.quotepath core.abbrev core.whitespace init color column log
	diff.algorithm diff.renames diff.context diff.mnemonicprefix diff.noprefix diff.colormoved status branch
	merge.conflictstyle push.default pull.rebase rebase.autostash commit.verbose blame format.pretty tag.sort
	versionsort safe fetch.prune advice`

// unwanted is a key of these sections that names a key of the user all the same.
const unwanted = "user.signingkey"

// writeGitConfig writes the user's git settings without programs and credentials, for git in the sandbox.
func (c Config) writeGitConfig() error {
	var text bytes.Buffer
	settings, err := git.UserConfig(c.Environ, c.temp, "--global", "--includes", "--list")
	if err != nil {
		settings = nil // there is no git, or no such file
	}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "\n")
		if wantedSetting(strings.ToLower(key)) {
			writeSetting(&text, key, value)
		}
	}
	return os.WriteFile(c.gitConfig(), text.Bytes(), 0o600)
}

func wantedSetting(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	list := strings.Fields(gitSections)
	return key != unwanted && (slices.Contains(list, section) || slices.Contains(list, key))
}

// writeSetting writes section.sub.name = value as git reads it.
func writeSetting(b *bytes.Buffer, key, value string) {
	section, rest, _ := strings.Cut(key, ".")
	name := rest
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		section, name = fmt.Sprintf("%s %q", section, rest[:i]), rest[i+1:]
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value)
	fmt.Fprintf(b, "[%s]\n\t%s = \"%s\"\n", section, name, quoted)
}

// environ is the environment of a command in the sandbox: git takes the settings above and no locks to look, nothing
// caches beside sources, and sockets of other programs are not named.
func (c Config) environ(variables []string) []string {
	variables = slices.DeleteFunc(slices.Clone(variables), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return environ.IsSocket(name) && !slices.Contains(c.Pass, name)
	})
	return append(slices.Clip(variables),
		"GIT_CONFIG_GLOBAL="+c.gitConfig(), "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"PYTHONDONTWRITEBYTECODE=1")
}
