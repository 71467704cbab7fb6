package registry

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/names"
)

// mavenSettings are what a settings.xml says of repositories.
type mavenSettings struct {
	Mirrors []struct {
		ID      string `xml:"id"`
		Of      string `xml:"mirrorOf"`
		URL     string `xml:"url"`
		Blocked bool   `xml:"blocked"`
	} `xml:"mirrors>mirror"`
	Servers []struct {
		ID string `xml:"id"`
	} `xml:"servers>server"`
	Repositories []mavenRepository `xml:"profiles>profile>repositories>repository"`
	Plugins      []mavenRepository `xml:"profiles>profile>pluginRepositories>pluginRepository"`
}

type mavenRepository struct {
	ID  string `xml:"id"`
	URL string `xml:"url"`
}

// maven reads the user's settings.xml and that beside the program: Maven prints them only with a plugin, which it would
// have to fetch.
func maven(_ context.Context, u user) ([]source, error) {
	files := []string{"~/.m2/settings.xml"}
	if program, err := u.own.LookPath("mvn"); err == nil {
		files = append(files, filepath.Join(names.Real(program), "../../conf/settings.xml"))
	}
	texts, err := u.read(files...)
	if err != nil {
		return nil, err
	}
	var all mavenSettings
	keys := map[string]string{}
	for i, text := range texts {
		var says mavenSettings
		if err := xml.Unmarshal([]byte(text), &says); text != "" && err != nil {
			return nil, fmt.Errorf("%s: %w", files[i], err)
		}
		for _, server := range says.Servers {
			keys[server.ID] = files[i]
		}
		all.Mirrors = append(all.Mirrors, says.Mirrors...)
		all.Repositories = slices.Concat(all.Repositories, says.Repositories, says.Plugins)
	}
	var sources []source
	for _, repository := range append([]mavenRepository{{ID: "central"}}, all.Repositories...) {
		for _, mirror := range all.Mirrors {
			if mirrors(mirror.Of, repository.ID) && !mirror.Blocked {
				repository = mavenRepository{mirror.ID, mirror.URL}
				break
			}
		}
		address := os.Expand(strings.ReplaceAll(repository.URL, "${env.", "${"), u.own.Get)
		sources = append(sources, source{address, keys[repository.ID]})
	}
	return sources, nil
}

// mirrors says whether a mirror of those takes the place of a repository.
func mirrors(of, repository string) bool {
	all := strings.Split(strings.ReplaceAll(of, " ", ""), ",")
	return !slices.Contains(all, "!"+repository) &&
		(slices.Contains(all, repository) || slices.Contains(all, "*") || slices.Contains(all, "external:*"))
}
