package registry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"artoo/tool/names"
)

// pypi reads the files of pip and uv. pip would take a second to say the same, and that of a virtual environment in the
// project may not be run.
func pypi(_ context.Context, u user) ([]source, map[string]string, error) {
	uvFiles := []string{u.config("uv/uv.toml"), "/etc/uv/uv.toml"}
	if named := u.own.Get("UV_CONFIG_FILE"); named != "" {
		uvFiles = []string{named}
	}
	pip, err := u.read(u.pipFiles()...)
	if err != nil {
		return nil, nil, err
	}
	uv, err := u.read(uvFiles...)
	if err != nil {
		return nil, nil, err
	}
	var ofPip, ofUv, ofPipenv indexes
	ofPip.add(u.settings("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_KEYRING_PROVIDER"), pip...)
	ofUv.add(u.settings("UV_DEFAULT_INDEX", "UV_INDEX", "UV_KEYRING_PROVIDER")+
		u.settings("UV_INDEX_URL", "UV_EXTRA_INDEX_URL", ""), uv...)
	ofPipenv.add(u.settings("PIPENV_PYPI_MIRROR", "", ""))
	sources := slices.Concat(ofPip.sources, ofUv.sources, ofPipenv.sources)
	if !ofPip.main && !ofUv.main && !ofPipenv.main {
		sources = slices.Insert(sources, 0, source{})
	}
	if sources, err = u.netrc(sources); err != nil {
		return nil, nil, err
	}
	kept, err := u.poetry()
	sources = append(sources, kept...)
	return sources, map[string]string{u.config("pip/pip.conf"): ofPip.pipConf(), uvFiles[0]: ofUv.uvToml()}, err
}

// pipConf is a pip.conf that names the sources. Without the last setting pip takes no packages by plain HTTP.
func (i indexes) pipConf() string {
	values := map[string][]string{}
	for _, from := range i.sources {
		host, _ := hostOf(from.url)
		values[from.name] = append(values[from.name], from.url)
		values["trusted-host"] = append(values["trusted-host"], host.String())
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text += name + " = " + strings.Join(values[name], "\n  ") + "\n"
	}
	return "[global]\n" + text
}

// uvToml is a uv.toml that names the sources.
func (i indexes) uvToml() (text string) {
	links := []string{}
	for _, from := range i.sources {
		if from.name == "find-links" {
			links = append(links, strconv.Quote(from.url))
			continue
		}
		text += fmt.Sprintf("[[index]]\nurl = %q\ndefault = %t\n", from.url, from.name == "index-url")
	}
	return "find-links = [" + strings.Join(links, ", ") + "]\n" + text
}

// poetry are the keys that poetry keeps by the names that a project gives to its sources.
func (u user) poetry() (kept []source, err error) {
	files := []string{u.config("pypoetry/auth.toml"), "~/Library/Application Support/pypoetry/auth.toml"}
	texts, err := u.read(files...)
	for i, text := range texts {
		var says struct {
			Basic map[string]any `toml:"http-basic"`
		}
		if err := toml.Unmarshal([]byte(text), &says); err != nil {
			return nil, fmt.Errorf("%s: %w", files[i], err)
		}
		for name := range says.Basic {
			kept = append(kept, source{key: files[i], spare: true, registry: name})
		}
	}
	for _, kv := range u.own {
		if set := poetryVariable().FindStringSubmatch(kv); set != nil {
			kept = append(kept, source{key: set[1], spare: true, registry: set[2]})
		}
	}
	return kept, err
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
	poetryVariable = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(POETRY_HTTP_BASIC_(\w+)_PASSWORD)=.`)
	})
	pythonComment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*[#;].*\n`) })
	// pythonSetting is a setting of a pip.conf or a uv.toml with its value, to which lines that begin with a space
	// belong.
	pythonSetting = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?mi)^((?:extra[-_])?index[-_]url|find[-_]links|url|default|` +
			`keyring[-_]provider)[ \t]*[=:](.*(?:\n[ \t]+.*)*)`)
	})
)

// add takes what variables and files say of one package manager, in whatever section. Of those that name a main index
// the first one counts.
func (i *indexes) add(variables string, files ...string) {
	var sources []source
	main, key := false, ""
	for _, content := range append([]string{variables}, files...) {
		before := main
		content = pythonComment().ReplaceAllString(content+"\n", "")
		for _, setting := range pythonSetting().FindAllStringSubmatch(content, -1) {
			value := strings.Trim(setting[2], " \t\"'")
			name := strings.ReplaceAll(strings.ToLower(setting[1]), "_", "-")
			if name == "url" {
				name = "extra-index-url"
			}
			switch {
			case strings.HasPrefix(name, "keyring"):
				key = cmp.Or(key, value)
			case name == "default":
				if main = main || value == "true"; value == "true" && len(sources) > 0 {
					sources[len(sources)-1].name = "index-url"
				}
			case strings.HasPrefix(name, "index") && before:
			default:
				found := sourcesOf(value, "")
				for at := range found {
					found[at].name = name
				}
				sources, main = append(sources, found...), main || name == "index-url" && len(found) > 0
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
