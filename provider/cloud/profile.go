package cloud

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"artoo/tool/environ"
)

// profile is a section of AWS's shared files, the one with credentials before the other.
type profile struct {
	name  string
	named bool // the user asks for it
	value map[string]string
}

func (p profile) title() string { return "the AWS profile " + p.name }

// needsMore is the step that the profile wants before it has credentials, or "".
func (p profile) needsMore() string {
	for key, what := range map[string]string{"role_arn": "a role to be assumed", "sso_session": "a login by SSO",
		"sso_start_url": "a login by SSO", "login_session": "a login", "web_identity_token_file": "an identity to be exchanged"} {
		if p.value[key] != "" {
			return what
		}
	}
	return ""
}

// The files' variables.
const (
	configVariable      = "AWS_CONFIG_FILE"
	credentialsVariable = "AWS_SHARED_CREDENTIALS_FILE"
)

// readProfile reads the profile that AWS_PROFILE names, or default. A file that is not there has none.
func readProfile(vars environ.Vars) (profile, error) {
	p := profile{name: vars.Get("AWS_PROFILE"), value: map[string]string{}}
	if p.named = p.name != ""; !p.named {
		p.name = "default"
	}
	found := false
	for _, file := range []struct{ path, usual, section string }{
		{vars.Get(configVariable), "config", "profile " + p.name}, {vars.Get(credentialsVariable), "credentials", p.name},
	} {
		if file.path == "" {
			home := vars.Home()
			if home == "" {
				continue // there are no files of the user
			}
			file.path = filepath.Join(home, ".aws", file.usual)
		}
		data, err := os.ReadFile(file.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return p, none("the AWS profiles: "+err.Error(), "make the file readable for you", err)
		}
		if readSection(data, file.section, p.value) || p.name == "default" && readSection(data, p.name, p.value) {
			found = true
		}
	}
	if p.named && !found {
		return p, none("no AWS profile is called "+p.name, "AWS_PROFILE names a section of ~/.aws/config or ~/.aws/credentials", nil)
	}
	return p, nil
}

// readSection adds the settings of a section and reports whether it is there. Indented lines belong to a nested table.
func readSection(data []byte, name string, to map[string]string) (found bool) {
	inside := false
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		line := lines.Text()
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "", trimmed[0] == '#', trimmed[0] == ';':
		case trimmed[0] == '[':
			title, _, _ := strings.Cut(trimmed[1:], "]")
			inside = strings.Join(strings.Fields(title), " ") == name
			found = found || inside
		case inside && line[0] != ' ' && line[0] != '\t':
			if key, value, ok := strings.Cut(trimmed, "="); ok {
				value, _, _ = strings.Cut(value, " #")
				to[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
			}
		}
	}
	return found
}
