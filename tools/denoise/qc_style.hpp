#pragma once

#include <string_view>

namespace warploom::tool {

/// The style sheet of the quality page.
inline constexpr std::string_view qc_style = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --ink: #1a1f26; --soft: #56606d; --rule: #dfe3e8; --ground: #f0f2f5;
  --before: #c2410c; --after: #0b57b0; --model: #56606d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #101317; --card: #191d23; --ink: #eceff3; --soft: #a6b0bc; --rule: #323942; --ground: #12161b;
    --before: #ff9a5c; --after: #7db4ff; --model: #a6b0bc;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
body > * { max-width: 1320px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 28px; } h1 { margin: 0; font-size: 1.55rem; line-height: 1.25; overflow-wrap: anywhere; }
header p { margin: 6px 0 18px; color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; padding: 18px 20px 20px; margin: 0 0 18px; }
h2 { font-size: 1.15rem; margin: 0 0 4px; } .card > p { margin: 0 0 14px; color: var(--soft); max-width: 78ch; }
.facts { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 10px; margin: 0; }
.facts div { background: var(--ground); border-radius: 8px; padding: 10px 14px; }
.facts dt { font-size: .82rem; color: var(--soft); } .facts dd { margin: 0; font-size: 1.12rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.facts small { display: block; font-weight: 400; font-size: .82rem; color: var(--soft); line-height: 1.35; }
.rows { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 16px; }
.pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px; }
figure { margin: 0; min-width: 0; } figcaption { font-size: .88rem; margin-top: 6px; line-height: 1.35; } figcaption span { color: var(--soft); display: block; font-size: .82rem; }
.slice { position: relative; background: #000; border-radius: 6px; overflow: hidden; display: flex; justify-content: center; padding: 20px; }
.slice .picture { position: relative; width: 100%; line-height: 0; }
.slice img { width: 100%; height: 100%; image-rendering: pixelated; display: block; }
.slice .frame { position: absolute; border: 1.5px solid #ffd84d; }
.slice i { position: absolute; color: #d7dbe0; font: 600 12px/1 system-ui, sans-serif; font-style: normal; }
.slice .l { left: 5px; top: calc(50% - 6px); } .slice .r { right: 5px; top: calc(50% - 6px); }
.slice .t { top: 4px; left: calc(50% - 4px); } .slice .b { bottom: 4px; left: calc(50% - 4px); }
.directions { display: block; width: 100%; border-radius: 6px; background: #000; } .directions image { image-rendering: pixelated; } .directions path { stroke-linecap: round; }
.chart { display: block; width: 100%; font-size: 12px; } .chart text { fill: var(--soft); font-variant-numeric: tabular-nums; }
.chart .grid { stroke: var(--rule); } .chart .rule { stroke: var(--soft); stroke-dasharray: 5 4; }
.chart polyline { fill: none; stroke-width: 2; stroke-linejoin: round; } .chart polygon { stroke-width: 1.5; fill-opacity: .18; }
.chart .before { stroke: var(--before); } .chart .after { stroke: var(--after); } .chart .model { stroke: var(--model); stroke-dasharray: 5 4; }
.chart polygon.before { fill: var(--before); } .chart polygon.after { fill: var(--after); }
.key { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 2px 0 0; padding: 0 0 0 78px; list-style: none; font-size: .85rem; color: var(--soft); }
.line { display: inline-block; width: 22px; border-top: 3px solid var(--model); vertical-align: 4px; margin-right: 6px; }
.line.before { border-color: var(--before); } .line.after { border-color: var(--after); } .line.model { border-top-style: dashed; }
footer { color: var(--soft); font-size: .85rem; padding-bottom: 28px; }
@media (max-width: 720px) {
  body > * { padding-left: 12px; padding-right: 12px; } .card { padding: 14px; border-radius: 10px; }
  .rows, .pair { gap: 8px; } .pair.wide { grid-template-columns: 1fr; } .facts { grid-template-columns: 1fr 1fr; }
  .slice { padding: 12px; } .slice i { font-size: 10px; } .slice .l { left: 2px; } .slice .r { right: 2px; } .slice .t { top: 1px; } .slice .b { bottom: 1px; }
  figcaption { font-size: .8rem; } figcaption span { font-size: .74rem; }
}
@media print { body { background: #fff; } .card { break-inside: avoid; } }
)css";

}  // namespace warploom::tool
