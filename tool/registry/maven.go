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
	XMLName  xml.Name       `xml:"settings"`
	Mirrors  []mavenMirror  `xml:"mirrors>mirror"`
	Servers  []mavenServer  `xml:"servers>server,omitempty"`
	Profiles []mavenProfile `xml:"profiles>profile"`
	Active   []string       `xml:"activeProfiles>activeProfile"`
}

type mavenMirror struct {
	ID      string `xml:"id"`
	Of      string `xml:"mirrorOf"`
	URL     string `xml:"url"`
	Blocked bool   `xml:"blocked"`
}

type mavenServer struct {
	ID string `xml:"id"`
}

type mavenProfile struct {
	ID           string            `xml:"id"`
	Default      bool              `xml:"activation>activeByDefault"`
	Repositories []mavenRepository `xml:"repositories>repository"`
	Plugins      []mavenRepository `xml:"pluginRepositories>pluginRepository"`
}

type mavenRepository struct {
	ID  string `xml:"id"`
	URL string `xml:"url"`
}

// maven reads the user's settings.xml and that beside the program: Maven prints them only with a plugin, which it would
// have to fetch.
func maven(_ context.Context, u user) ([]source, map[string]string, error) {
	files := []string{"~/.m2/settings.xml"}
	if program, err := u.own.LookPath("mvn"); err == nil {
		files = append(files, filepath.Join(names.Real(program), "../../conf/settings.xml"))
	}
	texts, err := u.read(files...)
	if err != nil {
		return nil, nil, err
	}
	var mirrored []mavenMirror
	var told []byte
	keys, repositories := map[string]string{}, []mavenRepository{{ID: "central"}}
	for i, text := range texts {
		var says mavenSettings
		if err := xml.Unmarshal([]byte(text), &says); text != "" && err != nil {
			return nil, nil, fmt.Errorf("%s: %w", files[i], err)
		}
		for _, server := range says.Servers {
			keys[server.ID] = files[i]
		}
		mirrored = append(mirrored, says.Mirrors...)
		for _, profile := range says.Profiles {
			repositories = slices.Concat(repositories, profile.Repositories, profile.Plugins)
		}
		says.Servers = nil
		if i == 0 && text != "" {
			if told, err = xml.Marshal(says); err != nil {
				return nil, nil, err
			}
		}
	}
	var sources []source
	for _, repository := range repositories {
		for _, mirror := range mirrored {
			if mirrors(mirror.Of, repository.ID) && !mirror.Blocked {
				repository = mavenRepository{mirror.ID, mirror.URL}
				break
			}
		}
		address := os.Expand(strings.ReplaceAll(repository.URL, "${env.", "${"), u.own.Get)
		sources = append(sources, source{url: address, key: keys[repository.ID]})
	}
	for id, file := range keys {
		sources = append(sources, source{key: file, spare: true, registry: id})
	}
	return sources, map[string]string{files[0]: string(told)}, nil
}

// mirrors says whether a mirror of those takes the place of a repository.
func mirrors(of, repository string) bool {
	all := strings.Split(strings.ReplaceAll(of, " ", ""), ",")
	return !slices.Contains(all, "!"+repository) &&
		(slices.Contains(all, repository) || slices.Contains(all, "*") || slices.Contains(all, "external:*"))
}
