package cloud

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

// vector is a request of AWS's published test suite for Signature Version 4, and the signature that it has there.
var vectors = []struct{ name, method, address, body, kind, signed, signature string }{
	{"get-vanilla", "GET", "https://example.amazonaws.com/", "", "", "host;x-amz-date",
		"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{"get-vanilla-query-order-key-case", "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "", "", "host;x-amz-date",
		"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	{"get-unreserved", "GET", "https://example.amazonaws.com/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "", "",
		"host;x-amz-date", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
	{"post-vanilla", "POST", "https://example.amazonaws.com/", "", "", "host;x-amz-date",
		"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{"post-x-www-form-urlencoded", "POST", "https://example.amazonaws.com/", "Param1=value1", "application/x-www-form-urlencoded",
		"content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
}

func TestSignaturesAreThoseOfThePublishedVectors(t *testing.T) {
	t.Parallel()
	now := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	c := &credentials{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			r, err := http.NewRequest(v.method, v.address, nil)
			if err != nil {
				t.Fatal(err)
			}
			if v.kind != "" {
				r.Header.Set("Content-Type", v.kind)
			}
			r.Header["Idempotency-Key"] = []string{} // is never sent, and must not be signed
			if err := newAmazon(Options{}).signFor(r, []byte(v.body), c, "service", "us-east-1", now); err != nil {
				t.Fatal(err)
			}
			want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" + v.signed +
				", Signature=" + v.signature
			if got := r.Header.Get("Authorization"); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if _, kept := r.Header["Idempotency-Key"]; !kept {
				t.Error("the header without a value is lost")
			}
		})
	}
}

func TestTheRegionStandsInTheHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"bedrock-runtime.eu-central-1.amazonaws.com":              "eu-central-1",
		"bedrock.us-east-1.amazonaws.com":                         "us-east-1",
		"bedrock-runtime-fips.us-gov-west-1.amazonaws.com":        "us-gov-west-1",
		"bedrock-runtime.cn-north-1.amazonaws.com.cn":             "cn-north-1",
		"vpce-0-abc.bedrock-runtime.us-east-2.vpce.amazonaws.com": "us-east-2",
		"127.0.0.1": "", "bedrock.example.org": "", "localhost": "",
	} {
		if got := regionOf(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

// beside is a machine's servers: for the roles of instances and of containers. Its credentials expire after so long.
type besideServer struct {
	*httptest.Server
	given  int
	valid  time.Duration
	noRole bool
}

func newBesideServer(t *testing.T) *besideServer {
	t.Helper()
	b := &besideServer{valid: time.Hour}
	give := func(w http.ResponseWriter) {
		b.given++
		fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"ASIA%d","SecretAccessKey":"secret-%d","Token":"token-%d","Expiration":%q}`,
			b.given, b.given, b.given, time.Now().Add(b.valid).UTC().Format(time.RFC3339))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		fmt.Fprint(w, "session")
	})
	mux.HandleFunc("GET /latest/meta-data/iam/security-credentials/{role...}", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session":
			w.WriteHeader(http.StatusUnauthorized)
		case b.noRole:
			w.WriteHeader(http.StatusNotFound)
		case r.PathValue("role") == "":
			fmt.Fprint(w, "builder")
		default:
			give(w)
		}
	})
	mux.HandleFunc("GET /creds", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "word" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		give(w)
	})
	mux.HandleFunc("GET /truncated", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"AccessKeyId":"A","Secr`) })
	mux.HandleFunc("GET /expired", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"AccessKeyId":"A","SecretAccessKey":"s","Expiration":"2001-02-03T04:05:06Z"}`)
	})
	b.Server = httptest.NewServer(mux)
	t.Cleanup(b.Close)
	return b
}

// bare takes all of AWS's settings away, and points at files that are not there.
func bare(t *testing.T) (home string) {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE",
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE", tokenFile, configVariable, credentialsVariable, "AWS_EC2_METADATA_SERVICE_ENDPOINT"} {
		t.Setenv(name, "")
	}
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return home
}

func write(t *testing.T, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func awsTransport(t *testing.T) (*Transport, *[]string) {
	t.Helper()
	tr, secrets := newTransport(t, provider.AuthSigV4)
	return tr, secrets
}

func TestEachSourceOfAWSCredentials(t *testing.T) {
	beside := newBesideServer(t)
	const files = "[default]\naws_access_key_id = AKDEFAULT\naws_secret_access_key = secret-default # mine\n\n[work]\naws_access_key_id=AKWORK\n" +
		"aws_secret_access_key=secret-work\naws_session_token = token-work\n"
	const settings = "[default]\nregion = eu-west-1\ns3 =\n  region = elsewhere\n[profile tool]\nregion = eu-north-1\ncredential_process = give me\n" +
		"[profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = work\n[profile empty]\nregion = x\n"
	for name, tc := range map[string]struct {
		set  map[string]string
		want credentials
		fail string
	}{
		"environment": {set: map[string]string{"AWS_ACCESS_KEY_ID": "AK1", "AWS_SECRET_ACCESS_KEY": "s1", "AWS_SESSION_TOKEN": "t1", "AWS_REGION": "us-west-2"},
			want: credentials{id: "AK1", secret: "s1", token: "t1", region: "us-west-2", source: "AWS_ACCESS_KEY_ID"}},
		"default profile": {want: credentials{id: "AKDEFAULT", secret: "secret-default", region: "eu-west-1", source: "the AWS profile default"}},
		"named profile": {set: map[string]string{"AWS_PROFILE": "work", "AWS_DEFAULT_REGION": "r"},
			want: credentials{id: "AKWORK", secret: "secret-work", token: "token-work", region: "r", source: "the AWS profile work"}},
		"process": {set: map[string]string{"AWS_PROFILE": "tool"},
			want: credentials{id: "AKP", secret: "sp", token: "tp", region: "eu-north-1", source: "credential_process of the AWS profile tool"}},
		"bearer":         {set: map[string]string{"AWS_BEARER_TOKEN_BEDROCK": "b"}, want: credentials{token: "b", source: "AWS_BEARER_TOKEN_BEDROCK"}},
		"role to assume": {set: map[string]string{"AWS_PROFILE": "role"}, fail: "the AWS profile role needs a role to be assumed"},
		"no such":        {set: map[string]string{"AWS_PROFILE": "gone"}, fail: "no AWS profile is called gone"},
		"empty":          {set: map[string]string{"AWS_PROFILE": "empty"}, fail: "the AWS profile empty has no credentials"},
		"container": {set: map[string]string{"HOME": "/nowhere", "AWS_CONTAINER_CREDENTIALS_FULL_URI": beside.URL + "/creds", tokenFile: "WORD"},
			want: credentials{id: "ASIA#", secret: "secret-#", token: "token-#", source: "the container's role"}},
		"container elsewhere": {set: map[string]string{"HOME": "/nowhere", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://evil.example/creds"},
			fail: "neither https nor an address of this machine"},
		"container refuses": {set: map[string]string{"HOME": "/nowhere", "AWS_CONTAINER_CREDENTIALS_FULL_URI": beside.URL + "/creds"},
			fail: "the container's role: status 403"},
		"instance": {set: map[string]string{"HOME": "/nowhere", "AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": beside.URL},
			want: credentials{id: "ASIA#", secret: "secret-#", token: "token-#", source: "the instance's role builder"}},
		"truncated": {set: map[string]string{"HOME": "/nowhere", "AWS_CONTAINER_CREDENTIALS_FULL_URI": beside.URL + "/truncated"},
			fail: "the container's role gives no credentials: unexpected end of JSON input"},
		"expired": {set: map[string]string{"HOME": "/nowhere", "AWS_CONTAINER_CREDENTIALS_FULL_URI": beside.URL + "/expired"},
			fail: "the container's role gives credentials that expired at 20"},
		"no metadata": {set: map[string]string{"HOME": "/nowhere", "AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1"},
			fail: "the metadata server of the instance does not answer"},
		"web identity": {set: map[string]string{"HOME": "/nowhere", "AWS_WEB_IDENTITY_TOKEN_FILE": "/token"},
			fail: "AWS_WEB_IDENTITY_TOKEN_FILE needs an identity to be exchanged"},
		"nothing": {set: map[string]string{"HOME": "/nowhere"}, fail: "no AWS credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			home := bare(t)
			write(t, files, home, ".aws", "credentials")
			write(t, settings, home, ".aws", "config")
			for key, value := range tc.set {
				if value == "WORD" {
					value = write(t, "word\n", home, "word")
				}
				t.Setenv(key, value)
			}
			tr, secrets := awsTransport(t)
			c, err := tr.credentials(t.Context(), nil)
			if tc.fail != "" {
				if e := provider.AsError(err); e == nil || !strings.Contains(e.Message, tc.fail) || e.Kind != provider.KindAuth || e.Hint == "" {
					t.Fatalf("got %v, want %q, and how to cure it", err, tc.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, want := *c, tc.want
			got.until = time.Time{}
			for _, field := range []*string{&want.id, &want.secret, &want.token} {
				*field = strings.ReplaceAll(*field, "#", fmt.Sprint(beside.given))
			}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if all := strings.Join(*secrets, " "); !strings.Contains(all, got.secret) || !strings.Contains(all, got.token) {
				t.Errorf("secrets that are not known: %q", all)
			}
		})
	}
}

func TestCredentialsOfARoleAreFetchedAgain(t *testing.T) {
	bare(t)
	beside := newBesideServer(t)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", beside.URL)
	t.Setenv("AWS_REGION", "eu-central-1")
	refuse, requests := 0, 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if token := r.Header.Get("X-Amz-Security-Token"); token != fmt.Sprintf("token-%d", beside.given) ||
			!strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/bedrock/aws4_request") {
			t.Errorf("token %q, %q", token, r.Header.Get("Authorization"))
		}
		if refuse > 0 {
			refuse--
			w.Header().Set("X-Amzn-Errortype", "ExpiredTokenException:http://internal.amazon.com/")
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(srv.Close)
	tr, _ := awsTransport(t)
	post(t, tr, srv.URL)
	post(t, tr, srv.URL)
	if beside.given != 1 {
		t.Errorf("asked %d times, want once as long as they hold", beside.given)
	}
	refuse = 1
	if status, echo := post(t, tr, srv.URL); status != 200 || echo != "hello" || beside.given != 2 || requests != 4 {
		t.Errorf("%d %q, given %d, %d requests", status, echo, beside.given, requests)
	}
	beside.valid = margin / 2
	tr, _ = awsTransport(t)
	post(t, tr, srv.URL)
	post(t, tr, srv.URL)
	if beside.given != 4 {
		t.Errorf("given %d, want one for each request where they are about to expire", beside.given)
	}
	beside.noRole = true
	tr, _ = awsTransport(t)
	if _, err := tr.Source(t.Context()); provider.AsError(err) == nil || provider.AsError(err).Kind != provider.KindAuth {
		t.Errorf("a machine without a role: %v", err)
	}
}
