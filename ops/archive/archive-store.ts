import { Refused, S3Client } from '../../platform/files/s3-client.ts';
import * as setting from '../../platform/setting-kinds.ts';
import { defineSettings, parseSettings } from '../../platform/settings.ts';
import { CommandError } from '../../cli/command.ts';

export const archiveSettings = defineSettings({
  ARCHIVE_S3_URL: setting.text({
    default: '',
    doc: 'S3-compatible storage of the archive of the log, as https://host/bucket or https://host/bucket/prefix.',
    unit: 'URL',
  }),
  ARCHIVE_S3_REGION: setting.text({
    default: 'us-east-1',
    doc: 'Region for which requests to ARCHIVE_S3_URL are signed.',
  }),
  ARCHIVE_S3_ACCESS_KEY: setting.text({ default: '', doc: 'Access key of ARCHIVE_S3_URL.' }),
  ARCHIVE_S3_SECRET_KEY: setting.text({
    default: '',
    doc: 'Secret key of ARCHIVE_S3_URL.',
    secret: true,
  }),
  ARCHIVE_OBJECT_BYTES: setting.bytes({
    default: 32 * 2 ** 20,
    min: 1024,
    doc: 'Bytes of records after which `./ravand archive` begins another object. They are in memory until the object is written.',
  }),
});

/** The objects of an archive, by name. */
export interface ArchiveStore {
  /** Which one it is. */
  id: string;
  /** Writes an object unless there is one of this name: an object never changes. */
  put(name: string, bytes: Buffer): Promise<void>;
  get(name: string): Promise<Buffer>;
  /** Names that begin with `prefix`, ascending; `startAfter`: those behind this one. */
  list(prefix: string, startAfter?: string): Promise<string[]>;
  /** First parts of the names, up to the first `/`. */
  folders(): Promise<string[]>;
  remove(name: string): Promise<void>;
}

const PRECONDITION_FAILED = 412;

/** The store that the settings name, and the size of objects. Throws CommandError without one. */
export function openArchive(
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): { store: ArchiveStore; objectBytes: number } {
  const settings = parseSettings(archiveSettings, env);
  if (settings.ARCHIVE_S3_URL === '')
    throw new CommandError('there is no archive: set ARCHIVE_S3_URL (docs/operations/archive.md)');
  const client = new S3Client({
    what: 'archive',
    url: settings.ARCHIVE_S3_URL,
    region: settings.ARCHIVE_S3_REGION,
    accessKey: settings.ARCHIVE_S3_ACCESS_KEY,
    secretKey: settings.ARCHIVE_S3_SECRET_KEY,
  });
  const store: ArchiveStore = {
    id: settings.ARCHIVE_S3_URL,
    async put(name, body) {
      const headers = { 'if-none-match': '*' };
      try {
        await client.send({ method: 'PUT', name, body, headers, signal });
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== PRECONDITION_FAILED) throw error;
      }
    },
    get: (name) =>
      client.download({ name, signal }, async (response) =>
        Buffer.from(await response.arrayBuffer()),
      ),
    async list(prefix, startAfter) {
      const pages = client.list({ prefix, signal, ...(startAfter ? { startAfter } : {}) });
      const found: string[] = [];
      for await (const { names } of pages) found.push(...names);
      return found;
    },
    async folders() {
      const found: string[] = [];
      for await (const page of client.list({ prefix: '', delimiter: '/', signal }))
        found.push(...page.folders.map((folder) => folder.slice(0, -1)));
      return found;
    },
    async remove(name) {
      await client.send({ method: 'DELETE', name, signal });
    },
  };
  return { store, objectBytes: settings.ARCHIVE_OBJECT_BYTES };
}
