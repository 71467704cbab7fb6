//go:build amd64 || arm64

// The file lets fork_linux.go declare functions without a body.
