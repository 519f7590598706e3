const UNRELEASED = '## Unreleased';
const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;

export interface Release {
  /** The changelog, in which the entries belong to the version. */
  changelog: string;
  /** The entries of the version. */
  notes: string;
}

/**
 * Makes the unreleased entries of a changelog those of a version. Throws an Error with a sentence
 * when there is none, or when the version does not follow the current one.
 */
export function planRelease({
  changelog,
  current,
  version,
  date,
}: {
  changelog: string;
  /** The version in package.json. */
  current: string;
  version: string;
  /** YYYY-MM-DD */
  date: string;
}): Release {
  if (!VERSION.test(version)) throw new Error(`${version} is no version: three numbers, 1.2.0`);
  if (!isLater(version, current)) throw new Error(`${version} does not follow ${current}`);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) throw new Error(`${date} is no date: YYYY-MM-DD`);
  const lines = changelog.split('\n');
  const from = lines.indexOf(UNRELEASED);
  if (from < 0) throw new Error(`CHANGELOG.md has no heading "${UNRELEASED}"`);
  const next = lines.findIndex((line, at) => at > from && line.startsWith('## '));
  const to = next < 0 ? lines.length : next;
  const notes = lines
    .slice(from + 1, to)
    .join('\n')
    .trim();
  if (!/^[-*] /m.test(notes))
    throw new Error(`CHANGELOG.md has no entry under "${UNRELEASED}": there is nothing to release`);
  const rest = lines.slice(to).join('\n');
  const heading = `## ${version} (${date})`;
  return {
    changelog: `${lines.slice(0, from).join('\n')}\n${UNRELEASED}\n\n${heading}\n\n${notes}\n${rest === '' ? '' : `\n${rest}`}`,
    notes,
  };
}

function isLater(version: string, current: string): boolean {
  const [a = [], b = []] = [version, current].map((one) => VERSION.exec(one)?.slice(1).map(Number));
  const at = a.findIndex((part, index) => part !== b[index]);
  return at >= 0 && (a[at] ?? 0) > (b[at] ?? 0);
}

/** A file that names the version, with another one. */
export function withVersion(text: string, pattern: RegExp, version: string): string {
  if (!pattern.test(text)) throw new Error(`nothing matches ${pattern.source}`);
  return text.replace(pattern, (_, before: string, after = '') => `${before}${version}${after}`);
}

interface Bom {
  serialNumber?: string | undefined;
  metadata: { timestamp?: string | undefined; component: { name: string } };
}

/** A software bill of materials without what differs between two runs. */
export function reproducible(bom: Bom, name: string): Bom {
  const component = { ...bom.metadata.component, name };
  // JSON leaves out what is undefined.
  const metadata = { ...bom.metadata, component, timestamp: undefined };
  return { ...bom, metadata, serialNumber: undefined };
}
