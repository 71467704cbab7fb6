package web

import (
	"net/netip"
	"strings"
	"testing"
)

// ownHosts are spellings of hosts that are none of the public internet's.
const ownHosts = `
127.0.0.1 127.255.255.254 127.0.0.1. 0.0.0.0 0.1.2.3 １２７.0.0.1 127。0。0。1 ①②⑦.0.0.1 [::1] [0:0:0:0:0:0:0:1] [::] [::ffff:127.0.0.1]
[::ffff:7f00:1] [::127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::1] [2002:7f00:1::] [2002:a00:1::1]
[2001:db8:1:2:0:5efe:10.0.0.1] [2a00:1:2:3:0:5efe:127.0.0.1] [2a00:1:2:3:200:5efe:192.168.0.1] [2001::1] [2001:0:4136:e378::]
localhost LOCALHOST localhost. a.localhost ＬＯＣＡＬＨＯＳＴ ⓛocalhost
10.0.0.5 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 100.100.100.200 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 239.1.1.1 240.0.0.1
255.255.255.255 192.88.99.1 168.63.129.16 [fe80::1] [fc00::1] [fd00:ec2::254] [ff02::1] [fec0::1] [100::1] [5f00::1] [3fff::1]
[2001:db8::1] [4000::1]`

const publicHosts = `go.dev 8.8.8.8 [2606:4700::1111] [64:ff9b::8.8.8.8] [2002:808:808::1] 172.32.0.1 100.128.0.1
localhost.example.com 127.0.0.1.nip.io xn--mller-kva.de müller.de a_b.example.com 11.0.0.1 169.253.0.1 223.255.255.1`

func TestASpellingThatLeadsToThisMachineOrNetworkIsSeen(t *testing.T) {
	t.Parallel()
	for _, host := range strings.Fields(ownHosts) {
		u, err := Parse("http://" + host + "/x")
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		if Own(u.Host) == "" {
			t.Errorf("%s, read as %s, counts as public", host, u.Host)
		}
	}
	for _, host := range strings.Fields(publicHosts) {
		u, err := Parse("https://" + host + ":8443/x")
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		if why := Own(u.Host); why != "" {
			t.Errorf("%s: %s", host, why)
		}
	}
}

func TestWhatIsNoAddressIsRefused(t *testing.T) {
	t.Parallel()
	for _, host := range strings.Fields("127.1 127.0.1 0x7f.0.0.1 0x7f000001 0X7F.1 2130706433 017700000001 0177.0.0.1 0177.0x1 " +
		"0 0x0 10.5 012.0.0.1 0xc0a80101 3232235777 0xa9fea9fe 2852039166 169.254.1 134744072 1.1 127.0.0.08 １２７.１") {
		if u, err := Parse("http://" + host + "/"); err == nil {
			t.Errorf("%s is taken as %s", host, u)
		}
	}
	for _, text := range []string{"", "http://", "ftp://go.dev/", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x",
		"gopher://localhost:25/", "http://jo:pw@go.dev/", "http://jo@go.dev/", "http://go.dev\\@127.0.0.1/", "http://[::1%25eth0]/",
		"http://1.2.3.4.5/", "http://256.1.1.1/", "http://127.0.0.256/", "http://0x7g.1/", "http://a..b/", "http://go.dev:0/",
		"http://go.dev:99999/", "http://go.dev:x/", "http://go%2edev/", "http://a b/", "http://exa\tmple.com/",
		"http://go.dev/\x1b[2J\n", "https://go.dev/" + strings.Repeat("a", 5000), "http://%31%32%37.0.0.1/", "http://./",
		"http://75.255.25\xff", "http://" + strings.Repeat("i", 2000) + "χ/",
		"http://go.dev/" + strings.Repeat("ä", 1000)} {
		if u, err := Parse(text); err == nil {
			t.Errorf("%.60q is taken as %s", text, u)
		}
	}
}

func TestAnAddressIsWrittenAsItIsAskedFor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"go.dev/doc":                "https://go.dev/doc",
		"localhost:8080":            "http://localhost:8080/",
		"HTTPS://Go.Dev.:0443/a#b":  "https://go.dev/a",
		"http://go.dev:80":          "http://go.dev/",
		"http://go.dev:443/?q=a%20": "http://go.dev:443/?q=a%20",
		"https://münchen.de/ä":      "https://xn--mnchen-3ya.de/%C3%A4",
		"http://[::FFFF:8.8.8.8]:1": "http://8.8.8.8:1/",
		"http://[2606:4700:0::1]/":  "http://[2606:4700::1]/",
		" https://go.dev/x ":        "https://go.dev/x",
	} {
		u, err := Parse(text)
		if err != nil || u.String() != want {
			t.Errorf("%q is %v, %v, want %s", text, u, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, host := range strings.Fields(ownHosts + publicHosts) {
		f.Add("http://" + host + "/")
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q is %s, and that %v, %v", text, u, again, err)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && (OwnAddr(a) == "") != (Own(u.Host) == "") {
			t.Fatalf("%s: the address says %q, the host %q", u, OwnAddr(a), Own(u.Host))
		}
	})
}
