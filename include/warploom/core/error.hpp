#pragma once

#include <stdexcept>
#include <string>

namespace warploom {

/// Base of every exception the library throws on purpose. The message names what failed, where,
/// the offending value, the limit, and what to do. A failed assertion is our own bug instead.
class Error : public std::runtime_error {
 public:
  /// @param message  characters of value 0, which would end what(), become U+FFFD
  explicit Error(const std::string& message);
};

/// The caller's input, option or file is wrong. Command line exit code 2.
class BadInput : public Error {
 public:
  using Error::Error;
};

/// The back end that was asked for is not present.
class NoDevice : public Error {
 public:
  using Error::Error;
};

/// Host or device memory does not suffice; the message states what was needed and what there is.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A check of our own failed: a bug in Warploom, to be reported with the input.
class Internal : public Error {
 public:
  using Error::Error;
};

/// The work was stopped by request (Ctrl-C); no output was written.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted; no output was written") {}
};

/// A position in a text file, 1-based.
struct TextPosition {
  std::string file = {};
  unsigned line = 1, column = 1;
};

/// Malformed text: "k.ptx:12:7: expected ';' after an instruction, found '}'".
class ParseError : public BadInput {
 public:
  ParseError(TextPosition where, const std::string& what);
  const TextPosition& where() const { return where_; }

 private:
  TextPosition where_;
};

}  // namespace warploom
