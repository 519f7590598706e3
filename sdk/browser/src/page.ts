/** Runs when a page that the browser made ready in advance is shown; at once in all others. */
export function whenShown(run: () => void): void {
  if ((document as Document & { prerendering?: boolean }).prerendering)
    document.addEventListener('prerenderingchange', run);
  else run();
}

/**
 * Calls `view` once for each address that the page shows, with the address before it: at once, on
 * changes by scripts, and when the browser brings the page back. The part behind # counts only
 * where it is a path (#/…).
 */
export function watchAddress(view: (referrer: string) => void): void {
  let shown: string | undefined;
  let referrer: string;
  let next = document.referrer;
  const look = () => {
    const href = location.href;
    const address = href.replace(/#(?!\/).*/, '');
    if (address === shown) return;
    shown = address;
    referrer = next;
    next = href;
    view(referrer);
  };
  // The title changes in the same task.
  const later = () => setTimeout(look);
  for (const name of ['pushState', 'replaceState'] as const) {
    const original = history[name].bind(history);
    history[name] = (...change) => {
      original(...change);
      later();
    };
  }
  // Of a change of the part behind #, too.
  addEventListener('popstate', later);
  addEventListener('pageshow', ({ persisted }) => persisted && view(referrer));
  look();
}
