// Marks an object in both maps when it is pointed at or picked. Comfort only: the page says the same without.
(() => {
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
