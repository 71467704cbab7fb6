package registry

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"artoo/tool/names"
)

// pypi reads the files of pip and uv. pip would take a second to say the same, and that of a virtual environment in the
// project may not be run.
func pypi(_ context.Context, u user) ([]source, error) {
	uvFiles := []string{u.config("uv/uv.toml"), "/etc/uv/uv.toml"}
	if named := u.own.Get("UV_CONFIG_FILE"); named != "" {
		uvFiles = []string{named}
	}
	pip, err := u.read(u.pipFiles()...)
	if err != nil {
		return nil, err
	}
	uv, err := u.read(uvFiles...)
	if err != nil {
		return nil, err
	}
	var all indexes
	all.add(u.settings("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_KEYRING_PROVIDER"), pip...)
	all.add(u.settings("UV_DEFAULT_INDEX", "UV_INDEX", "UV_KEYRING_PROVIDER")+
		u.settings("UV_INDEX_URL", "UV_EXTRA_INDEX_URL", ""), uv...)
	all.add(u.settings("PIPENV_PYPI_MIRROR", "", ""))
	if !all.main {
		all.sources = slices.Insert(all.sources, 0, source{})
	}
	return u.netrc(all.sources)
}

// settings are variables as a file would have them.
func (u user) settings(main, further, keyring string) string {
	return fmt.Sprintf("index-url = %s\nextra-index-url = %s\nkeyring-provider = %s\n",
		u.own.Get(main), u.own.Get(further), u.own.Get(keyring))
}

// pipFiles are the files that pip reads, on Linux and macOS, those that count most first. That of a virtual environment
// is among them if the user's variables name one.
func (u user) pipFiles() (files []string) {
	const file, mac = "pip/pip.conf", "Library/Application Support"
	named := u.own.Get("PIP_CONFIG_FILE")
	if named == "/dev/null" {
		return nil
	}
	if named != "" {
		files = append(files, named)
	}
	if environment := u.own.Get("VIRTUAL_ENV"); environment != "" {
		files = append(files, filepath.Join(environment, "pip.conf"))
	}
	if named == "" || !names.Exists(names.Abs(u.dir, named)) {
		files = append(files, u.config(file), filepath.Join("~", mac, file), "~/.pip/pip.conf")
	}
	files = append(files, "/etc/pip.conf", filepath.Join("/", mac, file))
	for _, dir := range filepath.SplitList(cmp.Or(u.own.Get("XDG_CONFIG_DIRS"), "/etc/xdg")) {
		files = append(files, filepath.Join(dir, file))
	}
	return files
}

// indexes are the sources that package managers of Python are set to.
type indexes struct {
	sources []source
	// main says that one of sources takes the place of the public registry.
	main bool
}

var (
	pythonComment = regexp.MustCompile(`(?m)^[ \t]*[#;].*\n`)
	// pythonSetting is a setting of a pip.conf or a uv.toml with its value, to which lines that begin with a space
	// belong.
	pythonSetting = regexp.MustCompile(`(?mi)^((?:extra[-_])?index[-_]url|find[-_]links|url|default|` +
		`keyring[-_]provider)[ \t]*[=:](.*(?:\n[ \t]+.*)*)`)
)

// add takes what variables and files say of one package manager, in whatever section. Of those that name a main index
// the first one counts.
func (i *indexes) add(variables string, files ...string) {
	var sources []source
	main, key := false, ""
	for _, content := range append([]string{variables}, files...) {
		before := main
		content = pythonComment.ReplaceAllString(content+"\n", "")
		for _, setting := range pythonSetting.FindAllStringSubmatch(content, -1) {
			value := strings.Trim(setting[2], " \t\"'")
			switch name := strings.ToLower(setting[1]); {
			case strings.HasPrefix(name, "keyring"):
				key = cmp.Or(key, value)
			case name == "default":
				main = main || value == "true"
			case !strings.HasPrefix(name, "index"):
				sources = append(sources, sourcesOf(value, "")...)
			case !before:
				found := sourcesOf(value, "")
				sources, main = append(sources, found...), main || len(found) > 0
			}
		}
	}
	for _, from := range sources {
		if key == "import" || key == "subprocess" {
			from.key = "the keyring"
		}
		i.sources = append(i.sources, from)
	}
	i.main = i.main || main
}
