#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "doors/doors.hpp"

namespace warploom::doors {

namespace {

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(std::filesystem::path(WARPLOOM_TESTS_DIR) / "doors" / file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string name_of(const std::string& line) {
  const auto call = line.find("operator()(");
  return line.substr(0, call == line.npos ? line.find('(') : call + std::string_view("operator()").size());
}

/// Why a function has no case. Nobody adds a reason without a look at all that have it.
const std::set<std::string, std::less<>> kReasons{
    "member",      // gives a member of a value, or what follows from its members without an index
    "chain",       // a step of the hash table's lock-free chain: who calls it answers for the line's number
    "kernel",      // arithmetic that kernels call, too: its header says so, and that it is unchecked
    "unchecked",   // its header says so: for inner loops
    "process",     // ends, replaces or stops the process that calls it
    "incomplete",  // takes a type that no user can make
    "interface",   // is written by who calls the library, and called by it
};

TEST(Doors, EveryFunctionHasACaseOrAReason) {
  const std::vector<std::string> functions = lines_of("functions.txt");
  ASSERT_GT(functions.size(), 100u);
  std::map<std::string, int> of_name;
  for (const std::string& line : functions) ++of_name[name_of(line)];
  std::set<std::string> answered(covered().begin(), covered().end());
  for (const std::string& line : lines_of("exempt.txt")) {
    const auto space = line.find(' ');
    EXPECT_TRUE(kReasons.contains(line.substr(0, space))) << line;
    answered.insert(line.substr(space + 1));
  }
  std::set<std::string> known;
  for (const std::string& line : functions) {
    const bool by_name = answered.contains(name_of(line)) && of_name[name_of(line)] == 1;
    EXPECT_TRUE(by_name || answered.contains(line))
        << line << " has neither a DOOR nor a reason in exempt.txt";
    known.insert(line);
    if (of_name[name_of(line)] == 1) known.insert(name_of(line));
  }
  for (const std::string& entry : answered)
    EXPECT_TRUE(known.contains(entry))
        << entry << " is no public function, or one of several of that name: give its line";
}

}  // namespace
}  // namespace warploom::doors
