#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Pieces of pages; common.css styles them. All that they are given is HTML, but where it is said to be text.
namespace warploom::page {

/// A number with its name and what else there is to say of it.
struct Fact {
  std::string what = {}, value = {}, more = {};
};
/// A row of tiles.
std::string facts(const std::vector<Fact>& facts);

struct Column {
  std::string title = {};
  std::string_view kind = "";  ///< "number", aligned right; "wide", left out on a narrow screen
};
/// It scrolls in a box of its own where the screen is too narrow.
/// @param rows  its <tr>s
/// @param kind  "cards": a card for each row on a narrow screen; the cells name their columns in data-label
std::string table(const std::vector<Column>& columns, std::string_view rows, std::string_view kind = "");

/// Points of a list; nothing if there are none.
std::string bullets(const std::vector<std::string>& points);

/// What shows on a click on its title.
std::string collapsed(std::string_view title, std::string_view content);

/// A patch of a colour, as hue() gives it.
std::string swatch(int hue);

/// A text that keeps its lines, in a box that scrolls and can be reached with the keyboard.
/// @param html   escaped
/// @param label  what it holds; text
std::string block(std::string_view html, std::string_view label, std::string_view kind = "");

/// What a person reads of HTML: "in <code>i</code>" -> "in i". Entities stay.
std::string without_tags(std::string_view html);

/// A file's path, where it has folders, before what else is said under a heading with its name:
/// "<code>a/b.c</code> &#183; ".
std::string where_it_lies(const std::string& path);

/// A text as code.
std::string code(std::string_view text);

}  // namespace warploom::page
