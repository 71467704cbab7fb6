#!/bin/sh
# Installs artoo {{{.Version}}} into $PREFIX, which is ~/.local unless set. It checks the checksum of
# what it downloads, and the checksums' signature where the release has one.
# ARTOO_URL names another place that has the same files.
set -eu

version='{{{.Version}}}'
url=${ARTOO_URL:-'{{{.URL}}}'}
signer='{{{.Signer}}}'

fail() {
	echo "install.sh: $1" >&2
	[ -z "${2:-}" ] || echo "  try: $2" >&2
	exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

get() {
	if has curl; then
		curl -fsSL -o "$2" "$1"
	elif has wget; then
		wget -q -O "$2" "$1"
	else
		fail "no curl and no wget here" "install one of them"
	fi || fail "$1: cannot be downloaded"
}

# place puts file $1 at $2 with mode $3, by a rename, since a program that runs cannot be written over.
# The commands themselves say why they cannot.
place() {
	mkdir -p "${2%/*}" && cp "$1" "$2.new" && chmod "$3" "$2.new" && mv -f "$2.new" "$2" || {
		rm -f "$2.new"
		fail "$2: cannot be written" "set PREFIX to a directory that is yours"
	}
}

# A function, so that a download that was cut off runs nothing.
main() {
	prefix=${PREFIX:-${HOME:?}/.local}
	os=$(uname -s) arch=$(uname -m)
	case $os in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "$os: not supported" "on Windows, run it in WSL" ;;
	esac
	case $arch in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "$arch: not supported" "build it with Go" ;;
	esac
	file=artoo_${version}_${os}_$arch.tar.gz

	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	get "$url/checksums.txt" "$dir/checksums.txt"
	if [ -n "$signer" ]; then
		has ssh-keygen || fail "no ssh-keygen here, so the signature cannot be checked" "install the OpenSSH client"
		get "$url/checksums.txt.sig" "$dir/checksums.txt.sig"
		echo "artoo $signer" >"$dir/signers"
		ssh-keygen -Y verify -f "$dir/signers" -I artoo -n artoo -s "$dir/checksums.txt.sig" <"$dir/checksums.txt" >"$dir/log" 2>&1 ||
			fail "checksums.txt: not signed by the publisher; nothing was installed"
	else
		echo "install.sh: this release is not signed; only its checksum is checked" >&2
	fi
	get "$url/$file" "$dir/$file"
	want=$(awk -v file="$file" '$2 == file { print $1 }' "$dir/checksums.txt")
	[ -n "$want" ] || fail "checksums.txt: no line for $file; nothing was installed"
	if has sha256sum; then
		got=$(sha256sum "$dir/$file")
	else
		got=$(shasum -a 256 "$dir/$file")
	fi
	[ "${got%% *}" = "$want" ] || fail "$file: wrong checksum; nothing was installed" "run it again; if it fails again, report it"

	mkdir "$dir/files"
	tar -xzf "$dir/$file" -C "$dir/files"
	"$dir/files/artoo" version >/dev/null || fail "$file: does not run here; nothing was installed"
	for file in man/man1/artoo.1 bash-completion/completions/artoo zsh/site-functions/_artoo fish/vendor_completions.d/artoo.fish; do
		place "$dir/files/share/$file" "$prefix/share/$file" 644
	done
	place "$dir/files/artoo" "$prefix/bin/artoo" 755
	echo "artoo $version is in $prefix/bin"
	case ":$PATH:" in
	*":$prefix/bin:"*) ;;
	*) echo "  add it to PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
	esac
}

main
