#include "io/inflater.hpp"

#include <algorithm>
#include <new>

#ifdef WARPLOOM_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

namespace warploom::io {
namespace {

constexpr std::size_t kMost = 1U << 30;  // bytes that a library counts

template <class Byte>
unsigned char* bytes_of(std::span<Byte> bytes) {
  return reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
}

}  // namespace

#ifdef WARPLOOM_HAVE_ISAL

struct Inflater::State : inflate_state {};

Inflater::Inflater() : state_(std::make_unique<State>()) { begin(); }
Inflater::~Inflater() = default;
std::string Inflater::name() { return "ISA-L"; }

void Inflater::begin() {
  isal_inflate_init(state_.get());
  state_->crc_flag = ISAL_GZIP;
}

Inflater::Progress Inflater::run(std::span<const char> packed, std::span<char> content) {
  state_->next_in = bytes_of(packed);
  state_->avail_in = static_cast<std::uint32_t>(std::min(packed.size(), kMost));
  state_->next_out = bytes_of(content);
  state_->avail_out = static_cast<std::uint32_t>(std::min(content.size(), kMost));
  const int result = isal_inflate(state_.get());
  Progress progress{.used = static_cast<std::size_t>(state_->next_in - bytes_of(packed)),
                    .made = static_cast<std::size_t>(state_->next_out - bytes_of(content)),
                    .ended = state_->block_state == ISAL_BLOCK_FINISH};
  if (result == ISAL_INCORRECT_CHECKSUM)
    progress.wrong = "does not fit its checksum";
  else if (result < 0)
    progress.wrong = "is corrupt";
  return progress;
}

#else

struct Inflater::State : z_stream {
  State() : z_stream{} {
    if (inflateInit2(this, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~State() { inflateEnd(this); }
};

Inflater::Inflater() : state_(std::make_unique<State>()) {}
Inflater::~Inflater() = default;
std::string Inflater::name() { return "zlib (a build with ISA-L, libisal-dev, is faster)"; }

void Inflater::begin() { inflateReset(state_.get()); }

Inflater::Progress Inflater::run(std::span<const char> packed, std::span<char> content) {
  state_->next_in = bytes_of(packed);
  state_->avail_in = static_cast<unsigned>(std::min(packed.size(), kMost));
  state_->next_out = bytes_of(content);
  state_->avail_out = static_cast<unsigned>(std::min(content.size(), kMost));
  const int result = inflate(state_.get(), Z_NO_FLUSH);
  Progress progress{.used = static_cast<std::size_t>(state_->next_in - bytes_of(packed)),
                    .made = static_cast<std::size_t>(state_->next_out - bytes_of(content)),
                    .ended = result == Z_STREAM_END};
  if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
    progress.wrong = state_->msg != nullptr ? state_->msg : "does not fit its checksum";
  return progress;
}

#endif

}  // namespace warploom::io
