package environ

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChildEnviron(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=/bin", "HOME=/home/u", "LANG=C.UTF-8", "SSH_AUTH_SOCK=/run/agent", "XDG_SESSION_ID=1",
		"KEYBOARD_LAYOUT=us", "TOKENIZERS_PARALLELISM=false", "MAX_TOKENS=5", "KEY_BINDINGS=vi", "OLDPWD=/",
		"AUTHOR=me", "COMPASS=n", "BYPASS=1", "EMPTY=", "WITH=a=b", "ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=k",
		"GEMINI_API_KEY=k", "GOOGLE_API_KEY=k", "DEEPSEEK_API_KEY=k", "OPENROUTER_API_KEY=k", "ARTOO_API_KEY=k",
		"ARTOO_MODEL=m", "GITHUB_TOKEN=t", "NPM_TOKEN=t", "AWS_SECRET_ACCESS_KEY=k", "AWS_ACCESS_KEY_ID=i",
		"DB_PASSWORD=p", "PGPASSWORD=p", "MYSQL_PWD=p", "STRIPE_KEY=k", "GITHUB_PAT=p", "NODE_AUTH_TOKEN=t",
		"GOOGLE_APPLICATION_CREDENTIALS=/f", "SSH_PRIVATE_KEY_PEM=x", "github_token=t", "BASH_ENV=/tmp/x", "ENV=/tmp/x",
		"BASH_FUNC_ls%%=() { evil; }", "SHELLOPTS=xtrace", "CDPATH=/", "FORCE_COLOR=1", "SSH_ASKPASS=/bin/ask",
		"TERM=xterm-256color", "PAGER=less", "GH_PAGER=less", "EDITOR=vi", "GIT_EDITOR=vi", "GIT_DIR=/o/.git", "GIT_WORK_TREE=/o", "GIT_COMMON_DIR=/o/.git", "PWD=/elsewhere",
	}
	env, withheld := ChildEnviron(environ, Withholding{Pass: []string{"NPM_TOKEN", "OPENAI_API_KEY", "ARTOO_API_KEY"}, Keys: []string{"OPENAI_API_KEY"}})
	wantEnv := []string{
		"AUTHOR=me", "BYPASS=1", "COMPASS=n", "COMPOSER_NO_INTERACTION=1", "COREPACK_ENABLE_DOWNLOAD_PROMPT=0", "DEBIAN_FRONTEND=noninteractive", "EDITOR=false", "EMPTY=",
		"GH_PROMPT_DISABLED=1", "GIT_EDITOR=false", "GIT_MERGE_AUTOEDIT=no", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "HOME=/home/u",
		"KEYBOARD_LAYOUT=us", "LANG=C.UTF-8", "MAX_TOKENS=5", "NO_COLOR=1", "NPM_TOKEN=t",
		"OLDPWD=/", "PAGER=cat", "PATH=/bin", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1",
		"PIP_PROGRESS_BAR=off", "PYTHONUNBUFFERED=1", "SSH_ASKPASS_REQUIRE=never",
		"SSH_AUTH_SOCK=/run/agent", "TERM=dumb", "TF_INPUT=0", "TF_IN_AUTOMATION=1", "TOKENIZERS_PARALLELISM=false", "VISUAL=false", "WITH=a=b",
		"XDG_SESSION_ID=1", "npm_config_fund=false", "npm_config_progress=false", "npm_config_update_notifier=false",
		"npm_config_yes=true",
	}
	slices.Sort(env)
	if diff := cmp.Diff(wantEnv, env); diff != "" {
		t.Errorf("environment: %s", diff)
	}
	wantWithheld := []string{
		"ANTHROPIC_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "DEEPSEEK_API_KEY",
		"GEMINI_API_KEY", "GITHUB_PAT", "GITHUB_TOKEN", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "KEY_BINDINGS", "MYSQL_PWD",
		"NODE_AUTH_TOKEN", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "PGPASSWORD", "SSH_PRIVATE_KEY_PEM", "STRIPE_KEY",
		"github_token",
	}
	if diff := cmp.Diff(wantWithheld, withheld); diff != "" {
		t.Errorf("withheld: %s", diff)
	}
}

// A variable is judged by the parts of its name, so that a name which only begins or ends like a word for a credential
// is passed.
func TestCredentialsAreWithheldByName(t *testing.T) {
	t.Parallel()
	secret := strings.Fields(`JWT BEARER SESSION_COOKIE DBPASS STRIPE_SK SENTRY_DSN CI_JOB_JWT_V2 DB_PASS REDIS_PASSWD GPG_PASSPHRASE
		BASIC_AUTH REGISTRY_AUTH_FILE GH_PAT PAT AUTH SK KEY TOKEN SECRET PASSWORD APIKEY STRIPEKEY API_KEY_2 DBPASSWORD CLIENTSECRET
		VAULTTOKEN NPM_CONFIG__AUTHTOKEN npm_config__authToken AZURE_CREDENTIALS SECRET_KEY_BASE MYSQL_PWD CLIENT_SECRETS DB_CREDENTIAL
		DJANGO_SECRET_KEY DOCKER_AUTH_CONFIG`)
	public := strings.Fields(`PATH HOME LANG LC_ALL LANGUAGE OLDPWD USER LOGNAME SHELL SHLVL HOSTNAME HOSTTYPE TZ UMASK MAIL LS_COLORS COLORTERM
		TERM_PROGRAM TMPDIR XDG_RUNTIME_DIR XDG_SESSION_ID XDG_CONFIG_HOME XAUTHORITY SSH_AUTH_SOCK SSH_AGENT_PID SSH_CONNECTION SSH_TTY
		GPG_TTY DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS DOCKER_HOST TMUX TMUX_PANE WINDOWID DESKTOP_SESSION
		GOPRIVATE GOPATH GOFLAGS GOPROXY GONOSUMDB CGO_ENABLED CARGO_HOME RUSTUP_HOME JAVA_HOME NODE_ENV NODE_OPTIONS NVM_DIR PYTHONPATH
		VIRTUAL_ENV CONDA_PREFIX GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL HTTP_PROXY no_proxy SSL_CERT_FILE CI GITHUB_ACTIONS GITHUB_SHA AWS_REGION
		AWS_PROFILE KUBECONFIG KEYBOARD KEYBOARD_LAYOUT KEYMAP KEYRING MONKEY MONKEY_PATCH HOTKEY LESSKEY TURKEY COMPASS BYPASS BYPASS_CACHE
		TOKENIZERS_PARALLELISM MAX_TOKENS AUTHOR SECRETARY PASSENGER PATTERN SKIP DSNAME COOKIECUTTER_CONFIG`)
	var environ []string
	for _, name := range append(slices.Clone(secret), public...) {
		environ = append(environ, name+"=x")
	}
	env, withheld := ChildEnviron(environ, Withholding{})
	slices.Sort(secret)
	if diff := cmp.Diff(secret, withheld); diff != "" {
		t.Errorf("withheld: %s", diff)
	}
	for _, name := range public {
		if !slices.Contains(env, name+"=x") {
			t.Errorf("%s is lost", name)
		}
	}
	if env, withheld = ChildEnviron(environ, Withholding{Pass: secret}); len(withheld) > 0 || !slices.Contains(env, "JWT=x") {
		t.Errorf("what is passed by name: %q are withheld", withheld)
	}
}

// A value that holds a key is withheld under any name, except one that the user passes.
func TestCredentialsAreWithheldByValue(t *testing.T) {
	t.Parallel()
	environ := []string{"DATABASE_URL=postgres://u:hunter22@db/x", "MIRROR=https://example.org/", "NOTE=hunter22", "EMPTY="}
	env, withheld := ChildEnviron(environ, Withholding{
		Pass: []string{"NOTE"}, Holds: func(value string) bool { return strings.Contains(value, "hunter22") }})
	if diff := cmp.Diff([]string{"DATABASE_URL"}, withheld); diff != "" {
		t.Errorf("withheld: %s", diff)
	}
	for _, want := range []string{"MIRROR=https://example.org/", "NOTE=hunter22", "EMPTY="} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
}

// Names that other things have, too, are judged with their value: words, numbers and paths are no credentials.
func TestTheValueDecidesOverANameThatOtherThingsHave(t *testing.T) {
	t.Parallel()
	secret := []string{"SLACK_WEBHOOK_URL=https://hooks.example/services/T0/B0/abcdefghijklmnopqrstuvwx", "OP_SESSION_my=Xq3-v9_4zz8Lk2m1",
		"MNEMONIC=abandon ability able about above absent", "WALLET_SEED=f00dfeed99", "DB_PW=hunter2!", "LICENSE=AB12-CD34-EF56-0x", "OAUTH_CLIENT=9f8e7d6c5b",
		"REFRESH=1//0gAbC", "S3_ACCESS=Zz9+yY8", "DB_CONNECTION=Server=db;Uid=u", "CARD_PIN=12a4", "LOGIN_OTP=x9y8z7"}
	public := []string{"XDG_SESSION_TYPE=x11", "XDG_SESSION_ID=c2", "DESKTOP_SESSION=plasma-wayland", "SESSION=/usr/share/xsessions/i3", "LICENSE=Apache-2.0",
		"SEED=42", "PIN=4", "RANDOM_SEED=-1.5", "SSH_CONNECTION=10.0.0.2 5122 10.0.0.1 22", "OAUTH_FILE=~/oauth.json", "ACCESS=readonly", "CONNECTION=keep-alive", "OTP=",
		"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1/bus"}
	env, withheld := ChildEnviron(slices.Concat(secret, public), Withholding{})
	if len(withheld) != len(secret) {
		t.Errorf("withheld: %q", withheld)
	}
	for _, want := range public {
		if !slices.Contains(env, want) {
			t.Errorf("%s is lost", want)
		}
	}
}

func TestTheUsersOwnWordForOneProgramHoldsAndThatForATerminalDoesNot(t *testing.T) {
	t.Parallel()
	env, _ := ChildEnviron([]string{"NPM_CONFIG_YES=false", "PYTHONUNBUFFERED=", "CI=1", "GIT_PAGER=less"}, Withholding{})
	for _, want := range []string{"NPM_CONFIG_YES=false", "PYTHONUNBUFFERED=", "CI=1", "GIT_PAGER=cat"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %v", want, env)
		}
	}
	for _, wrong := range []string{"npm_config_yes=true", "PYTHONUNBUFFERED=1", "GIT_PAGER=less"} {
		if slices.Contains(env, wrong) {
			t.Errorf("%s in %v", wrong, env)
		}
	}
	if env, _ = ChildEnviron(nil, Withholding{}); slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "CI=") }) {
		t.Errorf("CI is set: %v", env)
	}
}

func TestTheVariablesOfCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	env, _ := ChildEnviron(nil, Withholding{})
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !strings.Contains(string(page), "`"+kv+"`") &&
			!strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/configuration.md does not say %s", kv)
		}
	}
}

// A hook's environment has the variables that programs need, and those passed on.
func TestAHookGetsFewVariables(t *testing.T) {
	t.Parallel()
	got := OfExtension([]string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "https_proxy=p", "XDG_RUNTIME_DIR=/r", "USER=u", "SECRET=s", "ARTOO_API_KEY=k", "TOKEN=t", "SSL_CERT_FILE=c"}, "TOKEN")
	if want := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "https_proxy=p", "XDG_RUNTIME_DIR=/r", "TOKEN=t", "SSL_CERT_FILE=c"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
