#pragma once

#include <string_view>

namespace warploom::tool {

/// The style sheet of the search page. Its script reads the colours of the overview from here.
inline constexpr std::string_view search_page_style = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --ink: #1a1f26; --soft: #56606d; --rule: #dfe3e8; --ground: #f0f2f5;
  --wave: #3d4c5c; --query: #d9480f; --match: #0b57b0; --found: #0b57b01c; --lag: #7b2fbf; --warn: #8a5300;
  --note: 60% 84%; --note-edge: 45% 40%;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #101317; --card: #191d23; --ink: #eceff3; --soft: #a6b0bc; --rule: #323942; --ground: #12161b;
    --wave: #c3ced9; --query: #ff8f4a; --match: #7db4ff; --found: #7db4ff24; --lag: #c99bff; --warn: #f2b45c;
    --note: 40% 28%; --note-edge: 45% 62%;
  }
}
@media print {
  :root {
    color-scheme: light;
    --page: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #ccc; --ground: #f4f4f4;
    --wave: #3d4c5c; --query: #d9480f; --match: #0b57b0; --found: #0b57b01c; --lag: #7b2fbf; --warn: #8a5300;
    --note: 60% 84%; --note-edge: 45% 40%;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
body > * { max-width: 1320px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 28px; } h1 { margin: 0; font-size: 1.55rem; line-height: 1.25; overflow-wrap: anywhere; }
header p { margin: 6px 0 18px; color: var(--soft); overflow-wrap: anywhere; }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; padding: 18px 20px 20px; margin: 0 0 18px; }
h2 { font-size: 1.15rem; margin: 0 0 4px; } .card > p { margin: 0 0 14px; color: var(--soft); max-width: 90ch; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 10px; margin: 0; }
.facts div { background: var(--ground); border-radius: 8px; padding: 10px 14px; min-width: 0; }
.facts dt { font-size: .82rem; color: var(--soft); } .facts dd { margin: 0; font-size: 1.12rem; font-weight: 650; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.facts small { display: block; font-weight: 400; font-size: .82rem; color: var(--soft); line-height: 1.35; }
.remarks { margin: 14px 0 0; padding: 10px 14px 10px 32px; border-left: 4px solid var(--warn); background: var(--ground); border-radius: 6px; overflow-wrap: anywhere; }
button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--rule); border-radius: 8px; min-width: 40px; min-height: 36px; padding: 0 12px; cursor: pointer; }
button:hover { border-color: var(--soft); }
:focus-visible { outline: 3px solid var(--match); outline-offset: 2px; }
.tools { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 0 0 10px; } .tools label { margin-left: 8px; }
#view { border-radius: 6px; } #view canvas { display: block; width: 100%; }
#overview { cursor: grab; touch-action: pan-y; } #overview:active { cursor: grabbing; } #whole { cursor: pointer; margin-top: 6px; touch-action: none; }
#reading { min-height: 1.5em; margin: 6px 0 0; color: var(--soft); font-size: .88rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-size: .82rem; font-weight: 600; color: var(--soft); } th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; } td.name { overflow-wrap: anywhere; min-width: 5em; } td.more { color: var(--soft); font-size: .9rem; min-width: 16em; overflow-wrap: anywhere; }
tbody tr { cursor: pointer; } tbody tr:hover { background: var(--ground); } tr.chosen { background: var(--found); }
td button { min-height: 28px; font-weight: 650; }
summary { cursor: pointer; display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; list-style: none; font-variant-numeric: tabular-nums; }
summary::-webkit-details-marker { display: none; } summary::before { content: "\25B8"; color: var(--soft); width: .8em; } [open] > summary::before { content: "\25BE"; }
summary b { overflow-wrap: anywhere; min-width: 0; } summary small { color: var(--soft); font-size: .9rem; }
.rank { background: var(--match); color: var(--card); border-radius: 99px; min-width: 1.7em; padding: 0 .5em; text-align: center; font-weight: 650; }
.match > p { margin: 8px 0 12px; } .match.chosen { border-color: var(--match); }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 380px), 1fr)); gap: 14px 20px; list-style: none; margin: 0; padding: 0; }
.plots li { min-width: 0; break-inside: avoid; } .plots p { margin: 0; overflow-wrap: anywhere; line-height: 1.35; } .plots .said { font-size: .86rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.plots .other { color: var(--lag); } .shapes { position: absolute; }
.plot { display: block; width: 100%; height: 88px; margin: 3px 0 4px; background: var(--ground); border-radius: 6px; }
.missing .plot { display: grid; place-items: center; color: var(--soft); background: none; border: 1.5px dashed var(--rule); }
.plot path, .plot use { fill: none; } .plot path { vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.plot .grid { stroke: var(--rule); } .plot .window { fill: var(--found); } .plot .begin { stroke: var(--soft); stroke-dasharray: 4 4; }
.plot .recording { stroke: var(--wave); stroke-width: 1.4; } .plot .query { stroke: var(--query); stroke-width: 2; } .plot .lag { stroke: var(--lag); stroke-width: 5; }
.key { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 0 0 14px; padding: 0; list-style: none; font-size: .88rem; color: var(--soft); }
.key i { display: inline-block; width: 24px; border-top: 3px solid; vertical-align: 4px; margin-right: 7px; } .key .box { height: 13px; border: 0; vertical-align: -2px; background: var(--found); }
.key .note { height: 13px; vertical-align: -2px; border-top: 0; border-bottom: 3px solid hsl(var(--h) var(--note-edge)); background: hsl(var(--h) var(--note)); } #labels { margin: 4px 0 0; }
footer { color: var(--soft); font-size: .85rem; padding-bottom: 28px; overflow-wrap: anywhere; }
@media (max-width: 720px) { body > * { padding-left: 12px; padding-right: 12px; } .card { padding: 14px; border-radius: 10px; } .facts { grid-template-columns: 1fr 1fr; } }
@media print {
  html { font-size: 12px; } body { font-size: 12px; } body > * { max-width: none; padding: 0; } .card { padding: 10px 12px; margin-bottom: 10px; }
  .tools, #reading, .help { display: none; } .wide { overflow: visible; } td.more, td.name { min-width: 0; } td button { border: 0; background: none; padding: 0; min-width: 0; min-height: 0; }
  #view, tr, .key { break-inside: avoid; } summary { break-after: avoid; } .plots { grid-template-columns: repeat(3, minmax(0, 1fr)); } .plot { height: 64px; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
)css";

}  // namespace warploom::tool
