/** Of the block of JSON in the document: scripts that run in this order, and what they import. */
interface Scripts {
  scripts: readonly string[];
  imported: readonly string[];
}

/** A browser that does not tell when it paints, ms. */
const WITHOUT_NEWS = 2000;

let isLoading = false;

/**
 * Loads the application once the page of the document is painted: until then a slow line is for
 * what the page needs to be seen. A tab in the background is not painted and does not wait.
 */
function load(): void {
  if (isLoading) return;
  isLoading = true;
  const { scripts, imported } = JSON.parse(
    document.getElementById('start')?.textContent ?? '',
  ) as Scripts;
  for (const file of [...scripts, ...imported]) {
    const link = document.createElement('link');
    link.rel = 'modulepreload';
    link.crossOrigin = 'anonymous';
    link.href = file;
    document.head.append(link);
  }
  void run(scripts);
}

/**
 * One after the other: each is a task of its own, between which the page answers. The document says
 * so when one does not come.
 */
async function run(scripts: readonly string[]): Promise<void> {
  try {
    for (const script of scripts) await import(/* @vite-ignore */ script);
  } catch (error) {
    document.getElementById('failed')?.removeAttribute('hidden');
    throw error;
  }
}

const isShown = document.getElementById('root')?.firstElementChild !== null;
if (!isShown || document.visibilityState === 'hidden') load();
else {
  setTimeout(load, WITHOUT_NEWS);
  document.addEventListener('visibilitychange', load);
  new PerformanceObserver((list) => {
    if (list.getEntriesByName('first-contentful-paint').length > 0) load();
  }).observe({ type: 'paint', buffered: true });
}
