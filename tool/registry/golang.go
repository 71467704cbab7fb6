package registry

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
)

// golang asks the go command, whose file of settings commands in the sandbox see. What GOPRIVATE names comes from
// hosts of its own, which are no registry.
func golang(ctx context.Context, u user) ([]source, map[string]string, error) {
	// The version that the user's variables name may have to be fetched first.
	u.own = u.own.With("GOTOOLCHAIN", "local")
	printed, err := u.run(ctx, "go", "env", "-json", "GOPROXY", "GOSUMDB", "GOAUTH")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var env struct{ GOPROXY, GOSUMDB, GOAUTH string }
	if err := json.Unmarshal([]byte(printed), &env); err != nil {
		return nil, nil, err
	}
	key, netrc := "", false
	for method := range strings.SplitSeq(env.GOAUTH, ";") {
		switch method = strings.TrimSpace(method); method {
		case "netrc", "":
			netrc = true
		case "off":
		default:
			key = "GOAUTH"
		}
	}
	sources := append([]source{}, sourcesOf(env.GOPROXY, key)...)
	// It is a name, with a key to check it by, and after a space a URL, if that is another one.
	database, address, _ := strings.Cut(env.GOSUMDB, " ")
	if name, _, _ := strings.Cut(database, "+"); address == "" && name != "off" {
		address = "https://" + name
	}
	if sources = append(sources, sourcesOf(address, key)...); !netrc {
		return sources, nil, nil
	}
	sources, err = u.netrc(sources)
	return sources, nil, err
}
