// Opens what the address names, and everything in print.
(() => {
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  reveal();
  let shut = [];
  addEventListener('beforeprint', () => {
    shut = [...document.querySelectorAll('details:not([open])')];
    for (const e of shut) e.open = true;
  });
  addEventListener('afterprint', () => { for (const e of shut) e.open = false; });
})();
