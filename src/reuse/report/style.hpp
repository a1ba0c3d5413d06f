#pragma once

#include <string_view>

namespace warploom::reuse {

/// The page's style sheet.
inline constexpr std::string_view page_style = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --ink: #1a1f26; --soft: #56606d; --rule: #dfe3e8; --ground: #f0f2f5;
  --accent: #b3261e; --link: #0b57b0; --good: #0f6b3a; --fill: 62% 80%; --edge: 55% 34%; --pale: 45% 93%;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #101317; --card: #191d23; --ink: #eceff3; --soft: #a6b0bc; --rule: #323942; --ground: #12161b;
    --accent: #ff8f85; --link: #8ab8ff; --good: #74d69d; --fill: 36% 31%; --edge: 55% 70%; --pale: 22% 17%;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
body > * { max-width: 1180px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 28px; } header h1 { margin: 0; font-size: 1.55rem; line-height: 1.25; }
header p { margin: 6px 0 18px; color: var(--soft); }
a { color: var(--link); } code { font-family: ui-monospace, "SF Mono", Consolas, monospace; font-size: .92em; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 0; overflow-wrap: anywhere; } h3 { font-size: 1rem; margin: 28px 0 8px; }
.kernel, .index { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; margin-bottom: 18px; padding: 0 20px; }
summary { min-height: 48px; padding: 12px 0; cursor: pointer; }
.kernel > summary { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center; list-style: none; }
.kernel > summary::-webkit-details-marker { display: none; }
.kernel > summary::before { content: "\25B8"; color: var(--soft); width: .9em; }
.kernel[open] > summary::before { content: "\25BE"; }
summary:focus-visible, a:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 4px; }
.badge { border: 1.5px solid currentColor; border-radius: 99px; padding: 1px 10px; font-size: .82rem; font-weight: 600; color: var(--soft); white-space: nowrap; }
.badge.rewritten { color: var(--good); } .badge.failed, .badge.refused { color: var(--accent); }
.kernel > summary .short { color: var(--soft); margin-left: auto; }
.reason { margin: 0 0 14px; }
.where { color: var(--soft); overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 0; }
.figures div { background: var(--ground); border-radius: 8px; padding: 10px 14px; }
.figures dt { font-size: .82rem; color: var(--soft); } .figures dd { margin: 0; font-size: 1.15rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.figures small { display: block; font-weight: 400; font-size: .82rem; color: var(--soft); }
.maps { display: grid; gap: 8px 28px; align-items: end; }
@media (min-width: 1000px) { .maps { grid-template-columns: 1fr 1fr; } .maps figure:only-child { grid-column: 1 / 3; } }
figure { margin: 0; min-width: 0; } figcaption { margin-bottom: 26px; }
.plot { padding: 0 12px 22px 62px; } .map { display: block; overflow: visible; font-size: 12px; }
.axis-title { margin: 0 12px 0 62px; font-size: 12px; color: var(--soft); text-align: right; }
.map text { fill: var(--ink); } .map .axis { fill: var(--soft); font-variant-numeric: tabular-nums; }
.map .saved { fill: none; stroke: var(--soft); stroke-dasharray: 2 5; }
.map .label { pointer-events: none; } .label text { paint-order: stroke; stroke: hsl(var(--h) var(--fill)); stroke-width: 5px; stroke-linejoin: round; }
.map .ground { fill: var(--ground); } .map .grid { stroke: var(--rule); }
.map .reserved { fill: hsl(var(--h) var(--pale)); }
.map .life { fill: hsl(var(--h) var(--fill)); stroke: hsl(var(--h) var(--edge)); stroke-width: 2; }
.map .name { font-weight: 650; } .map .size { font-size: 11px; }
.map .store, .map .load { fill: hsl(var(--h) var(--edge)); }
.map a:hover .life, .map a:focus .life, .map .on .life { stroke-width: 6; }
.picked .object:not(.on), .picked .label:not(.on) { opacity: .3; }
.barrier line { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 4 4; }
.barrier.inserted line { stroke: var(--accent); stroke-width: 2.5; stroke-dasharray: none; }
.barrier .touch, .barrier.inserted .touch { stroke: transparent; stroke-width: 14; stroke-dasharray: none; }
.barrier circle { fill: var(--accent); } .barrier text { fill: var(--card); font-weight: 700; font-size: 14px; }
.key { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 8px 0 0; padding: 0; list-style: none; font-size: .85rem; color: var(--soft); }
.key .map { display: inline-block; width: 22px; height: 16px; vertical-align: -3px; margin-right: 5px; --h: 205; overflow: hidden; }
.chips { display: flex; flex-wrap: wrap; gap: 8px; margin: 12px 0 0; padding: 0; list-style: none; }
.chips a { display: flex; align-items: center; min-height: 44px; padding: 0 14px; border-radius: 8px; text-decoration: none; color: var(--ink);
  background: hsl(var(--h) var(--fill)); border: 2px solid hsl(var(--h) var(--edge)); overflow-wrap: anywhere; }
.chips a[aria-pressed=true] { outline: 3px solid var(--link); outline-offset: 1px; } .chips small { margin-left: 8px; white-space: nowrap; }
.told { display: block; min-height: 1.5em; margin-top: 8px; font-size: .92rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; } td { overflow-wrap: anywhere; } th { white-space: nowrap; text-align: left; font-weight: 600; color: var(--soft); font-size: .82rem; }
th, td { padding: 8px 14px 8px 0; border-bottom: 1px solid var(--rule); vertical-align: top; } tr:last-child > td { border-bottom: 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr:target { background: hsl(48 90% 50% / .18); }
.swatch { display: inline-block; width: 14px; height: 14px; border-radius: 3px; margin-right: 8px; vertical-align: -2px; background: hsl(var(--h) var(--fill)); border: 2px solid hsl(var(--h) var(--edge)); }
.bar { display: block; width: 90px; height: 7px; border-radius: 4px; background: var(--rule); margin-top: 4px; overflow: hidden; } .bar i { display: block; height: 100%; background: var(--soft); } .bar.after i { background: var(--good); }
.more { border-top: 1px solid var(--rule); } .more summary { font-weight: 600; } .more:first-of-type { margin-top: 22px; }
ul.plain { margin: 0 0 14px; padding-left: 20px; } li { overflow-wrap: anywhere; } pre { overflow-x: auto; background: var(--ground); padding: 12px 14px; border-radius: 8px; font-size: .86rem; line-height: 1.45; white-space: pre-wrap; overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: .85rem; padding-bottom: 28px; }
@media (min-width: 641px) { td[data-label=Array] { min-width: 150px; } }
@media (max-width: 640px) {
  body > * { padding-left: 12px; padding-right: 12px; } .kernel, .index { padding: 0 14px; border-radius: 10px; }
  th, td { padding-right: 8px; } .bar { width: 70px; } .wide, td.wide, th.wide { display: none; } .plot { padding-left: 52px; padding-right: 8px; } .axis-title { margin-right: 8px; } .map { font-size: 11px; }
  .figures { grid-template-columns: 1fr 1fr; } .kernel > summary .short { margin-left: 0; width: 100%; }
  .index tr { display: block; padding: 4px 0 12px; border-bottom: 1px solid var(--rule); } .index tr:last-child { border: 0; } .index td { display: inline; border: 0; }
  .index td:first-child { display: block; padding: 0; } .index td:first-child a { display: block; padding: 11px 0; } .index td:last-child { display: block; padding: 4px 0 0; }
  table.cards thead, .index thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table.cards tr { display: block; padding: 10px 0; border-bottom: 1px solid var(--rule); } table.cards tr:last-child { border-bottom: 0; }
  table.cards td { display: grid; grid-template-columns: 96px minmax(0, 1fr); gap: 10px; border: 0; padding: 2px 0; text-align: left; white-space: normal; overflow-wrap: anywhere; }
  table.cards td::before { content: attr(data-label); color: var(--soft); font-size: .82rem; padding-top: .1em; }
}
@media print { body { background: #fff; } .kernel { border: 0; } .told { display: none; } }
)css";

/// Comfort only: the page says the same without. Opens the kernel that the address names, and marks an
/// object in both maps when it is pointed at or picked.
inline constexpr std::string_view page_script = R"js(
(() => {
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  reveal();
  for (const kernel of document.querySelectorAll('.kernel')) {
    const told = kernel.querySelector('.told');
    if (!told) continue;
    let picked = null;
    const chips = [...kernel.querySelectorAll('.chips a')];
    const show = (o) => {
      for (const e of kernel.querySelectorAll('.object, .label')) e.classList.toggle('on', e.dataset.o === o);
      kernel.classList.toggle('picked', o !== null);
      const chip = chips.find((c) => c.dataset.o === o);
      told.textContent = chip ? chip.dataset.about : told.dataset.hint;
    };
    const pick = (o) => {
      picked = picked === o ? null : o;
      for (const c of chips) c.setAttribute('aria-pressed', String(c.dataset.o === picked));
      show(picked);
    };
    for (const c of chips) {
      c.setAttribute('role', 'button');
      c.setAttribute('aria-pressed', 'false');
      c.addEventListener('keydown', (e) => { if (e.key === ' ') { e.preventDefault(); c.click(); } });
    }
    for (const e of kernel.querySelectorAll('.object, .chips a')) {
      e.addEventListener('click', (event) => { event.preventDefault(); pick(e.dataset.o); });
      e.addEventListener('pointerenter', (event) => { if (event.pointerType === 'mouse') show(e.dataset.o); });
      e.addEventListener('pointerleave', (event) => { if (event.pointerType === 'mouse') show(picked); });
    }
    show(null);
  }
})();
)js";

}  // namespace warploom::reuse
