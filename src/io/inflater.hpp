#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace warploom::io {

/// Unpacks gzip members piece by piece: ISA-L's decompressor where the build has it, else zlib's.
class Inflater {
 public:
  Inflater();
  ~Inflater();

  /// "ISA-L", "zlib"
  static std::string name();

  /// A member begins, with its header.
  void begin();
  struct Progress {
    std::size_t used = 0, made = 0;
    bool ended = false;      ///< the member, whose checksum fits
    std::string wrong = {};  ///< what is; empty: nothing
  };
  Progress run(std::span<const char> packed, std::span<char> content);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace warploom::io
