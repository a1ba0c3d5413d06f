#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "oracle/random_kernel.hpp"

namespace warploom::oracle {

/// A shared array: rows of one unit for each thread, or just a few units.
struct RandomArray {
  std::string name;
  std::string type;         ///< "u8", "u16", "u32", "f32", "u64": of its elements
  std::uint32_t width = 4;  ///< of an element [bytes]
  std::uint32_t lanes = 1;  ///< elements in a unit: 1, 2 or 4, accessed together as a vector or one by one
  std::uint32_t rows = 1;   ///< of a unit a thread; 0: four units in all
  std::uint32_t align = 4;
  std::uint32_t bytes = 0;
  enum class Kind : std::uint8_t { of_kernel, of_module, dynamic } kind = Kind::of_kernel;
  bool typed = false;      ///< declared .u32 x[8], not .b8 x[32]
  bool retired = false;    ///< it was private to a loop that is over
  bool locked = false;     ///< a copy to it is under way, or a barrier lies in it
  std::uint32_t loop = 0;  ///< private to the loop of this number; 0: to none
  std::string base;        ///< a register with its address, from the kernel's beginning; empty: none
  std::uint32_t unit() const { return width * lanes; }
};

/// Which unit of a row a thread accesses.
struct Index {
  enum Kind : std::uint8_t {
    own,
    swapped,  ///< the thread's number xor `parameter`; for a power of two of threads
    shifted,  ///< plus `parameter`, around the end
    mirrored,
    rotating,  ///< plus the loop's counter
    halved,    ///< two threads at one unit: loads
    fixed,     ///< `parameter`, for all threads
    unknown,   ///< depends on data
    kinds
  } kind = own;
  std::uint32_t parameter = 0;
};

/// The text of a random kernel: registers, addresses and values in the many forms that compilers give them.
/// What may be accessed where is the business of the class that derives from it.
class Writer {
 protected:
  Writer(std::uint64_t seed);

  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  bool chance(std::uint32_t percent) { return pick(100) < percent; }
  template <class... T>
  void emit(fmt::format_string<T...> format, T&&... arguments) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<T>(arguments)...);
    body_ += '\n';
  }
  std::string r() { return fmt::format("%r{}", ++r_); }
  std::string rd() { return fmt::format("%rd{}", ++rd_); }
  std::string rs() { return fmt::format("%rs{}", ++rs_); }
  std::string f() { return fmt::format("%f{}", ++f_); }
  std::string p() { return fmt::format("%p{}", ++p_); }
  std::string label() { return fmt::format("L{}", ++labels_); }
  void uses(Feature feature) { kernel_.features |= std::uint64_t{1} << static_cast<unsigned>(feature); }

  /// The unit that thread `t` accesses; of Index::rotating when the counter is `turn`.
  std::uint32_t unit_of(const Index& index, std::uint32_t t, std::uint32_t turn) const;
  /// A register with that number. @param counter  the loop's register, for Index::rotating
  std::string index_register(const Index& index, const std::string& counter);

  struct Address {
    std::string operand, space;  ///< "[%r1+4]", ".shared" or "" for a generic one
  };
  /// Where `array` + `index` * its unit + `offset` is, in one of the ways that compilers form it.
  Address address(const RandomArray& array, const Index& index, std::uint32_t offset,
                  const std::string& counter);
  /// A register with the array's address in the shared window.
  std::string base_register(const RandomArray& array);
  /// The address in a register, as a 32-bit one in the shared window.
  std::string pointer(const RandomArray& array, const Index& index, const std::string& counter);

  struct Form {
    std::string type;  ///< "u32"
    std::uint32_t width = 4, lanes = 1;
    std::uint32_t bytes() const { return width * lanes; }
  };
  /// A type and vector length in which some or all of a unit may be accessed.
  Form form(const RandomArray& array);
  /// Stores something that depends on %acc. @param guard  "@%p1 " or ""
  void emit_store(const Form& form, const Address& at, const std::string& guard);
  /// Loads, and returns registers of 32 bits with what was loaded: all of it, in pieces.
  std::vector<std::string> emit_load(const Form& form, const Address& at, const std::string& guard,
                                     const std::string& otherwise);
  /// Makes %acc depend on the value, so that no sum of equal values cancels out.
  void mix(const std::string& value);
  /// The arrays become parts of one: in a text that names them, and in the list.
  void carve(std::string& text, bool dynamic);
  /// Of the dynamic one, where each begins at a sum of the block size, the parameter and a number.
  void carve_by_launch(std::string& text);
  /// @param second  the body of another kernel, or empty
  void finish(std::string_view prologue, std::string_view functions, const std::string& second);

  bool bulk_;  ///< bulk copies, for sm_90
  std::mt19937_64 random_;
  RandomKernel kernel_;
  std::uint32_t threads_ = 32;
  std::vector<RandomArray> arrays_;
  std::string body_;
  std::uint32_t r_ = 0, rd_ = 0, rs_ = 0, f_ = 0, p_ = 0, labels_ = 0;
  std::uint32_t mbarriers_ = 0;  ///< arrays of 8 bytes mb0, mb1 ...

 private:
  std::string value_register(const Form& form, bool narrow);

  std::size_t launch_bases_ = 0;
};

}  // namespace warploom::oracle
