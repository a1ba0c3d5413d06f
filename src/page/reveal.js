// Opens what the address names.
(() => {
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  reveal();
})();
