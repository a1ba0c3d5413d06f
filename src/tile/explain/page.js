// Marks what belongs together when it is pointed at. Comfort only.
(() => {
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
