// Package environ makes the environment of commands, and reports its consequences.
package environ

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Withholding says which variables commands do not get.
type Withholding struct {
	Keys []string // hold the keys of model providers, and are never passed
	Pass []string // are passed though they look like credentials
	// Holds reports whether a value holds a credential; nil means that only names count.
	Holds func(value string) bool
}

// ChildEnviron makes the environment of commands from environ, which is as os.Environ gives it, without
// artoo's own variables and without those that hold names. Variables that could make a command read other
// files first, open an editor or a pager, or ask the user, are set so that it does not: see quietVariables,
// which hold whatever environ says, and quietDefaults, which do not. withheld names the credential-like
// variables that were left out, sorted; it is for Env.Withheld.
func ChildEnviron(environ []string, hold Withholding) (env []string, withheld []string) {
	set, defaults := quietVariables(), quietDefaults()
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		_, ours := set[name]
		switch {
		case ours, isDropped(name):
		case slices.Contains(hold.Keys, name):
			withheld = append(withheld, name)
		case !slices.Contains(hold.Pass, name) &&
			(IsCredential(name) || mayBeCredential(name) && !isPlain(value) || hold.Holds != nil && hold.Holds(value)):
			withheld = append(withheld, name)
		default:
			env = append(env, kv)
			delete(defaults, strings.ToUpper(name))
		}
	}
	passed := len(env)
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	for _, kv := range defaults {
		env = append(env, kv)
	}
	slices.Sort(env[passed:])
	slices.Sort(withheld)
	return env, slices.Compact(withheld)
}

// OfExtension is the environment of a server or hook: of variables, which is as os.Environ gives it, the
// search path, the home, the locale, temporary and XDG directories, proxies, root certificates, and the
// variables that pass names.
func OfExtension(variables []string, pass ...string) (kept []string) {
	for _, entry := range variables {
		name, _, _ := strings.Cut(entry, "=")
		upper := strings.ToUpper(name)
		switch {
		case slices.Contains([]string{"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR"}, name),
			strings.HasPrefix(name, "LC_"), strings.HasPrefix(name, "XDG_"),
			slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}, upper),
			IsCertificates(name), slices.Contains(pass, name):
			kept = append(kept, entry)
		}
	}
	return kept
}

// WithoutKeys is environ without the keys of model providers, which stand in the
// variables that keys names: for the user's programs that artoo starts by itself,
// such as an editor or a pager.
func WithoutKeys(environ []string, keys ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "ARTOO_API_KEY" || slices.Contains(keys, name)
	})
}

// quietVariables keep commands from waiting for a user.
func quietVariables() map[string]string {
	return map[string]string{
		"TERM":                "dumb",
		"NO_COLOR":            "1",
		"PAGER":               "cat",
		"GIT_PAGER":           "cat",
		"GIT_TERMINAL_PROMPT": "0",
		"GIT_MERGE_AUTOEDIT":  "no",
		"EDITOR":              "false",
		"VISUAL":              "false",
		"GIT_EDITOR":          "false",
		"GIT_OPTIONAL_LOCKS":  "0", // git status leaves the index alone
		"DEBIAN_FRONTEND":     "noninteractive",
		"SSH_ASKPASS_REQUIRE": "never",
	}
}

// quietDefaults have single programs print their output at once and not ask, where the user's own variable
// does not say otherwise; by the name in capitals, since npm reads either. CI itself is not among them:
// with it tests write no snapshots, warnings become errors, and servers are not reused.
func quietDefaults() map[string]string {
	defaults := map[string]string{}
	for _, kv := range []string{
		"PYTHONUNBUFFERED=1", // or a program that is stopped has said nothing
		"PIP_NO_INPUT=1", "PIP_PROGRESS_BAR=off", "PIP_DISABLE_PIP_VERSION_CHECK=1",
		"npm_config_yes=true", "npm_config_progress=false", "npm_config_fund=false", "npm_config_update_notifier=false",
		"COREPACK_ENABLE_DOWNLOAD_PROMPT=0", "COMPOSER_NO_INTERACTION=1", "GH_PROMPT_DISABLED=1",
		"TF_INPUT=0", "TF_IN_AUTOMATION=1",
	} {
		name, _, _ := strings.Cut(kv, "=")
		defaults[strings.ToUpper(name)] = kv
	}
	return defaults
}

// isDropped says whether a variable is left out without a word: artoo's own, files and functions
// that shells read first, forced colour, programs with windows for passwords, and another repository than the one
// that the project is.
func isDropped(name string) bool {
	switch name {
	case "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "CDPATH", "PROMPT_COMMAND", "PWD",
		"CLICOLOR_FORCE", "FORCE_COLOR", "MANPAGER", "SYSTEMD_PAGER", "GH_PAGER", "AWS_PAGER", "BAT_PAGER", "PSQL_PAGER",
		"GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "SSH_ASKPASS",
		"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR":
		return true
	}
	return strings.HasPrefix(name, "ARTOO_") || strings.HasPrefix(name, "BASH_FUNC_")
}

// IsCredential reports whether a word of a variable's name is, or ends as, that of a credential.
func IsCredential(name string) bool {
	if name == "MYSQL_PWD" {
		return true
	}
	if IsSocket(name) { // SSH_AUTH_SOCK
		return false
	}
	for word := range strings.SplitSeq(strings.ToUpper(name), "_") {
		switch word {
		case "AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "CREDENTIAL", "CREDENTIALS", "DSN", "JWT", "PASSPHRASE", "PASSWD", "PAT", "SECRETS", "SK":
			return true
		case "ASKPASS", "BYPASS", "COMPASS", "DONKEY", "HOTKEY", "LESSKEY", "MONKEY", "TURKEY", "WHISKEY":
			continue // they end as the words below only by chance
		}
		for _, ending := range []string{"KEY", "PASS", "PASSWORD", "SECRET", "TOKEN"} {
			if strings.HasSuffix(word, ending) {
				return true
			}
		}
	}
	return false
}

// mayBeCredential reports whether a word of a variable's name is that of a credential or of something harmless: its value
// decides.
func mayBeCredential(name string) bool {
	if IsSocket(name) || strings.HasPrefix(name, "XDG_") { // DBUS_SESSION_BUS_ADDRESS, XDG_SESSION_TYPE
		return false
	}
	for word := range strings.SplitSeq(strings.ToUpper(name), "_") {
		switch word {
		case "WEBHOOK", "MNEMONIC", "SEED", "PIN", "OTP", "SESSION", "OAUTH", "PW", "REFRESH", "ACCESS", "CONNECTION", "LICENSE":
			return true
		}
	}
	return false
}

var plainValue = sync.OnceValue(func() *regexp.Regexp {
	const word = `(?:[a-z]{1,20}|[A-Z][a-z]{0,19}|[A-Z]{1,20})`
	return regexp.MustCompile(`^(?:` + word + `(?:[-_.:](?:` + word + `|[0-9]{1,4}))*|[-+]?[0-9][0-9.:, ]*|(?:[.~]|\.\.)?/[^:=?#;,]*|)$`)
})

// isPlain reports whether a value is a word, a number or a path, as no credential is.
func isPlain(value string) bool { return len(value) <= 4096 && plainValue().MatchString(value) }

// IsCertificates reports whether the variable has programs trust root certificates: those of a file or of directories
// that it names, or those of the system.
func IsCertificates(name string) bool {
	switch strings.ToUpper(name) {
	case "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "NPM_CONFIG_CAFILE", "REQUESTS_CA_BUNDLE",
		"CURL_CA_BUNDLE", "PIP_CERT", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "DENO_CERT", "DENO_TLS_CA_STORE", "CARGO_HTTP_CAINFO",
		"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "AWS_CA_BUNDLE", "NIX_SSL_CERT_FILE", "HTTPLIB2_CA_CERTS",
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE":
		return true
	}
	return false
}

// IsSocket reports whether the variable says where a program of the user's listens.
func IsSocket(name string) bool {
	switch name {
	case "SSH_AUTH_SOCK", "DOCKER_HOST", "TMUX", "DISPLAY", "WAYLAND_DISPLAY":
		return true
	}
	return strings.HasPrefix(name, "DBUS_")
}

// ShellLocale is the locale of characters in an environment, "" for ASCII and UTF-8.
func ShellLocale(environ []string) string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		value := Vars(environ).Get(name)
		if value == "" {
			continue
		}
		folded := strings.ToLower(value)
		switch {
		case folded == "c", folded == "posix", strings.Contains(folded, "utf-8"), strings.Contains(folded, "utf8"):
			return ""
		}
		return value
	}
	return ""
}
