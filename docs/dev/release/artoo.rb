class Artoo < Formula
  desc "Coding agent that behaves like a Unix program"
  homepage "{{{.URL}}}"
  version "{{{.Version}}}"
  license "MIT"

  on_macos do
    on_arm do
      url "{{{.URL}}}/artoo_{{{.Version}}}_darwin_arm64.tar.gz"
      sha256 "{{{sum "darwin_arm64.tar.gz"}}}"
    end
    on_intel do
      url "{{{.URL}}}/artoo_{{{.Version}}}_darwin_amd64.tar.gz"
      sha256 "{{{sum "darwin_amd64.tar.gz"}}}"
    end
  end

  on_linux do
    on_arm do
      url "{{{.URL}}}/artoo_{{{.Version}}}_linux_arm64.tar.gz"
      sha256 "{{{sum "linux_arm64.tar.gz"}}}"
    end
    on_intel do
      url "{{{.URL}}}/artoo_{{{.Version}}}_linux_amd64.tar.gz"
      sha256 "{{{sum "linux_amd64.tar.gz"}}}"
    end
  end

  def install
    bin.install "artoo"
    man1.install "share/man/man1/artoo.1"
    bash_completion.install "share/bash-completion/completions/artoo"
    zsh_completion.install "share/zsh/site-functions/_artoo"
    fish_completion.install "share/fish/vendor_completions.d/artoo.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/artoo version")
  end
end
