#pragma once

#include <string>

namespace warploom::tool {

/// While it lives, what its thread prints is kept here: the verb is one of many that run at once.
class CapturedOutput {
 public:
  CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  ~CapturedOutput();

  std::string out, error;  ///< print(); print_error() and remark()

 private:
  CapturedOutput* outer_;
};

}  // namespace warploom::tool
