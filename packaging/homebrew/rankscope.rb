# A formula for Homebrew, on Linux.
class Rankscope < Formula
  desc "Says why a job on many GPUs is slow, stuck or different"
  homepage "https://rankscope.example.invalid"
  url "https://rankscope.example.invalid/rankscope-0.9.0.tar.gz"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "cairo"
  depends_on "curl"
  depends_on "expat"
  depends_on "freetype"
  depends_on "isa-l"
  depends_on "libevent"
  depends_on :linux
  depends_on "protobuf-c"
  depends_on "sqlite"
  depends_on "util-linux"
  depends_on "zstd"

  def install
    system "cmake", "-G", "Ninja", "-S", ".", "-B", "made", "-DRS_TESTS=OFF", "-DRS_WERROR=OFF", *std_cmake_args
    system "cmake", "--build", "made"
    system "cmake", "--install", "made"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/rankscope --version")
    assert_match "Rank 5", shell_output("#{bin}/rankscope demo -o #{testpath}/demo straggler", 0)
  end
end
