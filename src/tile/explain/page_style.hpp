#pragma once

#include <string_view>

namespace warploom::tile {

/// The style sheet of the page of explanations.
inline constexpr std::string_view explain_page_style = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --ink: #1a1f26; --soft: #56606d; --rule: #dfe3e8; --ground: #f0f2f5;
  --bad: #c62015; --link: #0b57b0; --good: #0f6b3a; --pale: 55% 91%; --edge: 60% 32%;
  --flow: #0b57b0; --anti: #9a5a00; --output: #7b2fbf; --way: #8793a1; --tile: #e3eaf3; --mark: #fff2b8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #101317; --card: #191d23; --ink: #eceff3; --soft: #a6b0bc; --rule: #323942; --ground: #12161b;
    --bad: #ff8f85; --link: #8ab8ff; --good: #74d69d; --pale: 30% 22%; --edge: 60% 76%;
    --flow: #7db4ff; --anti: #f2b45c; --output: #c99bff; --way: #7d8894; --tile: #262f3a; --mark: #4d4415;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
body > * { max-width: 1320px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 28px; } h1 { margin: 0; font-size: 1.55rem; line-height: 1.25; overflow-wrap: anywhere; }
header p { margin: 6px 0 18px; color: var(--soft); } a { color: var(--link); }
code, pre { font-family: ui-monospace, "SF Mono", Consolas, monospace; font-size: .92em; }
.nest, .index { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; padding: 6px 20px 20px; margin: 0 0 18px; }
h2 { font-size: 1.15rem; margin: 0; overflow-wrap: anywhere; } h3 { font-size: 1rem; margin: 28px 0 8px; } h3 code { font-size: 1em; }
.nest > summary { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center; min-height: 52px; padding: 10px 0; cursor: pointer; list-style: none; }
.nest > summary::-webkit-details-marker { display: none; } .nest > summary::before { content: "\25B8"; color: var(--soft); width: .9em; } .nest[open] > summary::before { content: "\25BE"; }
.nest > summary small { color: var(--soft); font-size: .9rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 4px; }
.badge { border: 1.5px solid currentColor; border-radius: 99px; padding: 0 9px; font-size: .8rem; font-weight: 600; color: var(--soft); white-space: nowrap; display: inline-block; }
.good { color: var(--good); } .bad { color: var(--bad); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(180px, 1fr)); gap: 10px; margin: 0 0 6px; }
.facts div { background: var(--ground); border-radius: 8px; padding: 10px 14px; min-width: 0; }
.facts dt { font-size: .82rem; color: var(--soft); } .facts dd { margin: 0; font-size: 1.12rem; font-weight: 650; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.facts small { display: block; font-weight: 400; font-size: .82rem; color: var(--soft); line-height: 1.35; }
.note { color: var(--soft); margin: 0 0 10px; max-width: 95ch; } ul.plain { margin: 0 0 10px; padding-left: 20px; }
pre { overflow-x: auto; background: var(--ground); padding: 12px 14px; border-radius: 8px; margin: 0; font-size: .88rem; line-height: 1.5; }
pre.source { counter-reset: line; } .source .line { color: var(--soft); user-select: none; display: inline-block; width: 3.2em; padding-right: 1.2em; text-align: right; }
.ref { background: hsl(var(--h) var(--pale)); box-shadow: inset 0 -2px hsl(var(--h) var(--edge)); border-radius: 3px; padding: 0 1px; }
.on, .ref.on { background: var(--mark); } .ref.on { box-shadow: 0 0 0 2px hsl(var(--h) var(--edge)); }
.columns { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 28px; }
@media (min-width: 1000px) { .columns { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); } }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-size: .82rem; font-weight: 600; color: var(--soft); white-space: nowrap; } th, td { padding: 6px 14px 6px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
tr:last-child > td { border-bottom: 0; } td.number, th.number { text-align: right; white-space: nowrap; } td.tried { white-space: nowrap; } td.reason { color: var(--soft); min-width: 18em; }
tbody tr:hover { background: var(--ground); } tbody tr.on { background: var(--mark); }
.kind { border-radius: 4px; padding: 0 7px; font-size: .86rem; white-space: nowrap; } .temporal { background: hsl(150 var(--pale)); color: hsl(150 var(--edge)); } .spatial { background: hsl(215 var(--pale)); color: hsl(215 var(--edge)); }
.flow { color: var(--flow); } .anti { color: var(--anti); } .output { color: var(--output); }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, var(--least)), 1fr)); gap: 16px 20px; align-items: start; }
.spaces > label { display: block; margin: 0 0 10px; font-size: .92rem; } .far { display: none; } .nest.pointed .far.on { display: inline; } .spaces:has(.all-pairs:checked) .far { display: inline; }
figure { margin: 0; min-width: 0; } @media (min-width: 860px) { figure.wide { grid-column: span 2; } } figcaption { font-weight: 650; margin-bottom: 4px; } .said { margin: 4px 0 0; font-size: .88rem; color: var(--bad); overflow-wrap: anywhere; }
.plot { background: var(--ground); border-radius: 8px; padding: 6px; } svg.space { display: block; width: 100%; height: auto; margin: 0 auto; } svg.defs { position: absolute; width: 0; height: 0; }
.space text { font-size: 11px; fill: var(--soft); } .space .axis { fill: var(--ink); font-weight: 650; font-size: 12px; }
.space .tile { fill: var(--tile); stroke: var(--rule); } .space .way { fill: none; stroke: var(--way); stroke-width: 7; stroke-linecap: round; opacity: .38; } .space .way.jump { stroke-width: 1.4; stroke-dasharray: 2 4; opacity: .8; }
.space .at { fill: var(--ink); } .space .first { fill: var(--good); } .space .last { fill: var(--card); stroke: var(--ink); stroke-width: 2.5; }
.arrow, .sample { fill: none; stroke-width: 1.6; } .arrow.flow, .sample.flow { stroke: var(--flow); } .arrow.flow { marker-end: url(#head-flow); }
.arrow.anti, .sample.anti { stroke: var(--anti); stroke-dasharray: 5 3; } .arrow.anti { marker-end: url(#head-anti); } .arrow.output, .sample.output { stroke: var(--output); stroke-dasharray: 1.5 3; } .arrow.output { marker-end: url(#head-output); }
.arrow.turned, .sample.turned { stroke: var(--bad); stroke-width: 2.6; } .arrow.turned { marker-end: url(#head-turned); }
.nest.pointed .arrow:not(.on) { opacity: .12; } .arrow.on { stroke-width: 3; background: none; }
.key { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 8px 0 0; padding: 0; list-style: none; font-size: .86rem; color: var(--soft); } .key li { display: flex; align-items: center; gap: 7px; } .key .space { width: 34px; height: 16px; }
details.more { border-top: 1px solid var(--rule); margin-top: 18px; } details.more + details.more { margin-top: 10px; } details.more > summary { cursor: pointer; font-weight: 600; padding: 12px 0; }
.kernel { border-top: 1px solid var(--rule); margin-top: 20px; } .kernel h4 { font-size: 1rem; margin: 14px 0 8px; }
.swatch { display: inline-block; width: 13px; height: 13px; border-radius: 3px; margin-right: 7px; vertical-align: -2px; background: hsl(var(--h) var(--pale)); border: 2px solid hsl(var(--h) var(--edge)); }
footer { color: var(--soft); font-size: .85rem; padding-bottom: 28px; }
@media (max-width: 640px) { body > * { padding-left: 12px; padding-right: 12px; } .nest, .index { padding: 4px 14px 14px; } .facts { grid-template-columns: 1fr 1fr; } th, td { padding-right: 9px; } }
@media print { body { background: #fff; } .nest { border: 0; } figure, tr { break-inside: avoid; } .spaces > label { display: none; } }
)css";

/// Comfort only: marks what belongs together, and opens the nest that the address names.
inline constexpr std::string_view explain_page_script = R"js(
(() => {
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  reveal();
  for (const nest of document.querySelectorAll('.nest'))
    for (const key of ['r', 'd']) {
      const all = [...nest.querySelectorAll(`[data-${key}]`)];
      const show = (value) => {
        for (const e of all) e.classList.toggle('on', value !== null && e.dataset[key].split(' ').includes(value));
        if (key === 'd') nest.classList.toggle('pointed', value !== null);
      };
      for (const e of all) {
        if (e.classList.contains('arrow')) continue;
        e.addEventListener('pointerenter', () => show(e.dataset[key].split(' ')[0]));
        e.addEventListener('pointerleave', () => show(null));
      }
    }
})();
)js";

}  // namespace warploom::tile
