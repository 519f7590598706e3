// localStorage under a prefix, or as much of it as memory gives. Nothing throws.
// The state of the SDK is that of its modules: a page has one, and it is a third smaller so.

let prefix = '';
let isPersistent = true;
/** What localStorage refused, until the page is closed. */
const memory = new Map<string, string>();

export function openStorage(name: string, persistence?: string): void {
  prefix = `ravand.${name}.`;
  isPersistent = persistence !== 'memory';
}

function attempt<T>(use: (local: Storage) => T): T | undefined {
  try {
    return isPersistent ? use(localStorage) : undefined;
  } catch {
    return undefined;
  }
}

export function get(key: string): string | undefined {
  return memory.get(prefix + key) ?? attempt((local) => local.getItem(prefix + key)) ?? undefined;
}

/** What was set as JSON; {} when it is absent or damaged. */
export const read = <T extends object>(key: string): Partial<T> => parse(get(key));

export function parse(text?: string): object {
  try {
    return JSON.parse(text as string) as object;
  } catch {
    return {};
  }
}

/** @returns whether it is stored: localStorage may be full, forbidden or absent */
export function set(key: string, value: string | object): boolean {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  memory.set(prefix + key, text);
  return !!attempt((local) => {
    local.setItem(prefix + key, text);
    return memory.delete(prefix + key);
  });
}

export function remove(key: string): void {
  memory.delete(prefix + key);
  attempt((local) => local.removeItem(prefix + key));
}

/** Those that begin so, in order. */
export function keys(of: string): string[] {
  return [...new Set([...memory.keys(), ...(attempt(Object.keys) ?? [])])]
    .filter((key) => key.startsWith(prefix + of))
    .map((key) => key.slice(prefix.length))
    .sort();
}
