// JSON that keeps the order of its keys.

#include <iostream>
#include <vector>
#include <warploom/json/json.hpp>

int main() {
  warploom::Json json = {{"sizes", std::vector{1, 2, 3}}, {"name", "walk"}};
  json["mean"] = 2.0;
  std::cout << json.dump() << "\n";
  std::cout << warploom::Json::parse(R"({"a": [true, null]})").contains("a") << "\n";
}
