package registry

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

var (
	npmSection = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^; "\w+" config from (.+?)\s*$`)
	})
	npmSetting = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*([^\s;#=][^=]*?)\s*=\s*["']?(.*?)["']?\s*$`)
	})
	// yarnSetting is a registry in the files of yarn and pnpm, of a scope or of all packages.
	yarnSetting = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\s*["']?(?:npmRegistryServer|(?:@[^\s:"']+:)?registry)["']?` +
			`\s*[:=\s]\s*["']?(https?://[^\s"']+)["']?`)
	})
	yarnKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:npmAuthToken|npmAuthIdent|_authToken|_auth|_password)["']?\s*[:=]`)
	})
)

// npm asks npm, whose settings pnpm, yarn and bun read too, and reads what pnpm and yarn have of their own. npm takes
// 0.35 s for that; its files alone do not say it, since their place depends on that of node. --global keeps it from
// looking for a project in directories above.
func npm(ctx context.Context, u user) ([]source, map[string]string, error) {
	files := []string{"~/.npmrc", "~/.yarnrc", "~/.yarnrc.yml", u.config("pnpm/rc"), u.config("pnpm/config.yaml")}
	contents, err := u.read(files...)
	if err != nil {
		return nil, nil, err
	}
	listing, err := u.run(ctx, "npm", "--global", "config", "list")
	if errors.Is(err, exec.ErrNotFound) {
		registry := cmp.Or(u.own.Get("npm_config_registry"), u.own.Get("NPM_CONFIG_REGISTRY"))
		listing, err = os.Expand(contents[0], u.own.Get)+"\nregistry="+registry, nil
	}
	if err != nil {
		return nil, nil, err
	}
	sources, npmrc := npmSources(listing, u.short)
	told := map[string]string{cmp.Or(u.own.Get("NPM_CONFIG_USERCONFIG"), u.own.Get("npm_config_userconfig"),
		files[0]): npmrc}
	for i, content := range contents[1:] {
		key := ""
		if yarnKey().MatchString(content) {
			key = files[i+1]
		}
		for _, found := range yarnSetting().FindAllStringSubmatch(content, -1) {
			setting := strings.TrimLeft(found[0], "\r\n")
			if setting != strings.TrimSpace(setting) {
				key = cmp.Or(key, "a scope in "+files[i+1])
			}
			sources = append(sources, source{url: found[1], key: key})
			told[files[i+1]] += setting + "\n"
			if host, _ := hostOf(found[1]); files[i+1] == "~/.yarnrc.yml" {
				told[files[i+1]] += "unsafeHttpWhitelist: [" + strconv.Quote(host.Name) + "]\n"
			}
		}
	}
	for _, name := range []string{"YARN_NPM_REGISTRY_SERVER", "pnpm_config_registry", "PNPM_CONFIG_REGISTRY"} {
		sources = append(sources, sourcesOf(u.own.Get(name), "")...)
	}
	return sources, told, nil
}

// npmSources are the sources in a listing of npm's settings, or in the text of an npmrc: the registry and those of
// scopes, and the npmrc that names them alone. short writes a path. Keys are named for a host and a path; that of
// the host counts here.
func npmSources(listing string, short func(string) string) (sources []source, npmrc string) {
	keys, file := map[string]string{}, "~/.npmrc"
	sources = []source{{}}
	for line := range strings.Lines(listing) {
		if section := npmSection().FindStringSubmatch(line); section != nil {
			file = short(section[1])
		}
		setting := npmSetting().FindStringSubmatch(line)
		switch {
		case setting == nil || setting[2] == "":
		case setting[1] == "registry":
			sources[0].url = setting[2]
		case strings.HasSuffix(setting[1], ":registry"):
			sources = append(sources, source{url: setting[2]})
			npmrc += setting[1] + "=" + setting[2] + "\n"
		case strings.HasPrefix(setting[1], "//"):
			host, _ := hostOf("https:" + strings.TrimRight(setting[1], ":"))
			keys[host.Name] = file
		}
	}
	sources = withKeys(sources, keys)
	if sources[0].url != "" {
		npmrc += "registry=" + sources[0].url + "\n"
	}
	return sources, npmrc
}
