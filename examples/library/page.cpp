// A chart as SVG, and a page around it that needs no other file.

#include <iostream>
#include <warploom/core/file.hpp>
#include <warploom/page/chart.hpp>
#include <warploom/page/page.hpp>

int main() {
  using namespace warploom;
  page::Panel panel{.title = "Growth", .x = {.title = "day"}, .y = {.title = "cells"}, .series = {}};
  panel.series.push_back({.label = "dish 1", .points = {{0, 10}, {1, 22}, {2, 41}, {3, 80}}});
  const std::string chart = page::svg("Cells in a dish", "counted once a day", {panel});
  write_file_atomically("cells.svg", chart);
  write_file_atomically("cells.html", page::to_html({.title = "Cells",
                                                     .heading = "Cells",
                                                     .lead = "Counted once a day.",
                                                     .body = "<main>" + chart + "</main>",
                                                     .footer = {},
                                                     .styles = {},
                                                     .scripts = {}}));
  std::cout << "wrote cells.svg and cells.html\n";
}
