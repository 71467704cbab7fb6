package redact

import (
	"strings"
	"testing"
)

// A credential in a setting is hidden by its place, whatever it looks like, and nothing else is.
func TestACredentialInASettingIsHiddenByItsPlace(t *testing.T) {
	t.Parallel()
	const key = "plum-tree42"
	for _, around := range []string{
		"https://me:§@h.example/v1", "https://§@h.example/v1", "http://h.example/v1?api_key=§", "https://h.example/?x=§&alt=sse",
		"https://h.example/v1#access_token=§", "postgres://admin:§@db:5432/x", "ftp://u:§@h; echo ok",
		"guard --token §", "guard --token=§ --level 3", "guard -password §", "npx -y server --api-key '§'", "login --access-token §",
		"TOKEN=§ guard", "env MY_API_KEY=§ guard", "docker run -e GITHUB_TOKEN=§ image", "FOO_PASSWORD='§' x",
		"curl -H 'Authorization: Bearer §' https://h.example/", `curl -H "X-Api-Key: §" h`, "curl -H Authorization: Bearer § h",
		"curl -H 'Cookie: §' h", "curl -u me:§ h", "curl --user me:§ h", `{"api_key": "§", "n": 1}`, `client_secret = "§"`,
		"X-Api-Key = §", "OTEL_EXPORTER_OTLP_HEADERS=x=1,authorization=Bearer §", "authorization=Basic%20§", "HTTPS_PROXY=http://u:§@p:3128",
		"PASSWORD1=§ x", "TOKEN_2=§ x", "API_KEY_V2=§ x", "SECRET_KEY_BASE=§ x", "AWS_ACCESS_KEY_ID=§ x", "GH_PAT=§ x", "curl -U me:§ h", "curl --proxy-user me:§ h",
		`["--header", "Authorization:§"]`, "curl --header=X-Api-Key:§ h", "curl -H X-Api-Key:§ h", "x --token:§", "{'token': '§'}", `curl -d "{\"password\":\"§\"}" h`,
		"TOKEN=§|x", "TOKEN=§>f x", "bash(curl --token §)", "sh -c 'guard --secret §'", `["guard", "--token", "§"]`,
	} {
		if got := Setting(strings.Replace(around, "§", key, 1)); got != strings.Replace(around, "§", Hidden, 1) {
			t.Errorf("%s: %s", around, got)
		}
	}
	if got := Setting("guard --token 'pa$$word$1'"); got != "guard --token '***'" {
		t.Errorf("a sign of money: %s", got)
	}
	for _, plain := range []string{
		// what runs, or is written to, is seen
		`sh -c 'x --token "a' && rm -rf /home && echo '"'`, "grep 'token = ' && rm -rf /home && echo ' x'", `x "token = " >/etc/passwd && y " z"`, "--token >/etc/passwd", "--token (rm)",
		"docker run --user 1000:1000 image", "docker run -u node:node image", "npm run get-token:production", "sign-token:all", "repo:get-token:read", "TOKEN=${TOKEN}x y",
		"guard --level high", "https://h.example/v1/models?alt=sse", "git@github.com:o/r.git", "ssh://git@github.com/o/r", "make -k all",
		"npx -y @modelcontextprotocol/server-everything", "--token-file ~/.token --max-tokens 4096", "max_tokens=8192", "TOKEN=$TOKEN guard",
		"--api-key ${KEY} --key name", "token: must not hold a secret itself", `token = { env = "NAME" }`, "bash(go test:*)", "export GITHUB_TOKEN=…",
		"HTTPS_PROXY=http://user:password@proxy:3128", "the key is unknown", "set OPENAI_API_KEY, GEMINI_API_KEY or ARTOO_API_KEY, see artoo help environment", "no such key: permissions.denny", "token: authentication-required", "https://raw.example/o/r/0123456789abcdef0123456789abcdef01234567/f",
		"https://h.example/openai/deployments/gpt-5.1-codex-max/chat", "auth: sigv4", "api_key: the key holds a space", "sort -t, -k 2 --key 3",
		"openai/gpt-5", "KEY=NAME", "https://bedrock.example/model/anthropic.claude-sonnet-4-5-20250929-v1:0/converse",
	} {
		if got := Setting(plain); got != plain {
			t.Errorf("%s became %s", plain, got)
		}
	}
}
