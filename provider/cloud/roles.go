package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// given are credentials as all sources write them.
type given struct {
	ID         string    `json:"AccessKeyId"`
	Secret     string    `json:"SecretAccessKey"`
	Token      string    `json:"Token"`
	Session    string    `json:"SessionToken"` // Token's name in a process
	Expiration time.Time `json:"Expiration"`
}

// The hints where a source of credentials fails.
const (
	byHand   = "run it by hand"
	keysHint = "aws configure, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	roleHint = "check the role, or " + keysHint
)

// parseGiven reads credentials, and refuses those that have expired: the cloud would say less.
func parseGiven(data []byte, source, hint string) (*credentials, error) {
	var g given
	err := json.Unmarshal(data, &g)
	if err == nil && (g.ID == "" || g.Secret == "") {
		err = errors.New("AccessKeyId or SecretAccessKey is missing")
	}
	if err != nil {
		return nil, none(source+" gives no credentials: "+err.Error(), hint, err)
	}
	if !g.Expiration.IsZero() && time.Now().After(g.Expiration) {
		return nil, none(source+" gives credentials that expired at "+g.Expiration.Local().Format(time.DateTime), hint+", or set the clock of this machine", nil)
	}
	return &credentials{id: g.ID, secret: g.Secret, token: g.Token + g.Session, until: g.Expiration, source: source}, nil
}

// process runs the program that a profile names.
func (a amazon) process(ctx context.Context, p profile) (*credentials, error) {
	out, err := a.Run(ctx, p.value["credential_process"])
	if err != nil {
		return nil, none("credential_process of "+p.title()+": "+err.Error(), byHand, err)
	}
	c, err := parseGiven([]byte(out), "credential_process of "+p.title(), byHand)
	if err == nil {
		c.region = p.value["region"]
	}
	return c, err
}

// tokenFile is where a container finds the word that its credentials are given for.
const tokenFile = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"

// container asks the server of a container's role; nil where there is none.
func (a amazon) container(ctx context.Context) (*credentials, error) {
	address := a.Environ.Get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if path := a.Environ.Get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		address = "http://169.254.170.2" + path
	}
	if address == "" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && !besideContainer(u.Hostname()) {
		return nil, none("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor an address of this machine", "unset it", err)
	}
	header := http.Header{}
	word := a.Environ.Get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := a.Environ.Get(tokenFile); file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, none(tokenFile+": "+err.Error(), roleHint, err)
		}
		word = strings.TrimSpace(string(data))
	}
	if strings.ContainsAny(word, "\r\n") {
		return nil, none("the token of the container holds a line break", roleHint, nil)
	}
	if word != "" {
		header.Set("Authorization", word)
	}
	data, err := a.get(ctx, http.MethodGet, address, header)
	if err != nil {
		return nil, unreachable("the container's role", roleHint, err)
	}
	return parseGiven(data, "the container's role", roleHint)
}

// besideContainer reports whether a host is the machine's own, or one of those that give credentials to containers.
func besideContainer(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsLoopback() ||
		host == "169.254.170.2" || host == "169.254.170.23" || host == "fd00:ec2::23")
}

// role asks the machine for the credentials of its role, by the second version of its service; nil where it has
// none.
func (a amazon) role(ctx context.Context) (*credentials, error) {
	const ttl, path = "21600", "/latest/meta-data/iam/security-credentials/"
	token, err := a.get(ctx, http.MethodPut, a.instance+"/latest/api/token", http.Header{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": {ttl}})
	if err != nil {
		return nil, none("no AWS credentials: no variable, no profile, and the metadata server of the instance does not answer", keysHint, err)
	}
	header := http.Header{"X-Aws-Ec2-Metadata-Token": {string(token)}}
	name, err := a.get(ctx, http.MethodGet, a.instance+path, header)
	var status statusError
	if errors.As(err, &status) && status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, unreachable("the instance's role", roleHint, err)
	}
	role, _, _ := strings.Cut(strings.TrimSpace(string(name)), "\n")
	data, err := a.get(ctx, http.MethodGet, a.instance+path+url.PathEscape(role), header)
	if err != nil {
		return nil, unreachable("the instance's role", roleHint, err)
	}
	return parseGiven(data, "the instance's role "+role, roleHint)
}

// statusError is an answer without credentials.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("status %d", int(s)) }

// beside is how long a server beside the machine is waited for.
const beside = 2 * time.Second

// get asks a server beside the machine, never through a proxy.
func (a amazon) get(ctx context.Context, method, address string, header http.Header) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, beside)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header = header
	answer, err := a.Beside.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = statusError(answer.StatusCode)
	}
	return data, err
}
