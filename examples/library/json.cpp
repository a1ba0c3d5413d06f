// JSON that keeps the order of its keys.

#include <warploom/json/json.hpp>

#include <iostream>
#include <vector>

int main() {
  warploom::Json json = {{"sizes", std::vector{1, 2, 3}}, {"name", "walk"}};
  json["mean"] = 2.0;
  std::cout << json.dump() << "\n";
  std::cout << warploom::Json::parse(R"({"a": [true, null]})").contains("a") << "\n";
}
