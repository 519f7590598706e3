import avsc from 'avsc';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Schemas that embed another one: their subject, and the subject of what they embed. */
const EMBEDS: Readonly<Record<string, string>> = { 'normalised-run': 'event-row' };

export interface LoadedSchema {
  /** Subject and version, for example `raw-record.v1`. */
  id: string;
  /** For example `raw-record`. */
  subject: string;
  version: number;
  type: avsc.Type;
  /** The file; an embedded schema is named in it. */
  document: avsc.Schema;
}

interface SchemaFile {
  subject: string;
  version: number;
  document: avsc.Schema;
}

/**
 * Reads every `<subject>.v<version>.avsc`, lower versions first. Version N of a schema that embeds
 * another one embeds version N of it, and never changes: a new version of what is embedded is a new
 * version of both, made of the newest file of the outer schema. Throws for invalid schemas.
 */
export function loadSchemas(folder: string): LoadedSchema[] {
  const files = readFiles(folder);
  const inner = new Set(Object.values(EMBEDS));
  const plain = files.filter(({ subject }) => EMBEDS[subject] === undefined).map(loaded);
  const outer = Object.entries(EMBEDS).flatMap(([subject, embedded]) =>
    withEmbedded({
      own: files.filter((file) => file.subject === subject),
      embedded: plain.filter((schema) => schema.subject === embedded),
    }),
  );
  const rank = ({ subject }: LoadedSchema) => (inner.has(subject) ? 0 : 1);
  return [...plain, ...outer].sort(
    (a, b) => rank(a) - rank(b) || a.subject.localeCompare(b.subject) || a.version - b.version,
  );
}

function readFiles(folder: string): SchemaFile[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.avsc'))
    .map((file) => {
      const parts = /^([a-z-]+)\.v(\d+)\.avsc$/.exec(file);
      if (!parts?.[1] || !parts[2])
        throw new Error(`schemas/${file}: name it <subject>.v<version>.avsc`);
      const document = JSON.parse(readFileSync(join(folder, file), 'utf8')) as avsc.Schema;
      return { subject: parts[1], version: Number(parts[2]), document };
    });
}

function loaded({ subject, version, document }: SchemaFile): LoadedSchema {
  const type = avsc.Type.forSchema(document, { registry: {} });
  return { id: `${subject}.v${version}`, subject, version, type, document };
}

/** Every version that either the outer schema or the embedded one has. */
function withEmbedded({
  own,
  embedded,
}: {
  own: readonly SchemaFile[];
  embedded: readonly LoadedSchema[];
}): LoadedSchema[] {
  const versions = new Set([...own, ...embedded].map(({ version }) => version));
  return [...versions].flatMap((version): LoadedSchema[] => {
    const file = newestUpTo(own, version);
    const inner = newestUpTo(embedded, version);
    if (!file || !inner) return [];
    const { subject, document } = file;
    const registry = { [inner.type.name ?? '']: inner.type };
    const type = avsc.Type.forSchema(document, { registry });
    return [{ id: `${subject}.v${version}`, subject, version, type, document }];
  });
}

function newestUpTo<T extends { version: number }>(
  versions: readonly T[],
  version: number,
): T | undefined {
  return versions.filter((one) => one.version <= version).sort((a, b) => b.version - a.version)[0];
}
