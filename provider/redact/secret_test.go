package redact

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

// examples hold a key each, split so that no scanner takes this file for a leak.
func examples() map[string]string {
	long := strings.Repeat("aB3", 20)
	return map[string]string{
		"openai":     "sk-" + "proj-" + long,
		"anthropic":  "sk-" + "ant-api03-" + long,
		"stripe":     "sk_" + "live_" + long[:24],
		"github":     "gh" + "p_" + long[:36],
		"github new": "github" + "_pat_" + long[:30],
		"gitlab":     "glp" + "at-" + long[:20],
		"aws":        "AK" + "IA" + "ABCDEFGHIJ234567",
		"google":     "AI" + "za" + long[:35],
		"slack":      "xo" + "xb-" + "123456789012-abc",
		"jwt":        "ey" + "J" + long[:20] + ".eyJ" + long[:20] + "." + long[:10],
		"age":        "AGE-SECRET-" + "KEY-1" + strings.Repeat("Q2", 20),
		"pem":        "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE" + long + "\n-----END RSA PRIVATE KEY-----",
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	marks := map[string]bool{}
	for name, key := range examples() {
		for _, around := range [][2]string{{"", ""}, {"key=", " and more"}, {`{"k":"`, `"}`}, {"a\n", "\nb"}} {
			text := around[0] + key + around[1]
			got := Mask(text)
			if !Holds(text) || strings.Contains(got, key[len(key)/2:]) ||
				!strings.HasPrefix(got, around[0]+"‹secret:") || !strings.HasSuffix(got, "›"+around[1]) {
				t.Errorf("%s: %q becomes %q", name, text, got)
			}
			if again := Mask(text); again != got {
				t.Errorf("%s: two marks for one key, %q and %q", name, got, again)
			}
		}
		marks[Mask(key)] = true
	}
	if len(marks) < len(examples()) {
		t.Errorf("%d marks for %d keys", len(marks), len(examples()))
	}
}

func TestMaskLeavesTheRest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                      "",
		"plain":                                 "plain",
		"https://host/path":                     "https://host/path",
		"task-force-of-twenty-and-more-people":  "task-force-of-twenty-and-more-people",
		"sk-short":                              "sk-short",
		"go to https://me:" + "hunter22@host/x": "go to https://me:" + markOf("hunter22") + "@host/x",
		"Authorization: Bearer " + strings.Repeat("y", 24) + "\n": "Authorization: Bearer " +
			markOf(strings.Repeat("y", 24)) + "\n",
		"authorization: bearer " + strings.Repeat("z", 24): "authorization: bearer " + markOf(strings.Repeat("z", 24)),
	} {
		if got := Mask(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if Holds(text) != (want != text) {
			t.Errorf("Holds(%q) is %v", text, Holds(text))
		}
	}
	two := "a " + "sk-" + strings.Repeat("1", 30) + " b " + "sk-" + strings.Repeat("2", 30) + " c"
	if got := Mask(two); strings.Count(got, "‹secret:") != 2 || !strings.HasPrefix(got, "a ‹") ||
		!strings.Contains(got, "› b ‹") || !strings.HasSuffix(got, "› c") {
		t.Errorf("two keys become %q", got)
	}
}

// aToken is split like the examples.
var aToken = "gh" + "p_" + strings.Repeat("aB3", 12)

// Text of daily work that is no secret must reach the model as it stands: the
// model could not edit it otherwise.
func TestMaskLeavesNamesAndExamples(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"postgres://postgres:postgres@localhost:5432/db",
		"postgres://app:my_password@db/app",
		"https://user:pass@host/",
		"http://me:xxxxxx@host/",
		`f"postgresql://{user}:{password}@{host}/x"`,
		"mongodb://${MONGO_USER}:${MONGO_PASS}@db",
		"amqp://me:$PASS@mq", "https://me:$(cat f)@host", "http://{{.User}}:{{.Pass}}@host",
		`fmt.Sprintf("http://%s:%s@%s", u, p, h)`,
		"https://<user>:<password>@host",
		"http://localhost:3000?x=me@example.com",
		"http://localhost:3000#me@example.com",
		`{"url":"http://localhost:8080","mail":"me@example.com"}`,
		"['http://localhost:8080','me@example.com']",
		`class="sk-toggleable__label-arrow sk-estimator-doc-link-label"`,
		"sk-toggle-button-container-v2", "sk-learn-pipeline-step-number-12", "xoxb-some-words-of-css-3",
		"AKIA" + "IOSFODNN7EXAMPLE",
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
		"OPENAI_API_KEY=sk-" + strings.Repeat("x", 40), "Bearer " + strings.Repeat("X", 30),
		"AKIA" + strings.Repeat("0", 16), "sk-proj-" + strings.Repeat("x", 40) + "-xxx", "http://foo:bar@example.com",
		"https://me:REDACTED@host", "xapp-status-icon-watcher", "xoxo-with-love-from-me",
		"pypi-" + strings.Repeat("some-name-", 5),
		"Authorization: Bearer YOUR_API_TOKEN_GOES_HERE",
		"Bearer process.env.SERVICE_TOKEN_OF_TODAY",
		`if strings.HasPrefix(s, "-----BEGIN RSA PRIVATE KEY-----") {`,
		"if s == \"-----BEGIN RSA PRIVATE KEY-----\" {\n\treturn x509.ParsePKCS1PrivateKey(theBytesOfTheBlockThatWasFoundInIt)\n}",
		"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
		"-----BEGIN CERTIFICATE-----\nMIIE" + strings.Repeat("aB3", 20) + "\n-----END CERTIFICATE-----",
		`const begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"`,
		"begin := `-----BEGIN PRIVATE KEY-----`\nkey := append([]byte(begin), bytesOfTheBlockThatWasFound0123456789...)\nend := `-----END PRIVATE KEY-----`",
		"\treturn x509.ParsePKCS1PrivateKey1234(theBytesOfTheBlockThatWasFound0)\n-----END PRIVATE KEY-----",
		base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\nMIIE" + strings.Repeat("aB3", 20) +
			"\n-----END CERTIFICATE-----\n")),
	} {
		if got := Mask(text); got != text || Holds(text) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestMaskFindsKeysInTheirPlaces(t *testing.T) {
	t.Parallel()
	body := "MIIE" + strings.Repeat("aB3", 20)
	head, end := "-----BEGIN RSA PRIVATE "+"KEY-----", "-----END RSA PRIVATE KEY-----"
	cut := head + "\n" + body + "\n" + body
	locked := head + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n" + body + "\n" + end
	listed := head + "\nkey.pem-2-" + body + "\nkey.pem-3-" + body + "\nkey.pem-4-" + end
	inJSON := head + `\n` + body + `\n` + end
	blob := base64.StdEncoding.EncodeToString([]byte(head + "\n" + body + "\n" + body + "\n" + end + "\n"))
	wrapped := blob[:76] + "\n" + blob[76:152] + "\n" + blob[152:228] + "\n" + blob[228:]
	inList := "'" + head + "',\n  '" + body + "',\n  '" + body + "',\n  '" + end
	pgp := "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\n\n" + body + "\n-----END PGP PRIVATE KEY BLOCK-----"
	for text, want := range map[string]string{
		"https://" + aToken + ":x-oauth-basic@github.com/": "https://" + markOf(aToken) + ":x-oauth-basic@github.com/",
		"https://" + aToken + ":q1w2e3@github.com/": "https://" + markOf(aToken) + ":" + markOf("q1w2e3") +
			"@github.com/",
		"https://me:p@ss1@host/":                           "https://me:" + markOf("p@ss1") + "@host/",
		"redis://:hunter22@host":                           "redis://:" + markOf("hunter22") + "@host",
		"a?next=https%3A%2F%2Fh%3Fkey%3D" + aToken + "&b":  "a?next=https%3A%2F%2Fh%3Fkey%3D" + markOf(aToken) + "&b",
		`printf '\033[1m` + aToken + `'`:                   `printf '\033[1m` + markOf(aToken) + `'`,
		`"\x00` + aToken + `\0` + aToken + `"`:             `"\x00` + markOf(aToken) + `\0` + markOf(aToken) + `"`,
		"tls.key: " + blob + "\ntype: tls\n":               "tls.key: " + markOf(blob) + "\ntype: tls\n",
		wrapped + "\nand more\n":                           markOf(wrapped) + "\nand more\n",
		"[" + inList + "',\n]":                             "['" + markOf(inList[1:]) + "',\n]",
		"x:\n  12\t" + body + "\n  13\taB3=\n  14\t" + end: "x:\n" + markOf("  12\t"+body+"\n  13\taB3=\n  14\t"+end),
		`{"log":"a\n` + aToken + `"}`:                      `{"log":"a\n` + markOf(aToken) + `"}`,
		`{"log":"\u0022` + aToken + `"}`:                   `{"log":"\u0022` + markOf(aToken) + `"}`,
		"\x1b[1;32m" + aToken + "\x1b[0m":                  "\x1b[1;32m" + markOf(aToken) + "\x1b[0m",
		cut + "\nand more\n":                               markOf(cut) + "\nand more\n",
		"a " + locked + " b":                               "a " + markOf(locked) + " b",
		"key.pem:1:" + listed + "\n":                       "key.pem:1:" + markOf(listed) + "\n",
		`{"key":"` + inJSON + `\n"}`:                       `{"key":"` + markOf(inJSON) + `\n"}`,
		head + " " + body + " " + end:                      markOf(head + " " + body + " " + end),
		head + "\nb3Bl":                                    markOf(head + "\nb3Bl"),
		pgp + "\n":                                         markOf(pgp) + "\n",
	} {
		if got := Mask(text); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", text, got, want)
		}
	}
}

// Text is masked in several places on its way: the second time changes nothing.
func TestMaskTwiceIsMaskOnce(t *testing.T) {
	t.Parallel()
	texts := []string{"https://me:hunter22@host/", "https://" + aToken + "@host/", "https://" + aToken + ":" +
		aToken + "@host", "Bearer " + aToken}
	for _, key := range examples() {
		texts = append(texts, key, "https://me:"+key+"@host")
	}
	for _, text := range texts {
		once := Mask(text)
		if once == text || Mask(once) != once {
			t.Errorf("%q becomes %q, then %q", text, once, Mask(once))
		}
	}
}

// Output may be megabytes: text that is nearly a key must not be looked at again
// and again.
func TestMaskIsLinear(t *testing.T) {
	for _, piece := range []string{"-eyJ", "-eyJabcdefghijkl.", "://a:", "://a:b", ":// ", "Bearer ", "bearer  ",
		"-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN ", "-----END PRIVATE KEY-----\n",
		strings.Repeat("aB3", 20) + "\n-----END PRIVATE KEY-----\n", encodedBegin,
		encodedBegin + "BQUklWQVRFIEtFWS0tLS0t\n", strings.Repeat("aB3", 20) + "\n", "-----BEGIN PRIVATE KEY-----'",
		"%", `\0`, "-sk-", "sk-a-", "/SG.", "@", "://\u2039", "a\n"} {
		size := 512 << 10
		if testing.Short() { // as under the race detector, where each byte takes many times longer
			size /= 4
		}
		text := strings.Repeat(piece, size/len(piece))
		began := time.Now()
		Mask(text)
		if took := time.Since(began); took > 10*time.Second { // it is less than one, or minutes
			t.Errorf("%q took %v", piece, took)
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, key := range examples() {
		f.Add("a " + key + " b")
		f.Add("https://me:" + key + "@host")
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := Mask(text)
		if Holds(text) != (once != text) {
			t.Errorf("Holds(%q) is %v", text, Holds(text))
		}
	})
}

func markOf(key string) string { return ownSalt().Mark(key) }

// A mark tells nothing to whoever has not the salt, and a private key has one mark
// however its lines are shown.
func TestAMarkDependsOnTheSalt(t *testing.T) {
	t.Parallel()
	one, two := NewSalt(), NewSalt()
	first, again, other := one.Mark(aToken), one.Mark(aToken), two.Mark(aToken)
	if first == other || first != again {
		t.Errorf("%s, then %s, and %s with another salt", first, again, other)
	}
	if mark := one.Mark(aToken); len(mark) != len("‹secret:1a2b3c4d5e6f›") {
		t.Errorf("the mark is %s", mark)
	}
	key := examples()["pem"]
	listed, compared := "", ""
	for line := range strings.Lines(key) {
		listed += "    12\t" + line
		compared += "+" + line
	}
	for _, shown := range []string{strings.TrimPrefix(listed, "    12\t"), strings.TrimPrefix(compared, "+")} {
		if one.Mark(shown) != one.Mark(key) {
			t.Errorf("%q and %q have two marks", shown, key)
		}
	}
}

func TestAVariableHoldsACredentialByItsValue(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"Server=db;Database=x;User Id=sa;Password=S3cret!;", "host=db user=me password=hunter22", "AccountName=a;AccountKey=abc+/9==;EndpointSuffix=x",
		"https://hooks.example/services/T00/B00/a1B2c3D4e5F6g7H8i9J0k1L2", "https://discord.example/api/webhooks/12/aB-3_cD4-eF5_gH6-iJ7_kL8", "sparse+https://x.example/?sig=0123456789abcdef0123456789",
		"https://x.example/hook/0f8fad5b-d9cd-469f-a165-70873728950e", "https://api.example/bot1234:AAEhBOweik6ad6PsVgZKDE-x9/send", "https://x.example?access_token=abcdefghijklmnopqrstuvwx",
		"redis://:hunter22@cache:6379/0", "jdbc:postgresql://db/shop?user=u&password=hunter22",
		"https://x.example/feed?token=hunter22"} {
		if !InVariable(secret) {
			t.Errorf("%s is no credential", secret)
		}
	}
	for _, plain := range []string{"", "https://proxy.golang.org,direct", "https://github.com/o/r/commit/0123456789abcdef0123456789abcdef01234567", "user:password@host",
		"https://www.python.example/ftp/3.12.1/python-3.12.1-amd64.exe", "postgres://postgres:postgres@localhost/db", "file:///nix/store/1adq3b8m2v6kx0lw9z7c5f4g3h2j1k0n-hello", "PASSWORD=${DB_PASS}",
		"a very plain sentence", "-Dfile.encoding=UTF-8 -Xmx2g", "https://x.example/kubernetes-release-notes-for-2024", "/usr/bin:/bin"} {
		if InVariable(plain) {
			t.Errorf("%s is a credential", plain)
		}
	}
}
