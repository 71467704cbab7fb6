package confine

import (
	"cmp"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/environ"
	"artoo/tool/proxy"
)

// proxyVariables are the variables by which programs find a proxy: the usual ones, and those of package managers that
// read none of these or let a file of their own stand above them.
const proxyVariables = `http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY npm_config_proxy
	npm_config_https_proxy YARN_HTTP_PROXY YARN_HTTPS_PROXY CARGO_HTTP_PROXY PIP_PROXY`

// throughProxy is the environment of a line that reaches hosts by the proxy at an address. The loopback is the
// session's own, except where the line may reach one of the machine. Virtual environments are made in the project: a
// home would not keep them.
func throughProxy(variables environ.Vars, address string, hosts []proxy.Host) environ.Vars {
	for name := range strings.FieldsSeq(proxyVariables) {
		variables = variables.With(name, address)
	}
	direct := slices.DeleteFunc([]string{"localhost", "127.0.0.1", "::1"}, func(name string) bool {
		return slices.ContainsFunc(hosts, func(h proxy.Host) bool { return h.Name == name })
	})
	for _, name := range []string{"no_proxy", "NO_PROXY", "npm_config_noproxy"} {
		variables = variables.With(name, strings.Join(direct, ","))
	}
	for _, name := range []string{"POETRY_VIRTUALENVS_IN_PROJECT", "PIPENV_VENV_IN_PROJECT"} {
		variables = variables.With(name, "1")
	}
	return variables.With("GRADLE_OPTS", strings.TrimSpace(variables.Get("GRADLE_OPTS")+" "+javaProxy(address)))
}

// javaProxy are Java's options for the proxy, which it does not take from variables. It would not send a password to
// a proxy for https without the last one.
func javaProxy(address string) string {
	host, port, user, password := partsOf(address)
	var options []string
	for _, scheme := range []string{"http", "https"} {
		options = append(options, "-D"+scheme+".proxyHost="+host, "-D"+scheme+".proxyPort="+port,
			"-D"+scheme+".proxyUser="+user, "-D"+scheme+".proxyPassword="+password)
	}
	return strings.Join(append(options, "-Djdk.http.auth.tunneling.disabledSchemes="), " ")
}

// withMaven are files of a home with a settings.xml that has the proxy: Maven takes its password from there alone.
func withMaven(files map[string]string, home, address string) map[string]string {
	path := filepath.Join(home, ".m2", "settings.xml")
	host, port, user, password := partsOf(address)
	proxies := ""
	for _, scheme := range []string{"http", "https"} {
		proxies += "<proxy><id>artoo-" + scheme + "</id><protocol>" + scheme + "</protocol><username>" + user +
			"</username><password>" + password + "</password><host>" + host + "</host><port>" + port + "</port></proxy>"
	}
	all := map[string]string{}
	maps.Copy(all, files)
	all[path] = strings.Replace(cmp.Or(all[path], "<settings></settings>"), "</settings>",
		"<proxies>"+proxies+"</proxies></settings>", 1)
	return all
}

func partsOf(address string) (host, port, user, password string) {
	at, err := url.Parse(address)
	if err != nil {
		return "", "", "", ""
	}
	password, _ = at.User.Password()
	return at.Hostname(), at.Port(), at.User.Username(), password
}
